/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_raw_cases.c - raw packets: the QP that each frame reaches, flow rules, receive side scaling,
 * WQs. Side 0 sends, side 1 receives, unless a case says otherwise. Without CAP_NET_RAW the refusal
 * is tested.
 */
#include <endian.h>
#include <poll.h>
#include "vt_raw.h"

enum { LOG_TABLE = 2, WQS = 1 << LOG_TABLE, KEY = 40 };

static const struct vt_opt options = {.len = RAW_DEPTH * RAW_ROOM};

static void begin(struct vt *t)
{
	if (!raw_may())
		vt_skip("no CAP_NET_RAW");
	vt_setup(t, &options);
}

/* Without the capability nothing is available; with it, the device's reported capabilities. */
static void permission(struct vt *t)
{
	struct ibv_device_attr_ex a;
	bool may = raw_may();
	struct ibv_qp *qp;

	vt_setup(t, &options);
	qp = raw_try_qp(t, t->cq, 0);
	CHECK_EQ(ibv_query_device_ex(t->ctx, NULL, &a), 0);
	CHECK(a.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING, "no steering");
	CHECK_EQ(a.rss_caps.supported_qpts, 1 << IBV_QPT_RAW_PACKET);
	CHECK_EQ(a.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
	CHECK_EQ(a.raw_packet_caps, 0);
	if (may) {
		CHECK(qp, "create_qp_ex: %s", strerror(errno));
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	} else {
		CHECK(!qp && errno == EPERM, "%p, %s", (void *)qp, strerror(errno));
	}
	vt_close(t);
}

/*
 * Each frame reaches the QP with its rule, with its tag, from the other process as from this one.
 */
static void steering(struct vt *t)
{
	struct raw a, b, out;
	struct raw_rule ra, rb;
	struct ibv_flow *fa, *fb;

	begin(t);
	out = raw_open(t, 0);
	a = raw_open(t, 0);
	b = raw_open(t, 0);
	ra = raw_rule_to((uint8_t)(2 * t->side + 1), 0);
	rb = raw_rule_to((uint8_t)(2 * t->side + 2), 0);
	raw_rule_tag(&rb, 0x1234567);
	fa = raw_flow(a.qp, &ra);
	fb = raw_flow(b.qp, &rb);
	for (uint64_t i = 1; i <= 4; i++) {
		raw_recv(t, a.qp, i);
		raw_recv(t, b.qp, 10 + i);
	}
	vt_sync(t);
	for (int from = 0; from < 2; from++) {
		if (t->side == from)
			for (uint8_t to = 1; to <= 5; to++) /* no QP is 5 */
				CHECK_EQ(raw_send(t, &out,
						  raw_frame(t->buf, to, 1, 9, 100u + to, to)),
					 IBV_WC_SUCCESS);
		vt_sync(t);
	}
	for (uint32_t i = 1; t->side == 1 && i <= 2; i++) {
		raw_got(&a, i, 103, 0);
		raw_frame(t->buf, 3, 1, 9, 103, 3);
		CHECK(!memcmp(t->buf, t->buf + i * RAW_ROOM, 103), "another frame");
		raw_got(&b, 10 + i, 104, 0x1234567);
	}
	vt_sync(t);
	CHECK_EQ(ibv_destroy_qp(b.qp), EBUSY);
	CHECK_EQ(ibv_destroy_flow(fa), 0);
	CHECK_EQ(ibv_destroy_flow(fb), 0);
	vt_sync(t);
	if (t->side == 0)
		CHECK_EQ(raw_send(t, &out, raw_frame(t->buf, 3, 1, 9, 200, 1)), IBV_WC_SUCCESS);
	vt_sync(t);
	if (t->side == 1)
		raw_nothing(&a);
	raw_close(&a);
	raw_close(&b);
	raw_close(&out);
	vt_close(t);
}

/* The rule of the better priority gets it; a rule that drops leaves nothing. */
static void priorities(struct vt *t)
{
	struct ibv_flow_spec_action_drop drop = {.type = IBV_FLOW_SPEC_ACTION_DROP,
						 .size = sizeof(drop)};
	struct ibv_flow_spec_tcp_udp udp = {.type = IBV_FLOW_SPEC_UDP, .size = sizeof(udp)};
	struct raw all, some;
	struct raw_rule wide, narrow, nowhere;
	struct ibv_flow *f[3];

	begin(t);
	all = raw_open(t, 0);
	some = raw_open(t, 0);
	if (t->side == 1) {
		wide = raw_rule_to(9, 7);
		narrow = raw_rule_to(9, 3);
		udp.val.dst_port = htobe16(80);
		udp.mask.dst_port = 0xffff;
		raw_rule_add(&narrow, &udp, sizeof(udp));
		nowhere = raw_rule_to(9, 1);
		udp.val.dst_port = htobe16(81);
		raw_rule_add(&nowhere, &udp, sizeof(udp));
		raw_rule_add(&nowhere, &drop, sizeof(drop));
		f[0] = raw_flow(all.qp, &wide);
		f[1] = raw_flow(some.qp, &narrow);
		f[2] = raw_flow(all.qp, &nowhere);
		raw_recv(t, all.qp, 1);
		raw_recv(t, some.qp, 2);
		raw_recv(t, all.qp, 3);
	}
	vt_sync(t);
	if (t->side == 0)
		for (uint16_t port = 79; port <= 82; port++)
			CHECK_EQ(raw_send(t, &all, raw_frame(t->buf, 9, 1, port, port, 1)),
				 IBV_WC_SUCCESS);
	vt_sync(t);
	if (t->side == 1) {
		raw_got(&all, 1, 79, 0);
		raw_got(&all, 3, 82, 0);
		raw_got(&some, 2, 80, 0);
		raw_nothing(&all);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(ibv_destroy_flow(f[i]), 0);
	}
	raw_close(&all);
	raw_close(&some);
	vt_close(t);
}

/* A QP receives its own frames if a rule requests them, unless it was created to block them. */
static void own_frames(struct vt *t)
{
	struct raw r, deaf;
	struct raw_rule rule;
	struct ibv_flow *f[2];

	begin(t);
	r = raw_open(t, 0);
	deaf = raw_open(t, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	rule = raw_rule_to((uint8_t)(20 + t->side), 0);
	f[0] = raw_flow(r.qp, &rule);
	f[1] = raw_flow(deaf.qp, &rule);
	raw_recv(t, r.qp, 1);
	raw_recv(t, deaf.qp, 2);
	CHECK_EQ(raw_send(t, &deaf, raw_frame(t->buf, (uint8_t)(20 + t->side), 1, 1, 60, 1)),
		 IBV_WC_SUCCESS);
	raw_got(&r, 1, 60, 0);
	raw_nothing(&deaf);
	CHECK_EQ(ibv_destroy_flow(f[0]), 0);
	CHECK_EQ(ibv_destroy_flow(f[1]), 0);
	raw_close(&r);
	raw_close(&deaf);
	vt_close(t);
}

/*
 * Too short, too long; a frame with too little room is an error of that receive, one without a
 * receive is lost.
 */
static void wrong(struct vt *t)
{
	const uint8_t to = (uint8_t)(30 + t->side);
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;
	struct raw in, out;
	struct raw_rule rule;
	struct ibv_flow *f;
	struct ibv_wc wc;

	begin(t);
	in = raw_open(t, 0);
	out = raw_open(t, 0);
	rule = raw_rule_to(to, 0);
	f = raw_flow(in.qp, &rule);
	sge = (struct ibv_sge){(uintptr_t)t->buf + RAW_ROOM, 59, t->mr->lkey};
	CHECK_EQ(ibv_post_recv(in.qp, &wr, &bad), 0);
	CHECK_EQ(raw_send(t, &out, raw_frame(t->buf, to, 1, 1, 60, 1)), IBV_WC_SUCCESS);
	wc = vt_wc(t, ibv_cq_ex_to_cq(in.cq));
	CHECK_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(raw_send(t, &out, 60), IBV_WC_SUCCESS);
	raw_nothing(&in);
	raw_recv(t, in.qp, 2);
	CHECK_EQ(raw_send(t, &out, 60), IBV_WC_SUCCESS);
	raw_got(&in, 2, 60, 0);
	CHECK_EQ(raw_send(t, &out, 13), IBV_WC_LOC_QP_OP_ERR);
	CHECK_EQ(ibv_destroy_flow(f), 0);
	raw_close(&out);
	out = raw_open(t, 0);
	CHECK_EQ(raw_send(t, &out, 9217), IBV_WC_LOC_LEN_ERR);
	raw_close(&out);
	raw_close(&in);
	vt_close(t);
}

static void refuse(struct ibv_qp *qp, struct raw_rule *r, int err)
{
	struct ibv_flow *f = ibv_create_flow(qp, &r->attr);

	CHECK(!f && errno == err, "%p, %s", (void *)f, strerror(errno));
}

static void refused_rules(struct vt *t)
{
	struct ibv_flow_spec_action_handle handle = {.type = IBV_FLOW_SPEC_ACTION_HANDLE,
						     .size = sizeof(handle)};
	struct raw a;
	struct raw_rule r;

	begin(t);
	a = raw_open(t, 0);
	r = raw_rule_to(1, 0);
	refuse(t->qp, &r, EINVAL); /* an RC QP */
	r.attr.port = 2;
	refuse(a.qp, &r, EINVAL);
	r = raw_rule_to(1, 0);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	refuse(a.qp, &r, EOPNOTSUPP);
	r = raw_rule_to(1, 0);
	r.specs[4]++; /* the size of the spec */
	refuse(a.qp, &r, EINVAL);
	r = raw_rule_to(1, 0);
	raw_rule_add(&r, &handle, sizeof(handle));
	refuse(a.qp, &r, EOPNOTSUPP);
	r = raw_rule_to(1, 0);
	r.attr.type = IBV_FLOW_ATTR_SNIFFER;
	refuse(a.qp, &r, EINVAL);
	raw_close(&a);
	vt_close(t);
}

/* ------------------------------------------------------------------------ WQs */

struct spread {
	struct ibv_cq *cq;
	struct ibv_wq *wq[WQS];
	struct ibv_rwq_ind_table *table;
};

static struct ibv_wq *wq_open(struct vt *t, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr a = {
		.wq_type = IBV_WQT_RQ, .max_wr = 10, .max_sge = 1, .pd = t->pd, .cq = cq};
	struct ibv_wq *wq = ibv_create_wq(t->ctx, &a);

	CHECK(wq, "create_wq: %s", strerror(errno));
	CHECK(a.max_wr >= 10 && a.max_sge >= 1, "%u, %u", a.max_wr, a.max_sge);
	return wq;
}

static int wq_to(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr a = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state};

	return ibv_modify_wq(wq, &a);
}

static int wq_recv(struct vt *t, struct ibv_wq *wq, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)t->buf + id % RAW_DEPTH * RAW_ROOM, RAW_ROOM, t->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_wq_recv(wq, &wr, &bad);
}

/* States, accepted requests, flushed ones; they need no capability. */
static void wq_states(struct vt *t)
{
	struct ibv_wq_attr a = {.attr_mask = IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_STATE,
				.curr_wq_state = IBV_WQS_ERR,
				.wq_state = IBV_WQS_RDY};
	struct ibv_wq *wq;
	struct ibv_wc wc;

	vt_setup(t, &options);
	wq = wq_open(t, t->cq);
	CHECK_EQ(wq->state, IBV_WQS_RESET);
	CHECK_EQ(wq_recv(t, wq, 1), EINVAL);
	CHECK_EQ(ibv_modify_wq(wq, &a), EINVAL);
	CHECK_EQ(wq_to(wq, IBV_WQS_RDY), 0);
	CHECK_EQ(wq_recv(t, wq, 2), 0);
	CHECK_EQ(wq_recv(t, wq, 3), 0);
	CHECK_EQ(wq_to(wq, IBV_WQS_ERR), 0);
	CHECK_EQ(wq_recv(t, wq, 4), 0);
	for (uint64_t id = 2; id <= 4; id++) {
		wc = vt_wc(t, t->cq);
		CHECK_EQ(wc.wr_id, id);
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(wc.qp_num, wq->wq_num);
	}
	CHECK_EQ(wq_to(wq, IBV_WQS_RDY), EINVAL);
	CHECK_EQ(wq_to(wq, IBV_WQS_RESET), 0);
	CHECK_EQ(wq_to(wq, IBV_WQS_RDY), 0);
	for (uint64_t id = 0; id < 16; id++)
		CHECK_EQ(wq_recv(t, wq, id), 0);
	CHECK_EQ(wq_recv(t, wq, 16), ENOMEM);
	CHECK_EQ(wq_to(wq, IBV_WQS_RESET), 0);
	CHECK_EQ(ibv_poll_cq(t->cq, 1, &wc), 0);
	CHECK_EQ(ibv_destroy_cq(t->cq), EBUSY);
	CHECK_EQ(ibv_destroy_wq(wq), 0);
	vt_close(t);
}

static struct spread spread_open(struct vt *t)
{
	struct ibv_rwq_ind_table_init_attr a = {.log_ind_tbl_size = LOG_TABLE};
	struct spread s;

	s.cq = ibv_create_cq(t->ctx, WQS * 16, NULL, NULL, 0);
	CHECK(s.cq, "create_cq: %s", strerror(errno));
	for (int i = 0; i < WQS; i++) {
		s.wq[i] = wq_open(t, s.cq);
		CHECK_EQ(wq_to(s.wq[i], IBV_WQS_RDY), 0);
	}
	a.ind_tbl = s.wq;
	s.table = ibv_create_rwq_ind_table(t->ctx, &a);
	CHECK(s.table, "create_rwq_ind_table: %s", strerror(errno));
	CHECK_EQ(ibv_destroy_wq(s.wq[1]), EBUSY);
	return s;
}

static void spread_close(struct spread *s)
{
	CHECK_EQ(ibv_destroy_rwq_ind_table(s->table), 0);
	for (int i = 0; i < WQS; i++)
		CHECK_EQ(ibv_destroy_wq(s->wq[i]), 0);
	CHECK_EQ(ibv_destroy_cq(s->cq), 0);
}

static struct ibv_qp *rss_qp(struct vt *t, struct spread *s, uint8_t key_len, uint64_t fields)
{
	static uint8_t key[KEY] = {0x2c, 0xc6, 0x81, 0xd1, 0x5b, 0xdb, 0xf4, 0xf7, 0xfc, 0xa2};
	struct ibv_qp_init_attr_ex a = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = t->pd,
		.rwq_ind_tbl = s->table,
		.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				 .rx_hash_key_len = key_len,
				 .rx_hash_key = key,
				 .rx_hash_fields_mask = fields},
	};

	return ibv_create_qp_ex(t->ctx, &a);
}

/* Frames of one flow reach one WQ, in order; those of many flows, all of them. */
static void rss(struct vt *t)
{
	const uint64_t fields = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
	uint32_t at[16] = {0}, seen = 0;
	struct ibv_qp_attr up = {.qp_state = IBV_QPS_RTS};
	struct spread s;
	struct raw_rule rule;
	struct ibv_flow *f;
	struct ibv_qp *qp;
	struct raw r;

	begin(t);
	if (t->side == 0) {
		r = raw_open(t, 0);
		vt_sync(t);
		for (uint8_t i = 0; i < 32; i++)
			CHECK_EQ(
				raw_send(t, &r, raw_frame(t->buf, 40, i % 16, 1, 100u + i % 16, i)),
				IBV_WC_SUCCESS);
		vt_sync(t);
		raw_close(&r);
		vt_close(t);
		return;
	}
	s = spread_open(t);
	CHECK(!rss_qp(t, &s, KEY - 1, fields) && errno == EINVAL, "%s", strerror(errno));
	CHECK(!rss_qp(t, &s, KEY, fields | IBV_RX_HASH_SRC_IPV6) && errno == EINVAL, "IPv4 and 6");
	CHECK(!rss_qp(t, &s, KEY, IBV_RX_HASH_IPSEC_SPI) && errno == EOPNOTSUPP, "not reported");
	qp = rss_qp(t, &s, KEY, fields);
	CHECK(qp, "create_qp_ex: %s", strerror(errno));
	CHECK_EQ(ibv_modify_qp(qp, &up, IBV_QP_STATE), EOPNOTSUPP);
	CHECK_EQ(ibv_destroy_rwq_ind_table(s.table), EBUSY);
	rule = raw_rule_to(40, 0);
	f = raw_flow(qp, &rule);
	for (uint64_t i = 0; i < 16 * WQS; i++)
		CHECK_EQ(wq_recv(t, s.wq[i % WQS], i), 0);
	vt_sync(t);
	for (int i = 0; i < 32; i++) {
		struct ibv_wc wc = vt_wc(t, s.cq);
		uint32_t x = wc.byte_len - 100;

		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK(x < 16, "%u bytes", wc.byte_len);
		CHECK(!at[x] || at[x] == wc.qp_num, "10.0.0.%u came to two WQs", x);
		CHECK_EQ(s.wq[wc.wr_id % WQS]->wq_num, wc.qp_num);
		at[x] = wc.qp_num;
		seen |= 1u << wc.wr_id % WQS;
	}
	CHECK_EQ(seen, (1u << WQS) - 1);
	vt_sync(t);
	CHECK_EQ(ibv_destroy_flow(f), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	spread_close(&s);
	vt_close(t);
}

/*
 * An unmapped buffer ends its WQ: one event, and all other receives are flushed; after RESET it
 * works again.
 */
static void wq_fatal(struct vt *t)
{
	const uint8_t to = (uint8_t)(60 + t->side);
	struct pollfd p = {.events = POLLIN};
	struct ibv_sge sge = {.length = RAW_ROOM};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_async_event ev;
	struct raw_rule rule;
	struct ibv_flow *f;
	struct ibv_qp *qp;
	struct spread s;
	struct raw out;
	struct ibv_wc wc;

	begin(t);
	p.fd = t->ctx->async_fd;
	out = raw_open(t, 0);
	s = spread_open(t);
	qp = rss_qp(t, &s, KEY, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);
	CHECK(qp, "create_qp_ex: %s", strerror(errno));
	rule = raw_rule_to(to, 0);
	f = raw_flow(qp, &rule);
	sge.addr = (uintptr_t)t->buf;
	sge.lkey = t->mr->lkey ^ 0x5a5a00; /* an invalid key */
	for (int i = 0; i < WQS; i++) {
		CHECK_EQ(ibv_post_wq_recv(s.wq[i], &wr, &bad), 0);
		CHECK_EQ(wq_recv(t, s.wq[i], 2), 0);
	}
	CHECK_EQ(raw_send(t, &out, raw_frame(t->buf, to, 1, 1, 60, 1)), IBV_WC_SUCCESS);
	wc = vt_wc(t, s.cq);
	CHECK_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(poll(&p, 1, 30000), 1);
	CHECK_EQ(ibv_get_async_event(t->ctx, &ev), 0);
	CHECK_EQ(ev.event_type, IBV_EVENT_WQ_FATAL);
	CHECK_EQ(ev.element.wq->wq_num, wc.qp_num);
	ibv_ack_async_event(&ev);
	wc = vt_wc(t, s.cq);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(wc.qp_num, ev.element.wq->wq_num);
	CHECK_EQ(raw_send(t, &out, 60), IBV_WC_SUCCESS); /* lost, as in any WQ that is not ready */
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(ibv_poll_cq(s.cq, 1, &wc), 0);
	CHECK_EQ(wq_to(ev.element.wq, IBV_WQS_RESET), 0);
	CHECK_EQ(wq_to(ev.element.wq, IBV_WQS_RDY), 0);
	CHECK_EQ(wq_recv(t, ev.element.wq, 3), 0);
	CHECK_EQ(raw_send(t, &out, 60), IBV_WC_SUCCESS);
	wc = vt_wc(t, s.cq);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 3);
	CHECK_EQ(ibv_destroy_flow(f), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	spread_close(&s);
	raw_close(&out);
	vt_close(t);
}

static struct ibv_counters *counters(struct vt *t)
{
	struct ibv_counters_init_attr a = {.comp_mask = 0};
	struct ibv_counter_attach_attr packets = {.counter_desc = IBV_COUNTER_PACKETS, .index = 0};
	struct ibv_counter_attach_attr bytes = {.counter_desc = IBV_COUNTER_BYTES, .index = 1};
	struct ibv_counters *c = ibv_create_counters(t->ctx, &a);

	CHECK(c, "create_counters: %s", strerror(errno));
	CHECK_EQ(ibv_attach_counters_point_flow(c, &packets, NULL), 0);
	CHECK_EQ(ibv_attach_counters_point_flow(c, &bytes, NULL), 0);
	return c;
}

static void counts_are(struct ibv_counters *c, uint64_t packets, uint64_t bytes)
{
	uint64_t v[2];

	CHECK_EQ(ibv_read_counters(c, v, 2, 0), 0);
	CHECK_EQ(v[0], packets);
	CHECK_EQ(v[1], bytes);
}

static void rule_count(struct raw_rule *r, struct ibv_counters *c)
{
	struct ibv_flow_spec_counter_action s = {
		.type = IBV_FLOW_SPEC_ACTION_COUNT, .size = sizeof(s), .counters = c};

	raw_rule_add(r, &s, sizeof(s));
}

/*
 * Matching frames are counted, from any sender, with and without a receive, also if they are
 * dropped.
 */
static void counted(struct vt *t)
{
	struct ibv_flow_spec_action_drop drop = {.type = IBV_FLOW_SPEC_ACTION_DROP,
						 .size = sizeof(drop)};
	struct ibv_counters *ca, *cb;
	struct ibv_flow *fa, *fb;
	struct raw a, out;
	struct raw_rule ra, rb;

	begin(t);
	out = raw_open(t, 0);
	a = raw_open(t, 0);
	ca = counters(t);
	cb = counters(t);
	ra = raw_rule_to((uint8_t)(2 * t->side + 1), 0);
	rb = raw_rule_to((uint8_t)(2 * t->side + 2), 0);
	rule_count(&ra, ca);
	rule_count(&rb, cb);
	raw_rule_add(&rb, &drop, sizeof(drop));
	fa = raw_flow(a.qp, &ra);
	fb = raw_flow(a.qp, &rb);
	vt_sync(t);
	for (uint8_t to = 1; to <= 5; to++)
		CHECK_EQ(raw_send(t, &out, raw_frame(t->buf, to, 1, 9, 100u + to, to)),
			 IBV_WC_SUCCESS);
	vt_sync(t);
	counts_are(ca, 2, 2 * (101u + 2u * (uint32_t)t->side));
	counts_are(cb, 2, 2 * (102u + 2u * (uint32_t)t->side));
	CHECK_EQ(ibv_destroy_counters(ca), EBUSY);
	vt_sync(t);
	CHECK_EQ(ibv_destroy_flow(fa), 0);
	CHECK_EQ(ibv_destroy_flow(fb), 0);
	counts_are(ca, 2, 2 * (101u + 2u * (uint32_t)t->side));
	fa = raw_flow(a.qp, &ra); /* perhaps in the place of the previous one: it starts from 0 */
	counts_are(ca, 2, 2 * (101u + 2u * (uint32_t)t->side));
	CHECK_EQ(ibv_destroy_flow(fa), 0);
	CHECK_EQ(ibv_destroy_counters(ca), 0);
	CHECK_EQ(ibv_destroy_counters(cb), 0);
	raw_close(&a);
	raw_close(&out);
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"counted", counted, VT_BOTH, 0},
	{"permission", permission, VT_THREADS, 0},
	{"steering", steering, VT_BOTH, 0},
	{"priorities", priorities, VT_BOTH, 0},
	{"own_frames", own_frames, VT_BOTH, 0},
	{"wrong", wrong, VT_THREADS, 0},
	{"refused_rules", refused_rules, VT_THREADS, 0},
	{"wq_states", wq_states, VT_THREADS, 0},
	{"wq_fatal", wq_fatal, VT_THREADS, 0},
	{"rss", rss, VT_BOTH, 0},
};

VT_MAIN(cases)
