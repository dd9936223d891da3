/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_races.c - memory windows: actions of another thread in the middle of a bind, a check or a
 * deallocation. The code under test is part of this file, and a test's step runs after one of its
 * loads or before one of its additions: no race depends on chance.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include "ctx/mr.h"
#include "payload/mw.h"
#include "ctx/qp.h"
#include "harness.h"

/* The step, run once: at the next such operation of this thread. */
static _Thread_local void (*at_load)(void), (*at_add)(void);

static void step(void (**at)(void))
{
	void (*fn)(void) = *at;

	*at = NULL;
	if (fn)
		fn();
}

static uint32_t load32(const _Atomic uint32_t *p, memory_order order)
{
	uint32_t v = atomic_load_explicit(p, order);

	step(&at_load);
	return v;
}

static uint32_t add32(_Atomic uint32_t *p, uint32_t n, memory_order order)
{
	step(&at_add);
	return atomic_fetch_add_explicit(p, n, order);
}

#include "direct/share.h"
#undef atomic_load_explicit
#undef atomic_fetch_add_explicit
#define atomic_load_explicit	  load32
#define atomic_fetch_add_explicit add32
#include "device/ctx/mr.c"
#include "device/payload/mw.c"

#define LEN 4096u

static struct th *th;
static uint32_t region, window; /* keys */
static struct dpa_wqe_bind bind;
static pthread_t thread;
static int thread_ret;

static void setup(void)
{
	static const struct th_opt opt;
	struct dpa_mr_attr a = {.access = TH_ALL | DPA_ACCESS_MW_BIND, .length = TH_MEM};

	th = th_new(&opt);
	a.pdn = th->pdn;
	a.addr = a.iova = (uintptr_t)th->a.mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &a, &region), 0);
	bind = (struct dpa_wqe_bind){
		.length = LEN, .lkey = region, .access = DPA_ACCESS_REMOTE_WRITE};
}

static void teardown(void)
{
	th_free(th);
}

TestSuite(mw_races, .init = setup, .fini = teardown);

static void alloc_window(uint32_t type)
{
	cr_assert_eq(dpa_hw_alloc_mw(&th->ctx, th->pdn, type, &window), 0);
}

static struct dpa_mr *entry(uint32_t key)
{
	return &th->hw->export->mr[key >> DPA_KEY_TAG_BITS];
}

static uint32_t next_key(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/* Bind the window to LEN bytes at off, as the QP's thread does; return its next key. */
static uint32_t bind_at(struct th_side *s, uint32_t off, uint32_t *key)
{
	uint32_t syn, old = *key;

	*key = next_key(old);
	dpa_qplock_lock(&s->qp->lock);
	syn = dpa_mw_bind(s->qp, old, *key, (uintptr_t)th->a.mem + off, &bind);
	dpa_qp_leave(s->qp);
	return syn;
}

static void wait_key_gone(uint32_t key)
{
	uint32_t n = 0;

	while (atomic_load(&entry(key)->key))
		dpa_relax(&n);
}

static void *deallocates(void *arg)
{
	thread_ret = dpa_hw_dealloc_mw(&th->ctx, window);
	return NULL;
}

/*
 * A window that is being deallocated waits for the QPs: one of them binds it now. The bind must
 * fail, otherwise the region would count a window that does not exist.
 */
Test(mw_races, bound_while_deallocated)
{
	uint32_t syn, key;

	alloc_window(DPA_MW_TYPE_2);
	key = window;
	cr_assert_eq(bind_at(&th->a, 0, &key), 0);
	window = key;
	dpa_qplock_lock(&th->a.qp->lock);
	cr_assert_eq(pthread_create(&thread, NULL, deallocates, NULL), 0);
	wait_key_gone(window);
	syn = dpa_mw_bind(th->a.qp, window, next_key(window), (uintptr_t)th->a.mem, &bind);
	dpa_qp_leave(th->a.qp);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(thread_ret, 0);
	cr_expect_eq(syn, DPA_SYN_MW_BIND);
	cr_expect_eq(atomic_load(&entry(region)->nmw), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0, "no window is left on it");
}

static void rebind_on_b(void)
{
	uint32_t key = window;

	cr_assert_eq(bind_at(&th->b, 8 * LEN, &key), 0);
}

/*
 * The other QP binds a window of type 1 elsewhere while a packet is checked against it: the old key
 * must not open the new range.
 */
Test(mw_races, bound_anew_while_checked)
{
	uint64_t va = (uintptr_t)th->a.mem + 8 * LEN, addr = 0;
	uint32_t syn;

	alloc_window(DPA_MW_TYPE_1);
	cr_assert_eq(bind_at(&th->a, 0, &window), 0);
	dpa_qplock_lock(&th->a.qp->lock);
	cr_expect_eq(dpa_mr_check_remote(th->a.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE, &addr),
		     DPA_SYN_LKEY_BOUNDS);
	dpa_qp_leave(th->a.qp);
	at_load = rebind_on_b;
	syn = dpa_mr_check_remote(th->a.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE, &addr);
	cr_assert_null(at_load, "it was bound in the middle");
	cr_expect_eq(syn, DPA_SYN_BAD_LKEY);
	window = next_key(window);
	cr_expect_eq(dpa_mr_check_remote(th->a.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE, &addr),
		     0, "the new key opens it");
	cr_expect_eq(addr, va);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, window), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0);
}

static uint32_t thread_syn;
static _Atomic uint32_t let_go;
static bool saw_let_go;

static void *binds_anew(void *arg)
{
	uint32_t key = window;

	thread_syn = bind_at(&th->b, 8 * LEN, &key);
	saw_let_go = atomic_load(&let_go);
	return NULL;
}

/* ... or carried out: the bind completes when no access uses the old range any more. */
Test(mw_races, bound_anew_while_used)
{
	uint64_t va = (uintptr_t)th->a.mem, addr = 0;

	alloc_window(DPA_MW_TYPE_1);
	cr_assert_eq(bind_at(&th->a, 0, &window), 0);
	dpa_qplock_lock(&th->a.qp->lock);
	cr_assert_eq(dpa_mr_check_remote(th->a.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE, &addr),
		     0);
	cr_assert_eq(pthread_create(&thread, NULL, binds_anew, NULL), 0);
	for (uint32_t n = 0; atomic_load(&entry(window)->key) == window;)
		dpa_relax(&n);
	for (int i = 0; i < 1000; i++) /* it gets every chance to return too early */
		sched_yield();
	atomic_store(&let_go, 1); /* in this place the bytes would be copied */
	dpa_qp_leave(th->a.qp);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(thread_syn, 0u);
	cr_expect(saw_let_go, "it did not wait");
	window = next_key(window);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, window), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0);
}

/* Two threads bind under the locks of their QPs, each of which had an access in a window before. */
static void *binds_under_a(void *arg)
{
	static uint32_t other;
	uint64_t addr;

	cr_assert_eq(dpa_hw_alloc_mw(&th->ctx, th->pdn, DPA_MW_TYPE_1, &other), 0);
	for (int i = 0; i < 10000; i++) {
		uint32_t old = other;

		other = next_key(old);
		dpa_qplock_lock(&th->a.qp->lock);
		cr_assert_eq(dpa_mw_bind(th->a.qp, old, other, (uintptr_t)th->a.mem, &bind), 0);
		dpa_mr_check_remote(th->a.qp, other, (uintptr_t)th->a.mem, 64,
				    DPA_ACCESS_REMOTE_WRITE, &addr);
		old = other;
		other = next_key(old);
		cr_assert_eq(dpa_mw_bind(th->a.qp, old, other, (uintptr_t)th->a.mem, &bind), 0);
		dpa_qp_leave(th->a.qp);
	}
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, other), 0);
	return NULL;
}

Test(mw_races, two_binds_do_not_wait_for_each_other, .timeout = 120)
{
	uint64_t va = (uintptr_t)th->a.mem, addr;

	alloc_window(DPA_MW_TYPE_1);
	cr_assert_eq(pthread_create(&thread, NULL, binds_under_a, NULL), 0);
	for (int i = 0; i < 10000; i++) {
		dpa_qplock_lock(&th->b.qp->lock);
		cr_assert_eq(dpa_mw_bind(th->b.qp, window, next_key(window), va, &bind), 0);
		window = next_key(window);
		dpa_mr_check_remote(th->b.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE, &addr);
		cr_assert_eq(dpa_mw_bind(th->b.qp, window, next_key(window), va, &bind), 0);
		window = next_key(window);
		dpa_qp_leave(th->b.qp);
	}
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, window), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0);
}

static void *deregisters(void *arg)
{
	thread_ret = dpa_hw_dereg_mr(&th->ctx, region);
	return NULL;
}

/* To the same range, but with less access. */
static void *reregisters(void *arg)
{
	struct dpa_mr_attr a = {.access = DPA_ACCESS_LOCAL_WRITE};
	uint32_t key = region;

	thread_ret = dpa_hw_rereg_mr(&th->ctx, &key, DPA_REREG_ACCESS, &a);
	return NULL;
}

static void *(*takes_away)(void *);

static void take_away(void)
{
	const _Atomic uint32_t *gen = &th->hw->export->mr_gen[region >> DPA_KEY_TAG_BITS];
	uint32_t was = atomic_load(gen), n = 0;

	cr_assert_eq(pthread_create(&thread, NULL, takes_away, NULL), 0);
	while (atomic_load(gen) == was)
		dpa_relax(&n);
}

/*
 * A region is deregistered, or loses a right, when a bind has checked it and not counted itself
 * yet: the bind was first, the region stays unchanged.
 */
Test(mw_races, bound_while_taken_away)
{
	static void *(*const how[])(void *) = {deregisters, reregisters};

	alloc_window(DPA_MW_TYPE_2);
	for (int i = 0; i < 2; i++) {
		uint64_t va = (uintptr_t)th->a.mem, addr = 0;

		takes_away = how[i];
		at_add = take_away;
		cr_assert_eq(bind_at(&th->a, 0, &window), 0);
		cr_assert_null(at_add);
		cr_assert_eq(pthread_join(thread, NULL), 0);
		cr_expect_eq(thread_ret, EBUSY, "%d: %d", i, thread_ret);
		cr_expect_eq(dpa_mr_check(th->hw, region, th->pdn, va, 64, DPA_ACCESS_LOCAL_WRITE,
					  &addr),
			     0, "%d: its key is back", i);
		cr_expect_eq(dpa_mr_check_remote(th->a.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE,
						 &addr),
			     0, "%d: the window works", i);
		dpa_qplock_lock(&th->a.qp->lock);
		cr_expect_eq(dpa_mw_invalidate(th->a.qp, window), 0u);
		dpa_qp_leave(th->a.qp);
	}
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, window), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0);
}

/*
 * A window of type 2 belongs to its QP: with the right key, another QP of the same PD may neither
 * use nor invalidate it.
 */
Test(mw_races, anothers_window)
{
	uint64_t va = (uintptr_t)th->a.mem, addr = 0;

	alloc_window(DPA_MW_TYPE_2);
	cr_assert_eq(bind_at(&th->a, 0, &window), 0);
	cr_expect_eq(dpa_mr_check_remote(th->b.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE, &addr),
		     DPA_SYN_BAD_LKEY);
	cr_expect_eq(dpa_mw_invalidate(th->b.qp, window), DPA_SYN_INV_RKEY);
	cr_expect_eq(dpa_mr_check_remote(th->a.qp, window, va, 64, DPA_ACCESS_REMOTE_WRITE, &addr),
		     0, "it is still bound");
	cr_expect_eq(dpa_mw_invalidate(th->a.qp, window), 0u);
	cr_expect_eq(dpa_mw_invalidate(th->a.qp, window), DPA_SYN_INV_RKEY, "once");
	cr_expect_eq(atomic_load(&entry(region)->nmw), 0);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, window), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0);
}

/*
 * A bind that was posted to a stalled queue runs when its window does not exist any more, and
 * another one has the entry: it bound that one.
 */
Test(mw_races, a_bind_that_comes_late_is_not_the_next_windows)
{
	const uint32_t used = th->hw->mrs.used_max;

	for (int i = 0; i < 200; i++) { /* by chance the keys mostly differ */
		struct dpa_mr *e;
		uint32_t old;

		alloc_window(DPA_MW_TYPE_2);
		old = window;
		e = entry(old);
		cr_assert_eq(dpa_hw_dealloc_mw(&th->ctx, old), 0);
		th->hw->mrs.used_max = DPA_MAX_MR; /* as if no entry were fresh */
		alloc_window(DPA_MW_TYPE_2);
		cr_assert_eq(entry(window), e);
		cr_assert_eq(bind_at(&th->a, 0, &old), DPA_SYN_MW_BIND, "%d", i);
		cr_assert_eq(atomic_load(&e->key), 0);
		cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, old), EINVAL);
		old = window;
		cr_assert_eq(bind_at(&th->a, 0, &old), 0, "the new one's own");
		cr_assert_eq(dpa_hw_dealloc_mw(&th->ctx, old), 0);
	}
	th->hw->mrs.used_max = used + 1;
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0);
}

static void *reregisters_locally(void *arg)
{
	struct dpa_mr_attr a = {.access = DPA_ACCESS_LOCAL_WRITE};
	uint32_t key = region;

	thread_ret = dpa_hw_rereg_mr(&th->ctx, &key, DPA_REREG_ACCESS, &a);
	cr_expect_eq(key, region);
	return NULL;
}

/*
 * If memory may be shared, a region that lost its remote rights had no key for a moment: a receive
 * with it failed meanwhile.
 */
Test(mw_races, local_rights_that_stay_are_not_refused_for_a_moment)
{
	static struct dpa_share share = {.pages = {.fd = -1}};
	uint64_t va = (uintptr_t)th->a.mem, addr;

	th->hw->share = &share;
	dpa_qplock_lock(&th->a.qp->lock);
	takes_away = reregisters_locally;
	take_away(); /* it waits for the QP at this point */
	cr_expect_eq(dpa_mr_check(th->hw, region, th->pdn, va, 64, DPA_ACCESS_LOCAL_WRITE, &addr),
		     0);
	cr_expect_neq(dpa_mr_check(th->hw, region, th->pdn, va, 64, DPA_ACCESS_REMOTE_READ, &addr),
		      0, "that one is gone");
	dpa_qp_leave(th->a.qp);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(thread_ret, 0);
	th->hw->share = NULL;
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, region), 0);
}
