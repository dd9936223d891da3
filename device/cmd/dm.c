/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dm.c - device memory: blocks of sealed memfds of the function. It is named by a handle only, and
 * regions may lie in it. The driver has it mapped, too, and copies by plain stores. The list, the
 * references and the sum of bytes are under hw->ctl.
 */
#include <errno.h>
#include <stdlib.h>
#include "cmd/dm.h"
#include "ctx/hw.h"

struct dpa_hw_dm {
	uint32_t handle, owner;
	uint32_t refs; /* regions */
	void *mem;
	uint64_t length;
	struct dpa_hw_dm *next;
};

static struct dpa_hw_dm **find_dm(struct dpa_hw *hw, uint32_t owner, uint32_t handle)
{
	struct dpa_hw_dm **p;

	for (p = &hw->dm.all; *p; p = &(*p)->next)
		if ((*p)->handle == handle && (*p)->owner == owner)
			return p;
	return NULL;
}

int dpa_hw_alloc_dm(struct dpa_hw_ctx *ctx, uint64_t length, uint32_t log_align, uint32_t *handle,
		    void **mem)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_dm *dm;
	int ret;

	if (!length || log_align > 12)
		return EINVAL;
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return ENOMEM;
	pthread_mutex_lock(&hw->ctl);
	if (length > DPA_MAX_DM - hw->dm.bytes) {
		dpa_log(hw, DPA_LOG_ERR,
			"no %llu more: %llu of %d bytes of device memory are in use",
			(unsigned long long)length, (unsigned long long)hw->dm.bytes, DPA_MAX_DM);
		ret = ENOMEM;
	} else {
		ret = dpa_hw_alloc_queue(ctx, (size_t)length, &dm->mem);
	}
	if (!ret) {
		dm->length = length;
		dm->owner = ctx->id;
		dm->handle = ++hw->dm.next;
		dm->next = hw->dm.all;
		hw->dm.all = dm;
		hw->dm.bytes += length;
		*handle = dm->handle;
		*mem = dm->mem;
	}
	pthread_mutex_unlock(&hw->ctl);
	if (ret)
		free(dm);
	return ret;
}

static void drop_dm(struct dpa_hw_ctx *ctx, struct dpa_hw_dm **p)
{
	struct dpa_hw_dm *dm = *p;

	*p = dm->next;
	ctx->hw->dm.bytes -= dm->length;
	dpa_hw_free_queue(ctx, dm->mem, (size_t)dm->length);
	free(dm);
}

int dpa_hw_free_dm(struct dpa_hw_ctx *ctx, uint32_t handle)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_dm **p;
	int ret = EINVAL;

	pthread_mutex_lock(&hw->ctl);
	p = find_dm(hw, ctx->id, handle);
	if (p) {
		ret = (*p)->refs ? EBUSY : 0;
		if (!ret)
			drop_dm(ctx, p);
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret;
}

int dpa_hw_find_dm(struct dpa_hw_ctx *ctx, uint32_t handle, void **mem, uint64_t *length)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_dm **p;

	pthread_mutex_lock(&hw->ctl);
	p = find_dm(hw, ctx->id, handle);
	if (p) {
		*mem = (*p)->mem;
		*length = (*p)->length;
	}
	pthread_mutex_unlock(&hw->ctl);
	return p ? 0 : ENOENT;
}

int dpa_dm_place(struct dpa_hw_ctx *ctx, struct dpa_mr_attr *attr)
{
	struct dpa_hw_dm **p = find_dm(ctx->hw, ctx->id, attr->dm);

	if (!p || attr->addr > (*p)->length || attr->length > (*p)->length - attr->addr)
		return EINVAL;
	attr->addr += (uintptr_t)(*p)->mem;
	return 0;
}

void dpa_dm_ref(struct dpa_hw *hw, uint32_t owner, uint32_t handle, int n)
{
	struct dpa_hw_dm **p = find_dm(hw, owner, handle);

	if (p)
		(*p)->refs += (uint32_t)n;
}

void dpa_dm_forget(struct dpa_hw_ctx *ctx)
{
	struct dpa_hw *hw = ctx->hw;

	pthread_mutex_lock(&hw->ctl);
	for (struct dpa_hw_dm **p = &hw->dm.all; *p;) {
		if ((*p)->owner == ctx->id)
			drop_dm(ctx, p);
		else
			p = &(*p)->next;
	}
	pthread_mutex_unlock(&hw->ctl);
}
