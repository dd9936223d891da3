/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Blocking until a completion channel or an event queue has something: who waits drives progress.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
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
 * After EINTR of a call that never restarts by itself: would read(2) have gone on? Yes, if every
 * handler that is installed says SA_RESTART.
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
	bool beside, gave; /* dpa_hw_wait_fd_beside(); it has given the role away */
	uint32_t tries;	   /* in a row, at work that is there and that another thread is at */
	bool wire;	   /* the socket is readable, or was when nobody had looked since */
};

/* Work that was there is being done. */
static void wait_moved(struct wait *w)
{
	w->tries = 0;
	w->wire = false;
}

/* Also when the thread is cancelled in its wait, as threads that wait for CQ events often are. */
static void leave_role(void *arg)
{
	struct wait *w = arg;
	struct dpa_hw *hw = w->hw;

	dpa_set_sleep(hw, &hw->waiter, 0);
	atomic_store_explicit(&hw->role_beside, 0, memory_order_relaxed);
	dpa_spin_unlock(&hw->wait_role);
	/*
	 * Who looked at the old sleep word woke the wrong one, and what lies there may not be ours.
	 * An ACK that goes with it, and on loopback comes back, is done here: to wake another
	 * thread for it would hold us up more.
	 */
	for (int i = 0; i < DPA_WAITER_LAST && dpa_progress_once(hw); i++)
		wait_moved(w);
	if (atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
		dpa_settle_kicks(hw);
	if (dpa_anything(hw))
		dpa_wake_self(hw);
}

static const struct timespec beside = {.tv_nsec = DPA_ASSIST_BUSY_NS};

/*
 * Sleeps unless there is something; if that is not to be had, for a moment, and without a look at
 * the socket, which may be what it is. The thread that is at it may have lost this processor to us:
 * now it is run, and what it completes wakes us. errno or 0.
 */
static int sleep_as_waiter(struct wait *w, struct pollfd p[3], const struct timespec *until)
{
	bool there = dpa_anything(w->hw) || w->wire;
	eventfd_t v;

	if (dpa_sched_waiter(&w->tries, there) == DPA_SPIN)
		return 0;
	w->wire = false;
	if (ppoll(p, there ? 2 : 3, there ? &beside : until, NULL) < 0)
		return errno;
	if (p[1].revents & POLLIN)
		eventfd_read(w->hw->wait_fd, &v);
	if (!there && p[2].revents & POLLIN) {
		w->wire = true;
		dpa_wire_is_there();
	}
	return 0;
}

/*
 * The role goes from who waits beside (role_beside: written by the holder) to who waits for data
 * (role_asked: set by that one, taken back by the holder). Each writes its own word before it reads
 * the other's (seq_cst), so that the holder does not go to sleep unasked. True: somebody beside has
 * it and was woken: it is worth another try in a moment.
 */
static bool ask_for_role(struct dpa_hw *hw)
{
	atomic_store(&hw->role_asked, 1);
	if (!atomic_load(&hw->role_beside))
		return false;
	dpa_eventfd_wake(hw->wait_fd);
	return true;
}

/* The holder: false if the role is to be given away. */
static bool keeps_role(struct wait *w)
{
	if (!w->beside)
		return true;
	atomic_store(&w->hw->role_beside, 1);
	w->gave = atomic_exchange(&w->hw->role_asked, 0);
	return !w->gave;
}

/* The descriptor that becomes readable with packets of other adapter instances. -1: none. */
static int wire_fd(const struct dpa_udp *u)
{
	const int fd = dpa_udp_fd(u);

	return fd >= 0 ? fd : dpa_udp_in_epfd(u);
}

/* Blocks as the one that peers wake, or beside it. 0: look again; else errno. */
static int wait_block(struct wait *w, int fd, uint64_t until)
{
	struct dpa_hw *hw = w->hw;
	struct pollfd p[3] = {{.fd = fd, .events = POLLIN},
			      {.fd = hw->wait_fd, .events = POLLIN},
			      {.fd = wire_fd(hw->udp), .events = POLLIN}};
	bool mine = !w->gave && dpa_spin_try(&hw->wait_role);
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
	dpa_set_sleep(hw, &hw->waiter, 1);
	pthread_cleanup_push(leave_role, w);
	if (keeps_role(w))
		ret = sleep_as_waiter(w, p, tsp);
	pthread_cleanup_pop(1);
	return ret;
}

/* This thread goes away with a packet's completion, and nobody else may look for long. */
static void settle_before_leaving(struct dpa_hw *hw)
{
	if (atomic_load_explicit(&hw->service_asleep, memory_order_relaxed))
		dpa_acks_settle(hw);
}

static int wait_fd(struct dpa_hw *hw, int fd, int timeout_ms, bool aside)
{
	uint64_t until =
		timeout_ms < 0 ? UINT64_MAX : dpa_now_ns() + (uint64_t)timeout_ms * 1000000ull;
	struct wait w = {.hw = hw, .beside = aside};
	bool ready;
	int ret = 0;

	while (!ret) {
		if (dpa_progress_once(hw))
			wait_moved(&w);
		if (atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
			dpa_settle_kicks(hw);
		ready = fd_ready(fd);
		if (ready || dpa_now_ns() >= until) {
			settle_before_leaving(hw);
			return ready ? 0 : EAGAIN;
		}
		dpa_acks_settle(hw);
		ret = wait_block(&w, fd, until);
		if (ret == EINTR && wait_restarts())
			ret = 0;
	}
	return ret;
}

int dpa_hw_wait_fd(struct dpa_hw_ctx *ctx, int fd, int timeout_ms)
{
	return wait_fd(ctx->hw, fd, timeout_ms, false);
}

int dpa_hw_wait_fd_beside(struct dpa_hw_ctx *ctx, int fd, int timeout_ms)
{
	return wait_fd(ctx->hw, fd, timeout_ms, true);
}
