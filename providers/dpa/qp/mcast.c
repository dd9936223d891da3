/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mcast.c - multicast groups. The LID is for InfiniBand: on RoCE the address is sufficient, and any
 * LID is accepted.
 */
#include "dpa.h"

int dpa_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!dpa_word_alive(to_dpa_qp(qp)->alive))
		return EIO;
	if (qp->qp_type != IBV_QPT_UD)
		return EINVAL;
	return dpa_hw_attach_mcast(to_dpa_qp(qp)->hw, gid->raw);
}

int dpa_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (!dpa_word_alive(to_dpa_qp(qp)->alive))
		return EIO;
	if (qp->qp_type != IBV_QPT_UD)
		return EINVAL;
	return dpa_hw_detach_mcast(to_dpa_qp(qp)->hw, gid->raw);
}
