/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * roce.h - RoCEv2 packets: converts bytes to a struct or returns the reason of a refusal, and back
 * (InfiniBand volume 1, 9.2 to 9.6, annexes A14, A16, A17, A19).
 * A pure library: no allocation, no state except the CRC tables, no system call; any thread may
 * call every function. "Packet" means a UDP payload: BTH, extended headers, payload, pad, ICRC. All
 * fields of the structs are in host order; addresses are GIDs (IPv4: ::ffff:a.b.c.d), byte strings.
 */
#ifndef DPA_ROCE_H
#define DPA_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DPA_ROCE_PORT	 4791
#define DPA_ROCE_BTH	 12
#define DPA_ROCE_ICRC	 4
#define DPA_ROCE_MAX_HDR 64 /* BTH and the longest extended headers */
#define DPA_ROCE_PKEY	 0xffff
#define DPA_ROCE_MAX_MTU 4096

/* Headers in front of the packet, as far as the ICRC covers them or a receiver gets them. */
struct dpa_roce_net {
	uint8_t src[16], dst[16];
	uint16_t sport, dport;
	uint16_t ip_id; /* IPv4 only */
	bool df;	/* IPv4 only */
	uint8_t tclass; /* TOS or traffic class, ECN bits included; not covered */
	uint8_t hop;	/* TTL or hop limit; not covered */
	uint32_t flow;	/* IPv6 flow label; not covered */
};

static inline bool dpa_roce_is_v4(const struct dpa_roce_net *net)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(net->dst, mapped, sizeof(mapped)) == 0;
}

enum dpa_roce_verdict {
	DPA_ROCE_OK,
	DPA_ROCE_SHORT,	     /* not even BTH and ICRC, or the extended headers do not fit */
	DPA_ROCE_VERSION,    /* BTH TVer is not 0 */
	DPA_ROCE_OPCODE,     /* an opcode that this device does not know */
	DPA_ROCE_PAD,	     /* more pad than payload, or a length that is no multiple of 4 */
	DPA_ROCE_LONG,	     /* more payload than the largest path MTU */
	DPA_ROCE_NO_PAYLOAD, /* payload where the opcode has none (requests, ACKs) */
	/* 0, 1 for a packet that is no management packet, or a wrong use of the multicast QPN */
	DPA_ROCE_DQPN,
	DPA_ROCE_VERDICTS
};

/* Which extended headers an opcode carries, in the order of the wire. */
enum dpa_roce_ext {
	DPA_ROCE_RDETH = 1 << 0, /* never sent; listed for completeness */
	DPA_ROCE_DETH = 1 << 1,
	DPA_ROCE_XRCETH = 1 << 2,
	DPA_ROCE_RETH = 1 << 3,
	DPA_ROCE_ATOMICETH = 1 << 4,
	DPA_ROCE_AETH = 1 << 5,
	DPA_ROCE_ATOMICACKETH = 1 << 6,
	DPA_ROCE_IMMDT = 1 << 7,
	DPA_ROCE_IETH = 1 << 8,
	DPA_ROCE_FETH = 1 << 9,
	DPA_ROCE_PAYLOAD = 1 << 10, /* may carry payload */
	DPA_ROCE_KNOWN = 1 << 11,
	DPA_ROCE_CNP = 1 << 12, /* 16 reserved bytes behind the BTH (annex A17.9) */
};

struct dpa_roce_pkt {
	/* BTH */
	uint8_t opcode;
	bool se, mig, ackreq, fecn, becn;
	uint8_t pad;	      /* 0 to 3; computed from len when encoding */
	uint8_t tver;	      /* 0 */
	uint8_t resv6, resv7; /* as received; 0 when sent */
	uint16_t pkey;
	uint32_t dqpn, psn;
	/* Extended headers: those of dpa_roce_ext_of(opcode) are valid. */
	uint32_t qkey, sqpn; /* DETH */
	uint32_t xrcsrq;     /* XRCETH */
	uint64_t va;	     /* RETH, AtomicETH */
	uint32_t rkey, dmalen;
	uint64_t swap_add, compare; /* AtomicETH */
	uint8_t syndrome;	    /* AETH */
	uint32_t msn;
	uint64_t orig;		/* AtomicAckETH */
	uint32_t imm;		/* ImmDt: the big-endian word, in host order */
	uint32_t inv_rkey;	/* IETH */
	uint32_t feth;		/* FETH */
	const uint8_t *payload; /* points into the decoded bytes; not owned */
	uint32_t len;		/* payload bytes, without pad */
	uint32_t icrc;		/* as received */
};

/* Return the enum dpa_roce_ext bits of an opcode; 0: unknown. */
uint32_t dpa_roce_ext_of(uint8_t opcode);
/* Return "RC SEND First", as in Wireshark and the specification; never NULL. */
const char *dpa_roce_opcode_name(uint8_t opcode);
const char *dpa_roce_verdict_name(enum dpa_roce_verdict v);
/* Return the bytes of BTH and extended headers. */
uint32_t dpa_roce_hdr_len(uint8_t opcode);

/*
 * Decode n bytes; check everything that the bytes determine except the ICRC and the P_Key. *pkt is
 * filled as far as decoding went, for printing. Reads nothing beyond n.
 */
enum dpa_roce_verdict dpa_roce_decode(const uint8_t *p, size_t n, struct dpa_roce_pkt *pkt);

/*
 * Write BTH and extended headers to buf (DPA_ROCE_MAX_HDR bytes). On the wire the payload, the pad
 * (dpa_roce_pad() bytes of 0) and the ICRC follow. Returns the length.
 */
uint32_t dpa_roce_encode(const struct dpa_roce_pkt *pkt, uint8_t *buf);
static inline uint32_t dpa_roce_pad(uint32_t len)
{
	return -len & 3;
}
/* The same including payload, pad and ICRC: a whole packet. room: size of buf; 0: too small. */
uint32_t dpa_roce_encode_all(const struct dpa_roce_net *net, const struct dpa_roce_pkt *pkt,
			     uint8_t *buf, uint32_t room);

/*
 * ---- ICRC (annex A17.3): begin, add the following parts, end. The result is the word on the wire,
 * little-endian as stored by dpa_icrc_put().
 */

/*
 * Begin with the IP and UDP headers of a packet of udp_payload bytes (ICRC included), and its BTH
 * (12 bytes at bth; byte 4 is masked). dpa_icrc_add() adds what follows the BTH.
 */
uint32_t dpa_icrc_begin(const struct dpa_roce_net *net, uint32_t udp_payload, const uint8_t *bth);
uint32_t dpa_icrc_add(uint32_t state, const void *p, size_t n);
/* Add n bytes and copy them to dst in one pass. */
uint32_t dpa_icrc_add_copy(uint32_t state, void *dst, const void *src, size_t n);
static inline uint32_t dpa_icrc_end(uint32_t state)
{
	return ~state;
}
static inline void dpa_icrc_put(uint8_t *p, uint32_t icrc)
{
	p[0] = (uint8_t)icrc;
	p[1] = (uint8_t)(icrc >> 8);
	p[2] = (uint8_t)(icrc >> 16);
	p[3] = (uint8_t)(icrc >> 24);
}
/* Return the ICRC of a whole packet of n bytes (its last 4 are not read). */
uint32_t dpa_icrc_of(const struct dpa_roce_net *net, const uint8_t *p, size_t n);
/* True if the ICRC of the packet is valid for the values in net. */
bool dpa_icrc_ok(const struct dpa_roce_net *net, const uint8_t *p, size_t n);
/*
 * Compute IPv4 identification and flags, which a UDP socket does not show but the ICRC covers. CRC
 * is linear: the single value of both that makes the received ICRC valid is computed, not searched
 * for. True: it exists among identification 0 to 65535 with DF set or clear; it is in *ip_id and
 * *df. net's own values are not read. IPv6: the same as dpa_icrc_ok(). Costs dpa_icrc_ok() plus
 * some hundred nanoseconds.
 */
bool dpa_icrc_solve(const struct dpa_roce_net *net, const uint8_t *p, size_t n, uint16_t *ip_id,
		    bool *df);

#endif
