/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_kept.c - packets that arrive before a missing one: queued out of order, checked in order,
 * dropped in time.
 */
#include "transport/api.h"
#include "lossy.h"

#define KEPT_MAX   512u
#define KEPT_BYTES (16u << 20)

/* SEND of 3 packets, READ of 4, FETCH_ADD, WRITE of 3, COMPARE_SWAP, SEND of none, READ of 1. */
static const struct {
	uint8_t op;
	uint32_t len, first, psns;
} window[] = {
	{DPA_OP_SEND, 2 * MTU + 9, 0, 3}, {DPA_OP_RDMA_READ, 3 * MTU + 1, 3, 4},
	{DPA_OP_ATOMIC_FA, 8, 7, 1},	  {DPA_OP_RDMA_WRITE, 2 * MTU + 1, 8, 3},
	{DPA_OP_ATOMIC_CS, 8, 11, 1},	  {DPA_OP_RDMA_WRITE_IMM, 0, 12, 1},
	{DPA_OP_RDMA_READ, 5, 13, 1},	  {DPA_OP_SEND_IMM, 17, 14, 1},
};
#define NWINDOW (sizeof(window) / sizeof(window[0]))
#define WORD	(3u << 20) /* of B: what the atomics change */

static void post(struct th *th, uint32_t i)
{
	uint32_t off = i * 8192;
	struct th_wr wr = {.op = window[i].op,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem + off, window[i].len, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem + off,
			   .rkey = th->b.key,
			   .swap_add = 5,
			   .compare = 5};

	if (dpa_op_is_atomic(wr.op))
		wr.raddr = (uintptr_t)th->b.mem + WORD;
	th_fill(dpa_op_is_read(wr.op) ? th->b.mem + off : th->a.mem + off, window[i].len, i + 1);
	cr_assert(th_post(&th->a, &wr));
}

/* All packets of A: 11, with the PSNs in first_of. */
static struct flight *fly(struct th *th)
{
	struct flight *f = malloc(sizeof(*f));

	cr_assert_not_null(f);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert(th_recv(&th->b, i, (1u << 20) + i * 8192, 8192));
	for (uint32_t i = 0; i < NWINDOW; i++)
		post(th, i);
	th_ring(&th->a);
	take_all(&th->a, f);
	cr_assert_eq(f->n, 12);
	return f;
}

static void expect_all_right(struct th *th)
{
	struct dpa_cqe e;
	uint64_t v;

	for (uint64_t i = 1; i <= NWINDOW; i++)
		expect_done(th, i, DPA_CQE_OK);
	expect_none(th);
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, i);
		cr_expect_eq(e.status, DPA_CQE_OK);
	}
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect(th_check(th->b.mem + (1u << 20), 2 * MTU + 9, 1));
	cr_expect(th_check(th->b.mem + (1u << 20) + 2 * 8192, 17, 8));
	cr_expect(th_check(th->b.mem + 3 * 8192, 2 * MTU + 1, 4));
	cr_expect(th_check(th->a.mem + 1 * 8192, 3 * MTU + 1, 2));
	cr_expect(th_check(th->a.mem + 6 * 8192, 5, 7));
	memcpy(&v, th->b.mem + WORD, 8);
	cr_expect_eq(v, 5, "added once, then swapped once: %lu", (unsigned long)v);
	cr_expect_eq(th->b.qp->ooo.n, 0);
	cr_expect_eq(atomic_load(&th->hw->kept.bytes), 0);
}

/* All packets but one arrive: that one is requested, alone, and completes all. */
/* IBA 9.7.4 (expected), 9.7.5 (one-nak) */
Test(transport_kept, one_is_missing)
{
	for (uint32_t lost = 0; lost < 11; lost++) {
		struct th *th = wire();
		struct flight *f = fly(th);
		struct th_pkt p;

		for (uint32_t i = 0; i < f->n; i++)
			if (i != lost)
				th_give(&th->b, &f->p[i]);
		cr_expect_eq(th->b.qp->ooo.n, f->n - 1 - lost);
		th_flush(&th->b);
		th_deliver(&th->b);
		expect_one(th, nth(&f->p[lost]), &p);
		cr_expect(p.s.flags & DPA_PKT_ACKREQ, "and asks for news");
		th_give(&th->b, &p);
		th_flush(&th->b);
		th_settle(th);
		expect_all_right(th);
		th_free(th);
		free(f);
	}
}

/* Two are missing: each is requested once. */
/* IBA 9.7.5 (one-nak) */
Test(transport_kept, two_are_missing)
{
	for (uint32_t one = 0; one < 10; one++) {
		for (uint32_t two = one + 1; two < 11; two++) {
			struct th *th = wire();
			struct flight *f = fly(th);
			struct th_pkt p;

			for (uint32_t i = 0; i < f->n; i++)
				if (i != one && i != two)
					th_give(&th->b, &f->p[i]);
			th_flush(&th->b);
			th_deliver(&th->b);
			expect_one(th, nth(&f->p[one]), &p);
			th_give(&th->b, &p);
			th_flush(&th->b);
			th_deliver(&th->b);
			expect_one(th, nth(&f->p[two]), &p);
			th_give(&th->b, &p);
			th_flush(&th->b);
			th_settle(th);
			expect_all_right(th);
			th_free(th);
			free(f);
		}
	}
}

/* The last packet first, each one three times. */
Test(transport_kept, backwards_and_three_times)
{
	struct th *th = wire();
	struct flight *f = fly(th);

	for (uint32_t i = f->n; i--;)
		for (int k = 0; k < 3; k++)
			th_give(&th->b, &f->p[i]);
	th_flush(&th->b);
	th_settle(th);
	expect_all_right(th);
	th_free(th);
	free(f);
}

/* Any order. */
Test(transport_kept, any_order)
{
	uint64_t seed = 7;

	for (int round = 0; round < 500; round++) {
		struct th *th = wire();
		struct flight *f = fly(th);

		for (uint32_t i = f->n - 1; i; i--) {
			uint32_t k = th_rand(&seed) % (i + 1);
			struct th_pkt t = f->p[i];

			f->p[i] = f->p[k];
			f->p[k] = t;
		}
		for (uint32_t i = 0; i < f->n; i++) {
			th_give(&th->b, &f->p[i]);
			if (th_rand(&seed) % 3 == 0)
				th_give(&th->b, &f->p[th_rand(&seed) % f->n]);
		}
		th_flush(&th->b);
		th_settle(th);
		expect_all_right(th);
		th_free(th);
		free(f);
	}
}

static void forge_send(struct th *th, struct th_pkt *p, uint32_t n, uint32_t len)
{
	th_forge(&th->a, p, DPA_BTH_SEND_ONLY, PSN0 + n, len);
	p->s.flags = DPA_PKT_ACKREQ | dpa_pkt_mtu_flags(MTU);
	th_fill(p->data, len, n + 1);
}

static void give_send(struct th *th, uint32_t n, uint32_t len)
{
	struct th_pkt p;

	forge_send(th, &p, n, len);
	th_give(&th->b, &p);
}

/*
 * Give packets first to first + n - 1 of a SEND, as from one datagram; bytes as if it began at
 * `from`.
 */
static void give_part(struct th *th, uint8_t opcode, uint32_t from, uint32_t first, uint32_t n)
{
	uint32_t skip = first - from;
	uint8_t *bytes = malloc((skip + n) * MTU);
	struct dpa_pieces v = {.n = n};
	struct th_pkt p;

	cr_assert(bytes && sizeof(v) <= sizeof(p.data));
	th_forge(&th->a, &p, opcode, PSN0 + first, 0);
	p.s.len = n * MTU;
	p.s.flags = DPA_PKT_ACKREQ | DPA_PKT_IOV | dpa_pkt_mtu_flags(MTU);
	th_fill(bytes, (skip + n) * MTU, from);
	for (uint32_t i = 0; i < n; i++)
		v.iov[i] = (struct iovec){bytes + (skip + i) * MTU, MTU};
	memcpy(p.data, &v, sizeof(v));
	th_give(&th->b, &p);
	free(bytes); /* the queue holds a copy */
}

/* Give a whole SEND of n packets. */
static void give_run(struct th *th, uint32_t first, uint32_t n)
{
	give_part(th, DPA_BTH_SEND_ONLY, first, first, n);
}

/* Packets that are sent again arrive in other bursts: they are compared one by one. */
Test(transport_kept, the_same_packets_in_other_runs)
{
	struct th *th = wire();

	cr_assert(th_recv(&th->b, 0, 0, 1 << 16));
	cr_assert(th_recv(&th->b, 1, 1 << 16, 1 << 16));
	give_part(th, DPA_BTH_SEND_MIDDLE, 1, 3, 4);
	give_part(th, DPA_BTH_SEND_FIRST, 1, 1, 4);
	give_part(th, DPA_BTH_SEND_MIDDLE, 1, 5, 2);
	give_part(th, DPA_BTH_SEND_LAST, 1, 6, 5);
	give_run(th, 1, 10);
	cr_expect_eq(th_count(th, DPA_CNT_ahead_copies_differ), 0);
	give_send(th, 0, 9);
	cr_expect(th_check(th->b.mem + (1 << 16), 10 * MTU, 1));
	cr_expect_eq(th->b.qp->ooo.n, 0);
	th_free(th);
}

/* One packet of a burst differs from the queued one: its whole burst is dropped, and no other. */
Test(transport_kept, a_run_that_differs)
{
	struct th *th = wire();

	give_part(th, DPA_BTH_SEND_FIRST, 1, 1, 4);
	give_part(th, DPA_BTH_SEND_LAST, 1, 5, 6);
	cr_expect_eq(th->b.qp->ooo.n, 10);
	give_part(th, DPA_BTH_SEND_MIDDLE, 2, 4, 1); /* other bytes */
	cr_expect_eq(th_count(th, DPA_CNT_ahead_copies_differ), 1);
	cr_expect_eq(th->b.qp->ooo.n, 6);
	give_part(th, DPA_BTH_SEND_LAST, 1, 5, 2); /* no other end */
	cr_expect_eq(th_count(th, DPA_CNT_ahead_copies_differ), 2);
	cr_expect_eq(th->b.qp->ooo.n, 0);
	give_part(th, DPA_BTH_SEND_FIRST, 1, 1, 4);
	give_part(th, DPA_BTH_SEND_FIRST, 1, 2, 2); /* no other start */
	cr_expect_eq(th->b.qp->ooo.n, 0);
	th_free(th);
}

/* Packets that arrived together are queued together, and executed in one step. */
Test(transport_kept, runs)
{
	struct th *th = wire();
	struct th_pkt p;

	for (uint32_t i = 0; i < 4; i++)
		cr_assert(th_recv(&th->b, i, i << 16, 1 << 16));
	give_run(th, 1, 10);
	cr_expect_eq(th->b.qp->ooo.n, 10);
	cr_expect_eq(th_count(th, DPA_CNT_out_of_sequence), 10u);
	give_run(th, 1, 10); /* twice */
	give_part(th, DPA_BTH_SEND_FIRST, 1, 1, 4);
	cr_expect_eq(th->b.qp->ooo.n, 10);
	give_run(th, 12, 5);
	cr_expect_eq(th->b.qp->ooo.n, 15);
	expect_answer(th, 0, NAK(DPA_NAK_PSN_SEQ), &p);
	give_send(th, 0, 9);
	cr_expect(th_check(th->b.mem, 9, 1));
	cr_expect(th_check(th->b.mem + (1 << 16), 10 * MTU, 1));
	cr_expect_eq(th->b.qp->ooo.n, 5, "another one is missing");
	expect_answer(th, 11, NAK(DPA_NAK_PSN_SEQ), &p);
	give_send(th, 11, 9);
	cr_expect(th_check(th->b.mem + (3 << 16), 5 * MTU, 12));
	cr_expect_eq(th->b.qp->ooo.n, 0);
	cr_expect_eq(atomic_load(&th->hw->kept.bytes), 0);
	th_free(th);
}

Test(transport_kept, only_so_many)
{
	struct th *th = wire();
	struct th_pkt p;

	for (uint32_t i = 0; i < 64; i++)
		cr_assert(th_recv(&th->b, i, i * MTU, MTU));
	for (uint32_t n = 1; n < 2 * KEPT_MAX; n++)
		give_send(th, n, n);
	cr_expect_eq(th->b.qp->ooo.n, KEPT_MAX);
	expect_answer(th, 0, NAK(DPA_NAK_PSN_SEQ), &p);
	give_send(th, 0, 0);
	for (uint32_t n = 0; n < 64; n++)
		cr_expect(th_check(th->b.mem + n * MTU, n, n + 1));
	/* no receive for the 65th: it stays, like all later ones */
	cr_expect_eq(th->b.qp->ooo.n, KEPT_MAX - 63);
	expect_answer(th, 64, RNR(1), &p);
	th_free(th);
}

Test(transport_kept, only_so_much)
{
	struct th *th = wire();

	atomic_store(&th->hw->kept.bytes, KEPT_BYTES - 1000); /* of other QPs */
	give_send(th, 2, MTU);
	cr_expect_eq(th->b.qp->ooo.n, 0);
	give_send(th, 2, 1);
	cr_expect_eq(th->b.qp->ooo.n, 1);
	dpa_kept_drop(th->b.qp);
	cr_expect_eq(atomic_load(&th->hw->kept.bytes), KEPT_BYTES - 1000);
	atomic_store(&th->hw->kept.bytes, 0);
	th_free(th);
}

/*
 * Memory for long ones is cached, a few MiB of it, and each kind counts with its own size. Freed
 * memory would be faulted in again page by page, which took longer than all other work.
 */
Test(transport_kept, memory_is_held_ready)
{
	struct th *th = wire();
	struct dpa_kept *first;
	uint32_t most = 0;

	give_run(th, 1, 4);
	first = th->b.qp->ooo.list;
	cr_assert_not_null(first);
	cr_expect_gt(atomic_load(&th->hw->kept.bytes), 4 * MTU);
	cr_expect_lt(atomic_load(&th->hw->kept.bytes), 5 * MTU);
	give_run(th, 6, 20);
	dpa_kept_drop(th->b.qp);
	cr_expect_eq(atomic_load(&th->hw->kept.bytes), 0);
	give_run(th, 3, 3); /* of the same kind */
	cr_expect_eq(th->b.qp->ooo.list, first);
	dpa_kept_drop(th->b.qp);
	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 128; i++)
			give_run(th, 1 + 4 * i, 3);
		cr_expect_geq(th->b.qp->ooo.n, 128 * 3);
		dpa_kept_drop(th->b.qp);
		most = most > th->hw->kept.spare_bytes ? most : th->hw->kept.spare_bytes;
	}
	cr_expect(most > 0 && most <= 4u << 20, "%u", most);
	cr_expect_eq(atomic_load(&th->hw->kept.bytes), 0);
	th_free(th);
}

Test(transport_kept, not_on_shared_memory)
{
	struct th *th = rc();
	struct th_pkt p;

	th_forge(&th->a, &p, DPA_BTH_SEND_ONLY, PSN0 + 3, 10);
	th_give(&th->b, &p);
	cr_expect_eq(th->b.qp->ooo.n, 0);
	th_free(th);
}

static void modify(struct th *th, uint32_t state)
{
	struct dpa_qp_attr a = {.state = state};

	cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_STATE), 0);
}

Test(transport_kept, forgotten_with_the_qp)
{
	static const uint32_t ends[][2] = {
		{DPA_QPS_ERR, DPA_QPS_RESET}, {DPA_QPS_RESET, DPA_QPS_RESET}, {0, 0}};

	for (int i = 0; i < 3; i++) {
		struct th *th = wire();

		for (uint32_t n = 1; n < 20; n++)
			give_send(th, n, 100);
		cr_assert_eq(th->b.qp->ooo.n, 19);
		for (int k = 0; k < 2 && i < 2; k++) {
			modify(th, ends[i][k]);
			cr_expect_eq(atomic_load(&th->hw->kept.bytes), 0, "nobody comes for them");
			cr_expect_eq(th->b.qp->ooo.n, 0);
			cr_expect_null(th->b.qp->ooo.list);
		}
		th_free(th); /* the last one destroyed with them: for leak checkers */
	}
}

/* The missing packet finds no receive: it is sent again, those after it are not. */
/* IBA 9.7.5 (rnr) */
Test(transport_kept, no_receive_for_the_missing_one)
{
	struct th *th = wire();
	struct th_pkt p;
	struct flight f;

	for (uint32_t i = 0; i < 5; i++)
		th_send(&th->a, DPA_OP_SEND, i * MTU, 100, 0);
	take_all(&th->a, &f);
	for (uint32_t i = 1; i < 5; i++)
		th_give(&th->b, &f.p[i]);
	expect_answer(th, 0, NAK(DPA_NAK_PSN_SEQ), &p);
	th_give(&th->b, &f.p[0]);
	expect_answer(th, 0, RNR(1), &p);
	th_give(&th->b, &f.p[3]);
	expect_quiet(th);
	for (uint32_t i = 0; i < 5; i++)
		th_recv(&th->b, i, i * MTU, MTU);
	th_give(&th->b, &f.p[0]);
	expect_answer(th, 4, DPA_AETH_ACK, &p);
	th_give(&th->a, &p);
	expect_received(th, 5);
	th_free(th);
}

/* One of the queued packets finds no receive. */
/* IBA 9.7.5 (rnr) */
Test(transport_kept, no_receive_for_an_out_of_order_packet)
{
	for (uint32_t n = 1; n < 5; n++) {
		struct th *th = wire();
		struct th_pkt p;
		struct flight f;

		for (uint32_t i = 0; i < 6; i++)
			th_send(&th->a, DPA_OP_SEND, i * MTU, 100, 0);
		take_all(&th->a, &f);
		for (uint32_t i = 0; i < n; i++)
			th_recv(&th->b, i, i * MTU, MTU);
		for (uint32_t i = 1; i < 6; i++)
			th_give(&th->b, &f.p[i]);
		expect_answer(th, 0, NAK(DPA_NAK_PSN_SEQ), &p);
		th_give(&th->b, &f.p[0]);
		expect_answer(th, n, RNR(1), &p);
		th_give(&th->a, &p);
		for (uint32_t i = n; i < 6; i++)
			th_recv(&th->b, i, i * MTU, MTU);
		th_tick(th);
		th_settle(th);
		expect_received(th, 6);
		th_free(th);
	}
}

/* A packet is checked in its order, by the same rule: one path MTU. */
/* IBA C9-92, 9.9 (behind) */
Test(transport_kept, a_bad_out_of_order_packet_is_checked_in_order)
{
	static const struct {
		uint8_t op;
		uint32_t len;
	} bad[] = {{DPA_BTH_SEND_FIRST, 2 * MTU},
		   {DPA_BTH_SEND_ONLY, MTU + 1},
		   {DPA_BTH_SEND_MIDDLE, MTU},
		   {DPA_BTH_SEND_FIRST, MTU - 1},
		   {DPA_BTH_SEND_ONLY, 4 * MTU}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct th *th = wire();
		struct th_pkt p;
		struct dpa_cqe e;

		for (uint32_t k = 0; k < 4; k++)
			th_recv(&th->b, k, k * 8 * MTU, 8 * MTU);
		forge_send(th, &p, 1, bad[i].len);
		p.s.opcode = bad[i].op;
		th_give(&th->b, &p);
		give_send(th, 2, 10);
		expect_answer(th, 0, NAK(DPA_NAK_PSN_SEQ), &p);
		give_send(th, 0, 10);
		if (bad[i].len > MTU) { /* was not queued: is sent again */
			expect_answer(th, 1, NAK(DPA_NAK_PSN_SEQ), &p);
			forge_send(th, &p, 1, bad[i].len);
			p.s.opcode = bad[i].op;
			th_give(&th->b, &p);
		}
		expect_answer(th, 1, NAK(DPA_NAK_INV_REQ), &p);
		cr_expect_eq(th->b.qp->state, DPA_QPS_ERR, "case %zu", i);
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.status, DPA_CQE_OK);
		while (th_poll(&th->b.rcq, &e))
			cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
		th_free(th);
	}
}

/*
 * The missing packet arrives in the same batch: it is not requested any more. It was requested, and
 * its error was not reported: a receive that was too short completed twice.
 */
/* IBA 9.7.4 (too-short) */
Test(transport_kept, the_missing_one_comes_before_it_was_asked_for)
{
	struct th *th = wire();
	struct flight f;
	struct th_pkt p;
	struct dpa_cqe e;

	th_recv(&th->b, 1, 0, 2 * MTU);
	th_send(&th->a, DPA_OP_SEND, 0, 2 * MTU, 0);
	take_all(&th->a, &f);
	cr_assert_eq(f.n, 2);
	th_give(&th->b, &f.p[1]);
	th_give(&th->b, &f.p[0]);
	expect_answer(th, 1, DPA_AETH_ACK, &p);
	th_free(th);

	th = wire();
	th_recv(&th->b, 1, 0, MTU);
	th_recv(&th->b, 2, 8 * MTU, MTU);
	th_send(&th->a, DPA_OP_SEND, 0, 3 * MTU, 0);
	take_all(&th->a, &f);
	th_give(&th->b, &f.p[0]);
	th_give(&th->b, &f.p[2]);
	th_give(&th->b, &f.p[1]);
	expect_answer(th, 1, NAK(DPA_NAK_INV_REQ), &p);
	cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_LOC_LEN_ERR);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.wr_id, 2);
	cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	cr_expect_not(th_poll(&th->b.rcq, &e));
	th_free(th);
}

/*
 * A sends four packets that are lost, and only the first one again: return whether its ACK sends
 * the others.
 */
static bool goes_on_at_once(struct th *th, uint32_t n)
{
	struct th_pkt p;
	bool at_once;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 4 * MTU, 0);
	cr_assert_eq(th_drop_all(&th->a), 4);
	answer(th, n, NAK(DPA_NAK_PSN_SEQ));
	cr_assert(th_take(&th->a, &p));
	cr_assert_eq(nth(&p), n);
	if (th_drop_all(&th->a) == 3) /* without a wait for it */
		at_once = true;
	else {
		answer(th, n, ACK);
		at_once = th_drop_all(&th->a) == 3;
	}
	answer(th, n + 3, ACK);
	th_drop_all(&th->a);
	return at_once;
}

/*
 * A peer that had queued packets once was expected to queue them for ever: with its queue full,
 * each lost packet after the first cost a timer.
 */
Test(transport_kept, a_peer_with_a_full_queue_is_sent_everything)
{
	struct th *th = wire();
	struct th_pkt p;
	uint32_t n = 0, rounds = 0;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 4 * MTU, 0);
	th_drop_all(&th->a);
	answer(th, 0, NAK(DPA_NAK_PSN_SEQ));
	expect_one(th, 0, &p);
	answer(th, 3, ACK); /* the others were queued */
	for (n = 4; rounds < 30 && !goes_on_at_once(th, n); n += 4)
		rounds++;
	cr_expect_lt(rounds, 10, "%u", rounds);
	cr_expect_gt(rounds, 3, "it may have been two in a row");
	for (uint32_t i = 0; i < 300; i++)
		cr_expect(goes_on_at_once(th, n += 4), "and no other idea: round %u", i);
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
	th_free(th);
}
