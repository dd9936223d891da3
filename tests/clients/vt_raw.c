/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <sys/syscall.h>
#include <linux/capability.h>
#include <unistd.h>
#include "vt_raw.h"

static const uint8_t group[6] = {0x01, 0x50, 0x56, 0x19, 0x20, 0xa7};

bool raw_may(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	return !syscall(SYS_capget, &head, data) && (data[0].effective >> CAP_NET_RAW & 1);
}

uint32_t raw_frame(uint8_t *p, uint8_t to, uint8_t x, uint16_t dport, uint32_t n, unsigned id)
{
	static const uint8_t ip[20] = {0x45, 0, 0,  0, 0, 0, 0,	 0, 64, 17,
				       0,    0, 10, 0, 0, 0, 10, 9, 9,	9};

	vt_fill(p, n, id);
	memcpy(p, group, 6);
	p[5] = to;
	memset(p + 6, 0x42, 6);
	p[12] = 8;
	p[13] = 0;
	memcpy(p + 14, ip, 20);
	p[29] = x;
	p[34] = 0;
	p[35] = 7;
	p[36] = (uint8_t)(dport >> 8);
	p[37] = (uint8_t)dport;
	return n;
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};

	CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PORT), 0);
	a.qp_state = IBV_QPS_RTR;
	CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
	a.qp_state = IBV_QPS_RTS;
	CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), 0);
}

struct ibv_qp *raw_try_qp(struct vt *t, struct ibv_cq *cq, uint32_t flags)
{
	struct ibv_qp_init_attr_ex a = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = RAW_DEPTH,
			.max_recv_wr = RAW_DEPTH,
			.max_send_sge = 2,
			.max_recv_sge = 2},
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = t->pd,
		.create_flags = flags,
	};

	return ibv_create_qp_ex(t->ctx, &a);
}

struct raw raw_open(struct vt *t, uint32_t flags)
{
	struct ibv_cq_init_attr_ex a = {
		.cqe = 4 * RAW_DEPTH, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_FLOW_TAG};
	struct raw r;

	r.cq = ibv_create_cq_ex(t->ctx, &a);
	CHECK(r.cq, "create_cq_ex: %s", strerror(errno));
	r.qp = raw_try_qp(t, ibv_cq_ex_to_cq(r.cq), flags);
	CHECK(r.qp, "create_qp_ex: %s", strerror(errno));
	to_rts(r.qp);
	return r;
}

void raw_close(struct raw *r)
{
	CHECK_EQ(ibv_destroy_qp(r->qp), 0);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(r->cq)), 0);
}

void raw_recv(struct vt *t, struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)t->buf + id * RAW_ROOM, RAW_ROOM, t->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	CHECK_EQ(ibv_post_recv(qp, &wr, &bad), 0);
}

enum ibv_wc_status raw_send(struct vt *t, struct raw *r, uint32_t n)
{
	struct ibv_sge sge = {(uintptr_t)t->buf, n, t->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1000,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_wc wc;

	CHECK_EQ(vt_post(r->qp, &wr), 0);
	wc = vt_wc(t, ibv_cq_ex_to_cq(r->cq));
	CHECK_EQ(wc.wr_id, 1000);
	return wc.status;
}

void raw_rule_add(struct raw_rule *r, const void *spec, size_t n)
{
	memcpy(r->specs + r->attr.size, spec, n);
	r->attr.size = (uint16_t)(r->attr.size + n);
	r->attr.num_of_specs++;
}

struct raw_rule raw_rule_to(uint8_t to, uint16_t priority)
{
	struct raw_rule r = {.attr = {.priority = priority, .port = 1}};
	struct ibv_flow_spec_eth eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth)};

	memcpy(eth.val.dst_mac, group, 6);
	eth.val.dst_mac[5] = to;
	memset(eth.mask.dst_mac, 0xff, 6);
	raw_rule_add(&r, &eth, sizeof(eth));
	return r;
}

void raw_rule_tag(struct raw_rule *r, uint32_t tag)
{
	struct ibv_flow_spec_action_tag s = {
		.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(s), .tag_id = tag};

	raw_rule_add(r, &s, sizeof(s));
}

struct ibv_flow *raw_flow(struct ibv_qp *qp, struct raw_rule *r)
{
	struct ibv_flow *f = ibv_create_flow(qp, &r->attr);

	CHECK(f, "create_flow: %s", strerror(errno));
	return f;
}

void raw_got(struct raw *r, uint64_t id, uint32_t n, uint32_t tag)
{
	struct ibv_poll_cq_attr none = {.comp_mask = 0};

	while (ibv_start_poll(r->cq, &none) == ENOENT)
		;
	CHECK_EQ(r->cq->status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_wc_read_opcode(r->cq), IBV_WC_RECV);
	CHECK_EQ(r->cq->wr_id, id);
	CHECK_EQ(ibv_wc_read_byte_len(r->cq), n);
	CHECK_EQ(ibv_wc_read_qp_num(r->cq), r->qp->qp_num);
	CHECK_EQ(ibv_wc_read_flow_tag(r->cq), tag);
	ibv_end_poll(r->cq);
}

void raw_nothing(struct raw *r)
{
	struct ibv_wc wc;

	CHECK_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(r->cq), 1, &wc), 0);
}
