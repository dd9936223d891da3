/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pool.h - the EUs of this process, and the operating-system threads that run their work.
 *
 * There is one pool per process. A started context holds a reference; the last one ends the
 * threads. An EU is a token: work runs on a thread of the pool that holds one. Pinned work waits
 * for its EU. Relaxed work takes a free EU, preferably one without pinned work; if none is free it
 * waits in a FIFO queue. Urgent work (RPCs) never waits and delays no other work: it borrows a free
 * EU, which other work may take over if no better one is free; if none is free it shares one.
 *
 * Work that may run at the same time has a reservation (a started DPA thread, each thread of a
 * launch, an RPC), and there are as many threads as reservations, so a hand-over only wakes one
 * thread. Code that spins for ever does not block other work unless all EUs are used.
 *
 * A thread without work drives the device's progress for a short while, because the polling thread
 * itself most likely produces the next completion. Then it sleeps, and the progress thread takes
 * over.
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

/*
 * State of code in an op. A kill does not jump out of an op; the op uses objects found by handles,
 * or waits.
 */
enum dpal_eu_op { DPA_OP_NONE, DPA_OP_USES, DPA_OP_WAITS };

/*
 * A thread of the pool, with the state of the code that runs on it, for the signal handler and the
 * ops. `dpal_eu_self` is that of the calling thread.
 */
struct dpal_eu {
	_Atomic(struct dpa_work *) work; /* set by a dispatcher that took the idle bit */
	_Atomic uint32_t asleep;	 /* futex: 1 while it sleeps */
	_Atomic uint32_t looked_for; /* the stirring thread checks the signal handlers instead */
	_Atomic uint32_t in_op;	     /* enum dpal_eu_op */
	_Atomic uint32_t ops;	     /* ops begun so far; written by this thread before in_op */
	_Atomic uint32_t granted;    /* futex: the EU granted to its yield, + 1 */
	_Atomic(struct dpa_work *) running;
	_Atomic(const void *) owner; /* owner of the code: compared, never dereferenced */
	/*
	 * owner that was left: from dpal_eu_exit(), before the ticket becomes even, to
	 * dpal_eu_gone(). Written by this thread, read by the thread that ends a context
	 * (witness.c); seq_cst, like the ticket
	 */
	_Atomic(const void *) left;
	_Atomic uint64_t ticket; /* of the running code: new for each run, odd inside it */
	_Atomic uint64_t kill;	 /* kill the code of this ticket at the next chance */
	/* total time asleep in ops of device code; written by this thread */
	_Atomic uint64_t waited_ns;
	_Atomic uint64_t overrun; /* the kill of this ticket is because of its run time */
	struct dpa_work *again;	  /* dispatched by its own execute() */
	struct dpa_work resume;	  /* represents this thread in the queue, during a yield */
	struct dpal_run *run;	  /* description of the code: written by this thread only */
	volatile bool in_user;	  /* device code is on the stack */
	/* held: dpal_eu_hold() blocks kills; missed: a kill came meanwhile */
	volatile bool held, missed;
	int id;	      /* number of the EU that it holds */
	int borrowed; /* the same, if it was lent to urgent work; -1: it was not */
	bool shared;  /* that EU is shared: lent, or that of another thread */
	bool awaited; /* a thread waited for the last work */
	int index;    /* index of the thread */
	pthread_t thread;
	jmp_buf out; /* the frame that called the device code */
	void *altstack;
	uintptr_t stack_floor; /* below this the library is not called: fault.c */
	/* cause of DPA_EU_FAULTED: a signal, or a text of the op that found an error */
	int fault_sig;
	uintptr_t fault_addr;
	const char *fault_text;
	char fault_buf[96]; /* buffer for a formatted text */
};

/* The calling thread, or NULL if it is not of the pool. Async-signal-safe. */
extern __thread struct dpal_eu *dpal_eu_self __attribute__((tls_model("initial-exec")));

struct dpa_pool_ops {
	/* 0 or errno */
	int (*open)(void *arg, void **dev, uint32_t *num_eus);
	int (*progress)(void *dev); /* > 0: there was work */
	void (*idle)(void *dev);    /* a thread that drove progress is about to sleep */
	void (*close)(void *dev);
};

/* Take a reference; the first one calls ops->open(arg, ...). 0 or errno. */
int dpa_pool_get(const struct dpa_pool_ops *ops, void *arg);
void dpa_pool_put(void);
/*
 * Return the generation of the pool. A forked child has none of the threads: its pool is new, with
 * another generation than that of the contexts that it inherits. Those have no EU, no log writer,
 * and nothing to wait for.
 */
uint32_t dpa_pool_generation(void);
/*
 * Reserve room for n more (or, with n negative, fewer) works that may run at the same time. The
 * caller holds a reference to the pool. Any thread; creates threads only if there were never as
 * many. 0 or errno: nothing is reserved.
 */
int dpa_pool_reserve(uint32_t n);
void dpa_pool_unreserve(uint32_t n);
/* Do the same as dpa_pool_reserve(), for dpa_room.take(). EAGAIN: there is no room. */
int dpa_pool_try_reserve(uint32_t n);
/*
 * Create the threads that a reservation of n more would need now, up to the limit, so that a later
 * reservation creates none. Reserves nothing. 0 or errno.
 */
int dpa_pool_provide(uint32_t n);
/* Count pinned work of an EU: relaxed work avoids that EU. */
void dpa_pool_pin(uint32_t eu);
void dpa_pool_unpin(uint32_t eu);

/*
 * Run the work once, on a reserved place. Any thread, under locks of the device too: it neither
 * blocks nor calls callbacks. A work may be dispatched again only after its execute() has begun; if
 * execute() itself dispatches it, it runs after execute() has returned.
 */
void dpa_pool_dispatch(struct dpa_work *work);
/*
 * Hint that the caller is about to dispatch: if all threads sleep, one starts to wake up while the
 * work is prepared. Any thread.
 */
void dpa_pool_stir(void);
/* Take back work that waits for an EU. False: it runs, is about to run or has run. */
bool dpa_pool_cancel(struct dpa_work *work);
/*
 * Give the EU of the calling pool thread to waiting work, if there is some, and take the next free
 * one (its own if it is pinned). Context: in an op. False: it was killed meanwhile; the caller must
 * call dpal_eu_leave().
 */
bool dpa_pool_yield(struct dpal_eu *eu);
/* Poll the device once, for code that waits. */
int dpa_pool_progress(void);

/*
 * Kill the code that runs as this work, if it is in device code or returns to it: its run function
 * receives DPA_EU_KILLED. Bounded, repeatable. `work` is compared, never dereferenced.
 */
void dpa_pool_kill(const struct dpa_work *work);
/* Kill all code of an owner, as given to dpal_eu_enter(), except the caller's own. */
void dpa_pool_kill_owner(const void *owner);
/* Wait until each thread has left its present op, if that uses objects. */
void dpa_pool_quiesce(void);
/*
 * Call fn for each thread of the pool, in any state. Any thread; no lock is held: fn may read the
 * atomics of the thread and its pthread_t, which is valid as long as the pool is referenced.
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
 * Begin to run code of this owner on the calling thread: kills take effect from here on. A thread
 * that marks an owner as ended and then kills it misses no thread that enters and then reads the
 * mark.
 */
void dpal_eu_enter(const void *owner);
/* Call device code, after dpal_eu_enter(); return however the code ends. */
enum dpal_eu_end dpal_eu_call(void (*fn)(void *arg), void *arg);
void dpal_eu_exit(void);
/* Leave device code for good, after the report is complete: a destroy of the owner waits for it. */
void dpal_eu_gone(void);
/* Leave the device code that called the op; never returns. */
_Noreturn void dpal_eu_leave(enum dpal_eu_end how);
/*
 * Do the same as a fault: the stack is nearly used up, and an op could overflow it with locks held.
 */
_Noreturn void dpal_eu_no_stack(struct dpal_eu *eu);

static inline bool dpal_eu_killed(struct dpal_eu *eu)
{
	return atomic_load_explicit(&eu->kill, memory_order_seq_cst) ==
	       atomic_load_explicit(&eu->ticket, memory_order_relaxed);
}

/*
 * ThreadSanitizer's atomics take internal locks. A jump out of such an atomic would leave its lock
 * taken for ever. While a thread is held no kill jumps out of its code; dpal_eu_unhold() returns
 * true if a kill came meanwhile.
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
}

static inline bool dpal_eu_unhold(struct dpal_eu *eu)
{
	return false;
}
#endif

/* End the hold. Returns false if the code must end now. */
static inline bool dpal_eu_goes_on(struct dpal_eu *eu)
{
	bool killed = dpal_eu_killed(eu);

	while (dpal_eu_unhold(eu)) {
		dpal_eu_hold(eu);
		killed = dpal_eu_killed(eu);
	}
	return !killed;
}

/* Begin and end of every op; the end handles a kill that came meanwhile. */
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
	dpal_eu_unhold(eu); /* in an op: the op's end checks for a kill */
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
