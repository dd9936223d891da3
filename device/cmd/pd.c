/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pd.c - protection domains. */
#include <errno.h>
#include "ctx/hw.h"

int dpa_hw_alloc_pd(struct dpa_hw_ctx *ctx, uint32_t *pdn)
{
	struct dpa_hw *hw = ctx->hw;
	int ret = ENOMEM;

	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 0; i < DPA_MAX_PD; i++) {
		uint32_t n = (hw->pd.n + 1 + i) % DPA_MAX_PD;

		if (hw->pd.refs[n])
			continue;
		hw->pd.refs[n] = 1;
		hw->pd.owner[n] = ctx->id;
		hw->pd.n = *pdn = n;
		hw->board->self->npd++;
		if (n > hw->pd.used_max)
			hw->pd.used_max = n;
		ret = 0;
		break;
	}
	pthread_mutex_unlock(&hw->ctl);
	if (ret)
		dpa_log(hw, DPA_LOG_ERR, "all %d PDs of this process are in use", DPA_MAX_PD - 1);
	return ret;
}

int dpa_hw_dealloc_pd(struct dpa_hw_ctx *ctx, uint32_t pdn)
{
	struct dpa_hw *hw = ctx->hw;
	int ret = 0;

	pthread_mutex_lock(&hw->ctl);
	if (!pdn || pdn >= DPA_MAX_PD || !hw->pd.refs[pdn])
		ret = EINVAL;
	else if (hw->pd.refs[pdn] > 1)
		ret = EBUSY;
	else {
		hw->pd.refs[pdn] = 0;
		hw->board->self->npd--;
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret;
}

int dpa_hw_find_pd(struct dpa_hw_ctx *ctx, uint32_t pdn)
{
	struct dpa_hw *hw = ctx->hw;
	bool found;

	pthread_mutex_lock(&hw->ctl);
	found = pdn && pdn < DPA_MAX_PD && hw->pd.refs[pdn] && hw->pd.owner[pdn] == ctx->id;
	pthread_mutex_unlock(&hw->ctl);
	return found ? 0 : ENOENT;
}
