/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tag.c - tagged buffers of an SRQ: ibv_post_srq_ops(3). */
#include "dpa.h"

static int one_op(struct dpa_srq *srq, struct ibv_ops_wr *wr)
{
	struct dpa_tag_op op = {
		.what = (uint32_t)wr->opcode,
		.signaled = wr->flags & IBV_OPS_SIGNALED,
		.sync = wr->flags & IBV_OPS_TM_SYNC,
		.unexpected = wr->tm.unexpected_cnt,
		.handle = wr->tm.handle,
		.wr_id = wr->wr_id,
	};
	int ret;

	if (wr->flags & ~(IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC))
		return EINVAL;
	if (wr->opcode == IBV_WR_TAG_ADD) {
		if (wr->tm.add.num_sge < 0 || wr->tm.add.num_sge > DPA_MAX_TAG_SGE)
			return EINVAL;
		op.recv_wr_id = wr->tm.add.recv_wr_id;
		op.tag = wr->tm.add.tag;
		op.mask = wr->tm.add.mask;
		op.nsge = (uint32_t)wr->tm.add.num_sge;
		for (uint32_t i = 0; i < op.nsge; i++)
			op.sge[i] = (struct dpa_sge){.addr = wr->tm.add.sg_list[i].addr,
						     .length = wr->tm.add.sg_list[i].length,
						     .lkey = wr->tm.add.sg_list[i].lkey};
	}
	ret = dpa_hw_srq_tag(srq->hw, &op);
	if (!ret && wr->opcode == IBV_WR_TAG_ADD)
		wr->tm.handle = op.handle;
	return ret;
}

int dpa_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad)
{
	struct dpa_srq *srq = to_dpa_srq(ibsrq);
	int ret = dpa_alive(ibsrq->context) ? 0 : EIO;

	if (!ret && srq->vsrq.srq_type != IBV_SRQT_TM)
		ret = EINVAL;
	for (; !ret && wr; wr = wr->next) {
		ret = one_op(srq, wr);
		if (ret)
			break;
	}
	if (ret)
		*bad = wr;
	return ret;
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_TAG_ADD, IBV_WR_TAG_ADD);
SAME(DPA_TAG_DEL, IBV_WR_TAG_DEL);
SAME(DPA_TAG_SYNC, IBV_WR_TAG_SYNC);
