/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ctx.c - contexts: states and data paths. */
#include "../gpu/gpu.h"
#include "../host/libdpa.h"
#include "ctx.h"
#include "pe_priv.h"

void dpa_core_init(struct doca_ctx *ctx, const struct dpa_ctx_ops *ops, struct doca_dev *dev)
{
	*ctx = (struct doca_ctx){.ops = ops, .dev = dev, .fd = -1};
	dpa_obj_add(ctx, DPA_T_CTX);
}

/* Return the data path to the CPU. */
static void leave_datapath(struct doca_ctx *ctx)
{
	if (ctx->dpa)
		ctx->dpa->ctxs--;
	if (ctx->gpu)
		dpa_gpu_use(ctx->gpu, -1);
	ctx->dpa = NULL;
	ctx->gpu = NULL;
}

doca_error_t dpa_core_fini(struct doca_ctx *ctx)
{
	if (!dpa_core_idle(ctx))
		return DOCA_ERROR_IN_USE;
	dpa_obj_remove(ctx, DPA_T_CTX);
	if (ctx->pe)
		dpa_pe_disconnect(ctx);
	leave_datapath(ctx);
	return DOCA_SUCCESS;
}

void dpa_core_move(struct doca_ctx *ctx, enum doca_ctx_states state)
{
	enum doca_ctx_states prev = ctx->state;

	ctx->state = state;
	if (ctx->changed && prev != state)
		ctx->changed(ctx->user_data, ctx, prev, state);
}

static doca_error_t can_start(const struct doca_ctx *ctx)
{
	if (!dpa_live(ctx) || !dpa_core_idle(ctx))
		return DOCA_ERROR_INVALID_VALUE;
	if (!ctx->dpa && !ctx->gpu && !ctx->pe)
		return DOCA_ERROR_NOT_CONNECTED;
	if (ctx->dpa ? !ctx->ops->on_dpa : ctx->gpu ? !ctx->ops->on_gpu : !ctx->ops->progress)
		return DOCA_ERROR_NOT_SUPPORTED;
	return !ctx->dpa || dpa_ctx_usable(ctx->dpa) ? DOCA_SUCCESS : DOCA_ERROR_INITIALIZATION;
}

doca_error_t doca_ctx_start(struct doca_ctx *ctx)
{
	doca_error_t ret = can_start(ctx);

	if (!ret)
		ret = ctx->ops->start(ctx);
	if (!ret)
		dpa_core_move(ctx, DOCA_CTX_STATE_RUNNING);
	else if (ret == DOCA_ERROR_IN_PROGRESS)
		dpa_core_move(ctx, DOCA_CTX_STATE_STARTING);
	return ret;
}

doca_error_t doca_ctx_stop(struct doca_ctx *ctx)
{
	doca_error_t ret;

	if (!dpa_live(ctx))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_core_idle(ctx))
		return DOCA_SUCCESS;
	if (ctx->state == DOCA_CTX_STATE_STOPPING)
		return DOCA_ERROR_IN_PROGRESS;
	ret = ctx->ops->stop(ctx);
	if (!ret)
		dpa_core_move(ctx, DOCA_CTX_STATE_IDLE);
	else if (ret == DOCA_ERROR_IN_PROGRESS)
		dpa_core_move(ctx, DOCA_CTX_STATE_STOPPING);
	return ret;
}

doca_error_t doca_ctx_get_num_inflight_tasks(const struct doca_ctx *ctx, size_t *num_inflight_tasks)
{
	DPA_RETURN_VALUE(ctx, num_inflight_tasks, ctx->inflight);
}

doca_error_t doca_ctx_set_user_data(struct doca_ctx *ctx, union doca_data user_data)
{
	if (!dpa_live(ctx))
		return DOCA_ERROR_INVALID_VALUE;
	ctx->user_data = user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_get_user_data(const struct doca_ctx *ctx, union doca_data *user_data)
{
	DPA_RETURN_VALUE(ctx, user_data, ctx->user_data);
}

doca_error_t doca_ctx_set_state_changed_cb(struct doca_ctx *ctx,
					   doca_ctx_state_changed_callback_t cb)
{
	if (!dpa_live(ctx) || !cb)
		return DOCA_ERROR_INVALID_VALUE;
	ctx->changed = cb;
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_get_state(const struct doca_ctx *ctx, enum doca_ctx_states *state)
{
	DPA_RETURN_VALUE(ctx, state, ctx->state);
}

void doca_ctx_flush_tasks(struct doca_ctx *ctx)
{
	if (dpa_live(ctx) && ctx->ops->flush && ctx->state == DOCA_CTX_STATE_RUNNING)
		ctx->ops->flush(ctx);
}

doca_error_t doca_ctx_set_datapath_on_dpa(struct doca_ctx *ctx, struct doca_dpa *dpa_dev)
{
	if (!dpa_live(ctx) || !dpa_live(dpa_dev))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_core_idle(ctx))
		return DOCA_ERROR_BAD_STATE;
	leave_datapath(ctx);
	ctx->dpa = dpa_dev;
	dpa_dev->ctxs++;
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_set_datapath_on_gpu(struct doca_ctx *ctx, struct doca_gpu *gpu_dev)
{
	if (!dpa_live(ctx) || !dpa_live(gpu_dev))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_core_idle(ctx))
		return DOCA_ERROR_BAD_STATE;
	leave_datapath(ctx);
	ctx->gpu = gpu_dev;
	dpa_gpu_use(gpu_dev, 1);
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_set_completion_vector(struct doca_ctx *ctx, uint32_t comp_vector)
{
	if (!dpa_live(ctx))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_core_idle(ctx))
		return DOCA_ERROR_BAD_STATE;
	if (!ctx->ops->comp_vectors)
		return DOCA_ERROR_NOT_SUPPORTED;
	if (comp_vector >= (uint32_t)ctx->dev->ctx->num_comp_vectors)
		return DOCA_ERROR_INVALID_VALUE;
	ctx->comp_vector = comp_vector;
	return DOCA_SUCCESS;
}
