/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wire.h - the other host, made of raw sockets: the test makes IP, UDP, BTH, DETH and ICRC itself,
 * after the InfiniBand specification, 9.2 to 9.6 and annex A17.
 */
#ifndef GSI_WIRE_H
#define GSI_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <dpa_mad.h>

#define GW_IP  20
#define GW_UDP 8
#define GW_BTH 12
#define GW_HDR (GW_IP + GW_UDP + GW_BTH + 8)
#define GW_ALL (GW_HDR + DPA_MAD_BYTES + 4)

struct gw {
	int raw, udp; /* udp: nothing is read there; with it the port is open */
	uint8_t addr; /* 127.0.0.addr */
};

/* Open the port of 127.0.0.addr, which is not an address of the namespace but is reachable. */
void gw_open(struct gw *w, uint8_t addr);
void gw_close(struct gw *w);
/* A packet from there to 127.0.0.1, with a correct ICRC. */
struct gw_pkt {
	uint16_t sport;
	uint32_t dqpn, qkey;
	bool wrong_icrc;
	uint32_t len; /* of the payload; 0: a MAD */
};
void gw_send(const struct gw *w, const struct gw_pkt *how, const uint8_t *mad);
/* Receive the next packet to port 4791 of this host, within 10 s; checks its IP, UDP and ICRC. */
bool gw_recv(const struct gw *w, uint8_t pkt[GW_ALL]);
/* Send ICMP "destination unreachable" from there, which quotes `quoted` bytes of that packet. */
void gw_unreachable(const struct gw *w, uint8_t code, const uint8_t pkt[GW_ALL], uint32_t quoted);

#endif
