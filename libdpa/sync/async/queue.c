/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* queue.c - posts of asynchronous operations, and the operations that are queued behind a wait. */
#include <sched.h>
#include <string.h>
#include "async.h"

/* Values of enum doca_dpa_dev_submit_flag, which only device code can include. */
#define FLAG_FLUSH	      1u
#define FLAG_OPTIMIZE_REPORTS 2u

static uint32_t queue_mask(const struct doca_dpa_async_ops *a)
{
	return a->queue_size - 1;
}

/* Return whether there is room for one more, in the SQ and in the ring. The lock is held. */
static bool queue_has_room(const struct doca_dpa_async_ops *a)
{
	const struct dpa_qp_queues *q = &a->pair.send;
	uint32_t used = q->sq_pi - __atomic_load_n(&q->view.dbrec->sq_ci, __ATOMIC_ACQUIRE);
	uint32_t ahead = a->tail - a->head;

	return ahead < a->queue_size &&
	       used + (ahead + 1) * DPA_ASYNC_MAX_BB <= 1u << q->view.log_sq;
}

/*
 * Post a copy. The lock is held; there is room. The receive is posted before the send can be seen.
 */
static void post_copy(struct doca_dpa_async_ops *a, const struct dpa_dev_copy *c)
{
	struct dpa_sge from = {.addr = c->src, .length = c->length, .lkey = c->src_key};
	struct dpa_sge to = {.addr = c->dst, .length = c->length, .lkey = c->dst_key};
	struct dpa_qp_wr wr = {.opcode = DPA_OP_SEND, .sge = (const void *)&from};

	if (!(c->flags & FLAG_OPTIMIZE_REPORTS))
		wr.flags |= DPA_WQE_SIGNALED;
	if (c->data) {
		wr.flags |= DPA_WQE_INLINE;
		wr.data = c->data;
		wr.length = c->length;
	} else {
		wr.nsge = c->length != 0;
	}
	dpa_qp_put(&a->pair.send, &wr);
	dpa_qp_post_recv(&a->pair.recv, 0, (const void *)&to, c->length != 0);
}

/* Post the report that a wait is over. The lock is held. */
static void post_report(struct doca_dpa_async_ops *a)
{
	struct dpa_qp_wr wr = {.opcode = DPA_OP_RDMA_WRITE, .flags = DPA_WQE_SIGNALED};

	dpa_qp_put(&a->pair.send, &wr);
}

/* Ring the doorbell for WQEs that were put under the lock. The lock is not held. */
static void ring_async_sq(struct doca_dpa_async_ops *a)
{
	dpa_hwif_ring_sq(&a->pair.send.view);
}

static void drain_queue(struct doca_dpa_async_ops *a);

/* The dpa_se_watch_fn; runs under the lock of the watches. */
static void came_true(struct dpa_se_watch *w)
{
	struct doca_dpa_async_ops *a = container_of(w, struct doca_dpa_async_ops, watch);

	atomic_fetch_add_explicit(&a->busy, 1, memory_order_relaxed);
}

/*
 * Run in the same thread, under no lock: the thread of an update, the poller, or the one in
 * drain_queue().
 */
static void after_true(struct dpa_se_watch *w)
{
	struct doca_dpa_async_ops *a = container_of(w, struct doca_dpa_async_ops, watch);
	struct doca_sync_event *se = NULL;

	dpal_eu_lock(&a->lock);
	if (!a->stopping) {
		se = a->ring[a->head++ & queue_mask(a)].se;
		post_report(a);
		dpa_qp_doorbell(&a->pair.send);
	}
	a->waiting = false;
	dpal_eu_unlock(&a->lock);
	if (se) {
		dpa_se_release(se);
		ring_async_sq(a);
		drain_queue(a);
	}
	atomic_fetch_sub_explicit(&a->busy, 1, memory_order_release);
}

/*
 * Begin a wait. The lock is held, and released while the watch is set up. False: the event cannot
 * be watched; the entry stays, and the next post tries again.
 */
static bool begin_wait(struct doca_dpa_async_ops *a, const struct dpa_async_entry *e)
{
	struct doca_sync_event *se = e->se;
	enum dpa_se_cond cond = e->cond;
	uint64_t value = e->value;
	int ret;

	a->waiting = true;
	dpal_eu_unlock(&a->lock);
	a->watch.after = after_true;
	ret = dpa_se_watch(&a->watch, se, cond, value, ~0ull, came_true);
	dpal_eu_lock(&a->lock);
	if (ret)
		a->waiting = false;
	return !ret;
}

/* Post the operations in the ring, up to a wait that is not over. One thread at a time. */
static void drain_queue(struct doca_dpa_async_ops *a)
{
	bool put = false;

	dpal_eu_lock(&a->lock);
	if (a->draining) { /* that thread checks again */
		dpal_eu_unlock(&a->lock);
		return;
	}
	a->draining = true;
	while (!a->waiting && !a->stopping && a->head != a->tail) {
		struct dpa_async_entry *e = &a->ring[a->head & queue_mask(a)];

		if (e->se) {
			if (!begin_wait(a, e))
				break;
		} else {
			post_copy(a, &e->copy);
			a->head++;
			put = true;
		}
	}
	a->draining = false;
	if (put)
		dpa_qp_doorbell(&a->pair.send);
	dpal_eu_unlock(&a->lock);
	if (put)
		ring_async_sq(a);
}

/* Append an entry. The lock is held; there is room. */
static struct dpa_async_entry *append_async_entry(struct doca_dpa_async_ops *a)
{
	return &a->ring[a->tail++ & queue_mask(a)];
}

static void append_copy(struct doca_dpa_async_ops *a, const struct dpa_dev_copy *c)
{
	struct dpa_async_entry *e = append_async_entry(a);

	e->se = NULL;
	e->copy = *c;
	if (!c->data)
		return;
	memcpy(e->data, c->data, c->length);
	e->copy.data = e->data;
}

bool dpa_async_put_copy(struct doca_dpa_async_ops *a, const struct dpa_dev_copy *c)
{
	bool fits, behind, flush;

	dpal_eu_lock(&a->lock);
	fits = queue_has_room(a);
	behind = a->head != a->tail;
	flush = !fits || (!behind && c->flags & FLAG_FLUSH);
	if (fits && behind)
		append_copy(a, c);
	else if (fits)
		post_copy(a, c);
	if (flush)
		dpa_qp_doorbell(&a->pair.send);
	dpal_eu_unlock(&a->lock);
	if (flush)
		ring_async_sq(a);
	if (behind)
		drain_queue(a);
	return fits;
}

bool dpa_async_put_wait(struct doca_dpa_async_ops *a, struct doca_sync_event *se,
			enum dpa_se_cond cond, uint64_t value)
{
	bool fits;

	dpal_eu_lock(&a->lock);
	fits = queue_has_room(a);
	if (fits) {
		struct dpa_async_entry *e = append_async_entry(a);

		dpa_se_hold(se);
		e->se = se;
		e->cond = cond;
		e->value = value;
	}
	/* operations that were held back before it do not wait for it */
	dpa_qp_doorbell(&a->pair.send);
	dpal_eu_unlock(&a->lock);
	ring_async_sq(a);
	drain_queue(a);
	return fits;
}

static void cancel_entries(struct doca_dpa_async_ops *a)
{
	dpa_se_watch_cancel(&a->watch);
	while (atomic_load_explicit(&a->busy, memory_order_acquire))
		sched_yield();
}

void dpa_async_end(struct doca_dpa_async_ops *a)
{
	dpal_eu_lock(&a->lock);
	a->stopping = true;
	dpal_eu_unlock(&a->lock);
	/* twice: the first cancelled wait may have started another one */
	if (!dpa_ctx_foreign(a->dpa)) {
		cancel_entries(a);
		cancel_entries(a);
	}
	for (; a->head != a->tail; a->head++) {
		struct dpa_async_entry *e = &a->ring[a->head & queue_mask(a)];

		if (e->se)
			dpa_se_release(e->se);
	}
}
