/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* pcap_write.c - writes packets as blocks of a pcapng file, in this machine's byte order. */
#include <stdio.h>
#include "ops.h"
#include "pcap.h"

enum {
	BLOCK_SHB = 0x0a0d0d0a,
	BLOCK_IDB = 1,
	BLOCK_EPB = 6,
	BLOCK_JOURNAL = 9,
	OPT_END = 0,
	OPT_COMMENT = 1,
	OPT_EPB_FLAGS = 2,
	OPT_IF_NAME = 2,
	OPT_SHB_APP = 4,
	OPT_IF_TSRESOL = 9,
	LINK_RAW = 101,
	MAX_TEXT = 99,
};

static uint32_t pcap_pad4(uint32_t n)
{
	return (n + 3) & ~3u;
}

static uint8_t *pcap_put_bytes(uint8_t *p, const void *v, uint32_t n)
{
	memcpy(p, v, n);
	return p + n;
}

static uint8_t *put_u16(uint8_t *p, uint16_t v)
{
	return pcap_put_bytes(p, &v, 2);
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	return pcap_put_bytes(p, &v, 4);
}

static uint8_t *put_padded(uint8_t *p, const void *v, uint32_t n)
{
	p = pcap_put_bytes(p, v, n);
	memset(p, 0, pcap_pad4(n) - n);
	return p + pcap_pad4(n) - n;
}

static uint8_t *put_opt(uint8_t *p, uint16_t code, const void *v, uint32_t n)
{
	return put_padded(put_u16(put_u16(p, code), (uint16_t)n), v, n);
}

static uint8_t *pcap_put_text(uint8_t *p, uint16_t code, const char *text)
{
	return text && *text ? put_opt(p, code, text, (uint32_t)strnlen(text, MAX_TEXT)) : p;
}

/* Ends the block that begins at start: writes its length at both ends. */
static uint8_t *put_end(uint8_t *p, uint8_t *start)
{
	p = put_u32(p, OPT_END);
	put_u32(start + 4, (uint32_t)(p - start) + 4);
	return put_u32(p, (uint32_t)(p - start) + 4);
}

/* Copies text, cut to `room`, without control characters: they would end the field. */
static void copy_plain(char *to, size_t room, const char *text)
{
	size_t n = 0;

	for (; text[n] && n + 1 < room; n++)
		to[n] = (unsigned char)text[n] < ' ' ? ' ' : text[n];
	to[n] = '\0';
}

uint32_t dpa_pcapng_begin(uint8_t *buf, uint32_t room, const char *ifname, const char *app)
{
	const uint8_t nano = 9;
	uint8_t *p, *idb;

	if (room < DPA_PCAPNG_BEGIN_MAX)
		return 0;
	p = put_u32(put_u32(buf, BLOCK_SHB), 0);
	p = put_u32(p, 0x1a2b3c4d);
	p = put_u16(put_u16(p, 1), 0);
	p = put_u32(put_u32(p, ~0u), ~0u); /* length of the section: unknown */
	p = pcap_put_text(p, OPT_SHB_APP, app);
	idb = put_end(p, buf);
	p = put_u32(put_u32(idb, BLOCK_IDB), 0);
	p = put_u32(put_u16(put_u16(p, LINK_RAW), 0), 0);
	p = pcap_put_text(p, OPT_IF_NAME, ifname);
	p = put_opt(p, OPT_IF_TSRESOL, &nano, 1);
	return (uint32_t)(put_end(p, idb) - buf);
}

uint32_t dpa_pcapng_packet(uint8_t *buf, uint32_t room, uint64_t ns, enum dpa_pcapng_dir dir,
			   const char *comment, const struct dpa_roce_net *net, const uint8_t *p,
			   uint32_t n)
{
	uint8_t hdr[DPA_RAW_MAX_HDR], *q;
	uint32_t hlen, flags = dir;

	if (room < DPA_PCAPNG_PACKET_MAX((uint64_t)n))
		return 0;
	hlen = dpa_raw_headers(net, n, hdr);
	q = put_u32(put_u32(put_u32(buf, BLOCK_EPB), 0), 0);
	q = put_u32(put_u32(q, (uint32_t)(ns >> 32)), (uint32_t)ns);
	q = put_u32(put_u32(q, hlen + n), hlen + n);
	q = put_padded(pcap_put_bytes(q, hdr, hlen), p, n); /* hlen is a multiple of 4 */
	q = pcap_put_text(q, OPT_COMMENT, comment);
	if (dir)
		q = put_opt(q, OPT_EPB_FLAGS, &flags, 4);
	return (uint32_t)(put_end(q, buf) - buf);
}

uint32_t dpa_pcapng_entry(uint8_t *buf, uint32_t room, uint64_t ns, const char *program,
			  uint32_t pid, const char *message)
{
	char text[DPA_PCAPNG_ENTRY_MAX - 16], who[32], what[256];
	uint32_t len;
	uint8_t *p;
	int n;

	if (room < DPA_PCAPNG_ENTRY_MAX)
		return 0;
	copy_plain(who, sizeof(who), program);
	copy_plain(what, sizeof(what), message);
	n = snprintf(text, sizeof(text),
		     "__REALTIME_TIMESTAMP=%llu\nMESSAGE=%s\nPRIORITY=4\n"
		     "SYSLOG_IDENTIFIER=%s\n_PID=%u\n\n",
		     (unsigned long long)(ns / 1000), what, who, pid);
	len = 12 + pcap_pad4((uint32_t)n);
	p = put_u32(put_u32(buf, BLOCK_JOURNAL), len);
	return (uint32_t)(put_u32(put_padded(p, text, (uint32_t)n), len) - buf);
}

static uint8_t *put_pcap_v4(uint8_t *p, const struct dpa_roce_net *net, uint32_t udp_len)
{
	uint8_t *ip = p;

	p = dpa_put16(p, (uint16_t)(0x4500 | net->tclass));
	p = dpa_put16(p, (uint16_t)(20 + udp_len));
	p = dpa_put16(p, net->ip_id);
	p = dpa_put16(p, net->df ? 0x4000 : 0);
	p = dpa_put16(p, (uint16_t)(net->hop << 8 | 17));
	p = dpa_put16(p, 0);
	p = pcap_put_bytes(pcap_put_bytes(p, net->src + 12, 4), net->dst + 12, 4);
	dpa_put16(ip + 10, dpa_ip_sum(ip));
	return p;
}

static uint8_t *put_pcap_v6(uint8_t *p, const struct dpa_roce_net *net, uint32_t udp_len)
{
	p = dpa_put32(p, 6u << 28 | (uint32_t)net->tclass << 20 | (net->flow & 0xfffff));
	p = dpa_put16(p, (uint16_t)udp_len);
	p = dpa_put16(p, (uint16_t)(17 << 8 | net->hop));
	return pcap_put_bytes(pcap_put_bytes(p, net->src, 16), net->dst, 16);
}

uint32_t dpa_raw_headers(const struct dpa_roce_net *net, uint32_t n, uint8_t *hdr)
{
	uint8_t *p;

	p = dpa_roce_is_v4(net) ? put_pcap_v4(hdr, net, n + 8) : put_pcap_v6(hdr, net, n + 8);
	p = dpa_put16(dpa_put16(p, net->sport), net->dport);
	p = dpa_put16(dpa_put16(p, (uint16_t)(n + 8)), 0);
	return (uint32_t)(p - hdr);
}
