/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * array.c - arrays of bufs for device code: memory of this process that the code reads directly, or
 * GPU memory that kernels read.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../gpu/gpu.h"
#include "../../host/libdpa.h"
#include "../mmap.h"
#include <doca_buf_array.h>
#include <dpa/dpa_buf.h>

static_assert(sizeof(struct doca_dpa_dev_buf) == 32, "format of device code");
static_assert(sizeof(struct doca_dpa_dev_buf_arr) == 64, "format of device code");

struct doca_buf_arr {
	size_t num, elem_size;
	struct doca_dev *dev; /* of the target DPA; in use */
	struct doca_gpu *gpu; /* or the target; in use */
	struct doca_mmap *mmap;
	uint64_t offset;
	struct doca_dpa_dev_buf_arr *array; /* while started; the bufs follow it */
	struct dpa_gpu_mem *on_gpu;	    /* the same for kernels */
	bool was_started;
};

doca_error_t doca_buf_arr_create(size_t num_elem, struct doca_buf_arr **buf_arr)
{
	struct doca_buf_arr *a;

	if (!num_elem || !buf_arr)
		return DOCA_ERROR_INVALID_VALUE;
	a = dpa_obj_new(DPA_T_BUF_ARR, sizeof(*a));
	if (!a)
		return DOCA_ERROR_NO_MEMORY;
	a->num = num_elem;
	*buf_arr = a;
	return DOCA_SUCCESS;
}

static void drop_map(struct doca_buf_arr *a)
{
	if (a->mmap)
		dpa_mmap_release_buf(a->mmap);
	a->mmap = NULL;
}

static void drop_target(struct doca_buf_arr *a)
{
	if (a->dev)
		dpa_dev_use(a->dev, -1);
	if (a->gpu)
		dpa_gpu_use(a->gpu, -1);
	a->dev = NULL;
	a->gpu = NULL;
}

doca_error_t doca_buf_arr_set_target_dpa(struct doca_buf_arr *buf_arr, struct doca_dpa *dpa_handler)
{
	if (!dpa_live(buf_arr) || !dpa_live(dpa_handler))
		return DOCA_ERROR_INVALID_VALUE;
	if (buf_arr->was_started)
		return DOCA_ERROR_BAD_STATE;
	dpa_dev_use(dpa_handler->dev, 1);
	drop_target(buf_arr);
	buf_arr->dev = dpa_handler->dev;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_arr_set_target_gpu(struct doca_buf_arr *buf_arr, struct doca_gpu *gpu_handler)
{
	if (!dpa_live(buf_arr) || !dpa_live(gpu_handler))
		return DOCA_ERROR_INVALID_VALUE;
	if (buf_arr->was_started)
		return DOCA_ERROR_BAD_STATE;
	dpa_gpu_use(gpu_handler, 1);
	drop_target(buf_arr);
	buf_arr->gpu = gpu_handler;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_arr_set_params(struct doca_buf_arr *buf_arr, struct doca_mmap *mmap,
				     size_t elem_size, uint64_t start_offset)
{
	if (!dpa_live(buf_arr) || !dpa_live(mmap) || !elem_size)
		return DOCA_ERROR_INVALID_VALUE;
	if (buf_arr->was_started)
		return DOCA_ERROR_BAD_STATE;
	dpa_mmap_hold(mmap);
	drop_map(buf_arr);
	buf_arr->mmap = mmap;
	buf_arr->elem_size = elem_size;
	buf_arr->offset = start_offset;
	return DOCA_SUCCESS;
}

static bool array_fits(const struct doca_buf_arr *a, uint64_t len)
{
	return a->offset <= len && a->num <= (len - a->offset) / a->elem_size &&
	       a->num < SIZE_MAX / sizeof(struct doca_dpa_dev_buf) / 2;
}

static struct doca_dpa_dev_buf_arr *build_array(const struct doca_buf_arr *a,
						const struct dpa_mmap_key *key)
{
	struct doca_dpa_dev_buf_arr *arr;
	struct doca_dpa_dev_buf *bufs;
	size_t size = sizeof(*arr) + a->num * sizeof(*bufs);
	void *p;

	if (posix_memalign(&p, sizeof(*arr), size))
		return NULL;
	memset(p, 0, size);
	arr = p;
	bufs = (struct doca_dpa_dev_buf *)(arr + 1);
	arr->bufs = bufs;
	for (size_t i = 0; i < a->num; i++) {
		bufs[i].addr = key->addr + a->offset + i * a->elem_size;
		bufs[i].len = a->elem_size;
		bufs[i].mmap = key->key;
	}
	return arr;
}

/* Build the same for kernels: the array, then its bufs. NULL: no memory. */
static struct dpa_gpu_mem *build_gpu_array(const struct doca_buf_arr *a,
					   const struct dpa_mmap_key *key)
{
	const size_t size = sizeof(struct doca_gpu_buf_arr) + a->num * sizeof(struct doca_gpu_buf);
	struct dpa_gpu_mem *mem = dpa_gpu_obj_new(a->gpu, size);
	struct doca_gpu_buf_arr *arr = mem ? calloc(1, size) : NULL;
	struct doca_gpu_buf *bufs = (struct doca_gpu_buf *)(arr + 1);
	int ret = ENOMEM;

	for (size_t i = 0; arr && i < a->num; i++)
		bufs[i] = (struct doca_gpu_buf){
			.addr = key->addr + a->offset + i * a->elem_size,
			.length = key->len - a->offset - i * a->elem_size,
			.mkey = key->key,
			.flags = key->gpu ? DPA_GPU_BUF_COPY : 0,
		};
	if (arr) {
		arr->bufs = mem->gpu + sizeof(*arr);
		arr->num = a->num;
		arr->elem_size = a->elem_size;
		ret = dpa_gpu_write(a->gpu->dev, mem->gpu, arr, size);
	}
	free(arr);
	if (ret && mem)
		dpa_gpu_obj_free(a->gpu, mem);
	return ret ? NULL : mem;
}

static doca_error_t build_buf_array(struct doca_buf_arr *a, const struct dpa_mmap_key *key)
{
	if (!array_fits(a, key->len))
		return DOCA_ERROR_NO_MEMORY;
	if (a->gpu)
		a->on_gpu = build_gpu_array(a, key);
	else
		a->array = build_array(a, key);
	return a->on_gpu || a->array ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
}

doca_error_t doca_buf_arr_start(struct doca_buf_arr *buf_arr)
{
	struct dpa_mmap_key key;
	doca_error_t ret;

	if (!dpa_live(buf_arr))
		return DOCA_ERROR_INVALID_VALUE;
	if (buf_arr->was_started || (!buf_arr->dev && !buf_arr->gpu) || !buf_arr->mmap)
		return DOCA_ERROR_BAD_STATE;
	ret = buf_arr->gpu ? dpa_mmap_first_mkey(buf_arr->mmap, &key)
			   : dpa_mmap_mkey(buf_arr->mmap, buf_arr->dev, &key);
	if (ret)
		return ret == DOCA_ERROR_NOT_PERMITTED ? DOCA_ERROR_BAD_STATE
						       : DOCA_ERROR_INVALID_VALUE;
	ret = build_buf_array(buf_arr, &key);
	if (ret)
		return ret;
	buf_arr->was_started = true;
	if (buf_arr->gpu)
		drop_map(
			/* kernels already have its key: the public samples destroy the map first */
			buf_arr);
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_arr_stop(struct doca_buf_arr *buf_arr)
{
	if (!dpa_live(buf_arr))
		return DOCA_ERROR_INVALID_VALUE;
	if (!buf_arr->array && !buf_arr->on_gpu)
		return DOCA_SUCCESS;
	free(buf_arr->array);
	buf_arr->array = NULL;
	if (buf_arr->on_gpu)
		dpa_gpu_obj_free(buf_arr->gpu, buf_arr->on_gpu);
	buf_arr->on_gpu = NULL;
	drop_map(buf_arr);
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_arr_destroy(struct doca_buf_arr *buf_arr)
{
	doca_error_t ret = doca_buf_arr_stop(buf_arr);

	if (ret)
		return ret;
	drop_map(buf_arr);
	drop_target(buf_arr);
	dpa_obj_free(buf_arr);
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_arr_get_dpa_handle(const struct doca_buf_arr *buf_arr,
					 doca_dpa_dev_buf_arr_t *dpa_buf_arr)
{
	if (!dpa_live(buf_arr) || !dpa_buf_arr)
		return DOCA_ERROR_INVALID_VALUE;
	if (!buf_arr->array)
		return DOCA_ERROR_BAD_STATE;
	*dpa_buf_arr = (uintptr_t)buf_arr->array;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_arr_get_gpu_handle(const struct doca_buf_arr *buf_arr,
					 struct doca_gpu_buf_arr **gpu_buf_arr)
{
	if (!dpa_live(buf_arr) || !gpu_buf_arr)
		return DOCA_ERROR_INVALID_VALUE;
	if (!buf_arr->on_gpu)
		return DOCA_ERROR_BAD_STATE;
	*gpu_buf_arr = (struct doca_gpu_buf_arr *)(uintptr_t)buf_arr->on_gpu->gpu;
	return DOCA_SUCCESS;
}
