/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops_async.c - asynchronous operations in device code: the rules of ../../run/ops.h. */
#include <sched.h>
#include "../../run/ops.h"
#include "async.h"
#include "../ops.h"

#define ALL_FLAGS 3u /* of enum doca_dpa_dev_submit_flag */

static struct doca_dpa_async_ops *async_of(struct dpal_eu *eu, struct dpal_run *run,
					   uint64_t handle)
{
	return container_of(
		dpa_op_object(eu, run, DPA_H_ASYNC_OPS, handle, "async operations object"),
		struct doca_dpa_async_ops, obj);
}

/* End a post. 1: the queue is full; progress empties it, and the image calls again. */
static int end_post(struct dpal_eu *eu, struct dpal_run *run, bool taken)
{
	if (!taken && !dpa_hwif_progress(run->cur->dev->ctx))
		sched_yield();
	dpal_eu_op_end(eu);
	return !taken;
}

int dpa_op_async_copy(uint64_t async_ops, const struct dpa_dev_copy *copy)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_dpa_async_ops *a = async_of(eu, run, async_ops);

	dpa_op_thread(eu, run, "doca_dpa_dev_post_memcpy");
	if (copy->flags & ~ALL_FLAGS || (copy->data && copy->length > DPA_DEV_ASYNC_INLINE))
		dpa_op_mistake(eu, "submit flags that are unknown");
	return end_post(eu, run, dpa_async_put_copy(a, copy));
}

int dpa_op_async_wait(uint64_t async_ops, uint64_t se, uint64_t value, uint32_t not_equal)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_dpa_async_ops *a = async_of(eu, run, async_ops);
	struct dpa_object *e = dpa_op_object(eu, run, DPA_H_SYNC_EVENT, se, "sync event");

	dpa_op_thread(eu, run, "doca_dpa_dev_sync_event_post_wait");
	return end_post(
		eu, run,
		dpa_async_put_wait(a, dpa_se_of(e), not_equal ? DPA_SE_NE : DPA_SE_GT, value));
}

int dpa_op_async_snapshot(uint64_t async_ops, uint32_t key, uint64_t addr, uint64_t length)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_dpa_async_ops *a = async_of(eu, run, async_ops);
	bool yes = length && length <= DPA_DEV_ASYNC_INLINE &&
		   dpa_hwif_may_read(&a->pair.send.view, key, addr, length);

	dpal_eu_op_end(eu);
	return yes;
}
