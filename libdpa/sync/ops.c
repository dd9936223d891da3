/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.c - sync events in device code: the rules of ../run/ops.h. */
#include "ops.h"
#include <sched.h>
#include "../crash/watchdog.h"
#include "../eu/clock.h"
#include "../eu/futex.h"
#include "../run/ops.h"
#include "sync_event.h"

#define YIELD_ROUNDS 200 /* polls before it yields the processor */
#define SLEEP_ROUNDS 400 /* polls before it sleeps */
#define SLEEP_MS     1	 /* ms; after each sleep it checks for a kill */

static struct doca_sync_event *sync_event_of(struct dpal_eu *eu, struct dpal_run *run, uint64_t se)
{
	return dpa_se_of(dpa_op_object(eu, run, DPA_H_SYNC_EVENT, se, "sync event"));
}

uint64_t dpa_op_sync_event_get(uint64_t se)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	uint64_t v = dpa_se_read(sync_event_of(eu, run, se));

	dpal_eu_op_end(eu);
	return v;
}

void dpa_op_sync_event_update(uint64_t se, uint64_t value, uint32_t add)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_sync_event *e = sync_event_of(eu, run, se);

	if (add)
		dpa_se_add(e, value);
	else
		dpa_se_set(e, value);
	dpal_eu_op_end(eu);
}

/*
 * Sleep until an update wakes it, or for one millisecond. The caller holds a reference to the
 * event; the handle is not used.
 */
static void sleep_on(struct doca_sync_event *e, uint64_t value, uint64_t mask)
{
	struct dpa_se_sleeper s = {.woken = 0};

	if (dpa_se_watch(&s.watch, e, DPA_SE_GT, value, mask, dpa_se_wake_sleeper))
		return;
	if (!atomic_load_explicit(&s.woken, memory_order_acquire))
		dpa_futex_wait(&s.woken, 0, SLEEP_MS);
	dpa_se_watch_cancel(&s.watch);
}

/*
 * Poll once. If the condition does not hold, give up the EU and the processor, more often the
 * longer it waits.
 */
int dpa_op_sync_event_wait_gt(uint64_t se, uint64_t value, uint64_t mask, uint32_t round)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_sync_event *e = sync_event_of(eu, run, se);
	bool holds = (dpa_se_read(e) & mask) > value;

	if (!holds && (round >= SLEEP_ROUNDS || !dpa_hwif_progress(run->cur->dev->ctx))) {
		dpa_se_hold(e);
		atomic_store_explicit(&eu->in_op, DPA_OP_WAITS, memory_order_seq_cst);
		if (round >= SLEEP_ROUNDS) {
			uint64_t since = dpal_now_ns();

			sleep_on(e, value, mask);
			dpa_watchdog_waited(eu, since);
		} else if (round >= YIELD_ROUNDS)
			sched_yield();
		dpa_se_release(e);
		if (!dpa_pool_yield(eu))
			dpal_eu_leave(DPA_EU_KILLED);
	}
	dpal_eu_op_end(eu);
	return holds;
}
