/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dpa_dev_buf.h - memory of maps and buf arrays in device code.
 *
 * doca_mmap_dev_get_dpa_handle() returns the handle of a map, doca_buf_arr_get_dpa_handle() that of
 * a buf array.
 */
#ifndef DOCA_DPA_DEV_BUF_H_
#define DOCA_DPA_DEV_BUF_H_

#include <doca_dpa_dev.h>
#include <dpa/dpa_buf.h>

#ifdef __cplusplus
extern "C" {
#endif

__dpa_global__ typedef uint32_t doca_dpa_dev_mmap_t;
__dpa_global__ typedef uint64_t doca_dpa_dev_buf_t;
__dpa_global__ typedef uint64_t doca_dpa_dev_buf_arr_t;

/* Return element buf_idx of an array. The index is not checked. */
__forceinline doca_dpa_dev_buf_t doca_dpa_dev_buf_array_get_buf(doca_dpa_dev_buf_arr_t buf_arr,
								const uint64_t buf_idx)
{
	return (uintptr_t)(((const struct doca_dpa_dev_buf_arr *)(uintptr_t)buf_arr)->bufs +
			   buf_idx);
}

/* Set or get the address of a buf, its length in bytes, and its map. */
__forceinline void doca_dpa_dev_buf_set_addr(doca_dpa_dev_buf_t buf, uintptr_t addr)
{
	((struct doca_dpa_dev_buf *)(uintptr_t)buf)->addr = addr;
}

__forceinline void doca_dpa_dev_buf_set_len(doca_dpa_dev_buf_t buf, size_t len)
{
	((struct doca_dpa_dev_buf *)(uintptr_t)buf)->len = len;
}

__forceinline void doca_dpa_dev_buf_set_mmap(doca_dpa_dev_buf_t buf, doca_dpa_dev_mmap_t mmap)
{
	((struct doca_dpa_dev_buf *)(uintptr_t)buf)->mmap = mmap;
}

__forceinline uintptr_t doca_dpa_dev_buf_get_addr(doca_dpa_dev_buf_t buf)
{
	return ((const struct doca_dpa_dev_buf *)(uintptr_t)buf)->addr;
}

__forceinline uint64_t doca_dpa_dev_buf_get_len(doca_dpa_dev_buf_t buf)
{
	return ((const struct doca_dpa_dev_buf *)(uintptr_t)buf)->len;
}

__forceinline doca_dpa_dev_mmap_t doca_dpa_dev_buf_get_mmap(doca_dpa_dev_buf_t buf)
{
	return ((const struct doca_dpa_dev_buf *)(uintptr_t)buf)->mmap;
}

/*
 * Return a pointer by which device code itself can read and write the memory of a buf: the address
 * of the host's or the DPA's memory, as the map's owner in this process uses it. No alignment is
 * required; the original requires 64 bytes. The context ends for a buf that is not within its map,
 * for a handle that belongs to no map on the selected device, and for a map of a peer's memory.
 */
doca_dpa_dev_uintptr_t doca_dpa_dev_buf_get_external_ptr(doca_dpa_dev_buf_t buf);

/*
 * Return the same for an address of a map. It is valid up to the end of the map. The address one
 * past the end ends the context.
 */
doca_dpa_dev_uintptr_t doca_dpa_dev_mmap_get_external_ptr(doca_dpa_dev_mmap_t mmap_handle,
							  uint64_t addr);

/* -------------------------------------------------------- asynchronous copies */

/*
 * Copy length bytes from src_addr to dst_addr, in the maps of these handles, and report it to the
 * completion context of the async operations object with its user data. Operations of one object
 * are carried out in the order in which they are posted. Waits while the queue is full. Thread
 * functions only.
 * @flags: enum doca_dpa_dev_submit_flag. FLUSH: start it and all before it now; without it that may
 * 	   be put off until an operation that has it. OPTIMIZE_REPORTS: no element if it
 * 	   succeeds.
 * Up to 64 bytes are copied out of src_addr when the call returns; a longer source must not change
 * until the copy is done. A handle that belongs to no local map, or a range outside of the map,
 * ends in an error element; operations after it then fail too.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_post_memcpy(doca_dpa_dev_async_ops_t async_ops_handle,
						doca_dpa_dev_mmap_t dst_mmap_handle,
						uint64_t dst_addr,
						doca_dpa_dev_mmap_t src_mmap_handle,
						uint64_t src_addr, size_t length, uint32_t flags);

/* Copy from buf to buf in the same way: as many bytes as the shorter one has. */
DOCA_EXPERIMENTAL void doca_dpa_dev_post_buf_memcpy(doca_dpa_dev_async_ops_t async_ops_handle,
						    doca_dpa_dev_buf_t dst_buf_handle,
						    doca_dpa_dev_buf_t src_buf_handle,
						    uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DPA_DEV_BUF_H_ */
