/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dpa_dev_sync_event.h - sync events in device code. Handles come from
 * doca_sync_event_get_dpa_handle(); one that is stopped is a bad handle. Any kernel and any thread
 * of it may call.
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

/* The value now, to *value. */
DOCA_EXPERIMENTAL void doca_dpa_dev_sync_event_get(doca_dpa_dev_sync_event_t dpa_dev_se_handle,
						   uint64_t *value);

/*
 * Adds to it, modulo 2^64. Everything written before is visible to a thread that sees the new
 * value.
 */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_update_add(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t value);

/* Sets it, in the same order with what was written before. */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_update_set(doca_dpa_dev_sync_event_t dpa_dev_se_handle, uint64_t value);

/*
 * Waits until (value of the event & mask) > value, holding the EU; gives it to others that need one
 * meanwhile. Ends with the context, as all code of it.
 */
DOCA_EXPERIMENTAL void doca_dpa_dev_sync_event_wait_gt(doca_dpa_dev_sync_event_t dpa_dev_se_handle,
						       uint64_t value, uint64_t mask);

/*
 * Reports to the completion context of the async operations object, with its user data, once the
 * event is greater than value. Operations posted to the object later come after it. Waits while the
 * queue is full. Thread functions only.
 * @value: the guide asks for 0 to 254 of it and of the event; here any values do
 */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_post_wait_gt(doca_dpa_dev_async_ops_t async_ops_handle,
				     doca_dpa_dev_sync_event_t wait_se_handle, uint64_t value);

/* The same once the event is not equal to value. */
DOCA_EXPERIMENTAL void
doca_dpa_dev_sync_event_post_wait_ne(doca_dpa_dev_async_ops_t async_ops_handle,
				     doca_dpa_dev_sync_event_t wait_se_handle, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DPA_DEV_SYNC_EVENT_H_ */
