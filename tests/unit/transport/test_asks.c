/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_asks.c - operations that no answer will end (device/transport/ask.c): on a ring they end
 * with the same completion as on the wire, and a peer that does not poll costs no retry.
 */
#include <criterion/criterion.h>
#include "transport/api.h"
#include "eu/progress.h"
#include "harness.h"
#include "link/sock.h"
#include "eu/drain.h"

#define MTU	   1024u
#define PSN0	   0xfffff0u
#define TIMEOUT	   12 /* 16.8 ms */
#define TIMEOUT_NS (4096ull << TIMEOUT)
#define RETRY	   3

static const uint8_t ops[] = {DPA_OP_SEND,	DPA_OP_RDMA_WRITE, DPA_OP_RDMA_WRITE_IMM,
			      DPA_OP_RDMA_READ, DPA_OP_ATOMIC_FA,  DPA_OP_ATOMIC_CS};
#define NOPS (sizeof(ops) / sizeof(ops[0]))

static struct th *skewed(uint32_t skew, bool wire)
{
	return th_new(&(struct th_opt){.psn = PSN0,
				       .skew = skew,
				       .timeout = TIMEOUT,
				       .retry = RETRY,
				       .rnr_retry = 7,
				       .lossy = wire,
				       .wire = wire});
}

static void post(struct th *th, uint8_t op, uint32_t len)
{
	struct th_wr wr = {.op = op,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem + 4096, len, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem,
			   .rkey = th->b.key};

	if (op == DPA_OP_ATOMIC_FA || op == DPA_OP_ATOMIC_CS)
		wr.sge[0].length = 8;
	cr_assert(th_post(&th->a, &wr));
}

static void ask_now(struct th *th)
{
	dpa_qplock_lock(&th->a.qp->lock);
	dpa_ask(th->a.qp);
	dpa_requester_run(th->a.qp);
	dpa_qp_leave(th->a.qp);
}

/* Wait until all n have completed: their statuses; UINT8_MAX: never. */
static void outcome(struct th *th, uint8_t *status, uint32_t n)
{
	struct dpa_cqe e;
	uint32_t got = 0;

	memset(status, UINT8_MAX, n);
	for (int i = 0; i < 3000 && got < n; i++) {
		th_settle(th);
		while (got < n && th_poll(&th->a.scq, &e))
			status[got++] = e.status;
		if (got < n && !th_tick(th))
			break;
	}
}

/* The messages that the receiver got: their number, and the sum of their lengths. */
static uint64_t delivered(struct th *th)
{
	struct dpa_cqe e;
	uint64_t n = 0;

	while (th_poll(&th->b.rcq, &e))
		if (!e.status)
			n += (1ull << 32) + e.byte_len;
	return n;
}

static void run(uint32_t skew, bool wire, uint8_t op, uint32_t len, uint32_t n, uint8_t *status,
		uint64_t *given)
{
	struct th *th = skewed(skew, wire);

	for (uint64_t i = 0; i < n; i++) {
		cr_assert(th_recv(&th->b, i + 1, 65536, 65536));
		post(th, op, len);
	}
	th_ring(&th->a);
	outcome(th, status, n);
	*given = delivered(th);
	th_free(th);
}

/* IBA 9.7.6 (no-answer) */
/* PSNs that do not fit, as on the wire: every kind, single operations and several at once. */
Test(transport_asks, psns_that_do_not_fit_end_as_on_the_wire, .timeout = 120)
{
	static const uint32_t skews[] = {0, 1, 2, 3, 50, 0x7ffff0, 0xffffff, 0xfffffe, 0xffff00};
	static const uint32_t lens[] = {8, 100, 1024, 3 * MTU, 20 * MTU};
	uint32_t ended = 0;

	for (size_t s = 0; s < sizeof(skews) / sizeof(skews[0]); s++) {
		for (size_t o = 0; o < NOPS; o++) {
			for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
				for (uint32_t n = 1; n <= 3; n++) {
					uint8_t ring[3], wire[3];
					uint64_t gr, gw;

					run(skews[s], false, ops[o], lens[l], n, ring, &gr);
					run(skews[s], true, ops[o], lens[l], n, wire, &gw);
					cr_expect_arr_eq(ring, wire, n,
							 "PSN +%u, op %u, %u bytes, %u of them: "
							 "%u %u %u, on the wire %u %u %u",
							 skews[s], ops[o], lens[l], n, ring[0],
							 ring[n > 1], ring[n - 1], wire[0],
							 wire[n > 1], wire[n - 1]);
					cr_expect_eq(gr, gw, "PSN +%u, op %u, %u bytes, %u of them",
						     skews[s], ops[o], lens[l], n);
					ended += ring[0] == DPA_CQE_RETRY_EXC_ERR;
				}
			}
		}
	}
	cr_expect_gt(ended, 100u);
}

/* retry_cnt times the timeout, no more and no less. */
Test(transport_asks, the_time_is_that_of_the_attributes)
{
	for (size_t o = 0; o < NOPS; o++) {
		struct th *th = skewed(0xffff00, false);
		uint64_t start = th_now;
		uint8_t status;

		cr_assert(th_recv(&th->b, 1, 65536, 65536));
		post(th, ops[o], 8);
		th_ring(&th->a);
		outcome(th, &status, 1);
		cr_expect_eq(status, DPA_CQE_RETRY_EXC_ERR, "op %u: %u", ops[o], status);
		cr_expect_eq(th_now - start, RETRY * TIMEOUT_NS, "op %u: %lu ns", ops[o],
			     (unsigned long)(th_now - start));
		th_free(th);
	}
}

/* Timeout 0: no limit. */
Test(transport_asks, timeout_0_is_without_end)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .skew = 50, .retry = 1});
	struct dpa_cqe e;

	post(th, DPA_OP_RDMA_WRITE, 8);
	th_ring(&th->a);
	for (int i = 0; i < 100; i++) {
		th_settle(th);
		cr_assert(th_tick(th), "it tries again");
	}
	cr_expect_not(th_poll(&th->a.scq, &e));
	th_free(th);
}

/* B's QP is reset and set up again while A continues. */
static void set_up_again(struct th_side *s, uint32_t rq_psn)
{
	struct dpa_qp_attr a = s->qp->attr;
	const uint32_t dest = s->qp->dest_qpn;
	uint32_t mask = DPA_QPM_STATE | DPA_QPM_ACCESS | DPA_QPM_RQ_PSN | DPA_QPM_SQ_PSN |
			DPA_QPM_DEST_QPN | DPA_QPM_AV | DPA_QPM_PORT | DPA_QPM_PATH_MTU |
			DPA_QPM_TIMEOUT | DPA_QPM_RETRY_CNT | DPA_QPM_RNR_RETRY |
			DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_RD_ATOMIC | DPA_QPM_MAX_DEST_RD_ATOMIC;

	a.rq_psn = rq_psn;
	a.dest_qpn = dest;
	a.state = DPA_QPS_RESET;
	cr_assert_eq(dpa_hw_modify_qp(s->qp, &a, DPA_QPM_STATE), 0);
	for (a.state = DPA_QPS_INIT; a.state <= DPA_QPS_RTS; a.state++, mask = DPA_QPM_STATE)
		cr_assert_eq(dpa_hw_modify_qp(s->qp, &a, mask), 0);
}

Test(transport_asks, a_peer_that_was_set_up_again)
{
	for (size_t o = 0; o < NOPS; o++) {
		struct th *th = skewed(0, false);
		uint8_t status[20];

		for (uint64_t i = 0; i < 20; i++) {
			th_recv(&th->b, i + 1, 65536, 65536);
			post(th, ops[o], 8);
		}
		th_ring(&th->a);
		outcome(th, status, 20);
		cr_assert_eq(status[19], DPA_CQE_OK);
		set_up_again(&th->b, PSN0);
		post(th, ops[o], 8);
		th_ring(&th->a);
		outcome(th, status, 1);
		cr_expect_eq(status[0], DPA_CQE_RETRY_EXC_ERR, "op %u: %u", ops[o], status[0]);
		th_free(th);
	}
}

/* IBA 9.7.6 (no-answer) */
/*
 * One NAK for each gap: it was sent to the previous connection of this requester. The recovery must
 * not depend on the watchdog, which needs rings that other QPs do not use.
 */
Test(transport_asks, a_hole_with_its_nak_sent)
{
	for (size_t o = 0; o < NOPS; o++) {
		struct th *th = skewed(0xffffce, false); /* 50 ahead */
		uint8_t status;

		th->b.qp->resp.nak_sent = true;
		post(th, ops[o], 8);
		th_ring(&th->a);
		th_settle(th);
		cr_expect(th->a.qp->slow.wait_timer, "op %u: it waits for ever", ops[o]);
		outcome(th, &status, 1);
		cr_expect_eq(status, DPA_CQE_RETRY_EXC_ERR, "op %u: %u", ops[o], status);
		th_free(th);
	}
}

/*
 * Packets after a request that got an RNR NAK need no hint of their own while that NAK is pending.
 */
Test(transport_asks, no_hints_beside_a_pending_nak)
{
	struct th *th = skewed(0, false);
	struct th_pkt p;
	uint32_t n = 0;

	for (int i = 0; i < 5; i++)
		post(th, DPA_OP_SEND, 8);
	th_ring(&th->a);
	th_deliver(&th->a);
	for (; th_take_any(&th->b, &p); n++)
		cr_expect_eq(p.s.opcode, DPA_BTH_ACK, "%02x", p.s.opcode);
	cr_expect_eq(n, 1u, "%u words for one hole", n);
	th_free(th);
}

/* A peer that does not poll: the request stays in its ring, and no retry is counted. */
Test(transport_asks, a_stopped_peer_costs_no_retry)
{
	struct th *th = skewed(0xffff00, false);
	struct th_pkt held[8];
	uint32_t n = 0;
	struct dpa_cqe e;

	post(th, DPA_OP_SEND, 8);
	th_ring(&th->a);
	th_settle(th); /* handled: the first retry is in progress */
	cr_assert_eq(th->a.qp->req.retry_left, RETRY - 1);
	cr_assert(th_tick(th)); /* it is sent again, and the peer stops */
	while (n < 8 && th_take_any(&th->a, &held[n]))
		n++;
	cr_assert_eq(n, 2u, "the request and the question behind it: %u", n);
	cr_expect_eq(held[1].s.opcode, DPA_LINK_ASK);
	for (int i = 0; i < 100; i++) {
		th_now += 1000 * TIMEOUT_NS;
		dpa_progress_once(th->hw);
		cr_assert_not(th_take_any(&th->a, &held[7]), "nothing is sent to it meanwhile");
	}
	cr_expect_eq(th->a.qp->req.retry_left, RETRY - 1);
	cr_expect_not(th_poll(&th->a.scq, &e));
	for (uint32_t i = 0; i < n; i++)
		th_give(&th->b, &held[i]);
	th_settle(th);
	cr_expect_eq(th->a.qp->req.retry_left, RETRY - 2, "it looked, and dropped it");
	th_free(th);
}

/* An answer that comes before LOOKED, however late, counts. */
Test(transport_asks, a_late_answer_counts)
{
	struct th *th = skewed(0, false);
	struct dpa_cqe e;

	cr_assert(th_recv(&th->b, 1, 65536, 65536));
	post(th, DPA_OP_SEND, 100);
	th_ring(&th->a);
	ask_now(th);
	th_now += 1000 * TIMEOUT_NS;
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_eq(th_count(th, DPA_CNT_local_ack_timeout_err), 0);
	cr_expect_not(th->a.qp->req.asked);
	th_free(th);
}

/* LOOKED for an earlier question, for another one, from a stranger: ignored. */
Test(transport_asks, words_that_are_not_for_this_question)
{
	struct th *th = skewed(0, false);
	struct th_pkt ask, p;

	post(th, DPA_OP_RDMA_WRITE, 100);
	th_ring(&th->a);
	cr_assert(th_take_any(&th->a, &p));
	ask_now(th);
	cr_assert(th_take_any(&th->a, &ask));
	cr_assert_eq(ask.s.opcode, DPA_LINK_ASK);
	th_forge(&th->b, &p, DPA_LINK_LOOKED, 0, 0);
	for (uint32_t d = 1; d < 100; d++) {
		th_ext(&p)->serial = th_ext(&ask)->serial + d;
		th_give(&th->a, &p);
	}
	p.s.src++;
	th_ext(&p)->serial = th_ext(&ask)->serial;
	th_give(&th->a, &p);
	cr_expect_eq(th->a.qp->req.retry_left, RETRY);
	p.s.src--;
	th_give(&th->a, &p);
	cr_expect_eq(th->a.qp->req.retry_left, RETRY - 1);
	cr_expect(th->a.qp->slow.wait_timer);
	th_give(&th->a, &p); /* twice */
	cr_expect_eq(th->a.qp->req.retry_left, RETRY - 1);
	th_free(th);
}

/* ACKs of several QPs leave together. ACKs collected by the thread leave before LOOKED. */
Test(transport_asks, looked_comes_behind_acks_that_wait_for_company)
{
	struct th *th = skewed(0, false);
	struct dpa_rx *rx;
	struct dpa_cqe e;

	th->b.qp->lane = th->a.qp->lane; /* both directions on one ring: one batch */
	th->b.qp->peer = th->peer;
	th->b.qp->tx = &th->peer->tx[th->b.qp->lane];
	cr_assert(th_recv(&th->a, 1, 0, 4096) && th_recv(&th->b, 1, 0, 4096));
	post(th, DPA_OP_SEND, 100);
	th_ring(&th->a);
	th_send(&th->b, DPA_OP_SEND, 0, 100, 0); /* the batch leaves B's QP and returns to it */
	ask_now(th);
	cr_assert(th->a.qp->req.asked);
	rx = &th->peer->rx[th->a.qp->lane];
	while (dpa_lane_ready(rx))
		dpa_lane_drain(rx);
	cr_expect_eq(th_count(th, DPA_CNT_local_ack_timeout_err), 0);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	th_free(th);
}

/* An answer that is pending for lack of room: LOOKED comes, but not before it. */
Test(transport_asks, a_check_follows_a_pending_answer)
{
	struct th *th = skewed(0, false);
	struct dpa_lane_shm *shm = &th->lanes[th->b.qp->lane];
	struct dpa_tx *tx = &th->peer->tx[th->b.qp->lane];
	struct th_pkt p[2];
	uint32_t head;

	post(th, DPA_OP_RDMA_READ, 64);
	th_ring(&th->a);
	ask_now(th);
	cr_assert(th_take_any(&th->a, &p[0]) && th_take_any(&th->a, &p[1]));
	cr_assert_eq(p[1].s.opcode, DPA_LINK_ASK);
	head = tx->head;
	tx->head += DPA_LANE_SLOTS; /* full */
	th_give(&th->b, &p[0]);
	th_give(&th->b, &p[1]);
	tx->head = head;
	atomic_store(&shm->wants_space, 0);
	th_flush(&th->b);
	cr_assert(th_take_any(&th->b, &p[0]));
	cr_expect_eq(p[0].s.opcode, DPA_BTH_READ_RESP_ONLY);
	cr_assert(th_take_any(&th->b, &p[1]), "the question is forgotten");
	cr_expect_eq(p[1].s.opcode, DPA_LINK_LOOKED);
	cr_expect_eq(th_ext(&p[1])->serial, th->a.qp->ask_serial);
	cr_expect_not(th_take_any(&th->b, &p[1]), "once");
	th_free(th);
}

/* There was no room for the hint, nor for LOOKED: they come when there is room. */
Test(transport_asks, words_that_found_no_room)
{
	struct th *th = skewed(0xffffce, false);
	struct dpa_tx *tx = &th->peer->tx[th->b.qp->lane];
	struct th_pkt p[2];
	uint32_t head;

	th->b.qp->resp.nak_sent = true;
	post(th, DPA_OP_RDMA_WRITE, 8);
	th_ring(&th->a);
	ask_now(th);
	cr_assert(th_take_any(&th->a, &p[0]) && th_take_any(&th->a, &p[1]));
	head = tx->head;
	tx->head += DPA_LANE_SLOTS; /* full */
	th_give(&th->b, &p[0]);
	th_give(&th->b, &p[1]);
	tx->head = head;
	dpa_progress_once(th->hw);
	cr_assert(th_take_any(&th->b, &p[0]) && th_take_any(&th->b, &p[1]), "both are forgotten");
	cr_expect_eq(p[0].s.opcode, DPA_LINK_LOOKED);
	cr_expect_eq(th_ext(&p[0])->serial, 0);
	cr_expect_eq(p[1].s.opcode, DPA_LINK_LOOKED);
	cr_expect_eq(th_ext(&p[1])->serial, th->a.qp->ask_serial);
	cr_expect_not(th_take_any(&th->b, &p[1]), "once");
	th_free(th);
}

/* The QP that is asked was reset, or is in error: the outstanding operations end there. */
Test(transport_asks, a_question_to_a_qp_that_takes_none)
{
	static const uint8_t states[] = {DPA_QPS_RESET, DPA_QPS_INIT, DPA_QPS_ERR};

	for (size_t i = 0; i < sizeof(states); i++) {
		struct th *th = skewed(0, false);
		struct th_pkt ask, p;

		post(th, DPA_OP_RDMA_WRITE, 8);
		th_ring(&th->a);
		ask_now(th);
		cr_assert(th_take_any(&th->a, &p) && th_take_any(&th->a, &ask));
		th->b.qp->state = states[i];
		th_give(&th->b, &ask);
		cr_assert(th_take_any(&th->b, &p), "state %u: no answer", states[i]);
		cr_expect_eq(p.s.opcode, DPA_LINK_NO_QP);
		cr_expect_eq(th_count(th, DPA_CNT_rx_dropped), 0);
		th_give(&th->a, &p);
		cr_expect_eq(th->a.qp->req.retry_left, RETRY - 1);
		cr_expect(th->a.qp->slow.wait_timer);
		cr_expect_not(th->a.qp->req.asked, "it may ask again");
		th_free(th);
	}
}

/*
 * Faults are switched on while an ASK is in flight: packets that the fault link holds back were not
 * dropped.
 */
Test(transport_asks, packets_may_be_lost_from_now_on)
{
	struct th *th = skewed(0, false);
	struct th_pkt p;

	post(th, DPA_OP_RDMA_WRITE, 8);
	th_ring(&th->a);
	ask_now(th);
	cr_assert(th_take_any(&th->a, &p)); /* held */
	atomic_store(&th->lanes[th->a.qp->lane].lossy, 1);
	cr_assert(th_take_any(&th->a, &p));
	th_give(&th->b, &p);
	cr_assert(th_take_any(&th->b, &p));
	cr_assert_eq(p.s.opcode, DPA_LINK_LOOKED);
	th_give(&th->a, &p);
	cr_expect_eq(th->a.qp->req.retry_left, RETRY, "the loss timers count");
	cr_expect_not(th->a.qp->slow.wait_timer);
	th_free(th);
}

/*
 * ACKs that found no room: one was dropped if its QP's requester looked for the peer again at that
 * moment, and an operation that was carried out cost a retry.
 */
Test(transport_asks, an_ack_to_a_qp_without_a_ring)
{
	struct th *th = skewed(0, false);
	struct dpa_tx *tx = &th->peer->tx[th->b.qp->lane];
	struct dpa_acks acks = {0};
	struct th_pkt p;
	uint32_t head;

	th->b.qp->peer = th->peer;
	th->b.qp->tx = tx;
	post(th, DPA_OP_RDMA_WRITE, 8);
	th_ring(&th->a);
	cr_assert(th_take_any(&th->a, &p));
	th_give(&th->b, &p);
	dpa_qplock_lock(&th->b.qp->lock);
	cr_assert(dpa_acks_take(&acks, th->b.qp));
	th->b.qp->tx = NULL; /* its timer */
	dpa_qp_leave(th->b.qp);
	head = tx->head;
	tx->head += DPA_LANE_SLOTS; /* full */
	dpa_acks_publish(&acks, th->hw);
	tx->head = head;
	cr_expect(th->b.qp->resp.ack_owed, "it is owed again");
	dpa_progress_once(th->hw);
	cr_assert(th_take_any(&th->b, &p), "and comes");
	cr_expect_eq(p.s.opcode, DPA_BTH_ACK);
	th_free(th);
}

/* An ACK for a PSN that was never sent completes no operation. */
/* IBA 9.7.6 (unsent) */
Test(transport_asks, an_ack_for_what_was_never_sent)
{
	static const uint8_t answers[] = {DPA_BTH_ACK, DPA_BTH_READ_RESP_ONLY, DPA_BTH_ATOMIC_ACK};

	for (uint32_t n = 1; n < 5; n++) {
		for (size_t i = 0; i < sizeof(answers); i++) {
			struct th *th = skewed(0, false);
			struct th_pkt p;
			struct dpa_cqe e;

			for (uint32_t k = 0; k < n; k++)
				post(th, DPA_OP_SEND, 8);
			th_ring(&th->a);
			cr_assert_eq(th_drop_all(&th->a), n);
			for (uint32_t psn = n; psn < n + 40; psn++) {
				th_forge(&th->b, &p, answers[i], PSN0 + psn, 0);
				th_ext(&p)->syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS;
				th_give(&th->a, &p);
			}
			cr_expect_not(th_poll(&th->a.scq, &e), "%u, answer %u", n, answers[i]);
			cr_expect_eq(th->a.qp->req.una_psn, PSN0);
			th_free(th);
		}
	}
}
