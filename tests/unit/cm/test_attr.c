/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_attr.c - attributes of the QP (INIT_QP_ATTR): masks and values of Linux's
 * ib_cm_init_qp_attr().
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "util.h"

enum { INIT = 1, RTR = 2, RTS = 4 };
#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK  (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTS_MASK  (IBV_QP_STATE | IBV_QP_SQ_PSN)
#define TARGET	  (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define INITIATOR (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static int get(const struct dpav_cm *cm, enum ibv_qp_state s, struct ibv_qp_attr *a, int *mask)
{
	memset(a, 0xee, sizeof(*a));
	a->qp_state = s;
	return dpav_cm_qp_attr(cm, a, mask);
}

Test(cm_attr, where_there_are_some)
{
	static const uint8_t states[PLACES] = {
		[P_IDLE] = INIT,
		[P_REQ_SENT] = INIT,
		[P_MRA_REQ_RCVD] = INIT,
		[P_REP_RCVD] = INIT | RTR | RTS,
		[P_MRA_REP_SENT] = INIT | RTR | RTS,
		[P_REQ_RCVD] = INIT | RTR | RTS,
		[P_MRA_REQ_SENT] = INIT | RTR | RTS,
		[P_REP_SENT] = INIT | RTR | RTS,
		[P_MRA_REP_RCVD] = INIT | RTR | RTS,
		[P_ACTIVE] = INIT | RTR | RTS,
		[P_PASSIVE] = INIT | RTR | RTS,
		[P_SIDR_REQ_SENT] = INIT,
		[P_SIDR_REQ_RCVD] = INIT,
	};
	struct ibv_qp_attr a;
	struct dpav_cm cm;
	int mask;

	for (int p = 0; p < PLACES; p++) {
		test_reach(&cm, (enum place)p);
		cr_assert_eq(get(&cm, IBV_QPS_INIT, &a, &mask), states[p] & INIT ? 0 : EINVAL, "%s",
			     test_place_names[p]);
		cr_assert_eq(get(&cm, IBV_QPS_RTR, &a, &mask), states[p] & RTR ? 0 : EINVAL);
		cr_assert_eq(get(&cm, IBV_QPS_RTS, &a, &mask), states[p] & RTS ? 0 : EINVAL);
		cr_assert_eq(get(&cm, IBV_QPS_SQD, &a, &mask), EINVAL);
	}
}

Test(cm_attr, before_and_after)
{
	struct ibv_qp_attr a;
	struct dpav_cm cm;
	int mask;

	test_reach(&cm, P_IDLE);
	get(&cm, IBV_QPS_INIT, &a, &mask);
	cr_assert(mask == INIT_MASK && a.qp_access_flags == 0);
	test_reach(&cm, P_REQ_SENT);
	get(&cm, IBV_QPS_INIT, &a, &mask);
	cr_assert(mask == INIT_MASK && a.port_num == 1);
	cr_assert_eq(a.qp_access_flags,
		     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	cm.responder_resources = 0;
	get(&cm, IBV_QPS_INIT, &a, &mask);
	cr_assert_eq(a.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
}

Test(cm_attr, active)
{
	struct ibv_qp_attr a;
	struct dpav_cm cm;
	int mask;

	test_reach(&cm, P_REP_RCVD);
	get(&cm, IBV_QPS_RTR, &a, &mask);
	cr_assert_eq(mask, RTR_MASK | TARGET);
	cr_assert(a.dest_qp_num == PEER_QPN && a.rq_psn == 0xabc && a.path_mtu == IBV_MTU_1024);
	cr_assert(a.max_dest_rd_atomic == 4 && a.min_rnr_timer == 0 && a.ah_attr.is_global);
	cr_assert_eq(memcmp(a.ah_attr.grh.dgid.raw, test_path.dgid, 16), 0);
	cr_assert(a.ah_attr.grh.sgid_index == 3 && a.ah_attr.grh.hop_limit == 64);
	cr_assert(a.ah_attr.grh.flow_label == 0x12345 && a.ah_attr.grh.traffic_class == 0x20);
	cr_assert_eq(a.ah_attr.port_num, 1);
	get(&cm, IBV_QPS_RTS, &a, &mask);
	cr_assert_eq(mask, RTS_MASK | INITIATOR | IBV_QP_TIMEOUT);
	cr_assert(a.sq_psn == 0xdef && a.retry_cnt == 7 && a.rnr_retry == 1);
	cr_assert(a.max_rd_atomic == 3 && a.timeout == 19);
}

/* RTR and RTS come before the REP is sent: this side's PSN is set already. */
Test(cm_attr, passive)
{
	struct ibv_qp_attr a;
	struct dpav_cm cm;
	int mask;

	test_reach(&cm, P_REQ_RCVD);
	get(&cm, IBV_QPS_RTR, &a, &mask);
	cr_assert(a.dest_qp_num == PEER_QPN && a.rq_psn == 0xabc && a.path_mtu == IBV_MTU_2048);
	cr_assert_eq(memcmp(a.ah_attr.grh.dgid.raw, test_path.dgid, 16), 0);
	cr_assert(a.ah_attr.grh.flow_label == 0x54321 && a.ah_attr.grh.traffic_class == 0x40);
	cr_assert_eq(a.max_dest_rd_atomic, 4);
	get(&cm, IBV_QPS_RTS, &a, &mask);
	cr_assert(a.sq_psn == 0xdef && a.retry_cnt == 2 && a.rnr_retry == 1);
	cr_assert(a.max_rd_atomic == 3 && a.timeout == 19);
	test_call(&cm, DPA_CM_ACCEPT);
	get(&cm, IBV_QPS_RTR, &a, &mask);
	cr_assert_eq(a.max_dest_rd_atomic, 5);
	get(&cm, IBV_QPS_RTS, &a, &mask);
	cr_assert_eq(a.max_rd_atomic, 6);
}

Test(cm_attr, by_type)
{
	static const struct {
		enum dpav_cm_qp qp;
		int rtr, rts;
	} t[] = {{DPA_CM_QP_RC, TARGET, INITIATOR | IBV_QP_TIMEOUT},
		 {DPA_CM_QP_UC, 0, 0},
		 {DPA_CM_QP_XRC_INI, 0, INITIATOR | IBV_QP_TIMEOUT},
		 {DPA_CM_QP_XRC_TGT, TARGET, IBV_QP_TIMEOUT}};
	struct ibv_qp_attr a;
	struct dpav_cm cm;
	int mask;

	test_reach(&cm, P_PASSIVE);
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		cm.qp = t[i].qp;
		get(&cm, IBV_QPS_RTR, &a, &mask);
		cr_assert_eq(mask, RTR_MASK | t[i].rtr);
		get(&cm, IBV_QPS_RTS, &a, &mask);
		cr_assert_eq(mask, RTS_MASK | t[i].rts);
	}
	test_reach(&cm, P_SIDR_REQ_RCVD);
	get(&cm, IBV_QPS_INIT, &a, &mask);
	cr_assert_eq(mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	cr_assert_eq(a.qkey, 0x01234567);
}
