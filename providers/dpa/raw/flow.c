/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow.c - flow rules: checks the specs behind struct ibv_flow_attr and converts them to the
 * device's form.
 */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

/* Adds one spec with a size field of `size` bytes; refused if its type has another size. */
static int add_spec(struct dpa_flow_attr *a, const uint8_t *p, uint16_t size,
		    struct ibv_counters **counters)
{
	struct dpa_flow_spec *to = &a->spec[a->nspecs];
	const void *val = NULL, *mask = NULL;
	struct ibv_flow_spec copy, *s = &copy; /* they may be unaligned */
	uint32_t type;
	size_t want = 0, n = 0;

	if (size < sizeof(s->hdr) || size > sizeof(*s))
		return EINVAL;
	memcpy(s, p, size);
	type = (uint32_t)s->hdr.type;
#define SPEC(member)                                                                               \
	do {                                                                                       \
		val = &s->member.val;                                                              \
		mask = &s->member.mask;                                                            \
		n = sizeof(s->member.val);                                                         \
		want = sizeof(s->member);                                                          \
		static_assert(sizeof(s->member.val) <= DPA_FLOW_FILTER, "filter");                 \
	} while (0)

	switch (type & ~(uint32_t)IBV_FLOW_SPEC_INNER) {
	case IBV_FLOW_SPEC_ETH:
		SPEC(eth);
		break;
	case IBV_FLOW_SPEC_IPV4:
		SPEC(ipv4);
		break;
	case IBV_FLOW_SPEC_IPV4_EXT:
		SPEC(ipv4_ext);
		break;
	case IBV_FLOW_SPEC_IPV6:
		SPEC(ipv6);
		break;
	case IBV_FLOW_SPEC_ESP:
		SPEC(esp);
		break;
	case IBV_FLOW_SPEC_TCP:
	case IBV_FLOW_SPEC_UDP:
		SPEC(tcp_udp);
		break;
	case IBV_FLOW_SPEC_VXLAN_TUNNEL:
		SPEC(tunnel);
		break;
	case IBV_FLOW_SPEC_GRE:
		SPEC(gre);
		break;
	case IBV_FLOW_SPEC_MPLS:
		SPEC(mpls);
		break;
	case IBV_FLOW_SPEC_ACTION_TAG:
		if (size != sizeof(s->flow_tag))
			return EINVAL;
		a->tag = s->flow_tag.tag_id;
		return 0;
	case IBV_FLOW_SPEC_ACTION_DROP:
		if (size != sizeof(s->drop))
			return EINVAL;
		a->drop = true;
		return 0;
	case IBV_FLOW_SPEC_ACTION_COUNT:
		if (size != sizeof(s->flow_count) || !s->flow_count.counters || *counters)
			return EINVAL;
		*counters = s->flow_count.counters;
		return 0;
	case IBV_FLOW_SPEC_ACTION_HANDLE:
		return EOPNOTSUPP;
	default:
		return EINVAL;
	}
#undef SPEC
	if (size != want || a->nspecs == DPA_FLOW_SPECS)
		return EINVAL;
	to->type = (uint16_t)type;
	memcpy(to->val, val, n);
	memcpy(to->mask, mask, n);
	a->nspecs++;
	return 0;
}

/*
 * attr->size is no limit: some programs set it to the size of everything, others to that of struct
 * ibv_flow_attr alone. The number of specs and the size of each limit the read.
 */
static int add_specs(struct dpa_flow_attr *a, const struct ibv_flow_attr *attr,
		     struct ibv_counters **counters)
{
	const uint8_t *p = (const uint8_t *)(attr + 1);
	int ret = 0;

	for (uint32_t i = 0; !ret && i < attr->num_of_specs; i++) {
		uint16_t size;

		memcpy(&size, p + offsetof(struct ibv_flow_spec, hdr.size), sizeof(size));
		ret = add_spec(a, p, size, counters);
		p += size;
	}
	return ret;
}

struct ibv_flow *dpa_create_flow(struct ibv_qp *ibqp, struct ibv_flow_attr *attr)
{
	struct dpav_qp *qp = to_dpa_qp(ibqp);
	struct dpa_flow_attr a = {
		.type = attr->type, .flags = attr->flags, .priority = attr->priority};
	struct ibv_counters *counters = NULL;
	struct dpa_flow *flow;
	int ret;

	if (!dpa_word_alive(qp->alive))
		return dpa_null(EIO);
	if (attr->comp_mask || attr->port != 1)
		return dpa_null(EINVAL);
	if (ibqp->qp_type == IBV_QPT_UD) /* rules for RoCE packets */
		return dpa_null(EOPNOTSUPP);
	ret = add_specs(&a, attr, &counters);
	if (!ret && counters && counters->context != ibqp->context)
		ret = EINVAL;
	if (ret)
		return dpa_null(ret);
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	ret = dpa_hw_create_flow(qp->hw, &a, &flow->flow.handle);
	if (ret) {
		free(flow);
		return dpa_null(ret);
	}
	flow->flow.context = ibqp->context;
	flow->hw_qp = qp->hw;
	ret = counters ? dpa_counters_follow(counters, flow) : 0;
	if (ret) {
		dpa_destroy_flow(&flow->flow);
		return dpa_null(ret);
	}
	return &flow->flow;
}

int dpa_destroy_flow(struct ibv_flow *ibflow)
{
	struct dpa_flow *flow = (struct dpa_flow *)ibflow;
	int ret = 0;

	if (flow->counters)
		dpa_counters_leave(flow);
	if (dpa_alive(ibflow->context))
		ret = dpa_hw_destroy_flow(flow->hw_qp, ibflow->handle);
	if (!ret)
		free(flow);
	return ret;
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_FLOW_ETH, IBV_FLOW_SPEC_ETH);
SAME(DPA_FLOW_IPV4, IBV_FLOW_SPEC_IPV4);
SAME(DPA_FLOW_IPV6, IBV_FLOW_SPEC_IPV6);
SAME(DPA_FLOW_IPV4_EXT, IBV_FLOW_SPEC_IPV4_EXT);
SAME(DPA_FLOW_ESP, IBV_FLOW_SPEC_ESP);
SAME(DPA_FLOW_TCP, IBV_FLOW_SPEC_TCP);
SAME(DPA_FLOW_UDP, IBV_FLOW_SPEC_UDP);
SAME(DPA_FLOW_VXLAN, IBV_FLOW_SPEC_VXLAN_TUNNEL);
SAME(DPA_FLOW_GRE, IBV_FLOW_SPEC_GRE);
SAME(DPA_FLOW_MPLS, IBV_FLOW_SPEC_MPLS);
SAME(DPA_FLOW_INNER, IBV_FLOW_SPEC_INNER);
SAME(DPA_FLOW_NORMAL, IBV_FLOW_ATTR_NORMAL);
SAME(DPA_FLOW_ALL_DEFAULT, IBV_FLOW_ATTR_ALL_DEFAULT);
SAME(DPA_FLOW_MC_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT);
SAME(DPA_FLOW_SNIFFER, IBV_FLOW_ATTR_SNIFFER);
SAME(DPA_FLOW_DONT_TRAP, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
SAME(DPA_FLOW_EGRESS, IBV_FLOW_ATTR_FLAGS_EGRESS);
static_assert(offsetof(struct ibv_flow_spec_ipv6, mask) -
			      offsetof(struct ibv_flow_spec_ipv6, val) ==
		      40,
	      "filters as the man page has them");
