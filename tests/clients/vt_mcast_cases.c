/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_mcast_cases.c - multicast on UD: the receivers of a datagram to a group, and refused calls. */
#include "vt.h"

enum { LEN = 200, GRH = 40, QKEY = 0x11111111, ROOM = 4096 };

static const struct vt_opt ud = {.type = IBV_QPT_UD};
static const union ibv_gid v4 = {.raw = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 3}};
static const union ibv_gid v6 = {.raw = {0xff, 0x0e, [15] = 0x77}};

/* A second QP of this side, with a CQ of its own, ready to send and receive. */
struct more {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static struct more more_open(struct vt *t, uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex a = {
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = t->pd,
		.create_flags = create_flags,
	};
	struct more m;

	m.cq = ibv_create_cq(t->ctx, 64, NULL, NULL, 0);
	CHECK(m.cq, "create_cq: %s", strerror(errno));
	a.send_cq = a.recv_cq = m.cq;
	m.qp = ibv_create_qp_ex(t->ctx, &a);
	CHECK(m.qp, "create_qp_ex: %s", strerror(errno));
	vt_qp_init(t, m.qp, &ud);
	vt_qp_rtr(t, m.qp, &ud, &t->me);
	vt_qp_rts(t, m.qp, &ud, 0);
	return m;
}

static void more_close(struct more *m)
{
	CHECK_EQ(ibv_destroy_qp(m->qp), 0);
	CHECK_EQ(ibv_destroy_cq(m->cq), 0);
}

static void recv_on(struct vt *t, struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)t->buf + id * ROOM, ROOM, t->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_recv(qp, &wr, &bad), 0);
}

static void send_to(struct vt *t, struct ibv_qp *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ibv_sge sge = {(uintptr_t)t->buf, LEN, t->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 99,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = 0x1234};

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	CHECK_EQ(vt_post(qp, &wr), 0);
}

/* Check that the datagram of side 0's first QP is in receive `id` of this QP. */
static void got(struct vt *t, struct ibv_cq *cq, uint64_t id, const union ibv_gid *group)
{
	uint32_t from = t->side == 0 ? t->qp->qp_num : t->peer.qpn;
	struct ibv_wc wc = vt_wc(t, cq);

	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.wr_id, id);
	CHECK_EQ(wc.byte_len, GRH + LEN);
	CHECK_EQ(wc.src_qp, from);
	CHECK_EQ(wc.imm_data, 0x1234);
	CHECK(wc.wc_flags & IBV_WC_GRH, "no GRH");
	CHECK_EQ(vt_differs(t->buf + id * ROOM + GRH, LEN, 5), LEN);
	/* the destination is the group: IPv4's in the last 20 of the 40 bytes */
	if (group == &v4)
		CHECK(!memcmp(t->buf + id * ROOM + 36, group->raw + 12, 4), "another group");
	else
		CHECK(!memcmp(t->buf + id * ROOM + 24, group->raw, 16), "another group");
}

static struct ibv_ah *group_ah(struct vt *t, const union ibv_gid *group)
{
	struct vt_addr a = {.gid = *group};

	return vt_ah(t, &a);
}

/* Side 0 sends; each attached QP of both sides gets it once, the others do not. */
static void fan_out(struct vt *t)
{
	static const union ibv_gid *const groups[] = {&v4, &v6};
	struct more in, out;

	vt_setup(t, &ud);
	in = more_open(t, 0);
	out = more_open(t, 0);
	for (int g = 0; g < 2; g++) {
		struct ibv_ah *ah = group_ah(t, groups[g]);

		vt_fill(t->buf, LEN, 5);
		CHECK_EQ(ibv_attach_mcast(t->qp, groups[g], 0), 0);
		CHECK_EQ(ibv_attach_mcast(in.qp, groups[g], 0), 0);
		CHECK_EQ(ibv_attach_mcast(in.qp, groups[g], 0), 0); /* still a single copy */
		CHECK_EQ(ibv_attach_mcast(out.qp, groups[!g], 0), 0);
		recv_on(t, t->qp, 1);
		recv_on(t, in.qp, 2);
		recv_on(t, in.qp, 3);
		recv_on(t, out.qp, 4);
		vt_sync(t);
		if (t->side == 0) {
			send_to(t, t->qp, ah, 0xffffff, QKEY);
			/* its own copy may come before or after that of the send */
			for (int n = 0; n < 2; n++) {
				struct ibv_wc wc = vt_wc(t, t->cq);

				CHECK_EQ(wc.status, IBV_WC_SUCCESS);
				CHECK_EQ(wc.wr_id, wc.opcode == IBV_WC_SEND ? 99 : 1);
			}
			CHECK_EQ(vt_differs(t->buf + ROOM + GRH, LEN, 5), LEN);
		} else {
			got(t, t->cq, 1, groups[g]);
		}
		got(t, in.cq, 2, groups[g]);
		vt_sync(t);
		/* a datagram to each QP by its own address: nothing else is before it */
		vt_wc_none(t, in.cq);
		vt_wc_none(t, out.cq);
		CHECK_EQ(ibv_detach_mcast(t->qp, groups[g], 0), 0);
		CHECK_EQ(ibv_detach_mcast(in.qp, groups[g], 0), 0);
		CHECK_EQ(ibv_detach_mcast(out.qp, groups[!g], 0), 0);
		vt_sync(t);
		/* the group is empty: the send completes and is lost */
		if (t->side == 0) {
			send_to(t, t->qp, ah, 0xffffff, QKEY);
			vt_wc_is(t, 99, IBV_WC_SUCCESS);
		}
		vt_sync(t);
		vt_wc_none(t, in.cq);
		vt_wc_none(t, t->cq);
		/* the remaining receives are dropped by a transition through RESET */
		for (int k = 0; k < 2; k++) {
			struct ibv_qp *qp = k ? in.qp : out.qp;
			struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};

			CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
			vt_qp_init(t, qp, &ud);
			vt_qp_rtr(t, qp, &ud, &t->me);
			vt_qp_rts(t, qp, &ud, 0);
		}
		CHECK_EQ(ibv_destroy_ah(ah), 0);
	}
	more_close(&out);
	more_close(&in);
	vt_close(t);
}

/* IBV_QP_CREATE_BLOCK_SELF_MCAST_LB: all but the sender itself. */
static void not_to_itself(struct vt *t)
{
	struct more m, s;

	vt_setup(t, &ud);
	s = more_open(t, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	m = more_open(t, 0);
	if (t->side == 0) {
		struct ibv_ah *ah = group_ah(t, &v6);
		struct ibv_wc wc;

		CHECK_EQ(ibv_attach_mcast(s.qp, &v6, 0), 0);
		CHECK_EQ(ibv_attach_mcast(m.qp, &v6, 0), 0);
		recv_on(t, s.qp, 1);
		recv_on(t, m.qp, 2);
		send_to(t, s.qp, ah, 0xffffff, QKEY);
		wc = vt_wc(t, m.cq);
		CHECK_EQ(wc.wr_id, 2);
		CHECK_EQ(wc.src_qp, s.qp->qp_num);
		wc = vt_wc(t, s.cq);
		CHECK_EQ(wc.opcode, IBV_WC_SEND);
		/* that of another QP arrives: in its only receive */
		send_to(t, m.qp, ah, 0xffffff, QKEY);
		wc = vt_wc(t, s.cq);
		CHECK_EQ(wc.wr_id, 1);
		CHECK_EQ(wc.src_qp, m.qp->qp_num);
		CHECK_EQ(ibv_detach_mcast(s.qp, &v6, 0), 0);
		CHECK_EQ(ibv_detach_mcast(m.qp, &v6, 0), 0);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
	}
	more_close(&m);
	more_close(&s);
	vt_close(t);
}

/* Another Q_Key, another QPN than the multicast one: dropped; later datagrams arrive. */
static void dropped(struct vt *t)
{
	vt_setup(t, &ud);
	CHECK_EQ(ibv_attach_mcast(t->qp, &v4, 0xc000), 0);
	if (t->side == 1)
		recv_on(t, t->qp, 1);
	vt_fill(t->buf, LEN, 5);
	vt_sync(t);
	if (t->side == 0) {
		struct ibv_ah *ah = group_ah(t, &v4);

		send_to(t, t->qp, ah, 0xffffff, QKEY + 1);
		send_to(t, t->qp, ah, t->peer.qpn, QKEY);
		send_to(t, t->qp, ah, t->qp->qp_num, QKEY);
		for (int i = 0; i < 3; i++)
			vt_wc_is(t, 99, IBV_WC_SUCCESS);
		vt_fill(t->buf, LEN, 5);
		send_to(t, t->qp, ah, 0xffffff, QKEY);
		vt_wc_is(t, 99, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
	} else {
		got(t, t->cq, 1, &v4);
	}
	vt_sync(t);
	CHECK_EQ(ibv_detach_mcast(t->qp, &v4, 0), 0);
	vt_close(t);
}

static void refused(struct vt *t)
{
	static const union ibv_gid not_v4 = {.raw = {[10] = 0xff, [11] = 0xff, 240, 1, 2, 3}};
	static const union ibv_gid not_v6 = {.raw = {0xfe, 0x80, [15] = 1}};
	struct vt_opt rc = {0};
	struct ibv_qp *qp;
	struct more m;

	vt_setup(t, &ud);
	m = more_open(t, 0);
	qp = vt_qp_create(t, &rc, t->cq);
	CHECK_EQ(ibv_attach_mcast(qp, &v4, 0), EINVAL);
	CHECK_EQ(ibv_detach_mcast(qp, &v4, 0), EINVAL);
	CHECK_EQ(ibv_attach_mcast(m.qp, &not_v4, 0), EINVAL);
	CHECK_EQ(ibv_attach_mcast(m.qp, &not_v6, 0), EINVAL);
	CHECK_EQ(ibv_attach_mcast(m.qp, &t->me.gid, 0), EINVAL);
	CHECK_EQ(ibv_detach_mcast(m.qp, &v4, 0), EINVAL);
	CHECK_EQ(ibv_attach_mcast(m.qp, &v4, 0), 0);
	CHECK_EQ(ibv_detach_mcast(m.qp, &v6, 0), EINVAL);
	CHECK_EQ(ibv_destroy_qp(m.qp), EBUSY);
	CHECK_EQ(ibv_detach_mcast(m.qp, &v4, 0), 0);
	CHECK_EQ(ibv_detach_mcast(m.qp, &v4, 0), EINVAL);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	more_close(&m);
	vt_close(t);
}

/* As many groups as the device reports, and no more: one process takes them all. */
static void limits(struct vt *t)
{
	struct ibv_device_attr a;

	vt_setup(t, &ud);
	CHECK_EQ(ibv_query_device(t->ctx, &a), 0);
	CHECK(a.max_mcast_grp > 0 && a.max_mcast_qp_attach > 0 &&
		      a.max_total_mcast_qp_attach >= a.max_mcast_qp_attach,
	      "limits");
	if (t->side == 0) {
		union ibv_gid g = v6;
		int n = 0, ret;

		for (; n <= a.max_mcast_grp; n++) {
			g.raw[12] = (uint8_t)(n >> 8);
			g.raw[13] = (uint8_t)n;
			ret = ibv_attach_mcast(t->qp, &g, 0);
			if (ret)
				break;
		}
		CHECK_EQ(n, a.max_mcast_grp);
		CHECK_EQ(ret, ENOMEM);
		while (n--) {
			g.raw[12] = (uint8_t)(n >> 8);
			g.raw[13] = (uint8_t)n;
			CHECK_EQ(ibv_detach_mcast(t->qp, &g, 0), 0);
		}
	}
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"fan_out", fan_out, VT_BOTH, 0},  {"not_to_itself", not_to_itself, VT_BOTH, 0},
	{"dropped", dropped, VT_BOTH, 0},  {"refused", refused, VT_THREADS, 0},
	{"limits", limits, VT_THREADS, 0},
};

VT_MAIN(cases)
