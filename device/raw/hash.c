/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hash.c - receive side scaling: the Toeplitz hash over the requested fields of a frame. */
#include <errno.h>
#include <string.h>
#include "raw.h"

#define IPV4_FIELDS (DPA_RSS_SRC_IPV4 | DPA_RSS_DST_IPV4)
#define IPV6_FIELDS (DPA_RSS_SRC_IPV6 | DPA_RSS_DST_IPV6)
#define TCP_FIELDS  (DPA_RSS_SRC_PORT_TCP | DPA_RSS_DST_PORT_TCP)
#define UDP_FIELDS  (DPA_RSS_SRC_PORT_UDP | DPA_RSS_DST_PORT_UDP)

/* XOR of the 32 key bits that begin at each input bit that is set. */
uint32_t dpa_toeplitz(const uint8_t key[DPA_RSS_KEY], const uint8_t *in, uint32_t n)
{
	uint32_t window =
		(uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 | (uint32_t)key[2] << 8 | key[3];
	uint32_t h = 0;

	for (uint32_t i = 0; i < n && i + 4 < DPA_RSS_KEY; i++) {
		for (int bit = 7; bit >= 0; bit--) {
			if (in[i] >> bit & 1)
				h ^= window;
			window = window << 1 | (key[i + 4] >> bit & 1);
		}
	}
	return h;
}

int dpa_rss_check(const struct dpa_rss *rss, uint32_t log_size)
{
	const uint64_t f = rss->fields;

	if (f & ~(uint64_t)DPA_RSS_FIELDS)
		return EOPNOTSUPP;
	if (((f & IPV4_FIELDS) && (f & IPV6_FIELDS)) || ((f & TCP_FIELDS) && (f & UDP_FIELDS)))
		return EINVAL;
	return !f && log_size ? EINVAL : 0;
}

static const struct dpa_layer *find_hash_layer(const struct dpa_layers *v, uint16_t kind)
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->l[i].kind == kind && !v->l[i].inner)
			return &v->l[i];
	return NULL;
}

struct input {
	uint8_t b[36];
	uint32_t n;
};

static void put_hash_input(struct input *in, bool wanted, const uint8_t *from, uint32_t n)
{
	if (!wanted)
		return;
	memcpy(in->b + in->n, from, n);
	in->n += n;
}

/* Source before destination, addresses before ports. The ports of a fragment are not used. */
uint32_t dpa_rss_hash(const struct dpa_rss *rss, const struct dpa_layers *v)
{
	const struct dpa_layer *ip4 = find_hash_layer(v, DPA_FLOW_IPV4),
			       *ip6 = find_hash_layer(v, DPA_FLOW_IPV6);
	const struct dpa_layer *ip = ip4 ? ip4 : ip6;
	const struct dpa_layer *tcp = find_hash_layer(v, DPA_FLOW_TCP),
			       *udp = find_hash_layer(v, DPA_FLOW_UDP);
	const uint64_t f = rss->fields;
	struct input in = {.n = 0};

	if (ip4) {
		put_hash_input(&in, f & DPA_RSS_SRC_IPV4, ip4->f, 4);
		put_hash_input(&in, f & DPA_RSS_DST_IPV4, ip4->f + 4, 4);
	} else if (ip6) {
		put_hash_input(&in, f & DPA_RSS_SRC_IPV6, ip6->f, 16);
		put_hash_input(&in, f & DPA_RSS_DST_IPV6, ip6->f + 16, 16);
	}
	if (tcp && !ip->optional) {
		put_hash_input(&in, f & DPA_RSS_SRC_PORT_TCP, tcp->f + 2, 2);
		put_hash_input(&in, f & DPA_RSS_DST_PORT_TCP, tcp->f, 2);
	} else if (udp && !ip->optional) {
		put_hash_input(&in, f & DPA_RSS_SRC_PORT_UDP, udp->f + 2, 2);
		put_hash_input(&in, f & DPA_RSS_DST_PORT_UDP, udp->f, 2);
	}
	return in.n ? dpa_toeplitz(rss->key, in.b, in.n) : 0;
}
