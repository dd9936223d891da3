/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame.c - the headers of a frame, each in the form of a flow spec: ibv_create_flow(3). Length
 * fields in headers are neither trusted nor needed: only bytes of the frame are read.
 */
#include <string.h>
#include "raw.h"
#include "wire/words.h"

#define ETH_IPV4   0x0800u
#define ETH_IPV6   0x86ddu
#define ETH_MPLS   0x8847u
#define ETH_MPLS_M 0x8848u
#define ETH_BRIDGE 0x6558u
#define VXLAN_PORT 4789u
#define MPLS_PORT  6635u

struct cursor {
	const uint8_t *p;
	uint32_t left;
	bool inner;
	struct dpa_layers *v;
};

static void cursor_skip(struct cursor *c, uint32_t n)
{
	c->p += n;
	c->left -= n;
}

/* NULL: no room for another. */
static struct dpa_layer *add_frame_layer(struct cursor *c, uint16_t kind)
{
	struct dpa_layer *l;

	if (c->v->n == DPA_LAYERS) {
		c->left = 0;
		return NULL;
	}
	l = &c->v->l[c->v->n++];
	l->kind = kind;
	l->inner = c->inner;
	l->optional = false;
	memset(l->f, 0, sizeof(l->f));
	return l;
}

static void parse_network_layer(struct cursor *c, uint32_t type);

/* Addresses, the type after the last tag, the first tag. */
static void parse_ethernet(struct cursor *c)
{
	struct dpa_layer *l;
	uint32_t type;

	if (c->left < 14 || !(l = add_frame_layer(c, DPA_FLOW_ETH)))
		return;
	memcpy(l->f, c->p, 12);
	type = dpa_get16(c->p + 12);
	cursor_skip(c, 12);
	while ((type == 0x8100 || type == 0x88a8) && c->left >= 6) {
		if (!l->optional)
			memcpy(l->f + 14, c->p + 2, 2);
		l->optional = true;
		type = dpa_get16(c->p + 4);
		cursor_skip(c, 4);
	}
	memcpy(l->f + 12, c->p, 2);
	cursor_skip(c, 2);
	parse_network_layer(c, type);
}

/* Entries of a label stack. After the last one IP follows, if the bytes look like it. */
static void parse_mpls(struct cursor *c, bool tunnel)
{
	bool bottom = false;

	while (!bottom) {
		struct dpa_layer *l;

		if (c->left < 4 || !(l = add_frame_layer(c, DPA_FLOW_MPLS)))
			return;
		memcpy(l->f, c->p, 4);
		bottom = c->p[2] & 1;
		cursor_skip(c, 4);
	}
	c->inner |= tunnel;
	if (c->left && (c->p[0] >> 4 == 4 || c->p[0] >> 4 == 6))
		parse_network_layer(c, c->p[0] >> 4 == 4 ? ETH_IPV4 : ETH_IPV6);
}

static void parse_udp(struct cursor *c)
{
	struct dpa_layer *l;
	uint32_t port;

	if (c->left < 8 || !(l = add_frame_layer(c, DPA_FLOW_UDP)))
		return;
	port = dpa_get16(c->p + 2);
	memcpy(l->f, c->p + 2, 2); /* destination first */
	memcpy(l->f + 2, c->p, 2);
	cursor_skip(c, 8);
	if (c->inner)
		return; /* one tunnel deep only */
	if (port == MPLS_PORT) {
		parse_mpls(c, true);
	} else if (port == VXLAN_PORT && c->left >= 8 && (l = add_frame_layer(c, DPA_FLOW_VXLAN))) {
		memcpy(l->f + 1, c->p + 4, 3);
		cursor_skip(c, 8);
		c->inner = true;
		parse_ethernet(c);
	}
}

static void parse_tcp(struct cursor *c)
{
	struct dpa_layer *l;

	if (c->left < 20 || !(l = add_frame_layer(c, DPA_FLOW_TCP)))
		return;
	memcpy(l->f, c->p + 2, 2);
	memcpy(l->f + 2, c->p, 2);
}

static void parse_esp(struct cursor *c)
{
	struct dpa_layer *l;

	if (c->left >= 8 && (l = add_frame_layer(c, DPA_FLOW_ESP)))
		memcpy(l->f, c->p, 8);
}

/* RFC 2784, 2890 */
static void parse_gre(struct cursor *c)
{
	struct dpa_layer *l;
	uint32_t flags, type, len;

	if (c->left < 4)
		return;
	flags = dpa_get16(c->p);
	type = dpa_get16(c->p + 2);
	len = 4 + (flags & 0x8000 ? 4 : 0) + (flags & 0x2000 ? 4 : 0) + (flags & 0x1000 ? 4 : 0);
	if (c->left < len || !(l = add_frame_layer(c, DPA_FLOW_GRE)))
		return;
	memcpy(l->f, c->p, 4);
	if (flags & 0x2000) {
		l->optional = true;
		memcpy(l->f + 4, c->p + (flags & 0x8000 ? 8 : 4), 4);
	}
	cursor_skip(c, len);
	if (c->inner)
		return;
	if (type == ETH_MPLS) {
		parse_mpls(c, true);
		return;
	}
	c->inner = true;
	if (type == ETH_BRIDGE)
		parse_ethernet(c);
	else
		parse_network_layer(c, type);
}

static void parse_transport(struct cursor *c, uint8_t proto)
{
	switch (proto) {
	case 6:
		parse_tcp(c);
		break;
	case 17:
		parse_udp(c);
		break;
	case 47:
		parse_gre(c);
		break;
	case 50:
		parse_esp(c);
		break;
	default:
		break;
	}
}

static void parse_ipv4(struct cursor *c)
{
	struct dpa_layer *l;
	uint32_t len, frag;
	uint8_t proto;

	if (c->left < 20 || c->p[0] >> 4 != 4)
		return;
	len = (c->p[0] & 15) * 4u;
	if (len < 20 || c->left < len || !(l = add_frame_layer(c, DPA_FLOW_IPV4)))
		return;
	frag = dpa_get16(c->p + 6);
	proto = c->p[9];
	memcpy(l->f, c->p + 12, 8);
	l->f[8] = proto;
	l->f[9] = c->p[1];
	l->f[10] = c->p[8];
	/* As in specs: 2: do not fragment, 4: more fragments. */
	l->f[11] = (uint8_t)((frag & 0x4000 ? 2 : 0) | (frag & 0x2000 ? 4 : 0));
	l->optional = frag & 0x3fff;
	cursor_skip(c, len);
	if (!(frag & 0x1fff))
		parse_transport(c, proto);
}

/* Skips headers between IPv6's own and the transport's. False: the rest cannot be found. */
static bool parse_extensions(struct cursor *c, struct dpa_layer *l, uint8_t *proto)
{
	for (;;) {
		uint32_t len;

		switch (*proto) {
		case 0:
		case 43:
		case 60:
			if (c->left < 8)
				return false;
			len = 8u + c->p[1] * 8u;
			break;
		case 44:
			if (c->left < 8)
				return false;
			len = 8;
			l->optional = true;
			if (dpa_get16(c->p + 2) & 0xfff8) /* not the first fragment */
				return false;
			break;
		default:
			return true;
		}
		if (c->left < len)
			return false;
		*proto = c->p[0];
		cursor_skip(c, len);
	}
}

static void parse_ipv6(struct cursor *c)
{
	struct dpa_layer *l;
	uint8_t proto;
	bool found;

	if (c->left < 40 || c->p[0] >> 4 != 6 || !(l = add_frame_layer(c, DPA_FLOW_IPV6)))
		return;
	memcpy(l->f, c->p + 8, 32);
	l->f[33] = c->p[1] & 15;
	memcpy(l->f + 34, c->p + 2, 2);
	l->f[37] = (uint8_t)(c->p[0] << 4 | c->p[1] >> 4);
	l->f[38] = c->p[7];
	proto = c->p[6];
	cursor_skip(c, 40);
	found = parse_extensions(c, l, &proto);
	l->f[36] = proto;
	if (found)
		parse_transport(c, proto);
}

static void parse_network_layer(struct cursor *c, uint32_t type)
{
	switch (type) {
	case ETH_IPV4:
		parse_ipv4(c);
		break;
	case ETH_IPV6:
		parse_ipv6(c);
		break;
	case ETH_MPLS:
	case ETH_MPLS_M:
		parse_mpls(c, false);
		break;
	default:
		break;
	}
}

void dpa_frame_parse(const uint8_t *p, uint32_t n, struct dpa_layers *v)
{
	struct cursor c = {.p = p, .left = n, .v = v};

	v->n = 0;
	parse_ethernet(&c);
}
