/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_acks.c - ACKs of several QPs in one entry of a shared memory ring. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "ctx/qp.h"
#include "transport/api.h"
#include "harness.h"
#include "link/sock.h"
#include "eu/drain.h"

/* Two connected QPs that use the same ring, with a receive and a SEND each. */
static struct th *both_sent(void)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0xfffffe});
	struct th_side *sides[] = {&th->a, &th->b};

	for (int i = 0; i < 2; i++) {
		sides[i]->qp->lane = 0;
		sides[i]->qp->tx = &th->peer->tx[0];
		sides[i]->qp->peer = th->peer;
		sides[i]->qp->resp.msn = 0x123456 + (uint32_t)i;
		th_recv(sides[i], 70, 0, 100);
	}
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	th_send(&th->b, DPA_OP_SEND, 0, 8, 0);
	th_ring(&th->a);
	th_ring(&th->b);
	return th;
}

static uint32_t on_lane(struct th *th)
{
	return th->peer->tx[0].head -
	       atomic_load_explicit(&th->peer->rx[0].next, memory_order_relaxed);
}

static const struct dpa_slot *next_slot(struct th *th)
{
	return &th->lanes[0].slots[atomic_load(&th->peer->rx[0].next) % DPA_LANE_SLOTS];
}

static void both_complete(struct th *th)
{
	struct th_side *sides[] = {&th->a, &th->b};
	struct dpa_cqe e;

	for (int i = 0; i < 2; i++) {
		cr_assert(th_poll(&sides[i]->scq, &e));
		cr_expect_eq(e.status, DPA_CQE_OK);
		cr_expect_not(th_poll(&sides[i]->scq, &e));
		cr_assert(th_poll(&sides[i]->rcq, &e));
		cr_expect_eq(e.wr_id, 70);
	}
}

Test(transport_acks, of_a_batch_travel_together)
{
	struct th *th = both_sent();
	struct dpa_slot s, ack = {.seq = 0};

	cr_assert_eq(on_lane(th), 2);
	cr_assert_eq(dpa_lane_drain(&th->peer->rx[0]), 2);
	cr_assert_eq(on_lane(th), 1);
	memcpy(&s, next_slot(th), sizeof(s));
	cr_expect_eq(s.opcode, DPA_LINK_ACKS);
	for (uint32_t i = 0; i < 2; i++) {
		struct th_side *from = i ? &th->a : &th->b, *to = i ? &th->b : &th->a;
		const struct dpa_ext *x = (const struct dpa_ext *)ack.ext;

		cr_assert(dpa_acks_get(&s, i, &ack));
		cr_expect_eq(ack.opcode, DPA_BTH_RC | DPA_BTH_ACK);
		cr_expect_eq(ack.dqpn, to->qp->qpn);
		cr_expect_eq(ack.src, from->qp->qpn & DPA_QPN_INDEX);
		cr_expect_eq(ack.psn, 0xfffffe);
		cr_expect_eq(x->msn, 0x123456 + !i + 1, "%x", x->msn);
		cr_expect_eq(x->syndrome, DPA_AETH_ACK | DPA_AETH_NO_CREDITS);
	}
	cr_expect_not(dpa_acks_get(&s, 2, &ack));
	cr_assert_eq(dpa_lane_drain(&th->peer->rx[0]), 1);
	both_complete(th);
	th_free(th);
}

Test(transport_acks, of_one_qp_is_a_packet)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0});

	th_recv(&th->b, 1, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	th_ring(&th->a);
	cr_assert_eq(dpa_lane_drain(&th->peer->rx[th->a.qp->lane]), 1);
	cr_expect_eq(th->lanes[th->b.qp->lane].slots[th->a.qp->lane == th->b.qp->lane].opcode,
		     DPA_BTH_RC | DPA_BTH_ACK);
	th_free(th);
}

/*
 * Packets that come one by one, with waits in between: each is answered before the next is handled.
 */
Test(transport_acks, packets_that_come_singly)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0});
	struct dpa_rx *rx = &th->peer->rx[0];
	struct dpa_cqe e;

	for (uint32_t i = 0; i < 2; i++) {
		struct dpa_hw_qp *qp = i ? th->b.qp : th->a.qp;

		qp->lane = (uint8_t)i;
		qp->tx = &th->peer->tx[i];
		qp->peer = th->peer;
	}
	th_recv(&th->b, 1, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	th_ring(&th->a);
	cr_assert_eq(dpa_lane_drain(rx), 1);
	for (int i = 0; i < 3; i++) {
		th_recv(&th->b, 2, 0, 100);
		th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	}
	atomic_store(&rx->idle, 1);
	cr_assert(rx->lone);
	th_ring(&th->a);
	cr_expect_eq(dpa_lane_drain(rx), 1);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect_geq(dpa_lane_drain(rx), 2); /* no wait happened: all present packets */
	cr_expect_not(rx->lone);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_assert(th_poll(&th->b.rcq, &e));
	th_free(th);
}

/* An ACK that finds no room is pending again, and leaves when there is room. */
Test(transport_acks, wait_for_room)
{
	struct th *th = both_sent();
	struct dpa_tx *tx = &th->peer->tx[0];
	struct dpa_slot *s;
	uint8_t *data;

	while ((s = dpa_lane_reserve(tx, 0, &data))) {
		s->opcode = DPA_LINK_NO_QP;
		s->flags = 0;
		s->len = 0;
		s->dqpn = 0;
		dpa_lane_publish(tx, s);
	}
	cr_assert_eq(on_lane(th), DPA_LANE_SLOTS);
	cr_assert_gt(dpa_lane_drain(&th->peer->rx[0]), 2);
	cr_expect(th->a.qp->resp.ack_owed);
	cr_expect(th->b.qp->resp.ack_owed);
	while (on_lane(th))
		dpa_lane_drain(&th->peer->rx[0]);
	cr_assert(th_tick(th));
	while (on_lane(th))
		dpa_lane_drain(&th->peer->rx[0]);
	both_complete(th);
	th_free(th);
}

/* A count that no process of this provider writes. */
Test(transport_acks, are_no_more_than_a_slot_holds)
{
	struct dpa_slot s = {.opcode = DPA_LINK_ACKS}, ack;
	uint32_t n = 0;

	((struct dpa_more_acks *)s.ext)->n = UINT32_MAX;
	while (dpa_acks_get(&s, n, &ack))
		n++;
	cr_expect_eq(n, DPA_ACKS);
}

Test(transport_acks, only_plain_ones_are_taken_over)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0});
	struct dpa_acks acks = {.n = 0};
	struct dpa_hw_qp *qp = th->a.qp;

	qp->tx = &th->peer->tx[0];
	qp->peer = th->peer;
	cr_expect_not(dpa_acks_take(&acks, qp), "owes nothing");
	dpa_owe(qp, 5, DPA_AETH_NAK | DPA_NAK_REM_ACCESS);
	cr_expect_not(dpa_acks_take(&acks, qp), "a NAK");
	qp->resp.ack_owed = false;
	dpa_owe(qp, 5, DPA_AETH_ACK);
	qp->resp.rd_head++;
	cr_expect_not(dpa_acks_take(&acks, qp), "behind a response");
	qp->resp.rd_head--;
	th->peer->wire = true;
	cr_expect_not(dpa_acks_take(&acks, qp), "to another host");
	th->peer->wire = false;
	for (uint32_t i = 0; i < DPA_ACKS; i++) {
		cr_expect(dpa_acks_take(&acks, qp));
		cr_expect_not(qp->resp.ack_owed);
		dpa_owe(qp, 6 + i, DPA_AETH_ACK);
	}
	cr_expect_not(dpa_acks_take(&acks, qp), "full");
	th_free(th);
}

/*
 * ---- The program has the completion of a message, and ends the connection. The sender must get
 * its ACK first.
 */

static void to_error(struct dpa_hw_qp *qp)
{
	const struct dpa_qp_attr a = {.state = DPA_QPS_ERR};

	cr_assert_eq(dpa_hw_modify_qp(qp, &a, DPA_QPM_STATE), 0);
}

Test(transport_acks, leave_before_the_qp_is_in_error)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0});
	struct dpa_hw_qp *qp = th->b.qp;
	uint32_t lane = qp->lane, n;

	qp->tx = &th->peer->tx[lane];
	qp->peer = th->peer;
	n = th->peer->tx[lane].head;
	dpa_owe(qp, 5, DPA_AETH_ACK);
	to_error(qp);
	cr_expect_not(qp->resp.ack_owed);
	cr_assert_eq(th->peer->tx[lane].head, n + 1);
	cr_expect_eq(th->lanes[lane].slots[n % DPA_LANE_SLOTS].opcode, DPA_BTH_RC | DPA_BTH_ACK);
	th_free(th);
}

struct ending {
	struct dpa_hw_qp *qp;
	atomic_bool ended;
};

static void *end(void *arg)
{
	struct ending *e = arg;

	to_error(e->qp);
	atomic_store(&e->ended, true);
	return NULL;
}

/* Another thread has taken over the QP's pending answers, and has not published them yet. */
Test(transport_acks, in_the_hands_of_another_thread)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0});
	struct ending e = {.qp = th->b.qp};
	pthread_t t;

	e.qp->tx = &th->peer->tx[e.qp->lane];
	e.qp->peer = th->peer;
	dpa_spin_lock(&th->peer->rx[0].lock); /* as for a thread that drains the ring */
	cr_assert_eq(pthread_create(&t, NULL, end, &e), 0);
	while (__atomic_load_n(&e.qp->state, __ATOMIC_ACQUIRE) != DPA_QPS_ERR)
		sched_yield();
	for (int i = 0; i < 1000; i++)
		sched_yield();
	cr_expect_not(atomic_load(&e.ended));
	dpa_spin_unlock(&th->peer->rx[0].lock);
	pthread_join(t, NULL);
	th_free(th);
}

/* Completions of a QP that the program has not polled. */
Test(transport_acks, unread_completions)
{
	struct th *th = both_sent();
	struct dpa_cqe e;

	cr_expect_not(dpa_cq_has(th->b.rcq.cq, th->b.qp->qpn));
	while (on_lane(th))
		dpa_lane_drain(&th->peer->rx[0]);
	cr_expect(dpa_cq_has(th->b.rcq.cq, th->b.qp->qpn));
	cr_expect(dpa_cq_has(th->a.scq.cq, th->a.qp->qpn));
	cr_expect_not(dpa_cq_has(th->b.rcq.cq, th->a.qp->qpn), "another QP's");
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_not(dpa_cq_has(th->b.rcq.cq, th->b.qp->qpn), "all are polled");
	th_free(th);
}
