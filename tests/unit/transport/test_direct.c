/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_direct.c - the direct path: its operations have the outcome of the packet path and take no
 * PSN; other operations go by packet. Waits are in test_direct_wait.c, long messages in
 * test_direct_long.c, guards in test_guard.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>
#include "ctx/export.h"
#include "ctx/qp.h"
#include "link/lane.h"
#include "harness.h"
#include "direct/direct.h"
#include "link/frame.h"

#define AT  (1u << 20) /* offset in the peer's memory */
#define PSN 0xfffffeu

static struct th *direct(uint32_t type)
{
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	return th_new(&(struct th_opt){.type = type, .psn = PSN, .pull = true, .direct = true});
}

static bool sent_packet(struct th_side *s)
{
	return dpa_lane_ready(&s->th->peer->rx[s->qp->lane]);
}

static void expect_done(struct th *th, uint8_t status)
{
	struct dpa_cqe e;

	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, status, "status %u", e.status);
	cr_expect_not(th_poll(&th->a.scq, &e));
}

static void moves(uint32_t type)
{
	static const uint32_t lens[] = {1, 8, 4095, 20001, 65536, 1u << 20};
	struct th *th = direct(type);

	for (uint32_t i = 0; i < 6; i++) {
		uint32_t n = lens[i];

		th_fill(th->a.mem, n, i);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, n, AT + i);
		cr_expect_not(sent_packet(&th->a), "%u bytes", n);
		expect_done(th, DPA_CQE_OK);
		cr_expect(th_check(th->b.mem + AT + i, n, i));
		if (type == DPA_QP_UC)
			continue;
		th_send(&th->a, DPA_OP_RDMA_READ, AT, n, AT + i);
		cr_expect_not(sent_packet(&th->a), "%u bytes", n);
		expect_done(th, DPA_CQE_OK);
		cr_expect(th_check(th->a.mem + AT, n, i));
	}
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), type == DPA_QP_UC ? 6u : 12u);
	cr_expect_eq(th->a.qp->req.send_psn, PSN);
	cr_expect_eq(th->a.qp->req.una_psn, PSN);
	/* and a packet has the PSN that the peer expects */
	th_recv(&th->b, 1, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
	cr_expect(sent_packet(&th->a));
	th_settle(th);
	expect_done(th, DPA_CQE_OK);
	th_free(th);
}

Test(transport_direct, rc_writes_and_reads)
{
	moves(DPA_QP_RC);
}

Test(transport_direct, uc_writes)
{
	moves(DPA_QP_UC);
}

Test(transport_direct, inline_and_several_sges)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .inl = "0123456789abcdefg",
			   .inl_len = 17,
			   .raddr = (uintptr_t)th->b.mem + 3,
			   .rkey = th->b.key};

	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	expect_done(th, DPA_CQE_OK);
	cr_expect(!memcmp(th->b.mem + 3, wr.inl, 17));
	memcpy(th->a.mem, "onetwothree", 11);
	wr = (struct th_wr){.op = DPA_OP_RDMA_WRITE,
			    .flags = DPA_WQE_SIGNALED,
			    .nsge = 3,
			    .sge = {{(uintptr_t)th->a.mem + 6, 5, th->a.key},
				    {(uintptr_t)th->a.mem + 3, 3, th->a.key},
				    {(uintptr_t)th->a.mem, 3, th->a.key}},
			    .raddr = (uintptr_t)th->b.mem,
			    .rkey = th->b.key};
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	expect_done(th, DPA_CQE_OK);
	cr_expect(!memcmp(th->b.mem, "threetwoone", 11));
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), 2u);
	th_free(th);
}

/* ---------------------------------------------------------------- by packet */

/* An RDMA WRITE of n bytes that the path does not take: a packet carries it, with this outcome. */
static void goes_by_packet(struct th *th, const struct th_wr *wr, uint8_t status, const char *why)
{
	uint64_t was = th_count(th, DPA_CNT_direct_ops);

	cr_assert(th_post(&th->a, wr));
	th_ring(&th->a);
	cr_expect(sent_packet(&th->a), "%s", why);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), was, "%s", why);
	th_settle(th);
	expect_done(th, status);
}

static struct th_wr a_write(struct th *th, uint32_t n)
{
	return (struct th_wr){.op = DPA_OP_RDMA_WRITE,
			      .flags = DPA_WQE_SIGNALED,
			      .nsge = 1,
			      .sge = {{(uintptr_t)th->a.mem, n, th->a.key}},
			      .raddr = (uintptr_t)th->b.mem + AT,
			      .rkey = th->b.key};
}

/* The responder refuses the same requests as on the packet path. */
Test(transport_direct, what_is_not_allowed_is_judged_by_the_responder)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct th *th = direct(DPA_QP_RC);
		struct th_wr wr = a_write(th, 64);
		uint8_t status = DPA_CQE_REM_ACCESS_ERR;
		struct dpa_mr *mr = &th->hw->export->mr[th->b.key >> DPA_KEY_TAG_BITS];
		struct dpa_qp_attr a = {.access = DPA_ACCESS_REMOTE_READ};

		switch (i) {
		case 0:
			wr.rkey ^= 1;
			break;
		case 1:
			wr.rkey = 0;
			break;
		case 2:
			wr.raddr = (uintptr_t)th->b.mem + TH_MEM - 63;
			break;
		case 3:
			wr.raddr = (uintptr_t)th->b.mem - 1;
			break;
		case 4:
			wr.raddr = UINT64_MAX - 8;
			break;
		case 5:
			mr->access = DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_READ;
			break;
		case 6:
			mr->pdn = 7;
			break;
		case 7:
			cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_ACCESS), 0);
			status = DPA_CQE_REM_INV_REQ_ERR;
			break;
		}
		goes_by_packet(th, &wr, status, "refused");
		mr->pdn = th->pdn;
		th_free(th);
	}
}

Test(transport_direct, memory_that_is_not_there_is_an_access_error)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = a_write(th, 100000);

	munmap(th->b.mem + AT + 65536, 65536);
	goes_by_packet(th, &wr, DPA_CQE_REM_ACCESS_ERR, "a hole");
	th_free(th);
}

Test(transport_direct, what_it_is_not_for_goes_by_packet)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = a_write(th, 64);

	wr.op = DPA_OP_RDMA_WRITE_IMM;
	th_recv(&th->b, 1, 0, 0);
	goes_by_packet(th, &wr, DPA_CQE_OK, "immediate data");
	wr = a_write(th, 0);
	goes_by_packet(th, &wr, DPA_CQE_OK, "no bytes");
	atomic_store(&th->hw->inspect, DPA_INSPECT_CAPTURE);
	dpa_grant_all(th->hw);
	wr = a_write(th, 64);
	goes_by_packet(th, &wr, DPA_CQE_OK, "a capture");
	atomic_store(&th->hw->inspect, 0);
	dpa_grant_all(th->hw);
	th_free(th);
}

/* The peer revokes the access while its process is captured. */
Test(transport_direct, a_grant_follows_capture_state_and_permissions)
{
	struct th *th = direct(DPA_QP_RC);
	_Atomic uint64_t *g = &th->hw->export->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX];
	struct dpa_qp_attr a = {.access = DPA_ACCESS_REMOTE_READ};
	uint64_t all = atomic_load(g);

	cr_expect(all & DPA_GRANT_WRITE && all & DPA_GRANT_READ && all & DPA_GRANT_RC);
	atomic_store(&th->hw->inspect, DPA_INSPECT_FAULT);
	dpa_grant_all(th->hw);
	dpa_grant_all(th->hw);
	cr_expect_eq(atomic_load(g), 0u);
	atomic_store(&th->hw->inspect, 0);
	dpa_grant_all(th->hw);
	dpa_grant_all(th->hw);
	cr_expect_eq(atomic_load(g), all);
	cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_ACCESS), 0);
	cr_expect_eq(atomic_load(g), all & ~(DPA_GRANT_WRITE | DPA_GRANT_ATOMIC));
	a.state = DPA_QPS_ERR;
	cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_STATE), 0);
	cr_expect_eq(atomic_load(g), 0u);
	th_free(th);
}

/* Small operations without individual polls are faster on the ring. */
Test(transport_direct, lists_and_unpolled_completions_go_by_the_ring)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = a_write(th, 64);
	struct dpa_cqe e;

	cr_assert(th_post(&th->a, &wr) && th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect(sent_packet(&th->a), "two at a time");
	th_settle(th);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), 0u);
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect(sent_packet(&th->a), "completions lie there");
	th_settle(th);
	while (th_poll(&th->a.scq, &e))
		;
	wr.flags = 0;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect(sent_packet(&th->a), "no completion is asked for");
	th_settle(th);
	wr.flags = DPA_WQE_SIGNALED;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect_not(sent_packet(&th->a));
	expect_done(th, DPA_CQE_OK);
	th_free(th);
}

/* Order: earlier packets are executed first. */
static void behind_a_packet(uint32_t type)
{
	struct th *th = direct(type);
	struct th_wr wr = a_write(th, 100000);
	struct dpa_cqe e;

	th_recv(&th->b, 1, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), 0u);
	th_settle(th);
	while (th_poll(&th->a.scq, &e))
		cr_expect_eq(e.status, DPA_CQE_OK);
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), 1u, "all of it has arrived");
	th_free(th);
}

Test(transport_direct, nothing_overtakes_a_packet_rc)
{
	behind_a_packet(DPA_QP_RC);
}

Test(transport_direct, nothing_overtakes_a_packet_uc)
{
	behind_a_packet(DPA_QP_UC);
}

/*
 * An operation in the SQ, whose queue is never empty, as with perftest. It is not queued behind the
 * others.
 */
static void behind_a_large_one(uint8_t op, uint32_t n, bool waits)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = a_write(th, 100000);
	struct dpa_cqe e;
	uint32_t head;

	wr.flags = 0;
	th->a.qp->skip.messages = 1;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_assert(sent_packet(&th->a));
	head = th->a.qp->tx->head;
	wr.op = op;
	wr.flags = DPA_WQE_SIGNALED;
	wr.sge[0].length = n;
	th_fill(th->a.mem, 100000, 3);
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect_eq(th->a.qp->tx->head == head, waits);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), 0u);
	th_settle(th);
	expect_done(th, DPA_CQE_OK);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), waits);
	cr_expect_eq(th->a.qp->req.una_psn, th->a.qp->req.send_psn);
	cr_expect(th_check(th->b.mem + AT, 100000, 3));
	/* without earlier operations at once */
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect_eq(th_count(th, DPA_CNT_direct_ops), waits + 1u);
	while (th_poll(&th->a.scq, &e))
		cr_expect_eq(e.status, DPA_CQE_OK);
	th_free(th);
}

Test(transport_direct, a_large_one_waits_for_large_ones_that_go_by_packet)
{
	behind_a_large_one(DPA_OP_RDMA_WRITE, 100000, true);
	behind_a_large_one(DPA_OP_RDMA_READ, 65536, true);
	behind_a_large_one(DPA_OP_RDMA_WRITE, 64, false);
}

/* The outstanding messages were lost, without a report. */
Test(transport_direct, a_large_one_waits_no_longer_than_that)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = a_write(th, 100000);
	uint32_t head;

	th->a.qp->skip.messages = 1;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	head = th->a.qp->tx->head;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_assert_neq(th->a.qp->part.until, 0u);
	th_ring(&th->a);
	cr_expect_eq(th->a.qp->tx->head, head);
	th->a.qp->part.until = 1;
	th_ring(&th->a);
	cr_expect_eq(th->a.qp->tx->head, head + 1);
	cr_expect_eq(th->a.qp->part.until, 0u);
	th_settle(th);
	th_free(th);
}

/* Each failed try means a wait for all outstanding operations: tries become rarer. */
Test(transport_direct, tries_without_permission_become_rarer)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = a_write(th, 100000);
	uint32_t rest = 0;

	atomic_store(&th->hw->export->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX], 0);
	for (int i = 0; i < 12; i++) {
		th->a.qp->skip.messages = 0;
		goes_by_packet(th, &wr, DPA_CQE_OK, "no grant");
		cr_expect(th->a.qp->skip.messages > rest || i > 8);
		rest = th->a.qp->skip.messages;
	}
	dpa_qplock_lock(&th->b.qp->lock);
	dpa_grant(th->b.qp);
	dpa_qp_leave(th->b.qp);
	th->a.qp->skip.messages = 0;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	expect_done(th, DPA_CQE_OK);
	cr_expect_eq(th->a.qp->skip.fails, 0u);
	th_free(th);
}

Test(transport_direct, one_that_waits_goes_by_packet_when_it_is_refused)
{
	struct th *th = direct(DPA_QP_RC);
	struct th_wr wr = a_write(th, 100000);
	struct dpa_cqe e;

	th->a.qp->skip.messages = 1;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	wr.rkey ^= 1;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	expect_done(th, DPA_CQE_REM_ACCESS_ERR);
	th_free(th);
}

/* ------------------------------------------------------------------ hazards */

/*
 * A thread that keeps writing while the region is removed and added again: nothing is written in
 * between.
 */
struct writer {
	struct th *th;
	_Atomic uint32_t key, over, rounds;
};

static void *writer(void *arg)
{
	struct writer *w = arg;
	struct th *th = w->th;
	struct dpa_cqe e;

	memset(th->a.mem, 1, 64);
	while (!atomic_load(&w->over)) {
		struct th_wr wr = a_write(th, 64);

		wr.rkey = atomic_load(&w->key);
		if (!th_post(&th->a,
			     &wr)) /* full: the other thread has the QP, and continues with it */
			sched_yield();
		th_ring(&th->a);
		th_drop_all(&th->a); /* these went by packet: another region had the key already */
		while (th_poll(&th->a.scq, &e))
			cr_assert_eq(e.status, DPA_CQE_OK);
		atomic_fetch_add(&w->rounds, 1);
	}
	return NULL;
}

Test(transport_direct, a_region_that_comes_and_goes, .timeout = 120)
{
	struct th *th = direct(DPA_QP_UC);
	struct dpa_mr_attr m = {.pdn = th->pdn, .access = TH_ALL, .length = TH_MEM};
	struct writer w = {.th = th, .key = th->b.key};
	uint32_t key = th->b.key;
	pthread_t t;

	m.addr = m.iova = (uintptr_t)th->b.mem;
	cr_assert_eq(pthread_create(&t, NULL, writer, &w), 0);
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t was = atomic_load(&w.rounds);
		uint64_t ops = th_count(th, DPA_CNT_direct_ops);

		while (atomic_load(&w.rounds) - was < i % 4)
			sched_yield();
		while (i % 4 == 3 && th_count(th, DPA_CNT_direct_ops) == ops)
			sched_yield(); /* failed tries make them rare */
		cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
		memset(th->b.mem + AT, 0, 64);
		for (int k = 0; k < 20; k++) {
			for (int at = 0; at < 64; at++)
				cr_assert_eq(((volatile uint8_t *)th->b.mem)[AT + at], 0);
			sched_yield();
		}
		cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &m, &key), 0);
		atomic_store(&w.key, key);
	}
	atomic_store(&w.over, 1);
	pthread_join(t, NULL);
	th->b.key = key;
	cr_expect_geq(th_count(th, DPA_CNT_direct_ops), 75u);
	th_free(th);
}

Test(transport_direct, each_thread_has_a_hazard_of_its_own_until_there_is_none)
{
	struct th *th = direct(DPA_QP_RC);
	struct dpa_hazard *h[DPA_HAZARDS];

	for (uint32_t i = 0; i < DPA_HAZARDS; i++) {
		h[i] = dpa_hazard_enter(th->hw, th->peer);
		cr_assert_not_null(h[i]);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_neq(h[i], h[k]);
	}
	cr_expect_null(dpa_hazard_enter(th->hw, th->peer));
	struct th_wr wr = a_write(th, 64);

	goes_by_packet(th, &wr, DPA_CQE_OK, "no hazard is free");
	for (uint32_t i = 0; i < DPA_HAZARDS; i++)
		dpa_hazard_leave(h[i]);
	th_free(th);
}
