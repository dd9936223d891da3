/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp_attr.c - attributes of the QP at each side of a connection (Linux: ib_cm_init_qp_attr()). */
#include "cm_priv.h"

#define UD_QKEY 0x01234567 /* RDMA_UDP_QKEY */

static int attr_init(const struct dpav_cm *cm, struct ibv_qp_attr *a, int *mask)
{
	if (cm_in(cm, CM_DISCONNECTS | IN(TIMEWAIT) | IN(CLOSED)) && cm->qp != DPA_CM_QP_UD)
		return EINVAL;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	a->pkey_index = cm->path.pkey_index;
	a->port_num = cm->path.port;
	if (cm->qp == DPA_CM_QP_UD) {
		*mask |= IBV_QP_QKEY;
		a->qkey = UD_QKEY;
		return 0;
	}
	*mask |= IBV_QP_ACCESS_FLAGS;
	if (cm_in(cm, IN(IDLE)))
		return 0;
	a->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (cm->responder_resources)
		a->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return 0;
}

static void put_ah_attr(const struct dpav_cm_path *p, struct ibv_ah_attr *ah)
{
	memcpy(ah->grh.dgid.raw, p->dgid, sizeof(p->dgid));
	ah->grh.flow_label = p->flow_label;
	ah->grh.sgid_index = p->sgid_index;
	ah->grh.hop_limit = p->hop_limit;
	ah->grh.traffic_class = p->traffic_class;
	ah->sl = p->sl;
	ah->is_global = 1;
	ah->port_num = p->port;
}

static int attr_rtr(const struct dpav_cm *cm, struct ibv_qp_attr *a, int *mask)
{
	if (!cm_in(cm, CM_PEER_KNOWN))
		return EINVAL;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	put_ah_attr(&cm->path, &a->ah_attr);
	a->path_mtu = cm->path.mtu;
	a->dest_qp_num = cm->remote_qpn;
	a->rq_psn = cm->config.psn;
	if (cm->qp == DPA_CM_QP_RC || cm->qp == DPA_CM_QP_XRC_TGT) {
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		a->max_dest_rd_atomic = cm->responder_resources;
		a->min_rnr_timer = 0; /* 655.36 ms */
	}
	return 0;
}

static int attr_rts(const struct dpav_cm *cm, struct ibv_qp_attr *a, int *mask)
{
	if (!cm_in(cm, CM_PEER_KNOWN))
		return EINVAL;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	a->sq_psn = cm->sq_psn;
	if (cm->qp == DPA_CM_QP_RC || cm->qp == DPA_CM_QP_XRC_INI) {
		*mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		a->retry_cnt = cm->retry_count;
		a->rnr_retry = cm->rnr_retry;
		a->max_rd_atomic = cm->initiator_depth;
	}
	if (cm->qp != DPA_CM_QP_UC && cm->qp != DPA_CM_QP_NONE) {
		*mask |= IBV_QP_TIMEOUT;
		a->timeout = cm->ack_timeout;
	}
	return 0;
}

int dpav_cm_qp_attr(const struct dpav_cm *cm, struct ibv_qp_attr *attr, int *mask)
{
	enum ibv_qp_state state = attr->qp_state;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	*mask = 0;
	switch (state) {
	case IBV_QPS_INIT:
		return attr_init(cm, attr, mask);
	case IBV_QPS_RTR:
		return attr_rtr(cm, attr, mask);
	case IBV_QPS_RTS:
		return attr_rts(cm, attr, mask);
	default:
		return EINVAL;
	}
}
