/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_direct_wait.c - the direct path: the waits of a revoking thread for threads that use the
 * revoked object.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "payload/mw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "harness.h"
#include "direct/direct.h"

static struct th *direct(void)
{
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	return th_new(&(struct th_opt){.type = DPA_QP_RC, .pull = true, .direct = true});
}

enum verb {
	DEREG,
	REREG,
	MODIFY,
	ERROR,
	RESET,
	DESTROY,
	INVALIDATE,
	REBIND,
	UNBIND,
	DEALLOC,
	VERBS
};

static _Atomic bool left;

/* A window over part of th->b's memory, if the verb is one for windows. */
struct window {
	uint32_t region, key;
	struct dpa_wqe_bind bind;
};

struct revoker {
	struct th *th;
	enum verb verb;
	struct window w;
	bool saw_left;
};

static uint32_t next_key(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/* Bind as a thread that posts to th->b's QP does. */
static void bind_window(struct th *th, struct window *w, uint64_t length)
{
	uint32_t old = w->key;

	w->key = next_key(old);
	w->bind.length = length;
	dpa_qplock_lock(&th->b.qp->lock);
	cr_assert_eq(dpa_mw_bind(th->b.qp, old, w->key, (uintptr_t)th->b.mem, &w->bind), 0u);
	dpa_qp_leave(th->b.qp);
}

static void make_window(struct th *th, enum verb verb, struct window *w)
{
	struct dpa_mr_attr m = {
		.pdn = th->pdn, .access = TH_ALL | DPA_ACCESS_MW_BIND, .length = TH_MEM};

	m.addr = m.iova = (uintptr_t)th->b.mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &m, &w->region), 0);
	cr_assert_eq(dpa_hw_alloc_mw(&th->ctx, th->pdn,
				     verb == INVALIDATE ? DPA_MW_TYPE_2 : DPA_MW_TYPE_1, &w->key),
		     0);
	w->bind = (struct dpa_wqe_bind){.lkey = w->region, .access = DPA_ACCESS_REMOTE_WRITE};
	bind_window(th, w, 4096);
}

static void end_window(struct th *th, enum verb verb, const struct window *w)
{
	if (verb != DEALLOC)
		cr_assert_eq(dpa_hw_dealloc_mw(&th->ctx, w->key), 0);
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, w->region), 0);
}

static void take_back(struct th *th, enum verb verb, struct window *w)
{
	struct dpa_mr_attr m = {.access = DPA_ACCESS_LOCAL_WRITE};
	struct dpa_qp_attr a = {.state = verb == RESET ? DPA_QPS_RESET : DPA_QPS_ERR};

	switch (verb) {
	case DEREG:
		cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, th->b.key), 0);
		break;
	case REREG:
		cr_assert_eq(dpa_hw_rereg_mr(&th->ctx, &th->b.key, DPA_REREG_ACCESS, &m), 0);
		break;
	case MODIFY:
		cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_ACCESS), 0);
		break;
	case DESTROY:
		cr_assert_eq(dpa_hw_destroy_qp(th->b.qp), 0);
		break;
	case INVALIDATE:
		dpa_qplock_lock(&th->b.qp->lock);
		cr_assert_eq(dpa_mw_invalidate(th->b.qp, w->key), 0u);
		dpa_qp_leave(th->b.qp);
		break;
	case REBIND:
		bind_window(th, w, 4096);
		break;
	case UNBIND:
		bind_window(th, w, 0);
		break;
	case DEALLOC:
		cr_assert_eq(dpa_hw_dealloc_mw(&th->ctx, w->key), 0);
		break;
	default:
		cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_STATE), 0);
	}
}

static void *revoker(void *arg)
{
	struct revoker *r = arg;

	take_back(r->th, r->verb, &r->w);
	r->saw_left = atomic_load(&left);
	return NULL;
}

/* Restore the objects that the test revoked: the harness frees them at its end. */
static void restore(struct th *th, enum verb verb)
{
	struct dpa_mr_attr m = {.pdn = th->pdn, .access = TH_ALL, .length = TH_MEM};
	struct dpa_qp_attr_create a = {.type = DPA_QP_RC,
				       .pdn = th->pdn,
				       .log_sq = TH_LOG_SQ,
				       .dbrec = &th->b.dbrec,
				       .sq = th->b.sq,
				       .send_cq = th->b.scq.cq,
				       .recv_cq = th->b.rcq.cq};
	struct dpa_qp_info info;

	m.addr = m.iova = (uintptr_t)th->b.mem;
	if (verb == DEREG)
		cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &m, &th->b.key), 0);
	if (verb == DESTROY)
		cr_assert_eq(dpa_hw_create_qp(&th->ctx, &a, &th->b.qp, &info), 0);
}

/* The words that a peer's guard reads. */
struct watched {
	const _Atomic uint64_t *grant;
	const _Atomic uint32_t *gen;
	uint64_t grant_was;
	uint32_t gen_was;
};

static struct watched watch(struct th *th, uint32_t key)
{
	const struct dpa_export *e = th->hw->export;
	struct watched w = {.grant = &e->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX],
			    .gen = &e->mr_gen[key >> DPA_KEY_TAG_BITS]};

	w.grant_was = atomic_load(w.grant);
	w.gen_was = atomic_load(w.gen);
	return w;
}

static bool taken_back(const struct watched *w)
{
	return atomic_load(w->grant) != w->grant_was || atomic_load(w->gen) != w->gen_was;
}

Test(transport_direct_wait, a_revoking_verb_waits_for_an_initiator_in_the_call)
{
	for (int v = 0; v < VERBS; v++) {
		struct th *th = direct();
		struct dpa_hazard *h;
		struct revoker r = {.th = th, .verb = (enum verb)v};
		struct watched seen;
		pthread_t t;

		if (v >= INVALIDATE)
			make_window(th, r.verb, &r.w);
		seen = watch(th, v >= INVALIDATE ? r.w.key : th->b.key);
		h = dpa_hazard_enter(th->hw, th->peer);
		cr_assert_not_null(h);
		atomic_store(&left, false);
		cr_assert_eq(pthread_create(&t, NULL, revoker, &r), 0);
		while (!taken_back(&seen))
			sched_yield();
		for (int i = 0; i < 200; i++) /* it gets every chance to return too early */
			sched_yield();
		atomic_store(&left, true);
		dpa_hazard_leave(h);
		pthread_join(t, NULL);
		cr_expect(r.saw_left, "verb %d did not wait", v);
		if (v >= INVALIDATE)
			end_window(th, r.verb, &r.w);
		restore(th, r.verb);
		th_free(th);
	}
}

/* Hazard pointers of another process in this process's view of its table. */
static struct dpa_hw *another_process(struct th *th, uint32_t slot, struct dpa_peer **peer)
{
	static struct dpa_board boards[DPA_BOARD_PROCS];
	struct dpa_board *board = &boards[slot];
	struct dpa_hw *hw = calloc(1, sizeof(*hw));
	struct dpa_peer *p = NULL;

	*board = (struct dpa_board){.slot = slot, .gen = 3};
	cr_assert(hw);
	hw->board = board;
	hw->export = mmap(NULL, sizeof(*hw->export), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert_neq(hw->export, MAP_FAILED);
	cr_assert_eq(posix_memalign((void **)&p, DPA_CACHE_LINE, sizeof(*p)), 0);
	memset(p, 0, sizeof(*p));
	p->hw = th->hw;
	p->slot = slot;
	p->gen = 3;
	p->export = hw->export;
	atomic_store(&p->state, DPA_PEER_UP);
	dpa_peers_put(th->hw, slot, p);
	*peer = p;
	return hw;
}

static struct dpa_hw *other_process(struct th *th, struct dpa_peer **peer)
{
	return another_process(th, 1, peer);
}

static void end_process(struct th *th, struct dpa_hw *hw, struct dpa_peer *p)
{
	atomic_store(&th->hw->peers[p->slot], NULL);
	munmap(hw->export, sizeof(*hw->export));
	free(hw);
	free(p);
}

static void end_other(struct th *th, struct dpa_hw *hw, struct dpa_peer *p)
{
	end_process(th, hw, p);
	th_free(th);
}

/*
 * A stopped initiator is at the entry of the kernel, and checks again when it continues. It is a
 * child that opens the device again, of a thread that was an initiator itself.
 */
Test(transport_direct_wait, a_stopped_initiator_is_not_waited_for, .timeout = 60)
{
	struct th *th = direct();
	struct dpa_peer *p;
	struct dpa_hw *hw = other_process(th, &p);
	int status;

	hw->serial = 1;
	dpa_hazard_leave(dpa_hazard_enter(hw, th->peer));
	p->pid = fork();
	cr_assert_geq(p->pid, 0);
	if (!p->pid) {
		hw->serial = 2;
		if (!dpa_hazard_enter(hw, th->peer))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	cr_assert_eq(waitpid(p->pid, &status, WUNTRACED), p->pid);
	cr_assert(WIFSTOPPED(status));
	th_now_step = 1000; /* the limit is 2 million of these calls away */
	take_back(th, REREG, NULL);
	cr_expect_lt(th_now, 1000000000u + DPA_HAZARD_WAIT_NS);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	th_now_step = 0;
	atomic_store(&hw->export->hazard[0].word, 0);
	end_other(th, hw, p);
}

Test(transport_direct_wait, a_dead_initiator_is_not_waited_for, .timeout = 60)
{
	struct th *th = direct();
	struct dpa_peer *p;
	struct dpa_hw *hw = other_process(th, &p);

	cr_assert_not_null(dpa_hazard_enter(hw, th->peer));
	th_now_step = 1000;
	th_dead = true;
	take_back(th, REREG, NULL);
	cr_expect_lt(th_now, 1000000000u + DPA_HAZARD_WAIT_NS);
	th_dead = false;
	/* an initiator that lives and stays in the kernel: for the limit */
	th_now_step = 1000000;
	take_back(th, ERROR, NULL);
	cr_expect_gt(th_now, 1000000000u + DPA_HAZARD_WAIT_NS);
	th_now_step = 0;
	atomic_store(&hw->export->hazard[0].word, 0);
	end_other(th, hw, p);
}

#define MS 1000000u

/* Return the wait of a verb by a clock that each call advances by 1 ms. */
static uint64_t wait_of_verb(struct th *th)
{
	uint64_t begin = th_now;

	th_now_step = MS;
	dpa_hazards_wait(th->hw);
	th_now_step = 0;
	return th_now - begin;
}

/* The threads of a frozen container: alive, not reported as stopped, and not running. */
static void freeze(struct dpa_hw *hw, struct th *th, struct dpa_hazard *h[DPA_HAZARDS])
{
	for (uint32_t i = 0; i < DPA_HAZARDS; i++) {
		h[i] = dpa_hazard_enter(hw, th->peer);
		cr_assert_not_null(h[i]);
	}
}

Test(transport_direct_wait, the_bound_is_for_all_threads_and_for_once, .timeout = 60)
{
	struct th *th = direct();
	struct dpa_hazard *h[DPA_HAZARDS];
	struct dpa_peer *p;
	struct dpa_hw *hw = other_process(th, &p);
	uint64_t took;

	freeze(hw, th, h);
	took = wait_of_verb(th);
	cr_expect(took > DPA_HAZARD_WAIT_NS && took < DPA_HAZARD_WAIT_NS + 100 * MS, "%lu ms",
		  (unsigned long)(took / MS));
	cr_expect_lt(wait_of_verb(th), 100 * MS);
	/* one of them continues, and starts a new operation: the verb waits for that */
	dpa_hazard_leave(h[7]);
	cr_expect_lt(wait_of_verb(th), 100 * MS);
	h[7] = dpa_hazard_enter(hw, th->peer);
	cr_assert_not_null(h[7]);
	cr_expect_gt(wait_of_verb(th), DPA_HAZARD_WAIT_NS);
	cr_expect_lt(wait_of_verb(th), 100 * MS);
	end_other(th, hw, p);
}

/*
 * More threads than one wait has room for: the limit holds, and the wait gives up on all of them in
 * the end.
 */
Test(transport_direct_wait, the_bound_is_for_all_processes, .timeout = 60)
{
	struct th *th = direct();
	struct dpa_hazard *h[DPA_HAZARDS];
	struct dpa_peer *p[3];
	struct dpa_hw *hw[3];

	for (uint32_t i = 0; i < 3; i++) {
		hw[i] = another_process(th, i + 1, &p[i]);
		freeze(hw[i], th, h);
	}
	for (int i = 0; i < 3; i++)
		cr_expect_lt(wait_of_verb(th), DPA_HAZARD_WAIT_NS + 100 * MS);
	cr_expect_lt(wait_of_verb(th), 100 * MS);
	for (uint32_t i = 0; i < 3; i++)
		end_process(th, hw[i], p[i]);
	th_free(th);
}

/* Beside threads that the wait gave up on, it waits for one that works. */
Test(transport_direct_wait, an_abandoned_initiator_hides_no_other, .timeout = 60)
{
	struct th *th = direct();
	struct revoker r = {.th = th, .verb = ERROR};
	uint64_t grant;
	struct dpa_hazard *h[DPA_HAZARDS];
	struct dpa_peer *p;
	struct dpa_hw *hw = other_process(th, &p);
	pthread_t t;

	freeze(hw, th, h);
	cr_expect_gt(wait_of_verb(th), DPA_HAZARD_WAIT_NS);
	dpa_hazard_leave(h[DPA_HAZARDS - 1]);
	h[DPA_HAZARDS - 1] = dpa_hazard_enter(hw, th->peer);
	cr_assert_not_null(h[DPA_HAZARDS - 1]);
	grant = atomic_load(&th->hw->export->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX]);
	atomic_store(&left, false);
	cr_assert_eq(pthread_create(&t, NULL, revoker, &r), 0);
	while (atomic_load(&th->hw->export->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX]) == grant)
		sched_yield();
	for (int i = 0; i < 1000; i++) /* it gets every chance to return too early */
		sched_yield();
	atomic_store(&left, true);
	dpa_hazard_leave(h[DPA_HAZARDS - 1]);
	pthread_join(t, NULL);
	cr_expect(r.saw_left);
	end_other(th, hw, p);
}

/* It uses other objects: no wait. */
Test(transport_direct_wait, work_with_others_is_not_waited_for, .timeout = 60)
{
	struct th *th = direct();
	struct dpa_peer *p, third = {.slot = 2, .gen = 1};
	struct dpa_hw *hw = other_process(th, &p);

	cr_assert_not_null(dpa_hazard_enter(hw, &third));
	take_back(th, REREG, NULL); /* time does not advance: a wait would never end */
	end_other(th, hw, p);
}
