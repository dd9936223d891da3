/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The EU workers: hand-over, idling, sleeping. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fault.h"
#include "futex.h"
#include "pool.h"

#define EU_STACK      (256 * 1024)
#define EU_GUARD      (64 * 1024)
#define IDLE_ROUNDS   64   /* looks at the device that find nothing before an EU sleeps */
#define BUSY_ROUNDS   1024 /* looks that find something for others */
#define IDLE_PAUSES   32   /* between two looks */
#define BITMAP_WORDS  (DPA_EU_MAX / 64)
#define QUIESCE_SPINS 200

static struct dpa_act stop_mark; /* as work: end the thread */
static struct dpa_act look_mark; /* as work: there is something in the queue */

static struct {
	pthread_mutex_t lock; /* everything down to the next comment */
	uint32_t refs, reserved, generation;
	const struct dpa_pool_ops *ops;
	void *dev;
	uint32_t num_eus;
	_Atomic uint32_t num_workers; /* grows only while the pool lives */
	/* any thread */
	_Atomic uint64_t idle[BITMAP_WORDS];
	/* Targets that found no idle EU. The holder of the spin lock never sleeps or calls out. */
	atomic_flag queue_lock;
	_Atomic uint32_t queue_len;
	struct dpa_act *queue_head, **queue_tail;
	struct dpa_eu eus[DPA_EU_MAX];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
	  .queue_lock = ATOMIC_FLAG_INIT,
	  .queue_tail = &pool.queue_head};

__thread struct dpa_eu *dpa_eu_self __attribute__((tls_model("initial-exec")));

/* ------------------------------------------------------------ the overflow */

static void queue_enter(void)
{
	for (int i = 0; atomic_flag_test_and_set_explicit(&pool.queue_lock, memory_order_acquire);)
		if (++i > QUIESCE_SPINS)
			sched_yield();
}

static void queue_push(struct dpa_act *act)
{
	queue_enter();
	act->next = NULL;
	*pool.queue_tail = act;
	pool.queue_tail = &act->next;
	atomic_fetch_add_explicit(&pool.queue_len, 1, memory_order_seq_cst);
	atomic_flag_clear_explicit(&pool.queue_lock, memory_order_release);
}

static struct dpa_act *queue_pop(void)
{
	struct dpa_act *act;

	if (!atomic_load_explicit(&pool.queue_len, memory_order_seq_cst))
		return NULL;
	queue_enter();
	act = pool.queue_head;
	if (act) {
		pool.queue_head = act->next;
		if (!pool.queue_head)
			pool.queue_tail = &pool.queue_head;
		atomic_fetch_sub_explicit(&pool.queue_len, 1, memory_order_relaxed);
	}
	atomic_flag_clear_explicit(&pool.queue_lock, memory_order_release);
	return act;
}

/* ---------------------------------------------------------------- hand-over */

/* Takes an EU's idle bit: the winner, and nobody else, gives it work. */
static bool claim(int id)
{
	uint64_t bit = 1ull << (id % 64);

	return atomic_fetch_and_explicit(&pool.idle[id / 64], ~bit, memory_order_seq_cst) & bit;
}

static int claim_any(void)
{
	for (int w = 0; w < BITMAP_WORDS; w++) {
		uint64_t bits = atomic_load_explicit(&pool.idle[w], memory_order_seq_cst);

		while (bits) {
			int id = w * 64 + __builtin_ctzll(bits);

			if (claim(id))
				return id;
			bits &= bits - 1;
		}
	}
	return -1;
}

/* After claim(): the store is seen by an EU that spins; one that sleeps is woken. */
static void give(int id, struct dpa_act *work)
{
	struct dpa_eu *eu = &pool.eus[id];

	atomic_store_explicit(&eu->work, work, memory_order_seq_cst);
	if (atomic_exchange_explicit(&eu->asleep, 0, memory_order_seq_cst))
		dpa_futex_wake(&eu->asleep, 1);
}

/* The caller's own EU first (it looks at the device while idle), then where it was hot, then any.
 */
static int pick(struct dpa_act *act)
{
	int last = atomic_load_explicit(&act->last_eu, memory_order_relaxed);

	if (dpa_eu_self && claim(dpa_eu_self->id))
		return dpa_eu_self->id;
	if (last >= 0 && claim(last))
		return last;
	return claim_any();
}

void dpa_pool_dispatch(struct dpa_act *act)
{
	struct dpa_eu *self = dpa_eu_self;
	int id;

	if (self && atomic_load_explicit(&self->act, memory_order_relaxed) == act) {
		self->again = act; /* at its own end: this EU sees to it */
		return;
	}
	id = pick(act);
	if (id >= 0) {
		give(id, act);
		return;
	}
	queue_push(act);
	id = claim_any(); /* one that became idle before it could see the queue */
	if (id >= 0)
		give(id, &look_mark);
}

/* -------------------------------------------------------------- the workers */

static struct dpa_act *spin_for_work(struct dpa_eu *eu)
{
	for (int idle = 0, busy = 0; idle < IDLE_ROUNDS && busy < BUSY_ROUNDS;) {
		int did = pool.ops->progress(pool.dev);
		struct dpa_act *act = atomic_load_explicit(&eu->work, memory_order_acquire);

		if (act)
			return act;
		if (did > 0) {
			busy++;
			continue;
		}
		for (int k = 0; k < IDLE_PAUSES; k++)
			dpa_pause();
		if (++idle % 8 == 0)
			sched_yield();
	}
	return NULL;
}

/* Says so, looks again, sleeps: give() stores, then reads `asleep`, so that one of both sees. */
static struct dpa_act *sleep_for_work(struct dpa_eu *eu)
{
	struct dpa_act *act;

	pool.ops->idle(pool.dev);
	for (;;) {
		atomic_store_explicit(&eu->asleep, 1, memory_order_seq_cst);
		act = atomic_load_explicit(&eu->work, memory_order_seq_cst);
		if (act)
			break;
		dpa_futex_wait(&eu->asleep, 1, -1);
	}
	atomic_store_explicit(&eu->asleep, 0, memory_order_relaxed);
	return act;
}

/* Blocks until there is something; the idle bit is out while it waits. */
static struct dpa_act *next_work(struct dpa_eu *eu)
{
	struct dpa_act *act = queue_pop();

	while (!act || act == &look_mark) {
		atomic_store_explicit(&eu->work, NULL, memory_order_relaxed);
		atomic_fetch_or_explicit(&pool.idle[eu->id / 64], 1ull << (eu->id % 64),
					 memory_order_seq_cst);
		/* A dispatcher that pushed before it could see the bit. */
		if (atomic_load_explicit(&pool.queue_len, memory_order_seq_cst) && claim(eu->id)) {
			act = queue_pop();
			continue;
		}
		act = spin_for_work(eu);
		if (!act)
			act = sleep_for_work(eu);
		if (act == &look_mark)
			act = queue_pop();
	}
	return act;
}

static void execute(struct dpa_eu *eu, struct dpa_act *act)
{
	while (act) {
		atomic_store_explicit(&act->last_eu, eu->id, memory_order_relaxed);
		atomic_store_explicit(&eu->act, act, memory_order_release);
		eu->again = NULL;
		dpa_act_execute(act);
		/* From here on `act` may be gone, unless it is eu->again. */
		atomic_store_explicit(&eu->act, NULL, memory_order_release);
		act = eu->again;
		if (act && atomic_load_explicit(&pool.queue_len, memory_order_relaxed)) {
			queue_push(act); /* behind those who wait already */
			act = queue_pop();
		}
	}
}

static void *worker(void *arg)
{
	struct dpa_eu *eu = arg;
	struct dpa_act *act;

	dpa_eu_self = eu;
	dpa_fault_thread_begin(eu);
	while ((act = next_work(eu)) != &stop_mark)
		execute(eu, act);
	dpa_fault_thread_end(eu);
	return NULL;
}

/* pool.lock is held. The new thread inherits a mask in which only faults and the kill are open. */
static int add_worker(void)
{
	uint32_t id = atomic_load_explicit(&pool.num_workers, memory_order_relaxed);
	struct dpa_eu *eu = &pool.eus[id];
	pthread_attr_t attr;
	sigset_t mask, old;
	char name[16];
	int ret;

	memset(eu, 0, sizeof(*eu));
	eu->id = (int)id;
	eu->altstack = malloc(DPA_ALTSTACK);
	if (!eu->altstack)
		return ENOMEM;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, EU_STACK);
	pthread_attr_setguardsize(&attr, EU_GUARD);
	dpa_fault_mask(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	ret = pthread_create(&eu->thread, &attr, worker, eu);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (ret) {
		free(eu->altstack);
		return ret;
	}
	snprintf(name, sizeof(name), "dpa-eu-%u", id);
	pthread_setname_np(eu->thread, name);
	atomic_store_explicit(&pool.num_workers, id + 1, memory_order_release);
	return 0;
}

static void end_workers(void)
{
	uint32_t n = atomic_load_explicit(&pool.num_workers, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++) {
		while (!claim((int)i))
			sched_yield(); /* on its way from the last activation to idle */
		give((int)i, &stop_mark);
		pthread_join(pool.eus[i].thread, NULL);
		free(pool.eus[i].altstack);
	}
	atomic_store_explicit(&pool.num_workers, 0, memory_order_relaxed);
}

/* ------------------------------------------------------------ the host side */

static void in_child(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pool.generation++;
	pool.refs = pool.reserved = 0;
	atomic_store_explicit(&pool.num_workers, 0, memory_order_relaxed);
	for (int w = 0; w < BITMAP_WORDS; w++)
		atomic_store_explicit(&pool.idle[w], 0, memory_order_relaxed);
	atomic_flag_clear_explicit(&pool.queue_lock, memory_order_relaxed);
	atomic_store_explicit(&pool.queue_len, 0, memory_order_relaxed);
	pool.queue_head = NULL;
	pool.queue_tail = &pool.queue_head;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

uint32_t dpa_pool_generation(void)
{
	return pool.generation;
}

int dpa_pool_get(const struct dpa_pool_ops *ops, void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int ret = 0;

	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&pool.lock);
	if (!pool.refs) {
		ret = ops->open(arg, &pool.dev, &pool.num_eus);
		if (ret)
			goto out;
		pool.ops = ops;
		if (pool.num_eus > DPA_EU_MAX)
			pool.num_eus = DPA_EU_MAX;
	}
	dpa_fault_install();
	pool.refs++;
out:
	pthread_mutex_unlock(&pool.lock);
	return ret;
}

void dpa_pool_put(void)
{
	pthread_mutex_lock(&pool.lock);
	if (!--pool.refs) {
		end_workers();
		pool.ops->close(pool.dev);
	}
	pthread_mutex_unlock(&pool.lock);
}

int dpa_pool_reserve(void)
{
	int ret = 0;

	pthread_mutex_lock(&pool.lock);
	if (pool.reserved >= pool.num_workers && pool.num_workers < pool.num_eus)
		ret = add_worker();
	if (!ret)
		pool.reserved++;
	pthread_mutex_unlock(&pool.lock);
	return ret;
}

void dpa_pool_unreserve(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.reserved--;
	pthread_mutex_unlock(&pool.lock);
}

uint32_t dpa_pool_num_eus(void)
{
	return pool.num_eus;
}

void dpa_pool_kill(struct dpa_act *act)
{
	uint32_t n = atomic_load_explicit(&pool.num_workers, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct dpa_eu *eu = &pool.eus[i];

		if (atomic_load_explicit(&eu->act, memory_order_acquire) != act)
			continue;
		atomic_store_explicit(&eu->kill, act, memory_order_seq_cst);
		pthread_kill(eu->thread, dpa_fault_kill_signal());
	}
}

/* The activation is read before and after: an EU may go on to another owner's meanwhile. */
void dpa_pool_kill_owner(const void *owner)
{
	uint32_t n = atomic_load_explicit(&pool.num_workers, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct dpa_eu *eu = &pool.eus[i];
		struct dpa_act *act = atomic_load_explicit(&eu->act, memory_order_seq_cst);

		if (eu == dpa_eu_self || !act ||
		    atomic_load_explicit(&eu->owner, memory_order_seq_cst) != owner ||
		    atomic_load_explicit(&eu->act, memory_order_seq_cst) != act)
			continue;
		atomic_store_explicit(&eu->kill, act, memory_order_seq_cst);
		pthread_kill(eu->thread, dpa_fault_kill_signal());
	}
}

void dpa_pool_quiesce(void)
{
	uint32_t n = atomic_load_explicit(&pool.num_workers, memory_order_acquire);

	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; atomic_load_explicit(&pool.eus[i].in_op, memory_order_seq_cst);)
			if (++k > QUIESCE_SPINS)
				sched_yield();
}

/* ------------------------------------------------------- into device code */

void dpa_eu_enter(const void *owner)
{
	struct dpa_eu *eu = dpa_eu_self;

	atomic_store_explicit(&eu->kill, NULL, memory_order_relaxed);
	eu->fault_sig = 0;
	eu->fault_text = NULL;
	atomic_store_explicit(&eu->owner, owner, memory_order_seq_cst);
}

void dpa_eu_exit(void)
{
	atomic_store_explicit(&dpa_eu_self->owner, NULL, memory_order_seq_cst);
}

/*
 * setjmp, not a context switch: device code runs on the EU's own stack, and the sanitizers know how
 * to forget frames that are jumped over.
 */
enum dpa_eu_end dpa_eu_call(void (*fn)(uint64_t), uint64_t arg)
{
	struct dpa_eu *eu = dpa_eu_self;
	int how = _setjmp(eu->out);

	if (!how) {
		eu->in_user = true;
		atomic_signal_fence(memory_order_seq_cst);
		if (dpa_eu_killed(eu)) /* its signal came too early */
			dpa_eu_leave(DPA_EU_KILLED);
		fn(arg);
		how = 1 + DPA_EU_RETURNED;
	}
	atomic_signal_fence(memory_order_seq_cst);
	eu->in_user = false;
	atomic_store_explicit(&eu->in_op, 0, memory_order_release);
	return (enum dpa_eu_end)(how - 1);
}

_Noreturn void dpa_eu_leave(enum dpa_eu_end how)
{
	struct dpa_eu *eu = dpa_eu_self;

	eu->in_user = false; /* a kill from here on is too late */
	atomic_signal_fence(memory_order_seq_cst);
	_longjmp(eu->out, 1 + (int)how);
}
