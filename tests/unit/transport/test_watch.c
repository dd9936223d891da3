/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_watch.c - a poster that maps the queues and may write anything to them at any time:
 * eu/watch.c with the real transport. docs/device-reference.md, 2.4.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include "eu/watch.h"
#include "harness.h"
#include "transport/api.h"

static uint64_t word __attribute__((aligned(8)));

static struct th *watched(const struct th_opt *opt)
{
	struct th *th = th_new(opt);

	word = th->a.pi;
	cr_assert_eq(dpa_hw_watch_sq(th->a.qp, &word), 0);
	return th;
}

static void over(struct th *th)
{
	cr_expect_eq(dpa_hw_watch_sq(th->a.qp, NULL), 0);
	th_free(th);
}

/* Let the EU poll. */
static void look(struct th *th)
{
	struct dpa_hw_qp *qp = th->a.qp;

	dpa_qplock_lock(&qp->lock);
	dpa_watch_take(qp);
	dpa_requester_run(qp);
	dpa_qp_leave(qp);
}

/* Write to the SQ only. */
static void put(struct th *th, const struct th_wr *wr)
{
	const uint32_t pi = __atomic_load_n(&th->a.dbrec.sq_pi, __ATOMIC_RELAXED);

	cr_assert(th_post(&th->a, wr));
	__atomic_store_n(&th->a.dbrec.sq_pi, pi, __ATOMIC_RELAXED);
}

static struct th_wr write_of(struct th *th, uint32_t off, uint32_t len)
{
	return (struct th_wr){.op = DPA_OP_RDMA_WRITE,
			      .flags = DPA_WQE_SIGNALED,
			      .nsge = 1,
			      .sge = {{(uintptr_t)th->a.mem + off, len, th->a.key}},
			      .raddr = (uintptr_t)th->b.mem + off,
			      .rkey = th->b.key};
}

static void store(struct th *th)
{
	__atomic_store_n(&word, (uint64_t)th->a.pi, __ATOMIC_RELEASE);
	look(th);
}

static struct dpa_wqe_ctrl *ctrl_at(struct th *th, uint32_t idx)
{
	return (void *)(th->a.sq + (idx & ((1u << TH_LOG_SQ) - 1)) * DPA_WQEBB);
}

static void expect_cqe(struct th *th, uint64_t wr_id, uint8_t status, uint32_t syn)
{
	struct dpa_cqe e;

	cr_assert(th_poll(&th->a.scq, &e), "wr %llu", (unsigned long long)wr_id);
	cr_expect_eq(e.wr_id, wr_id);
	cr_expect_eq(e.status, status, "wr %llu: status %u", (unsigned long long)wr_id, e.status);
	cr_expect_eq(e.vendor_err, syn, "wr %llu: %#x", (unsigned long long)wr_id, e.vendor_err);
}

static void expect_none(struct th *th)
{
	struct dpa_cqe e;

	cr_expect_not(th_poll(&th->a.scq, &e));
}

/* Replaces the wake-up of the EU. */
static uint32_t kicks;

void dpa_hw_kick_sq(struct dpa_hw_qp *qp)
{
	(void)qp;
	kicks++;
}

/*
 * Return the program calls no verb: the EU sleeps without a timer, and had polled the word without
 * success.
 */
static void error_of_the_device(uint32_t state)
{
	struct th *th = watched(&(struct th_opt){0});
	struct dpa_hw_qp *qp = th->a.qp;
	struct th_wr wr = write_of(th, 0, 100);

	dpa_qplock_lock(&qp->lock);
	dpa_qp_set_state(qp, state);
	dpa_qp_leave(qp);
	put(th, &wr);
	store(th);
	expect_none(th);
	cr_assert_eq(qp->poll.seen, word);
	kicks = 0;
	dpa_qplock_lock(&qp->lock);
	dpa_qp_to_error(qp);
	dpa_qp_leave(qp);
	cr_expect_gt(kicks, 0u, "state %u", state);
	cr_expect_neq(qp->poll.seen, word, "state %u", state);
	look(th);
	expect_cqe(th, 1, DPA_CQE_WR_FLUSH_ERR, DPA_SYN_FLUSHED);
	over(th);
}

Test(transport_watch, an_error_of_the_device_makes_the_eu_look)
{
	error_of_the_device(DPA_QPS_SQD);
	error_of_the_device(DPA_QPS_RTR);
}

/* Many laps of the ring, with WQEs of one block, and of several across its end. */
Test(transport_watch, posts)
{
	struct th *th = watched(&(struct th_opt){0});
	uint8_t inl[300];

	for (uint32_t i = 0; i < 500; i++) {
		struct th_wr wr = write_of(th, i * 64, 64);

		th_fill(th->a.mem + i * 64, 64, i);
		if (i % 3 == 0) {
			th_fill(inl, sizeof(inl), i);
			wr.inl = inl;
			wr.inl_len = 64 + i % 200;
			wr.nsge = 0;
		}
		put(th, &wr);
		store(th);
		cr_expect_eq(th->a.dbrec.sq_pi, th->a.pi);
		th_settle(th);
		expect_cqe(th, i + 1, DPA_CQE_OK, 0);
		cr_expect(th_check(th->b.mem + i * 64, 64, i), "%u", i);
		cr_expect_eq(th->a.dbrec.sq_ci, th->a.pi);
	}
	over(th);
}

/* The copy is sent, sent again and completed. */
Test(transport_watch, what_is_written_later_has_no_effect)
{
	struct th *th = watched(&(struct th_opt){.lossy = true, .timeout = 14, .retry = 7});
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .inl = "unchanged",
			   .inl_len = 10,
			   .raddr = (uintptr_t)th->b.mem,
			   .rkey = th->b.key,
			   .wr_id = 77};
	uint32_t ticks = 0;

	put(th, &wr);
	store(th);
	th_drop_all(&th->a);
	memset(th->a.sq, 0xff, DPA_WQEBB << TH_LOG_SQ);
	while (!th->b.mem[0] && ticks++ < 1000) {
		cr_assert(th_tick(th));
		th_settle(th);
	}
	expect_cqe(th, 77, DPA_CQE_OK, 0);
	cr_expect_str_eq((char *)th->b.mem, "unchanged");
	over(th);
}

/* The good ones in front are carried out, then one error completion; the rest is ignored. */
static void broken_by(uint8_t nbb)
{
	struct th *th = watched(&(struct th_opt){0});
	struct dpa_qp_attr attr;
	struct th_wr wr = write_of(th, 0, 100);

	th_fill(th->a.mem, 100, 5);
	put(th, &wr);
	put(th, &wr);
	ctrl_at(th, 1)->nbb = nbb;
	put(th, &wr);
	store(th);
	th_settle(th);
	look(th);
	expect_cqe(th, 1, DPA_CQE_OK, 0);
	expect_cqe(th, 2, DPA_CQE_LOC_QP_OP_ERR, DPA_SYN_BAD_WQE);
	expect_none(th);
	cr_expect(th_check(th->b.mem, 100, 5));
	dpa_hw_query_qp(th->a.qp, &attr);
	cr_expect_eq(attr.state, (uint32_t)DPA_QPS_ERR);
	store(th);
	put(th, &wr);
	store(th);
	expect_none(th);
	cr_expect_eq(dpa_watch_look(th->a.qp), DPA_LOOK_NEVER);
	over(th);
}

Test(transport_watch, a_wqe_of_a_wrong_length)
{
	broken_by(0);
	broken_by(3);
	broken_by(255);
}

/* Inline data has no SGEs: an SGE in its place was never checked. */
Test(transport_watch, inline_data_with_an_sge)
{
	struct th *th = watched(&(struct th_opt){0});
	struct th_wr wr = write_of(th, 0, 100);

	put(th, &wr);
	ctrl_at(th, 0)->flags |= DPA_WQE_INLINE;
	store(th);
	th_settle(th);
	look(th);
	expect_cqe(th, 1, DPA_CQE_LOC_QP_OP_ERR, DPA_SYN_BAD_WQE);
	over(th);
}

/* Values that are no producer index, after two good WQEs. */
Test(transport_watch, a_word_that_is_no_producer_index)
{
	const uint64_t bad[] = {1,     0,	   2 + 257,  1ull << 32 | 2,
				~0ull, UINT32_MAX, 1u << 31, (1ull << 63) | 3};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct th *th = watched(&(struct th_opt){0});
		struct th_wr wr = write_of(th, 0, 100);

		put(th, &wr);
		put(th, &wr);
		store(th);
		word = bad[i];
		look(th);
		th_settle(th);
		look(th);
		expect_cqe(th, 1, DPA_CQE_OK, 0);
		expect_cqe(th, 2, DPA_CQE_OK, 0);
		expect_cqe(th, 0, DPA_CQE_LOC_QP_OP_ERR, DPA_SYN_BAD_WQE);
		cr_expect_eq(th->a.qp->state, DPA_QPS_ERR, "%#llx", (unsigned long long)bad[i]);
		over(th);
	}
}

/* There is no room for a failing WQE: the end of the present ones reports it. */
Test(transport_watch, a_wrong_word_with_a_full_ring)
{
	struct th *th = watched(&(struct th_opt){0});
	struct th_wr wr = write_of(th, 0, 100);
	struct dpa_cqe e;
	int n = 0;

	for (int i = 0; i < 1 << TH_LOG_SQ; i++)
		put(th, &wr);
	store(th);
	word += 1;
	look(th);
	cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
	cr_expect_eq(th->events[DPA_EVENT_QP_FATAL], 1u);
	for (; th_poll(&th->a.scq, &e); n++)
		cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	cr_expect_eq(n, 1 << TH_LOG_SQ);
	over(th);
}

/* The record then has two writers, which is not allowed: detected as a WQE of another index. */
Test(transport_watch, sq_pi_is_the_device_s)
{
	const uint32_t types[] = {DPA_QP_RC, DPA_QP_UC};

	for (int t = 0; t < 2; t++)
		for (uint32_t i = 0; i < 3; i++) {
			struct th *th = watched(&(struct th_opt){.type = types[t]});

			th->a.dbrec.sq_pi = i ? i * 0x40000001u : 7;
			look(th);
			th_settle(th);
			cr_expect_eq(th->a.qp->state,
				     types[t] == DPA_QP_RC ? DPA_QPS_ERR : DPA_QPS_SQE);
			over(th);
		}
}

/* As by verbs: posts in the error state come back. RESET restores the initial state. */
Test(transport_watch, the_error_state_and_reset)
{
	struct th *th = watched(&(struct th_opt){0});
	struct dpa_qp_attr a = {.state = DPA_QPS_ERR};
	struct th_wr wr = write_of(th, 0, 100);

	cr_assert_eq(dpa_hw_modify_qp(th->a.qp, &a, DPA_QPM_STATE), 0);
	put(th, &wr);
	put(th, &wr);
	store(th);
	expect_cqe(th, 1, DPA_CQE_WR_FLUSH_ERR, DPA_SYN_FLUSHED);
	expect_cqe(th, 2, DPA_CQE_WR_FLUSH_ERR, DPA_SYN_FLUSHED);
	cr_expect_neq(th->a.qp->sq, th->a.sq);
	a.state = DPA_QPS_RESET;
	cr_assert_eq(dpa_hw_modify_qp(th->a.qp, &a, DPA_QPM_STATE), 0);
	cr_expect_eq(th->a.qp->sq, th->a.sq);
	cr_expect_null(th->a.qp->watch);
	over(th);
}

Test(transport_watch, only_an_empty_queue_can_be_watched)
{
	struct th *th = th_new(&(struct th_opt){0});
	struct th_wr wr = write_of(th, 0, 100);

	cr_assert(th_post(&th->a, &wr));
	word = th->a.pi;
	cr_expect_eq(dpa_hw_watch_sq(th->a.qp, &word), EBUSY, "posted");
	th_ring(&th->a);
	cr_expect_eq(dpa_hw_watch_sq(th->a.qp, &word), EBUSY, "outstanding");
	th_settle(th);
	cr_expect_eq(dpa_hw_watch_sq(th->a.qp, &word), 0);
	cr_expect_eq(dpa_hw_watch_sq(th->a.qp, &word), EBUSY, "watched");
	/* between two watches the taken WQEs are carried out */
	put(th, &wr);
	store(th);
	cr_expect_eq(dpa_hw_watch_sq(th->a.qp, NULL), 0);
	th_settle(th);
	expect_cqe(th, 1, DPA_CQE_OK, 0);
	expect_cqe(th, 2, DPA_CQE_OK, 0);
	cr_expect_eq(dpa_hw_watch_sq(th->a.qp, &word), 0);
	put(th, &wr);
	store(th);
	th_settle(th);
	expect_cqe(th, 3, DPA_CQE_OK, 0);
	over(th);
}

/* ------------------------------------------------------------------- hostile */

enum { ROUNDS = 20000, PAGE = 4096 };

/* Write a WQE whose fields are right, wrong, or near the limits, one by one. */
static void make_garbage(struct th *th, uint64_t *seed)
{
	static const uint8_t ops[] = {DPA_OP_RDMA_WRITE,  DPA_OP_SEND,	    DPA_OP_RDMA_READ,
				      DPA_OP_ATOMIC_CS,	  DPA_OP_ATOMIC_FA, DPA_OP_SEND_IMM,
				      DPA_OP_LOCAL_INV,	  DPA_OP_BIND_MW,   DPA_OP_FLUSH,
				      DPA_OP_ATOMIC_WRITE};
	struct dpa_wqe_ctrl *c = ctrl_at(th, th->a.pi);
	uint64_t *w = (uint64_t *)c;
	struct th_wr wr = write_of(th, th_rand(seed) % 4096, th_rand(seed) % 5000);

	wr.op = ops[th_rand(seed) % sizeof(ops)];
	wr.nsge = th_rand(seed) % 3;
	wr.sge[1] = wr.sge[0];
	if (th_rand(seed) % 4 == 0)
		wr.sge[0].addr += TH_MEM - 4096;
	if (!th_post(&th->a, &wr))
		return;
	for (int n = (int)(th_rand(seed) % 4); n > 1; n--)
		((uint8_t *)c)[th_rand(seed) % DPA_WQEBB] ^= (uint8_t)(1u << th_rand(seed) % 8);
	if (th_rand(seed) % 8 == 0)
		for (int i = 0; i < 8; i++)
			w[i] = (uint64_t)th_rand(seed) << 32 | th_rand(seed);
}

/* Do the same beside other writers: in words. */
static void put_garbage(struct th *th, uint64_t *seed)
{
	static uint8_t made[DPA_WQEBB << TH_LOG_SQ] __attribute__((aligned(64)));
	uint8_t *sq = th->a.sq;
	const uint32_t from = th->a.pi;

	th->a.sq = made;
	make_garbage(th, seed);
	for (uint32_t idx = from; idx != th->a.pi; idx++) {
		const uint64_t *of = (const uint64_t *)ctrl_at(th, idx);
		uint64_t *to = (uint64_t *)(sq + ((const uint8_t *)of - made));

		for (int i = 0; i < 8; i++)
			__atomic_store_n(&to[i], of[i], __ATOMIC_RELAXED);
	}
	th->a.sq = sq;
}

struct scribbler {
	struct th *th;
	uint8_t *sq;
	_Atomic bool stop;
};

/* Write words of the SQ and of the doorbell record while the device reads them. */
static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint64_t seed = 7;

	while (!atomic_load(&s->stop)) {
		uint64_t *w =
			(uint64_t *)(s->sq + th_rand(&seed) % ((DPA_WQEBB << TH_LOG_SQ) / 8) * 8);
		uint64_t v = __atomic_load_n(w, __ATOMIC_RELAXED);

		__atomic_store_n(w, v ^ 1ull << th_rand(&seed) % 64, __ATOMIC_RELAXED);
		if (th_rand(&seed) % 64 == 0)
			__atomic_store_n(&s->th->a.dbrec.sq_pi, th_rand(&seed), __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * All memory that the poster may use is registered; the memory beside it is not, and must not
 * change.
 */
static void hostile_life(uint64_t seed, bool beside)
{
	const uint32_t types[] = {DPA_QP_RC, DPA_QP_UC};
	struct th *th = watched(
		&(struct th_opt){.type = types[seed % 2], .rd = 8, .timeout = 14, .retry = 1});
	struct scribbler s = {.th = th, .sq = th->a.sq};
	uint8_t *canary =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t;

	cr_assert_neq(canary, MAP_FAILED);
	memset(canary, 0x5a, PAGE);
	if (beside)
		cr_assert_eq(pthread_create(&t, NULL, scribble, &s), 0);
	for (int i = 0; i < 40; i++) {
		put_garbage(th, &seed);
		if (th_rand(&seed) % 32)
			__atomic_store_n(&word, (uint64_t)th->a.pi, __ATOMIC_RELEASE);
		else
			__atomic_store_n(&word, th_rand(&seed), __ATOMIC_RELEASE);
		look(th);
		th_settle(th);
	}
	if (beside) {
		atomic_store(&s.stop, true);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < PAGE; i++)
		cr_assert_eq(canary[i], 0x5a);
	munmap(canary, PAGE);
	over(th);
}

Test(transport_watch, garbage, .timeout = 300)
{
	for (uint64_t seed = 1; seed <= TH_FEWER(ROUNDS) / 40; seed++)
		hostile_life(seed * 7919, false);
}

Test(transport_watch, garbage_that_changes_meanwhile, .timeout = 300)
{
	for (uint64_t seed = 1; seed <= TH_FEWER(ROUNDS) / 40; seed++)
		hostile_life(seed * 104729, true);
}
