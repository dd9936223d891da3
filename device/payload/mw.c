/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mw.c - memory windows (IBA 10.6.7): entries of the region table with the rights that a bind gave
 * them.
 *
 *   key 0, parent 0     allocated, not bound
 *   key != 0, parent    bound: `parent` is the region's entry plus 1, counted there in nmw
 *
 * Binding and unbinding run under the QP's lock and hw->mw.lock, allocation under hw->ctl. Before
 * an unbind is reported it waits for peers that use the window directly (direct/direct.h). It also
 * waits for threads of this process that carry out packets of other QPs, because a window of type 1
 * does not belong to its QP.
 */
#include "ctx/mr.h"
#include "payload/mw.h"
#include "ctx/qp.h"
#include "direct/direct.h"

#define MW_CONSUMER 0xffu /* low bits of a key that the consumer chooses */

static const uint32_t mw_access = DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_READ |
				  DPA_ACCESS_REMOTE_ATOMIC | DPA_ACCESS_ZERO_BASED;

/*
 * True if the key is one of the entry's current window, whatever low bits the consumer chose. A key
 * of the entry's previous window is not: it may come from a queue that was stalled until now.
 * Context: mw_lock.
 */
static bool is_window(const struct dpa_mr *mw, uint32_t key)
{
	const uint32_t given = ((1u << DPA_KEY_TAG_BITS) - 1) & ~MW_CONSUMER;

	return mw->owner && (mw->kind == DPA_KIND_MW1 || mw->kind == DPA_KIND_MW2) &&
	       !((mw->tag ^ key) & given);
}

/*
 * Returns a key that differs from the keys of the entry's last use in the bits that the consumer
 * does not choose. No bind makes it 0, whichever bits the consumer chooses.
 */
static uint32_t new_key(struct dpa_mr *mw, uint32_t index)
{
	const uint32_t was = mw->tag & ~MW_CONSUMER;
	uint32_t key;

	do {
		key = dpa_mr_new_key(mw, index);
	} while (!(key & ~MW_CONSUMER) || (mw->tag & ~MW_CONSUMER) == was);
	return key;
}

/* A user of the window may read `parent` meanwhile: a hint until it has checked the key. */
static void set_parent(struct dpa_mr *mw, uint32_t parent)
{
	__atomic_store_n(&mw->parent, parent, __ATOMIC_RELAXED);
}

/* Context: mw_lock. */
static void unbind_mw(struct dpa_hw *hw, struct dpa_mr *mw)
{
	dpa_mr_withdraw(hw, mw);
	if (mw->parent)
		atomic_fetch_sub_explicit(&hw->export->mr[mw->parent - 1].nmw, 1,
					  memory_order_release);
	set_parent(mw, 0);
}

uint32_t dpa_mw_begin(struct dpa_hw *hw, struct dpa_mr *mw, uint32_t index, uint32_t type,
		      uint32_t pdn, uint32_t owner)
{
	uint32_t key;

	dpa_spin_lock(&hw->mw.lock); /* a bind of the last owner may still come */
	mw->kind = (uint8_t)type;
	mw->access = 0;
	mw->length = 0;
	mw->pdn = pdn;
	mw->owner = owner;
	set_parent(mw, 0);
	key = new_key(mw, index);
	dpa_spin_unlock(&hw->mw.lock);
	return key;
}

bool dpa_mw_end(struct dpa_hw *hw, struct dpa_mr *mw, uint32_t rkey)
{
	bool found;

	dpa_spin_lock(&hw->mw.lock);
	found = is_window(mw, rkey);
	if (found) {
		unbind_mw(hw, mw);
		mw->owner = 0; /* cannot be bound again */
	}
	dpa_spin_unlock(&hw->mw.lock);
	return found;
}

/* Checks the conditions of IBA 10.6.7.2.2 for a bind. */
static uint32_t check_mw_bind(struct dpa_hw_qp *qp, const struct dpa_mr *mw, uint32_t key,
			      uint64_t va, const struct dpa_wqe_bind *b, uint64_t *addr)
{
	uint32_t need = DPA_ACCESS_MW_BIND;

	if (!is_window(mw, key) || mw->pdn != qp->pdn || (b->access & ~mw_access))
		return DPA_SYN_MW_BIND;
	if (mw->kind == DPA_KIND_MW2 && mw->parent)
		return DPA_SYN_MW_BIND; /* bound: must be invalidated first */
	if (!b->length)
		return mw->kind == DPA_KIND_MW2 ? DPA_SYN_MW_BIND : 0;
	if (b->access & (DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_ATOMIC))
		need |= DPA_ACCESS_LOCAL_WRITE;
	return dpa_mr_check(qp->hw, b->lkey, qp->pdn, va, b->length, need, addr) ? DPA_SYN_MW_BIND
										 : 0;
}

/*
 * Waits until no other thread of this process uses a window of type 1 based on earlier reads. The
 * calling thread uses none: so two threads that bind, each under its QP's lock, do not wait for
 * each other.
 */
static void leave_windows(struct dpa_hw_qp *me)
{
	const uint32_t nslab = atomic_load_explicit(&me->hw->qps.nslab, memory_order_acquire);

	atomic_store_explicit(&me->in_window, 0, memory_order_release);
	dpa_full_fence();
	for (uint32_t i = 0; i < nslab; i++) {
		uint32_t n = 0;

		while (atomic_load_explicit(&me->hw->qps.slab[i]->in_window, memory_order_acquire))
			dpa_relax(&n);
	}
}

/* No thread reads the window's rights between unbind_mw() and this call. Context: mw_lock. */
static void give_mw(struct dpa_hw_qp *qp, struct dpa_mr *mw, uint32_t key, uint64_t va,
		    uint64_t addr, const struct dpa_wqe_bind *b)
{
	struct dpa_hw *hw = qp->hw;

	mw->access = b->access | (hw->export->mr[b->lkey >> DPA_KEY_TAG_BITS].access &
				  (DPA_ACCESS_ON_DEMAND | DPA_ACCESS_INJECTED));
	mw->iova = b->access & DPA_ACCESS_ZERO_BASED ? 0 : va;
	mw->addr = addr;
	mw->length = b->length;
	mw->qpn = qp->qpn;
	mw->tag = key & ((1u << DPA_KEY_TAG_BITS) - 1);
	set_parent(mw, (b->lkey >> DPA_KEY_TAG_BITS) + 1);
	atomic_fetch_add_explicit(&hw->export->mr[mw->parent - 1].nmw, 1, memory_order_release);
	atomic_store_explicit(&mw->key, key, memory_order_release);
}

/*
 * Returns the key of a bind: the consumer's bits, and all others as they were issued with the
 * window.
 */
static uint32_t bound_mw_key(const struct dpa_mr *mw, uint32_t index, uint32_t new_key)
{
	return index << DPA_KEY_TAG_BITS | (mw->tag & ~MW_CONSUMER) | (new_key & MW_CONSUMER);
}

/*
 * Bind a memory window (IBA 10.6.7). Revokes the previous binding of a type 1 window first and
 * waits until no operation uses it. The wait runs without mw_lock, because such an operation may be
 * a bind itself.
 */
uint32_t dpa_mw_bind(struct dpa_hw_qp *qp, uint32_t old_key, uint32_t new_key, uint64_t va,
		     const struct dpa_wqe_bind *b)
{
	struct dpa_hw *hw = qp->hw;
	const uint32_t index = old_key >> DPA_KEY_TAG_BITS;
	struct dpa_mr *mw = &hw->export->mr[index];
	uint32_t syn, n = 0;
	uint64_t addr = 0;

	dpa_spin_lock(&hw->mw.lock);
	while (!(syn = check_mw_bind(qp, mw, old_key, va, b, &addr)) &&
	       (mw->parent || (mw->kind == DPA_KIND_MW1 && hw->mw.unbinding))) {
		/* otherwise another thread has unbound it, and waits */
		const bool mine = mw->parent;

		if (mine)
			unbind_mw(hw, mw);
		hw->mw.unbinding += mine;
		dpa_spin_unlock(&hw->mw.lock);
		leave_windows(qp);
		if (mine)
			dpa_hazards_wait(hw);
		else
			dpa_relax(&n);
		dpa_spin_lock(&hw->mw.lock);
		hw->mw.unbinding -= mine;
	}
	if (!syn && b->length)
		give_mw(qp, mw, bound_mw_key(mw, index, new_key), va, addr, b);
	dpa_spin_unlock(&hw->mw.lock);
	return syn;
}

/*
 * Only for a bound type 2 window, and only on the QP that bound it; never for regions of
 * ibv_reg_mr().
 */
uint32_t dpa_mw_invalidate(struct dpa_hw_qp *qp, uint32_t key)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_mr *mw = &hw->export->mr[key >> DPA_KEY_TAG_BITS];
	uint32_t syn = DPA_SYN_INV_RKEY;

	dpa_spin_lock(&hw->mw.lock);
	if (key && atomic_load_explicit(&mw->key, memory_order_acquire) == key &&
	    mw->kind == DPA_KIND_MW2 && mw->qpn == qp->qpn && mw->pdn == qp->pdn) {
		unbind_mw(hw, mw);
		syn = 0;
	}
	dpa_spin_unlock(&hw->mw.lock);
	if (!syn)
		dpa_hazards_wait(hw);
	return syn;
}
