/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>

#include "network.h"

#define STEP 500 /* ns */

struct net *net_new(unsigned flows, const struct dpa_pcc_algo *algo)
{
	struct net *n = calloc(1, sizeof(*n));

	if (!n)
		abort();
	*n = (struct net){.rate = 1250000000, /* 10 Gbit/s */
			  .delay = 20000,
			  .queue_max = 2 << 20,
			  .kmin = 40 << 10,
			  .kmax = 200 << 10,
			  .pmax = 102,
			  .random = 1};
	for (unsigned i = 0; i < flows; i++) {
		n->flow[i].on = true;
		dpa_pcc_init(&n->flow[i].pcc, algo, NULL, 0);
	}
	return n;
}

static uint32_t of1024(struct net *n)
{
	n->random = n->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(n->random >> 54);
}

static bool marked(struct net *n)
{
	if (!n->kmax || n->queued < n->kmin)
		return false;
	return n->queued >= n->kmax ||
	       of1024(n) < n->pmax * (n->queued - n->kmin) / (n->kmax - n->kmin);
}

static void enqueue(struct net *n, uint8_t flow)
{
	struct net_pkt p = {.sent = n->now, .flow = flow, .bytes = NET_MTU};

	p.lost = n->queued + NET_MTU > n->queue_max || (n->loss && of1024(n) < n->loss);
	p.ce = !p.lost && marked(n);
	if (!p.lost)
		n->queued += NET_MTU;
	if (n->queued > n->queue_peak)
		n->queue_peak = n->queued;
	if (n->fifo_head - n->fifo_tail == NET_RING)
		abort();
	n->fifo[n->fifo_head++ % NET_RING] = p;
}

/* Serve the queue for one step; arriving packets are answered at once. */
static void serve(struct net *n)
{
	n->credit += n->rate * STEP;
	while (n->fifo_tail != n->fifo_head) {
		struct net_pkt p = n->fifo[n->fifo_tail % NET_RING];
		struct net_flow *f = &n->flow[p.flow];
		uint64_t cost = p.lost ? 0 : UINT64_C(1000000000) * p.bytes;

		if (n->credit < cost)
			return;
		n->credit -= cost;
		n->queued -= p.lost ? 0 : p.bytes;
		n->fifo_tail++;
		p.cnp = p.ce && (dpa_cnp_np(&f->np, DPA_ECN_CE, n->now) & DPA_NP_ANSWER);
		p.due = n->now + n->delay;
		f->delivered += p.lost ? 0 : p.bytes;
		if (n->back_head - n->back_tail == NET_RING)
			abort();
		n->back[n->back_head++ % NET_RING] = p;
	}
	n->credit = 0;
}

static void answer(struct net *n)
{
	while (n->back_tail != n->back_head && n->back[n->back_tail % NET_RING].due <= n->now) {
		struct net_pkt p = n->back[n->back_tail++ % NET_RING];
		struct net_flow *f = &n->flow[p.flow];
		struct dpa_pcc_event ev = {.now = n->now, .type = DPA_PCC_LOSS};

		if (p.cnp) {
			ev.type = DPA_PCC_CNP;
			(void)dpa_pcc_event(&f->pcc, &ev);
			f->cnps++;
		}
		if (p.lost) {
			ev.type = DPA_PCC_LOSS;
			f->losses++;
		} else {
			ev.type = DPA_PCC_ACK;
			ev.bytes = p.bytes;
			ev.inflight = f->inflight;
			ev.rtt_ns = n->now - p.sent;
		}
		f->inflight -= p.bytes;
		(void)dpa_pcc_event(&f->pcc, &ev);
	}
}

/*
 * Every flow sends all that it may, one packet each in turn. A sixteenth of the turns is skipped,
 * otherwise one flow could for ever take the place that it has just freed in a full queue.
 */
static void send_all(struct net *n)
{
	uint32_t first = of1024(n), busy = of1024(n);
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t k = 0; k < NET_FLOWS; k++) {
			uint8_t i = (uint8_t)((first + k) % NET_FLOWS);
			struct net_flow *f = &n->flow[i];

			if (!f->on || busy % 16 == i % 16 ||
			    f->inflight + NET_MTU > f->pcc.window ||
			    dpa_pcc_may_send(&f->pcc, n->now, NET_MTU))
				continue;
			dpa_pcc_sent(&f->pcc, n->now, NET_MTU);
			f->inflight += NET_MTU;
			enqueue(n, i);
			more = true;
		}
	}
}

void net_run(struct net *n, uint64_t until)
{
	n->queue_peak = n->queued;
	for (unsigned i = 0; i < NET_FLOWS; i++)
		n->flow[i].delivered = n->flow[i].losses = n->flow[i].cnps = 0;
	for (; n->now < until; n->now += STEP) {
		serve(n);
		answer(n);
		send_all(n);
	}
}

uint64_t net_delivered(const struct net *n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < NET_FLOWS; i++)
		sum += n->flow[i].on ? n->flow[i].delivered : 0;
	return sum;
}

unsigned net_fairness(const struct net *n)
{
	double sum = 0, squares = 0;
	unsigned num = 0;

	for (unsigned i = 0; i < NET_FLOWS; i++) {
		double d = (double)n->flow[i].delivered;

		if (!n->flow[i].on)
			continue;
		num++;
		sum += d;
		squares += d * d;
	}
	return squares > 0 ? (unsigned)(1000 * sum * sum / (num * squares)) : 0;
}
