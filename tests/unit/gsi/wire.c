/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "wire.h"
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 4791

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint32_t crc32(uint32_t crc, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int b = 0; b < 8; b++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

/*
 * Annex A17.3.3: fields that change on the way count as ones. n: of the whole packet, ICRC
 * included.
 */
static void icrc(const uint8_t *pkt, size_t n, uint8_t out[4])
{
	uint8_t head[8 + GW_IP + GW_UDP + GW_BTH];
	uint8_t *ip = head + 8, *udp = ip + GW_IP, *bth = udp + GW_UDP;
	uint32_t crc;

	memset(head, 0xff, 8);
	memcpy(ip, pkt, GW_IP + GW_UDP + GW_BTH);
	ip[1] = ip[8] = ip[10] = ip[11] = 0xff; /* type of service, time to live, checksum */
	udp[6] = udp[7] = 0xff;
	bth[4] = 0xff;
	crc = crc32(UINT32_MAX, head, sizeof(head));
	crc = ~crc32(crc, pkt + GW_IP + GW_UDP + GW_BTH, n - GW_IP - GW_UDP - GW_BTH - 4);
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(crc >> 8 * i);
}

static struct sockaddr_in at(uint8_t addr)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};

	a.sin_addr.s_addr = htonl(0x7f000000u | addr);
	return a;
}

void gw_open(struct gw *w, uint8_t addr)
{
	struct sockaddr_in a = at(addr);
	int one = 1;

	w->addr = addr;
	w->raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP);
	cr_assert_geq(w->raw, 0, "a raw socket");
	cr_assert_eq(setsockopt(w->raw, IPPROTO_IP, IP_HDRINCL, &one, sizeof(one)), 0);
	w->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_geq(w->udp, 0);
	cr_assert_eq(setsockopt(w->udp, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
	cr_assert_eq(bind(w->udp, (struct sockaddr *)&a, sizeof(a)), 0);
}

void gw_close(struct gw *w)
{
	close(w->raw);
	close(w->udp);
}

void gw_send(const struct gw *w, const struct gw_pkt *how, const uint8_t *mad)
{
	const uint32_t len = how->len ? how->len : DPA_MAD_BYTES, all = GW_HDR + len + 4;
	uint8_t pkt[GW_ALL] = {0x45, 0, 0,   0, 0x12, 0x34,    0x40, 0, 64, 17,
			       0,    0, 127, 0, 0,    w->addr, 127,  0, 0,  1};
	uint8_t *udp = pkt + GW_IP, *bth = udp + GW_UDP, *deth = bth + GW_BTH;
	struct sockaddr_in to = at(1);

	put16(pkt + 2, all);
	put16(udp, how->sport ? how->sport : 0xc123);
	put16(udp + 2, PORT);
	put16(udp + 4, all - GW_IP);
	bth[0] = 0x64; /* UD SEND Only */
	put16(bth + 2, 0xffff);
	put32(bth + 4, how->dqpn);
	put32(deth, how->qkey);
	put32(deth + 4, 1);
	memcpy(deth + 8, mad, len);
	icrc(pkt, all, pkt + all - 4);
	pkt[all - 1] ^= how->wrong_icrc;
	cr_assert_eq(sendto(w->raw, pkt, all, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)all);
}

static bool is_ours(const struct gw *w, const uint8_t *p, ssize_t n)
{
	return n >= GW_HDR && p[0] == 0x45 && p[19] == w->addr &&
	       p[GW_IP + 2] << 8 == (PORT & 0xff00) && p[GW_IP + 3] == (PORT & 0xff);
}

bool gw_recv(const struct gw *w, uint8_t pkt[GW_ALL])
{
	struct pollfd f = {.fd = w->raw, .events = POLLIN};
	uint8_t big[9000], crc[4];
	ssize_t n;

	do {
		if (poll(&f, 1, 10000) != 1)
			return false;
		n = recv(w->raw, big, sizeof(big), 0);
	} while (!is_ours(w, big, n));
	cr_assert_eq(n, GW_ALL, "%zd bytes", n);
	icrc(big, (size_t)n, crc);
	cr_expect_arr_eq(crc, big + n - 4, 4, "ICRC");
	memcpy(pkt, big, GW_ALL);
	return true;
}

/* RFC 792, RFC 1071 */
void gw_unreachable(const struct gw *w, uint8_t code, const uint8_t pkt[GW_ALL], uint32_t quoted)
{
	struct sockaddr_in from = at(w->addr), to = at(1);
	uint8_t icmp[8 + GW_ALL + 1] = {3, code};
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
	uint32_t sum = 0, n = 8 + quoted;

	cr_assert_geq(fd, 0);
	from.sin_port = to.sin_port = 0;
	cr_assert_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	memcpy(icmp + 8, pkt, quoted);
	for (uint32_t i = 0; i < n; i += 2)
		sum += (uint32_t)icmp[i] << 8 | icmp[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put16(icmp + 2, ~(sum + (sum >> 16)));
	cr_assert_eq(sendto(fd, icmp, n, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)n);
	close(fd);
}
