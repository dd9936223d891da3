/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * network.h - flows through one bottleneck, in simulated time: a queue of bounded size that is
 * served at a fixed rate, marks packets (as RED does) and drops packets that do not fit. All flows
 * send whenever they may. ACKs, NAKs and CNPs come back after a fixed delay and are never lost.
 */
#ifndef TEST_PCC_NETWORK_H
#define TEST_PCC_NETWORK_H

#include "pcc/pcc.h"

#define NET_FLOWS 32
#define NET_RING  (1u << 16)
#define NET_MTU	  4096u
#define NET_MS	  UINT64_C(1000000)

struct net_pkt {
	uint64_t sent, due; /* due: time at the sender, once it is on its way back */
	uint32_t bytes;	    /* 0 while in the queue: dropped, its place is kept */
	uint8_t flow, ce, lost, cnp;
};

struct net_flow {
	struct dpa_pcc_flow pcc;
	struct dpa_np_flow np;
	bool on;
	uint32_t inflight;
	uint64_t delivered, losses, cnps;
};

struct net {
	/* set by the test */
	uint64_t rate;	     /* bytes/s of the bottleneck */
	uint64_t delay;	     /* ns, of a round trip without waiting in the queue */
	uint32_t queue_max;  /* bytes that the queue holds */
	uint32_t kmin, kmax; /* bytes: marks from kmin on, every packet from kmax on; 0: none */
	uint32_t pmax;	     /* of 1024: share that is marked just below kmax */
	uint32_t loss;	     /* of 1024: random loss, independent of the queue */
	/* results */
	uint64_t now;
	uint32_t queued, queue_peak;
	/* own */
	uint64_t random, credit;
	struct net_pkt fifo[NET_RING], back[NET_RING];
	uint32_t fifo_head, fifo_tail, back_head, back_tail;
	struct net_flow flow[NET_FLOWS];
};

struct net *net_new(unsigned flows, const struct dpa_pcc_algo *algo);
/* Continue until the time `until`; delivered, losses, cnps and queue_peak begin at 0. */
void net_run(struct net *n, uint64_t until);
/* Return the bytes delivered to the active flows; Jain's index of fairness, of 1000. */
uint64_t net_delivered(const struct net *n);
unsigned net_fairness(const struct net *n);

#endif
