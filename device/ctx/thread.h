/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* thread.h - the state that each thread keeps between its calls of the device. */
#ifndef DPA_CTX_THREAD_H
#define DPA_CTX_THREAD_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include "ctx/hw.h"
#include "ctx/qp.h"

struct dpa_run;

/* The state of one thread. Its address identifies the thread. */
struct dpa_thread {
	struct {
		const struct dpa_rx *rx; /* compared only */
		uint32_t drains;
		uint32_t skip; /* looks that it is left to its owner */
	} lane[DPA_HOT_LANES];
	const struct dpa_rx *watch; /* drained last, if not left to another; good for watch_of */
	uint32_t watch_of;
	/* to be kicked; good for the opening `serial` */
	struct dpa_tx *owed[DPA_LANES];
	uint32_t nowed; /* more than DPA_LANES: others, too */
	uint32_t serial;
	struct dpa_posting {
		struct dpa_hw_qp *last[4]; /* posted to, the latest at n % 4 */
		uint32_t n;
		uint32_t serial; /* of the opening that they belong to */
	} posting;
	struct dpa_run *run;   /* what it collects for a CQ; NULL: nothing */
	bool polls;	       /* has driven progress: what its QPs have to say may come to it */
	bool stands_in;	       /* for others: what it drains is not its own */
	bool in_window;	       /* what the QP says whose lock it holds */
	uint32_t wire_quiet;   /* looks at the socket in a row that found nothing */
	uint32_t passed_quiet; /* the same for packets that others pass on */
	uint32_t idle_polls;   /* polls in a row that found nothing, */
	uint32_t since_yield;  /* and those since it asked which thread else polls here; */
	uint32_t yield_after;  /* so many until it asks again: of the back-off `yield` */
	struct dpa_backoff yield;
	uint32_t hazard;      /* which it had last, */
	uint32_t stage;	      /* and which piece of the stage */
	uint32_t tid, tid_of; /* gettid(), asked in the opening of this serial: a child's is new */
	uint64_t now, now_ticks; /* when dpa_now_about() asked the clock last */
};

extern _Thread_local __attribute__((tls_model("initial-exec"))) struct dpa_thread dpa_me;

/*
 * dpa_now_ns(), as a thread that asks again and again within a microsecond is told: the last
 * answer, up to DPA_ABOUT_TICKS of the time stamp counter old. For round trips and timers on the
 * data path.
 */
uint64_t dpa_now_about(void);

/* The core that the calling thread is on; never 0. */
static inline uint32_t dpa_here(void)
{
	return (uint32_t)sched_getcpu() + 2;
}
/* A thread that polls has been here, or is: what comes is its own. */
static inline void dpa_app_is_at_it(struct dpa_hw *hw)
{
	if (dpa_me.polls && !atomic_load_explicit(&hw->app_polled, memory_order_relaxed))
		atomic_store_explicit(&hw->app_polled, dpa_here(), memory_order_relaxed);
}

/* The calling thread posted to this QP: what comes for it is best drained by that thread. */
static inline void dpa_qp_at_home(struct dpa_hw_qp *qp)
{
	uintptr_t me = (uintptr_t)&dpa_me;

	if (dpa_unlikely(atomic_load_explicit(&qp->home, memory_order_relaxed) != me) &&
	    dpa_me.polls)
		atomic_store_explicit(&qp->home, me, memory_order_relaxed);
}

/* Reports what this thread has collected of completions of the QP, and collects no more of them. */
static inline void dpa_run_end(const struct dpa_hw_qp *qp)
{
	struct dpa_run *r = dpa_me.run;

	if (!r || r->qp != qp)
		return;
	dpa_run_flush(r);
	r->qp = NULL;
}

#endif
