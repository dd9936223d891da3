/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mr.c - memory regions. The table is in the exported memfd: a peer that has pulled data checks
 * there afterwards that the region is still valid.
 *
 * Key: 18 bits of index, and 14 random bits that differ from those of the entry's last key. Freed
 * entries go to the tail of a FIFO, so that an index stays unused as long as possible; keys are
 * never reused soon.
 *
 * entry.key: written under hw->ctl, last (release) on registration and first (set to 0) on
 * revocation. Read by the data path (acquire) under a QP lock, and by peers (acquire) after a pull
 * or under a hazard pointer (direct/direct.h). Revocation: clear key, increment gen, full fence,
 * wait for every QP lock that was held (dpa_quiesce) and for the hazard pointers of peers.
 *
 * entry.access: written under hw->ctl (relaxed), before the key; if only the rights change, in
 * place and before gen is incremented (seq_cst). Read like the key, after gen.
 */
#include <errno.h>
#include <sys/random.h>
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "ctx/thread.h"
#include "inject/inject.h"

#define MR_INDEX_BITS 18
#define MR_NONE	      0xffffffffu
_Static_assert(1 << MR_INDEX_BITS == DPA_MAX_MR, "index bits");

int dpa_mr_init(struct dpa_hw *hw)
{
	hw->mrs.free_head = hw->mrs.free_tail = MR_NONE;
	hw->mrs.used_max = 0;
	return 0;
}

static uint32_t mr_new_tag(uint32_t old)
{
	uint16_t r = 0;

	do {
		if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
			r = (uint16_t)(old * 25173u + 13849u + (uint32_t)dpa_now_ns());
		r &= (1u << DPA_KEY_TAG_BITS) - 1;
	} while (r == old || !r);
	return r;
}

uint32_t dpa_mr_new_key(struct dpa_mr *mr, uint32_t index)
{
	mr->tag = mr_new_tag(mr->tag);
	return dpa_mr_key(index, mr->tag);
}

/* Unused entries first: a freed one is not reused until the table was used up once. */
int dpa_mr_take(struct dpa_hw *hw, struct dpa_mr **mr, uint32_t *index)
{
	if (hw->mrs.used_max < 4096 ||
	    (hw->mrs.free_head == MR_NONE && hw->mrs.used_max < DPA_MAX_MR)) {
		*index = hw->mrs.used_max++;
		*mr = &hw->export->mr[*index];
		return 0;
	}
	if (hw->mrs.free_head == MR_NONE) {
		dpa_log(hw, DPA_LOG_ERR,
			"all %d memory regions and windows of this process are in use", DPA_MAX_MR);
		return ENOMEM;
	}
	*index = hw->mrs.free_head;
	*mr = &hw->export->mr[*index];
	hw->mrs.free_head = (*mr)->next_free;
	if (hw->mrs.free_head == MR_NONE)
		hw->mrs.free_tail = MR_NONE;
	return 0;
}

void dpa_mr_give(struct dpa_hw *hw, uint32_t index)
{
	hw->export->mr[index].next_free = MR_NONE;
	if (hw->mrs.free_tail == MR_NONE)
		hw->mrs.free_head = index;
	else
		hw->export->mr[hw->mrs.free_tail].next_free = index;
	hw->mrs.free_tail = index;
}

struct dpa_mr *dpa_mr_of(struct dpa_hw *hw, uint32_t key)
{
	struct dpa_mr *mr = &hw->export->mr[key >> DPA_KEY_TAG_BITS];

	if (!key || atomic_load_explicit(&mr->key, memory_order_acquire) != key)
		return NULL;
	return mr;
}

void dpa_mr_next_gen(struct dpa_hw *hw, const struct dpa_mr *mr)
{
	atomic_fetch_add_explicit(&hw->export->mr_gen[mr - hw->export->mr], 1,
				  memory_order_seq_cst);
}

void dpa_mr_withdraw(struct dpa_hw *hw, struct dpa_mr *mr)
{
	atomic_store_explicit(&mr->key, 0, memory_order_seq_cst);
	dpa_mr_next_gen(hw, mr);
}

/* The entry that has the pages: a window has those of its region. DPA_MAX_MR: none. */
static uint32_t pages_of(const struct dpa_hw *hw, const struct dpa_mr *mr)
{
	uint32_t i = (uint32_t)(mr - hw->export->mr);

	if (mr->kind == DPA_KIND_MW1 || mr->kind == DPA_KIND_MW2)
		i = __atomic_load_n(&mr->parent, __ATOMIC_RELAXED) - 1;
	return i < DPA_MAX_MR ? i : DPA_MAX_MR;
}

/* An injected failure: the pages are gone (docs/inject.md). A bind touches no page. */
static bool pages_fault(const struct dpa_hw *hw, const struct dpa_mr *mr, uint32_t access)
{
	const uint32_t i = pages_of(hw, mr);

	return !(access & DPA_ACCESS_MW_BIND) && i < DPA_MAX_MR && dpa_inject_region_faults(i);
}

uint64_t dpa_mr_slow(const struct dpa_hw *hw, uint32_t key)
{
	const struct dpa_mr *mr = &hw->export->mr[key >> DPA_KEY_TAG_BITS];
	uint32_t i;

	if (!key || !(__atomic_load_n(&mr->access, __ATOMIC_RELAXED) & DPA_ACCESS_INJECTED) ||
	    atomic_load_explicit(&mr->key, memory_order_acquire) != key)
		return 0;
	i = pages_of(hw, mr);
	return i < DPA_MAX_MR ? dpa_inject_region_slow(i) : 0;
}

/* IBA 9.7.4 (key-access) */
static uint32_t check_mr_range(const struct dpa_hw *hw, const struct dpa_mr *mr, uint64_t iova,
			       uint64_t len, uint32_t access, uint64_t *addr)
{
	const uint32_t has = __atomic_load_n(&mr->access, __ATOMIC_RELAXED);
	uint64_t off;

	if (dpa_unlikely(!dpa_mr_holds(mr->iova, mr->length, iova, len, &off)))
		return DPA_SYN_LKEY_BOUNDS;
	if (dpa_unlikely((has & (access | DPA_ACCESS_INJECTED)) != access)) {
		if ((has & access) != access)
			return DPA_SYN_LKEY_ACCESS;
		if (len && pages_fault(hw, mr, access))
			return DPA_SYN_LOCAL_FAULT;
	}
	*addr = mr->addr + off;
	return 0;
}

uint32_t dpa_mr_check(struct dpa_hw *hw, uint32_t key, uint32_t pdn, uint64_t iova, uint64_t len,
		      uint32_t access, uint64_t *addr)
{
	struct dpa_mr *mr = &hw->export->mr[key >> DPA_KEY_TAG_BITS];

	if (dpa_unlikely(atomic_load_explicit(&mr->key, memory_order_seq_cst) != key || !key ||
			 mr->pdn != pdn || mr->kind != DPA_KIND_MR)) {
		if (!key || mr->kind < DPA_KIND_NULL || mr->pdn != pdn ||
		    atomic_load_explicit(&mr->key, memory_order_acquire) != key)
			return DPA_SYN_BAD_LKEY;
		if (mr->kind == DPA_KIND_FOREIGN)
			return check_mr_range(hw, mr, iova, len, access, addr);
		*addr = (uintptr_t)(access & DPA_ACCESS_LOCAL_WRITE ? hw->mrs.sink : hw->mrs.zeros);
		return access & ~mr->access ? DPA_SYN_LKEY_ACCESS : 0;
	}
	return check_mr_range(hw, mr, iova, len, access, addr);
}

/* Windows: type 1 is checked by its PD, type 2 by the QP that bound it (IBA 10.6.7.2.3). */
/* IBA 9.7.4 (key) */
uint32_t dpa_mr_check_remote(struct dpa_hw_qp *qp, uint32_t key, uint64_t va, uint64_t len,
			     uint32_t access, uint64_t *addr)
{
	struct dpa_mr *mr = &qp->hw->export->mr[key >> DPA_KEY_TAG_BITS];

	if (dpa_unlikely(atomic_load_explicit(&mr->key, memory_order_seq_cst) != key || !key ||
			 mr->pdn != qp->pdn || (mr->kind == DPA_KIND_MW2 && mr->qpn != qp->qpn) ||
			 mr->kind == DPA_KIND_NULL))
		return DPA_SYN_BAD_LKEY;
	/*
	 * It may be bound again under another QP's lock: from here on the thread that does so waits
	 * for this one.
	 */
	if (dpa_unlikely(mr->kind == DPA_KIND_MW1)) {
		dpa_me.in_window = true;
		atomic_store_explicit(&qp->in_window, 1, memory_order_relaxed);
		dpa_full_fence();
		if (atomic_load_explicit(&mr->key, memory_order_acquire) != key)
			return DPA_SYN_BAD_LKEY;
	}
	return check_mr_range(qp->hw, mr, va, len, access, addr);
}

uint32_t dpa_mr_check_key(struct dpa_hw_qp *qp, uint32_t key, uint32_t access)
{
	uint64_t addr;

	return dpa_mr_check_remote(qp, key, qp->hw->export->mr[key >> DPA_KEY_TAG_BITS].iova, 0,
				   access, &addr);
}

void dpa_quiesce(struct dpa_hw *hw)
{
	dpa_full_fence();
	uint32_t nslab = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	for (uint32_t i = 0; i < nslab; i++) {
		struct dpa_hw_qp *qp = hw->qps.slab[i];
		if (atomic_load_explicit(&qp->lock.v, memory_order_acquire) == DPA_QPL_FREE)
			continue;
		/* Taking it once proves that the previous holder has released it. */
		dpa_qplock_lock(&qp->lock);
		dpa_qp_leave(qp);
	}
}
