/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp_size.c - computes the size of a QP's queues from the capabilities that its user requests. */
#include <string.h>
#include "dpa.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static size_t xrc_bytes(enum ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND ? sizeof(struct dpa_wqe_xrc) : 0;
}

/* Bytes before the SGEs or the inline data; maximum. */
static uint32_t send_header(enum ibv_qp_type type)
{
	if (type == IBV_QPT_RAW_PACKET)
		return sizeof(struct dpa_wqe_ctrl);
	return (uint32_t)(sizeof(struct dpa_wqe_ctrl) + xrc_bytes(type) +
			  (type == IBV_QPT_UD ? sizeof(struct dpa_wqe_av)
					      : sizeof(struct dpa_wqe_raddr)));
}

static const uint32_t atomic_bytes = sizeof(struct dpa_wqe_ctrl) + sizeof(struct dpa_wqe_raddr) +
				     sizeof(struct dpa_wqe_atomic) + sizeof(struct dpa_sge);

static int size_sq(enum ibv_qp_type type, const struct ibv_qp_cap *cap, struct dpav_qp_size *size)
{
	uint32_t header = send_header(type), bytes, room, blocks;

	if (cap->max_send_wr > DPA_MAX_WR || cap->max_send_sge > DPA_MAX_SGE ||
	    cap->max_inline_data > DPA_MAX_INLINE)
		return EINVAL;
	if (!cap->max_send_wr)
		return 0;
	bytes = header +
		max_u32(cap->max_send_sge * (uint32_t)sizeof(struct dpa_sge), cap->max_inline_data);
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		bytes = max_u32(bytes, atomic_bytes + (uint32_t)xrc_bytes(type));
	size->max_bb = (bytes + DPA_WQEBB - 1) / DPA_WQEBB;
	size->log_sq = dpa_log2_up(max_u32(2, size->max_bb * cap->max_send_wr));
	/* the user gets all that fits */
	blocks = 1u << size->log_sq;
	room = size->max_bb * DPA_WQEBB - header;
	size->cap.max_send_wr = min_u32(DPA_MAX_WR, blocks / size->max_bb);
	size->cap.max_send_sge = min_u32(DPA_MAX_SGE, room / (uint32_t)sizeof(struct dpa_sge));
	size->cap.max_inline_data = min_u32(DPA_MAX_INLINE, room);
	return 0;
}

static int size_rq(const struct ibv_qp_cap *cap, struct dpav_qp_size *size)
{
	if (cap->max_recv_wr > DPA_MAX_WR || cap->max_recv_sge > DPA_MAX_SGE)
		return EINVAL;
	if (!cap->max_recv_wr)
		return 0;
	size->log_rq = dpa_log2_up(cap->max_recv_wr);
	size->rq_sge =
		min_u32(DPA_MAX_SGE,
			dpa_rwqe_stride(cap->max_recv_sge) / (uint32_t)sizeof(struct dpa_sge) - 1);
	size->cap.max_recv_wr = 1u << size->log_rq;
	size->cap.max_recv_sge = size->rq_sge;
	return 0;
}

int dpav_qp_size(enum ibv_qp_type type, bool has_srq, const struct ibv_qp_cap *cap,
		 struct dpav_qp_size *size)
{
	int ret;

	memset(size, 0, sizeof(*size));
	ret = size_sq(type, cap, size);
	if (ret || has_srq || type == IBV_QPT_XRC_SEND)
		return ret;
	return size_rq(cap, size);
}

static_assert(DPA_WQE_MAX_BB <= 255, "a WQE's length is 8 bits of blocks");
