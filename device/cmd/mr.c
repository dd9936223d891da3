/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mr.c - memory regions: registration and revocation. ctx/mr.c has the table and its words. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "cmd/dm.h"
#include "cmd/mr.h"
#include "foreign/foreign.h"
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "ctx/range.h"
#include "direct/direct.h"
#include "direct/share.h"
#include "eu/inject.h"

static const uint32_t known_access =
	DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_READ |
	DPA_ACCESS_REMOTE_ATOMIC | DPA_ACCESS_MW_BIND | DPA_ACCESS_ON_DEMAND | DPA_ACCESS_HUGETLB |
	DPA_ACCESS_FLUSH_GLOBAL | DPA_ACCESS_RELAXED_ORDERING;
/* Rights by which peers may access it, directly or by a window. */
static const uint32_t remote_access = DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_READ |
				      DPA_ACCESS_REMOTE_ATOMIC | DPA_ACCESS_MW_BIND;
/* IB_ACCESS_OPTIONAL_RANGE: bits that a device may ignore. */
static const uint32_t optional_access = 0x3ff00000u;

static int mr_validate(struct dpa_hw *hw, const struct dpa_mr_attr *a)
{
	if (a->access & ~(known_access | optional_access))
		return EINVAL;
	/* IBA 11.2.8.2: remote write and atomic need local write */
	if ((a->access & (DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_ATOMIC)) &&
	    !(a->access & DPA_ACCESS_LOCAL_WRITE))
		return EINVAL;
	if (a->addr + a->length < a->addr || a->iova + a->length < a->iova)
		return EINVAL;
	if (a->pdn >= DPA_MAX_PD || !hw->pd.refs[a->pdn])
		return EINVAL;
	if (a->access & DPA_ACCESS_ON_DEMAND)
		return 0;
	return dpa_range_check(hw, a->addr, a->length, a->access & DPA_ACCESS_LOCAL_WRITE);
}

/* Pages that read as 0, and pages for writes that are never read. */
static int null_memory(struct dpa_hw *hw)
{
	void *p;

	if (hw->mrs.zeros)
		return 0;
	p = mmap(NULL, 2 * DPA_NULL_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return ENOMEM;
	mprotect(p, DPA_NULL_BYTES, PROT_READ);
	hw->mrs.zeros = p;
	hw->mrs.sink = (uint8_t *)p + DPA_NULL_BYTES;
	return 0;
}

/*
 * Handled like on-demand memory, as all memory that plain copies must not touch: it may be
 * unmapped.
 */
static int foreign_place(struct dpa_mr_attr *attr)
{
	if (!attr->foreign || !attr->foreign->copy || !attr->length)
		return EINVAL;
	if (attr->access & (DPA_ACCESS_MW_BIND | DPA_ACCESS_ON_DEMAND | DPA_ACCESS_HUGETLB))
		return EOPNOTSUPP;
	attr->access |= DPA_ACCESS_ON_DEMAND;
	return 0;
}

static uint8_t mr_kind_of(uint32_t type)
{
	return type == DPA_MR_NULL	? DPA_KIND_NULL
	       : type == DPA_MR_FOREIGN ? DPA_KIND_FOREIGN
					: DPA_KIND_MR;
}

static bool is_memory_region(const struct dpa_mr *mr)
{
	return mr->kind == DPA_KIND_MR || mr->kind == DPA_KIND_NULL || mr->kind == DPA_KIND_FOREIGN;
}

/* Sets the local address for attr. Context: hw->ctl. */
static int mr_place(struct dpa_hw_ctx *ctx, struct dpa_mr_attr *attr)
{
	int ret = EINVAL;

	switch ((enum dpa_mr_type)attr->type) {
	case DPA_MR_MEMORY:
		ret = 0;
		break;
	case DPA_MR_NULL:
		attr->addr = attr->iova = 0;
		attr->length = UINT64_MAX;
		attr->access = DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_ON_DEMAND;
		ret = null_memory(ctx->hw);
		break;
	case DPA_MR_DM:
		ret = dpa_dm_place(ctx, attr);
		break;
	case DPA_MR_FOREIGN:
		ret = foreign_place(attr);
		break;
	}
	return ret ? ret : mr_validate(ctx->hw, attr);
}

int dpa_hw_reg_mr(struct dpa_hw_ctx *ctx, const struct dpa_mr_attr *want, uint32_t *key)
{
	struct dpa_mr_attr a = *want, *attr = &a;
	struct dpa_hw *hw = ctx->hw;
	struct dpa_share_plan plan;
	struct dpa_mr *mr;
	uint32_t index;
	int ret;

	dpa_share_begin(hw, &plan, want);
	pthread_mutex_lock(&hw->ctl);
	ret = mr_place(ctx, attr);
	if (ret)
		goto out;
	ret = dpa_mr_take(hw, &mr, &index);
	if (ret)
		goto out;
	ret = attr->type == DPA_MR_FOREIGN ? dpa_foreign_add(hw, index, attr) : 0;
	if (ret) {
		dpa_mr_give(hw, index);
		goto out;
	}
	mr->access = 0;
	mr->iova = attr->iova;
	mr->length = attr->length;
	mr->addr = attr->addr;
	mr->pdn = attr->pdn;
	mr->owner = ctx->id;
	mr->kind = mr_kind_of(attr->type);
	mr->qpn = attr->type == DPA_MR_DM ? attr->dm : 0;
	mr->access = (attr->access & ~optional_access) | dpa_region_injected(hw, mr);
	if (mr->qpn)
		dpa_dm_ref(hw, ctx->id, mr->qpn, 1);
	atomic_store_explicit(&mr->nmw, 0, memory_order_relaxed);
	dpa_share_take(hw, mr, &plan);
	*key = dpa_mr_new_key(mr, index);
	dpa_share_show(hw, mr, *key);
	atomic_store_explicit(&mr->key, *key, memory_order_release);
	hw->pd.refs[attr->pdn]++;
	hw->board->self->nmr = ++hw->mrs.n;
out:
	pthread_mutex_unlock(&hw->ctl);
	dpa_share_end(&plan);
	return ret;
}

/* Waits until no thread here and no peer uses the old contents of an entry with these rights. */
static void mr_wait(struct dpa_hw *hw, uint32_t access)
{
	dpa_quiesce(hw);
	if (access & remote_access)
		dpa_hazards_wait(hw);
}

/*
 * Takes a region out of use. EBUSY while windows are bound to it (man ibv_dereg_mr). A bind in
 * progress becomes visible after dpa_quiesce(): then the key is restored.
 */
static int mr_suspend(struct dpa_hw *hw, struct dpa_mr *mr)
{
	uint32_t key = atomic_load_explicit(&mr->key, memory_order_relaxed);

	if (atomic_load_explicit(&mr->nmw, memory_order_acquire))
		return EBUSY;
	dpa_mr_withdraw(hw, mr);
	mr_wait(hw, mr->access);
	if (!atomic_load_explicit(&mr->nmw, memory_order_acquire))
		return 0;
	atomic_store_explicit(&mr->key, key, memory_order_release);
	return EBUSY;
}

/* Context: hw->ctl. On return neither this process nor a peer touches the region any more. */
void dpa_mr_revoke(struct dpa_hw *hw, uint32_t index)
{
	struct dpa_mr *mr = &hw->export->mr[index];

	dpa_share_hide(hw, dpa_mr_key(index, mr->tag));
	dpa_mr_withdraw(hw, mr);
	mr_wait(hw, mr->access);
	if (mr->kind == DPA_KIND_MR && mr->qpn)
		dpa_dm_ref(hw, mr->owner, mr->qpn, -1);
	else if (mr->kind == DPA_KIND_MR)
		dpa_share_drop(hw, mr->addr, mr->length);
	else if (mr->kind == DPA_KIND_FOREIGN) {
		dpa_foreign_drain(hw, index);
		dpa_foreign_remove(hw, index);
	}
	atomic_store_explicit(&hw->export->mr_area[index], 0, memory_order_relaxed);
	mr->owner = 0;
	hw->pd.refs[mr->pdn]--;
	dpa_mr_give(hw, index);
	hw->board->self->nmr = --hw->mrs.n;
}

/*
 * The copies of a region without a key are completed under no lock, because they may wait for a
 * thread that needs hw->ctl. Meanwhile the entry belongs to this call.
 */
static void drain_foreign(struct dpa_hw *hw, const struct dpa_mr *mr)
{
	if (dpa_likely(mr->kind != DPA_KIND_FOREIGN))
		return;
	pthread_mutex_unlock(&hw->ctl);
	dpa_foreign_drain(hw, (uint32_t)(mr - hw->export->mr));
	pthread_mutex_lock(&hw->ctl);
}

int dpa_hw_dereg_mr(struct dpa_hw_ctx *ctx, uint32_t key)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_mr *mr;
	int ret = EINVAL;

	pthread_mutex_lock(&hw->ctl);
	mr = dpa_mr_of(hw, key);
	if (mr && is_memory_region(mr)) {
		ret = mr_suspend(hw, mr);
		if (!ret) {
			drain_foreign(hw, mr);
			dpa_mr_revoke(hw, key >> DPA_KEY_TAG_BITS);
		}
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret;
}

static struct dpa_mr_attr mr_attr_of(const struct dpa_mr *mr)
{
	return (struct dpa_mr_attr){.pdn = mr->pdn,
				    .access = mr->access & ~DPA_ACCESS_INJECTED,
				    .addr = mr->addr,
				    .length = mr->length,
				    .iova = mr->iova};
}

static void query_foreign(struct dpa_hw *hw, uint32_t key, struct dpa_mr_attr *attr)
{
	const struct dpa_foreign *f = dpa_foreign_of(hw, key);

	attr->access &= ~(uint32_t)DPA_ACCESS_ON_DEMAND;
	attr->foreign = f->ops;
	attr->foreign_arg = f->arg;
}

int dpa_hw_query_mr(struct dpa_hw_ctx *ctx, uint32_t key, struct dpa_mr_attr *attr)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_mr *mr;
	bool found;

	pthread_mutex_lock(&hw->ctl);
	mr = dpa_mr_of(hw, key);
	found = mr && mr->owner == ctx->id && is_memory_region(mr);
	if (found) {
		*attr = mr_attr_of(mr);
		attr->type = mr->kind == DPA_KIND_NULL	    ? DPA_MR_NULL
			     : mr->kind == DPA_KIND_FOREIGN ? DPA_MR_FOREIGN
			     : mr->qpn			    ? DPA_MR_DM
							    : DPA_MR_MEMORY;
		attr->dm = mr->qpn;
		if (mr->kind == DPA_KIND_FOREIGN)
			query_foreign(hw, key, attr);
	}
	pthread_mutex_unlock(&hw->ctl);
	return found ? 0 : ENOENT;
}

void dpa_mr_forget(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;

	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 0; hw->mrs.n && i < hw->mrs.used_max; i++) {
		struct dpa_mr *mr = &hw->export->mr[i];

		if (mr->owner != ctx->id)
			continue;
		if (mr->kind == DPA_KIND_FOREIGN) {
			dpa_mr_withdraw(hw, mr);
			mr_wait(hw, mr->access);
			drain_foreign(hw, mr);
		}
		dpa_mr_revoke(hw, i);
	}
	pthread_mutex_unlock(&hw->ctl);
}

/* Returns the attributes that a region with those old ones gets. */
static struct dpa_mr_attr rereg_attr(const struct dpa_mr_attr *was, uint32_t flags,
				     const struct dpa_mr_attr *attr)
{
	struct dpa_mr_attr a = *was;

	if (flags & DPA_REREG_PD)
		a.pdn = attr->pdn;
	if (flags & DPA_REREG_ACCESS)
		a.access = attr->access;
	if (flags & DPA_REREG_TRANSLATION) {
		a.addr = attr->addr;
		a.length = attr->length;
		a.iova = attr->iova;
	}
	return a;
}

/* Checks in advance under no lock; a later change is found afterwards. */
static void rereg_begin(struct dpa_hw_ctx *ctx, uint32_t key, uint32_t flags,
			const struct dpa_mr_attr *attr, struct dpa_share_plan *plan)
{
	struct dpa_mr_attr a = {0};
	struct dpa_mr *mr;

	pthread_mutex_lock(&ctx->hw->ctl);
	mr = dpa_mr_of(ctx->hw, key);
	if (mr)
		a = mr_attr_of(mr);
	pthread_mutex_unlock(&ctx->hw->ctl);
	a = rereg_attr(&a, flags, attr);
	dpa_share_begin(ctx->hw, plan, &a);
}

/*
 * True if the memory can stay as it is: other rights do not change how it is copied. Only memory
 * that becomes shared now changes its pages, while no thread uses it.
 */
static bool mr_in_place(const struct dpa_hw *hw, const struct dpa_mr *mr, uint32_t access,
			const struct dpa_share_plan *plan)
{
	if ((mr->access ^ access) & DPA_ACCESS_ON_DEMAND)
		return false;
	return !hw->share || mr->access & remote_access || !(access & remote_access) ||
	       plan->why != DPA_SHARE_YES;
}

/* The mark of an injected failure stays. */
static void set_access(struct dpa_mr *mr, uint32_t access)
{
	__atomic_store_n(&mr->access, access | (mr->access & DPA_ACCESS_INJECTED),
			 __ATOMIC_RELAXED);
}

/*
 * Changes the rights in place. Peers find the region in an existing area only if they have a right.
 */
static void change_access(struct dpa_hw *hw, struct dpa_mr *mr, uint32_t access,
			  const struct dpa_share_plan *plan)
{
	const bool other = !(mr->access & remote_access) != !(access & remote_access);

	set_access(mr, access);
	if (!other)
		return;
	dpa_share_take(hw, mr, plan); /* exchanges no pages: see mr_in_place() */
	dpa_share_drop(hw, mr->addr, mr->length);
}

/*
 * Gives a region other rights under the same keys, so that an access that was and stays allowed is
 * never refused. On return no access by a removed right is in progress. EBUSY while windows are
 * bound to it: a bind in progress becomes visible after the wait; then everything is as before.
 */
static int rereg_access(struct dpa_hw *hw, struct dpa_mr *mr, uint32_t access,
			const struct dpa_share_plan *plan)
{
	const uint32_t was = mr->access;
	const uint8_t why = mr->why;

	if (atomic_load_explicit(&mr->nmw, memory_order_acquire))
		return EBUSY;
	change_access(hw, mr, access, plan);
	if (!(was & ~access))
		return 0;
	dpa_mr_next_gen(hw, mr);
	mr_wait(hw, was);
	if (!atomic_load_explicit(&mr->nmw, memory_order_acquire))
		return 0;
	change_access(hw, mr, was, plan);
	mr->why = why;
	return EBUSY;
}

/*
 * If the memory or the PD changes the keys change, because packets may still have the old ones. If
 * only the rights change the keys stay; a peer that reads by a removed right detects this by the
 * generation.
 */
int dpa_hw_rereg_mr(struct dpa_hw_ctx *ctx, uint32_t *key, uint32_t flags,
		    const struct dpa_mr_attr *attr)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_mr_attr a, was;
	struct dpa_share_plan plan;
	struct dpa_mr *mr;
	int ret = EINVAL;

	rereg_begin(ctx, *key, flags, attr, &plan);
	pthread_mutex_lock(&hw->ctl);
	mr = dpa_mr_of(hw, *key);
	if (mr && mr->kind == DPA_KIND_FOREIGN) {
		ret = EOPNOTSUPP;
		goto out;
	}
	if (!mr || mr->kind != DPA_KIND_MR || mr->qpn || !flags ||
	    (flags & ~(uint32_t)(DPA_REREG_TRANSLATION | DPA_REREG_PD | DPA_REREG_ACCESS)))
		goto out;
	was = mr_attr_of(mr);
	a = rereg_attr(&was, flags, attr);
	a.access &= ~optional_access;
	ret = mr_validate(hw, &a);
	if (!ret && flags == DPA_REREG_ACCESS && mr_in_place(hw, mr, a.access, &plan)) {
		ret = rereg_access(hw, mr, a.access, &plan);
		dpa_share_show(hw, mr, *key);
		goto out;
	}
	if (!ret)
		ret = mr_suspend(hw, mr);
	if (ret)
		goto out;
	hw->pd.refs[mr->pdn]--;
	hw->pd.refs[a.pdn]++;
	mr->pdn = a.pdn;
	set_access(mr, a.access);
	mr->addr = a.addr;
	mr->length = a.length;
	mr->iova = a.iova;
	dpa_share_take(hw, mr, &plan); /* before the old memory is dropped: it may be the same */
	dpa_share_drop(hw, was.addr, was.length);
	dpa_share_hide(hw, *key);
	if (flags & (DPA_REREG_TRANSLATION | DPA_REREG_PD))
		*key = dpa_mr_new_key(mr, *key >> DPA_KEY_TAG_BITS);
	dpa_share_show(hw, mr, *key);
	atomic_store_explicit(&mr->key, *key, memory_order_release);
out:
	pthread_mutex_unlock(&hw->ctl);
	dpa_share_end(&plan);
	return ret;
}

bool dpa_hw_may_read(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length)
{
	uint64_t at;

	return !dpa_mr_check(qp->hw, lkey, qp->pdn, addr, length, 0, &at) && at == addr &&
	       !dpa_mr_careful(qp->hw, lkey);
}
