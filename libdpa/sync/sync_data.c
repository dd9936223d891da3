/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sync_data.c - sync events: read, change and wait on the CPU. Any thread. */
#include <sched.h>
#include "../run/fault.h"
#include "../eu/futex.h"
#include "../host/libdpa.h"
#include "sync_event.h"
#include <doca_sync_event.h>

#define SPIN_PAUSES 200	 /* polls before the first yield */
#define SPIN_LOOKS  2000 /* polls before it sleeps */

static bool is_event_started(const struct doca_sync_event *se)
{
	return dpa_live(se) &&
	       atomic_load_explicit(&se->state, memory_order_acquire) == DPA_SE_STARTED;
}

doca_error_t doca_sync_event_get(struct doca_sync_event *event, uint64_t *value)
{
	if (!is_event_started(event) || !value)
		return DOCA_ERROR_INVALID_VALUE;
	*value = dpa_se_read(event);
	return DOCA_SUCCESS;
}

doca_error_t doca_sync_event_update_add(struct doca_sync_event *event, uint64_t value,
					uint64_t *fetched)
{
	if (!is_event_started(event) || !fetched)
		return DOCA_ERROR_INVALID_VALUE;
	*fetched = dpa_se_add(event, value);
	return DOCA_SUCCESS;
}

doca_error_t doca_sync_event_update_set(struct doca_sync_event *event, uint64_t value)
{
	if (!is_event_started(event))
		return DOCA_ERROR_INVALID_VALUE;
	dpa_se_set(event, value);
	return DOCA_SUCCESS;
}

/* -------------------------------------------------------------------- waits */

void dpa_se_wake_sleeper(struct dpa_se_watch *w)
{
	struct dpa_se_sleeper *s = container_of(w, struct dpa_se_sleeper, watch);

	atomic_store_explicit(&s->woken, 1, memory_order_release);
	dpa_futex_wake(&s->woken, 1); /* only the address is used: the waiter may be gone */
}

static bool value_holds(const struct doca_sync_event *se, enum dpa_se_cond cond, uint64_t value,
			uint64_t mask)
{
	uint64_t v = dpa_se_read(se) & mask;

	return cond == DPA_SE_GT ? v > value : cond == DPA_SE_EQ ? v == value : v != value;
}

/*
 * Drive the device: a word that peers write by RDMA changes earlier if the waiting thread drives
 * it.
 */
static void drive_event(const struct doca_sync_event *se)
{
	struct doca_dev *dev = se->sub.dev ? se->sub.dev : se->pub.dev;

	if (se->polled && dev && dpa_hwif_progress(dev->ctx) > 0)
		return;
	dpal_pause();
}

/* Poll for a while, then sleep until an update (or the poller, see watch.c) wakes the thread. */
static doca_error_t wait_for_value(struct doca_sync_event *se, enum dpa_se_cond cond,
				   uint64_t value, uint64_t mask, int spins)
{
	struct dpa_se_sleeper wait = {.woken = 0};

	if (!is_event_started(se))
		return DOCA_ERROR_INVALID_VALUE;
	for (int i = 0; i < SPIN_LOOKS; i++) {
		if (value_holds(se, cond, value, mask))
			return DOCA_SUCCESS;
		drive_event(se);
		if (i >= spins)
			sched_yield();
	}
	if (dpa_se_watch(&wait.watch, se, cond, value, mask, dpa_se_wake_sleeper)) {
		while (!value_holds(se, cond, value, mask)) /* no poller is available */
			sched_yield();
		return DOCA_SUCCESS;
	}
	while (!atomic_load_explicit(&wait.woken, memory_order_acquire))
		dpa_futex_wait(&wait.woken, 0, -1);
	return DOCA_SUCCESS;
}

doca_error_t doca_sync_event_wait_gt(struct doca_sync_event *event, uint64_t value, uint64_t mask)
{
	return wait_for_value(event, DPA_SE_GT, value, mask, SPIN_PAUSES);
}

doca_error_t doca_sync_event_wait_gt_yield(struct doca_sync_event *event, uint64_t value,
					   uint64_t mask)
{
	return wait_for_value(event, DPA_SE_GT, value, mask, 0);
}

doca_error_t doca_sync_event_wait_eq(struct doca_sync_event *event, uint64_t value, uint64_t mask)
{
	return wait_for_value(event, DPA_SE_EQ, value, mask, SPIN_PAUSES);
}

doca_error_t doca_sync_event_wait_eq_yield(struct doca_sync_event *event, uint64_t value,
					   uint64_t mask)
{
	return wait_for_value(event, DPA_SE_EQ, value, mask, 0);
}

doca_error_t doca_sync_event_wait_neq(struct doca_sync_event *event, uint64_t value, uint64_t mask)
{
	return wait_for_value(event, DPA_SE_NE, value, mask, SPIN_PAUSES);
}

doca_error_t doca_sync_event_wait_neq_yield(struct doca_sync_event *event, uint64_t value,
					    uint64_t mask)
{
	return wait_for_value(event, DPA_SE_NE, value, mask, 0);
}
