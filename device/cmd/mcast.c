/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mcast.c - multicast groups of UD QPs. They are on the board, so that senders of all processes
 * find them.
 */
#include <errno.h>
#include "ctx/hw.h"
#include "cmd/mcast.h"
#include "ctx/qp.h"
#include "link/frame.h"
#include "tables/tables.h"

static int check_mcast(const struct dpa_hw_qp *qp, const uint8_t gid[16])
{
	return qp->type == DPA_QP_UD && dpa_gid_is_mcast(gid) ? 0 : EINVAL;
}

int dpa_hw_attach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16])
{
	struct dpa_hw *hw = qp->hw;
	int ret = check_mcast(qp, gid);

	if (ret)
		return ret;
	pthread_mutex_lock(&hw->ctl);
	ret = dpa_board_mcast_attach(hw->board, gid, qp->qpn);
	if (ret && ret != EALREADY)
		ret = dpa_limit(hw, ret,
				"all %d multicast attachments of the adapter instance are in use",
				DPA_MAX_MCAST);
	if (!ret) {
		ret = dpa_group_join(hw, gid);
		if (ret)
			dpa_board_mcast_detach(hw->board, gid, qp->qpn);
		else
			qp->nmcast++;
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret == EALREADY ? 0 : ret;
}

int dpa_hw_detach_mcast(struct dpa_hw_qp *qp, const uint8_t gid[16])
{
	struct dpa_hw *hw = qp->hw;
	int ret = check_mcast(qp, gid);

	if (ret)
		return ret;
	pthread_mutex_lock(&hw->ctl);
	ret = dpa_board_mcast_detach(hw->board, gid, qp->qpn);
	if (!ret) {
		qp->nmcast--;
		dpa_group_leave(hw, gid);
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret == ENOENT ? EINVAL : ret;
}

uint32_t dpa_hw_num_mcast(struct dpa_hw_qp *qp)
{
	uint32_t n;

	pthread_mutex_lock(&qp->hw->ctl);
	n = qp->nmcast;
	pthread_mutex_unlock(&qp->hw->ctl);
	return n;
}

void dpa_mcast_forget(struct dpa_hw_qp *qp)
{
	struct dpa_board *b = qp->hw->board;
	uint8_t gid[16];

	pthread_mutex_lock(&qp->hw->ctl);
	for (uint32_t at = 0; qp->nmcast && dpa_board_mcast_group(b, qp->qpn, &at, gid); at++)
		dpa_group_leave(qp->hw, gid);
	if (qp->nmcast)
		dpa_board_mcast_forget(b, qp->qpn);
	qp->nmcast = 0;
	pthread_mutex_unlock(&qp->hw->ctl);
}
