/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pool.h - the EUs of this process, and the operating-system threads that carry them.
 *
 * There is one pool per process. A started context holds a reference; the last one ends the
 * threads. An EU is a token: work runs on a thread of the pool that holds one. Work pinned to an EU
 * waits for that one; relaxed work takes a free one, first of those without pinned work, and waits
 * in a queue, first come first served, when there is none. Urgent work (RPCs) never waits and
 * delays no other work: it borrows a free EU, which others take over when they find no better one,
 * and shares one when none is free.
 *
 * Work that may run at the same time has a reservation (a started DPA thread, each thread of a
 * launch, an RPC), and there are as many threads as reservations, so that handing work over is
 * never more than waking one thread: code that spins for ever keeps nothing else from running
 * unless the EUs are used up.
 *
 * A thread without work drives the device's progress for a short while, because the next completion
 * is most likely made by a thread that looks for it; then it sleeps, and the progress thread does
 * that.
 */
#ifndef DPA_EU_POOL_H
#define DPA_EU_POOL_H

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include "work.h"

#define DPA_EU_MAX     256  /* EUs */
#define DPA_EU_THREADS 1024 /* reservations at the same time */

struct dpal_run;

/* Code in an op is not jumped out of; it uses objects that it has found by handles, or waits. */
enum dpal_eu_op { DPA_OP_NONE, DPA_OP_USES, DPA_OP_WAITS };

/*
 * A thread of the pool: the state, of the code that runs on it, that the signal handler and the ops
 * read. `dpal_eu_self` is the calling thread's.
 */
struct dpal_eu {
	_Atomic(struct dpa_work *) work; /* given by a dispatcher that took the idle bit */
	_Atomic uint32_t asleep;	 /* futex: 1 while it sleeps */
	_Atomic uint32_t looked_for;	 /* the stirring thread checks the signal handlers */
	_Atomic uint32_t in_op;		 /* enum dpal_eu_op */
	_Atomic uint32_t ops;		 /* begun so far; by this thread, before in_op */
	_Atomic uint32_t granted;	 /* futex: the EU that it waits for in a yield, + 1 */
	_Atomic(struct dpa_work *) running;
	_Atomic(const void *) owner; /* whose code that is: compared, never followed */
	/* whose it was: from dpal_eu_exit(), before the ticket becomes even, to dpal_eu_gone(); by
	 * this thread, for who ends a context: witness.c; seq_cst, as the ticket */
	_Atomic(const void *) left;
	_Atomic uint64_t ticket;    /* of the code that runs: a new one each time, odd inside */
	_Atomic uint64_t kill;	    /* end the code of this ticket at the next chance */
	_Atomic uint64_t waited_ns; /* asleep in ops of device code, in all; by this thread */
	_Atomic uint64_t overrun;   /* a kill of this ticket is because of its run time */
	struct dpa_work *again;	    /* was dispatched by its own execute() */
	struct dpa_work resume;	    /* stands for this thread in the queue, in a yield */
	struct dpal_run *run;	    /* what the code is: written by this thread only */
	volatile bool in_user;	    /* device code is on the stack */
	volatile bool held, missed; /* dpal_eu_hold(): not now; a kill came meanwhile */
	int id;			    /* number of the EU that it holds */
	int borrowed;		    /* the same, if it was lent to urgent work; -1: it was not */
	bool shared;		    /* that EU is not its own: lent, or another thread's */
	bool awaited;		    /* of the last work */
	int index;		    /* of the thread */
	pthread_t thread;
	jmp_buf out; /* the frame that called the device code */
	void *altstack;
	uintptr_t stack_floor; /* below, the library is not called: fault.c */
	/* why DPA_EU_FAULTED: a signal, or a text of the op that found a mistake */
	int fault_sig;
	uintptr_t fault_addr;
	const char *fault_text;
	char fault_buf[96]; /* for a text that is made up */
};

/* The calling thread, or NULL if it is none of the pool. Async-signal-safe. */
extern __thread struct dpal_eu *dpal_eu_self __attribute__((tls_model("initial-exec")));

struct dpa_pool_ops {
	/* 0 or errno */
	int (*open)(void *arg, void **dev, uint32_t *num_eus);
	int (*progress)(void *dev); /* > 0: did something */
	void (*idle)(void *dev);    /* a thread that drove progress goes to sleep */
	void (*close)(void *dev);
};

/* Takes a reference; the first one calls ops->open(arg, ...). 0 or errno. */
int dpa_pool_get(const struct dpa_pool_ops *ops, void *arg);
void dpa_pool_put(void);
/*
 * A forked child has none of the threads: its pool is a new one, of another generation than that of
 * the contexts that it inherits. Those have no EU, no log writer, and nothing to wait for.
 */
uint32_t dpa_pool_generation(void);
/*
 * Room for n more (or less) works that may run at the same time. The pool must be held. Any thread;
 * makes threads only when there were never as many. 0 or errno: nothing is reserved.
 */
int dpa_pool_reserve(uint32_t n);
void dpa_pool_unreserve(uint32_t n);
/* dpa_pool_reserve() for dpa_room.take(). EAGAIN: there is no room. */
int dpa_pool_try_reserve(uint32_t n);
/*
 * Makes the threads that a reservation of n more would need now, up to the limit, so that one that
 * follows has none to make. Reserves nothing. 0 or errno.
 */
int dpa_pool_provide(uint32_t n);
/* Relaxed work avoids an EU while something is pinned to it. */
void dpa_pool_pin(uint32_t eu);
void dpa_pool_unpin(uint32_t eu);

/*
 * Runs the work once, on a reserved place. Any thread, under locks of the device too: it neither
 * blocks nor calls out. A work is dispatched again only after its execute() has begun; from within
 * that it runs when execute() has returned.
 */
void dpa_pool_dispatch(struct dpa_work *work);
/*
 * The caller is about to dispatch: if all threads sleep, one begins to wake, so that it does so
 * while the work is made ready. A hint. Any thread.
 */
void dpa_pool_stir(void);
/* Takes a work back that waits for an EU: false if it runs, is about to run or has run. */
bool dpa_pool_cancel(struct dpa_work *work);
/*
 * Gives the EU of the calling thread of the pool to waiting work, if there is some, and takes the
 * next that is free (its own when it is pinned). In an op. False: it was killed meanwhile, and only
 * dpal_eu_leave() is left.
 */
bool dpa_pool_yield(struct dpal_eu *eu);
/* One look at the device, on behalf of code that waits. */
int dpa_pool_progress(void);

/*
 * Ends the code that runs as this work, if it is in device code or comes back to it: its run
 * function sees it as DPA_EU_KILLED. Bounded, repeatable. `work` is compared, never followed.
 */
void dpa_pool_kill(const struct dpa_work *work);
/* The same for everything of an owner, as given to dpal_eu_enter(), but the caller's own. */
void dpa_pool_kill_owner(const void *owner);
/* Waits until each thread has left the op that it is in now, if it uses objects in one. */
void dpa_pool_quiesce(void);
/*
 * Calls fn for each thread of the pool, in any state. Any thread; no lock is held: what fn reads of
 * the thread are its atomics, and its pthread_t, which lives as long as the pool is held.
 */
void dpa_pool_each(void (*fn)(struct dpal_eu *eu, void *arg), void *arg);

enum dpal_eu_end {
	DPA_EU_RETURNED,
	DPA_EU_RESCHEDULED,
	DPA_EU_FINISHED,
	DPA_EU_FAULTED,
	DPA_EU_KILLED
};

/*
 * The calling thread is about to run code of this owner: a kill counts from here on. A thread that
 * marks an owner as ended and then kills it misses no thread that enters and then reads the mark.
 */
void dpal_eu_enter(const void *owner);
/* Calls into device code, after dpal_eu_enter(); comes back however the code ends. */
enum dpal_eu_end dpal_eu_call(void (*fn)(void *arg), void *arg);
void dpal_eu_exit(void);
/*
 * Leaves device code for good, after the report is complete: a destroy of the owner waits for it.
 */
void dpal_eu_gone(void);
/* Out of the device code that called the op: never returns. */
_Noreturn void dpal_eu_leave(enum dpal_eu_end how);
/* The same as a fault: the stack is nearly used up, and an op could overflow it with locks held. */
_Noreturn void dpal_eu_no_stack(struct dpal_eu *eu);

static inline bool dpal_eu_killed(struct dpal_eu *eu)
{
	return atomic_load_explicit(&eu->kill, memory_order_seq_cst) ==
	       atomic_load_explicit(&eu->ticket, memory_order_relaxed);
}

/*
 * ThreadSanitizer's atomics take locks of its own, which code that is jumped out of in the middle
 * of one would keep for ever. While a thread is held it is not jumped out of; true: it would have
 * been.
 */
#if defined(__SANITIZE_THREAD__)
#define DPA_EU_HOLDS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DPA_EU_HOLDS 1
#endif
#endif
#ifdef DPA_EU_HOLDS
#define DPA_EU_UNSEEN __attribute__((noinline, unused, no_sanitize("thread")))
static DPA_EU_UNSEEN void dpal_eu_hold(struct dpal_eu *eu)
{
	eu->held = true;
}

static DPA_EU_UNSEEN bool dpal_eu_unhold(struct dpal_eu *eu)
{
	bool missed;

	eu->held = false;
	missed = eu->missed;
	eu->missed = false;
	return missed;
}
#else
static inline void dpal_eu_hold(struct dpal_eu *eu)
{
	(void)eu;
}

static inline bool dpal_eu_unhold(struct dpal_eu *eu)
{
	(void)eu;
	return false;
}
#endif

/* Not held any more: is the code to be ended? */
static inline bool dpal_eu_goes_on(struct dpal_eu *eu)
{
	bool killed = dpal_eu_killed(eu);

	while (dpal_eu_unhold(eu)) {
		dpal_eu_hold(eu);
		killed = dpal_eu_killed(eu);
	}
	return !killed;
}

/* Brackets every op; end takes the kill that came meanwhile. */
static inline struct dpal_eu *dpal_eu_op_begin(void)
{
	struct dpal_eu *eu = dpal_eu_self;

	if (!eu)
		return NULL;
	if (__builtin_expect((uintptr_t)__builtin_frame_address(0) < eu->stack_floor, 0))
		dpal_eu_no_stack(eu);
	dpal_eu_hold(eu);
	atomic_store_explicit(&eu->ops, atomic_load_explicit(&eu->ops, memory_order_relaxed) + 1,
			      memory_order_release);
	atomic_store_explicit(&eu->in_op, DPA_OP_USES, memory_order_seq_cst);
	dpal_eu_unhold(eu); /* in an op: its end looks whether it is to be ended */
	return eu;
}

static inline void dpal_eu_op_end(struct dpal_eu *eu)
{
	if (!eu)
		return;
	dpal_eu_hold(eu);
	atomic_store_explicit(&eu->in_op, DPA_OP_NONE, memory_order_seq_cst);
	if (__builtin_expect(!dpal_eu_goes_on(eu), 0))
		dpal_eu_leave(DPA_EU_KILLED);
}

#endif
