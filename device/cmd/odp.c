/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * odp.c - on-demand regions. Nothing is pinned or translated in advance, so a prefetch only faults
 * pages in. If a range is not mapped when a packet or a WQE names it, only that packet or WQE fails
 * (device/payload/gather.c).
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ctx/mr.h"
#include "ctx/copy.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Finds the address of the range to prefetch. Context: hw->ctl. */
static int find_range(struct dpa_hw_ctx *ctx, const struct dpa_prefetch *p, uint64_t *addr)
{
	struct dpa_mr *mr = dpa_mr_of(ctx->hw, p->key);
	uint64_t off;

	if (!mr || mr->owner != ctx->id)
		return ENOENT;
	if (mr->kind != DPA_KIND_MR || !(mr->access & DPA_ACCESS_ON_DEMAND))
		return EINVAL;
	if (mr->pdn != p->pdn || (p->write && !(mr->access & DPA_ACCESS_LOCAL_WRITE)))
		return EPERM;
	off = p->iova - mr->iova;
	if (p->iova < mr->iova || off > mr->length || p->length > mr->length - off)
		return EFAULT;
	*addr = mr->addr + off;
	return 0;
}

/* Lets the kernel read one byte of each page: for kernels that cannot populate. */
static int touch_pages(struct dpa_hw *hw, uint64_t from, uint64_t end, uint64_t page)
{
	uint8_t b;

	for (; from < end; from += page)
		if (dpa_copy_in(hw, &b, from, 1))
			return EFAULT;
	return 0;
}

int dpa_hw_prefetch_mr(struct dpa_hw_ctx *ctx, const struct dpa_prefetch *p)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), addr = 0, from, end;
	int ret;

	pthread_mutex_lock(&ctx->hw->ctl);
	ret = find_range(ctx, p, &addr);
	pthread_mutex_unlock(&ctx->hw->ctl);
	if (ret || p->how == DPA_PREFETCH_LOOK || !p->length)
		return ret;
	from = addr & ~(page - 1);
	end = (addr + p->length + page - 1) & ~(page - 1);
	if (end <= from)
		return EFAULT;
	if (p->how == DPA_PREFETCH_START) {
		(void)madvise((void *)(uintptr_t)from, end - from, MADV_WILLNEED); /* a hint */
		return 0;
	}
	if (!madvise((void *)(uintptr_t)from, end - from,
		     p->write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	return errno == EINVAL ? touch_pages(ctx->hw, from, end, page) : EFAULT;
}
