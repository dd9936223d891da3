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
		const struct dpa_rx *rx; /* only compared */
		uint32_t drains;
		uint32_t skip; /* checks that leave it to its owner */
	} lane[DPA_HOT_LANES];
	/* ring drained last, unless it was left to another thread; valid for watch_of */
	const struct dpa_rx *watch;
	uint32_t watch_of;
	/* Rings with a pending wake-up; valid for the opening `serial`. */
	struct dpa_tx *owed[DPA_LANES];
	uint32_t nowed; /* more than DPA_LANES: others, too */
	uint32_t serial;
	struct dpa_posting {
		struct dpa_hw_qp *last[4]; /* QPs posted to, the latest at n % 4 */
		uint32_t n;
		uint32_t serial; /* number of the opening of the device that they belong to */
	} posting;
	struct dpa_run *run;   /* completions that it collects for a CQ; NULL: none */
	bool polls;	       /* has driven progress: completions of its QPs may come to it */
	bool stands_in;	       /* runs for others: its packets belong to other threads */
	bool in_window;	       /* as in_window of the QP whose lock it holds */
	uint32_t wire_quiet;   /* successive reads of the socket that found nothing */
	uint32_t passed_quiet; /* the same for packets that others pass on */
	uint32_t idle_polls;   /* successive polls that found nothing, */
	uint32_t since_yield;  /* and those since it last checked which thread else polls here; */
	uint32_t yield_after;  /* polls until the next check: by the back-off `yield` */
	struct dpa_backoff yield;
	uint32_t hazard; /* the hazard pointer that it had last, */
	uint32_t stage;	 /* and its segment of the bounce buffer */
	/* gettid(), read in the opening of this serial: a forked child has a new one */
	uint32_t tid, tid_of;
	uint64_t now, now_ticks; /* result of the last clock read of dpa_now_about() */
};

extern _Thread_local __attribute__((tls_model("initial-exec"))) struct dpa_thread dpa_me;

/*
 * Return dpa_now_ns(), or for a thread that calls it repeatedly within a microsecond the last
 * result, which is up to DPA_ABOUT_TICKS ticks of the time stamp counter old. For round trips and
 * timers on the data path.
 */
uint64_t dpa_now_about(void);

/* Returns the core of the calling thread, as a number that is never 0. */
static inline uint32_t dpa_here(void)
{
	return (uint32_t)sched_getcpu() + 2;
}
/* Records that a polling thread is here: what arrives is its own. */
static inline void dpa_app_is_at_it(struct dpa_hw *hw)
{
	if (dpa_me.polls && !atomic_load_explicit(&hw->app_polled, memory_order_relaxed))
		atomic_store_explicit(&hw->app_polled, dpa_here(), memory_order_relaxed);
}

/*
 * Records that the calling thread posted to this QP: its packets are best drained by that thread.
 */
static inline void dpa_qp_at_home(struct dpa_hw_qp *qp)
{
	uintptr_t me = (uintptr_t)&dpa_me;

	if (dpa_unlikely(atomic_load_explicit(&qp->home, memory_order_relaxed) != me) &&
	    dpa_me.polls)
		atomic_store_explicit(&qp->home, me, memory_order_relaxed);
}

/* Reports the completions of the QP that this thread has collected, and stops collecting. */
static inline void dpa_run_end(const struct dpa_hw_qp *qp)
{
	struct dpa_run *r = dpa_me.run;

	if (!r || r->qp != qp)
		return;
	dpa_run_flush(r);
	r->qp = NULL;
}

#endif
