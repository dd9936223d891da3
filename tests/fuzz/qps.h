/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qps.h - QPs in the middle of their work, over the harness of the transport's tests: what the
 * targets give packets to. Nothing outside what was granted may change, nothing completes twice or
 * out of order; ASan watches the rest.
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
	KIND_WIRE = 1 << 4,  /* the QPs take each other for ones of another host */
	KIND_LOSSY = 1 << 5, /* the lanes may lose packets */
	KIND_V6 = 1 << 6,
	KIND_ATOMIC = 1 << 7, /* A's first message is one */
};

/* The first byte of a packet. */
enum fuzz_how {
	TO_B = 1 << 0,
	RIGHT_QPN = 1 << 1,
	NEAR_PSN = 1 << 2, /* at what is expected, a few off, or as far ahead as is kept */
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
	uint32_t ahead[2];	 /* packets to A, B that were put right and not given yet */
	struct dpa_hw_qp *qp[2]; /* who hears what is sent to A, B */
	/* XRC: B is a target */
	uint32_t xrcd, srqn;
	struct dpa_hw_srq *srq;
	struct dpa_dbrec srq_rec;
	uint8_t *srq_buf;
};

void fuzz_begin(struct fuzz *f, uint8_t kind);
/* A few receives each, and a dozen messages of A's, all of which are lost. */
void fuzz_work(struct fuzz *f);
/* A posts one more message, or both sides a receive. */
void fuzz_more(struct fuzz *f, uint8_t how);
/*
 * Makes of n bytes a packet that gets further than random ones would: its bytes with the right ICRC
 * in buf. 0: they are none.
 */
uint32_t fuzz_put_right(struct fuzz *f, uint8_t how, const struct dpa_roce_net *net,
			const uint8_t *p, size_t n, uint8_t *buf, uint32_t room);
/* Addresses of what comes to A and B. */
void fuzz_net(const struct fuzz *f, struct dpa_roce_net *net);
/* Aborts if something is not as it must be. */
void fuzz_end(struct fuzz *f);

#endif
