/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_eu.c - work that is posted to an EU is carried out, at any moment of its sleep and any move
 * of the QP. A lost wake-up ends at the time limit of the suite.
 */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include "ctx/schedule.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/eu.h"
#include "eu/progress.h"
#include "eu/sched.h"
#include "eu/eu.c"

enum { QPS = 3 };

struct side {
	struct dpa_hw_qp *qp;
	struct dpa_uar_slot slot __attribute__((aligned(64)));
	struct dpa_dbrec dbrec __attribute__((aligned(64)));
	_Atomic uint32_t done; /* the producer index up to which work is done */
	_Atomic uint32_t runs, bfs, rings;
	_Atomic pid_t by; /* the thread that did the last work */
	uint32_t pi;
};

static struct dpa_hw *hw;
static struct dpa_board board;
static struct side side[QPS];
static _Atomic(struct side *) at_bedtime; /* is posted to between the last round and the sleep */

static void post(struct side *s);

/* ---------------------------------------------------- stand-ins for eu.c */

uint32_t dpa_spin_pauses = 200;

int dpa_requester_run(struct dpa_hw_qp *qp)
{
	struct side *s = (struct side *)(uintptr_t)qp->user_handle;

	atomic_store(&s->done, __atomic_load_n(&s->dbrec.sq_pi, __ATOMIC_ACQUIRE));
	atomic_fetch_add(&s->bfs, qp->bf != NULL);
	atomic_store(&s->by, gettid());
	atomic_fetch_add(&s->runs, 1);
	return 1;
}

void dpa_qp_leave(struct dpa_hw_qp *qp)
{
	while (!dpa_qplock_leave(&qp->lock))
		dpa_requester_run(qp);
}

void dpa_hw_ring_sq(struct dpa_hw_qp *qp)
{
	struct side *s = (struct side *)(uintptr_t)qp->user_handle;

	atomic_fetch_add(&s->rings, 1);
	if (!dpa_qplock_enter_or_note(&qp->lock))
		return;
	dpa_requester_run(qp);
	dpa_qp_leave(qp);
}

void dpa_qp_to_error(struct dpa_hw_qp *qp)
{
	__atomic_store_n(&qp->state, DPA_QPS_ERR, __ATOMIC_RELAXED);
}

void dpa_qp_event(struct dpa_hw_qp *qp, uint32_t type)
{
}

void dpa_log(struct dpa_hw *of, int level, const char *fmt, ...)
{
}

_Atomic uint32_t *dpa_board_poller(struct dpa_board *b, uint32_t cpu)
{
	static _Atomic uint32_t poller;

	return &poller;
}

uint64_t dpa_now_ns(void)
{
	return 0;
}

void dpa_wake_self(struct dpa_hw *of)
{
}

void dpa_inject_steal(struct dpa_hw *h, bool service)
{
}

int dpa_progress_once(struct dpa_hw *h)
{
	return 0;
}

/* The last call of an EU before it sleeps. */
void dpa_settle_kicks(struct dpa_hw *h)
{
	struct side *s = atomic_exchange(&at_bedtime, NULL);

	if (s)
		post(s);
}

/* ------------------------------------------------------------------------ */

static void setup(void)
{
	hw = aligned_alloc(DPA_CACHE_LINE, (sizeof(*hw) + 63) & ~63ul);
	cr_assert_not_null(hw);
	memset(hw, 0, sizeof(*hw));
	memset(side, 0, sizeof(side));
	hw->board = &board;
	pthread_mutex_init(&hw->ctl, NULL);
	for (int i = 0; i < QPS; i++) {
		struct dpa_hw_qp *qp = aligned_alloc(2 * DPA_CACHE_LINE, sizeof(*qp));

		cr_assert_not_null(qp);
		memset(qp, 0, sizeof(*qp));
		qp->hw = hw;
		qp->qpn = (uint32_t)i + 1;
		qp->slot = &side[i].slot;
		qp->dbrec = &side[i].dbrec;
		qp->user_handle = (uintptr_t)&side[i];
		qp->poll.word = &side[i].slot.word;
		side[i].qp = qp;
	}
	cr_assert_eq(dpa_eu_init(hw), 0);
}

static void teardown(void)
{
	dpa_eu_fini(hw);
	for (int i = 0; i < QPS; i++)
		free(side[i].qp);
	pthread_mutex_destroy(&hw->ctl);
	free(hw);
}

TestSuite(eu, .init = setup, .fini = teardown, .timeout = 60);

static void write_doorbell(struct side *s)
{
	union {
		struct dpa_db db;
		uint64_t word;
	} u = {.db = {.opcode = DPA_OP_DOORBELL, .pi = ++s->pi}};

	__atomic_store_n(&s->dbrec.sq_pi, s->pi, __ATOMIC_RELEASE);
	__atomic_store_n(&s->slot.word, u.word, __ATOMIC_RELEASE);
}

/* As a poster does: docs/device-reference.md, 2.3. */
static void post(struct side *s)
{
	write_doorbell(s);
	if (atomic_load_explicit(&s->qp->placement, memory_order_relaxed) == DPA_PLACE_EU)
		dpa_hw_kick_sq(s->qp);
	else
		dpa_hw_ring_sq(s->qp);
}

static void until_done(struct side *s)
{
	while (atomic_load(&s->done) != s->pi)
		sched_yield();
}

static struct dpa_eu *eu_of(struct side *s)
{
	return __atomic_load_n(&s->qp->eu, __ATOMIC_ACQUIRE);
}

static void until_asleep(struct dpa_eu *eu)
{
	while (!atomic_load(&eu->sleep))
		sched_yield();
}

/* Doorbells while it spins, while it falls asleep and while it sleeps. */
Test(eu, no_wake_up_is_lost)
{
	unsigned int seed = 1;

	cr_assert_eq(dpa_hw_set_placement(side[0].qp, DPA_PLACE_EU, 7), 0);
	for (int i = 0; i < 3000; i++) {
		int pauses = rand_r(&seed) % 4 ? 0 : rand_r(&seed) % 20000;

		if (i % 8 == 0)
			until_asleep(eu_of(&side[0]));
		for (int k = 0; k < pauses; k++)
			dpa_pause();
		post(&side[0]);
		until_done(&side[0]);
	}
	cr_expect_neq(atomic_load(&side[0].by), gettid(), "by the EU");
	cr_expect_eq(atomic_load(&side[0].rings), 0u);
}

/* The poster reads the sleep word before it is set: the EU checks again. */
Test(eu, a_doorbell_just_before_it_sleeps_is_seen)
{
	struct side *s = &side[0];

	cr_assert_eq(dpa_hw_set_placement(s->qp, DPA_PLACE_EU, 0), 0);
	for (uint32_t i = 1; i <= 100; i++) {
		until_asleep(eu_of(s));
		atomic_store(&at_bedtime, s);
		eu_wake(eu_of(s));
		while (atomic_load(&s->done) != i)
			sched_yield();
	}
}

/* Each number exists once, for all QPs; without a number it is the first of the policy. */
Test(eu, numbers)
{
	hw->cfg.placement.num_eus = 1;
	hw->cfg.placement.eus[1] = 1; /* 64 */
	cr_expect_eq(dpa_hw_set_placement(side[0].qp, DPA_PLACE_EU, 256), EINVAL);
	cr_expect_eq(dpa_hw_set_placement(side[0].qp, 99, 0), EINVAL);
	cr_assert_eq(dpa_hw_set_placement(side[0].qp, DPA_PLACE_EU, -1), 0);
	cr_assert_eq(dpa_hw_set_placement(side[1].qp, DPA_PLACE_EU, 64), 0);
	cr_assert_eq(dpa_hw_set_placement(side[2].qp, DPA_PLACE_EU, 255), 0);
	cr_expect_eq(eu_of(&side[0])->number, 64u);
	cr_expect_eq(eu_of(&side[0]), eu_of(&side[1]));
	cr_expect_neq(eu_of(&side[0]), eu_of(&side[2]));
	cr_expect_eq(hw->neus, 2u);
	for (int i = 0; i < QPS; i++) {
		post(&side[i]);
		until_done(&side[i]);
	}
	cr_expect_eq(atomic_load(&side[0].by), atomic_load(&side[1].by));
	cr_expect_neq(atomic_load(&side[0].by), atomic_load(&side[2].by));
}

/* The doorbell woke the EU from which the QP was taken: its present EU sleeps. */
Test(eu, what_was_posted_before_a_move_is_carried_out)
{
	struct side *s = &side[0];

	cr_assert_eq(dpa_hw_set_placement(side[1].qp, DPA_PLACE_EU, 2), 0);
	cr_assert_eq(dpa_hw_set_placement(s->qp, DPA_PLACE_EU, 1), 0);
	until_asleep(eu_of(s));
	until_asleep(eu_of(&side[1]));
	write_doorbell(s);
	cr_assert_eq(dpa_hw_set_placement(s->qp, DPA_PLACE_EU, 2), 0);
	until_done(s);
	until_asleep(eu_of(s));
	write_doorbell(s);
	cr_assert_eq(dpa_hw_set_placement(s->qp, DPA_PLACE_INLINE, 0), 0);
	cr_expect_eq(atomic_load(&s->done), s->pi, "by who took it away");
	cr_expect_null(eu_of(s));
}

enum { POSTS = 20000 };

static void *poster(void *arg)
{
	struct side *s = arg;

	for (int i = 0; i < POSTS; i++) {
		post(s);
		if (i % 64 == 0)
			until_done(s);
	}
	return NULL;
}

/* Posts while the QP moves between EUs and back to its poster. */
Test(eu, moves_lose_nothing)
{
	struct side *s = &side[0];
	pthread_t t;

	cr_assert_eq(dpa_hw_set_placement(s->qp, DPA_PLACE_EU, 0), 0);
	cr_assert_eq(pthread_create(&t, NULL, poster, s), 0);
	for (int i = 0; atomic_load(&s->done) < POSTS; i++) {
		cr_assert_eq(
			dpa_hw_set_placement(s->qp, i % 3 ? DPA_PLACE_EU : DPA_PLACE_INLINE, i % 3),
			0);
		sched_yield();
	}
	pthread_join(t, NULL);
	until_done(s);
}

/* A QP that was taken away is not touched any more. */
Test(eu, a_qp_taken_away_is_left_alone)
{
	struct side *s = &side[0];
	uint32_t runs;

	cr_assert_eq(dpa_hw_set_placement(side[1].qp, DPA_PLACE_EU, 0), 0);
	cr_assert_eq(dpa_hw_set_placement(s->qp, DPA_PLACE_EU, 0), 0);
	post(s);
	dpa_eu_detach(s->qp);
	runs = atomic_load(&s->runs);
	for (int i = 0; i < 200; i++) {
		write_doorbell(s);
		post(&side[1]); /* the EU polls it */
		until_done(&side[1]);
	}
	cr_expect_eq(atomic_load(&s->runs), runs);
}

/* The holder of the QP's lock carries the work out: the EU leaves a note and does not wait. */
Test(eu, a_qp_at_work_gets_a_note)
{
	struct side *s = &side[0];

	dpa_qplock_lock(&s->qp->lock);
	write_doorbell(s);
	cr_expect_eq(serve_qp(s->qp), 1);
	cr_expect_eq(atomic_load(&s->runs), 0u);
	cr_expect_eq(atomic_load(&s->qp->lock.v), (uint32_t)DPA_QPL_NOTED);
	dpa_qp_leave(s->qp);
	cr_expect_eq(atomic_load(&s->done), s->pi);
}

/* ---------------------------------------------------------- a watched word */

enum { WATCHED_BLOCKS = 64 };

struct watched {
	struct side *s;
	uint64_t word;
	uint8_t sq[WATCHED_BLOCKS * DPA_WQEBB] __attribute__((aligned(64)));
};

static void watch_begins(struct watched *w, struct side *s)
{
	memset(w, 0, sizeof(*w));
	w->s = s;
	s->qp->sq = w->sq;
	s->qp->sq_mask = WATCHED_BLOCKS - 1;
	s->qp->transport = DPA_BTH_RC;
	s->qp->state = DPA_QPS_RTS;
	cr_assert_eq(dpa_hw_watch_sq(s->qp, &w->word), 0);
}

/* Post without a call of the device; one block. */
static void post_by_word(struct watched *w)
{
	struct side *s = w->s;
	struct dpa_wqe_ctrl *c =
		(void *)(w->sq + s->pi % WATCHED_BLOCKS * DPA_WQEBB); /* room: until_done() */

	dpa_wqe_put_ctrl(c, DPA_OP_SEND, 0, 1, 0, s->pi, s->pi, 0, 0, 0);
	__atomic_store_n(&w->word, (uint64_t)++s->pi, __ATOMIC_RELEASE);
}

/* The requester of these tests completes nothing. */
static void free_blocks(struct side *s)
{
	dpa_qplock_lock(&s->qp->lock);
	s->qp->req.send_idx = s->qp->req.una_idx = atomic_load(&s->done);
	dpa_qp_leave(s->qp);
}

static void by_word_until_done(struct watched *w)
{
	post_by_word(w);
	until_done(w->s);
	free_blocks(w->s);
}

/* In any state of the EU: spinning, falling asleep, asleep without a wake-up. */
Test(eu, a_watched_word_is_seen_without_a_doorbell)
{
	static struct watched w;
	unsigned int seed = 1;

	watch_begins(&w, &side[0]);
	for (int i = 0; i < 1000; i++) {
		int pauses = rand_r(&seed) % 4 ? 0 : rand_r(&seed) % 20000;

		if (i % 8 == 0)
			until_asleep(eu_of(w.s));
		for (int k = 0; k < pauses; k++)
			dpa_pause();
		by_word_until_done(&w);
	}
	cr_expect_eq(atomic_load(&w.s->rings), 0u);
	cr_expect_neq(atomic_load(&w.s->by), gettid(), "by the EU");
	cr_expect_eq(w.s->slot.doorbells, 1000u);
	cr_expect_eq(dpa_hw_set_placement(w.s->qp, DPA_PLACE_INLINE, 0), EBUSY);
	cr_expect_eq(dpa_hw_set_placement(w.s->qp, DPA_PLACE_EU, 3), 0);
	cr_expect_eq(eu_of(w.s)->number, 3u);
	by_word_until_done(&w);
	dpa_watch_stop(w.s->qp);
	dpa_watch_free(w.s->qp);
}

/* In one check: all short ones, but only the first few of those with a payload. */
Test(eu, long_messages_are_taken_in_parts)
{
	static uint8_t sq[1024 * DPA_WQEBB] __attribute__((aligned(64)));
	struct dpa_hw_qp *qp = side[0].qp;
	uint64_t word = 0;

	qp->sq = sq;
	qp->sq_mask = 1023;
	qp->transport = DPA_BTH_RC;
	qp->state = DPA_QPS_SQD; /* its EU does not check it */
	cr_assert_eq(dpa_hw_watch_sq(qp, &word), 0);
	for (uint32_t i = 0; i < 1000; i++)
		dpa_wqe_put_ctrl((void *)(sq + i * DPA_WQEBB), DPA_OP_SEND, 0, 1, 0, i, i, 0,
				 i < 300 ? 64 : 4096, 0);
	dpa_qplock_lock(&qp->lock); /* its EU skips it from now on */
	__atomic_store_n(&word, 300, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->state, DPA_QPS_RTS, __ATOMIC_RELAXED);
	dpa_watch_take(qp);
	cr_expect_eq(dpa_watch_taken(qp), 300u);
	qp->req.send_idx = qp->req.una_idx = 300;
	__atomic_store_n(&word, 1000, __ATOMIC_RELEASE);
	for (uint32_t at = 300 + DPA_WATCH_FEW; at < 1000; at += DPA_WATCH_FEW) {
		dpa_watch_take(qp);
		cr_expect_eq(dpa_watch_taken(qp), at);
	}
	dpa_watch_take(qp);
	cr_expect_eq(dpa_watch_taken(qp), 1000u);
	dpa_qp_leave(qp);
	dpa_watch_stop(qp);
	dpa_watch_free(qp);
}

/* Sleep of an EU without work: with a timer only while words are watched. */
Test(eu, no_timer_without_a_reason)
{
	static struct watched w;
	struct dpa_eu *eu;
	enum dpa_look look;

	cr_assert_eq(dpa_hw_set_placement(side[1].qp, DPA_PLACE_EU, -1), 0);
	eu = eu_of(&side[1]);
	cr_expect(slots_quiet(eu, &look));
	cr_expect_eq(look, DPA_LOOK_NEVER, "doorbells alone");
	watch_begins(&w, &side[0]);
	cr_assert_eq(eu_of(&side[0]), eu);
	for (uint32_t state = DPA_QPS_RESET; state <= DPA_QPS_ERR; state++) {
		__atomic_store_n(&w.s->qp->state, (uint8_t)state, __ATOMIC_RELAXED);
		cr_expect(slots_quiet(eu, &look));
		cr_expect_eq(look,
			     state == DPA_QPS_RTS   ? DPA_LOOK_OFTEN
			     : state >= DPA_QPS_SQE ? DPA_LOOK_SELDOM
						    : DPA_LOOK_NEVER,
			     "state %u", state);
	}
	cr_expect_eq(look_within(eu, DPA_LOOK_OFTEN), DPA_WATCH_NS);
	cr_expect_leq(DPA_WATCH_NS + DPA_WATCH_SLACK_NS, 50000u);
	cr_expect_eq(look_within(eu, DPA_LOOK_NEVER), 0u);
	__atomic_store_n(&w.s->qp->state, DPA_QPS_RTS, __ATOMIC_RELAXED);
	cr_assert_eq(dpa_hw_watch_sq(w.s->qp, NULL), 0);
	cr_expect(slots_quiet(eu, &look));
	cr_expect_eq(look, DPA_LOOK_NEVER);
	cr_expect_null(eu_of(w.s), "it was no EU's before");
	dpa_watch_free(w.s->qp);
}

/* A word that is stored too early waits for RTS; then modify wakes the EU. */
Test(eu, a_word_stored_before_rts_counts_then)
{
	static struct watched w;
	struct dpa_hw_qp *qp = side[0].qp;

	watch_begins(&w, &side[0]);
	__atomic_store_n(&qp->state, DPA_QPS_RTR, __ATOMIC_RELAXED);
	dpa_hw_kick_sq(qp);
	post_by_word(&w);
	until_asleep(eu_of(w.s));
	while (!slot_seen(qp)) /* an EU in the middle of its check */
		dpa_hw_kick_sq(qp);
	until_asleep(eu_of(w.s));
	cr_expect_eq(atomic_load(&w.s->done), 0u);
	dpa_qplock_lock(&qp->lock);
	__atomic_store_n(&qp->state, DPA_QPS_RTS, __ATOMIC_RELAXED);
	dpa_watch_again(qp); /* as dpa_qp_set_state() does, and wakes the EU */
	dpa_qp_leave(qp);
	until_done(w.s);
	dpa_watch_stop(qp);
	dpa_watch_free(qp);
}

/* An error of the device ends SQD or RTR: the posted and the later WQEs are flushed. */
static void error_comes(uint8_t state)
{
	static struct watched w;
	struct dpa_hw_qp *qp = side[0].qp;

	watch_begins(&w, &side[0]);
	__atomic_store_n(&qp->state, state, __ATOMIC_RELAXED);
	dpa_hw_kick_sq(qp);
	post_by_word(&w);
	while (!slot_seen(qp))
		dpa_hw_kick_sq(qp);
	until_asleep(eu_of(w.s));
	dpa_qplock_lock(&qp->lock);
	__atomic_store_n(&qp->state, DPA_QPS_ERR, __ATOMIC_SEQ_CST);
	dpa_watch_again(qp);
	dpa_qp_leave(qp);
	until_done(w.s);
	free_blocks(w.s);
	by_word_until_done(&w);
	dpa_watch_stop(qp);
	dpa_watch_free(qp);
}

Test(eu, a_word_stored_before_an_error_is_flushed)
{
	error_comes(DPA_QPS_SQD);
}

Test(eu, a_word_stored_before_an_error_in_rtr_is_flushed)
{
	error_comes(DPA_QPS_RTR);
}

/*
 * After a watch a QP that an EU has by policy has its normal owner, and is posted to by doorbell.
 */
Test(eu, doorbells_behind_a_watch)
{
	struct dpa_hw_qp *qp = side[0].qp;
	static struct watched w;

	cr_assert_eq(dpa_hw_set_placement(qp, DPA_PLACE_EU, 5), 0);
	for (int i = 0; i < 100; i++) {
		watch_begins(&w, &side[0]);
		__atomic_store_n(&w.word, (uint64_t)side[0].pi, __ATOMIC_RELEASE);
		dpa_watch_stop(qp);
		post(&side[0]);
		until_done(&side[0]);
		dpa_qplock_lock(&qp->lock);
		dpa_watch_free(qp); /* as RESET does, concurrently with the EU */
		qp->req.send_idx = qp->req.una_idx = side[0].pi;
		dpa_qp_leave(qp);
		post(&side[0]);
		until_done(&side[0]);
		free_blocks(&side[0]);
	}
}

/*
 * The memory belongs to the owner again when the call returns: an access to a removed page would
 * fault.
 */
Test(eu, a_word_is_not_read_behind_the_end)
{
	struct dpa_hw_qp *qp = side[0].qp;
	static struct watched w;

	cr_assert_eq(dpa_hw_set_placement(qp, DPA_PLACE_EU, 5), 0);
	watch_begins(&w, &side[0]);
	cr_assert_neq(qp->sq, w.sq, "the SQ is the device's own");
	dpa_watch_stop(qp);
	dpa_watch_free(qp);
	for (int i = 0; i < 300; i++) {
		uint64_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		cr_assert_neq(page, MAP_FAILED);
		cr_assert_eq(dpa_hw_watch_sq(qp, page), 0);
		cr_expect_eq(dpa_hw_watch_sq(qp, page), EBUSY);
		sched_yield();
		cr_assert_eq(dpa_hw_watch_sq(qp, NULL), 0);
		cr_assert_eq(munmap(page, 4096), 0);
		dpa_watch_free(qp);
		cr_assert_eq(qp->sq, w.sq, "the driver's again");
	}
	cr_expect_eq(eu_of(w.s)->number, 5u, "where it was before");
	cr_expect_eq(dpa_hw_watch_sq(qp, NULL), 0, "twice is once");
	cr_expect_eq(dpa_hw_watch_sq(qp, (uint64_t *)((uintptr_t)&w.word + 4)), EINVAL);
	qp->transport = DPA_BTH_XRC;
	cr_expect_eq(dpa_hw_watch_sq(qp, &w.word), EOPNOTSUPP);
}

/* ------------------------------------------------------------ BlueFlame */

static struct dpa_wqe_ctrl *blueflame(struct side *s, uint8_t nbb, uint32_t index)
{
	struct dpa_wqe_ctrl *c = (void *)s->slot.bf;

	for (uint32_t i = 0; i < DPA_BF_BLOCKS * 64; i++)
		s->slot.bf[i] = (uint8_t)(i * 7 + index);
	c->opcode = DPA_OP_SEND;
	c->nbb = nbb;
	c->index = index;
	if (nbb && nbb <= DPA_BF_BLOCKS)
		c->check = dpa_wqe_check(c, nbb);
	s->qp->poll.seen = 0;
	__atomic_store_n(&s->dbrec.sq_pi, index + nbb, __ATOMIC_RELEASE);
	return c;
}

/* True: the EU took the WQE from the slot; false: from the SQ. */
static bool from_slot(struct side *s)
{
	uint32_t runs = atomic_load(&s->runs), bfs = atomic_load(&s->bfs);

	cr_expect_eq(serve_qp(s->qp), 1);
	cr_expect_eq(atomic_load(&s->runs), runs + 1);
	cr_expect_null(s->qp->bf, "of this time only");
	return atomic_load(&s->bfs) != bfs;
}

/* Other processes can write to a slot, but not to the doorbell record. */
Test(eu, a_blueflame_write_that_nobody_posted)
{
	struct side *s = &side[0];

	s->qp->req.send_idx = 40;
	for (uint8_t nbb = 1; nbb <= DPA_BF_BLOCKS; nbb++)
		for (uint8_t posted = 0; posted < nbb; posted++) {
			blueflame(s, nbb, 40);
			__atomic_store_n(&s->dbrec.sq_pi, 40u + posted, __ATOMIC_RELEASE);
			cr_expect_not(from_slot(s), "%u of %u blocks", posted, nbb);
		}
}

/* device-reference, 2.2: a torn, overtaken or sizeless write is replaced by the SQ. */
Test(eu, blueflame_writes_that_came_together_are_used)
{
	struct side *s = &side[0];

	s->qp->req.send_idx = 40;
	for (uint8_t nbb = 1; nbb <= DPA_BF_BLOCKS; nbb++) {
		blueflame(s, nbb, 40);
		cr_expect(from_slot(s), "%u blocks", nbb);
		for (uint32_t i = 8; i < nbb * 64u; i += 8) { /* each word from an earlier write */
			blueflame(s, nbb, 40);
			s->slot.bf[i] ^= 0x10;
			cr_expect_not(from_slot(s), "%u blocks, byte %u", nbb, i);
		}
	}
	blueflame(s, 1, 39);
	cr_expect_not(from_slot(s), "an earlier one");
	blueflame(s, 1, 41);
	cr_expect_not(from_slot(s), "a later one");
	blueflame(s, 0, 40);
	cr_expect_not(from_slot(s), "no block");
	blueflame(s, DPA_BF_BLOCKS + 1, 40);
	cr_expect_not(from_slot(s), "more than the slot holds");
	blueflame(s, 1, 40)->check = 0;
	cr_expect_not(from_slot(s), "no check");
	write_doorbell(s);
	cr_expect_not(from_slot(s), "a doorbell");
	cr_expect_eq(serve_qp(s->qp), 0, "once");
}

struct sched_says {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static struct sched_says sched_says(void)
{
	struct sched_says a = {.size = sizeof(a)};

	cr_assert_eq(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
	return a;
}

/*
 * A thread of the device has a short slice if the kernel supports slices, otherwise all is
 * unchanged; its niceness and policy are always those of the application.
 */
Test(eu, runs_soon)
{
	struct sched_param none = {0};
	struct sched_says a;
	int niceness;

	/* independent of those of the test itself; no error: -1 may be valid */
	errno = 0;
	niceness = nice(3);
	cr_assert_eq(errno, 0);
	cr_assert_eq(sched_setscheduler(0, SCHED_BATCH, &none), 0);
	dpa_run_soon();
	a = sched_says();
	cr_expect_eq(a.policy, (uint32_t)SCHED_BATCH);
	cr_expect_eq(a.nice, niceness);
	cr_expect(a.runtime == 100000 || a.runtime == 0, "%llu", (unsigned long long)a.runtime);
	cr_assert_eq(sched_setscheduler(0, SCHED_IDLE, &none), 0);
	dpa_run_soon();
	cr_expect_eq(sched_says().policy, (uint32_t)SCHED_IDLE, "who wants to be last stays so");
}
