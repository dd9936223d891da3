/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.c - the rules of injected failures and the function of this process: requests of dpactl, the
 * record that tools see, what is switched while rules are in force, asynchronous events.
 */
#include <string.h>
#include <dpa_hw_trace.h>
#include "board/board_layout.h"
#include "ctx/qp.h"
#include "ctx/schedule.h"
#include "eu/inject.h"
#include "inject/query.h"
#include "link/inspect.h"
#include "tables/tables.h"
#include "util/rest.h"
#include "util/sys.h"

#define PEERS	(1u << DPA_INJECT_PEER)
#define REGIONS (1u << DPA_INJECT_MR)
#define COMPLETIONS                                                                                \
	(1u << DPA_INJECT_WC | 1u << DPA_INJECT_CQ | 1u << DPA_INJECT_EVENT | PEERS | REGIONS)
#define CALLS (1u << DPA_INJECT_CALL)

_Static_assert(DPA_BOARD_INJECT_RULES == DPA_INJECT_RULES, "a count for each rule");
_Static_assert(DPA_INJECT_CALLS_MAX <= 256 && DPA_INJECT_LINES <= 128, "extra of DPA_TRACE_INJECT");

/* The timeline's point: of a call, or of the device itself. */
static void trace_failure(const struct dpa_inject_query *q)
{
	const bool call = q->line == DPA_INJECT_CALL || q->line == DPA_INJECT_CM;
	const uint32_t extra =
		(q->early ? DPA_TRACE_EARLY : 0) | (uint32_t)q->line << 8 | (uint32_t)q->rule->call;
	const uint64_t now = dpa_trace_rare();

	if (now)
		dpa_trace_at(now, DPA_TRACE_INJECT, (uint16_t)extra,
			     call ? DPA_TRACE_VERB : DPA_TRACE_COMPLETION, q->qpn,
			     (uint32_t)q->number, (uint32_t)q->rule->effect, q->rule->time);
}

/* With the lock of the rules held. */
static void report_failure(void *arg, const char *line, const struct dpa_inject_query *q)
{
	struct dpa_hw *hw = arg;

	if (dpa_trace_is_on())
		trace_failure(q);
	dpa_inspect_failure(hw, line, q->early ? dpa_now_ns() - q->early : 0);
	if (!q->early)
		dpa_log(hw, DPA_LOG_WARN, "%s", line);
}

/* The data path looks at the rules only while there are rules for it. */
static void switch_paths(struct dpa_hw *hw)
{
	uint32_t bits = atomic_load_explicit(&dpa_hw_injects, memory_order_relaxed);

	__atomic_store_n(hw->alive, bits & CALLS ? DPA_HW_ALIVE_ASKS : DPA_HW_ALIVE,
			 __ATOMIC_RELAXED);
	dpa_inspect_inject(hw, bits & COMPLETIONS, bits & PEERS);
}

static void publish_inject_rules(struct dpa_board_inject *r, uint32_t gen)
{
	char text[DPA_BOARD_INJECT_TEXT];
	struct dpa_inject_spec spec;

	dpa_inject_get(&spec);
	dpa_inject_text(&spec, text, sizeof(text));
	dpa_inject_show(r->count);
	dpa_board_inject_follow(r, gen, text);
}

void dpa_inject_open(struct dpa_hw *hw)
{
	struct dpa_board_inject *r;

	dpa_hw_inject_begin(&hw->cfg.inject, NULL);
	dpa_inject_bind(report_failure, hw);
	switch_paths(hw);
	if (!atomic_load_explicit(&dpa_hw_injects, memory_order_relaxed))
		return;
	r = dpa_board_inject_mine(hw->board, true);
	if (r)
		publish_inject_rules(r, 0);
}

/* ---------------------------------------------------------------------- port */

/* ns: how long; 0: until the rules change. A port that is down stays down for the longer time. */
static void take_port_down(struct dpa_hw *hw, uint64_t now, uint64_t ns)
{
	uint64_t end = ns ? now + ns : UINT64_MAX;

	if (end > hw->port_up_at)
		hw->port_up_at = end;
	dpa_inspect_down(hw, true);
}

static void bring_port_up(struct dpa_hw *hw)
{
	if (!hw->port_up_at)
		return;
	hw->port_up_at = 0;
	dpa_inspect_down(hw, false);
}

/* -------------------------------------------------------------------- the device */

/* ns: how long; 0: until the rules change. A device that has stopped already stops for the longer time. */
static void stop_device(struct dpa_hw *hw, uint64_t now, uint64_t ns)
{
	uint64_t end = ns ? now + ns : UINT64_MAX;

	if (end > hw->goes_on_at)
		hw->goes_on_at = end;
	atomic_store_explicit(&hw->stopped, true, memory_order_relaxed);
	dpa_log(hw, DPA_LOG_INFO, "device: stopped");
}

/* Runs each QP: it has answers and WQEs that waited. */
static void device_goes_on(struct dpa_hw *hw)
{
	uint32_t nslab = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	if (!atomic_load_explicit(&hw->stopped, memory_order_relaxed))
		return;
	hw->goes_on_at = 0;
	atomic_store_explicit(&hw->stopped, false, memory_order_relaxed);
	dpa_log(hw, DPA_LOG_INFO, "device: goes on");
	for (uint32_t i = 0; i < nslab; i++) {
		struct dpa_hw_qp *qp = hw->qps.slab[i];

		dpa_qplock_lock(&qp->lock);
		if (qp->qpn)
			dpa_schedule(qp, 0);
		dpa_qp_leave(qp);
	}
}

static void follow_request(struct dpa_hw *hw)
{
	struct dpa_board_inject *r = dpa_board_inject_mine(hw->board, false);
	char text[DPA_BOARD_INJECT_TEXT];
	struct dpa_inject_spec spec;
	uint32_t gen, was;

	if (!r || dpa_board_inject_gen(r) == dpa_board_inject_seen(r) ||
	    !dpa_board_inject_request(r, text, &gen))
		return;
	if (!dpa_inject_parse(text, &spec)) {
		dpa_log(hw, DPA_LOG_ERR,
			"cannot inject the failures that are set for this process");
		spec = (struct dpa_inject_spec){.set = true};
	}
	was = atomic_load_explicit(&dpa_hw_injects, memory_order_relaxed);
	dpa_inject_set(&spec);
	switch_paths(hw);
	if ((was | atomic_load_explicit(&dpa_hw_injects, memory_order_relaxed)) & REGIONS)
		dpa_regions_follow(hw);
	bring_port_up(hw);
	device_goes_on(hw);
	publish_inject_rules(r, gen);
	dpa_log(hw, DPA_LOG_INFO, "failures to inject: %s", text);
}

/* --------------------------------------------------------------------- events */

static void tell_contexts(struct dpa_hw *hw, uint32_t type)
{
	struct dpa_event ev = {.type = type, .port = 1};

	pthread_mutex_lock(&hw->ctl);
	for (struct dpa_hw_ctx *c = hw->ctxs; c; c = c->next)
		if (c->event)
			c->event(c->event_arg, &ev);
	pthread_mutex_unlock(&hw->ctl);
}

/* Makes no QP of these contexts from now on, and none leaves RESET. */
static void fail_contexts(struct dpa_hw *hw)
{
	pthread_mutex_lock(&hw->ctl);
	for (struct dpa_hw_ctx *c = hw->ctxs; c; c = c->next)
		atomic_store_explicit(&c->failed, true, memory_order_relaxed);
	pthread_mutex_unlock(&hw->ctl);
}

/* True if the device of its context is gone. A replica of an XRC target has no context. */
static bool is_device_lost(const struct dpa_hw_qp *qp)
{
	return !qp->ctx || atomic_load_explicit(&qp->ctx->failed, memory_order_relaxed);
}

static void end_qps(struct dpa_hw *hw)
{
	uint32_t nslab = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	for (uint32_t i = 0; i < nslab; i++) {
		struct dpa_hw_qp *qp = hw->qps.slab[i];

		dpa_qplock_lock(&qp->lock);
		if (qp->qpn && !qp->gsi && qp->state != DPA_QPS_RESET && is_device_lost(qp))
			dpa_qp_to_error(qp);
		dpa_qp_leave(qp);
	}
}

/*
 * The device is gone for ns, and comes back as a new one: contexts that are opened then are not touched.
 * A call that is on its way makes no QP of a failed context, and moves none on. The device below lives
 * on: it flushes what was posted, and what is posted later.
 */
static void fail_device(struct dpa_hw *hw, uint64_t now, uint64_t ns)
{
	dpa_inject_leave(now + ns);
	fail_contexts(hw);
	tell_contexts(hw, DPA_EVENT_DEVICE_FATAL);
	end_qps(hw);
}

/* The service thread tells the contexts of a port that is down, or up again. */
static void raise_event(struct dpa_hw *hw, int type, uint64_t now, uint64_t ns)
{
	switch (type) {
	case DPA_EVENT_PORT_ERR:
		take_port_down(hw, now, ns);
		break;
	case DPA_EVENT_DEVICE_FATAL:
		fail_device(hw, now, ns);
		break;
	case DPA_INJECT_STOPPED:
		stop_device(hw, now, ns);
		break;
	default:
		tell_contexts(hw, (uint32_t)type);
	}
}

void dpa_inject_tick(struct dpa_hw *hw, uint64_t now)
{
	uint64_t ns = 0;
	int type;

	follow_request(hw);
	while ((type = dpa_inject_raised(&ns)) >= 0 || (type = dpa_inject_timed(now, &ns)) >= 0)
		raise_event(hw, type, now, ns);
	if (dpa_unlikely(hw->port_up_at) && now >= hw->port_up_at)
		bring_port_up(hw);
	if (dpa_unlikely(hw->goes_on_at) && now >= hw->goes_on_at)
		device_goes_on(hw);
}

bool dpa_inject_wants_ticks(struct dpa_hw *hw)
{
	const struct dpa_board_inject *r = dpa_board_inject_mine(hw->board, false);

	return atomic_load_explicit(&dpa_hw_injects, memory_order_relaxed) || hw->port_up_at ||
	       (r && dpa_board_inject_gen(r) != dpa_board_inject_seen(r));
}

uint64_t dpa_inject_wait(struct dpa_hw *hw, uint64_t ns)
{
	uint64_t due = dpa_inject_due(), now;

	if (hw->port_up_at && hw->port_up_at < due)
		due = hw->port_up_at;
	if (hw->goes_on_at && hw->goes_on_at < due)
		due = hw->goes_on_at;
	if (due == UINT64_MAX)
		return ns;
	now = dpa_now_ns();
	if (due <= now)
		return 0;
	return due - now < ns ? due - now : ns;
}

/* --------------------------------------------------------------------- threads */

#define NAP_NS 5000000ull

static bool is_steal_over(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->stop, memory_order_relaxed) ||
	       !dpa_hw_injecting(DPA_INJECT_PROGRESS);
}

void dpa_inject_steal(struct dpa_hw *hw, bool service)
{
	uint64_t ns = 0, now = dpa_now_ns(), end;

	if (dpa_likely(!dpa_inject_point(DPA_INJECT_PROGRESS, &ns)))
		return;
	for (end = now + ns; now < end && !is_steal_over(hw); now = dpa_now_ns()) {
		const uint64_t nap = end - now < NAP_NS ? end - now : NAP_NS;

		dpa_own_sleeps();
		dpa_sys_nap(nap);
		dpa_own_woke();
		if (service)
			dpa_inject_tick(hw, now);
	}
}
