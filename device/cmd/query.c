/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* query.c - attributes of the device, the port and its GIDs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "ctx/hw.h"
#include "tables/pcc.h"

int dpa_hw_query_device(struct dpa_hw_ctx *ctx, struct dpa_hw_dev_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", DPA_LIB_VERSION);
	attr->node_guid = ctx->port->node_guid;
	attr->sys_image_guid = ctx->hw->port.node_guid;
	attr->hca_core_clock_khz = 1000000;			  /* timestamps are in ns */
	attr->max_qp = ctx->hw->board->uar_pages * DPA_UAR_SLOTS; /* at most DPA_MAX_QP */
	attr->max_cq = DPA_MAX_CQ;
	attr->max_srq = DPA_MAX_SRQ;
	attr->max_pd = DPA_MAX_PD - 1;
	attr->max_mr = DPA_MAX_MR;
	attr->max_ah = DPA_MAX_AH;
	attr->uar_pages = ctx->hw->board->uar_pages;
	return 0;
}

int dpa_hw_query_port(struct dpa_hw_ctx *ctx, struct dpa_hw_port_attr *attr)
{
	const struct dpa_speed *speed = dpa_cfg_speed(&ctx->hw->cfg);

	memset(attr, 0, sizeof(*attr));
	dpa_port_attr(ctx->port, attr);
	attr->lid = dpa_cfg_lid(&ctx->hw->cfg, ctx->port->function);
	attr->active_width = speed->width;
	attr->active_speed = speed->speed;
	return 0;
}

int dpa_hw_query_gid(struct dpa_hw_ctx *ctx, uint32_t index, struct dpa_hw_gid *gid)
{
	if (index >= DPA_MAX_GIDS)
		return EINVAL;
	return dpa_port_gid(ctx->port, index, gid);
}

uint32_t dpa_hw_num_eus(struct dpa_hw_ctx *ctx)
{
	return 256; /* 16 cores of 16 EUs */
}

const struct dpa_pcc_ops *dpa_hw_query_pcc(struct dpa_hw_ctx *ctx, void **port)
{
	*port = ctx->hw->board;
	return &dpa_board_pcc_ops;
}

void dpa_hw_query_board(struct dpa_hw_ctx *ctx, struct dpa_hw_board_attr *attr)
{
	attr->path = ctx->hw->board->path;
	attr->max_run_time = ctx->hw->cfg.max_run_time;
}
