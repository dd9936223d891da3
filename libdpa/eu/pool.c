/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pool.c - assignment of work to an EU and a thread.
 *
 * dispatch: take an EU (else: into the queue) -> take an idle thread (else: into `ready`) -> hand
 * the work to the thread: execute, then run work that waits for the same EU (else: free the EU),
 * then work in `ready`, else idle
 *
 * No work is lost: a thread that frees an EU sets its bit and then reads the length of the queue; a
 * thread that queues adds to the length and then reads the bits. Idle threads and `ready` do the
 * same.
 */
#include <sched.h>
#include <string.h>
#include "../run/fault.h"
#include "futex.h"
#include "pool_int.h"

#define IDLE_ROUNDS 512	 /* polls of the device without a result before a thread sleeps */
#define BUSY_ROUNDS 1024 /* polls with results for others */
#define IDLE_PAUSES 1	 /* between two polls */
#define IDLE_YIELD  32	 /* polls before the thread yields */
#define SHARED	    DPA_EU_MAX
#define YIELD_MS    10 /* between two checks for a kill whose signal came too early */

struct dpa_work dpa_pool_stop_mark; /* as work: end the thread */
static struct dpa_work look_mark;   /* as work: `ready` is not empty */

struct dpa_pool dpa_pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
			    .queue_lock = ATOMIC_FLAG_INIT,
			    .queue.tail = &dpa_pool.queue.head,
			    .ready.tail = &dpa_pool.ready.head};

__thread struct dpal_eu *dpal_eu_self __attribute__((tls_model("initial-exec")));

/* -------------------------------------------------------------- hand-over */

/*
 * Hand work to a thread whose idle bit the caller has taken. A spinning thread sees the store; a
 * sleeping one is woken.
 */
void dpa_pool_give(int thread, struct dpa_work *work)
{
	struct dpal_eu *eu = &dpa_pool.threads[thread];

	atomic_store_explicit(&eu->work, work, memory_order_seq_cst);
	if (atomic_exchange_explicit(&eu->asleep, 0, memory_order_seq_cst))
		dpa_futex_wake(&eu->asleep, 1);
}

static int claim_any_thread(void)
{
	uint32_t n = atomic_load_explicit(&dpa_pool.num_threads, memory_order_acquire);

	for (uint32_t w = 0; w * 64 < n; w++) {
		uint64_t bits = atomic_load_explicit(&dpa_pool.idle[w], memory_order_seq_cst);

		for (; bits; bits &= bits - 1) {
			int t = (int)w * 64 + __builtin_ctzll(bits);

			if (dpa_pool_claim_bit(dpa_pool.idle, t))
				return t;
		}
	}
	return -1;
}

/*
 * Claim a thread: the caller itself (idle, polling the device), else one that spins, else the one
 * that ran the work last, else any.
 */
static int claim_thread(struct dpa_work *work)
{
	int last = atomic_load_explicit(&work->last_thread, memory_order_relaxed);
	int spinner = atomic_load_explicit(&dpa_pool.spinner, memory_order_relaxed);

	if (dpal_eu_self && dpa_pool_claim_bit(dpa_pool.idle, dpal_eu_self->index))
		return dpal_eu_self->index;
	if (spinner && dpa_pool_claim_bit(dpa_pool.idle, spinner - 1))
		return spinner - 1;
	if (last >= 0 && dpa_pool_claim_bit(dpa_pool.idle, last))
		return last;
	return claim_any_thread();
}

/* Give an EU to a thread that gave its EU away in a yield. */
static void grant_work(struct dpa_work *resume)
{
	struct dpal_eu *eu = (struct dpal_eu *)((char *)resume - offsetof(struct dpal_eu, resume));

	atomic_store_explicit(&eu->granted, (uint32_t)resume->eu + 1, memory_order_seq_cst);
	dpa_futex_wake(&eu->granted, 1);
}

/* Put work that has its EU on a thread. */
static void put_on_thread(struct dpa_work *work)
{
	int t;

	if (!work->execute) {
		grant_work(work);
		return;
	}
	t = claim_thread(work);
	if (t >= 0) {
		dpa_pool_give(t, work);
		return;
	}
	dpa_pool_lock_queues();
	dpa_pool_push(&dpa_pool.ready, work);
	dpa_pool_unlock_queues();
	t = claim_any_thread(); /* a thread that became idle before it could see `ready` */
	if (t >= 0)
		dpa_pool_give(t, &look_mark);
}

/* Take an EU, or queue the work and return -1. */
static int take_eu_or_wait(struct dpa_work *work)
{
	int eu;

	dpa_pool_lock_queues();
	dpa_pool_push(&dpa_pool.queue, work);
	eu = dpa_pool_take_eu(work); /* one that was freed before its owner could see the queue */
	if (eu >= 0)
		dpa_pool_remove(work);
	dpa_pool_unlock_queues();
	return eu;
}

/*
 * Borrow an EU for urgent work: a free one, which others may take over as if it were free, else
 * any.
 */
static int borrow_eu(const struct dpa_work *work)
{
	int eu = dpa_pool_take_loose_eu(work);
	struct dpa_work *next;

	if (eu < 0)
		eu = dpa_pool_claim_any_eu(dpa_pool.free_eus, work, false);
	if (eu < 0)
		return SHARED;
	next = dpa_pool_offer(dpa_pool.lent, eu);
	if (next) {
		next->eu = eu;
		put_on_thread(next);
	}
	return eu;
}

void dpa_pool_dispatch(struct dpa_work *work)
{
	struct dpal_eu *self = dpal_eu_self;
	int eu;

	if (self && atomic_load_explicit(&self->running, memory_order_relaxed) == work) {
		self->again = work; /* dispatched at its own end: this thread runs it */
		return;
	}
	if (work->urgent) {
		eu = borrow_eu(work);
	} else {
		eu = dpa_pool_take_eu(work);
		if (eu < 0)
			eu = take_eu_or_wait(work);
	}
	if (eu < 0)
		return;
	work->eu = eu;
	put_on_thread(work);
}

bool dpa_pool_cancel(struct dpa_work *work)
{
	bool found;

	dpa_pool_lock_queues();
	found = dpa_pool_remove(work);
	dpa_pool_unlock_queues();
	return found;
}

/* -------------------------------------------------------------- the threads */

/*
 * Return whether this thread may spin. Only a few poll the device at a time: more would compete for
 * the cores.
 */
static bool may_spin(void)
{
	if (atomic_fetch_add_explicit(&dpa_pool.spinners, 1, memory_order_relaxed) <
	    dpa_pool.max_spinners)
		return true;
	atomic_fetch_sub_explicit(&dpa_pool.spinners, 1, memory_order_relaxed);
	return false;
}

static struct dpa_work *look_for_work(struct dpal_eu *me)
{
	/*
	 * A thread that waits for the work that has just ended may need this core. No thread waits
	 * for an activation, and the next element may come at once: a yield would leave it to the
	 * progress thread, which could then never sleep.
	 */
	if (me->awaited)
		sched_yield();
	for (int idle = 0, busy = 0; idle < IDLE_ROUNDS && busy < BUSY_ROUNDS;) {
		int did = dpa_pool.ops->progress(dpa_pool.dev);

		for (int k = 0; k <= IDLE_PAUSES; k++) {
			struct dpa_work *work =
				atomic_load_explicit(&me->work, memory_order_acquire);

			if (work)
				return work;
			if (did > 0)
				break;
			dpal_pause();
		}
		if (did > 0)
			busy++;
		else if (++idle % IDLE_YIELD == 0)
			sched_yield();
	}
	return NULL;
}

static struct dpa_work *spin_for_work(struct dpal_eu *me)
{
	uint32_t mine = (uint32_t)me->index + 1;
	struct dpa_work *work;

	if (!may_spin())
		return NULL;
	atomic_store_explicit(&dpa_pool.spinner, (int)mine, memory_order_relaxed);
	work = look_for_work(me);
	if (atomic_load_explicit(&dpa_pool.spinner, memory_order_relaxed) == (int)mine)
		atomic_store_explicit(&dpa_pool.spinner, 0, memory_order_relaxed); /* a hint */
	atomic_fetch_sub_explicit(&dpa_pool.spinners, 1, memory_order_relaxed);
	if (!work)
		dpa_pool.ops->idle(dpa_pool.dev);
	return work;
}

/*
 * Set `asleep`, check `work` again, then sleep. dpa_pool_give() stores `work`, then reads `asleep`,
 * so one of the two sees the other. NULL: the thread was stirred.
 */
static struct dpa_work *sleep_for_work(struct dpal_eu *me)
{
	struct dpa_work *work;

	atomic_store_explicit(&me->asleep, 1, memory_order_seq_cst);
	work = atomic_load_explicit(&me->work, memory_order_seq_cst);
	while (!work && atomic_load_explicit(&me->asleep, memory_order_seq_cst)) {
		dpa_futex_wait(&me->asleep, 1, -1);
		work = atomic_load_explicit(&me->work, memory_order_seq_cst);
	}
	atomic_store_explicit(&me->asleep, 0, memory_order_relaxed);
	/*
	 * The program may have installed other handlers meanwhile. After a stir the stirring thread
	 * checks, while this one wakes.
	 */
	if (!atomic_exchange_explicit(&me->looked_for, 0, memory_order_relaxed))
		dpa_fault_check();
	return work;
}

void dpa_pool_stir(void)
{
	int none = 0;

	if (atomic_load_explicit(&dpa_pool.spinner, memory_order_relaxed))
		return;
	for (uint32_t w = 0; w < THREAD_WORDS; w++) {
		uint64_t bits = atomic_load_explicit(&dpa_pool.idle[w], memory_order_relaxed);
		struct dpal_eu *eu;

		if (!bits)
			continue;
		eu = &dpa_pool.threads[w * 64 + (uint32_t)__builtin_ctzll(bits)];
		/* the hint first: the dispatch that follows shall find this thread */
		if (atomic_compare_exchange_strong_explicit(&dpa_pool.spinner, &none, eu->index + 1,
							    memory_order_relaxed,
							    memory_order_relaxed) &&
		    atomic_exchange_explicit(&eu->asleep, 0, memory_order_seq_cst)) {
			atomic_store_explicit(&eu->looked_for, 1, memory_order_relaxed);
			dpa_futex_wake(&eu->asleep, 1);
			dpa_fault_check();
		}
		return;
	}
}

static struct dpa_work *pop_ready(void)
{
	struct dpa_work *work;

	if (dpa_pool_is_empty(&dpa_pool.ready))
		return NULL;
	dpa_pool_lock_queues();
	work = dpa_pool_unlink_at(&dpa_pool.ready, &dpa_pool.ready.head);
	dpa_pool_unlock_queues();
	return work;
}

/* Block until there is work; the idle bit is set while it waits. */
static struct dpa_work *next_work(struct dpal_eu *me)
{
	struct dpa_work *work;

	for (;;) {
		work = pop_ready();
		if (work)
			return work;
		atomic_store_explicit(&me->work, NULL, memory_order_relaxed);
		dpa_pool_set_bit(dpa_pool.idle, me->index);
		/* Check for a dispatcher that pushed before it could see the bit. */
		if (!dpa_pool_is_empty(&dpa_pool.ready) &&
		    dpa_pool_claim_bit(dpa_pool.idle, me->index))
			continue;
		do {
			work = spin_for_work(me);
			if (!work)
				work = sleep_for_work(me);
		} while (!work);
		if (work != &look_mark)
			return work;
	}
}

/* Return an EU to share: the lowest that the work may have. */
static int some_eu(const struct dpa_work *work)
{
	for (int eu = 0; eu < (int)dpa_pool.num_eus; eu++)
		if (dpa_pool_may_have(work, eu))
			return eu;
	return 0;
}

static void execute_on_eu(struct dpal_eu *me, struct dpa_work *work)
{
	me->shared = work->urgent;
	me->borrowed = work->urgent && work->eu != SHARED ? work->eu : -1;
	me->id = work->eu == SHARED ? some_eu(work) : work->eu;
	atomic_store_explicit(&work->last_thread, me->index, memory_order_relaxed);
	atomic_store_explicit(&work->last_eu, me->id, memory_order_relaxed);
	me->again = NULL;
	me->awaited = work->awaited;
	atomic_store_explicit(&me->running, work, memory_order_release);
	work->execute(work);
	/* From here on `work` may be freed, unless it is me->again. */
	atomic_store_explicit(&me->running, NULL, memory_order_release);
}

/* Return the same work again, unless other work waits for the EU: then it queues behind that. */
static struct dpa_work *again_or_next(struct dpa_work *work, int eu)
{
	if (dpa_pool_is_empty(&dpa_pool.queue))
		return work;
	dpa_pool_lock_queues();
	dpa_pool_push(&dpa_pool.queue, work);
	work = dpa_pool_pop_for(eu);
	dpa_pool_unlock_queues();
	return work;
}

/* After urgent work: return a lent EU, unless other work has taken it. */
static struct dpa_work *after_urgent(struct dpal_eu *me)
{
	if (me->again)
		dpa_pool_dispatch(me->again);
	if (me->borrowed < 0 || !dpa_pool_claim_bit(dpa_pool.lent, me->borrowed))
		return NULL;
	me->id = me->borrowed;
	return dpa_pool_offer(dpa_pool.free_eus, me->id);
}

/* Run work as long as some waits for the same EU. */
static void execute_all(struct dpal_eu *me, struct dpa_work *work)
{
	while (work) {
		execute_on_eu(me, work);
		if (me->shared)
			work = after_urgent(me);
		else if (me->again)
			work = again_or_next(me->again, me->id);
		else
			work = dpa_pool_offer(dpa_pool.free_eus, me->id);
		if (!work)
			return;
		work->eu = me->id;
		if (!work->execute) {
			grant_work(work);
			return;
		}
	}
}

void *dpa_pool_thread(void *arg)
{
	struct dpal_eu *me = arg;
	struct dpa_work *work;

	dpal_eu_self = me;
	dpa_fault_thread_begin(me);
	while ((work = next_work(me)) != &dpa_pool_stop_mark)
		execute_all(me, work);
	dpa_fault_thread_end();
	return NULL;
}

int dpa_pool_progress(void)
{
	return dpa_pool.ops->progress(dpa_pool.dev);
}

/* -------------------------------------------------------------------- yield */

/* Wait for grant_work(). False: killed, and no EU will be granted any more. */
static bool wait_for_grant(struct dpal_eu *me)
{
	uint32_t g;

	while (!(g = atomic_load_explicit(&me->granted, memory_order_seq_cst))) {
		if (dpal_eu_killed(me) && dpa_pool_cancel(&me->resume)) {
			me->shared = true; /* it ends without its own EU */
			return false;
		}
		dpa_futex_wait(&me->granted, 0, YIELD_MS);
	}
	me->id = (int)g - 1;
	return true;
}

bool dpa_pool_yield(struct dpal_eu *me)
{
	struct dpa_work *running = atomic_load_explicit(&me->running, memory_order_relaxed);
	struct dpa_work *next;
	bool granted;

	if (me->shared || dpa_pool_is_empty(&dpa_pool.queue))
		return true;
	dpa_pool_lock_queues();
	next = dpa_pool_pop_for(me->id);
	if (next) {
		dpa_work_init(&me->resume, NULL);
		me->resume.pin = running->pin;
		me->resume.eus = running->eus;
		atomic_store_explicit(&me->granted, 0, memory_order_relaxed);
		dpa_pool_push(&dpa_pool.queue, &me->resume);
	}
	dpa_pool_unlock_queues();
	if (!next)
		return true;
	next->eu = me->id;
	put_on_thread(next);
	atomic_store_explicit(&me->in_op, DPA_OP_WAITS, memory_order_seq_cst);
	granted = wait_for_grant(me);
	atomic_store_explicit(&me->in_op, DPA_OP_USES, memory_order_seq_cst);
	return granted;
}
