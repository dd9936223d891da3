/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_loss_timers.c - timers of the requester towards another host: ACK timeout, probes, round
 * trips.
 */
#include "link/lane.h"
#include "lossy.h"

#define MS 1000000ull

/* T, 2 T, then 4 T each time (IBA 9.7.6.1.3 allows that), for every kind of answer. */
/* IBA C9-140, 9.7.6 (retries) */
Test(transport_loss_timers, silence_ends_in_its_time)
{
	static const uint8_t ops[] = {DPA_OP_SEND, DPA_OP_RDMA_WRITE, DPA_OP_RDMA_READ,
				      DPA_OP_ATOMIC_CS};
	static const uint8_t codes[] = {1, 8, 14, 18, 22, 31};

	for (size_t i = 0; i < sizeof(codes) * sizeof(ops); i++) {
		uint8_t code = codes[i / sizeof(ops)], retry = 1 + (i * 3) % 7;
		const uint64_t t = 4096ull << code;
		struct th *th = wire_of((struct th_opt){.timeout = code, .retry = retry});
		uint64_t took;

		th_send(&th->a, ops[i % sizeof(ops)], 0, 8, 0);
		took = silence(th);
		cr_expect_eq(took, (4u * retry - 1) * t, "op %u, code %u, retry %u: %lu",
			     ops[i % sizeof(ops)], code, retry, (unsigned long)(took * 1000 / t));
		cr_expect_eq(th_count(th, DPA_CNT_local_ack_timeout_err), retry + 1u);
		expect_done(th, 1, DPA_CQE_RETRY_EXC_ERR);
		th_free(th);
	}
}

/* IBA C9-140 */
Test(transport_loss_timers, timeout_0_never_fails)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .wire = true, .retry = 0, .rd = 4});
	uint32_t sent = 0;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	while (th_now < 1000000000ull * 1000) {
		sent += th_drop_all(&th->a);
		cr_assert(th_tick(th), "it goes on trying");
	}
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
	cr_expect_geq(sent, 900);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_settle(th);
	th_until(th, th_now + 3000 * MS);
	th_settle(th);
	expect_done(th, 1, DPA_CQE_OK);
	expect_done(th, 2, DPA_CQE_OK);
	th_free(th);
}

/* IBA 9.7.6 (retries-progress) */
Test(transport_loss_timers, progress_restores_the_retries)
{
	struct th *th = wire_of((struct th_opt){.retry = 2});

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10 * MTU, 0);
	for (uint32_t n = 0; n < 9; n++) {
		th_until(th, th_now + 2 * T14);
		th_drop_all(&th->a);
		cr_assert_eq(th->a.qp->state, DPA_QPS_RTS);
		answer(th, n, ACK);
	}
	cr_expect_eq(silence(th), 7 * T14);
	th_free(th);
}

/* After silence one packet is a tail-loss probe; the waits double up to the timeout. */
Test(transport_loss_timers, probes_back_off)
{
	struct th *th = wire_of((struct th_opt){.timeout = 18}); /* 1.07 s */
	uint64_t at = th_now, wait = 10 * MS;
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 5 * MTU, 0);
	cr_assert_eq(th_drop_all(&th->a), 5);
	for (int i = 0; i < 6; i++) {
		th_until(th, at + wait - 1);
		cr_assert_eq(th_drop_all(&th->a), 0, "probe %d not before its time", i);
		th_until(th, at += wait);
		expect_one(th, 0, &p);
		cr_expect(p.s.flags & DPA_PKT_ACKREQ);
		cr_expect_eq(p.s.len, MTU);
		wait *= 2;
	}
	cr_expect_eq(th_count(th, DPA_CNT_local_ack_timeout_err), 0, "no retry is spent");
	cr_expect_eq(th->a.qp->req.retry_left, 7);
	th_free(th);
}

/* The answer to a probe: nothing was lost, or all later packets were. */
/* IBA 9.7.6 (resume) */
Test(transport_loss_timers, what_a_probe_tells)
{
	struct th *th = wire();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 5 * MTU, 0);
	th_drop_all(&th->a);
	th_until(th, th_now + 10 * MS);
	expect_one(th, 0, &p);
	answer(th, 4, ACK); /* it was only slow */
	expect_done(th, 1, DPA_CQE_OK);
	cr_expect_eq(th_drop_all(&th->a), 0);

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 5 * MTU, 0);
	th_drop_all(&th->a);
	while (!th_take(&th->a, &p))
		cr_assert(th_tick(th));
	cr_expect_eq(nth(&p), 5);
	answer(th, 5, ACK);
	for (uint32_t n = 6; n < 10; n++) {
		cr_assert(th_take(&th->a, &p), "%u was lost, too", n);
		cr_expect_eq(nth(&p), n);
	}
	cr_expect_eq(th_drop_all(&th->a), 0);
	th_free(th);
}

/* New messages are sent while a probe is outstanding. */
Test(transport_loss_timers, a_probe_holds_nothing_up)
{
	struct th *th = wire();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 2 * MTU, 0);
	th_drop_all(&th->a);
	th_until(th, th_now + 10 * MS);
	expect_one(th, 0, &p);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	expect_one(th, 2, &p);
	th_free(th);
}

/* A round trip is measured only for a packet that was sent once (Karn). */
Test(transport_loss_timers, round_trips)
{
	struct th *th = wire();

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_now += 80000;
	answer(th, 0, ACK);
	cr_expect_eq(th->a.qp->req.srtt, 80000, "the first one counts in full");
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_now += 160000;
	answer(th, 1, ACK);
	cr_expect_eq(th->a.qp->req.srtt, 90000, "the next by an eighth");
	th_drop_all(&th->a);

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_until(th, th_now + 360000);
	cr_expect_eq(th_drop_all(&th->a), 2, "probed");
	answer(th, 2, ACK);
	cr_expect_eq(th->a.qp->req.srtt, 90000, "which of the two was it?");

	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	answer(th, 3, RNR(1));
	th_until(th, th_now + 20 * MS); /* the RNR timer: sent again */
	answer(th, 4, ACK);
	cr_expect_eq(th->a.qp->req.srtt, 90000, "nor after an RNR NAK");
	th_free(th);
}

Test(transport_loss_timers, four_round_trips_until_a_probe)
{
	struct th *th = wire_of((struct th_opt){.timeout = 18});
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_drop_all(&th->a);
	th_now += 5 * MS;
	answer(th, 0, ACK);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_drop_all(&th->a);
	th_until(th, th_now + 20 * MS - 1);
	cr_expect_eq(th_drop_all(&th->a), 0);
	th_until(th, th_now + 1);
	expect_one(th, 1, &p);
	th_free(th);
}

/* The first message, answered after 5 us. */
static void quick_round_trip(struct th *th)
{
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_now += 5000;
	answer(th, 0, ACK);
	th_drop_all(&th->a);
}

/* Links within a machine answer in microseconds, unless the peer's core serves other threads. */
Test(transport_loss_timers, two_tenths_of_a_millisecond_at_least)
{
	struct th *th = wire();
	struct th_pkt p;

	quick_round_trip(th);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_drop_all(&th->a);
	th_until(th, th_now + 199999);
	cr_expect_eq(th_drop_all(&th->a), 0);
	th_until(th, th_now + 1);
	expect_one(th, 1, &p);
	th_free(th);
}

/* Its round trips are not measured while each message is sent twice: the wait stays unchanged. */
Test(transport_loss_timers, a_peer_that_became_slow_is_let_be)
{
	struct th *th = wire();
	uint32_t sent = 0, n = 1;

	quick_round_trip(th);
	for (int i = 0; i < 8; i++) {
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
		th_until(th, th_now + 900000);
		answer(th, n++, ACK);
		sent = th_drop_all(&th->a);
		cr_expect_leq(sent, i ? 2 : 3, "message %d: %u", i, sent);
	}
	cr_expect_eq(sent, 1, "its round trip is known by now");
	th_free(th);
}

/* Not if packets are lost: the next tail may be lost as well. */
Test(transport_loss_timers, a_nak_shortens_the_wait)
{
	struct th *th = wire();
	struct th_pkt p;

	quick_round_trip(th);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 3 * MTU, 0);
	th_drop_all(&th->a);
	th_until(th, th_now + 600000);
	cr_expect_eq(th_drop_all(&th->a), 2, "at 200 and 600 us");
	answer(th, 2, NAK(DPA_NAK_PSN_SEQ));
	expect_one(th, 2, &p);
	th_until(th, th_now + 199999);
	cr_expect_eq(th_drop_all(&th->a), 0);
	th_until(th, th_now + 1);
	expect_one(th, 2, &p);
	th_free(th);
}

/* Messages after a probe have not been answered yet: none counts as lost. */
Test(transport_loss_timers, what_follows_a_probe_is_not_sent_again)
{
	struct th *th = wire();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	th_drop_all(&th->a);
	th_until(th, th_now + 10 * MS);
	expect_one(th, 0, &p);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 3 * MTU, 0);
	cr_expect_eq(th_drop_all(&th->a), 3);
	answer(th, 0, ACK);
	cr_expect_eq(th_drop_all(&th->a), 0);
	answer(th, 3, ACK);
	expect_done(th, 1, DPA_CQE_OK);
	expect_done(th, 2, DPA_CQE_OK);
	th_free(th);
}

static void modify(struct th *th, uint32_t state)
{
	struct dpa_qp_attr a = {.state = state, .sqd_async_notify = 1};

	cr_assert_eq(dpa_hw_modify_qp(th->a.qp, &a, DPA_QPM_STATE | DPA_QPM_EN_SQD_ASYNC_NOTIFY),
		     0);
}

/* SQD: packets that were sent are sent again until they are acknowledged, no new ones. */
Test(transport_loss_timers, drains_although_packets_are_lost)
{
	struct th *th = wire();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 3 * MTU, 0);
	th_drop_all(&th->a);
	modify(th, DPA_QPS_SQD);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	cr_expect_eq(th_drop_all(&th->a), 0);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 0);
	th_until(th, th_now + 10 * MS);
	expect_one(th, 0, &p);
	th_until(th, th_now + T14);
	cr_expect_geq(th_drop_all(&th->a), 3);
	answer(th, 1, NAK(DPA_NAK_PSN_SEQ));
	expect_one(th, 1, &p);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 0);
	answer(th, 2, ACK);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 1);
	expect_done(th, 1, DPA_CQE_OK);
	cr_expect_eq(th_drop_all(&th->a), 0);
	modify(th, DPA_QPS_RTS);
	expect_one(th, 3, &p);
	th_free(th);
}

/*
 * Only READs for half of the PSN space: the last acknowledged PSN stayed behind, and with the next
 * round a WRITE without an acknowledgement was complete.
 */
/* IBA 9.7.1 (half) */
Test(transport_loss_timers, reads_alone_for_half_the_psn_space)
{
	struct th *th = th_new(&(struct th_opt){
		.psn = PSN0, .mtu = 1, .timeout = 14, .retry = 7, .rd = 4, .pull = true});
	const uint32_t len = 4u << 20, each = len / 256;

	for (uint32_t n = 0; n < (1u << 23) + 2 * each; n += each) {
		th_send(&th->a, DPA_OP_RDMA_READ, 0, len, 0);
		th_settle(th);
		expect_done(th, n / each + 1, DPA_CQE_OK);
	}
	for (uint32_t i = 0; i < DPA_LANES; i++)
		atomic_store(&th->lanes[i].lossy, 1);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 8, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 4096, 8, 4096);
	{
		struct th_pkt p;

		cr_assert(th_take(&th->a, &p));
		th_give(&th->b, &p);
		th_flush(&th->b);
		cr_assert_eq(th_drop_all(&th->a), 1, "the WRITE is lost");
		th_deliver(&th->b);
	}
	expect_done(th, (1u << 23) / each + 3, DPA_CQE_OK);
	expect_none(th);
	th_free(th);
}
