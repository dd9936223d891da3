/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_cq.c - polling, resizing, purging. */
#include <criterion/criterion.h>
#include <pthread.h>
#include "control/control.h"
#include "cq/pollers.h"
#include "fake_hw.h"

struct cq_setup {
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct dpa_hw_cq *hw;
};

static void setup(struct cq_setup *s, int cqe)
{
	s->ctx = fake_open();
	s->cq = ibv_create_cq(s->ctx, cqe, NULL, NULL, 0);
	cr_assert(s->cq);
	s->hw = fake_cq(s->cq);
}

static void teardown(struct cq_setup *s)
{
	cr_assert_eq(ibv_destroy_cq(s->cq), 0);
	cr_assert_eq(ibv_close_device(s->ctx), 0);
	cr_assert_eq(fake.queue_bytes, 0);
}

static void push(struct cq_setup *s, uint64_t wr_id, uint32_t qpn)
{
	struct dpa_cqe e = {.wr_id = wr_id, .qpn = qpn};

	fake_cqe(s->hw, &e);
}

Test(cq, every_field_arrives)
{
	struct cq_setup s;
	struct ibv_wc wc;
	struct dpa_cqe e = {.wr_id = 0x123456789a,
			    .qpn = 5,
			    .byte_len = 0x80000000,
			    .imm = 0xfeed,
			    .src_qpn = 6,
			    .vendor_err = 7,
			    .pkey_index = 8,
			    .slid = 9,
			    .sl = 10,
			    .path_bits = 11,
			    .opcode = DPA_CQE_RECV,
			    .status = DPA_CQE_OK,
			    .flags = DPA_CQE_F_GRH | DPA_CQE_F_IMM | DPA_CQE_F_SOLICITED};

	setup(&s, 4);
	fake_cqe(s.hw, &e);
	cr_assert_eq(ibv_poll_cq(s.cq, 1, &wc), 1);
	cr_assert_eq(wc.wr_id, 0x123456789a);
	cr_assert_eq(wc.status, IBV_WC_SUCCESS);
	cr_assert_eq(wc.opcode, IBV_WC_RECV);
	cr_assert_eq(wc.byte_len, 0x80000000);
	cr_assert_eq(wc.imm_data, 0xfeed);
	cr_assert_eq(wc.qp_num, 5);
	cr_assert_eq(wc.src_qp, 6);
	cr_assert_eq(wc.vendor_err, 7);
	cr_assert_eq(wc.pkey_index, 8);
	cr_assert_eq(wc.slid, 9);
	cr_assert_eq(wc.sl, 10);
	cr_assert_eq(wc.dlid_path_bits, 11);
	cr_assert_eq(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM, "no device flag in it");
	cr_assert_eq(*s.hw->attr.ci, 1);
	teardown(&s);
}

Test(cq, order_holds_over_many_laps)
{
	struct cq_setup s;
	struct ibv_wc wc[8];
	uint64_t in = 0, out = 0;

	setup(&s, 8);
	for (int round = 0; round < 500; round++) {
		int n = round % 9;

		for (int i = 0; i < n; i++)
			push(&s, in++, 1);
		for (int left = n; left;) {
			int got = ibv_poll_cq(s.cq, 1 + round % 8, wc);

			cr_assert_gt(got, 0);
			for (int i = 0; i < got; i++)
				cr_assert_eq(wc[i].wr_id, out++);
			left -= got;
		}
		cr_assert_eq(ibv_poll_cq(s.cq, 8, wc), 0);
	}
	teardown(&s);
}

static const struct {
	enum dpa_cqe_status from;
	enum ibv_wc_status to;
} status[] = {
	{DPA_CQE_OK, IBV_WC_SUCCESS},
	{DPA_CQE_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR},
	{DPA_CQE_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR},
	{DPA_CQE_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR},
	{DPA_CQE_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR},
	{DPA_CQE_MW_BIND_ERR, IBV_WC_MW_BIND_ERR},
	{DPA_CQE_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR},
	{DPA_CQE_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR},
	{DPA_CQE_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR},
	{DPA_CQE_REM_OP_ERR, IBV_WC_REM_OP_ERR},
	{DPA_CQE_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR},
	{DPA_CQE_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR},
	{DPA_CQE_REM_ABORT_ERR, IBV_WC_REM_ABORT_ERR},
	{DPA_CQE_FATAL_ERR, IBV_WC_FATAL_ERR},
	{DPA_CQE_TM_ERR, IBV_WC_TM_ERR},
	{DPA_CQE_TM_RNDV_INCOMPLETE, IBV_WC_TM_RNDV_INCOMPLETE},
	{DPA_CQE_GENERAL_ERR, IBV_WC_GENERAL_ERR},
};

Test(cq, statuses)
{
	for (size_t i = 0; i < sizeof(status) / sizeof(status[0]); i++)
		cr_expect_eq(dpa_wc_status((uint8_t)status[i].from), status[i].to);
	cr_expect_eq(dpa_wc_status(200), IBV_WC_GENERAL_ERR);
}

static struct cq_setup *late;

static void push_late(void)
{
	push(late, 4711, 1);
}

Test(cq, an_empty_poll_drives_progress_and_looks_again)
{
	struct cq_setup s;
	struct ibv_wc wc;

	setup(&s, 4);
	late = &s;
	fake_on_progress = push_late;
	cr_assert_eq(ibv_poll_cq(s.cq, 1, &wc), 1);
	cr_assert_eq(wc.wr_id, 4711);
	cr_assert_eq(ibv_poll_cq(s.cq, 1, &wc), 0);
	teardown(&s);
}

/* The result: number of n polls that did not yield. */
struct turn {
	struct cq_setup *s;
	int n;
};

static void *poll_empty(void *arg)
{
	const struct turn *t = arg;
	int was = fake.held;
	struct ibv_wc wc;

	for (int i = 0; i < t->n; i++)
		cr_expect_eq(ibv_poll_cq(t->s->cq, 1, &wc), 0);
	return (void *)(uintptr_t)(fake.held - was);
}

static int poll_in_a_thread(struct cq_setup *s, int n)
{
	struct turn t = {s, n};
	pthread_t th;
	void *held;

	cr_assert_eq(pthread_create(&th, NULL, poll_empty, &t), 0);
	cr_assert_eq(pthread_join(th, &held), 0);
	return (int)(uintptr_t)held;
}

static int poll_here(struct cq_setup *s, int n)
{
	return (int)(uintptr_t)poll_empty(&(struct turn){s, n});
}

/* Polls that are a turn for sure: some ticks of the clock may pass meanwhile. */
#define MANY 1000

/* The program's lock is held then, and the other threads may spin for it. */
Test(cq, threads_that_poll_by_turns_do_not_yield)
{
	struct cq_setup s;

	setup(&s, 4);
	cr_expect_eq(poll_here(&s, MANY), 0, "one thread");
	cr_expect_gt(poll_in_a_thread(&s, MANY), 0, "from its turn on");
	cr_expect_eq(poll_here(&s, MANY), MANY);
	teardown(&s);
}

/* as UCX's, which drives ud_verbs by a timer */
Test(cq, a_helper_thread_that_polls_now_and_then_takes_no_turn)
{
	struct cq_setup s;

	setup(&s, 4);
	for (int i = 0; i < 10; i++) {
		cr_expect_eq(poll_here(&s, MANY), 0);
		cr_expect_eq(poll_in_a_thread(&s, DPA_POLLS_TURN - 1), 0);
	}
	teardown(&s);
}

Test(cq, polls_that_are_ticks_apart_are_no_turn)
{
	struct cq_setup s;
	struct dpa_cq_pollers *p;

	setup(&s, 4);
	p = &to_dpa_cq(s.cq)->pollers;
	poll_in_a_thread(&s, MANY);
	for (int i = 0; i < 10 * DPA_POLLS_TURN; i++) {
		p->tick--; /* another tick */
		cr_expect_eq(poll_here(&s, 1), 0);
	}
	teardown(&s);
}

Test(cq, a_cq_that_one_thread_takes_over_is_its_own_in_the_end)
{
	struct cq_setup s;

	setup(&s, 4);
	poll_in_a_thread(&s, MANY);
	cr_expect_gt(poll_here(&s, MANY), 0);
	to_dpa_cq(s.cq)->pollers.shared = 3;
	cr_expect_eq(poll_here(&s, MANY), 3);
	teardown(&s);
}

Test(cq, a_poller_that_always_finds_entries_drives_progress_too)
{
	struct cq_setup s;
	struct ibv_wc wc;

	setup(&s, 4);
	fake.progress = 0;
	for (int i = 0; i < 64; i++) {
		push(&s, 1, 1);
		cr_assert_eq(ibv_poll_cq(s.cq, 1, &wc), 1);
	}
	cr_assert_eq(fake.progress, 4);
	teardown(&s);
}

Test(cq, sizes_are_powers_of_two_and_limited)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_cq *cq = ibv_create_cq(ctx, 100, NULL, NULL, 0);

	cr_assert_eq(cq->cqe, 128);
	ibv_destroy_cq(cq);
	cr_assert_null(ibv_create_cq(ctx, 0, NULL, NULL, 0));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(ibv_create_cq(ctx, -1, NULL, NULL, 0));
	cr_assert_null(ibv_create_cq(ctx, DPA_MAX_CQE + 1, NULL, NULL, 0));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors));
	cr_assert_eq(errno, EINVAL);
	cq = ibv_create_cq(ctx, DPA_MAX_CQE, NULL, NULL, 0);
	cr_assert(cq);
	ibv_destroy_cq(cq);
	ibv_close_device(ctx);
}

Test(cq, resize_keeps_what_was_not_polled)
{
	struct cq_setup s;
	struct ibv_wc wc[32];

	setup(&s, 4);
	for (uint64_t i = 0; i < 3; i++)
		push(&s, i, 1);
	cr_assert_eq(ibv_poll_cq(s.cq, 2, wc), 2);
	for (uint64_t i = 3; i < 6; i++)
		push(&s, i, 1);
	cr_assert_eq(ibv_resize_cq(s.cq, 20), 0);
	cr_assert_eq(s.cq->cqe, 32);
	for (uint64_t i = 6; i < 30; i++)
		push(&s, i, 1);
	cr_assert_eq(ibv_resize_cq(s.cq, 16), EINVAL, "28 do not fit");
	cr_assert_eq(ibv_poll_cq(s.cq, 20, wc), 20);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(wc[i].wr_id, (uint64_t)i + 2);
	cr_assert_eq(ibv_resize_cq(s.cq, 8), 0);
	cr_assert_eq(ibv_poll_cq(s.cq, 32, wc), 8);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(wc[i].wr_id, (uint64_t)i + 22);
	cr_assert_eq(ibv_resize_cq(s.cq, 0), EINVAL);
	cr_assert_eq(ibv_resize_cq(s.cq, DPA_MAX_CQE + 1), EINVAL);
	teardown(&s);
}

/* For any earlier polls, and any later entries. */
Test(cq, purge_takes_those_of_one_qp_and_keeps_the_order)
{
	struct ibv_wc wc[8];

	for (uint32_t start = 0; start < 17; start++) {
		for (uint32_t pattern = 0; pattern < 256; pattern++) {
			struct cq_setup s;
			uint64_t want = 0, n = 0;

			setup(&s, 8);
			for (uint32_t i = 0; i < start; i++) {
				push(&s, 0, 3);
				cr_assert_eq(ibv_poll_cq(s.cq, 1, wc), 1);
			}
			for (uint32_t i = 0; i < 8; i++)
				push(&s, i, pattern >> i & 1 ? 1 : 2);
			dpa_cq_purge(to_dpa_cq(s.cq), 1);
			while (dpa_hw_cq_pi(s.hw) - *s.hw->attr.ci < 8)
				push(&s, 100 + n++, 4);
			cr_assert_eq(ibv_poll_cq(s.cq, 8, wc), 8);
			for (uint64_t i = 0; i < 8 - n; i++, want++) {
				while (pattern >> want & 1)
					want++;
				cr_assert_eq(wc[i].wr_id, want);
				cr_assert_eq(wc[i].qp_num, 2);
			}
			for (uint64_t i = 0; i < n; i++)
				cr_assert_eq(wc[8 - n + i].wr_id, 100 + i);
			teardown(&s);
		}
	}
}

Test(cq, purge_of_an_empty_cq)
{
	struct cq_setup s;
	struct ibv_wc wc;

	setup(&s, 2);
	dpa_cq_purge(to_dpa_cq(s.cq), 1);
	push(&s, 1, 1);
	dpa_cq_purge(to_dpa_cq(s.cq), 1);
	cr_assert_eq(ibv_poll_cq(s.cq, 1, &wc), 0);
	push(&s, 2, 2);
	cr_assert_eq(ibv_poll_cq(s.cq, 1, &wc), 1);
	cr_assert_eq(wc.wr_id, 2);
	teardown(&s);
}

/* ------------------------------------------------------------ two threads */

struct race {
	struct cq_setup s;
	_Atomic uint64_t sum;
	_Atomic uint32_t polled;
};

enum { RACE_CQES = 20000 };

static void *race_poll(void *arg)
{
	struct race *r = arg;
	struct ibv_wc wc[4];

	while (atomic_load(&r->polled) < RACE_CQES) {
		int n = ibv_poll_cq(r->s.cq, 4, wc);

		for (int i = 0; i < n; i++)
			atomic_fetch_add(&r->sum, wc[i].wr_id);
		atomic_fetch_add(&r->polled, (uint32_t)n);
	}
	return NULL;
}

Test(cq, two_pollers_share_without_loss)
{
	struct race r = {.sum = 0};
	pthread_t t[2];

	setup(&r.s, 64);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, race_poll, &r), 0);
	for (uint64_t i = 1; i <= RACE_CQES; i++) {
		while (r.s.hw->pi - __atomic_load_n(r.s.hw->attr.ci, __ATOMIC_ACQUIRE) == 64)
			sched_yield();
		push(&r.s, i, 1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	cr_assert_eq(r.sum, (uint64_t)RACE_CQES * (RACE_CQES + 1) / 2);
	teardown(&r.s);
}

/* --------------------------------------------------------------- extended */

/* Empty is not the end: entries that arrive meanwhile are next, also at the buffer's end. */
Test(cq_ex, next_poll_goes_on_with_what_came_meanwhile)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_poll_cq_attr pa = {0};

	for (uint32_t cqe = 1; cqe <= 8; cqe *= 2) {
		struct ibv_cq_init_attr_ex attr = {.cqe = cqe};
		struct ibv_cq_ex *ex = dpa_ctl_create_cq_ex(ctx, &attr);
		struct dpa_cqe e = {.wr_id = 0};
		struct dpa_hw_cq *hw;
		uint64_t want = 0;

		cr_assert(ex);
		verbs_init_cq(ibv_cq_ex_to_cq(ex), ctx, NULL, NULL);
		hw = fake_cq(ibv_cq_ex_to_cq(ex));
		for (uint32_t round = 0; round < 40; round++) {
			for (uint32_t n = 0; n < 1 + round % cqe; n++) {
				fake_cqe(hw, &e);
				e.wr_id++;
				cr_assert_eq(n ? ibv_next_poll(ex) : ibv_start_poll(ex, &pa), 0);
				cr_assert_eq(ex->wr_id, want++);
				cr_assert_eq(ibv_next_poll(ex), ENOENT);
				cr_assert_eq(ibv_next_poll(ex), ENOENT);
			}
			ibv_end_poll(ex);
			cr_assert_eq(*hw->attr.ci, hw->pi);
		}
		cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	}
	ibv_close_device(ctx);
}

/* An ignored overrun overwrites the oldest entries; the reader found nothing for laps. */
Test(cq_ex, a_reader_goes_on_behind_an_overrun)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_cq_init_attr_ex attr = {.cqe = 4,
					   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN};
	struct ibv_poll_cq_attr pa = {0};
	struct ibv_cq_ex *ex = dpa_ctl_create_cq_ex(ctx, &attr);
	struct ibv_cq *cq = ibv_cq_ex_to_cq(ex);
	struct dpa_cqe e = {.wr_id = 0};
	struct ibv_wc wc[8];

	cr_assert(ex);
	verbs_init_cq(cq, ctx, NULL, NULL);
	for (uint64_t over = 1; over < 30; over++) {
		uint64_t first;

		for (uint64_t n = 0; n < 4 + over; n++, e.wr_id++)
			fake_cqe(fake_cq(cq), &e);
		first = e.wr_id - 4;
		if (over % 2) {
			cr_assert_eq(ibv_poll_cq(cq, 8, wc), 4);
			for (uint64_t i = 0; i < 4; i++)
				cr_assert_eq(wc[i].wr_id, first + i);
		} else {
			for (uint64_t i = 0; i < 4; i++) {
				cr_assert_eq(i ? ibv_next_poll(ex) : ibv_start_poll(ex, &pa), 0);
				cr_assert_eq(ex->wr_id, first + i);
			}
			cr_assert_eq(ibv_next_poll(ex), ENOENT);
			ibv_end_poll(ex);
		}
		cr_assert_eq(ibv_poll_cq(cq, 8, wc), 0);
	}
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	ibv_close_device(ctx);
}

Test(cq_ex, entries_are_read_one_by_one)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
	struct ibv_poll_cq_attr pa = {0};
	struct ibv_cq_ex *ex = dpa_ctl_create_cq_ex(ctx, &attr);
	struct dpa_hw_cq *hw;
	struct dpa_cqe e = {.status = DPA_CQE_WR_FLUSH_ERR, .timestamp = 99};

	cr_assert(ex);
	verbs_init_cq(ibv_cq_ex_to_cq(ex), ctx, NULL, NULL);
	hw = fake_cq(ibv_cq_ex_to_cq(ex));
	cr_assert_eq(hw->attr.flags, DPA_CQ_TIMESTAMP);
	for (int round = 0; round < 20; round++) {
		cr_assert_eq(ibv_start_poll(ex, &pa), ENOENT);
		for (e.wr_id = 0; e.wr_id < 3; e.wr_id++)
			fake_cqe(hw, &e);
		cr_assert_eq(ibv_start_poll(ex, &pa), 0);
		cr_assert_eq(ex->wr_id, 0);
		cr_assert_eq(ex->status, IBV_WC_WR_FLUSH_ERR);
		cr_assert_eq(ibv_wc_read_completion_ts(ex), 99);
		cr_assert_eq(ibv_next_poll(ex), 0);
		cr_assert_eq(ex->wr_id, 1);
		if (round & 1) {
			cr_assert_eq(ibv_next_poll(ex), 0);
			cr_assert_eq(ibv_next_poll(ex), ENOENT);
			ibv_end_poll(ex);
		} else {
			ibv_end_poll(ex);
			cr_assert_eq(ibv_start_poll(ex, &pa), 0);
			cr_assert_eq(ex->wr_id, 2);
			ibv_end_poll(ex);
		}
		cr_assert_eq(*hw->attr.ci, hw->pi);
	}
	pa.comp_mask = 1;
	cr_assert_eq(ibv_start_poll(ex, &pa), EINVAL);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	ibv_close_device(ctx);
}

/*
 * The attributes of an entry are its own, after any other entry; an absent attribute is not found.
 */
Test(cq_ex, successes_and_failures_in_every_order)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_poll_cq_attr pa = {0};

	for (uint32_t order = 0; order < 1 << 10; order++) {
		struct ibv_cq_init_attr_ex attr = {.cqe = 1u << order % 4};
		struct ibv_cq_ex *ex = dpa_ctl_create_cq_ex(ctx, &attr);
		struct dpa_hw_cq *hw;

		cr_assert(ex);
		verbs_init_cq(ibv_cq_ex_to_cq(ex), ctx, NULL, NULL);
		hw = fake_cq(ibv_cq_ex_to_cq(ex));
		for (uint32_t i = 0; i < 5;
		     i++) { /* the next entry is requested before it arrives, too */
			bool bad = order >> i & 1, waits = order >> (5 + i) & 1;
			struct dpa_cqe e = {.wr_id = i,
					    .opcode = (uint8_t)(bad ? 0 : 0x80 + i),
					    .status = bad ? DPA_CQE_REM_OP_ERR : DPA_CQE_OK,
					    .flags = (uint8_t)i};

			if (waits && i)
				cr_assert_eq(ibv_next_poll(ex), ENOENT);
			fake_cqe(hw, &e);
			cr_assert_eq(i ? ibv_next_poll(ex) : ibv_start_poll(ex, &pa), 0);
			cr_assert_eq(ex->wr_id, i);
			cr_assert_eq(ex->status, bad ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS);
			cr_assert_eq((unsigned int)ibv_wc_read_opcode(ex), e.opcode);
			cr_assert_eq(ibv_wc_read_wc_flags(ex), i);
			if (i % 2 && !waits) { /* another poll's turn */
				ibv_end_poll(ex);
				cr_assert_eq(ibv_start_poll(ex, &pa), ENOENT);
				fake_cqe(hw, &(struct dpa_cqe){.wr_id = 99});
				cr_assert_eq(ibv_start_poll(ex, &pa), 0);
				cr_assert_eq(ex->wr_id, 99);
				cr_assert_eq(ex->status, IBV_WC_SUCCESS);
			}
		}
		cr_assert_eq(ibv_next_poll(ex), ENOENT);
		ibv_end_poll(ex);
		cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	}
	ibv_close_device(ctx);
}

/* A CQ for a single thread takes no lock, not even an uncontended one. */
Test(cq_ex, single_threaded_takes_no_lock)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_poll_cq_attr pa = {0};

	for (int single = 0; single < 2; single++) {
		struct ibv_cq_init_attr_ex attr = {
			.cqe = 8,
			.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
			.flags = single ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0};
		struct ibv_cq_ex *ex = dpa_ctl_create_cq_ex(ctx, &attr);
		struct dpa_cqe e = {.wr_id = 1};
		struct dpa_cq *cq;

		cr_assert(ex);
		cq = to_dpa_cq(ibv_cq_ex_to_cq(ex));
		verbs_init_cq(ibv_cq_ex_to_cq(ex), ctx, NULL, NULL);
		fake_cqe(fake_cq(ibv_cq_ex_to_cq(ex)), &e);
		cr_assert_eq(ibv_start_poll(ex, &pa), 0);
		cr_expect_eq(atomic_load(&cq->lock.taken), single ? 0 : 1);
		ibv_end_poll(ex);
		cr_expect_eq(atomic_load(&cq->lock.taken), 0);
		cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	}
	ibv_close_device(ctx);
}

/* A poller that always found an entry starved arriving packets. */
Test(cq_ex, a_poller_that_always_finds_entries_drives_progress_too)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_cq_init_attr_ex attr = {.cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_cq_ex *ex = dpa_ctl_create_cq_ex(ctx, &attr);
	struct ibv_poll_cq_attr pa = {0};
	struct dpa_cqe e = {.wr_id = 1};

	cr_assert(ex);
	verbs_init_cq(ibv_cq_ex_to_cq(ex), ctx, NULL, NULL);
	fake.progress = 0;
	for (int i = 0; i < 64; i++) {
		fake_cqe(fake_cq(ibv_cq_ex_to_cq(ex)), &e);
		cr_assert_eq(ibv_start_poll(ex, &pa), 0);
		ibv_end_poll(ex);
	}
	cr_assert_eq(fake.progress, 4);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	ibv_close_device(ctx);
}

Test(cq_ex, unknown_flags)
{
	struct ibv_context *ctx = fake_open();
	struct ibv_cq_init_attr_ex attr = {.cqe = 8, .wc_flags = IBV_WC_EX_WITH_CVLAN};

	cr_assert_null(dpa_ctl_create_cq_ex(ctx, &attr));
	cr_assert_eq(errno, EOPNOTSUPP);
	attr.wc_flags = 0;
	attr.comp_mask = 1 << 7;
	cr_assert_null(dpa_ctl_create_cq_ex(ctx, &attr));
	cr_assert_eq(errno, EINVAL);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 1 << 9;
	cr_assert_null(dpa_ctl_create_cq_ex(ctx, &attr));
	cr_assert_eq(errno, EOPNOTSUPP);
	ibv_close_device(ctx);
}
