/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_buf_array.h - arrays of bufs for device code: a map cut into elements of one size.
 *
 * Order: create, set_target_dpa or _gpu, set_params, start, get_dpa_handle or _gpu_handle; destroy.
 * Not thread-safe.
 */
#ifndef DOCA_BUF_ARRAY_H_
#define DOCA_BUF_ARRAY_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf_arr;
struct doca_dpa;
struct doca_gpu;
struct doca_gpu_buf_arr;
struct doca_mmap;

/* The handle of device code for an array: doca_dpa_dev_buf.h. */
typedef uint64_t doca_dpa_dev_buf_arr_t;

/*
 * Create an array.
 * @num_elem: elements, at least 1
 * @buf_arr:  receives it; the caller destroys it
 * INVALID_VALUE: NULL or no elements; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_create(size_t num_elem, struct doca_buf_arr **buf_arr);

/* Set the DPA context whose device code uses the array. INVALID_VALUE: NULL; BAD_STATE: started. */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_set_target_dpa(struct doca_buf_arr *buf_arr,
							   struct doca_dpa *dpa_handler);

/*
 * Set the GPU whose kernels use the array, with the map's first device. The last target that was
 * set counts.
 * INVALID_VALUE: NULL; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_set_target_gpu(struct doca_buf_arr *buf_arr,
							   struct doca_gpu *gpu_handler);

/*
 * Set the place of the elements: element i is at start_offset + i * elem_size of the map. The map
 * counts the array as one of its bufs until the array is stopped; for a GPU until it is started:
 * from then on the kernel has keys, which are refused when the map is gone.
 * @elem_size: bytes, at least 1
 * INVALID_VALUE: NULL or no size; BAD_STATE: started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_set_params(struct doca_buf_arr *buf_arr,
						       struct doca_mmap *mmap, size_t elem_size,
						       uint64_t start_offset);

/*
 * Build the array for device code. An array can be started once.
 * INVALID_VALUE: NULL, or the map is not on the context's device; BAD_STATE: has been started, no
 * target, no parameters, or the map is not started; NO_MEMORY: also when the map is too small.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_start(struct doca_buf_arr *buf_arr);

/*
 * Stop the array: device code must not use the handle any more. Stopping one that is not started
 * changes nothing.
 * INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_stop(struct doca_buf_arr *buf_arr);

/* Destroy the array, stopping it first. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_destroy(struct doca_buf_arr *buf_arr);

/* Get the handle of the array for device code. INVALID_VALUE: NULL; BAD_STATE: not started. */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_get_dpa_handle(const struct doca_buf_arr *buf_arr,
							   doca_dpa_dev_buf_arr_t *dpa_buf_arr);

/*
 * Get the handle of the array for kernels: an address for them only (doca_gpunetio_dev_buf.cuh). It
 * is valid until the array is stopped. INVALID_VALUE: NULL; BAD_STATE: not started, or its target
 * is no GPU.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_get_gpu_handle(const struct doca_buf_arr *buf_arr,
							   struct doca_gpu_buf_arr **gpu_buf_arr);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_ARRAY_H_ */
