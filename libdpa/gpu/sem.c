/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sem.c - semaphores: entries that kernels and the host pass to each other. */
#include <stdlib.h>
#include "gpu.h"

#define SEM_MAX (1u << 20) /* entries; bytes of a custom info */

struct doca_gpu_semaphore {
	struct doca_gpu *gpu;
	enum doca_gpu_mem_type type, custom_type;
	uint32_t num, custom_bytes;
	/* while started */
	struct dpa_gpu_mem *obj, *items, *custom;
};

doca_error_t doca_gpu_semaphore_create(struct doca_gpu *gpu_dev,
				       struct doca_gpu_semaphore **semaphore)
{
	struct doca_gpu_semaphore *s;

	if (!dpa_live(gpu_dev) || !semaphore)
		return DOCA_ERROR_INVALID_VALUE;
	s = dpa_obj_new(DPA_T_GPU_SEMAPHORE, sizeof(*s));
	if (!s)
		return DOCA_ERROR_NO_MEMORY;
	s->gpu = gpu_dev;
	dpa_gpu_use(gpu_dev, 1);
	*semaphore = s;
	return DOCA_SUCCESS;
}

static void unmake_semaphore(struct doca_gpu_semaphore *s)
{
	if (s->obj)
		dpa_gpu_obj_free(s->gpu, s->obj);
	if (s->items)
		dpa_gpu_mem_free(s->gpu, s->items);
	if (s->custom)
		dpa_gpu_mem_free(s->gpu, s->custom);
	s->obj = s->items = s->custom = NULL;
}

doca_error_t doca_gpu_semaphore_destroy(struct doca_gpu_semaphore *semaphore)
{
	if (!dpa_live(semaphore))
		return DOCA_ERROR_INVALID_VALUE;
	unmake_semaphore(semaphore);
	dpa_gpu_use(semaphore->gpu, -1);
	dpa_obj_free(semaphore);
	return DOCA_SUCCESS;
}

/* Allocate zeroed entries: 0 is FREE. */
static struct dpa_gpu_mem *make_entries(struct doca_gpu_semaphore *s, size_t bytes,
					enum doca_gpu_mem_type type)
{
	struct dpa_gpu_mem *mem = dpa_gpu_mem_new(s->gpu, bytes, 64, type);
	void *zeros = mem && !mem->map ? calloc(1, bytes) : NULL;

	if (!mem || mem->map)
		return mem;
	if (!zeros || dpa_gpu_write(s->gpu->dev, mem->gpu, zeros, bytes)) {
		dpa_gpu_mem_free(s->gpu, mem);
		mem = NULL;
	}
	free(zeros);
	return mem;
}

static bool make_semaphore(struct doca_gpu_semaphore *s)
{
	struct doca_gpu_semaphore_gpu d = {.num = s->num, .custom_bytes = s->custom_bytes};

	s->items = make_entries(s, (size_t)s->num * sizeof(struct dpa_gpu_sem_item), s->type);
	if (s->custom_bytes)
		s->custom = make_entries(s, (size_t)s->num * s->custom_bytes, s->custom_type);
	s->obj = dpa_gpu_obj_new(s->gpu, sizeof(d));
	if (!s->items || !s->obj || (s->custom_bytes && !s->custom))
		return false;
	d.items = s->items->gpu;
	d.custom = s->custom ? s->custom->gpu : 0;
	return !dpa_gpu_write(s->gpu->dev, s->obj->gpu, &d, sizeof(d));
}

doca_error_t doca_gpu_semaphore_start(struct doca_gpu_semaphore *semaphore)
{
	if (!dpa_live(semaphore))
		return DOCA_ERROR_INVALID_VALUE;
	if (semaphore->obj || !semaphore->num)
		return DOCA_ERROR_BAD_STATE;
	if (make_semaphore(semaphore))
		return DOCA_SUCCESS;
	unmake_semaphore(semaphore);
	return DOCA_ERROR_NO_MEMORY;
}

doca_error_t doca_gpu_semaphore_stop(struct doca_gpu_semaphore *semaphore)
{
	if (!dpa_live(semaphore))
		return DOCA_ERROR_INVALID_VALUE;
	if (!semaphore->obj)
		return DOCA_ERROR_BAD_STATE;
	unmake_semaphore(semaphore);
	return DOCA_SUCCESS;
}

/* Check the common conditions of setters. */
static doca_error_t check_settable_sem(const struct doca_gpu_semaphore *s, bool valid)
{
	if (!dpa_live(s) || !valid)
		return DOCA_ERROR_INVALID_VALUE;
	return s->obj ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
}

static bool is_mem_type(enum doca_gpu_mem_type type)
{
	return (uint32_t)type <= DOCA_GPU_MEM_TYPE_CPU_GPU;
}

doca_error_t doca_gpu_semaphore_set_memory_type(struct doca_gpu_semaphore *semaphore,
						enum doca_gpu_mem_type mtype)
{
	doca_error_t ret = check_settable_sem(semaphore, is_mem_type(mtype));

	if (!ret)
		semaphore->type = mtype;
	return ret;
}

doca_error_t doca_gpu_semaphore_set_items_num(struct doca_gpu_semaphore *semaphore,
					      uint32_t num_items)
{
	doca_error_t ret = check_settable_sem(semaphore, num_items && num_items <= SEM_MAX);

	if (!ret)
		semaphore->num = num_items;
	return ret;
}

doca_error_t doca_gpu_semaphore_set_custom_info(struct doca_gpu_semaphore *semaphore,
						uint32_t nbytes, enum doca_gpu_mem_type mtype)
{
	doca_error_t ret =
		check_settable_sem(semaphore, nbytes && nbytes <= SEM_MAX && is_mem_type(mtype));

	if (ret)
		return ret;
	semaphore->custom_bytes = nbytes;
	semaphore->custom_type = mtype;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_semaphore_get_gpu_handle(struct doca_gpu_semaphore *semaphore,
					       struct doca_gpu_semaphore_gpu **semaphore_gpu)
{
	if (!dpa_live(semaphore) || !semaphore_gpu)
		return DOCA_ERROR_INVALID_VALUE;
	if (!semaphore->obj)
		return DOCA_ERROR_BAD_STATE;
	*semaphore_gpu = (struct doca_gpu_semaphore_gpu *)(uintptr_t)semaphore->obj->gpu;
	return DOCA_SUCCESS;
}

/* Return an entry for the CPU. */
static doca_error_t find_item(struct doca_gpu_semaphore *s, uint32_t idx,
			      struct dpa_gpu_sem_item **item)
{
	if (!dpa_live(s))
		return DOCA_ERROR_INVALID_VALUE;
	if (!s->obj)
		return DOCA_ERROR_BAD_STATE;
	if (idx >= s->num)
		return DOCA_ERROR_INVALID_VALUE;
	if (!s->items->map)
		return DOCA_ERROR_NOT_SUPPORTED;
	*item = (struct dpa_gpu_sem_item *)(uintptr_t)s->items->gpu + idx;
	return DOCA_SUCCESS;
}

doca_error_t doca_gpu_semaphore_set_status(struct doca_gpu_semaphore *semaphore_cpu, uint32_t idx,
					   enum doca_gpu_semaphore_status status)
{
	struct dpa_gpu_sem_item *item;
	doca_error_t ret = find_item(semaphore_cpu, idx, &item);

	if ((uint32_t)status > DOCA_GPU_SEMAPHORE_STATUS_EXIT)
		return DOCA_ERROR_INVALID_VALUE;
	if (!ret)
		__atomic_store_n(&item->status, (uint32_t)status, __ATOMIC_RELEASE);
	return ret;
}

doca_error_t doca_gpu_semaphore_get_status(struct doca_gpu_semaphore *semaphore_cpu, uint32_t idx,
					   enum doca_gpu_semaphore_status *status)
{
	struct dpa_gpu_sem_item *item;
	doca_error_t ret = find_item(semaphore_cpu, idx, &item);

	if (!status)
		return DOCA_ERROR_INVALID_VALUE;
	if (!ret)
		*status = (enum doca_gpu_semaphore_status)__atomic_load_n(&item->status,
									  __ATOMIC_ACQUIRE);
	return ret;
}

doca_error_t doca_gpu_semaphore_get_custom_info_addr(struct doca_gpu_semaphore *semaphore_cpu,
						     uint32_t idx, void **custom_info)
{
	struct doca_gpu_semaphore *s = semaphore_cpu;

	if (!dpa_live(s) || !custom_info)
		return DOCA_ERROR_INVALID_VALUE;
	if (!s->obj)
		return DOCA_ERROR_BAD_STATE;
	if (idx >= s->num)
		return DOCA_ERROR_INVALID_VALUE;
	if (!s->custom)
		return DOCA_ERROR_NOT_FOUND;
	if (!s->custom->map)
		return DOCA_ERROR_NOT_SUPPORTED;
	*custom_info = (uint8_t *)(uintptr_t)s->custom->gpu + (size_t)idx * s->custom_bytes;
	return DOCA_SUCCESS;
}
