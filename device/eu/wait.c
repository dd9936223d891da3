/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wait.c - blocks until a completion channel or an event queue has something. The waiting thread
 * drives progress.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <dpa_hw_trace.h>
#include "ctx/schedule.h"
#include "util/sys.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "eu/sched.h"
#include "link/udp/udp.h"

static bool fd_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return dpa_sys_poll(&p, 1, 0) > 0;
}

/*
 * After EINTR of a call that is never restarted: true if read(2) would have been restarted, which
 * is the case if every installed handler has SA_RESTART.
 */
static bool wait_restarts(void)
{
	for (int s = 1; s < NSIG; s++) {
		struct sigaction sa;

		if (sigaction(s, NULL, &sa) || sa.sa_handler == SIG_DFL || sa.sa_handler == SIG_IGN)
			continue;
		if (!(sa.sa_flags & SA_RESTART))
			return false;
	}
	return true;
}

struct wait {
	struct dpa_hw *hw;
	/* beside: called by dpa_hw_wait_fd_beside(); gave: it has given the role away */
	bool beside, gave;
	uint32_t tries; /* successive tries with work that another thread handles */
	/* ns: polls until then before it sleeps; 0: not, or not any more */
	uint64_t spin_until;
	bool wire; /* the socket is readable, or was when no thread had checked it since */
};

/* Work is being done: starts again. */
static void wait_moved(struct wait *w)
{
	w->tries = 0;
	w->wire = false;
}

/*
 * Also runs if the thread is cancelled in its wait, which is common for threads that wait for CQ
 * events.
 */
static void leave_role(void *arg)
{
	struct wait *w = arg;
	struct dpa_hw *hw = w->hw;

	dpa_set_sleep(hw, &hw->sleep.waiter, 0);
	atomic_store_explicit(&hw->sleep.role_beside, 0, memory_order_relaxed);
	dpa_spin_unlock(&hw->sleep.role);
	/*
	 * A peer that read the old sleep word woke the wrong thread, and its packets may not be for
	 * this one. An ACK that goes with a packet, and on loopback returns, is handled here:
	 * waking another thread for it would delay this one more.
	 */
	for (int i = 0; i < DPA_WAITER_LAST && dpa_progress_once(hw); i++)
		wait_moved(w);
	if (atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
		dpa_settle_kicks(hw);
	if (dpa_anything(hw))
		dpa_wake_self(hw);
}

/*
 * Polls for an answer, as long as the scheduler allows. The sleep word is set meanwhile, so that peers
 * wake no other thread. Yields each time: the peer may need this processor. True: packets are there.
 */
static bool spin_for_answer(struct wait *w, struct pollfd p[3])
{
	while (dpa_now_ns() < w->spin_until) {
		if (dpa_anything(w->hw))
			return true;
		if (dpa_sys_poll(p, 3, 0) > 0)
			return false;
		sched_yield();
	}
	dpa_sched_answer_end(&w->hw->sleep.answer, false);
	w->spin_until = 0;
	return false;
}

static const struct timespec beside = {.tv_nsec = DPA_ASSIST_BUSY_NS};

/*
 * Sleeps unless there is work. If another thread handles it, sleeps for a moment, and without the
 * socket, which may be the reason. That thread may have lost this processor to this one: now it
 * runs, and its completion wakes this thread. Returns an errno or 0.
 */
static int sleep_as_waiter(struct wait *w, struct pollfd p[3], const struct timespec *until)
{
	bool there = dpa_anything(w->hw) || w->wire;
	eventfd_t v;
	int err;

	if (dpa_sched_waiter(&w->tries, there) == DPA_SPIN)
		return 0;
	if (!there && w->spin_until && spin_for_answer(w, p))
		return 0;
	w->wire = false;
	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_SLEEP, 0, DPA_TRACE_WAITER, 0, 0, 0, 0);
	err = ppoll(p, there ? 2 : 3, there ? &beside : until, NULL) < 0 ? errno : 0;
	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_WAKE, 0, DPA_TRACE_WAITER, 0, 0, 0, 0);
	if (err)
		return err;
	if (p[1].revents & POLLIN)
		eventfd_read(w->hw->fd.wait, &v);
	if (!there && p[2].revents & POLLIN) {
		w->wire = true;
		dpa_wire_is_there();
	}
	return 0;
}

/*
 * The role moves from a thread that waits beside to a thread that waits for data. The holder writes
 * role_beside; the thread that waits for data sets role_asked, and the holder clears it. Each
 * writes its own word before it reads the other's (seq_cst), so that the holder cannot sleep
 * without having seen the request. True: a thread beside has the role and was woken: try again in a
 * moment.
 */
static bool ask_for_role(struct dpa_hw *hw)
{
	atomic_store(&hw->sleep.role_asked, 1);
	if (!atomic_load(&hw->sleep.role_beside))
		return false;
	dpa_eventfd_wake(hw->fd.wait);
	return true;
}

/* Called by the holder. False: it must give the role away. */
static bool keeps_role(struct wait *w)
{
	if (!w->beside)
		return true;
	atomic_store(&w->hw->sleep.role_beside, 1);
	w->gave = atomic_exchange(&w->hw->sleep.role_asked, 0);
	return !w->gave;
}

/* The descriptor that becomes readable with packets of other adapter instances. -1: none. */
static int wire_fd(const struct dpa_udp *u)
{
	const int fd = dpa_udp_fd(u);

	return fd >= 0 ? fd : dpa_udp_in_epfd(u);
}

/* Blocks as the thread that peers wake, or beside it. 0: check again; else an errno. */
static int wait_block(struct wait *w, int fd, uint64_t until)
{
	struct dpa_hw *hw = w->hw;
	struct pollfd p[3] = {{.fd = fd, .events = POLLIN},
			      {.fd = hw->fd.wait, .events = POLLIN},
			      {.fd = wire_fd(hw->udp), .events = POLLIN}};
	bool mine = !w->gave && dpa_spin_try(&hw->sleep.role);
	uint64_t left, now = dpa_now_ns();
	const struct timespec *tsp = NULL;
	struct timespec ts;
	volatile int ret = 0;

	left = mine ? dpa_timer_left(hw) : UINT64_MAX;
	if (until != UINT64_MAX) {
		uint64_t u = until > now ? until - now : 0;

		left = u < left ? u : left;
	}
	if (left != UINT64_MAX) {
		ts.tv_sec = (time_t)(left / 1000000000ull);
		ts.tv_nsec = (long)(left % 1000000000ull);
		tsp = &ts;
	}
	if (!mine) {
		if (!w->beside && ask_for_role(hw))
			tsp = &beside;
		return ppoll(p, 1, tsp, NULL) < 0 ? errno : 0;
	}
	dpa_set_sleep(hw, &hw->sleep.waiter, 1);
	pthread_cleanup_push(leave_role, w);
	if (keeps_role(w))
		ret = sleep_as_waiter(w, p, tsp);
	pthread_cleanup_pop(1);
	return ret;
}

/* This thread leaves with a packet's completion, and no other thread may check for long. */
static void settle_before_leaving(struct dpa_hw *hw)
{
	if (atomic_load_explicit(&hw->sleep.service, memory_order_relaxed))
		dpa_acks_settle(hw);
}

static int wait_fd(struct wait *w, int fd, int timeout_ms)
{
	uint64_t until =
		timeout_ms < 0 ? UINT64_MAX : dpa_now_ns() + (uint64_t)timeout_ms * 1000000ull;
	struct dpa_hw *hw = w->hw;
	bool ready;
	int ret = 0;

	while (!ret) {
		if (dpa_progress_once(hw))
			wait_moved(w);
		if (atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
			dpa_settle_kicks(hw);
		ready = fd_ready(fd);
		if (ready || dpa_now_ns() >= until) {
			settle_before_leaving(hw);
			return ready ? 0 : EAGAIN;
		}
		dpa_acks_settle(hw);
		ret = wait_block(w, fd, until);
		if (ret == EINTR && wait_restarts())
			ret = 0;
	}
	return ret;
}

int dpa_hw_wait_fd(struct dpa_hw_ctx *ctx, int fd, int timeout_ms)
{
	struct wait w = {.hw = ctx->hw};

	return wait_fd(&w, fd, timeout_ms);
}

int dpa_hw_wait_fd_beside(struct dpa_hw_ctx *ctx, int fd, int timeout_ms, bool answer)
{
	struct dpa_sched_answer *a = &ctx->hw->sleep.answer;
	struct wait w = {.hw = ctx->hw, .beside = true};
	int ret;

	/* Always marks the processor: a peer's thread that waits here, too, must not be kept from it. */
	if (!dpa_shares_cpu(ctx->hw) && answer)
		w.spin_until = dpa_sched_answer_begin(a, dpa_now_ns());
	ret = wait_fd(&w, fd, timeout_ms);
	if (!ret && w.spin_until)
		dpa_sched_answer_end(a, true);
	return ret;
}
