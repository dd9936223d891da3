/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sched.c - decides which thread spins, assists or sleeps. The threads themselves are in progress.c
 * (pollers), wait.c (waiters), service.c (the progress thread) and eu.c.
 *
 *                         .---- packets came
 *                         v    |
 *          .-----------> SPIN -'-- nothing came for the limit ---> SLEEP
 *          |              | ^                                        |
 *   it does not           | |                                        |
 *   any more              | '------ woken, or the time passed -------'
 *          |              |
 *          |              | another thread drives progress
 *          |              v
 *          '----------- ASSIST --. checks again after a moment,
 *                         ^      | and that is still so
 *                         '------'
 *
 *                     SPIN                        ASSIST                      SLEEP
 *   poller            polls, yields               -                           -
 *   waiter            drives progress; polls      50 us, if another thread    eventfd (wait_fd)
 *                     for an answer, 100 us       handles the work
 *   progress thread   drives progress             a poller: checks once a ms  eventfd (wake_fd);
 *                                                 that it still polls         the sleep word is 1
 *   EU                doorbells, progress         -                           futex
 */
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "eu/sched.h"
#include "link/peer.h"
#include "link/udp/udp.h"

/* ---------------------------------------------------------------- SPIN */

bool dpa_shares_cpu(struct dpa_hw *hw)
{
	_Atomic uint32_t *w = dpa_board_poller(hw->board, (uint32_t)sched_getcpu());
	/* 13 bits and 19 */
	uint32_t me = (hw->board->slot + 1) << 19 | ((uint32_t)((uintptr_t)&dpa_me >> 6) & 0x7ffff);

	if (atomic_load_explicit(w, memory_order_relaxed) == me)
		return false;
	atomic_store_explicit(w, me, memory_order_relaxed);
	return true;
}

/*
 * Yields early if another thread of the adapter polls on this processor. Otherwise the yield would
 * only help unrelated threads and costs a time slice: it backs off. With a socket it backs off
 * less, because a peer on the wire may be of another adapter instance of this machine.
 */
void dpa_sched_yield(struct dpa_hw *hw)
{
	const uint32_t min = (dpa_spin_pauses + DPA_YIELD - 1) / DPA_YIELD;
	const bool wire = dpa_udp_receives(hw->udp);
	struct dpa_thread *me = &dpa_me;

	if (dpa_shares_cpu(hw))
		dpa_backoff_reset(&me->yield);
	me->since_yield = 0;
	me->yield_after =
		dpa_backoff_step(&me->yield, min, dpa_spin_pauses * (wire ? 1 : DPA_YIELD));
	sched_yield();
}

/* True if work never ends and a thread polls on this core: that thread would do the same work. */
static bool hands_over(struct dpa_hw *hw)
{
	dpa_sched_ignore_less(hw);
	return atomic_load_explicit(&hw->app_polled, memory_order_relaxed) == dpa_here() &&
	       dpa_sched_app_polls(hw);
}

/*
 * A check of the socket takes as long as many pauses, in a virtual machine as very many: so time is
 * the limit. A thread that waits for the socket in the kernel is run at once when a packet comes; a
 * thread that yields is run after all others.
 */
static enum dpa_sched spin_on_wire(struct dpa_hw *hw, struct dpa_spin *s)
{
	uint64_t now = dpa_now_ns(), limit = DPA_SPIN_WIRE_NS;

	if (!s->since)
		s->since = now;
	if (!dpa_sched_app_polls(hw))
		limit += s->extra;
	if (now - s->since >= limit)
		return DPA_SLEEP;
	dpa_pause();
	return DPA_SPIN;
}

enum dpa_sched dpa_sched_service(struct dpa_hw *hw, struct dpa_spin *s, uint32_t n)
{
	const bool wire = dpa_udp_receives(hw->udp);

	s->passes++;
	if (!n && wire)
		return spin_on_wire(hw, s);
	if (!n) {
		dpa_relax(&s->idle);
		return s->idle < DPA_SPIN_PASSES ? DPA_SPIN : DPA_SLEEP;
	}
	s->idle = 0;
	s->since = 0;
	/* A stream that pauses will continue. The phase lasts about as long as its packets took. */
	if (s->extra < DPA_SPIN_STREAM_NS - DPA_SPIN_WIRE_NS)
		s->extra += n * DPA_SPIN_PACKET_NS;
	return wire && s->passes % DPA_SPIN_HANDOVER == 0 && hands_over(hw) ? DPA_ASSIST : DPA_SPIN;
}

enum dpa_sched dpa_sched_eu(struct dpa_hw *hw, uint32_t *idle, int n)
{
	if (n) {
		*idle = 0;
		return DPA_SPIN;
	}
	dpa_relax(idle);
	if (*idle % DPA_SPIN_EU_MARK == 0)
		dpa_shares_cpu(hw);
	if (*idle < DPA_SPIN_EU_PASSES)
		return DPA_SPIN;
	*idle = 0;
	return DPA_SLEEP;
}

/* ---------------------------------------------------------------- ASSIST */

enum dpa_sched dpa_sched_waiter(uint32_t *tries, bool there)
{
	*tries = there ? *tries + 1 : 0;
	if (!there)
		return DPA_SLEEP;
	return *tries <= DPA_WAITER_TRIES ? DPA_SPIN : DPA_ASSIST;
}

uint64_t dpa_sched_answer_begin(struct dpa_sched_answer *a, uint64_t now)
{
	if (!a->skip)
		return now + DPA_ANSWER_NS;
	a->skip--;
	return 0;
}

void dpa_sched_answer_end(struct dpa_sched_answer *a, bool came)
{
	if (came)
		dpa_backoff_reset(&a->backoff);
	else
		a->skip = dpa_backoff_step(&a->backoff, DPA_ANSWER_SKIP_MIN, DPA_ANSWER_SKIP_MAX);
}

bool dpa_sched_app_polls(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->app_polled, memory_order_relaxed) &&
	       !atomic_load_explicit(&hw->polls.ignored, memory_order_relaxed);
}

void dpa_sched_confirm(struct dpa_hw *hw)
{
	if (++hw->polls.confirmed >= DPA_IGNORE_RESET)
		dpa_backoff_reset(&hw->polls.backoff);
}

/*
 * A single case may have the reason that other threads had the processor. An application that waits
 * elsewhere for the effect of the packets causes it again.
 */
void dpa_sched_ignore(struct dpa_hw *hw)
{
	hw->polls.confirmed = 0;
	atomic_store_explicit(&hw->polls.ignored,
			      dpa_backoff_step(&hw->polls.backoff, DPA_IGNORE_MIN, DPA_IGNORE_MAX),
			      memory_order_relaxed);
}

void dpa_sched_ignore_less(struct dpa_hw *hw)
{
	if (atomic_load_explicit(&hw->polls.ignored, memory_order_relaxed))
		atomic_fetch_sub_explicit(&hw->polls.ignored, 1, memory_order_relaxed);
}

/* ---------------------------------------------------------------- SLEEP */

void dpa_set_sleep(struct dpa_hw *hw, _Atomic uint32_t *who, uint32_t on)
{
	uint32_t s;

	dpa_spin_lock(&hw->sleep.lock);
	atomic_store_explicit(who, on, memory_order_relaxed);
	s = atomic_load_explicit(&hw->sleep.waiter, memory_order_relaxed)    ? 2
	    : atomic_load_explicit(&hw->sleep.service, memory_order_relaxed) ? 1
									     : 0;
	atomic_store_explicit(&hw->door->sleep, s, memory_order_relaxed);
	dpa_spin_unlock(&hw->sleep.lock);
	/* pairs with the fence in dpa_tx_kick() */
	dpa_full_fence();
}

/* struct sched_attr of <linux/sched/types.h>, in its first version. */
struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/*
 * From Linux 6.12 on a thread can request its time slice, and a thread with a shorter slice is run
 * sooner. Without this, an EU that wakes beside an application that spins without calling us waits
 * for the end of that application's slice, which takes milliseconds. Earlier kernels ignore it; a
 * refusal does no harm.
 */
void dpa_run_soon(void)
{
	struct attr a = {.size = sizeof(a)};

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) ||
	    (a.policy && a.policy != SCHED_BATCH))
		return;
	a.flags = 0;
	a.runtime = DPA_SLICE_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}
