/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * probe.h - what probes of a congestion control program carry, and how a program of the notification
 * point sees them.
 *
 *   on this wire    IP  UDP 4791  BTH 0xd3  AtomicETH  [IFA header, data of switches]
 *                                                      [custom header of CCMAD]
 *
 *   for a program   Ethernet  IP                 UDP  BTH  DETH  MAD header  time  [custom]  CCMAD
 *                   Ethernet  IP                 UDP  IFA 1.0 header  data            IFA1
 *                   Ethernet  IP  IFA 2.0 header UDP  metadata header  data           IFA2
 *
 * A UDP socket carries neither IP's protocol 253 nor another port's packets, so the data travel in
 * the probe, and the packet that a program gets is made of it. IFA 2.0: draft-kumar-ippm-ifa; the
 * header of IFA 1.0: draft-lapukhov-dataplane-probe. The entry of a switch has 32 bytes, the last
 * switch's comes first: the layout that the public program of the notification point reads.
 */
#ifndef DPA_WIRE_PROBE_H
#define DPA_WIRE_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw_pcc.h>
#include "roce.h"

#define DPA_IFA1_HEAD 28u
#define DPA_IFA2_HEAD 4u
#define DPA_IFA_HEAD  DPA_IFA1_HEAD /* of either at most */
#define DPA_IFA_HOP   32u	    /* bytes of a switch's data */
#define DPA_IFA_HOPS  8u	    /* switches whose data fit */

/* A switch that a probe has passed. */
struct dpa_ifa_hop {
	uint32_t device; /* its number, 30 bits */
	uint16_t port;	 /* that the probe left by */
	uint8_t ttl;
	uint64_t came, left; /* ns of its clock */
	uint32_t queued;     /* bytes that were in the port's queue when the probe came */
	uint64_t sent;	     /* bytes that had left by the port, the probe's too */
};

/* The payload of a probe that leaves; returns its bytes. */
uint32_t dpa_ifa1_begin(uint8_t to[DPA_IFA_HEAD], uint64_t marker);
uint32_t dpa_ifa2_begin(uint8_t to[DPA_IFA_HEAD], uint8_t hops);
/*
 * Payload of n bytes with a switch's data added, for which there is room behind it in `to` (n +
 * DPA_IFA_HOP bytes). Returns its bytes; 0: the probe takes no more, or it is none.
 */
uint32_t dpa_ifa_add(enum dpa_pcc_format format, const uint8_t *p, uint32_t n,
		     const struct dpa_ifa_hop *hop, uint8_t *to);
/* The marker of a payload of IFA1; 0: it has no header. */
uint64_t dpa_ifa1_marker(const uint8_t *p, uint32_t n);

/* A probe as a program is shown it. */
struct dpa_probe_shown {
	enum dpa_pcc_format format;
	uint8_t gns;
	uint32_t dqpn, psn;
	uint64_t sent; /* ns, by the sender's clock */
	const uint8_t *payload;
	uint32_t len;
	struct dpa_roce_net net;
};
/* The packet for a program: size, l4, payload and packet of *out. False: it does not fit. */
bool dpa_probe_show(const struct dpa_probe_shown *p, struct dpa_pcc_probe *out);

#endif
