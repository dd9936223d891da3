/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* util.h - packets for the tests of the codec. */
#ifndef WIRE_UTIL_H
#define WIRE_UTIL_H

#include <wire/pcap.h>

extern const char *const pcap_names[]; /* of tests/pcaps; NULL ends them */

/* Load a whole file of tests/pcaps; free() it. Fails the test if it cannot be read. */
uint8_t *pcap_load(const char *name, size_t *n);

/* Return the headers of two hosts, IPv4 (identification 0x1234, DF) or IPv6. */
struct dpa_roce_net net_v4(void);
struct dpa_roce_net net_v6(void);

/* A reproducible source; the test prints its seed. */
struct rnd {
	uint64_t s;
};
uint32_t rnd_next(struct rnd *r);
void rnd_fill(struct rnd *r, void *p, size_t n);
/*
 * Fill in random fields of every header, and a payload if the opcode has one (up to max bytes of
 * data).
 */
void rnd_pkt(struct rnd *r, uint8_t opcode, const uint8_t *data, uint32_t max,
	     struct dpa_roce_pkt *k);

#endif
