/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_lossy.c - the requester on a link that loses packets: missing answers, timers. */
#include "link/lane.h"
#include "eu/progress.h"
#include "answers.h"

static struct th *lossy(void)
{
	struct th *th = rc();

	for (uint32_t i = 0; i < DPA_LANES; i++)
		atomic_store(&th->lanes[i].lossy, 1);
	return th;
}

static uint32_t take_psn(struct th *th)
{
	struct th_pkt p;

	cr_assert(th_take(&th->a, &p), "nothing was sent");
	return (p.s.psn - PSN0) & DPA_PSN_MASK;
}

/* IBA 9.7.5 (implied-nak) */
Test(transport_lossy, an_answer_to_what_lies_behind_is_an_implied_nak)
{
	struct th *th = lossy();

	th_send(&th->a, DPA_OP_RDMA_READ, 0, 2 * MTU, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 8192, 10, 8192);
	cr_assert_eq(th_drop_all(&th->a), 2);
	answer(th, 2, ACK);
	cr_expect_eq(th_count(th, DPA_CNT_implied_nak_seq_err), 1);
	cr_expect_eq(take_psn(th), 0, "the READ is asked for again, without a timer");
	for (int i = 0; i < 10; i++)
		answer(th, 2, ACK);
	cr_expect_leq(th_count(th, DPA_CNT_implied_nak_seq_err), 2, "not by each of them");
	th_free(th);
}

/*
 * The ACK of a WRITE came while the answer of the READ before it was missing. When that came, too,
 * nothing was sent any more, because the peer had acknowledged all of it, and nothing completed.
 */
Test(transport_lossy, an_acknowledgement_is_remembered_behind_a_missing_answer)
{
	static const uint8_t ops[] = {DPA_OP_RDMA_READ, DPA_OP_ATOMIC_FA};

	for (int i = 0; i < 2; i++) {
		struct th *th = lossy();

		th_send(&th->a, ops[i], 0, 8, 0);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 8192, 10, 8192);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 8192, 10, 8192);
		th_drop_all(&th->a);
		answer(th, 2, ACK);
		expect_none(th);
		if (i)
			atomic_response(th, 0, 7);
		else
			response(th, DPA_BTH_READ_RESP_ONLY, 0, 0, 8);
		for (uint64_t k = 1; k <= 3; k++)
			expect_done(th, k, DPA_CQE_OK);
		th_free(th);
	}
}

/*
 * One timer, restarted by each answer: a requester that receives answers from time to time never
 * times out.
 */
/* IBA o9-85 */
Test(transport_lossy, each_answer_starts_the_timer_again)
{
	struct th *th = lossy();
	const uint64_t t = dpa_timeout_ns(14);

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 20 * MTU, 0);
	for (uint32_t n = 0; n < 19; n++) {
		th_drop_all(&th->a);
		th_now += t - 1;
		answer(th, n, ACK);
		cr_expect_eq(th_count(th, DPA_CNT_local_ack_timeout_err), 0);
	}
	th_drop_all(&th->a);
	th_now += t;
	dpa_progress_once(th->hw);
	cr_expect_eq(th_count(th, DPA_CNT_local_ack_timeout_err), 1);
	cr_expect_eq(take_psn(th), 19, "from the first that is not acknowledged");
	answer(th, 19, ACK);
	expect_done(th, 1, DPA_CQE_OK);
	th_free(th);
}

/* The timeout, then twice and four times as long: retry_cnt times and once more. */
/* IBA 9.7.6 (retries), 9.7.6 (resume) */
Test(transport_lossy, silence_ends_in_its_time)
{
	for (uint8_t retry = 0; retry < 8; retry++) {
		struct th *th = rc_of(retry, 7);
		const uint64_t t = dpa_timeout_ns(14), start = th_now;

		for (uint32_t i = 0; i < DPA_LANES; i++)
			atomic_store(&th->lanes[i].lossy, 1);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
		while (th->a.qp->state == DPA_QPS_RTS) {
			th_drop_all(&th->a);
			cr_assert(th_tick(th), "a timer runs");
		}
		cr_expect_eq(th_now - start, (retry < 2 ? 2u * retry + 1 : 4u * retry - 1) * t,
			     "%u", retry);
		expect_done(th, 1, DPA_CQE_RETRY_EXC_ERR);
		th_free(th);
	}
}

/*
 * A READ in several requests is requested again; before all requests are sent the late answers to
 * the first ones arrive. The next operation began at the offset where the READ's requests had
 * stopped.
 */
Test(transport_lossy, a_read_that_ends_late_leaves_no_offset)
{
	const uint32_t kb = 1024, len = 132 * kb;
	struct th *th = lossy();
	struct th_pkt p;

	th_send(&th->a, DPA_OP_RDMA_READ, 0, len, 0);
	cr_assert_geq(th_drop_all(&th->a), 1);
	dpa_pcc_init(&th->a.qp->pcc, &dpa_pcc_none, NULL, th_now);
	th->a.qp->pcc.window = DPA_PCC_WND_MIN;
	th_now += dpa_timeout_ns(14);
	dpa_progress_once(th->hw);
	for (uint32_t off = 0; off < 124 * kb; off += 4 * kb) {
		response(th, off ? DPA_BTH_READ_RESP_MIDDLE : DPA_BTH_READ_RESP_FIRST, off / MTU,
			 off, 4 * kb);
		th_drop_all(&th->a);
	}
	cr_assert_neq(th->a.qp->req.send_off, 0, "the last part is not asked for yet");
	response(th, DPA_BTH_READ_RESP_LAST, 124, 124 * kb, 8 * kb);
	expect_done(th, 1, DPA_CQE_OK);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	cr_assert(th_take(&th->a, &p), "the next request leaves");
	cr_expect_eq(p.s.opcode, DPA_BTH_WRITE_ONLY, "as %02x", p.s.opcode);
	cr_expect_eq(p.s.len, 100);
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
	th_free(th);
}

static struct th *windowed(uint32_t packets)
{
	struct th *th = lossy();

	dpa_pcc_init(&th->a.qp->pcc, &dpa_pcc_none, NULL, th_now);
	th->a.qp->pcc.window = packets * (MTU + 64);
	return th;
}

/* A's packets, and those of them that request an ACK; one past its last PSN. */
struct asked {
	bool psn[4096];
	uint32_t n, end;
};

static uint32_t take_asked(struct th *th, struct asked *k)
{
	struct th_pkt p;
	uint32_t n = 0;

	/* a ring that was full continues when there is room */
	for (; th_take(&th->a, &p) || (dpa_progress_once(th->hw), th_take(&th->a, &p)); n++) {
		uint32_t from = dpa_psn_add(p.s.psn, 0x1000000 - PSN0);

		k->end = from + dpa_npkts(p.s.len, MTU);
		cr_assert_leq(k->end, 4096);
		for (uint32_t i = from; i < k->end; i++)
			k->psn[i] = false;
		if (p.s.flags & DPA_PKT_ACKREQ) {
			k->psn[k->end - 1] = true;
			k->n++;
		}
	}
	return n;
}

/*
 * Each ACK released only the packets that it had made room for, and the last of them requested the
 * next ACK: a long message had three times the ACKs that it needs.
 */
Test(transport_lossy, little_room_waits_for_more)
{
	struct th *th = windowed(64);
	struct asked k = {.n = 0};

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 400 * MTU, 0);
	take_asked(th, &k);
	cr_expect_eq(k.end, 64, "the window, not %u packets", k.end);
	cr_expect_eq(k.n, 3, "%u ACKs are asked for", k.n);
	for (uint32_t n = 0; n < 15; n++) {
		answer(th, n, ACK);
		cr_assert_eq(take_asked(th, &k), 0, "behind the ACK of %u", n);
	}
	answer(th, 15, ACK);
	take_asked(th, &k);
	cr_expect_eq(k.end, 80);
	cr_expect_eq(k.n, 4);
	answer(th, 47, ACK);
	take_asked(th, &k);
	cr_expect_eq(k.end, 112);
	cr_expect_eq(k.n, 6);
	th_free(th);
}

/*
 * An ACK costs the peer a system call: in a wide window one is requested after each half. At most
 * 512 packets may be outstanding: then after half of that.
 */
Test(transport_lossy, a_wide_window_has_halves)
{
	const uint32_t windows[] = {512, 964};

	for (uint32_t i = 0; i < 2; i++) {
		struct th *th = windowed(windows[i]);
		struct asked k = {.n = 0};
		uint32_t n = 0;

		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 1500 * MTU, 0);
		take_asked(th, &k);
		cr_expect_eq(k.end, 512);
		cr_expect_eq(k.n, 1, "%u", k.n);
		for (; n < 512 && !k.psn[n]; n++)
			;
		cr_expect(n >= 256 && n < 350, "one is asked for in the middle, not at %u", n);
		answer(th, n, ACK);
		take_asked(th, &k);
		cr_expect_eq(k.end, 512 + n + 1);
		cr_expect_eq(k.n, 2, "%u", k.n);
		th_free(th);
	}
}

/* A window of less than four packets has no quarters. */
Test(transport_lossy, small_windows_are_used_whole)
{
	for (uint32_t w = 2; w < 8; w++) {
		struct th *th = windowed(w);
		struct asked k = {.n = 0};

		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 40 * MTU, 0);
		take_asked(th, &k);
		for (uint32_t n = 0; n < 20; n++) {
			cr_assert_eq(k.end, n + w, "%u of %u", k.end, w);
			answer(th, n, ACK);
			take_asked(th, &k);
		}
		th_free(th);
	}
}

/* A requester that stops waits for an ACK, and must have requested it. */
Test(transport_lossy, a_poster_that_stops_has_asked_for_an_ack)
{
	uint64_t seed = 77;

	for (int round = 0; round < TH_FEWER(400); round++) {
		const uint32_t wide = round % 2 ? 1000 : 100;
		struct th *th = windowed(2 + th_rand(&seed) % wide);
		struct asked k = {.n = 0};
		struct dpa_req *r = &th->a.qp->req;
		uint32_t acked = 0;

		for (int i = 0; i < 4; i++)
			th_send(&th->a, th_rand(&seed) % 2 ? DPA_OP_RDMA_WRITE : DPA_OP_SEND, 0,
				1 + th_rand(&seed) % (300 * MTU), 0);
		for (int i = 0; i < 200; i++) {
			uint32_t at, n;
			bool any = false;

			take_asked(th, &k);
			at = dpa_psn_add(r->send_psn, 0x1000000 - PSN0);
			if (r->send_idx == th->a.pi)
				break;
			for (n = acked; n < at; n++)
				any |= k.psn[n];
			cr_assert(any, "round %d: %u to %u are under way", round, acked, at);
			n = acked + th_rand(&seed) % (at - acked);
			if (th_rand(&seed) % 8) {
				answer(th, n, ACK);
				acked = n + 1;
			} else {
				answer(th, n, NAK(DPA_NAK_PSN_SEQ));
				acked = n;
			}
			/*
			 * a window that shrinks below the packets in flight leaves the rest to a
			 * timer
			 */
			n = dpa_psn_add(r->send_psn, 0x1000000 - PSN0) - acked;
			th->a.qp->pcc.window = (n + 1 + th_rand(&seed) % (wide / 2)) * (MTU + 64);
			th_now += th_rand(&seed) % 30000;
			th_ring(&th->a);
		}
		th_free(th);
	}
}

/* Take the packets that A sends now: their number, and whether one of them is this one. */
static uint32_t takes(struct th *th, uint32_t psn, bool *has)
{
	struct th_pkt p;
	uint32_t n = 0;

	*has = false;
	for (; th_take(&th->a, &p) || (dpa_progress_once(th->hw), th_take(&th->a, &p));) {
		*has |= p.s.psn == dpa_psn_add(PSN0, psn);
		n += dpa_npkts(p.s.len, MTU);
	}
	return n;
}

/*
 * Packets after a missing one are queued at the peer: they are not in flight any more when a later
 * packet has been answered. So a loss costs one round trip, not one for each other loss after it.
 */
Test(transport_lossy, a_loss_does_not_stop_what_follows)
{
	struct th *th = windowed(64);
	uint32_t sent;
	bool has;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 2000 * MTU, 0);
	cr_assert_eq(takes(th, 0, &has), 64);
	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 10, &has), 1 + 10, "what was in front of it arrived");
	cr_expect(has);
	answer(th, 20, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 20, &has), 1 + 64, "so did all that was sent with it");
	cr_expect(has);
	/* every second one is missing: the peer queues 512 and no more */
	sent = 138;
	for (uint32_t psn = 22; sent < 512 + psn - 2; psn += 2) {
		uint32_t most = 512 + psn - sent;

		answer(th, psn, NAK(DPA_NAK_PSN_SEQ));
		cr_assert_eq(takes(th, psn, &has), 1 + (most < 64 ? most : 64), "behind %u", psn);
		cr_expect(has);
		sent += most < 64 ? most : 64;
	}
	answer(th, sent - 1, ACK);
	cr_expect_eq(takes(th, 0, &has), 64, "nothing is missing");
	th_free(th);
}

/*
 * A peer that queues nothing has dropped the following packets: its NAK shows it, and all is sent
 * again.
 */
Test(transport_lossy, dropped_packets_do_not_count_as_queued)
{
	struct th *th = windowed(64);
	bool has;

	th->a.qp->req.keeps = 0;
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 400 * MTU, 0);
	cr_assert_eq(takes(th, 0, &has), 64);
	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 10, &has), 64, "10 to 73");
	cr_expect(has);
	answer(th, 20, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 20, &has), 64, "20 to 83");
	cr_expect(has);
	th_free(th);
}

/*
 * Its queue is full: it requests one after the other, each in a round trip. Then all is sent again.
 */
Test(transport_lossy, a_peer_that_asks_one_by_one_queues_no_more)
{
	struct th *th = windowed(64);
	uint32_t psn = 30, n = 1;
	bool has;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 2000 * MTU, 0);
	cr_assert_eq(takes(th, 0, &has), 64);
	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 10, &has), 1 + 10);
	answer(th, psn, NAK(DPA_NAK_PSN_SEQ)); /* now it has shown that it queues packets */
	cr_expect_eq(takes(th, psn, &has), 1 + 64);
	for (; n == 1 && psn < 50; psn++) {
		answer(th, psn + 1, NAK(DPA_NAK_PSN_SEQ));
		n = takes(th, psn + 1, &has);
		cr_expect(has);
	}
	cr_expect_eq(psn, 38, "%u", psn);
	cr_expect_eq(n, 64, "a window from there on, not %u packets", n);
	th_free(th);
}

#define TRIP 80000u /* ns */

static void widen(struct th *th, uint32_t packets)
{
	th->a.qp->pcc.window = packets * (MTU + 64);
	th_ring(&th->a);
}

/* Packet 0 is a message whose round trip is measured. */
static struct th *measured(void)
{
	struct th *th = windowed(64);
	bool has;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 10, 0);
	cr_assert_eq(takes(th, 0, &has), 1);
	th_now += TRIP;
	answer(th, 0, ACK);
	cr_assert_eq(th->a.qp->req.srtt, TRIP);
	th->a.qp->req.keeps = 10; /* it has queued a packet before */
	return th;
}

/*
 * A window of 64 packets of a long WRITE from 1 on: 32 leave, the others half a round trip later.
 */
static struct th *halves(void)
{
	struct th *th = measured();
	bool has;

	widen(th, 32);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 2000 * MTU, 0);
	cr_assert_eq(takes(th, 1, &has), 32);
	th_now += TRIP / 2;
	widen(th, 64);
	cr_assert_eq(takes(th, 33, &has), 32);
	return th;
}

/*
 * While a packet is missing no ACK shows which others have arrived: sending stopped for the round
 * trip of the missing one. Packets sent a round trip ago count as arrived and leave room, until a
 * probe asks for them.
 */
Test(transport_lossy, old_packets_count_as_arrived_behind_a_loss)
{
	struct th *th = halves();
	uint64_t start = th_now - TRIP / 2;
	bool has;

	th_until(th, start + TRIP);
	cr_assert_eq(takes(th, 0, &has), 0, "no NAK, no loss: ACKs come");
	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 10, &has), 1 + 32, "as much as the first half was");
	cr_expect(has);
	th_until(th, start + 3 * TRIP / 2 - 1);
	cr_expect_eq(takes(th, 0, &has), 0);
	th_until(th, start + 3 * TRIP / 2);
	cr_expect_eq(takes(th, 0, &has), 32, "and the second half");
	/* and so on, a window for each round trip; the probe comes 4 round trips after the NAK */
	th_until(th, start + 5 * TRIP - 1);
	cr_expect_eq(takes(th, 10, &has), 6 * 32);
	cr_expect_not(has);
	th_until(th, start + 5 * TRIP);
	cr_expect_eq(takes(th, 10, &has), 1);
	cr_expect(has, "the probe");
	th_until(th, start + 8 * TRIP);
	cr_expect_eq(takes(th, 0, &has), 0, "nothing is known any more");
	th_free(th);
}

/* Time counts until all packets that were sent before the NAK are acknowledged. */
Test(transport_lossy, an_ack_overrides_send_times)
{
	struct th *th = halves();
	bool has;

	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 10, &has), 1 + 9, "what was in front of it arrived");
	answer(th, 73, ACK);
	cr_expect_eq(takes(th, 0, &has), 64);
	th_now += 2 * TRIP;
	th_ring(&th->a);
	cr_expect_eq(takes(th, 0, &has), 0, "ACKs come");
	th_free(th);
}

/* It is not known yet whether it queues packets. */
Test(transport_lossy, send_times_do_not_count_for_a_new_peer)
{
	struct th *th = halves();
	bool has;

	th->a.qp->req.keeps = 1;
	th_now += TRIP / 2;
	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 10, &has), 1 + 9, "what was in front of it arrived");
	th_until(th, th_now + 3 * TRIP);
	cr_expect_eq(takes(th, 0, &has), 0);
	th_free(th);
}

/*
 * Nothing changes for a peer that queues nothing; and packets that are sent again are in flight
 * again.
 */
Test(transport_lossy, what_is_sent_again_is_under_way_again)
{
	struct th *th = halves();
	bool has;

	th->a.qp->req.keeps = 0;
	th_now += TRIP;
	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 10, &has), 64, "10 to 73");
	th_now += TRIP / 2;
	th->a.qp->req.keeps = 10;
	answer(th, 20, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(takes(th, 20, &has), 1 + 10, "20 to 73 left half a round trip ago");
	th_free(th);
}

/*
 * However finely it was sent: sending continues at the same rate, and does not wait until all of it
 * has aged.
 */
Test(transport_lossy, what_ages_ages_evenly)
{
	struct th *th = measured();
	uint32_t sent = 0;
	uint64_t start;
	bool has;

	start = th_now;
	for (uint32_t i = 1; i <= 32; i++) {
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 2 * MTU, 0);
		cr_assert_eq(takes(th, 0, &has), 2);
		th_now = start + i * TRIP / 32;
	}
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 2000 * MTU, 0);
	cr_assert_eq(takes(th, 0, &has), 0, "the window is full");
	answer(th, 1, NAK(DPA_NAK_PSN_SEQ));
	for (uint32_t i = 1; i <= 32; i++) {
		sent += takes(th, 0, &has);
		th_until(th, start + TRIP + i * TRIP / 32);
		/* a full window waits for a quarter; a mark is up to a sixth */
		cr_assert_geq(sent + 64 / 4 + 64 / 6, 2 * i, "%u at %u of 32", sent, i);
		cr_assert_leq(sent, 2 * i + 64 / 4, "%u at %u of 32", sent, i);
	}
	th_free(th);
}

/* No receive: all is sent again, and is in flight again; also after a full socket buffer. */
Test(transport_lossy, a_restarted_sender_has_one_window)
{
	for (int rnr = 0; rnr < 2; rnr++) {
		struct th *th = halves();
		uint32_t n;
		bool has;

		th_now += TRIP / 2;
		answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
		cr_assert_eq(takes(th, 10, &has), 1 + 32);
		if (rnr) {
			answer(th, 30, RNR(1));
			th_until(th, th_now + 10000);
		} else {
			answer(th, 29, ACK);
			takes(th, 0, &has);
			dpa_rewind(th->a.qp, dpa_psn_add(PSN0, 30));
			th_ring(&th->a);
		}
		n = takes(th, 30, &has);
		cr_expect_eq(n, 64, "%u, RNR %d", n, rnr);
		cr_expect(has);
		th_free(th);
	}
}

/* The peer queues READs, too, and answers all of them when the missing packet arrives. */
Test(transport_lossy, reads_do_not_age)
{
	struct th *th = measured();
	bool has;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 32 * MTU, 0);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 32 * MTU, 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 200 * MTU, 0);
	cr_assert_eq(takes(th, 1, &has), 32 + 1, "64 PSNs");
	answer(th, 10, NAK(DPA_NAK_PSN_SEQ));
	cr_assert_eq(takes(th, 10, &has), 1 + 9, "what was in front of it arrived");
	th_until(th, th_now + 3 * TRIP);
	cr_expect_eq(takes(th, 0, &has), 0);
	th_free(th);
}
