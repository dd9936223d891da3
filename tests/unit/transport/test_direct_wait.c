/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The direct path: who takes something back waits for who is at work with it, and for whom not. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "harness.h"
#include "link/direct.h"

static struct th *direct(void)
{
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	return th_new(&(struct th_opt){.type = DPA_QP_RC, .pull = true, .direct = true});
}

enum verb { DEREG, REREG, MODIFY, ERROR, DESTROY, VERBS };

static _Atomic bool left;

struct revoker {
	struct th *th;
	enum verb verb;
	bool saw_left;
};

static void take_back(struct th *th, enum verb verb)
{
	struct dpa_mr_attr m = {.access = DPA_ACCESS_LOCAL_WRITE};
	struct dpa_qp_attr a = {.state = DPA_QPS_ERR};

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
	case ERROR:
		cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_STATE), 0);
		break;
	default:
		a.state = DPA_QPS_RESET;
		cr_assert_eq(dpa_hw_modify_qp(th->b.qp, &a, DPA_QPM_STATE), 0);
	}
}

static void *revoker(void *arg)
{
	struct revoker *r = arg;

	take_back(r->th, r->verb);
	r->saw_left = atomic_load(&left);
	return NULL;
}

/* Anything of what a peer's guard looks at has changed. */
static bool taken_back(struct th *th, uint64_t grant, uint32_t gen)
{
	const struct dpa_export *e = th->hw->export;

	return atomic_load(&e->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX]) != grant ||
	       atomic_load(&e->mr_gen[th->b.key >> DPA_KEY_TAG_BITS]) != gen;
}

Test(transport_direct_wait, a_revoking_verb_waits_for_who_is_at_work)
{
	for (int v = 0; v < VERBS; v++) {
		struct th *th = direct();
		struct dpa_hazard *h = dpa_hazard_enter(th->hw, th->peer);
		struct revoker r = {.th = th, .verb = (enum verb)v};
		uint64_t grant =
			atomic_load(&th->hw->export->qp_grant[th->b.qp->qpn & DPA_QPN_INDEX]);
		uint32_t gen = atomic_load(&th->hw->export->mr_gen[th->b.key >> DPA_KEY_TAG_BITS]);
		pthread_t t;

		cr_assert_not_null(h);
		atomic_store(&left, false);
		cr_assert_eq(pthread_create(&t, NULL, revoker, &r), 0);
		while (!taken_back(th, grant, gen))
			sched_yield();
		for (int i = 0; i < 1000; i++) /* it has every chance to be too early */
			sched_yield();
		atomic_store(&left, true);
		dpa_hazard_leave(h);
		pthread_join(t, NULL);
		cr_expect(r.saw_left, "verb %d did not wait", v);
		if (v == DEREG) {
			struct dpa_mr_attr m = {.pdn = th->pdn, .access = TH_ALL, .length = TH_MEM};

			m.addr = m.iova = (uintptr_t)th->b.mem;
			cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &m, &th->b.key), 0);
		}
		th_free(th);
	}
}

/* Another process's hazards in the table that this one sees of it. */
static struct dpa_hw *another_process(struct th *th, uint32_t slot, struct dpa_peer **peer)
{
	static struct dpa_board boards[DPA_BOARD_PROCS];
	struct dpa_board *board = &boards[slot];
	struct dpa_hw *hw = calloc(1, sizeof(*hw));
	struct dpa_peer *p;

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
	atomic_store(&th->hw->peers[slot], p);
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
 * A stopped initiator is at the threshold of the kernel, and looks again when it goes on. It is a
 * child that opens the device anew, of a thread that was an initiator itself.
 */
Test(transport_direct_wait, who_is_stopped_is_not_waited_for, .timeout = 60)
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
	th_now_step = 1000; /* the bound is 2 million such questions away */
	take_back(th, REREG);
	cr_expect_lt(th_now, 1000000000u + DPA_HAZARD_WAIT_NS);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	th_now_step = 0;
	atomic_store(&hw->export->hazard[0].word, 0);
	end_other(th, hw, p);
}

Test(transport_direct_wait, who_is_dead_is_not_waited_for, .timeout = 60)
{
	struct th *th = direct();
	struct dpa_peer *p;
	struct dpa_hw *hw = other_process(th, &p);

	cr_assert_not_null(dpa_hazard_enter(hw, th->peer));
	th_now_step = 1000;
	th_dead = true;
	take_back(th, REREG);
	cr_expect_lt(th_now, 1000000000u + DPA_HAZARD_WAIT_NS);
	th_dead = false;
	/* one that lives and stays in the kernel: for the bound */
	th_now_step = 1000000;
	take_back(th, ERROR);
	cr_expect_gt(th_now, 1000000000u + DPA_HAZARD_WAIT_NS);
	th_now_step = 0;
	atomic_store(&hw->export->hazard[0].word, 0);
	end_other(th, hw, p);
}

#define MS 1000000u

/* What a verb waits of a clock that each question moves by 1 ms. */
static uint64_t wait_of_verb(struct th *th)
{
	uint64_t begin = th_now;

	th_now_step = MS;
	dpa_hazards_wait(th->hw);
	th_now_step = 0;
	return th_now - begin;
}

/* The threads of a frozen container: it lives, none of them is seen stopped, and none goes on. */
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
	/* one of them goes on, and is at it again: that is waited for */
	dpa_hazard_leave(h[7]);
	cr_expect_lt(wait_of_verb(th), 100 * MS);
	h[7] = dpa_hazard_enter(hw, th->peer);
	cr_assert_not_null(h[7]);
	cr_expect_gt(wait_of_verb(th), DPA_HAZARD_WAIT_NS);
	cr_expect_lt(wait_of_verb(th), 100 * MS);
	end_other(th, hw, p);
}

/* More threads than one wait has room for: the bound stands, and all are given up in the end. */
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

/* Beside those that were given up, one that works is waited for. */
Test(transport_direct_wait, who_is_given_up_hides_nobody, .timeout = 60)
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
	for (int i = 0; i < 1000; i++) /* it has every chance to be too early */
		sched_yield();
	atomic_store(&left, true);
	dpa_hazard_leave(h[DPA_HAZARDS - 1]);
	pthread_join(t, NULL);
	cr_expect(r.saw_left);
	end_other(th, hw, p);
}

/* It names others: nobody waits. */
Test(transport_direct_wait, work_with_others_is_not_waited_for, .timeout = 60)
{
	struct th *th = direct();
	struct dpa_peer *p, third = {.slot = 2, .gen = 1};
	struct dpa_hw *hw = other_process(th, &p);

	cr_assert_not_null(dpa_hazard_enter(hw, &third));
	take_back(th, REREG); /* time stands still: it would never end */
	end_other(th, hw, p);
}
