/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ring.c - doorbells of a QP, carried out on the thread that rings them. */
#include "ctx/ops.h"
#include "ctx/qp.h"
#include "ctx/thread.h"
#include "transport/api.h"

#ifdef DPA_TSAN
static void prefetch_next(struct dpa_hw_qp *qp)
{
	(void)qp; /* reads without the lock here are hints */
}
#else
/*
 * Prefetches for writing: a line that is only shared is fetched a second time by the first store.
 */
static inline void prefetch_own(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* Prefetches the lines that a post to the QP reads first. */
static void expect_late(const struct dpa_hw_qp *qp)
{
	prefetch_own(qp);
	prefetch_own((const uint8_t *)qp + DPA_CACHE_LINE);
	prefetch_own((const uint8_t *)qp + 2 * DPA_CACHE_LINE);
}

/* Prefetches all that it points to, once it is in the cache. */
static void expect_soon(const struct dpa_hw_qp *qp)
{
	const uint8_t *sq = qp->sq;

	prefetch_own((const void *)(uintptr_t)qp->user_handle);
	prefetch_own(qp->poster);
	prefetch_own((const void *)((uintptr_t)qp->poster + DPA_CACHE_LINE));
	prefetch_own(sq + (size_t)(qp->req.send_idx & qp->sq_mask) * DPA_WQEBB);
	prefetch_own(qp->dbrec);
	prefetch_own((const uint8_t *)qp->dbrec + DPA_CACHE_LINE);
	prefetch_own(qp->slot);
}

/*
 * A thread that posts to thousands of QPs in turn finds none of them in its cache. Each QP
 * remembers the QPs that were posted to second and fourth after it. If that order repeats they are
 * prefetched: the queues of the one, and the other itself. QPs are type-stable: an outdated hint
 * only costs time.
 */
static void prefetch_next(struct dpa_hw_qp *qp)
{
	struct dpa_posting *p = &dpa_me.posting;
	struct dpa_hw_qp *before2, *before4;
	struct dpa_hw *hw = qp->hw;

	if (dpa_likely(p->last[p->n % 4] == qp))
		return;
	if (dpa_unlikely(!p->last[0] || p->serial != hw->serial)) {
		*p = (struct dpa_posting){.last = {qp, qp, qp, qp}, .serial = hw->serial};
		return;
	}
	before2 = p->last[(p->n - 1) % 4];
	before4 = p->last[(p->n - 3) % 4];
	p->last[++p->n % 4] = qp;
	if (dpa_unlikely(atomic_load_explicit(&before4->fourth, memory_order_relaxed) != qp->index))
		atomic_store_explicit(&before4->fourth, qp->index, memory_order_relaxed);
	if (dpa_unlikely(atomic_load_explicit(&before2->second, memory_order_relaxed) !=
			 qp->index)) {
		atomic_store_explicit(&before2->second, qp->index, memory_order_relaxed);
		return;
	}
	expect_soon(hw->qps.slab[atomic_load_explicit(&qp->second, memory_order_relaxed)]);
	expect_late(hw->qps.slab[atomic_load_explicit(&qp->fourth, memory_order_relaxed)]);
}
#endif

void dpa_hw_ring_sq(struct dpa_hw_qp *qp)
{
	prefetch_next(qp);
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return;
	dpa_qp_at_home(qp);
	dpa_requester_run(qp);
	dpa_qp_leave(qp);
}

void dpa_hw_ring_rq(struct dpa_hw_qp *qp)
{
	dpa_qp_at_home(qp);
	/*
	 * Pairs with the store of the state: either this sees the error state or the flush sees the
	 * WQE.
	 */
	dpa_full_fence();
	if (dpa_likely(__atomic_load_n(&qp->state, __ATOMIC_RELAXED) != DPA_QPS_ERR))
		return;
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return;
	if (qp->state == DPA_QPS_ERR)
		dpa_qp_flush_rq(qp);
	dpa_qp_leave(qp);
}
