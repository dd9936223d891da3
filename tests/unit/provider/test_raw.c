/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_raw.c - the arguments of the device for flow rules and for the QPs that receive raw packets.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "dpa.h"
#include "fake_hw.h"

extern struct dpa_flow_attr fake_flow;
extern uint64_t fake_flow_packets[8], fake_flow_bytes[8];

struct rule {
	struct ibv_flow_attr attr;
	uint8_t specs[400];
};

static void add(struct rule *r, const void *spec, size_t n)
{
	static size_t at;

	if (!r->attr.num_of_specs)
		at = 0;
	memcpy(r->specs + at, spec, n);
	at += n;
	r->attr.num_of_specs++;
}

static struct fake_setup raw_setup(void)
{
	struct ibv_qp_cap cap = {4, 4, 1, 1, 0};
	struct fake_setup s;

	fake_setup(&s, IBV_QPT_RC, &cap);
	return s;
}

static struct ibv_qp *raw_qp(struct fake_setup *s)
{
	struct ibv_qp_init_attr a = {.send_cq = s->scq,
				     .recv_cq = s->rcq,
				     .cap = {4, 4, 1, 1, 0},
				     .qp_type = IBV_QPT_RAW_PACKET};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &a);

	cr_assert(qp);
	return qp;
}

Test(raw, specs)
{
	struct ibv_flow_spec_eth eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth)};
	struct ibv_flow_spec_ipv6 v6 = {.type = IBV_FLOW_SPEC_IPV6 | IBV_FLOW_SPEC_INNER,
					.size = sizeof(v6)};
	struct ibv_flow_spec_action_tag tag = {
		.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(tag), .tag_id = 77};
	struct ibv_flow_spec_action_drop drop = {.type = IBV_FLOW_SPEC_ACTION_DROP,
						 .size = sizeof(drop)};
	struct rule r = {
		.attr = {.priority = 3, .port = 1, .flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP}};
	struct fake_setup s = raw_setup();
	struct ibv_qp *qp = raw_qp(&s);
	struct ibv_flow *f;

	eth.val.src_mac[0] = 9;
	eth.mask.vlan_tag = 0xffff;
	v6.val.hop_limit = 5;
	v6.mask.hop_limit = 0xff;
	add(&r, &eth, sizeof(eth));
	add(&r, &tag, sizeof(tag));
	add(&r, &v6, sizeof(v6));
	add(&r, &drop, sizeof(drop));
	f = ibv_create_flow(qp, &r.attr);
	cr_assert(f, "%s", strerror(errno));
	cr_expect_eq(fake_flow.priority, 3u);
	cr_expect_eq(fake_flow.flags, (uint32_t)DPA_FLOW_DONT_TRAP);
	cr_expect_eq(fake_flow.tag, 77u);
	cr_expect(fake_flow.drop);
	cr_assert_eq(fake_flow.nspecs, 2u);
	cr_expect_eq(fake_flow.spec[0].type, DPA_FLOW_ETH);
	cr_expect_eq(fake_flow.spec[0].val[6], 9);
	cr_expect_eq(fake_flow.spec[0].mask[14], 0xff);
	cr_expect_eq(fake_flow.spec[1].type, DPA_FLOW_IPV6 | DPA_FLOW_INNER);
	cr_expect_eq(fake_flow.spec[1].val[38], 5);
	cr_expect_eq(fake_flow.spec[1].mask[38], 0xff);
	cr_expect_eq(ibv_destroy_qp(qp), EBUSY);
	cr_expect_eq(ibv_destroy_flow(f), 0);
	cr_expect_eq(ibv_destroy_qp(qp), 0);
	fake_teardown(&s);
}

static int flow_errno(struct ibv_qp *qp, struct rule *r)
{
	return ibv_create_flow(qp, &r->attr) ? 0 : errno;
}

Test(raw, bad_specs)
{
	struct ibv_flow_spec_eth eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth)};
	struct ibv_flow_spec_counter_action count = {.type = IBV_FLOW_SPEC_ACTION_COUNT,
						     .size = sizeof(count)};
	struct rule r = {.attr = {.port = 1}}, q = r;
	struct fake_setup s = raw_setup();
	struct ibv_qp *qp = raw_qp(&s);

	add(&q, &count, sizeof(count));
	cr_expect_eq(flow_errno(qp, &q), EINVAL, "counters that are none");
	for (int i = 0; i < DPA_FLOW_SPECS + 1; i++)
		add(&r, &eth, sizeof(eth));
	cr_expect_eq(flow_errno(qp, &r), EINVAL, "too many");
	r.attr.num_of_specs = 1;
	r.attr.port = 2;
	cr_expect_eq(flow_errno(qp, &r), EINVAL);
	r.attr.port = 1;
	for (uint16_t size = 0; size < 500; size++) {
		memcpy(r.specs + offsetof(struct ibv_flow_spec_eth, size), &size, sizeof(size));
		if (size != sizeof(eth))
			cr_assert_eq(flow_errno(qp, &r), EINVAL, "a size of %u", size);
	}
	cr_expect_eq(ibv_destroy_qp(qp), 0);
	fake_teardown(&s);
}

static void expect_counts(struct ibv_counters *c, uint64_t a, uint64_t b)
{
	uint64_t v[3] = {99, 99, 99};

	cr_assert_eq(ibv_read_counters(c, v, 3, 0), 0);
	cr_expect_eq(v[0], a, "%llu", (unsigned long long)v[0]);
	cr_expect_eq(v[1], b, "%llu", (unsigned long long)v[1]);
	cr_expect_eq(v[2], 0u);
}

static int attach(struct ibv_counters *c, enum ibv_counter_description what, uint32_t index,
		  struct ibv_flow *f)
{
	struct ibv_counter_attach_attr a = {.counter_desc = what, .index = index};

	return ibv_attach_counters_point_flow(c, &a, f);
}

/* Points for later rules, points of a present rule; the count of a rule outlives it. */
Test(raw, counters)
{
	struct ibv_flow_spec_counter_action count = {.type = IBV_FLOW_SPEC_ACTION_COUNT,
						     .size = sizeof(count)};
	struct ibv_counters_init_attr ca = {.comp_mask = 0};
	struct rule named = {.attr = {.port = 1}}, plain = named;
	struct fake_setup s = raw_setup();
	struct ibv_qp *qp = raw_qp(&s);
	struct ibv_counters *c = ibv_create_counters(s.ctx, &ca);
	struct ibv_counters *other = ibv_create_counters(s.ctx, &ca);
	struct ibv_flow *f, *g;
	uint32_t at;

	cr_assert(c && other);
	count.counters = c;
	add(&named, &count, sizeof(count));
	cr_expect_eq(flow_errno(qp, &named), EINVAL, "nothing is set");
	cr_expect_eq(attach(c, 2, 0, NULL), EINVAL);
	cr_expect_eq(attach(c, IBV_COUNTER_PACKETS, 1u << 20, NULL), EINVAL);
	cr_assert_eq(attach(c, IBV_COUNTER_PACKETS, 0, NULL), 0);
	cr_assert_eq(attach(c, IBV_COUNTER_BYTES, 1, NULL), 0);
	f = ibv_create_flow(qp, &named.attr);
	g = ibv_create_flow(qp, &plain.attr);
	cr_assert(f && g);
	fake_flow_packets[f->handle] = 3;
	fake_flow_bytes[f->handle] = 300;
	fake_flow_packets[g->handle] = 5;
	fake_flow_bytes[g->handle] = 500;
	expect_counts(c, 3, 300);
	cr_expect_eq(attach(other, IBV_COUNTER_BYTES, 0, f), EBUSY, "it has others");
	cr_assert_eq(attach(c, IBV_COUNTER_PACKETS, 0, g), 0);
	expect_counts(c, 3, 300);
	fake_flow_packets[g->handle] = 7;
	expect_counts(c, 5, 300);
	cr_expect_eq(ibv_destroy_counters(c), EBUSY);
	at = f->handle;
	cr_assert_eq(ibv_destroy_flow(f), 0);
	fake_flow_packets[at] = 1000;
	expect_counts(c, 5, 300);
	cr_expect_eq(ibv_destroy_counters(c), EBUSY);
	cr_assert_eq(ibv_destroy_flow(g), 0);
	expect_counts(c, 5, 300);
	cr_expect_eq(ibv_read_counters(c, NULL, 0, 2), EINVAL);
	cr_expect_eq(ibv_destroy_counters(c), 0);
	cr_expect_eq(ibv_destroy_counters(other), 0);
	cr_expect_eq(ibv_destroy_qp(qp), 0);
	fake_teardown(&s);
}

/* WQEs of a raw QP contain no address. */
Test(raw, sizes)
{
	struct ibv_qp_cap cap = {.max_send_wr = 4, .max_send_sge = 2};
	struct dpav_qp_size raw, ud;

	cr_expect_eq(dpav_qp_size(IBV_QPT_RAW_PACKET, false, &cap, &raw), 0);
	cr_expect_eq(dpav_qp_size(IBV_QPT_UD, false, &cap, &ud), 0);
	cr_expect_eq(raw.max_bb, 1u);
	cr_expect_eq(ud.max_bb, 2u);
	cr_expect_eq(dpa_send_ops(IBV_QPT_RAW_PACKET), 1u << IBV_WR_SEND);
}

Test(raw, transitions)
{
	const enum ibv_qp_type t = IBV_QPT_RAW_PACKET;

	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PORT),
		     0);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_STATE), EINVAL);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE), 0);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_QKEY),
		     EINVAL);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE), 0);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_STATE), 0);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_SQD, IBV_QPS_RTS, IBV_QP_STATE), 0);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_STATE), 0);
	cr_expect_eq(dpav_qp_transition(t, IBV_QPS_RESET, IBV_QPS_RTR, IBV_QP_STATE), EINVAL);
}
