/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_sync_event.h - sync events: a 64-bit word that one side changes and another waits for.
 *
 * Order: create; publishers and subscribers, and the place of the word; start; handles and exports;
 * get, update, wait; destroy (which stops). Making, configuring and destroying one event is not
 * thread-safe; get, update and wait are, of a started event, on any thread. Locations that are
 * neither publisher nor subscriber may use the event too, except that device code and peers get
 * handles only as publisher or subscriber.
 *
 * Every call returns INVALID_VALUE for an event that was not started, or is not usable any more,
 * unless noted otherwise.
 */
#ifndef DOCA_SYNC_EVENT_H_
#define DOCA_SYNC_EVENT_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_sync_event;
struct doca_sync_event_remote_net;
struct doca_sync_event_task_get;
struct doca_sync_event_task_notify_set;
struct doca_sync_event_task_notify_add;
struct doca_sync_event_task_wait_eq;
struct doca_sync_event_task_wait_neq;
struct doca_ctx;
struct doca_task;

typedef uint64_t doca_dpa_dev_sync_event_t;
typedef uint64_t doca_dpa_dev_sync_event_remote_net_t;

/*
 * Create an event, its value 0.
 * @event: receives it; the caller destroys it
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_create(struct doca_sync_event **event);

/*
 * Destroy an event, stopping it first. A thread that waits for it then waits for ever, a kernel
 * until its context ends.
 * INVALID_VALUE: NULL.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_destroy(struct doca_sync_event *event);

/* ------------------------------------------------- publishers, subscribers */

/*
 * Add a side that changes the event (publisher) or waits for it (subscriber). An event may have
 * several of each; one of each is needed to start.
 * @dev: in use by the event until it is destroyed
 * @dpa: up to 8 contexts a side; may be destroyed before the event
 * INVALID_VALUE: NULL, the event is started, or too many contexts.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_add_publisher_location_cpu(struct doca_sync_event *event, struct doca_dev *dev);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_add_publisher_location_dpa(struct doca_sync_event *event, struct doca_dpa *dpa);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_add_publisher_location_remote_net(struct doca_sync_event *event);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_add_publisher_location_remote_pci(struct doca_sync_event *event);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_add_subscriber_location_remote_pci(struct doca_sync_event *event);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_add_subscriber_location_cpu(struct doca_sync_event *event, struct doca_dev *dev);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_add_subscriber_location_dpa(struct doca_sync_event *event, struct doca_dpa *dpa);

/*
 * Use this word of the caller for the event. It keeps its value and must exist until the event is
 * stopped; any holder of its address may write it too, with plain 8-byte stores or RDMA.
 * @addr: aligned to 8 bytes
 * INVALID_VALUE: NULL or not aligned; BAD_STATE: started; NOT_SUPPORTED: the event is imported.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_set_addr(struct doca_sync_event *event,
							uint64_t *addr);

/*
 * Use the data of a buf for the event: 8 bytes aligned to 8. The event has a reference to the buf
 * until it is destroyed or gets another place. INVALID_VALUE: NULL; BAD_STATE: started;
 * NOT_PERMITTED: another length or alignment, or the buf's map does not permit local writing and
 * RDMA read, write and atomics.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_set_doca_buf(struct doca_sync_event *event,
							    struct doca_buf *buf);

/*
 * Make the event usable.
 * INVALID_VALUE: NULL, started already, or without a publisher or a subscriber; NO_MEMORY: for an
 * event with a location on the other side of the PCI bus.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_start(struct doca_sync_event *event);

/*
 * Stop the event, so that it can be configured again. Its handles and exports become invalid. The
 * value stays.
 * INVALID_VALUE: NULL or not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_stop(struct doca_sync_event *event);

/*
 * Get the handle of device code of the context for the event, until it is stopped. INVALID_VALUE:
 * NULL, not started, or the context is not started; NOT_SUPPORTED: the context is neither publisher
 * nor subscriber; NO_MEMORY: also when the context has too many objects.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_get_dpa_handle(struct doca_sync_event *event, struct doca_dpa *dpa,
			       doca_dpa_dev_sync_event_t *dpa_dev_se_handle);

/* -------------------------------------------------------- peers of the network */

/*
 * Export the event to a peer that changes it by RDMA; transfer the bytes by any means. A device of
 * the event is in use until it is stopped.
 * @data: the event's own, until it is stopped
 * @sz:   bytes
 * INVALID_VALUE: NULL or not started; NOT_SUPPORTED: no remote_net publisher, or no device that can
 * do it; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_export_to_remote_net(struct doca_sync_event *event,
								    const uint8_t **data,
								    size_t *sz);

/*
 * Create, on the peer's side, the event of an export, for signals over a doca_rdma connection with
 * its owner.
 * @dev:   in use until the object is destroyed
 * @event: receives it; the caller destroys it
 * INVALID_VALUE: NULL, or no export; NOT_SUPPORTED: an export of a later version, or the device has
 * no DPA; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_remote_net_create_from_export(struct doca_dev *dev, const uint8_t *data, size_t sz,
					      struct doca_sync_event_remote_net **event);

/* Destroy it. Its handles are no longer valid. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_remote_net_destroy(struct doca_sync_event_remote_net *event);

/*
 * Get the handle of device code of the context for the peer's event.
 * INVALID_VALUE: NULL or the context is not started; NOT_SUPPORTED: the context is another
 * device's; NO_MEMORY: also when the context has too many objects.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_remote_net_get_dpa_handle(
	struct doca_sync_event_remote_net *event, struct doca_dpa *dpa,
	doca_dpa_dev_sync_event_remote_net_t *dpa_remote_event);

/* ------------------------------------------- the other side of the PCI bus */

/*
 * Export the event to another process of this user on this host, which maps it. The event must have
 * a remote_pci publisher or subscriber and a word of its own; transfer the bytes by any means.
 * @data: the event's own, until it is destroyed
 * @sz:   bytes
 * INVALID_VALUE: NULL or not started; NOT_SUPPORTED: no such location, set_addr or set_doca_buf was
 * called, the event is imported, or the device has no DPA; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_export_to_remote_pci(struct doca_sync_event *event,
								    struct doca_dev *dev,
								    const uint8_t **data,
								    size_t *sz);

/*
 * Create the event of such an export. It cannot be configured, has CPU on both sides, and must be
 * started. It stays usable after its exporter has ended.
 * @event: receives it; the caller destroys it
 * INVALID_VALUE: NULL, no export, or the event is gone; NOT_SUPPORTED: another user's, or of a
 * later version, or the device has no DPA; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_create_from_export(struct doca_dev *dev,
								  const uint8_t *data, size_t sz,
								  struct doca_sync_event **event);

/*
 * Report capabilities of a device for events. Thread-safe. INVALID_VALUE: NULL; NOT_SUPPORTED: the
 * device does not have it.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_is_export_to_dpa_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_is_export_to_remote_pci_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_is_create_from_export_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_is_export_to_remote_net_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_remote_net_is_create_from_export_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_remote_net_is_export_to_dpa_supported(const struct doca_devinfo *devinfo);

/* ------------------------------------------------------------------ the CPU */

/* Get the present value. INVALID_VALUE: NULL or not started. */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_get(struct doca_sync_event *event, uint64_t *value);

/*
 * Add to the value, modulo 2^64.
 * @fetched: receives the previous value
 * INVALID_VALUE: NULL or not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_update_add(struct doca_sync_event *event,
							  uint64_t value, uint64_t *fetched);

/* Set the value. INVALID_VALUE: NULL or not started. */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_update_set(struct doca_sync_event *event,
							  uint64_t value);

/*
 * Wait until (value of the event & mask) is greater than, equal to, or not equal to value. The
 * caller polls for a while (functions named _yield yield the processor between two polls), then
 * sleeps until an update wakes it.
 * INVALID_VALUE: NULL or not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_wait_gt(struct doca_sync_event *event,
						       uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_wait_gt_yield(struct doca_sync_event *event,
							     uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_wait_eq(struct doca_sync_event *event,
						       uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_wait_eq_yield(struct doca_sync_event *event,
							     uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_wait_neq(struct doca_sync_event *event,
							uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_wait_neq_yield(struct doca_sync_event *event,
							      uint64_t value, uint64_t mask);

/* -------------------------------------------------------------------- tasks */

/*
 * Return the event as a context. Connect it to a progress engine, and start and stop it by
 * doca_ctx.h instead of doca_sync_event_start() and _stop(). All other calls work as well. NULL:
 * NULL, or started by doca_sync_event_start().
 * While tasks are in flight, stopping is IN_PROGRESS, and waits whose condition does not hold end
 * with the error SHUTDOWN; destroying it is INVALID_VALUE until it is stopped.
 */
DOCA_EXPERIMENTAL struct doca_ctx *doca_sync_event_as_ctx(struct doca_sync_event *event);

/*
 * For each kind of task:
 * cap_task_*_is_supported: whether a device's events have it. Thread-safe. INVALID_VALUE: NULL;
 *   NOT_SUPPORTED: no.
 * task_*_set_conf: set the callbacks of doca_pe_progress() for success and failure of a task, and
 * the number of tasks that may exist at the same time. INVALID_VALUE: NULL or 0; NOT_PERMITTED:
 * started. task_*_alloc_init: allocate a task, freed by doca_task_free(). INVALID_VALUE: NULL;
 * NO_MEMORY: also when there are as many as set_conf allowed, and unless the context is running.
 * task_*_as_doca_task: for doca_pe.h; NULL for NULL.
 * Fields may be set until the task is submitted. A NULL task has fields of 0.
 * doca_task_submit() returns INVALID_VALUE for a NULL ret_val_ptr, and for a mask that is not 0, 1,
 * 2, 4 or 8 whole bytes 0xff side by side.
 */
typedef void (*doca_sync_event_task_get_completion_cb_t)(struct doca_sync_event_task_get *task,
							 union doca_data task_user_data,
							 union doca_data ctx_user_data);
typedef void (*doca_sync_event_task_notify_set_completion_cb_t)(
	struct doca_sync_event_task_notify_set *task, union doca_data task_user_data,
	union doca_data ctx_user_data);
typedef void (*doca_sync_event_task_notify_add_completion_cb_t)(
	struct doca_sync_event_task_notify_add *task, union doca_data task_user_data,
	union doca_data ctx_user_data);
typedef void (*doca_sync_event_task_wait_eq_completion_cb_t)(
	struct doca_sync_event_task_wait_eq *task, union doca_data task_user_data,
	union doca_data ctx_user_data);
typedef void (*doca_sync_event_task_wait_neq_completion_cb_t)(
	struct doca_sync_event_task_wait_neq *task, union doca_data task_user_data,
	union doca_data ctx_user_data);

/* Read the event to *ret_val_ptr. */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_task_get_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_get_set_conf(
	struct doca_sync_event *event, doca_sync_event_task_get_completion_cb_t completion_cb,
	doca_sync_event_task_get_completion_cb_t error_cb, uint32_t num_tasks);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_get_alloc_init(
	struct doca_sync_event *event, uint64_t *ret_val_ptr, union doca_data user_data,
	struct doca_sync_event_task_get **task);
DOCA_EXPERIMENTAL struct doca_task *
doca_sync_event_task_get_as_doca_task(struct doca_sync_event_task_get *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_get_set_ret_val_ptr(struct doca_sync_event_task_get *task,
					 uint64_t *ret_val_ptr);
DOCA_EXPERIMENTAL uint64_t *
doca_sync_event_task_get_get_ret_val_ptr(const struct doca_sync_event_task_get *task);

/* Set the event to set_val. */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_task_notify_set_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_notify_set_set_conf(
	struct doca_sync_event *event,
	doca_sync_event_task_notify_set_completion_cb_t completion_cb,
	doca_sync_event_task_notify_set_completion_cb_t error_cb, uint32_t num_tasks);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_notify_set_alloc_init(
	struct doca_sync_event *event, uint64_t set_val, union doca_data user_data,
	struct doca_sync_event_task_notify_set **task);
DOCA_EXPERIMENTAL struct doca_task *
doca_sync_event_task_notify_set_as_doca_task(struct doca_sync_event_task_notify_set *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_notify_set_set_set_val(struct doca_sync_event_task_notify_set *task,
					    uint64_t set_val);
DOCA_EXPERIMENTAL uint64_t
doca_sync_event_task_notify_set_get_set_val(const struct doca_sync_event_task_notify_set *task);

/* Add inc_val to the event; store the previous value to *fetched_val_ptr unless that is NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_task_notify_add_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_notify_add_set_conf(
	struct doca_sync_event *event,
	doca_sync_event_task_notify_add_completion_cb_t completion_cb,
	doca_sync_event_task_notify_add_completion_cb_t error_cb, uint32_t num_tasks);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_notify_add_alloc_init(
	struct doca_sync_event *event, uint64_t inc_val, uint64_t *fetched_val_ptr,
	union doca_data user_data, struct doca_sync_event_task_notify_add **task);
DOCA_EXPERIMENTAL struct doca_task *
doca_sync_event_task_notify_add_as_doca_task(struct doca_sync_event_task_notify_add *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_notify_add_set_inc_val(struct doca_sync_event_task_notify_add *task,
					    uint64_t inc_val);
DOCA_EXPERIMENTAL uint64_t
doca_sync_event_task_notify_add_get_inc_val(const struct doca_sync_event_task_notify_add *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_notify_add_set_fetched_val_ptr(struct doca_sync_event_task_notify_add *task,
						    uint64_t *fetched_val_ptr);
DOCA_EXPERIMENTAL uint64_t *doca_sync_event_task_notify_add_get_fetched_val_ptr(
	const struct doca_sync_event_task_notify_add *task);

/* End when (value of the event & mask) is wait_val. */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_task_wait_eq_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_wait_eq_set_conf(
	struct doca_sync_event *event, doca_sync_event_task_wait_eq_completion_cb_t completion_cb,
	doca_sync_event_task_wait_eq_completion_cb_t error_cb, uint32_t num_tasks);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_wait_eq_alloc_init(
	struct doca_sync_event *event, uint64_t wait_val, uint64_t mask, union doca_data user_data,
	struct doca_sync_event_task_wait_eq **task);
DOCA_EXPERIMENTAL struct doca_task *
doca_sync_event_task_wait_eq_as_doca_task(struct doca_sync_event_task_wait_eq *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_wait_eq_set_wait_val(struct doca_sync_event_task_wait_eq *task,
					  uint64_t wait_val);
DOCA_EXPERIMENTAL uint64_t
doca_sync_event_task_wait_eq_get_wait_val(const struct doca_sync_event_task_wait_eq *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_wait_eq_set_mask(struct doca_sync_event_task_wait_eq *task, uint64_t mask);
DOCA_EXPERIMENTAL uint64_t
doca_sync_event_task_wait_eq_get_mask(const struct doca_sync_event_task_wait_eq *task);

/* End when (value of the event & mask) is not wait_val. */
DOCA_EXPERIMENTAL doca_error_t
doca_sync_event_cap_task_wait_neq_is_supported(const struct doca_devinfo *devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_wait_neq_set_conf(
	struct doca_sync_event *event, doca_sync_event_task_wait_neq_completion_cb_t completion_cb,
	doca_sync_event_task_wait_neq_completion_cb_t error_cb, uint32_t num_tasks);
DOCA_EXPERIMENTAL doca_error_t doca_sync_event_task_wait_neq_alloc_init(
	struct doca_sync_event *event, uint64_t wait_val, uint64_t mask, union doca_data user_data,
	struct doca_sync_event_task_wait_neq **task);
DOCA_EXPERIMENTAL struct doca_task *
doca_sync_event_task_wait_neq_as_doca_task(struct doca_sync_event_task_wait_neq *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_wait_neq_set_wait_val(struct doca_sync_event_task_wait_neq *task,
					   uint64_t wait_val);
DOCA_EXPERIMENTAL uint64_t
doca_sync_event_task_wait_neq_get_wait_val(const struct doca_sync_event_task_wait_neq *task);
DOCA_EXPERIMENTAL void
doca_sync_event_task_wait_neq_set_mask(struct doca_sync_event_task_wait_neq *task, uint64_t mask);
DOCA_EXPERIMENTAL uint64_t
doca_sync_event_task_wait_neq_get_mask(const struct doca_sync_event_task_wait_neq *task);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_SYNC_EVENT_H_ */
