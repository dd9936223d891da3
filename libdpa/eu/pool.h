/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pool.h - the EUs of this process: operating-system threads on which device code runs.
 *
 * There is one pool per process. A started context holds a reference; the last one ends the
 * threads. EU k is worker k: running on it is holding its token. Workers are made when a DPA thread
 * is started (one for each, up to the number of EUs of the board), never when one is activated: two
 * threads that spin for ever never keep a third from running unless there are more than EUs.
 *
 * An idle EU drives the device's progress for a short while, because the next completion is most
 * likely made by whoever looks for it; then it sleeps, and the device's service thread does that.
 */
#ifndef DPA_EU_POOL_H
#define DPA_EU_POOL_H

#include <setjmp.h>
#include <stdbool.h>
#include "activation.h"

#define DPA_EU_MAX 256

/* What the signal handler and the ops want to know of the code that runs on an EU. */
struct dpa_eu {
	_Atomic(struct dpa_act *) work; /* given by a dispatcher that took the idle bit */
	_Atomic uint32_t asleep;	/* futex: 1 while it sleeps */
	_Atomic uint32_t in_op;		/* inside a call of the library: nothing is jumped out of */
	_Atomic(struct dpa_act *) act;	/* what it runs */
	_Atomic(const void *) owner;	/* whose code that is: compared, never followed */
	_Atomic(struct dpa_act *) kill; /* end this one's activation at the next chance */
	struct dpa_act *again;		/* became QUEUED at its own end */
	volatile bool in_user;		/* device code is on the stack */
	int id;
	pthread_t thread;
	jmp_buf out; /* the frame that called the device code */
	void *altstack;
	/* why DPA_EU_FAULTED: a signal, or a text of the op that found a mistake */
	int fault_sig;
	uintptr_t fault_addr, fault_pc;
	const char *fault_text;
};

/* The EU that the calling thread is, or NULL. Async-signal-safe. */
extern __thread struct dpa_eu *dpa_eu_self __attribute__((tls_model("initial-exec")));

struct dpa_pool_ops {
	/* 0 or errno */
	int (*open)(void *arg, void **dev, uint32_t *num_eus);
	int (*progress)(void *dev); /* > 0: did something */
	void (*idle)(void *dev);    /* an EU that drove progress goes to sleep */
	void (*close)(void *dev);
};

/* Takes a reference; the first one calls ops->open(arg, ...). 0 or errno. */
int dpa_pool_get(const struct dpa_pool_ops *ops, void *arg);
void dpa_pool_put(void);
/*
 * A forked child has none of the EUs: its pool is a new one, of another generation than that of the
 * contexts that it inherits. Those have no EU, no log writer, and nothing to wait for.
 */
uint32_t dpa_pool_generation(void);
/* Room for one more (or less) target that may run at the same time. 0 or errno. */
int dpa_pool_reserve(void);
void dpa_pool_unreserve(void);
/* Number of EUs; the pool must be held. */
uint32_t dpa_pool_num_eus(void);

/* dpa_act.dispatch of every target. */
void dpa_pool_dispatch(struct dpa_act *act);

/*
 * Ends the activation that the target is in, if it is in device code or comes back to it: the run
 * function sees it as DPA_EU_KILLED. Bounded, repeatable.
 */
void dpa_pool_kill(struct dpa_act *act);

/*
 * The same for every activation of an owner, as given to dpa_eu_enter(), but the caller's own. May
 * be called on an EU.
 */
void dpa_pool_kill_owner(const void *owner);

/* Waits until each EU has left the op that it is in now, if it is in one. */
void dpa_pool_quiesce(void);

enum dpa_eu_end {
	DPA_EU_RETURNED,
	DPA_EU_RESCHEDULED,
	DPA_EU_FINISHED,
	DPA_EU_FAULTED,
	DPA_EU_KILLED
};

/*
 * The calling EU is about to run code of this owner: a kill counts from here on. Whoever marks an
 * owner as ended and then kills it misses nobody who enters and then looks at the mark.
 */
void dpa_eu_enter(const void *owner);
/* Calls the device code, after dpa_eu_enter(); comes back however the code ends. */
enum dpa_eu_end dpa_eu_call(void (*fn)(uint64_t), uint64_t arg);
void dpa_eu_exit(void);
/* Out of the device code that called the op: never returns. EU only. */
_Noreturn void dpa_eu_leave(enum dpa_eu_end how);

static inline bool dpa_eu_killed(struct dpa_eu *eu)
{
	struct dpa_act *k = atomic_load_explicit(&eu->kill, memory_order_seq_cst);

	return k && k == atomic_load_explicit(&eu->act, memory_order_relaxed);
}

/* Brackets every op; end takes the kill that came meanwhile. */
static inline struct dpa_eu *dpa_eu_op_begin(void)
{
	struct dpa_eu *eu = dpa_eu_self;

	if (eu)
		atomic_store_explicit(&eu->in_op, 1, memory_order_seq_cst);
	return eu;
}

static inline void dpa_eu_op_end(struct dpa_eu *eu)
{
	if (!eu)
		return;
	atomic_store_explicit(&eu->in_op, 0, memory_order_seq_cst);
	if (__builtin_expect(dpa_eu_killed(eu), 0))
		dpa_eu_leave(DPA_EU_KILLED);
}

#endif
