/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sync_event.c - sync events of device code. */
#include <doca_dpa_dev_sync_event.h>
#include <dpa/dpa_image.h>

extern const struct dpa_dev_ops *__dpa_ops;

void doca_dpa_dev_sync_event_get(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t *value)
{
	*value = __dpa_ops->sync_event_get(dpa_dev_se_handle);
}

void doca_dpa_dev_sync_event_update_add(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t value)
{
	__dpa_ops->sync_event_update(dpa_dev_se_handle, value, 1);
}

void doca_dpa_dev_sync_event_update_set(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t value)
{
	__dpa_ops->sync_event_update(dpa_dev_se_handle, value, 0);
}

void doca_dpa_dev_sync_event_wait_gt(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t value,
				     uint64_t mask)
{
	for (uint32_t round = 0;
	     !__dpa_ops->sync_event_wait_gt(dpa_dev_se_handle, value, mask, round);)
		round += round < UINT32_MAX;
}
