/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_gpunetio_dev_buf.cuh - bufs of kernels: elements of a doca_buf_arr whose target is a GPU
 * (doca_buf_arr_get_gpu_handle()), or bufs that a kernel makes from an address and a key.
 *
 * Nothing is checked: pointers must be valid and indices below the array's size. The functions
 * return SUCCESS, for programs of DOCA 2.9 and 2.10 that check it. Any thread.
 */
#ifndef DOCA_GPUNETIO_DEV_BUF_CUH_
#define DOCA_GPUNETIO_DEV_BUF_CUH_

#include <doca_gpunetio.h>
#include <dpa/dpa_gpu_dev.cuh>

/*
 * Get an element of an array. It is valid as long as the array is started.
 * @buf_arr_gpu:      the array
 * @doca_gpu_buf_idx: its index, from 0
 * @buf:              receives it
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_buf_get_buf(const struct doca_gpu_buf_arr *buf_arr_gpu,
						 const uint64_t doca_gpu_buf_idx,
						 struct doca_gpu_buf **buf)
{
	*buf = (struct doca_gpu_buf *)buf_arr_gpu->bufs + doca_gpu_buf_idx;
	return DOCA_SUCCESS;
}

/* Get the address of a buf; for a buf of a peer as the peer addresses it. */
DPA_GPU_FN doca_error_t doca_gpu_dev_buf_get_addr(const struct doca_gpu_buf *buf, uintptr_t *addr)
{
	*addr = dpa_gpu_buf_of(buf).addr;
	return DOCA_SUCCESS;
}

/* Get the key of a buf, which a peer needs beside the address. */
DPA_GPU_FN doca_error_t doca_gpu_dev_buf_get_mkey(const struct doca_gpu_buf *buf, uint32_t *mkey)
{
	*mkey = dpa_gpu_buf_of(buf).mkey;
	return DOCA_SUCCESS;
}

/*
 * Make a buf from an address and a key, mostly a peer's. It needs no memory and is never released.
 * @addr: below 2^48
 * @mkey: not 0; a program may use up to 32,768 different keys
 * @buf:  receives it; NULL where that does not hold, which operations refuse
 */
DPA_GPU_FN doca_error_t doca_gpu_dev_buf_create(uintptr_t addr, uint32_t mkey,
						struct doca_gpu_buf **buf)
{
	*buf = dpa_gpu_make_handle(addr, mkey);
	return *buf ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

#endif /* DOCA_GPUNETIO_DEV_BUF_CUH_ */
