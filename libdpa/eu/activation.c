/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* activation.c - the state machine of activation.h. */
#include <limits.h>
#include "clock.h"
#include "activation.h"
#include "futex.h"

#define STATE(w) ((w)&DPA_ACT_STATE_MASK)

static uint32_t with_state(uint32_t w, uint32_t state)
{
	return (w & ~(uint32_t)DPA_ACT_STATE_MASK) | state;
}

static void execute_work(struct dpa_work *work)
{
	dpa_act_execute((struct dpa_act *)((char *)work - offsetof(struct dpa_act, work)));
}

void dpa_act_init(struct dpa_act *act)
{
	dpa_work_init(&act->work, execute_work);
	atomic_init(&act->word, DPA_ACT_STOPPED);
	atomic_init(&act->notified, 0);
	atomic_init(&act->count, 0);
	pthread_mutex_init(&act->lock, NULL);
	act->sources = NULL;
}

void dpa_act_fini(struct dpa_act *act)
{
	pthread_mutex_destroy(&act->lock);
}

/* Set flags. An idle target that then has both RUN and PENDING becomes QUEUED. */
static void raise_flags(struct dpa_act *act, uint32_t flags)
{
	uint32_t w = atomic_load_explicit(&act->word, memory_order_relaxed), n;

	do {
		if (STATE(w) == DPA_ACT_STOPPED || STATE(w) == DPA_ACT_FINISHED || w & DPA_ACT_STOP)
			return;
		n = w | flags;
		if (STATE(n) == DPA_ACT_IDLE && n & DPA_ACT_RUN && n & DPA_ACT_PENDING)
			n = with_state(n, DPA_ACT_QUEUED);
	} while (!atomic_compare_exchange_weak_explicit(&act->word, &w, n, memory_order_acq_rel,
							memory_order_relaxed));
	if (STATE(n) == DPA_ACT_QUEUED && STATE(w) == DPA_ACT_IDLE)
		act->dispatch(act);
}

void dpa_act_set_running(struct dpa_act *act)
{
	raise_flags(act, DPA_ACT_RUN);
}

void dpa_act_notify(struct dpa_act *act)
{
	atomic_store_explicit(&act->notified, 1, memory_order_relaxed);
	raise_flags(act, DPA_ACT_PENDING);
}

/* Take the arming, if there is one: an activation of the source is pending from here on. */
static void source_fire(struct dpa_source *src)
{
	if (!atomic_exchange_explicit(&src->armed, 0, memory_order_acq_rel))
		return;
	atomic_store_explicit(&src->fired, 1, memory_order_release);
	raise_flags(src->act, DPA_ACT_PENDING);
}

void dpa_source_event(struct dpa_source *src)
{
	if (src->act)
		source_fire(src);
}

/* Arm first, check second: see rule 2. */
static void arm_and_look(struct dpa_source *src)
{
	src->arm(src);
	if (src->unread(src))
		source_fire(src);
}

/* Start: arm the attached sources. A stop may have come between an arming and its activation. */
void dpa_act_start(struct dpa_act *act)
{
	atomic_store_explicit(&act->notified, 0, memory_order_relaxed);
	atomic_store_explicit(&act->word, DPA_ACT_IDLE, memory_order_release);
	pthread_mutex_lock(&act->lock);
	for (struct dpa_source *s = act->sources; s; s = s->next) {
		atomic_store_explicit(&s->fired, 0, memory_order_relaxed);
		atomic_store_explicit(&s->armed, 1, memory_order_release);
		arm_and_look(s);
	}
	pthread_mutex_unlock(&act->lock);
}

void dpa_source_request(struct dpa_source *src, bool self)
{
	atomic_store_explicit(&src->armed, 1, memory_order_release);
	if (src->act && !self)
		arm_and_look(src);
}

void dpa_act_attach(struct dpa_act *act, struct dpa_source *src)
{
	pthread_mutex_lock(&act->lock);
	src->act = act;
	src->next = act->sources;
	act->sources = src;
	pthread_mutex_unlock(&act->lock);
	dpa_source_request(src, false);
}

void dpa_act_detach(struct dpa_act *act, struct dpa_source *src)
{
	struct dpa_source **p;

	pthread_mutex_lock(&act->lock);
	for (p = &act->sources; *p; p = &(*p)->next)
		if (*p == src) {
			*p = src->next;
			break;
		}
	pthread_mutex_unlock(&act->lock);
}

/* Rule 3: return whether this activation has a reason. Late callbacks get their arming back. */
static bool has_reason(struct dpa_act *act)
{
	bool reason = atomic_exchange_explicit(&act->notified, 0, memory_order_acq_rel);

	pthread_mutex_lock(&act->lock);
	for (struct dpa_source *s = act->sources; s; s = s->next) {
		if (!atomic_exchange_explicit(&s->fired, 0, memory_order_acq_rel))
			continue;
		if (s->unread(s))
			reason = true;
		else
			atomic_store_explicit(&s->armed, 1, memory_order_release);
	}
	pthread_mutex_unlock(&act->lock);
	return reason;
}

static void rearm_act(struct dpa_act *act)
{
	pthread_mutex_lock(&act->lock);
	for (struct dpa_source *s = act->sources; s; s = s->next)
		if (atomic_load_explicit(&s->armed, memory_order_acquire))
			arm_and_look(s);
	pthread_mutex_unlock(&act->lock);
}

/* Step from QUEUED to RUNNING. False: the host has stopped it meanwhile. */
static bool begin_act(struct dpa_act *act)
{
	uint32_t w = atomic_load_explicit(&act->word, memory_order_acquire), n;

	do
		n = w & DPA_ACT_STOP ? DPA_ACT_STOPPED
				     : with_state(w & ~(uint32_t)DPA_ACT_PENDING, DPA_ACT_RUNNING);
	while (!atomic_compare_exchange_weak_explicit(&act->word, &w, n, memory_order_acq_rel,
						      memory_order_acquire));
	return n != DPA_ACT_STOPPED;
}

/*
 * Leave RUNNING (to FINISHED) or ENDING (to IDLE or QUEUED). Unless the new state is QUEUED, the EU
 * must not touch the target after the return: a host that waits for it may free it.
 */
static void leave_act(struct dpa_act *act, enum dpa_act_end how)
{
	uint32_t w = atomic_load_explicit(&act->word, memory_order_acquire), n;
	bool again;

	do {
		again = false;
		if (w & DPA_ACT_STOP) {
			n = DPA_ACT_STOPPED;
		} else if (how == DPA_END_FINISH) {
			n = DPA_ACT_FINISHED;
		} else {
			again = w & DPA_ACT_PENDING;
			n = with_state(w, again ? DPA_ACT_QUEUED : DPA_ACT_IDLE);
		}
	} while (!atomic_compare_exchange_weak_explicit(&act->word, &w, n, memory_order_acq_rel,
							memory_order_acquire));
	if (again)
		act->dispatch(act);
	else if (STATE(n) != DPA_ACT_IDLE)
		/* only the address is used: the target may be freed */
		dpa_futex_wake(&act->word, INT_MAX);
}

void dpa_act_execute(struct dpa_act *act)
{
	enum dpa_act_end how = DPA_END_RESCHEDULE;

	if (!begin_act(act)) {
		dpa_futex_wake(&act->word, 1);
		return;
	}
	if (has_reason(act)) {
		atomic_fetch_add_explicit(&act->count, 1, memory_order_relaxed);
		how = act->run(act);
	}
	if (how == DPA_END_RESCHEDULE) {
		uint32_t w = atomic_load_explicit(&act->word, memory_order_relaxed);

		while (!atomic_compare_exchange_weak_explicit(
			&act->word, &w, with_state(w, DPA_ACT_ENDING), memory_order_seq_cst,
			memory_order_relaxed))
			;
		rearm_act(act);
	}
	leave_act(act, how);
}

/* Set STOP. A target at rest is stopped at once. */
static void ask_to_stop(struct dpa_act *act)
{
	uint32_t w = atomic_load_explicit(&act->word, memory_order_acquire), n;

	do {
		uint32_t s = STATE(w);

		n = s == DPA_ACT_QUEUED || s == DPA_ACT_RUNNING || s == DPA_ACT_ENDING
			    ? w | DPA_ACT_STOP
			    : DPA_ACT_STOPPED;
	} while (!atomic_compare_exchange_weak_explicit(&act->word, &w, n, memory_order_acq_rel,
							memory_order_acquire));
}

static int ms_left(uint64_t end)
{
	uint64_t now = dpal_now_ns();

	return now < end ? (int)((end - now) / 1000000) : 0;
}

/* Sleep until it is stopped, or in this state. */
static bool wait_for_state(struct dpa_act *act, uint32_t state, int timeout_ms)
{
	uint32_t w = atomic_load_explicit(&act->word, memory_order_acquire);
	uint64_t end = dpal_now_ns() + (timeout_ms > 0 ? timeout_ms * UINT64_C(1000000) : 0);
	int left = timeout_ms;

	while (STATE(w) != state && STATE(w) != DPA_ACT_STOPPED) {
		if (timeout_ms >= 0 && !(left = ms_left(end)))
			return false;
		dpa_futex_wait(&act->word, w, left);
		w = atomic_load_explicit(&act->word, memory_order_acquire);
	}
	return true;
}

bool dpa_act_stop(struct dpa_act *act, int timeout_ms)
{
	ask_to_stop(act);
	return wait_for_state(act, DPA_ACT_STOPPED, timeout_ms);
}

bool dpa_act_wait(struct dpa_act *act, int timeout_ms)
{
	return wait_for_state(act, DPA_ACT_FINISHED, timeout_ms);
}
