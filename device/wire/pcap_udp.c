/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcap_udp.c - finds the UDP payload of a RoCEv2 packet in a captured frame. */
#include "ops.h"
#include "pcap.h"

enum { /* LINKTYPE_ */
       LINK_NULL = 0,
       LINK_ETHERNET = 1,
       LINK_RAW_BSD = 12,
       LINK_RAW_OPENBSD = 14,
       LINK_RAW = 101,
       LINK_LOOP = 108,
       LINK_SLL = 113,
       LINK_IPV4 = 228,
       LINK_IPV6 = 229,
       LINK_SLL2 = 276
};
enum { ETH_IPV4 = 0x0800, ETH_VLAN = 0x8100, ETH_IPV6 = 0x86dd, ETH_QINQ = 0x88a8 };

struct bytes {
	const uint8_t *p;
	size_t n;
};

static bool bytes_skip(struct bytes *b, size_t n)
{
	if (b->n < n)
		return false;
	b->p += n;
	b->n -= n;
	return true;
}

/* Skips a link header of hdr bytes with the protocol at off, and VLAN tags behind it. */
static bool skip_link(struct bytes *b, size_t hdr, size_t off)
{
	const uint8_t *proto = b->p + off;
	uint16_t type;

	if (!bytes_skip(b, hdr))
		return false;
	for (type = dpa_get16(proto); type == ETH_VLAN || type == ETH_QINQ;
	     type = dpa_get16(proto)) {
		proto = b->p + 2;
		if (!bytes_skip(b, 4))
			return false;
	}
	return type == ETH_IPV4 || type == ETH_IPV6;
}

/* Skips to the IP header. False: no IP, or too short to decide. */
static bool skip_to_ip(const struct dpa_pcap_rec *r, struct bytes *b)
{
	switch (r->link) {
	case LINK_ETHERNET:
		return skip_link(b, 14, 12);
	case LINK_SLL:
		return skip_link(b, 16, 14);
	case LINK_SLL2:
		return skip_link(b, 20, 0);
	case LINK_NULL: /* the address family, in unknown byte order: the IP version is enough */
	case LINK_LOOP:
		return bytes_skip(b, 4);
	case LINK_RAW:
	case LINK_RAW_BSD:
	case LINK_RAW_OPENBSD:
	case LINK_IPV4:
	case LINK_IPV6:
		return true;
	default:
		return false;
	}
}

/* Fields of an IP header for the datagram behind it. */
struct ip {
	bool udp, fragment, options;
	bool mapped;	/* an IPv6 header with IPv4-mapped addresses */
	size_t payload; /* its own length field */
};

static void map_v4(uint8_t gid[16], const uint8_t *addr)
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, addr, 4);
}

static bool read_v4(struct bytes *b, struct dpa_roce_net *net, struct ip *ip)
{
	const uint8_t *h = b->p;
	size_t hdr, all;

	if (b->n < 20)
		return false;
	hdr = (size_t)(h[0] & 0xf) * 4;
	all = dpa_get16(h + 2);
	if (hdr < 20 || all < hdr || !bytes_skip(b, hdr))
		return false;
	net->tclass = h[1];
	net->ip_id = dpa_get16(h + 4);
	net->df = h[6] >> 6 & 1;
	net->hop = h[8];
	map_v4(net->src, h + 12);
	map_v4(net->dst, h + 16);
	*ip = (struct ip){.udp = h[9] == 17,
			  .fragment = dpa_get16(h + 6) & 0x3fff,
			  .options = hdr > 20,
			  .payload = all - hdr};
	return true;
}

static bool read_v6(struct bytes *b, struct dpa_roce_net *net, struct ip *ip)
{
	const uint8_t *h = b->p;

	if (!bytes_skip(b, 40))
		return false;
	net->tclass = (uint8_t)(dpa_get16(h) >> 4);
	net->flow = dpa_get32(h) & 0xfffff;
	net->hop = h[7];
	memcpy(net->src, h + 8, 16);
	memcpy(net->dst, h + 24, 16);
	*ip = (struct ip){
		.udp = h[6] == 17, .mapped = dpa_roce_is_v4(net), .payload = dpa_get16(h + 4)};
	return true;
}

static bool read_ip(struct bytes *b, struct dpa_roce_net *net, struct ip *ip)
{
	if (!b->n)
		return false;
	switch (b->p[0] >> 4) {
	case 4:
		return read_v4(b, net, ip);
	case 6:
		return read_v6(b, net, ip);
	default:
		return false;
	}
}

enum dpa_pcap_kind dpa_pcap_udp(const struct dpa_pcap_rec *r, struct dpa_roce_net *net,
				const uint8_t **udp, size_t *n, const char **why)
{
	struct bytes b = {r->p, r->n};
	size_t udp_len;
	struct ip ip;

	memset(net, 0, sizeof(*net));
	if (r->journal || !skip_to_ip(r, &b) || !read_ip(&b, net, &ip) || !ip.udp || ip.fragment ||
	    b.n < 8 || dpa_get16(b.p + 2) != DPA_ROCE_PORT)
		return DPA_PCAP_OTHER;
	net->sport = dpa_get16(b.p);
	net->dport = DPA_ROCE_PORT;
	udp_len = dpa_get16(b.p + 4);
	*why = NULL;
	if (ip.options)
		*why = "IPv4 options";
	else if (ip.mapped)
		*why = "an IPv4 address in an IPv6 header";
	else if (udp_len < 8 || udp_len != ip.payload)
		*why = "the lengths of IP and UDP do not agree";
	else if (udp_len > b.n)
		*why = "not captured whole";
	if (*why)
		return DPA_PCAP_BAD;
	*udp = b.p + 8;
	*n = udp_len - 8;
	return DPA_PCAP_ROCE;
}
