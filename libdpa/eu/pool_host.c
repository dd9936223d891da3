/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pool_host.c - the pool's threads: creation and end; kills of the code that runs on them; entry to
 * device code and exit from it.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../crash/crash.h"
#include "../crash/fatal.h"
#include "../crash/watchdog.h"
#include "../stat/stat.h"
#include "../run/fault.h"
#include "room.h"
#include "pool_int.h"

#ifdef __SANITIZE_THREAD__ /* ThreadSanitizer uses some 800 KiB of each thread's stack */
#define EU_STACK (2048 * 1024)
#else
#define EU_STACK (1024 * 1024) /* static TLS of the process is in it too */
#endif
#define QUIESCE_SPINS 200

/* -------------------------------------------------------------- the threads */

/* The lock is held. A new thread inherits a mask in which only faults and the kill are open. */
static int add_thread(void)
{
	uint32_t i = atomic_load_explicit(&dpa_pool.num_threads, memory_order_relaxed);
	struct dpal_eu *eu = &dpa_pool.threads[i];
	pthread_attr_t attr;
	sigset_t mask, old;
	char name[16];
	int ret;

	memset(eu, 0, sizeof(*eu));
	eu->index = (int)i;
	atomic_init(&eu->kill, UINT64_MAX); /* no ticket */
	atomic_init(&eu->overrun, UINT64_MAX);
	eu->altstack = malloc(DPA_ALTSTACK);
	if (!eu->altstack)
		return ENOMEM;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, EU_STACK);
	pthread_attr_setguardsize(&attr, DPA_EU_GUARD);
	dpa_fault_mask(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	ret = pthread_create(&eu->thread, &attr, dpa_pool_thread, eu);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (ret) {
		free(eu->altstack);
		return ret;
	}
	snprintf(name, sizeof(name), "dpa-eu-%u", i);
	pthread_setname_np(eu->thread, name);
	atomic_store_explicit(&dpa_pool.num_threads, i + 1, memory_order_release);
	return 0;
}

static bool take_idle(uint32_t i)
{
	uint64_t bit = 1ull << (i % 64);

	return atomic_fetch_and_explicit(&dpa_pool.idle[i / 64], ~bit, memory_order_seq_cst) & bit;
}

static void end_threads(void)
{
	uint32_t n = atomic_load_explicit(&dpa_pool.num_threads, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++) {
		while (!take_idle(i))
			sched_yield(); /* between its last work and idle */
		dpa_pool_give((int)i, &dpa_pool_stop_mark);
		pthread_join(dpa_pool.threads[i].thread, NULL);
		free(dpa_pool.threads[i].altstack);
	}
	atomic_store_explicit(&dpa_pool.num_threads, 0, memory_order_relaxed);
}

/* Create threads until there are `want`, which is at most the limit. 0 or errno. */
static int have_threads(uint32_t want)
{
	int ret = 0;

	if (want <= atomic_load_explicit(&dpa_pool.num_threads, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&dpa_pool.lock);
	while (!ret && atomic_load_explicit(&dpa_pool.num_threads, memory_order_relaxed) < want)
		ret = add_thread();
	pthread_mutex_unlock(&dpa_pool.lock);
	return ret;
}

int dpa_pool_try_reserve(uint32_t n)
{
	uint32_t now = atomic_load(&dpa_pool.reserved);
	int ret;

	do { /* never exceed the limit, not even for a moment: other reservations would fail */
		if (n > DPA_EU_THREADS - now)
			return EAGAIN;
	} while (!atomic_compare_exchange_weak(&dpa_pool.reserved, &now, now + n));
	ret = have_threads(now + n);
	if (ret)
		atomic_fetch_sub(&dpa_pool.reserved, n);
	return ret;
}

int dpa_pool_reserve(uint32_t n)
{
	int ret = dpa_pool_try_reserve(n);

	if (ret)
		/* another thread may have missed the room that was taken for a moment */
		dpa_room_freed();
	return ret;
}

void dpa_pool_unreserve(uint32_t n)
{
	atomic_fetch_sub(&dpa_pool.reserved, n);
	dpa_room_freed();
}

int dpa_pool_provide(uint32_t n)
{
	uint32_t now = atomic_load_explicit(&dpa_pool.reserved, memory_order_relaxed);

	return have_threads(n < DPA_EU_THREADS - now ? now + n : DPA_EU_THREADS);
}

void dpa_pool_pin(uint32_t eu)
{
	atomic_fetch_add_explicit(&dpa_pool.pinned[eu], 1, memory_order_relaxed);
}

void dpa_pool_unpin(uint32_t eu)
{
	atomic_fetch_sub_explicit(&dpa_pool.pinned[eu], 1, memory_order_relaxed);
}

/* ---------------------------------------------------------------- the pool */

static void clear_list(struct dpa_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
	atomic_store_explicit(&l->len, 0, memory_order_relaxed);
}

/* Reset the pool to its initial state. */
static void pool_in_child(void)
{
	pthread_mutex_init(&dpa_pool.lock, NULL);
	dpa_pool.generation++;
	dpa_pool.refs = 0;
	atomic_store_explicit(&dpa_pool.reserved, 0, memory_order_relaxed);
	atomic_store_explicit(&dpa_pool.num_threads, 0, memory_order_relaxed);
	atomic_store_explicit(&dpa_pool.spinners, 0, memory_order_relaxed);
	atomic_store_explicit(&dpa_pool.spinner, 0, memory_order_relaxed);
	memset(dpa_pool.pinned, 0, sizeof(dpa_pool.pinned));
	memset(dpa_pool.idle, 0, sizeof(dpa_pool.idle));
	atomic_flag_clear_explicit(&dpa_pool.queue_lock, memory_order_relaxed);
	clear_list(&dpa_pool.queue);
	clear_list(&dpa_pool.ready);
	dpal_eu_self = NULL;
	dpa_room_forget();
	dpa_watchdog_forget();
	dpa_stat_forget();
}

static void watch_pool_forks(void)
{
	pthread_atfork(NULL, NULL, pool_in_child);
}

uint32_t dpa_pool_generation(void)
{
	return dpa_pool.generation;
}

/* The lock is held. */
static int open_pool(const struct dpa_pool_ops *ops, void *arg)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int ret = ops->open(arg, &dpa_pool.dev, &dpa_pool.num_eus);

	if (ret)
		return ret;
	dpa_pool.ops = ops;
	if (dpa_pool.num_eus > DPA_EU_MAX)
		dpa_pool.num_eus = DPA_EU_MAX;
	dpa_pool.max_spinners = cores > 2 ? (uint32_t)cores / 2 : 1;
	for (uint32_t w = 0; w < EU_WORDS; w++) {
		uint32_t left = dpa_pool.num_eus > w * 64 ? dpa_pool.num_eus - w * 64 : 0;

		atomic_store_explicit(&dpa_pool.lent[w], 0, memory_order_relaxed);
		atomic_store_explicit(&dpa_pool.free_eus[w],
				      left >= 64 ? UINT64_MAX : (1ull << left) - 1,
				      memory_order_relaxed);
	}
	return 0;
}

int dpa_pool_get(const struct dpa_pool_ops *ops, void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int ret;

	pthread_once(&once, watch_pool_forks);
	pthread_mutex_lock(&dpa_pool.lock);
	ret = dpa_pool.refs ? 0 : open_pool(ops, arg);
	if (!ret) {
		dpa_fault_install();
		dpa_pool.refs++;
	}
	pthread_mutex_unlock(&dpa_pool.lock);
	return ret;
}

void dpa_pool_put(void)
{
	pthread_mutex_lock(&dpa_pool.lock);
	if (!--dpa_pool.refs) {
		dpa_watchdog_stop();
		end_threads();
		dpa_pool.ops->close(dpa_pool.dev);
	}
	pthread_mutex_unlock(&dpa_pool.lock);
}

/* ------------------------------------------------------------------- kills */

void dpa_pool_each(void (*fn)(struct dpal_eu *eu, void *arg), void *arg)
{
	uint32_t n = atomic_load_explicit(&dpa_pool.num_threads, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		fn(&dpa_pool.threads[i], arg);
}

static void kill_ticket(struct dpal_eu *eu, uint64_t ticket)
{
	atomic_store_explicit(&eu->kill, ticket, memory_order_seq_cst);
	pthread_kill(eu->thread, dpa_fault_kill_signal());
}

/*
 * Kill a work. The ticket is read before and after: the thread may switch to other work meanwhile.
 */
static void kill_work(struct dpal_eu *eu, void *work)
{
	uint64_t t = atomic_load_explicit(&eu->ticket, memory_order_seq_cst);

	if (atomic_load_explicit(&eu->running, memory_order_seq_cst) == work && t % 2 &&
	    atomic_load_explicit(&eu->ticket, memory_order_seq_cst) == t)
		kill_ticket(eu, t);
}

void dpa_pool_kill(const struct dpa_work *work)
{
	dpa_pool_each(kill_work, (void *)work);
}

static void kill_owned(struct dpal_eu *eu, void *owner)
{
	uint64_t t = atomic_load_explicit(&eu->ticket, memory_order_seq_cst);

	if (eu != dpal_eu_self && t % 2 &&
	    atomic_load_explicit(&eu->owner, memory_order_seq_cst) == owner &&
	    atomic_load_explicit(&eu->ticket, memory_order_seq_cst) == t)
		kill_ticket(eu, t);
}

void dpa_pool_kill_owner(const void *owner)
{
	dpa_pool_each(kill_owned, (void *)owner);
}

/*
 * Wait for the op that the thread is in now. Code that calls ops without a pause (a polling loop)
 * is hardly ever seen outside of one; but the next op begins after the caller has removed the
 * object.
 */
static void wait_for_op(struct dpal_eu *eu, void *arg)
{
	uint32_t op = atomic_load_explicit(&eu->ops, memory_order_seq_cst);

	for (int k = 0; atomic_load_explicit(&eu->in_op, memory_order_seq_cst) == DPA_OP_USES &&
			atomic_load_explicit(&eu->ops, memory_order_acquire) == op;)
		if (++k > QUIESCE_SPINS)
			sched_yield();
}

void dpa_pool_quiesce(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	dpa_pool_each(wait_for_op, NULL);
}

/* ------------------------------------------------------- into device code */

/* Store the owner first: a thread that reads the new ticket reads this owner too. */
void dpal_eu_enter(const void *owner)
{
	struct dpal_eu *eu = dpal_eu_self;

	eu->fault_sig = 0;
	eu->fault_text = NULL;
	atomic_store_explicit(&eu->owner, owner, memory_order_seq_cst);
	atomic_fetch_add_explicit(&eu->ticket, 1, memory_order_seq_cst);
	dpa_watchdog_begin();
}

/* Store `left` before the ticket: a thread that reads the even ticket reads the left owner too. */
void dpal_eu_exit(void)
{
	struct dpal_eu *eu = dpal_eu_self;

	atomic_store_explicit(&eu->left, atomic_load_explicit(&eu->owner, memory_order_relaxed),
			      memory_order_seq_cst);
	atomic_fetch_add_explicit(&eu->ticket, 1, memory_order_seq_cst);
	atomic_store_explicit(&eu->owner, NULL, memory_order_seq_cst);
}

void dpal_eu_gone(void)
{
	atomic_store_explicit(&dpal_eu_self->left, NULL, memory_order_seq_cst);
}

/*
 * Call device code with setjmp, not with a context switch: device code runs on the thread's own
 * stack, and the sanitizers can forget frames that a jump skips.
 */
enum dpal_eu_end dpal_eu_call(void (*fn)(void *arg), void *arg)
{
	struct dpal_eu *eu = dpal_eu_self;
	int how = _setjmp(eu->out);

	if (!how) {
		dpal_eu_hold(eu);
		eu->in_user = true;
		atomic_signal_fence(memory_order_seq_cst);
		if (!dpal_eu_goes_on(eu)) /* the kill's signal came too early */
			dpal_eu_leave(DPA_EU_KILLED);
		fn(arg);
		how = 1 + DPA_EU_RETURNED;
	}
	atomic_signal_fence(memory_order_seq_cst);
	eu->in_user = false;
	atomic_store_explicit(&eu->in_op, DPA_OP_NONE, memory_order_release);
	return (enum dpal_eu_end)(how - 1);
}

_Noreturn void dpal_eu_no_stack(struct dpal_eu *eu)
{
	eu->fault_text = "so much stack that no call of the library fits (stack overflow)";
	dpal_eu_leave(DPA_EU_FAULTED);
}

_Noreturn void dpal_eu_leave(enum dpal_eu_end how)
{
	struct dpal_eu *eu = dpal_eu_self;

	eu->in_user = false; /* a kill has no effect from here on */
	if (how == DPA_EU_KILLED && dpa_watchdog_hit(eu))
		how = DPA_EU_FAULTED;
	if (how == DPA_EU_FAULTED || dpa_fatal_is_of(eu))
		dpa_crash_capture_here();
	atomic_signal_fence(memory_order_seq_cst);
	/*
	 * Do not use _longjmp(), which does the same: ThreadSanitizer would not remove the frames.
	 */
	longjmp(eu->out, 1 + (int)how);
}
