/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pull.c - a cooperative copy of a large message: its receiver fetches it, and its sender,
 * which polls, copies segments. The sender acts when the receiver asks it to check (th_polls), so
 * the tests can produce every order.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/mman.h>
#include "ctx/export.h"
#include "ctx/qp.h"
#include "transport/api.h"
#include "harness.h"
#include "direct/direct.h"

enum { LEN = 700001, AT = 1 << 20 };

static struct dpa_tx *the_lanes;
static uint32_t asked; /* how often the sender was asked to check */
static int brought;    /* segments copied by the sender */

static void helps(struct dpa_tx *lanes)
{
	the_lanes = lanes;
	asked++;
	for (uint32_t i = 0; i < DPA_LANES; i++)
		brought += dpa_pull_bring(&lanes[i]);
}

static struct th *pulls(void (*sender)(struct dpa_tx *))
{
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	th_polls = sender;
	return th_new(&(struct th_opt){.pull = true});
}

static struct dpa_job *job_of(struct dpa_tx *lanes)
{
	for (uint32_t i = 0; i < DPA_LANES; i++)
		if (atomic_load(&lanes[i].shm->job.open))
			return &lanes[i].shm->job;
	return NULL;
}

/* A message from a to b, which arrives whole; the sender copies `n` bytes of it. */
static void comes(struct th *th, uint8_t op, uint32_t len, uint64_t n)
{
	static uint64_t id;
	uint64_t before = th_count(th, DPA_CNT_pull_brought);
	struct dpa_cqe e;

	th_fill(th->a.mem + 3, len, ++id);
	memset(th->b.mem, 0, TH_MEM);
	if (op == DPA_OP_SEND)
		th_recv(&th->b, 1, AT, len);
	th_send(&th->a, op, 3, len, AT);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect(th_check(th->b.mem + AT, len, id), "%u bytes", len);
	cr_expect_eq(th->b.mem[AT - 1] | th->b.mem[AT + len], 0);
	cr_expect_eq(th_count(th, DPA_CNT_pull_brought) - before, n, "%u bytes", len);
}

/* The receiver itself copies the last number of a WRITE, after all other bytes. */
Test(transport_pull, the_sender_brings_all_of_it)
{
	static const uint32_t lens[] = {262144, 262145, 300000, LEN, DPA_PULL_CHUNK};
	static const uint32_t ends[] = {0, 1, 8, 1, 8};
	struct th *th = pulls(helps);

	for (uint32_t i = 0; i < 5; i++) {
		comes(th, DPA_OP_SEND, lens[i], lens[i]);
		comes(th, DPA_OP_RDMA_WRITE, lens[i], ends[i] ? lens[i] - ends[i] : 0);
	}
	comes(th, DPA_OP_RDMA_WRITE, 2 * DPA_PULL_CHUNK + 300004, 2 * DPA_PULL_CHUNK + 300000);
	cr_expect_eq(asked, 12);
	comes(th, DPA_OP_SEND, 262143, 0); /* too short */
	cr_expect_eq(asked, 12);
	cr_expect_null(job_of(the_lanes));
	th_free(th);
}

static struct th *whole;

static void helps_and_looks(struct dpa_tx *lanes)
{
	const uint8_t *end = whole->b.mem + AT + 300000;

	helps(lanes);
	cr_expect_neq(end[-9], 0, "the byte in front of it is there");
	for (int i = 1; i <= 8; i++)
		cr_expect_eq(end[-i], 0, "who polls on the end would find it");
}

/* Two cores copy the segments in any order, and the kernel copies each in any order. */
Test(transport_pull, the_number_at_the_end_comes_last)
{
	whole = pulls(helps_and_looks);
	comes(whole, DPA_OP_RDMA_WRITE, 300000, 300000 - 8);
	cr_expect_eq(asked, 1);
	th_free(whole);
}

/* It posts, sleeps, computes: its receiver needs no helper. */
static void is_busy(struct dpa_tx *lanes)
{
	(void)lanes;
	asked++;
}

Test(transport_pull, the_sender_does_not_poll)
{
	struct th *th = pulls(is_busy);

	comes(th, DPA_OP_SEND, LEN, 0);
	comes(th, DPA_OP_RDMA_WRITE, LEN, 0);
	cr_expect_eq(asked, 2);
	th_free(th);
}

/* Another thread of the sender has the QP. */
static void finds_it_taken(struct dpa_tx *lanes)
{
	struct dpa_hw *hw = lanes->peer->hw;
	uint32_t src = atomic_load(&job_of(lanes)->src);
	struct dpa_hw_qp *qp = atomic_load(&hw->qps.tab[src]);

	cr_assert(dpa_qplock_enter_or_note(&qp->lock));
	helps(lanes);
	dpa_qp_leave(qp);
}

Test(transport_pull, another_thread_has_the_qp)
{
	struct th *th = pulls(finds_it_taken);

	comes(th, DPA_OP_SEND, LEN, 0);
	cr_expect_eq(brought, 0);
	th_free(th);
}

/* A thread takes a segment and never reports again. */
static void dies(struct dpa_tx *lanes)
{
	struct dpa_job *j = job_of(lanes);

	atomic_fetch_add(&j->turn, 1);
	helps(lanes);
}

Test(transport_pull, the_copier_of_a_segment_is_gone)
{
	struct th *th = pulls(dies);
	uint32_t piece = (LEN / 4 + 4096) & ~4095u;

	comes(th, DPA_OP_SEND, LEN, LEN - piece);
	th_free(th);
}

/* The same; it is alive, and seems to run. */
static struct dpa_hazard *left_behind;

static void hangs(struct dpa_tx *lanes)
{
	left_behind = dpa_hazard_enter(lanes->peer->hw, lanes->peer);
	cr_assert_not_null(left_behind);
	dies(lanes);
}

Test(transport_pull, the_copier_of_a_segment_hangs)
{
	struct th *th = pulls(hangs);
	uint32_t piece = (LEN / 4 + 4096) & ~4095u;
	uint64_t t0 = th_now;

	th_now_step = 10000000;
	comes(th, DPA_OP_SEND, LEN, LEN - piece);
	cr_expect_geq(th_now - t0, DPA_HAZARD_WAIT_NS);
	cr_expect(strstr(th_logged, "gave up waiting"), "%s", th_logged);
	dpa_hazard_leave(left_behind);
	th_free(th);
}

/* A thread that reports late, or continues a copy that is over, disturbs no other. */
static uint64_t old_serial;

static void is_late(struct dpa_tx *lanes)
{
	struct dpa_job *j = job_of(lanes);

	if (old_serial) {
		atomic_store(&j->done[0], (uint32_t)old_serial);
		cr_expect_neq(atomic_load(&j->open), old_serial);
	}
	old_serial = atomic_load(&j->open);
	dies(lanes);
	atomic_store(&j->done[0], (uint32_t)old_serial - 1);
}

Test(transport_pull, late_words_are_of_no_use)
{
	struct th *th = pulls(is_late);
	uint32_t piece = (LEN / 4 + 4096) & ~4095u;

	for (int i = 0; i < 3; i++)
		comes(th, DPA_OP_SEND, LEN, LEN - piece);
	cr_expect_eq(dpa_pull_bring(the_lanes), 0);
	th_free(th);
}

/* One that returns segments for ever: it delays its own message, but takes the receiver's time. */
static _Atomic bool plays;

static void *player(void *arg)
{
	struct dpa_job *j = arg;
	uint64_t serial = atomic_load(&j->open);

	while (atomic_load(&plays))
		atomic_store(&j->turn, serial << 32);
	return NULL;
}

static pthread_t thread;

static void plays_with_the_turn(struct dpa_tx *lanes)
{
	atomic_store(&plays, true);
	cr_assert_eq(pthread_create(&thread, NULL, player, job_of(lanes)), 0);
}

Test(transport_pull, a_copy_that_never_ends)
{
	struct th *th = pulls(plays_with_the_turn);

	comes(th, DPA_OP_SEND, LEN, 0);
	atomic_store(&plays, false);
	pthread_join(thread, NULL);
	th_free(th);
}

/* A receiver that requests memory without access, or nonsense, gets nothing. */
static int wrong;

static void is_asked_for_nonsense(struct dpa_tx *lanes)
{
	struct dpa_job *j = job_of(lanes);

	switch (wrong) {
	case 0:
		atomic_fetch_add(&j->idx, 1);
		break;
	case 1:
		atomic_fetch_sub(&j->idx, 1);
		break;
	case 2:
		atomic_store(&j->off, 1);
		break;
	case 3:
		atomic_store(&j->off, UINT32_MAX);
		break;
	case 4:
		atomic_fetch_add(&j->len, 1);
		break;
	case 5:
		atomic_store(&j->piece, 0);
		break;
	case 6:
		atomic_store(&j->piece, 4096);
		break;
	case 7:
		atomic_store(&j->src, UINT32_MAX);
		break;
	case 8:
		atomic_fetch_xor(&j->src, 1);
		break;
	case 9:
		atomic_store(&j->open, 1ull << 32);
		break;
	case 10:
		lanes->peer->can_pull = false;
		break;
	}
	helps(lanes);
	lanes->peer->can_pull = true;
}

Test(transport_pull, nonsense_brings_nothing)
{
	for (wrong = 0; wrong <= 10; wrong++) {
		struct th *th = pulls(is_asked_for_nonsense);

		comes(th, DPA_OP_SEND, LEN, 0);
		cr_expect_eq(brought, 0, "case %d", wrong);
		th_free(th);
	}
}

/* The sender does not copy memory that it may not read any more. */
static struct th *the_th;

static void lost_its_region(struct dpa_tx *lanes)
{
	struct dpa_mr *mr = &the_th->hw->export->mr[the_th->a.key >> DPA_KEY_TAG_BITS];
	uint32_t key = atomic_load(&mr->key);

	atomic_store(&mr->key, 0);
	helps(lanes);
	atomic_store(&mr->key, key);
}

Test(transport_pull, the_senders_region_is_gone)
{
	the_th = pulls(lost_its_region);
	comes(the_th, DPA_OP_SEND, LEN, 0);
	cr_expect_eq(brought, 0);
	th_free(the_th);
}

/* The receive's memory is not mapped: neither can copy, and the receiver reports it. */
Test(transport_pull, the_receive_faults)
{
	struct th *th = pulls(helps);
	uint8_t *hole = th->b.mem + AT + 200000;
	struct dpa_cqe e;

	hole = (uint8_t *)((uintptr_t)hole & ~4095ul);
	cr_assert_eq(munmap(hole, 4096), 0);
	th_recv(&th->b, 1, AT, LEN);
	th_send(&th->a, DPA_OP_SEND, 0, LEN, 0);
	th_settle(th);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_neq(e.status, DPA_CQE_OK);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_REM_OP_ERR);
	cr_assert_neq(mmap(hole, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		      MAP_FAILED);
	th_free(th);
}

/* An entry may stand for no bytes; iov is NULL then and not read. */
Test(transport_pull, nothing_is_fetched_to_nowhere)
{
	struct th *th = pulls(helps);
	struct dpa_pull p = {.niov = 1, .iov = {{.addr = (uintptr_t)th->a.mem}}};
	const struct iovec stale = {.iov_base = th->b.mem, .iov_len = 1 << 20};
	struct dpa_slot s = {.opcode = DPA_BTH_RC | DPA_BTH_SEND_ONLY,
			     .flags = DPA_PKT_PULL,
			     .src = th->a.qp->qpn & DPA_QPN_INDEX};

	th_fill(th->a.mem, 1 << 20, 1);
	cr_expect_eq(dpa_scatter(th->b.qp, th->peer, &s, (uint8_t *)&p, &stale, 0), 0);
	for (uint32_t i = 0; i < 1 << 20; i++)
		cr_assert_eq(th->b.mem[i], 0);
	cr_expect_eq(asked, 0);
	th_free(th);
}

/* Several SGEs, on either side: only the receiver copies. */
Test(transport_pull, pieces_of_memory)
{
	struct th *th = pulls(helps);
	struct th_wr wr = {
		.op = DPA_OP_SEND,
		.flags = DPA_WQE_SIGNALED,
		.nsge = 2,
		.sge = {{.addr = (uintptr_t)th->a.mem, .length = 100000, .lkey = th->a.key},
			{.addr = (uintptr_t)th->a.mem + 100000,
			 .length = 200000,
			 .lkey = th->a.key}}};
	struct dpa_sge to[2] = {
		{.addr = (uintptr_t)th->b.mem + 100000, .length = 100000, .lkey = th->b.key},
		{.addr = (uintptr_t)th->b.mem + 200000, .length = 200000, .lkey = th->b.key}};
	struct dpa_cqe e;

	th_fill(th->a.mem, 300000, 5);
	th_recv_sges(&th->b, 1, to, 2);
	th_post(&th->a, &wr);
	th_ring(&th->a);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect(th_check(th->b.mem + 100000, 300000, 5));
	cr_expect_eq(asked, 0);
	th_free(th);
}
