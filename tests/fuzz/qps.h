/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qps.h - QPs in the middle of their work, over the harness of the transport's tests: the receivers
 * of the targets' packets. No memory outside the registered access may change, nothing completes
 * twice or out of order; ASan checks the rest.
 */
#ifndef DPA_FUZZ_QPS_H
#define DPA_FUZZ_QPS_H

#include "ctx/qp.h"
#include "ctx/srq.h"
#include "harness.h"
#include "device/link/udp/wire.h"

/* The first byte of an input. */
enum fuzz_kind {
	KIND_TYPE = 3, /* RC, UC, UD, XRC */
	KIND_LATE_PSN = 1 << 2,
	KIND_PCC = 1 << 3,   /* with congestion control */
	KIND_WIRE = 1 << 4,  /* the QPs treat each other as QPs of another host */
	KIND_LOSSY = 1 << 5, /* the rings may lose packets */
	KIND_V6 = 1 << 6,
	KIND_ATOMIC = 1 << 7, /* A's first message is one */
};

/* The first byte of a packet. */
enum fuzz_how {
	TO_B = 1 << 0,
	RIGHT_QPN = 1 << 1,
	/* at the expected one, a few off, or as far ahead as packets are queued */
	NEAR_PSN = 1 << 2,
	NEXT_PSN = 1 << 3, /* with NEAR_PSN: exactly */
	RIGHT_KEY = 1 << 4,
	NOT_GUARDED = 1 << 5, /* else with RIGHT_KEY: memory that may only be read */
	ELSEWHERE = 1 << 5,   /* without RIGHT_KEY, fuzz_udp: from another UDP port */
	FLUSH = 1 << 6,
	NO_TICK = 1 << 7,
};

struct fuzz {
	struct th *th;
	uint8_t kind;
	uint32_t guard_key;
	uint32_t sent, recvs;	 /* of A; of each side that takes any */
	uint32_t ahead[2];	 /* packets to A, B that were corrected and not given yet */
	struct dpa_hw_qp *qp[2]; /* receivers of packets to A, B */
	/* XRC: B is a target */
	uint32_t xrcd, srqn;
	struct dpa_hw_srq *srq;
	struct dpa_dbrec srq_rec;
	uint8_t *srq_buf;
};

void fuzz_begin(struct fuzz *f, uint8_t kind);
/* Post a few receives for each, and a dozen messages of A, all of which are lost. */
void fuzz_work(struct fuzz *f);
/* Post one more message of A, or a receive on both sides. */
void fuzz_more(struct fuzz *f, uint8_t how);
/*
 * Make n bytes a packet that gets further than a random one: its bytes with the right ICRC in buf.
 * 0: it is no packet.
 */
uint32_t fuzz_put_right(struct fuzz *f, uint8_t how, const struct dpa_roce_net *net,
			const uint8_t *p, size_t n, uint8_t *buf, uint32_t room);
/* Get the addresses of packets to A and B. */
void fuzz_net(const struct fuzz *f, struct dpa_roce_net *net);
/* Abort if an invariant does not hold. */
void fuzz_end(struct fuzz *f);

#endif
