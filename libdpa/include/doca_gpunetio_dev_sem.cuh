/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_gpunetio_dev_sem.cuh - semaphores of kernels: entries with a status, a count and an index of
 * bufs, and memory for the program (doca_gpu_semaphore_get_gpu_handle()).
 *
 * A status is stored after a system fence: a reader that reads it, and then executes a fence of its
 * own, sees all that was written before. An entry has one writer at a time; the status shows its
 * owner. INVALID_VALUE: NULL, or an index that the semaphore does not have. Any thread.
 */
#ifndef DOCA_GPUNETIO_DEV_SEM_CUH_
#define DOCA_GPUNETIO_DEV_SEM_CUH_

#include <doca_gpunetio.h>
#include <dpa/dpa_gpu_dev.cuh>

DPA_GPU_FN struct dpa_gpu_sem_item *dpa_gpu_sem_item_of(struct doca_gpu_semaphore_gpu *sem,
							 uint32_t index)
{
	if (!sem || index >= sem->num)
		return nullptr;
	return (struct dpa_gpu_sem_item *)sem->items + index;
}

/* Store the status of an entry. */
DPA_GPU_FN doca_error_t doca_gpu_dev_semaphore_set_status(struct doca_gpu_semaphore_gpu *sem_gpu,
							  uint32_t semaphore_idx,
							  enum doca_gpu_semaphore_status status)
{
	struct dpa_gpu_sem_item *item = dpa_gpu_sem_item_of(sem_gpu, semaphore_idx);

	if (!item)
		return DOCA_ERROR_INVALID_VALUE;
	__threadfence_system();
	dpa_gpu_store(&item->status, (uint32_t)status);
	return DOCA_SUCCESS;
}

/* Read the status of an entry. */
DPA_GPU_FN doca_error_t doca_gpu_dev_semaphore_get_status(struct doca_gpu_semaphore_gpu *sem_gpu,
							  uint32_t semaphore_idx,
							  enum doca_gpu_semaphore_status *status)
{
	struct dpa_gpu_sem_item *item = dpa_gpu_sem_item_of(sem_gpu, semaphore_idx);

	if (!item || !status)
		return DOCA_ERROR_INVALID_VALUE;
	*status = (enum doca_gpu_semaphore_status)dpa_gpu_load(&item->status);
	__threadfence_system();
	return DOCA_SUCCESS;
}

/* Store count, index and then the status of an entry. */
DPA_GPU_FN doca_error_t
doca_gpu_dev_semaphore_set_packet_info(struct doca_gpu_semaphore_gpu *sem_gpu,
				       uint32_t semaphore_idx, enum doca_gpu_semaphore_status status,
				       uint32_t num_packets, uint64_t doca_gpu_buf_idx_start)
{
	struct dpa_gpu_sem_item *item = dpa_gpu_sem_item_of(sem_gpu, semaphore_idx);

	if (!item)
		return DOCA_ERROR_INVALID_VALUE;
	dpa_gpu_store(&item->num_packets, num_packets);
	*(volatile uint64_t *)&item->buf_idx = doca_gpu_buf_idx_start;
	return doca_gpu_dev_semaphore_set_status(sem_gpu, semaphore_idx, status);
}

/* Read count and index of an entry. */
DPA_GPU_FN doca_error_t doca_gpu_dev_semaphore_get_packet_info(
	struct doca_gpu_semaphore_gpu *sem_gpu, uint32_t semaphore_idx, uint32_t *num_packets,
	uint64_t *doca_gpu_buf_idx_start)
{
	struct dpa_gpu_sem_item *item = dpa_gpu_sem_item_of(sem_gpu, semaphore_idx);

	if (!item || !num_packets || !doca_gpu_buf_idx_start)
		return DOCA_ERROR_INVALID_VALUE;
	*num_packets = dpa_gpu_load(&item->num_packets);
	*doca_gpu_buf_idx_start = *(const volatile uint64_t *)&item->buf_idx;
	return DOCA_SUCCESS;
}

/* Read the same of an entry that has this status. NOT_FOUND: it has another. */
DPA_GPU_FN doca_error_t doca_gpu_dev_semaphore_get_packet_info_status(
	struct doca_gpu_semaphore_gpu *sem_gpu, uint32_t semaphore_idx,
	enum doca_gpu_semaphore_status status_target, uint32_t *num_packets,
	uint64_t *doca_gpu_buf_idx_start)
{
	enum doca_gpu_semaphore_status status;
	doca_error_t ret = doca_gpu_dev_semaphore_get_status(sem_gpu, semaphore_idx, &status);

	if (ret != DOCA_SUCCESS)
		return ret;
	if (status != status_target)
		return DOCA_ERROR_NOT_FOUND;
	return doca_gpu_dev_semaphore_get_packet_info(sem_gpu, semaphore_idx, num_packets,
						      doca_gpu_buf_idx_start);
}

/* Get the program's memory of an entry. NOT_FOUND: the semaphore has none. */
DPA_GPU_FN doca_error_t doca_gpu_dev_semaphore_get_custom_info_addr(
	struct doca_gpu_semaphore_gpu *sem_gpu, uint32_t semaphore_idx, void **custom_info)
{
	if (!dpa_gpu_sem_item_of(sem_gpu, semaphore_idx) || !custom_info)
		return DOCA_ERROR_INVALID_VALUE;
	if (!sem_gpu->custom)
		return DOCA_ERROR_NOT_FOUND;
	*custom_info = (void *)(sem_gpu->custom + (uint64_t)semaphore_idx * sem_gpu->custom_bytes);
	return DOCA_SUCCESS;
}

#endif /* DOCA_GPUNETIO_DEV_SEM_CUH_ */
