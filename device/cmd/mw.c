/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mw.c - memory windows: allocation. Binding: transport/mw.c. */
#include <errno.h>
#include "cmd/mr.h"
#include "ctx/mr.h"
#include "payload/mw.h"

int dpa_hw_alloc_mw(struct dpa_hw_ctx *ctx, uint32_t pdn, uint32_t type, uint32_t *rkey)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_mr *mw;
	uint32_t index;
	int ret = 0;

	if (type != DPA_MW_TYPE_1 && type != DPA_MW_TYPE_2)
		return EINVAL;
	pthread_mutex_lock(&hw->ctl);
	if (pdn >= DPA_MAX_PD || !hw->pd.refs[pdn])
		ret = EINVAL;
	else
		ret = dpa_mr_take(hw, &mw, &index);
	if (!ret) {
		*rkey = dpa_mw_begin(hw, mw, index, type, pdn, ctx->id);
		hw->pd.refs[pdn]++;
		hw->board->self->nmr = ++hw->mrs.n;
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret;
}

int dpa_hw_dealloc_mw(struct dpa_hw_ctx *ctx, uint32_t rkey)
{
	uint32_t index = rkey >> DPA_KEY_TAG_BITS;
	struct dpa_hw *hw = ctx->hw;
	struct dpa_mr *mw = &hw->export->mr[index];
	bool found;

	pthread_mutex_lock(&hw->ctl);
	found = dpa_mw_end(hw, mw, rkey);
	if (found)
		dpa_mr_revoke(hw, index);
	pthread_mutex_unlock(&hw->ctl);
	return found ? 0 : EINVAL;
}
