/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* probe.c - headers and data of probes: see probe.h. */
#include "probe.h"
#include "ops.h"

#define ETHERNET   14u
#define IPV4	   20u
#define IPV6	   40u
#define UDP	   8u
#define PROTO_UDP  17
#define PROTO_IFA  253
#define IFA	   4u
#define BTH_DETH   20u
#define MAD_HEADER 24u
#define CC_DATA	   64u	/* bytes behind the MAD header */
#define CC_CLASS   0x21 /* congestion control (IBA annex A10) */
#define UD_SEND	   0x64
#define WORDS(n)   ((n) / 4)

/* Offsets in the headers. */
enum { IFA1_HOPS = 16, IFA1_COUNT = 17, IFA1_LENGTH = 22 };
enum { IFA2_HOPS = 2, IFA2_LENGTH = 3 };

uint32_t dpa_ifa1_begin(uint8_t to[DPA_IFA_HEAD], uint64_t marker)
{
	memset(to, 0, DPA_IFA1_HEAD);
	dpa_put64(to, marker);
	to[8] = 1;			/* version */
	to[9] = 1;			/* a probe */
	dpa_put32(to + 12, UINT32_MAX); /* all data is wanted */
	to[IFA1_HOPS] = DPA_IFA_HOPS;
	dpa_put16(to + 20, WORDS(DPA_IFA_HOPS * DPA_IFA_HOP));
	return DPA_IFA1_HEAD;
}

uint32_t dpa_ifa2_begin(uint8_t to[DPA_IFA_HEAD], uint8_t hops)
{
	to[0] = UINT8_MAX; /* all data is wanted */
	to[1] = 0;
	to[IFA2_HOPS] = hops;
	to[IFA2_LENGTH] = 0;
	return DPA_IFA2_HEAD;
}

uint64_t dpa_ifa1_marker(const uint8_t *p, uint32_t n)
{
	return n >= DPA_IFA1_HEAD ? dpa_get64(p) : 0;
}

static void put_hop(uint8_t *p, const struct dpa_ifa_hop *h)
{
	const uint64_t s = 1000000000;

	/* the number: 24 bits, then the low 6 above 2 of the kind of port */
	p[0] = (uint8_t)(h->device >> 22);
	p[1] = (uint8_t)(h->device >> 14);
	p[2] = (uint8_t)(h->device >> 6);
	p[3] = (uint8_t)(h->device << 2);
	p[4] = 0;
	p[5] = (uint8_t)(h->sent >> 32);
	p[6] = h->ttl;
	p[7] = 0;
	/* the queue's 32 bits, in bytes, are where other switches have the high bits of seconds */
	p = dpa_put16(p + 8, 0x8000);
	p = dpa_put16(p, (uint16_t)(h->queued >> 16));
	p = dpa_put16(p, (uint16_t)(h->came / s));
	p = dpa_put32(p, (uint32_t)(h->came % s));
	/* no seconds: nanoseconds are counted on, modulo 2^32 */
	p = dpa_put32(p, (uint32_t)h->left);
	p = dpa_put16(p, (uint16_t)h->queued);
	p = dpa_put16(p, 0);
	p = dpa_put16(p, h->port);
	dpa_put32(p, (uint32_t)h->sent);
}

uint32_t dpa_ifa_add(enum dpa_pcc_format format, const uint8_t *p, uint32_t n,
		     const struct dpa_ifa_hop *hop, uint8_t *to)
{
	const bool ifa2 = format == DPA_PCC_IFA2;
	const uint32_t head = ifa2 ? DPA_IFA2_HEAD : DPA_IFA1_HEAD;
	const uint32_t hops = ifa2 ? IFA2_HOPS : IFA1_HOPS;

	if (format == DPA_PCC_CCMAD || n < head || !p[hops] ||
	    n + DPA_IFA_HOP > head + DPA_IFA_HOPS * DPA_IFA_HOP)
		return 0;
	memcpy(to, p, head);
	put_hop(to + head, hop);
	memcpy(to + head + DPA_IFA_HOP, p + head, n - head);
	to[hops]--;
	n += DPA_IFA_HOP;
	if (ifa2) {
		to[IFA2_LENGTH] = (uint8_t)WORDS(n - head);
	} else {
		to[IFA1_COUNT]++;
		dpa_put16(to + IFA1_LENGTH, (uint16_t)WORDS(n - head));
	}
	return n;
}

/* ------------------------------------------------------- the packet for a program */

/* No addresses: a socket does not show them. Returns where IP's header begins. */
static uint8_t *put_ethernet(uint8_t *p, bool v4)
{
	memset(p, 0, 12);
	return dpa_put16(p + 12, v4 ? 0x0800 : 0x86dd);
}

static uint8_t *put_ip(uint8_t *p, const struct dpa_roce_net *net, uint8_t proto, uint32_t n)
{
	if (!dpa_roce_is_v4(net)) {
		p = dpa_put32(p, 6u << 28 | (uint32_t)net->tclass << 20 | (net->flow & 0xfffff));
		p = dpa_put16(p, (uint16_t)n);
		*p++ = proto;
		*p++ = net->hop;
		memcpy(p, net->src, 16);
		memcpy(p + 16, net->dst, 16);
		return p + 32;
	}
	memset(p, 0, IPV4);
	p[0] = 0x45;
	p[1] = net->tclass;
	dpa_put16(p + 2, (uint16_t)(IPV4 + n));
	p[8] = net->hop;
	p[9] = proto;
	memcpy(p + 12, net->src + 12, 4);
	memcpy(p + 16, net->dst + 12, 4);
	dpa_put16(p + 10, dpa_ip_sum(p));
	return p + IPV4;
}

/* A congestion control MAD with the time in its data, as big-endian words, the low one first. */
static uint8_t *put_ccmad(uint8_t *p, const struct dpa_probe_shown *s, uint8_t **data)
{
	memset(p, 0, BTH_DETH + MAD_HEADER + CC_DATA);
	p[0] = UD_SEND;
	dpa_put16(p + 2, DPA_ROCE_PKEY);
	dpa_put32(p + 4, s->dqpn & 0xffffff);
	dpa_put32(p + 8, s->psn & 0xffffff);
	p += BTH_DETH;
	p[0] = 1; /* base version */
	p[1] = CC_CLASS;
	p[2] = 2; /* class version */
	p[3] = 1; /* Get */
	dpa_put64(p + 8, s->sent);
	p += MAD_HEADER;
	*data = p;
	dpa_put32(p, (uint32_t)s->sent);
	dpa_put32(p + 4, (uint32_t)(s->sent >> 32));
	return p + CC_DATA;
}

bool dpa_probe_show(const struct dpa_probe_shown *s, struct dpa_pcc_probe *out)
{
	const bool v4 = dpa_roce_is_v4(&s->net), ifa2 = s->format == DPA_PCC_IFA2;
	const uint32_t mad = s->format == DPA_PCC_CCMAD ? BTH_DETH + MAD_HEADER + CC_DATA : 0;
	const uint32_t body = mad + s->len;
	const uint32_t ip = UDP + body + (ifa2 ? IFA : 0);
	uint8_t *p = out->packet, *data;

	if (ETHERNET + (v4 ? IPV4 : IPV6) + (uint64_t)ip > DPA_PCC_PROBE_BYTES)
		return false;
	p = put_ip(put_ethernet(p, v4), &s->net, ifa2 ? PROTO_IFA : PROTO_UDP, ip);
	if (ifa2) {
		p[0] = (uint8_t)(2u << 4 | (s->gns & 15));
		p[1] = PROTO_UDP;
		p[2] = 0;
		p[3] = WORDS(DPA_IFA_HOPS * DPA_IFA_HOP);
		p += IFA;
	}
	out->l4 = (uint32_t)(p - out->packet);
	p = dpa_put16(dpa_put16(p, s->net.sport), DPA_ROCE_PORT);
	p = dpa_put16(dpa_put16(p, (uint16_t)(UDP + body)), 0);
	data = p;
	if (mad)
		p = put_ccmad(p, s, &data);
	if (s->len)
		memcpy(p, s->payload, s->len);
	p += s->len;
	out->payload = (uint32_t)(data - out->packet);
	out->size = (uint32_t)(p - out->packet);
	return true;
}
