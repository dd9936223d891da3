/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* icrc.c - the range of the ICRC, and what can be computed from it (annex A17.3.3). */
#include "crc32.h"
#include "ops.h"

#define IP_UDP 17
#define V4_HDR 20
#define V6_HDR 40
#define LRH    8 /* bytes of ones in place of it */
#define MAX_IP (LRH + V6_HDR + 8 + DPA_ROCE_BTH)
#define SHORT  64u /* bytes behind the BTH */

/* [k][d]: x to the minus 8 * d * 16^k: removes d * 16^k bytes. */
static uint32_t back[4][16];

static inline uint32_t over_x(uint32_t a)
{
	return (a >> 31) ? (a ^ DPA_CRC32_POLY) << 1 | 1 : a << 1;
}

__attribute__((constructor(101))) static void icrc_init(void)
{
	uint32_t unit = DPA_CRC32_ONE;

	for (int i = 0; i < 8; i++)
		unit = over_x(unit);
	for (int k = 0; k < 4; k++) {
		back[k][0] = DPA_CRC32_ONE;
		for (int d = 1; d < 16; d++)
			back[k][d] = dpa_crc32_mul(back[k][d - 1], unit);
		unit = dpa_crc32_mul(back[k][15], unit);
	}
}

/* Writes the headers with ones in fields that routers and switches change. */
static uint8_t *put_icrc_v4(uint8_t *p, const struct dpa_roce_net *net, uint32_t udp_len)
{
	p = dpa_put16(p, 0x45ff);
	p = dpa_put16(p, (uint16_t)(V4_HDR + udp_len));
	p = dpa_put16(p, net->ip_id);
	p = dpa_put16(p, net->df ? 0x4000 : 0);
	p = dpa_put16(p, 0xff00 | IP_UDP);
	p = dpa_put16(p, 0xffff);
	memcpy(p, net->src + 12, 4);
	memcpy(p + 4, net->dst + 12, 4);
	return p + 8;
}

static uint8_t *put_icrc_v6(uint8_t *p, const struct dpa_roce_net *net, uint32_t udp_len)
{
	p = dpa_put32(p, 0x6fffffff);
	p = dpa_put16(p, (uint16_t)udp_len);
	p = dpa_put16(p, IP_UDP << 8 | 0xff);
	memcpy(p, net->src, 16);
	memcpy(p + 16, net->dst, 16);
	return p + 32;
}

/*
 * Writes the bytes that the ICRC covers in place of the headers up to the BTH. Returns their end.
 */
/* IBA CA17-1, CA17-22 */
static uint8_t *put_icrc_headers(uint8_t *buf, const struct dpa_roce_net *net, uint32_t udp_payload,
				 const uint8_t *bth)
{
	uint32_t udp_len = udp_payload + 8;
	uint8_t *p = buf + LRH;

	memset(buf, 0xff, LRH);
	p = dpa_roce_is_v4(net) ? put_icrc_v4(p, net, udp_len) : put_icrc_v6(p, net, udp_len);
	p = dpa_put16(p, net->sport);
	p = dpa_put16(p, net->dport);
	p = dpa_put16(p, (uint16_t)udp_len);
	p = dpa_put16(p, 0xffff);
	memcpy(p, bth, DPA_ROCE_BTH);
	p[4] = 0xff;
	return p + DPA_ROCE_BTH;
}

uint32_t dpa_icrc_begin(const struct dpa_roce_net *net, uint32_t udp_payload, const uint8_t *bth)
{
	uint8_t buf[MAX_IP];

	return dpa_crc32(~0u, NULL, buf,
			 (size_t)(put_icrc_headers(buf, net, udp_payload, bth) - buf));
}

uint32_t dpa_icrc_add(uint32_t state, const void *p, size_t n)
{
	return n ? dpa_crc32(state, NULL, p, n) : state;
}

uint32_t dpa_icrc_add_copy(uint32_t state, void *dst, const void *src, size_t n)
{
	return n ? dpa_crc32(state, dst, src, n) : state;
}

uint32_t dpa_icrc_of(const struct dpa_roce_net *net, const uint8_t *p, size_t n)
{
	size_t rest = n - DPA_ROCE_BTH - DPA_ROCE_ICRC;
	uint8_t buf[MAX_IP + SHORT], *end;
	uint32_t s;

	if (rest > SHORT) {
		s = dpa_icrc_begin(net, (uint32_t)n, p);
		return dpa_icrc_end(dpa_icrc_add(s, p + DPA_ROCE_BTH, rest));
	}
	/* the fixed cost exceeds that of so few bytes */
	end = put_icrc_headers(buf, net, (uint32_t)n, p);
	memcpy(end, p + DPA_ROCE_BTH, rest);
	return dpa_icrc_end(dpa_crc32(~0u, NULL, buf, (size_t)(end - buf) + rest));
}

static uint32_t received_icrc(const uint8_t *p, size_t n)
{
	return dpa_getle32(p + n - DPA_ROCE_ICRC);
}

/* IBA CA17-22 */
bool dpa_icrc_ok(const struct dpa_roce_net *net, const uint8_t *p, size_t n)
{
	return n >= DPA_ROCE_BTH + DPA_ROCE_ICRC && dpa_icrc_of(net, p, n) == received_icrc(p, n);
}

/* Returns state times x to the minus 8 n: the state that becomes `state` after n bytes of 0. */
static uint32_t take_back(uint32_t state, uint32_t n)
{
	for (int k = 0; n; k++, n >>= 4)
		if (n & 15)
			state = dpa_crc32_mul(state, back[k][n & 15]);
	return state;
}

bool dpa_icrc_solve(const struct dpa_roce_net *net, const uint8_t *p, size_t n, uint16_t *ip_id,
		    bool *df)
{
	struct dpa_roce_net zero = *net;
	uint32_t w;

	zero.ip_id = 0;
	zero.df = false;
	*ip_id = 0;
	*df = false;
	if (n < DPA_ROCE_BTH + DPA_ROCE_ICRC || n > UINT16_MAX - V4_HDR - 8)
		return false;
	w = dpa_icrc_of(&zero, p, n) ^ received_icrc(p, n);
	if (!dpa_roce_is_v4(net))
		return w == 0;
	/*
	 * Identification and flags, bytes 4 to 7 of the IP header, cause the difference. Moves it
	 * back from the end to the state before the rest of IP and UDP headers and packet.
	 */
	w = take_back(w, (uint32_t)n - DPA_ROCE_ICRC + V4_HDR - 4 + 8);
	*ip_id = (uint16_t)((w & 0xff) << 8 | (w >> 8 & 0xff));
	*df = w >> 16 == 0x40;
	return w >> 16 == 0x40 || w >> 16 == 0;
}
