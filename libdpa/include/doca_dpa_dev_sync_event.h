/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dpa_dev_sync_event.h - sync events in device code. Handles come from
 * doca_sync_event_get_dpa_handle(); the handle of a stopped event is a bad handle. Any thread of
 * any kernel may call these functions.
 */
#ifndef DOCA_DPA_DEV_SYNC_EVENT_H_
#define DOCA_DPA_DEV_SYNC_EVENT_H_

#include <doca_dpa_dev.h>

#ifdef __cplusplus
extern "C" {
#endif

__dpa_global__ typedef uint64_t doca_dpa_dev_sync_event_t;
/* An event of a peer, for doca_dpa_dev_rdma.h. */
__dpa_global__ typedef uint64_t doca_dpa_dev_sync_event_remote_net_t;

/* Store the present value to *value. */
DOCA_EXPERIMENTAL void doca_dpa_dev_sync_event_get(doca_dpa_dev_sync_event_t dpa_dev_se_handle,
						   uint64_t *value);

/*
 * Add to the value, modulo 2^64. Everything written before is visible to a thread that sees the new
 * value.
 */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_update_add(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t value);

/* Set the value, with the same order against earlier writes. */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_update_set(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t value);

/*
 * Wait until (value of the event & mask) > value, holding the EU. The EU runs other work that needs
 * one meanwhile. The wait ends with the context, as all its code does.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_sync_event_wait_gt(doca_dpa_dev_sync_event_t dpa_dev_se_handle,
						       uint64_t value, uint64_t mask);

/*
 * Post an element to the completion context of the async operations object, with its user data,
 * once the event is greater than value. Operations posted to the object later come after it. Waits
 * while the queue is full. Thread functions only.
 * @value: any; the guide allows 0 to 254 for it and for the event
 */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_post_wait_gt(doca_dpa_dev_async_ops_t async_ops_handle,
				     doca_dpa_dev_sync_event_t wait_se_handle, uint64_t value);

/* Do the same once the event is not equal to value. */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_post_wait_ne(doca_dpa_dev_async_ops_t async_ops_handle,
				     doca_dpa_dev_sync_event_t wait_se_handle, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DPA_DEV_SYNC_EVENT_H_ */
