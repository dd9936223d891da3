/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cq.c - completion queues: the producer's side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_hw_trace.h>
#include "ctx/cq.h"
#include "ctx/moderate.h"
#include "ctx/thread.h"
#include "inject/inject.h"

static void cq_event(struct dpa_hw_cq *cq, uint32_t type)
{
	struct dpa_event ev = {.type = type, .user_handle = cq->user_handle};

	if (cq->ctx->event)
		cq->ctx->event(cq->ctx->event_arg, &ev);
}

/* True if there is no room for the entry at `pi`. */
static bool cq_full(struct dpa_hw_cq *cq, uint32_t pi)
{
	if (dpa_likely(pi - cq->ci_seen < 1u << cq->log_size))
		return false; /* without a read of the poller's cache line */
	cq->ci_seen = __atomic_load_n(cq->ci, __ATOMIC_ACQUIRE);
	return pi - cq->ci_seen >= 1u << cq->log_size;
}

/*
 * IBA 11.6.3.2: an overrun CQ is in error. Its further completions are lost, and a QP that loses
 * one goes to error: dpa_qp_report().
 */
static void cq_overrun(struct dpa_hw_cq *cq)
{
	if (cq->overrun)
		return;
	cq->overrun = true;
	dpa_log(cq->ctx->hw, DPA_LOG_ERR, "CQ %u overran its %u entries", cq->cqn,
		1u << cq->log_size);
	cq_event(cq, DPA_EVENT_CQ_ERR);
}

void dpa_cq_break(struct dpa_hw_cq *cq)
{
	dpa_spin_lock(&cq->lock);
	if (!(cq->flags & DPA_CQ_IGNORE_OVERRUN))
		cq_overrun(cq);
	dpa_spin_unlock(&cq->lock);
}

#define SHOW_CQES 16 /* CQEs between two updates of the displayed count */

/* Writes the entry at `at`, which is not counted yet. False: no room. Context: the CQ's lock. */
static bool cq_put_cqe(struct dpa_hw_cq *cq, uint32_t at, const struct dpa_cqe *cqe)
{
	struct dpa_cqe *e = &cq->buf[at & ((1u << cq->log_size) - 1)];

	if (dpa_unlikely(!(cq->flags & DPA_CQ_IGNORE_OVERRUN) &&
			 (cq->overrun || cq_full(cq, at)))) {
		cq_overrun(cq);
		return false;
	}
	memcpy(e, cqe, offsetof(struct dpa_cqe, opcode));
	if (cq->flags & DPA_CQ_TIMESTAMP)
		e->timestamp = dpa_now_ns();
	dpa_cqe_publish(e, cqe, dpa_cqe_owner(at, cq->log_size));
	return true;
}

/* True if an event reports these n new entries, the last ones of the CQ. Context: the CQ's lock. */
/* IBA 9.2 (se) */
static bool event_fires(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe, uint32_t n)
{
	bool fire = false;

	for (uint32_t i = 0; i < n && !fire; i++) {
		fire = cq->armed == 1 || cqe[i].status || (cqe[i].flags & DPA_CQE_F_SOLICITED);
		if (fire && dpa_unlikely(cq->mod_count > 1))
			fire = !dpa_cq_hold(cq);
	}
	if (fire) {
		cq->armed = 0;
		cq->told = cq->pi;
		if (cq->info)
			cq->info->armed = 0;
	}
	return fire;
}

static __attribute__((cold, noinline)) void trace_cqes(const struct dpa_hw_cq *cq, uint64_t at,
						       const struct dpa_cqe *cqe, uint32_t from,
						       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		dpa_trace_at(at, DPA_TRACE_CQE, cqe[i].status, cqe[i].opcode, cq->cqn, from + i,
			     cqe[i].qpn, (uint64_t)cqe[i].vendor_err << 32 | cqe[i].wqe_index);
}

/*
 * The event is lost or late if a failure is injected: never one of QP1 or of a DPA thread. Context:
 * the CQ's lock.
 */
static void notify_comp(struct dpa_hw_cq *cq)
{
	uint64_t ns;

	switch (cq->flags & DPA_CQ_CHANNEL ? dpa_inject_comp(&ns) : 0) {
	case DPA_INJECT_LOST:
		return;
	case DPA_INJECT_LATE:
		dpa_cq_late(cq, ns);
		return;
	default:
		cq->comp(cq->comp_arg);
	}
}

/* Stores the producer index once for all of them. */
uint32_t dpa_cq_push_all(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe, uint32_t n)
{
	uint32_t was, done = 0;
	bool fire = false;
	uint64_t began;

	dpa_spin_lock(&cq->lock);
	began = dpa_trace_begin();
	was = cq->pi;
	while (done < n && cq_put_cqe(cq, was + done, &cqe[done]))
		done++;
	if (dpa_likely(done)) {
		__atomic_store_n(&cq->pi, was + done, __ATOMIC_RELAXED); /* hints: unlocked */
		if (dpa_unlikely(began))
			trace_cqes(cq, began, cqe, was, done);
		for (uint32_t i = 0; dpa_unlikely(cq->tap != NULL) && i < done; i++)
			/* a mirror CQ has no mirror CQ: at most two locks */
			dpa_cq_push(cq->tap, &cqe[i]);
		if (dpa_unlikely(cq->info && (was + done) / SHOW_CQES != was / SHOW_CQES))
			cq->info->cqes += ((was + done) / SHOW_CQES - was / SHOW_CQES) * SHOW_CQES;
		if (dpa_unlikely(cq->armed))
			fire = event_fires(cq, cqe, done);
		if (fire && cq->comp)
			notify_comp(cq);
	}
	dpa_spin_unlock(&cq->lock);
	return done;
}

bool dpa_cq_push(struct dpa_hw_cq *cq, const struct dpa_cqe *cqe)
{
	return dpa_cq_push_all(cq, cqe, 1);
}

void dpa_cq_fire_held(struct dpa_hw_cq *cq)
{
	bool fire, late;

	dpa_spin_lock(&cq->lock);
	fire = cq->armed && cq->held && cq->pi != __atomic_load_n(cq->ci, __ATOMIC_ACQUIRE);
	cq->held = 0;
	late = cq->late;
	cq->late = false;
	if (fire) {
		cq->armed = 0;
		cq->told = cq->pi;
		if (cq->info)
			cq->info->armed = 0;
	}
	if ((fire || late) && cq->comp)
		cq->comp(cq->comp_arg);
	dpa_spin_unlock(&cq->lock);
}

/*
 * Takes a free record, even ones first: two share a cache line, and CQs of two threads should not.
 */
static struct dpa_board_cqinfo *info_take(struct dpa_board_cqinfo *info)
{
	for (int first = 0; info && first < 2; first++)
		for (int i = first; i < DPA_BOARD_CQINFO; i += 2)
			if (!info[i].cqn)
				return &info[i];
	return NULL;
}

int dpa_hw_create_cq(struct dpa_hw_ctx *ctx, const struct dpa_cq_attr *attr, struct dpa_hw_cq **out,
		     uint32_t *cqn)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_board_cqinfo *info = dpa_board_cqinfo(hw->board, hw->board->slot);
	struct dpa_hw_cq *cq;

	if (!attr->buf || !attr->ci || attr->log_size > 31 || 1u << attr->log_size > DPA_MAX_CQE ||
	    (attr->flags & ~(uint32_t)(DPA_CQ_IGNORE_OVERRUN | DPA_CQ_TIMESTAMP | DPA_CQ_CHANNEL)))
		return EINVAL;
	if (posix_memalign((void **)&cq, _Alignof(struct dpa_hw_cq), sizeof(*cq)))
		return ENOMEM;
	memset(cq, 0, sizeof(*cq));
	cq->ctx = ctx;
	cq->log_size = attr->log_size;
	cq->buf = attr->buf;
	cq->ci = attr->ci;
	cq->flags = attr->flags;
	cq->user_handle = attr->user_handle;
	cq->comp = attr->comp;
	cq->comp_arg = attr->comp_arg;
	pthread_mutex_lock(&hw->ctl);
	if (hw->num.cq >= DPA_MAX_CQ) {
		pthread_mutex_unlock(&hw->ctl);
		dpa_log(hw, DPA_LOG_ERR, "all %d CQs of this process are in use", DPA_MAX_CQ);
		free(cq);
		return ENOMEM;
	}
	hw->num.cq++;
	hw->board->self->ncq = hw->num.cq;
	cq->cqn = ++hw->next.cqn;
	cq->info = info_take(info);
	if (cq->info)
		*cq->info = (struct dpa_board_cqinfo){
			.cqn = cq->cqn, .depth = 1u << cq->log_size, .flags = cq->flags};
	pthread_mutex_unlock(&hw->ctl);
	*out = cq;
	*cqn = cq->cqn;
	return 0;
}

int dpa_hw_resize_cq(struct dpa_hw_cq *cq, void *buf, uint32_t log_size)
{
	struct dpa_cqe *to = buf;
	uint32_t ci, n;
	int ret = 0;

	dpa_spin_lock(&cq->lock);
	ci = __atomic_load_n(cq->ci, __ATOMIC_ACQUIRE);
	n = cq->pi - ci;
	if (n > 1u << log_size) {
		ret = EINVAL;
		goto out;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct dpa_cqe *e = &to[(ci + i) & ((1u << log_size) - 1)];

		*e = cq->buf[(ci + i) & ((1u << cq->log_size) - 1)];
		e->owner = dpa_cqe_owner(ci + i, log_size);
	}
	cq->buf = to;
	cq->log_size = log_size;
	if (cq->info)
		cq->info->depth = 1u << log_size;
out:
	dpa_spin_unlock(&cq->lock);
	return ret;
}

int dpa_hw_tap_cq(struct dpa_hw_cq *cq, struct dpa_hw_cq *tap)
{
	if (!tap || cq == tap || tap->tap || !(tap->flags & DPA_CQ_IGNORE_OVERRUN) ||
	    tap->ctx->hw != cq->ctx->hw)
		return EINVAL;
	dpa_spin_lock(&cq->lock);
	if (cq->tap) {
		dpa_spin_unlock(&cq->lock);
		return EBUSY;
	}
	atomic_fetch_add(&tap->refs, 1);
	cq->tap = tap;
	dpa_spin_unlock(&cq->lock);
	return 0;
}

int dpa_hw_destroy_cq(struct dpa_hw_cq *cq)
{
	struct dpa_hw *hw = cq->ctx->hw;

	if (atomic_load_explicit(&cq->refs, memory_order_acquire))
		return EBUSY;
	if (cq->tap)
		atomic_fetch_sub(&cq->tap->refs, 1);
	dpa_moderation_forget(cq);
	pthread_mutex_lock(&hw->ctl);
	hw->num.cq--;
	hw->board->self->ncq = hw->num.cq;
	if (cq->info)
		cq->info->cqn = 0;
	pthread_mutex_unlock(&hw->ctl);
	free(cq);
	return 0;
}

/*
 * True if there is an entry of the requested kind that no event has reported, or that was there
 * when the CQ was armed before. Context: the CQ's lock.
 */
static bool has_waiting(struct dpa_hw_cq *cq, bool solicited_only)
{
	uint32_t mask = (1u << cq->log_size) - 1;
	uint32_t n = cq->pi - __atomic_load_n(cq->ci, __ATOMIC_ACQUIRE);

	if (n > mask + 1)
		n = mask + 1; /* the driver writes the record: it may hold any value */
	for (uint32_t i = cq->pi - n; i != cq->pi; i++) {
		const struct dpa_cqe *e = &cq->buf[i & mask];

		if ((int32_t)(i - cq->told) < 0 && (int32_t)(i - cq->at_arm) >= 0)
			continue;
		if (!solicited_only || e->status || (e->flags & DPA_CQE_F_SOLICITED))
			return true;
	}
	return false;
}

/*
 * The manual promises an event for new entries only. But adapters send one at once if there are
 * entries that no event reported, and programs rely on this: they arm, take some entries and wait
 * (perftest with many QPs). An entry that an event has just reported causes none, because programs
 * also rely on finding an entry after an event. If overruns are ignored the consumer index is not
 * usable.
 */
void dpa_hw_arm_cq(struct dpa_hw_cq *cq, bool solicited_only)
{
	bool fire;

	dpa_spin_lock(&cq->lock);
	fire = cq->comp && !(cq->flags & DPA_CQ_IGNORE_OVERRUN) && has_waiting(cq, solicited_only);
	cq->at_arm = cq->pi;
	if (fire) {
		cq->armed = 0;
		cq->told = cq->pi;
	} else if (cq->armed != 1) {
		cq->armed = solicited_only ? 2 : 1;
	}
	if (cq->info)
		cq->info->armed = cq->armed;
	if (fire)
		notify_comp(cq);
	dpa_spin_unlock(&cq->lock);
}

void dpa_hw_cq_lock(struct dpa_hw_cq *cq)
{
	dpa_spin_lock(&cq->lock);
}

void dpa_hw_cq_unlock(struct dpa_hw_cq *cq)
{
	dpa_spin_unlock(&cq->lock);
}

bool dpa_cq_has(struct dpa_hw_cq *cq, uint32_t qpn)
{
	bool has = false;
	uint32_t mask, ci;

	dpa_spin_lock(&cq->lock);
	mask = (1u << cq->log_size) - 1;
	ci = __atomic_load_n(cq->ci, __ATOMIC_ACQUIRE);
	if (cq->pi - ci <=
	    mask + 1) /* otherwise it ignores overrun, and its entries are not distinguishable */
		for (; ci != cq->pi && !has; ci++)
			has = cq->buf[ci & mask].qpn == qpn;
	dpa_spin_unlock(&cq->lock);
	return has;
}

bool dpa_cq_unread(struct dpa_hw_cq *cq)
{
	bool unread;

	dpa_spin_lock(&cq->lock);
	unread = cq->pi != __atomic_load_n(cq->ci, __ATOMIC_ACQUIRE);
	dpa_spin_unlock(&cq->lock);
	return unread;
}

uint32_t dpa_hw_cq_pi(struct dpa_hw_cq *cq)
{
	return cq->pi;
}

void dpa_hw_cq_set_pi(struct dpa_hw_cq *cq, uint32_t pi)
{
	__atomic_store_n(&cq->pi, pi, __ATOMIC_RELAXED); /* read without the lock, as a hint */
	if ((int32_t)(cq->told - pi) > 0)
		cq->told = pi;
	if ((int32_t)(cq->at_arm - pi) > 0)
		cq->at_arm = pi;
}
