/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_foreign.c - operations from and to memory that the process cannot address
 * (foreign/foreign.h): each path, each transport and link; no completion or ACK before its copy;
 * faults.
 */
#include <errno.h>
#include "foreign_two.h"
#include "eu/progress.h"
#include "transport/api.h"

static const uint32_t lengths[] = {1, 7, 8, 64, 1000, 1024, 1025, 4096, 8193, 65536, 70001, 300000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void writes_and_reads(const struct th_opt *opt)
{
	struct two t;

	begin(&t, opt);
	for (uint32_t i = 0; i < LENGTHS; i++) {
		const uint32_t n = lengths[i];

		th_fill(t.a.bytes + 3, n, i);
		post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_WRITE, 3, n));
		expect_ok(&t, &t.th->a.scq, 0);
		th_settle(t.th);
		while (opt->type == DPA_QP_UC && is_copying(t.th->b.qp))
			sched_yield(); /* it is complete when it was sent */
		cr_expect(th_check(t.b.bytes + 3, n, i), "WRITE of %u", n);
		if (opt->type == DPA_QP_UC)
			continue;
		th_fill(t.b.bytes + 100, n, 1000 + i);
		post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_READ, 100, n));
		expect_ok(&t, &t.th->a.scq, n);
		cr_expect(th_check(t.a.bytes + 100, n, 1000 + i), "READ of %u", n);
	}
	end(&t);
}

Test(transport_foreign, writes_and_reads, .timeout = 120)
{
	writes_and_reads(&(struct th_opt){0});
	writes_and_reads(&(struct th_opt){.mtu = 5, .pull = true});
}

Test(transport_foreign, writes_and_reads_where_packets_may_be_lost, .timeout = 120)
{
	writes_and_reads(&(struct th_opt){.lossy = true, .timeout = 20, .retry = 7});
	writes_and_reads(&(struct th_opt){.wire = true, .timeout = 20, .retry = 7});
}

static void sends(const struct th_opt *opt)
{
	struct two t;

	begin(&t, opt);
	for (uint32_t i = 0; i < LENGTHS; i++) {
		const uint32_t n = lengths[i], half = n / 2;
		struct dpa_sge into[2] = {sge_of(&t.b, 40, half),
					  {(uintptr_t)t.th->b.mem, n - half, t.th->b.key}};

		th_fill(t.a.bytes, n, i);
		cr_assert(th_recv_sges(&t.th->b, 9, into, 2));
		post(&t, &t.th->a,
		     (struct th_wr){.op = DPA_OP_SEND, .nsge = 1, .sge = {sge_of(&t.a, 0, n)}});
		expect_ok(&t, &t.th->b.rcq, n);
		expect_ok(&t, &t.th->a.scq, 0);
		cr_expect_arr_eq(t.b.bytes + 40, t.a.bytes, half, "%u", n);
		cr_expect_arr_eq(t.th->b.mem, t.a.bytes + half, n - half, "%u", n);
	}
	end(&t);
}

Test(transport_foreign, sends_into_both_kinds_of_memory, .timeout = 120)
{
	sends(&(struct th_opt){0});
	sends(&(struct th_opt){.pull = true});
	sends(&(struct th_opt){.wire = true, .timeout = 20, .retry = 7});
}

/* From memory of each kind, in one list; the other side has plain memory. */
Test(transport_foreign, gathers_from_both_kinds_of_memory, .timeout = 120)
{
	struct two t;

	begin(&t, &(struct th_opt){0});
	for (uint32_t i = 0; i < LENGTHS; i++) {
		const uint32_t n = lengths[i];
		struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
				   .nsge = 3,
				   .sge = {sge_of(&t.a, 0, n),
					   {(uintptr_t)t.th->a.mem, 11, t.th->a.key},
					   sge_of(&t.a, SIZE / 2, n)},
				   .raddr = (uintptr_t)t.th->b.mem,
				   .rkey = t.th->b.key};

		th_fill(t.a.bytes, n, i);
		th_fill(t.th->a.mem, 11, 50 + i);
		th_fill(t.a.bytes + SIZE / 2, n, 100 + i);
		post(&t, &t.th->a, wr);
		expect_ok(&t, &t.th->a.scq, 0);
		cr_expect(th_check(t.th->b.mem, n, i));
		cr_expect(th_check(t.th->b.mem + n, 11, 50 + i));
		cr_expect(th_check(t.th->b.mem + n + 11, n, 100 + i));
	}
	end(&t);
}

Test(transport_foreign, inline_data_immediates_and_flush)
{
	struct two t;
	struct th_wr wr;
	struct dpa_cqe e;

	begin(&t, &(struct th_opt){0});
	wr = one_sided(&t, DPA_OP_RDMA_WRITE_IMM, 0, 0);
	wr.nsge = 0;
	wr.inl = "inline";
	wr.inl_len = 7;
	wr.imm = 0x1234;
	cr_assert(th_recv(&t.th->b, 5, 0, 0));
	post(&t, &t.th->a, wr);
	e = until_cqe(&t, &t.th->b.rcq);
	cr_expect_eq(e.imm, 0x1234u);
	cr_expect_str_eq((char *)t.b.bytes, "inline");
	expect_ok(&t, &t.th->a.scq, 0);
	wr = one_sided(&t, DPA_OP_ATOMIC_WRITE, 64, 8);
	th_fill(t.a.bytes + 64, 8, 3);
	post(&t, &t.th->a, wr);
	expect_ok(&t, &t.th->a.scq, 0);
	cr_expect(th_check(t.b.bytes + 64, 8, 3));
	end(&t);
}

Test(transport_foreign, atomics)
{
	struct two t;
	struct th_wr wr;
	uint64_t v = 5, found;

	begin(&t, &(struct th_opt){0});
	memcpy(t.b.bytes + 80, &v, 8);
	wr = one_sided(&t, DPA_OP_ATOMIC_FA, 80, 8);
	wr.swap_add = 7;
	for (uint64_t i = 0; i < 10; i++) {
		post(&t, &t.th->a, wr);
		expect_ok(&t, &t.th->a.scq, 8);
		memcpy(&found, t.a.bytes + 80, 8);
		cr_expect_eq(found, 5 + 7 * i);
	}
	wr.op = DPA_OP_ATOMIC_CS;
	wr.compare = 75;
	wr.swap_add = 1;
	for (int i = 0; i < 2; i++) {
		post(&t, &t.th->a, wr);
		expect_ok(&t, &t.th->a.scq, 8);
		memcpy(&found, t.a.bytes + 80, 8);
		cr_expect_eq(found, i ? 1u : 75u);
		memcpy(&v, t.b.bytes + 80, 8);
		cr_expect_eq(v, 1u);
	}
	end(&t);
}

/* A READ of bytes that were written just before, by one QP: in order. */
Test(transport_foreign, a_read_behind_a_write)
{
	struct two t;
	struct th_wr wr;

	begin(&t, &(struct th_opt){0});
	for (uint32_t i = 0; i < 20; i++) {
		th_fill(t.a.bytes, 500, i);
		wr = one_sided(&t, DPA_OP_RDMA_WRITE, 0, 500);
		cr_assert(th_post(&t.th->a, &wr));
		wr.op = DPA_OP_RDMA_READ;
		wr.sge[0] = sge_of(&t.a, 10000, 500);
		cr_assert(th_post(&t.th->a, &wr));
		/* back from there: after the READ by its fence */
		wr = one_sided(&t, DPA_OP_RDMA_WRITE, 10000, 500);
		wr.raddr = (uintptr_t)t.b.view + 20000;
		wr.flags = DPA_WQE_FENCE;
		post(&t, &t.th->a, wr);
		expect_ok(&t, &t.th->a.scq, 0);
		cr_expect(th_check(t.b.bytes + 20000, 500, i), "round %u", i);
	}
	end(&t);
}

Test(transport_foreign, unconnected_and_unreliable, .timeout = 120)
{
	struct dpa_wqe_av av = {.is_global = 1, .qkey = 0x11111111};
	struct two t;
	struct dpa_sge into;

	writes_and_reads(&(struct th_opt){.type = DPA_QP_UC});
	begin(&t, &(struct th_opt){.type = DPA_QP_UD});
	memcpy(av.dgid, th_gid[0], 16);
	av.dqpn = t.th->b.qp->qpn;
	into = sge_of(&t.b, 0, 1040);
	cr_assert(th_recv_sges(&t.th->b, 1, &into, 1));
	th_fill(t.a.bytes, 1000, 77);
	post(&t, &t.th->a,
	     (struct th_wr){
		     .op = DPA_OP_SEND, .nsge = 1, .sge = {sge_of(&t.a, 0, 1000)}, .av = &av});
	expect_ok(&t, &t.th->a.scq, 0);
	expect_ok(&t, &t.th->b.rcq, 1040);
	cr_expect(th_check(t.b.bytes + 40, 1000, 77));
	end(&t);
}

/* ----------------------------------------------------------------- waiting work */

static void until_underway(struct two *t, struct fm *m)
{
	while (!atomic_load(&m->underway)) {
		th_settle(t->th);
		sched_yield();
	}
}

/* While the copy runs there is neither a completion nor an ACK. */
Test(transport_foreign, nothing_is_reported_before_the_copy)
{
	struct dpa_sge into;
	struct dpa_cqe e;
	struct two t;

	begin(&t, &(struct th_opt){0});
	atomic_store(&t.b.closed, true);
	into = sge_of(&t.b, 0, 100);
	cr_assert(th_recv_sges(&t.th->b, 1, &into, 1));
	post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_WRITE, 0, 100));
	post(&t, &t.th->a,
	     (struct th_wr){.op = DPA_OP_SEND, .nsge = 1, .sge = {sge_of(&t.a, 0, 100)}});
	until_underway(&t, &t.b);
	for (int i = 0; i < 1000; i++) {
		th_settle(t.th);
		cr_assert_not(th_poll(&t.th->b.rcq, &e));
		cr_assert_not(th_poll(&t.th->a.scq, &e));
	}
	atomic_store(&t.b.closed, false);
	expect_ok(&t, &t.th->b.rcq, 100);
	expect_ok(&t, &t.th->a.scq, 0);
	expect_ok(&t, &t.th->a.scq, 0);
	end(&t);
}

/* The ACK after the copy: the thread that copied wakes a sleeping peer. */
Test(transport_foreign, the_peer_is_woken_behind_the_copy)
{
	struct dpa_tx *tx;
	struct two t;

	begin(&t, &(struct th_opt){0});
	post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_WRITE, 0, 100));
	expect_ok(&t, &t.th->a.scq, 0);
	tx = t.th->b.qp->tx;
	atomic_store(&t.b.closed, true);
	post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_WRITE, 0, 100));
	until_underway(&t, &t.b);
	atomic_store(&tx->shm->watched, 1);
	atomic_store(&tx->kick_owed, 0);
	atomic_store(&t.b.closed, false);
	while (is_copying(t.th->b.qp))
		sched_yield();
	cr_expect_eq(atomic_load(&tx->kick_owed), 0u);
	expect_ok(&t, &t.th->a.scq, 0);
	end(&t);
}

static void deregister(struct two *t)
{
	cr_assert_eq(dpa_hw_dereg_mr(&t->th->ctx, t->b.key), 0);
}

static void reset_qp(struct two *t)
{
	struct dpa_qp_attr a = {.state = DPA_QPS_RESET};

	cr_assert_eq(dpa_hw_modify_qp(t->th->b.qp, &a, DPA_QPM_STATE), 0);
}

static void destroy(struct two *t)
{
	dpa_hw_destroy_qp(t->th->b.qp);
}

/* Each call waits for the copy, and not longer; other calls continue meanwhile. */
static void waits_for_copies(void (*act)(struct two *t))
{
	struct late l = {.act = act};
	struct fm other;
	pthread_t thread;
	struct two t;

	begin(&t, &(struct th_opt){0});
	l.t = &t;
	atomic_store(&t.b.closed, true);
	post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_WRITE, 0, 100));
	until_underway(&t, &t.b);
	cr_assert_eq(pthread_create(&thread, NULL, late_main, &l), 0);
	for (int i = 0; i < 200; i++) {
		cr_assert_not(atomic_load(&l.done));
		sched_yield();
	}
	fm_new(&other, 4096);
	cr_assert_eq(fm_reg(&other, &t.th->ctx, t.th->pdn, TH_ALL), 0, "hw->ctl is free");
	cr_assert_eq(dpa_hw_dereg_mr(&t.th->ctx, other.key), 0);
	fm_free(&other);
	atomic_store(&t.b.closed, false);
	pthread_join(thread, NULL);
	if (act == destroy)
		t.th->b.qp = NULL;
	else
		dpa_hw_destroy_qp(t.th->b.qp);
	dpa_hw_destroy_qp(t.th->a.qp);
	t.th->a.qp = t.th->b.qp = NULL;
	dpa_hw_dereg_mr(&t.th->ctx, t.a.key);
	if (act != deregister)
		dpa_hw_dereg_mr(&t.th->ctx, t.b.key);
	fm_free(&t.a);
	fm_free(&t.b);
	th_free(t.th);
}

Test(transport_foreign, deregistration_waits_for_copies)
{
	waits_for_copies(deregister);
}

Test(transport_foreign, the_error_state_waits_for_copies)
{
	waits_for_copies(fail_qp);
}

Test(transport_foreign, reset_waits_for_copies)
{
	waits_for_copies(reset_qp);
}

Test(transport_foreign, the_end_of_a_qp_waits_for_copies)
{
	waits_for_copies(destroy);
}

/* 200 WRITEs during the copy of the first: a few calls on either side. */
Test(transport_foreign, small_ones_go_together)
{
	struct two t;

	begin(&t, &(struct th_opt){0});
	th_fill(t.a.bytes, 200 * 64, 1);
	atomic_store(&t.a.closed, true);
	atomic_store(&t.b.closed, true);
	for (uint32_t i = 0; i < 200; i++) {
		struct th_wr wr = one_sided(&t, DPA_OP_RDMA_WRITE, i * 64, 64);

		wr.flags = i == 199 ? DPA_WQE_SIGNALED : 0;
		cr_assert(th_post(&t.th->a, &wr));
	}
	th_ring(&t.th->a);
	atomic_store(&t.a.closed, false);
	for (int i = 0; i < 1000; i++) {
		th_settle(t.th);
		sched_yield();
	}
	atomic_store(&t.b.closed, false);
	expect_ok(&t, &t.th->a.scq, 0);
	cr_expect(th_check(t.b.bytes, 200 * 64, 1));
	cr_expect_leq(atomic_load(&t.a.calls), 8u);
	cr_expect_leq(atomic_load(&t.b.calls), 20u);
	cr_expect_eq(atomic_load(&t.b.copies), 200u);
	end(&t);
}

/*
 * WRITEs of several SGEs without an ACK occupy all parts: they yield to later operations. The
 * thread dpa-foreign copies from the source, and sends; the peer does not poll meanwhile.
 */
Test(transport_foreign, what_was_sent_gives_way_to_what_follows, .timeout = 60)
{
	struct two t;
	struct th_wr wr;

	begin(&t, &(struct th_opt){0});
	for (int i = 0; i < 120; i++) {
		wr = one_sided(&t, DPA_OP_RDMA_WRITE, 0, 8);
		for (wr.nsge = 0; wr.nsge < 4; wr.nsge++)
			wr.sge[wr.nsge] = sge_of(&t.a, (uint32_t)(16 * wr.nsge), 8);
		cr_assert(th_post(&t.th->a, &wr));
	}
	th_fill(t.a.bytes, 400000, 5);
	wr = one_sided(&t, DPA_OP_RDMA_WRITE, 0, 400000);
	wr.flags = DPA_WQE_SIGNALED;
	cr_assert(th_post(&t.th->a, &wr));
	th_ring(&t.th->a);
	while (is_copying(t.th->a.qp))
		sched_yield();
	expect_ok(&t, &t.th->a.scq, 0);
	while (is_copying(t.th->b.qp))
		sched_yield();
	cr_expect(th_check(t.b.bytes, 400000, 5));
	end(&t);
}

/* ---------------------------------------------------------------------- faults */

static void faulty(uint8_t op, bool at_b, uint8_t status, bool recv, uint8_t recv_status)
{
	struct two t;
	struct dpa_sge into;
	struct dpa_cqe e;
	struct th_wr wr;

	begin(&t, &(struct th_opt){.retry = 7});
	wr = one_sided(&t, op, 0, dpa_op_is_atomic(op) ? 8 : 3000);
	/* an earlier one that succeeds */
	post(&t, &t.th->a, one_sided(&t, DPA_OP_RDMA_WRITE, 100000, 100));
	expect_ok(&t, &t.th->a.scq, 0);
	atomic_store(at_b ? &t.b.bad_at : &t.a.bad_at, 4);
	into = sge_of(&t.b, 0, 4000);
	if (recv)
		cr_assert(th_recv_sges(&t.th->b, 1, &into, 1));
	post(&t, &t.th->a, wr);
	if (recv && recv_status) {
		e = until_cqe(&t, &t.th->b.rcq);
		cr_expect_eq(e.status, recv_status, "op %u: %u", op, e.status);
	}
	e = until_cqe(&t, &t.th->a.scq);
	cr_expect_eq(e.status, status, "op %u, at %c: %u", op, at_b ? 'b' : 'a', e.status);
	cr_expect_eq(t.th->a.qp->state, DPA_QPS_ERR);
	end(&t);
}

/* A fault of the memory is reported like that of a page that is not mapped. */
Test(transport_foreign, faults)
{
	faulty(DPA_OP_RDMA_WRITE, false, DPA_CQE_LOC_PROT_ERR, false, 0);
	faulty(DPA_OP_RDMA_WRITE, true, DPA_CQE_REM_ACCESS_ERR, false, 0);
	faulty(DPA_OP_SEND, false, DPA_CQE_LOC_PROT_ERR, false, 0);
	faulty(DPA_OP_SEND, true, DPA_CQE_REM_OP_ERR, true, DPA_CQE_LOC_PROT_ERR);
	faulty(DPA_OP_RDMA_READ, false, DPA_CQE_LOC_PROT_ERR, false, 0);
	faulty(DPA_OP_RDMA_READ, true, DPA_CQE_REM_ACCESS_ERR, false, 0);
	faulty(DPA_OP_ATOMIC_FA, false, DPA_CQE_LOC_PROT_ERR, false, 0);
	faulty(DPA_OP_ATOMIC_FA, true, DPA_CQE_REM_ACCESS_ERR, false, 0);
}

/*
 * A message with more packets than the window holds: it fails before its last packet has arrived.
 */
static struct dpa_cqe fails_in_the_middle(struct two *t, uint8_t op)
{
	struct fm *m = op == DPA_OP_SEND ? &t->b : &t->a;
	struct dpa_sge into;

	atomic_store(&m->closed, true);
	atomic_store(&m->bad_at, 4);
	into = sge_of(&t->b, 0, SIZE);
	if (op == DPA_OP_SEND)
		cr_assert(th_recv_sges(&t->th->b, 1, &into, 1));
	post(t, &t->th->a, one_sided(t, op, 0, SIZE));
	until_underway(t, m);
	for (int i = 0; i < 1000; i++) {
		th_settle(t->th);
		sched_yield();
	}
	atomic_store(&m->closed, false);
	return until_cqe(t, op == DPA_OP_SEND ? &t->th->b.rcq : &t->th->a.scq);
}

Test(transport_foreign, a_failure_in_the_middle_of_a_message_is_reported, .timeout = 60)
{
	static const uint8_t ops[] = {DPA_OP_RDMA_READ, DPA_OP_SEND};

	for (int i = 0; i < 2; i++) {
		struct two t;
		struct dpa_cqe e;

		begin(&t, &(struct th_opt){.retry = 7});
		e = fails_in_the_middle(&t, ops[i]);
		cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR, "op %u: %u", ops[i], e.status);
		cr_expect_eq(e.vendor_err, DPA_SYN_LOCAL_FAULT, "op %u", ops[i]);
		end(&t);
	}
}

/* The next CQE of the SQ reports an unsignaled READ, not that of an earlier receive. */
Test(transport_foreign, a_fault_is_reported_in_its_own_queue, .timeout = 60)
{
	struct two t;
	struct dpa_cqe e;
	struct th_wr wr;

	begin(&t, &(struct th_opt){.retry = 7});
	atomic_store(&t.a.closed, true);
	atomic_store(&t.a.bad_at, 4);
	wr = one_sided(&t, DPA_OP_RDMA_READ, 0, 100);
	cr_assert(th_post(&t.th->a, &wr));
	th_ring(&t.th->a);
	until_underway(&t, &t.a);
	cr_assert(th_recv(&t.th->a, 5, 0, 100));
	th_send(&t.th->b, DPA_OP_SEND, 0, 8, 0);
	th_ring(&t.th->b);
	th_settle(t.th);
	wr = one_sided(&t, DPA_OP_RDMA_WRITE, 0, 8);
	wr.sge[0] = (struct dpa_sge){(uintptr_t)t.th->a.mem, 8, t.th->a.key};
	wr.raddr = (uintptr_t)t.th->b.mem;
	wr.rkey = t.th->b.key;
	post(&t, &t.th->a, wr);
	th_settle(t.th);
	atomic_store(&t.a.closed, false);
	e = until_cqe(&t, &t.th->a.rcq);
	cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR, "%u", e.status);
	e = until_cqe(&t, &t.th->a.scq);
	cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR, "%u", e.status);
	end(&t);
}

static _Atomic uint32_t begun, let;

static int step_copy(void *arg, const struct dpa_foreign_copy *list, uint32_t n)
{
	const uint32_t nth = atomic_fetch_add(&begun, 1);

	while (atomic_load(&let) <= nth)
		sched_yield();
	return fm_copy(arg, list, n);
}

/* An endless sequence of copies: each ends while the next READ is held. The list is never empty. */
Test(transport_foreign, held_completions_take_no_more_room, .timeout = 60)
{
	static const struct dpa_foreign_ops ops = {.copy = step_copy};
	struct dpa_mr_attr attr;
	struct two t;
	struct th_wr wr;
	uint32_t key;

	begin(&t, &(struct th_opt){0});
	cr_assert_eq(dpa_hw_query_mr(&t.th->ctx, t.a.key, &attr), 0);
	attr.foreign = &ops;
	cr_assert_eq(dpa_hw_reg_mr(&t.th->ctx, &attr, &key), 0);
	wr = one_sided(&t, DPA_OP_RDMA_READ, 0, 64);
	wr.sge[0].lkey = key;
	wr.raddr = (uintptr_t)t.th->b.mem;
	wr.rkey = t.th->b.key;
	for (uint32_t i = 0; i < 300; i++) {
		post(&t, &t.th->a, wr);
		while (puts_of(t.th->a.qp) != i + 1) {
			th_settle(t.th);
			sched_yield();
		}
		if (i) {
			atomic_store(&let, i);
			expect_ok(&t, &t.th->a.scq, 64);
		}
		while (atomic_load(&begun) != i + 1)
			sched_yield();
	}
	dpa_qplock_lock(&t.th->a.qp->lock);
	cr_expect_leq(t.th->a.qp->fq->cqe_room, 64u);
	dpa_qp_leave(t.th->a.qp);
	atomic_store(&let, 300);
	expect_ok(&t, &t.th->a.scq, 64);
	dpa_hw_destroy_qp(t.th->a.qp);
	t.th->a.qp = NULL;
	cr_expect_eq(dpa_hw_dereg_mr(&t.th->ctx, key), 0);
	end(&t);
}

/* ---------------------------------------------------------------- registration */

Test(transport_foreign, registration)
{
	struct dpa_mr_attr q, a;
	struct two t;
	struct fm m;
	uint32_t key;

	begin(&t, &(struct th_opt){0});
	fm_new(&m, 65536);
	cr_expect_eq(fm_reg(&m, &t.th->ctx, t.th->pdn, TH_ALL | DPA_ACCESS_MW_BIND), EOPNOTSUPP);
	cr_expect_eq(fm_reg(&m, &t.th->ctx, t.th->pdn, DPA_ACCESS_ON_DEMAND), EOPNOTSUPP);
	cr_expect_eq(fm_reg(&m, &t.th->ctx, 77, TH_ALL), EINVAL, "no such PD");
	cr_assert_eq(fm_reg(&m, &t.th->ctx, t.th->pdn, DPA_ACCESS_REMOTE_READ), 0);
	cr_assert_eq(dpa_hw_query_mr(&t.th->ctx, m.key, &q), 0);
	cr_expect_eq(q.type, (uint32_t)DPA_MR_FOREIGN);
	cr_expect_eq(q.access, (uint32_t)DPA_ACCESS_REMOTE_READ);
	cr_expect_eq(q.foreign, &fm_ops);
	cr_expect_eq(q.foreign_arg, &m);
	key = m.key;
	cr_expect_eq(dpa_hw_rereg_mr(&t.th->ctx, &key, DPA_REREG_ACCESS, &q), EOPNOTSUPP);
	cr_expect_not(dpa_hw_may_read(t.th->a.qp, m.key, (uintptr_t)m.view, 8));
	a = q;
	a.foreign = NULL;
	cr_expect_eq(dpa_hw_reg_mr(&t.th->ctx, &a, &key), EINVAL);
	cr_expect_eq(dpa_hw_dereg_mr(&t.th->ctx, m.key), 0);
	fm_free(&m);
	end(&t);
}
