/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parked EU: one thread a process that stands in when the application does not call in, answers
 * peers' hellos, watches their lives and the addresses of the namespace.
 *
 *   WATCH   an application thread polls: look once a millisecond whether that is still so; peers
 * need not wake anybody (sleep word 0). SLEEP   nobody polls: drive progress until there is nothing
 * left, set the sleep word, look again, block. Peers wake us.
 *
 * An application that polls now and then but leaves packets lying (it waits on its own memory, as
 * ib_write_lat does) is not relied on for a while: distrust.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include "ctx/dev.h"
#include "link/sock.h"

#define WATCH_MS 1
#define DISTRUST 256 /* sleeps */
#define SPINS	 400 /* looks in vain before sleeping: two yields, some microseconds */

static void port_changed(void *arg, enum dpa_port_change what)
{
	struct dpa_event ev = {.type = DPA_EVENT_GID_CHANGE, .port = 1};
	struct dpa_hw *hw = arg;

	if (what != DPA_PORT_CHANGE_GID)
		return;
	pthread_mutex_lock(&hw->ctl);
	for (struct dpa_hw_ctx *c = hw->ctxs; c; c = c->next)
		if (c->event)
			c->event(c->event_arg, &ev);
	pthread_mutex_unlock(&hw->ctl);
}

static void handle(struct dpa_hw *hw, const struct epoll_event *ev)
{
	uint64_t d = ev->data.u64;
	struct dpa_peer *p = (struct dpa_peer *)(uintptr_t)(d & ~7ull);
	eventfd_t v;

	switch (d & 7) {
	case DPA_EP_LISTEN:
		dpa_sock_accept(hw);
		break;
	case DPA_EP_WAKE:
		eventfd_read(hw->wake_fd, &v);
		dpa_count(hw, DPA_CNT_eu_wakeups, 1);
		break;
	case DPA_EP_PORT:
		dpa_port_poll(&hw->port, port_changed, hw);
		break;
	case DPA_EP_NEW:
		dpa_sock_new(hw, (int)(d >> 3));
		break;
	case DPA_EP_SOCK:
		dpa_sock_answer(hw, p);
		break;
	case DPA_EP_PIDFD:
		dpa_peer_died(hw, p);
		break;
	}
}

static void wait_events(struct dpa_hw *hw, uint64_t ns)
{
	struct epoll_event ev[16];
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000ull),
			      .tv_nsec = (long)(ns % 1000000000ull)};
	int n;

	n = epoll_pwait2(hw->epfd, ev, 16, ns == UINT64_MAX ? NULL : &ts, NULL);
	if (n < 0 && errno == ENOSYS) /* before Linux 5.11: whole milliseconds, rounded up */
		n = epoll_wait(hw->epfd, ev, 16,
			       ns == UINT64_MAX ? -1 : (int)((ns + 999999ull) / 1000000ull));
	for (int i = 0; i < n; i++)
		handle(hw, &ev[i]);
}

/* A thread that polls without end says so within a microsecond; one that waits elsewhere does not.
 */
static bool polls_right_now(struct dpa_hw *hw)
{
	atomic_store_explicit(&hw->app_polled, 0, memory_order_relaxed);
	for (uint32_t n = 0; n < 1000;) {
		if (atomic_load_explicit(&hw->app_polled, memory_order_relaxed))
			return true;
		dpa_relax(&n);
	}
	return false;
}

/* One look. False: the application does not poll without end (any more). */
static bool watch(struct dpa_hw *hw)
{
	atomic_store_explicit(&hw->app_polled, 0, memory_order_relaxed);
	wait_events(hw, WATCH_MS * 1000000ull);
	if (atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
		dpa_settle_kicks(hw);
	if (!atomic_load_explicit(&hw->app_polled, memory_order_relaxed))
		return false;
	if (polls_right_now(hw))
		return true;
	if (dpa_anything(hw)) /* and leaves packets lying */
		atomic_store_explicit(&hw->distrust, DISTRUST, memory_order_relaxed);
	return false;
}

static void work_until_idle(struct dpa_hw *hw)
{
	uint32_t idle = 0;

	while (idle < SPINS && !atomic_load_explicit(&hw->stop, memory_order_relaxed)) {
		if (dpa_progress_once(hw))
			idle = 0;
		else
			dpa_relax(&idle);
	}
	dpa_settle_kicks(hw);
}

static void sleep_until_woken(struct dpa_hw *hw)
{
	uint64_t left;

	dpa_set_sleep(hw, &hw->service_asleep, 1);
	if (!dpa_anything(hw) && !atomic_load_explicit(&hw->stop, memory_order_acquire)) {
		left = dpa_timer_left(hw);
		if (left)
			wait_events(hw, left);
	}
	dpa_set_sleep(hw, &hw->service_asleep, 0);
	if (atomic_load_explicit(&hw->distrust, memory_order_relaxed))
		atomic_fetch_sub_explicit(&hw->distrust, 1, memory_order_relaxed);
}

static bool app_polls(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->app_polled, memory_order_relaxed) &&
	       !atomic_load_explicit(&hw->distrust, memory_order_relaxed);
}

static void *service_main(void *arg)
{
	struct dpa_hw *hw = arg;

	prctl(PR_SET_NAME, "dpa-eu-parked");
	while (!atomic_load_explicit(&hw->stop, memory_order_acquire)) {
		if (app_polls(hw) && watch(hw)) {
			atomic_store_explicit(&hw->app_polled, 1, memory_order_relaxed);
			continue;
		}
		atomic_store_explicit(&hw->app_polled, 0, memory_order_relaxed);
		work_until_idle(hw);
		if (!app_polls(hw))
			sleep_until_woken(hw);
	}
	return NULL;
}

int dpa_service_start(struct dpa_hw *hw)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&hw->service, NULL, service_main, hw);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	hw->service_up = !ret;
	return ret;
}

void dpa_service_stop(struct dpa_hw *hw)
{
	if (!hw->service_up)
		return;
	atomic_store_explicit(&hw->stop, 1, memory_order_release);
	dpa_wake_self(hw);
	pthread_join(hw->service, NULL);
	hw->service_up = false;
}
