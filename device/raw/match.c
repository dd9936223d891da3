/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* match.c - compares flow rules with the headers of a frame: ibv_create_flow(3). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "board/board.h"
#include "raw.h"

/* Returns the bytes of a spec's filter; 0: no such spec. */
static uint32_t filter_len(uint16_t type)
{
	switch (type & ~(uint32_t)DPA_FLOW_INNER) {
	case DPA_FLOW_ETH:
		return 16;
	case DPA_FLOW_IPV4:
		return 8;
	case DPA_FLOW_IPV4_EXT:
		return 12;
	case DPA_FLOW_IPV6:
		return 39;
	case DPA_FLOW_ESP:
	case DPA_FLOW_GRE:
		return 8;
	case DPA_FLOW_TCP:
	case DPA_FLOW_UDP:
	case DPA_FLOW_VXLAN:
	case DPA_FLOW_MPLS:
		return 4;
	default:
		return 0;
	}
}

/* False for tunnels: a known tunnel has no other tunnel in it. */
static bool may_be_inner(uint16_t type)
{
	return (type & ~DPA_FLOW_INNER) != DPA_FLOW_VXLAN &&
	       (type & ~DPA_FLOW_INNER) != DPA_FLOW_GRE;
}

int dpa_flow_check(const struct dpa_flow_attr *a)
{
	if (a->flags & ~(uint32_t)(DPA_FLOW_DONT_TRAP | DPA_FLOW_EGRESS))
		return EINVAL;
	if (a->flags & DPA_FLOW_EGRESS)
		return EOPNOTSUPP;
	if (a->type > DPA_FLOW_SNIFFER || a->nspecs > DPA_FLOW_SPECS || a->priority > UINT16_MAX)
		return EINVAL;
	if (a->type != DPA_FLOW_NORMAL && (a->nspecs || a->flags || a->drop))
		return EINVAL;
	for (uint32_t i = 0; i < a->nspecs; i++) {
		uint16_t type = a->spec[i].type;

		if (!filter_len(type))
			return EINVAL;
		if ((type & DPA_FLOW_INNER) && !may_be_inner(type))
			return EOPNOTSUPP;
	}
	return 0;
}

static bool spec_matches(const struct dpa_flow_spec *s, const struct dpa_layer *l)
{
	static const uint8_t none[4];
	uint32_t n = filter_len(s->type);

	for (uint32_t i = 0; i < n; i++)
		if ((l->f[i] ^ s->val[i]) & s->mask[i])
			return false;
	/* a rule for a field that a frame may lack only matches frames that have it */
	if (l->kind == DPA_FLOW_ETH && memcmp(s->mask + 14, none, 2))
		return l->optional;
	if (l->kind == DPA_FLOW_GRE && memcmp(s->mask + 4, none, 4))
		return l->optional;
	return true;
}

static uint16_t layer_kind_of(uint16_t type)
{
	uint16_t kind = (uint16_t)(type & ~DPA_FLOW_INNER);

	return kind == DPA_FLOW_IPV4_EXT ? DPA_FLOW_IPV4 : kind;
}

/* Returns the first header from `from` on that the spec is for, or v->n. */
static uint32_t find_spec_layer(const struct dpa_flow_spec *s, const struct dpa_layers *v,
				uint32_t from)
{
	bool inner = s->type & DPA_FLOW_INNER;

	while (from < v->n &&
	       (v->l[from].kind != layer_kind_of(s->type) || v->l[from].inner != inner))
		from++;
	return from;
}

/* If the position of a label matters, each spec is for headers behind that of the previous spec. */
static bool is_ordered(const struct dpa_flow_rule *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (layer_kind_of(r->spec[i].type) == DPA_FLOW_MPLS)
			return true;
	return false;
}

bool dpa_flow_match(const struct dpa_flow_rule *r, const struct dpa_layers *v)
{
	uint32_t n = r->nspecs < DPA_FLOW_SPECS ? r->nspecs : DPA_FLOW_SPECS, from = 0;
	bool in_order = is_ordered(r, n);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = find_spec_layer(&r->spec[i], v, from);

		if (at == v->n || !spec_matches(&r->spec[i], &v->l[at]))
			return false;
		if (in_order)
			from = at + 1;
	}
	return true;
}

/* ----------------------------------------------------------------- all rules */

/* Default rules come after all others; equal ones in the order of their table entries. */
static uint32_t rule_rank(const struct dpa_flow_rule *r)
{
	return r->type == DPA_FLOW_NORMAL ? r->priority : UINT16_MAX + 1u;
}

static int compare_rules(const void *a, const void *b)
{
	const struct dpa_flow_kept *x = a, *y = b;
	uint32_t rx = rule_rank(&x->rule), ry = rule_rank(&y->rule);

	if (rx != ry)
		return rx < ry ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void dpa_flow_sort(struct dpa_flow_kept *rules, uint32_t n)
{
	if (n)
		qsort(rules, n, sizeof(*rules), compare_rules);
}

struct chosen {
	struct dpa_flow_to *to;
	uint32_t n;
};

static void choose_rule(struct chosen *c, const struct dpa_flow_kept *k)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->to[i].qpn == k->qpn)
			return;
	c->to[c->n++] = (struct dpa_flow_to){.qpn = k->qpn, .tag = k->rule.tag};
}

static bool rule_wants(const struct dpa_flow_kept *k, const struct dpa_layers *v, bool mcast)
{
	switch (k->rule.type) {
	case DPA_FLOW_NORMAL:
		return dpa_flow_match(&k->rule, v);
	case DPA_FLOW_ALL_DEFAULT:
		return true;
	case DPA_FLOW_MC_DEFAULT:
		return mcast;
	default:
		return false;
	}
}

/*
 * Begins with the best priority: all matching rules of it get the frame. Rules of a lower priority
 * get it only if each of these lets it go on (DONT_TRAP). A drop rule also takes it from rules of
 * its own priority.
 */
uint32_t dpa_flow_choose(const struct dpa_flow_kept *rules, uint32_t n, const struct dpa_layers *v,
			 bool mcast, dpa_flow_lives_fn *lives, void *arg, struct dpa_flow_to *to)
{
	struct chosen c = {.to = to};
	bool trapped = false;

	for (uint32_t i = 0; i < n; i++)
		if (rules[i].rule.type == DPA_FLOW_SNIFFER && lives(arg, &rules[i]))
			choose_rule(&c, &rules[i]);
	for (uint32_t i = 0; i < n && !trapped;) {
		uint32_t before = c.n, level = rule_rank(&rules[i].rule);
		bool drop = false;

		for (; i < n && rule_rank(&rules[i].rule) == level; i++) {
			if (!rule_wants(&rules[i], v, mcast) || !lives(arg, &rules[i]))
				continue;
			trapped |= !(rules[i].rule.flags & DPA_FLOW_DONT_TRAP);
			if (rules[i].rule.drop)
				drop = true;
			else
				choose_rule(&c, &rules[i]);
		}
		if (drop)
			c.n = before;
	}
	return c.n;
}

_Static_assert(sizeof(struct dpa_flow_rule) <= DPA_BOARD_FLOW_RULE, "a rule fits its entry");
