/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * service.c - the progress thread: one in each process. It drives progress when the application
 * does not, answers peers' hellos, checks their liveness and follows the addresses of the
 * namespace. Its states are those of sched.c: service_assist(), service_spin(),
 * sleep_until_woken().
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <dpa_hw_trace.h>
#include "ctx/schedule.h"
#include "util/sys.h"
#include "transport/xrc_branch.h"
#include "link/kick.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "eu/sched.h"
#include "eu/service.h"
#include "eu/inject.h"
#include "eu/meter.h"
#include "eu/quiet.h"
#include "util/rest.h"
#include "gsi/gsi.h"
#include "link/udp/forward.h"
#include "link/udp/udp.h"
#include "link/inspect.h"
#include "link/sock.h"
#include "eu/peer_end.h"
#include "util/fork.h"

/* Reports the state of its function's port to each context to which another state was reported. */
static void tell_states(struct dpa_hw *hw)
{
	pthread_mutex_lock(&hw->ctl);
	for (struct dpa_hw_ctx *c = hw->ctxs; c; c = c->next) {
		uint32_t state = dpa_port_state(c->port);
		struct dpa_event ev = {.type = state == DPA_PORT_ACTIVE ? DPA_EVENT_PORT_ACTIVE
									: DPA_EVENT_PORT_ERR,
				       .port = 1};

		if (state == c->told_state)
			continue;
		c->told_state = state;
		if (c->event)
			c->event(c->event_arg, &ev);
	}
	pthread_mutex_unlock(&hw->ctl);
}

/* The port was taken down on purpose, or no longer. */
static void tell_down(struct dpa_hw *hw)
{
	bool down = atomic_load_explicit(&hw->port.down, memory_order_relaxed);

	if (down == hw->told_down)
		return;
	hw->told_down = down;
	tell_states(hw);
}

static void port_changed(void *arg, enum dpa_port_change what)
{
	struct dpa_event ev = {.type = DPA_EVENT_GID_CHANGE, .port = 1};
	struct dpa_hw *hw = arg;

	if (what == DPA_PORT_CHANGE_STATE) {
		tell_states(hw);
		return;
	}
	if (what != DPA_PORT_CHANGE_GID)
		return;
	dpa_groups_refresh(hw);
	pthread_mutex_lock(&hw->ctl);
	for (struct dpa_hw_ctx *c = hw->ctxs; c; c = c->next)
		if (c->event)
			c->event(c->event_arg, &ev);
	pthread_mutex_unlock(&hw->ctl);
}

static void handle_event(struct dpa_hw *hw, const struct epoll_event *ev)
{
	uint64_t d = ev->data.u64;
	struct dpa_peer *p = (struct dpa_peer *)(uintptr_t)(d & ~7ull);
	eventfd_t v;

	switch (d & 7) {
	case DPA_EP_LISTEN:
		dpa_sock_accept(hw);
		break;
	case DPA_EP_WAKE:
		eventfd_read(hw->fd.wake, &v);
		dpa_count(hw, DPA_CNT_eu_wakeups, 1);
		break;
	case DPA_EP_PORT:
		dpa_port_poll(&hw->port, port_changed, hw);
		break;
	case DPA_EP_NEW:
		dpa_fork_hold();
		dpa_sock_new(hw, (int)(d >> 3));
		dpa_fork_release();
		break;
	case DPA_EP_SOCK:
		dpa_fork_hold();
		dpa_sock_answer(hw, p);
		dpa_fork_release();
		break;
	case DPA_EP_PIDFD:
		dpa_peer_died(hw, p);
		break;
	case DPA_EP_NUM:
		dpa_fwd_accept(hw);
		break;
	case DPA_EP_WAIT: /* dpa_quiet_leave() ends the watch */
		dpa_quiet_take_wait(hw);
		break;
	}
}

static void wait_events(struct dpa_hw *hw, uint64_t ns)
{
	static bool coarse; /* no epoll_pwait2: an older kernel, or a filter that refuses it */
	struct epoll_event ev[16];
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000ull),
			      .tv_nsec = (long)(ns % 1000000000ull)};
	int n = -1;

	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_SLEEP, 0, DPA_TRACE_PROGRESS, 0, 0, 0, 0);
	dpa_own_sleeps();
	if (!coarse) {
		n = epoll_pwait2(hw->fd.epoll, ev, 16, ns == UINT64_MAX ? NULL : &ts, NULL);
		if (n < 0 && errno != EINTR)
			coarse = true;
	}
	if (coarse)
		n = dpa_sys_epoll_wait(hw->fd.epoll, ev, 16,
				       ns == UINT64_MAX ? -1
							: (int)((ns + 999999ull) / 1000000ull));
	dpa_own_woke();
	if (dpa_trace_is_on())
		dpa_trace_event(DPA_TRACE_WAKE, 0, DPA_TRACE_PROGRESS, 0, 0, 0, 0);
	if (n < 0 && errno != EINTR) /* the application closed our descriptor: do not spin */
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	hw->tick.woken |= n > 0;
	for (int i = 0; i < n; i++)
		handle_event(hw, &ev[i]);
}

/*
 * The same if packets come from other adapter instances: to port 4791, or passed on by them.
 * Neither is in the epoll set: while an application polls it receives for itself, and the progress
 * thread is not woken for each packet. True: packets were taken.
 */
static bool wait_udp(struct dpa_hw *hw, uint64_t ns)
{
	struct pollfd p[3] = {{.fd = hw->fd.epoll, .events = POLLIN},
			      {.fd = dpa_udp_fd(hw->udp), .events = POLLIN},
			      {.fd = dpa_udp_in_epfd(hw->udp), .events = POLLIN}};
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000ull),
			      .tv_nsec = (long)(ns % 1000000000ull)};

	int n;

	dpa_own_sleeps();
	n = ppoll(p, 3, ns == UINT64_MAX ? NULL : &ts, NULL);
	dpa_own_woke();
	if (n <= 0)
		return false;
	if (p[0].revents)
		wait_events(hw, 0);
	if (!p[1].revents && !p[2].revents)
		return false;
	if (dpa_udp_rx(hw) + dpa_fwd_rx(hw) > 0)
		return true;
	/* another thread takes them, and may wait for this core */
	wait_events(hw, ns < DPA_ASSIST_BUSY_NS ? ns : DPA_ASSIST_BUSY_NS);
	return false;
}

/* Checks a new suspect at once, and one that stays suspect at growing intervals. */
static void check_liveness(struct dpa_hw *hw, uint64_t now)
{
	uint32_t s = atomic_load_explicit(&hw->live.suspects, memory_order_acquire);

	if (!s || (s == 1 && now < hw->live.at))
		return;
	if (s == 2)
		dpa_backoff_reset(&hw->live.backoff);
	hw->live.at =
		now + dpa_backoff_step(&hw->live.backoff, DPA_LIVENESS_MIN_NS, DPA_LIVENESS_MAX_NS);
	dpa_peers_check(hw);
}

static void add_lane_stat(uint64_t sum[6], struct dpa_lane_stat *t)
{
	_Atomic uint64_t *c[6] = {&t->packets, &t->bytes, &t->sends,
				  &t->writes,  &t->reads, &t->atomics};

	for (int i = 0; i < 6; i++)
		sum[i] += atomic_load_explicit(c[i], memory_order_relaxed);
}

/*
 * Sums up the counts that posters keep in their slots. Under hw->ctl, so that no slot is allocated
 * or freed.
 */
static void fold_slots(struct dpa_hw *hw)
{
	uint32_t nslab = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);
	uint64_t db, bf;

	pthread_mutex_lock(&hw->ctl);
	db = atomic_load_explicit(&hw->qps.gone_doorbells, memory_order_relaxed);
	bf = atomic_load_explicit(&hw->qps.gone_blueflames, memory_order_relaxed);
	for (uint32_t i = 0; i < nslab; i++) {
		struct dpa_uar_slot *slot = hw->qps.slab[i]->slot;

		if (!hw->qps.slab[i]->qpn || !slot)
			continue;
		db += __atomic_load_n(&slot->doorbells, __ATOMIC_RELAXED);
		bf += __atomic_load_n(&slot->blueflames, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&hw->ctl);
	atomic_store_explicit(&hw->cnt[DPA_CNT_doorbells], db, memory_order_relaxed);
	atomic_store_explicit(&hw->cnt[DPA_CNT_blueflames], bf, memory_order_relaxed);
}

static void fold_lanes(struct dpa_hw *hw)
{
	static const enum dpa_counter tx_of[6] = {DPA_CNT_tx_packets, DPA_CNT_tx_bytes,
						  DPA_CNT_tx_sends,   DPA_CNT_tx_writes,
						  DPA_CNT_tx_reads,   DPA_CNT_tx_atomics};
	static const enum dpa_counter rx_of[4] = {DPA_CNT_rx_packets, DPA_CNT_rx_bytes,
						  DPA_CNT_rx_sends, DPA_CNT_rx_write_requests};
	uint64_t tx[6] = {0}, rx[6] = {0};
	struct dpa_peer *p;

	dpa_spin_lock(&hw->peer_lock);
	p = hw->all_peers;
	dpa_spin_unlock(&hw->peer_lock);
	for (; p; p = p->next)
		for (uint32_t i = 0; i < DPA_LANES; i++) {
			add_lane_stat(tx, &p->tx[i].stat);
			add_lane_stat(rx, &p->rx[i].stat);
		}
	if (atomic_load_explicit(&hw->wire, memory_order_acquire))
		add_lane_stat(rx, dpa_wire_rx_stat(hw));
	for (int i = 0; i < 6; i++)
		atomic_store_explicit(&hw->cnt[tx_of[i]], tx[i], memory_order_relaxed);
	for (int i = 0; i < 4; i++)
		atomic_store_explicit(&hw->cnt[rx_of[i]], rx[i], memory_order_relaxed);
}

void dpa_counters_fold(struct dpa_hw *hw)
{
	fold_lanes(hw);
	fold_slots(hw);
}

/*
 * Reads slots and QPs only if packets have moved since: an idle process touches none of them. A
 * posted WQE sends a packet: without one no idle QP has changed.
 */
static void fold_if_moved(struct dpa_hw *hw)
{
	uint64_t n;

	fold_lanes(hw);
	n = atomic_load_explicit(&hw->cnt[DPA_CNT_tx_packets], memory_order_relaxed) +
	    atomic_load_explicit(&hw->cnt[DPA_CNT_rx_packets], memory_order_relaxed);
	hw->tick.moved = n != hw->tick.packets;
	if (!hw->tick.moved)
		return;
	hw->tick.packets = n;
	hw->tick.waiting = true;
	fold_slots(hw);
}

/* Runs the watchdog of all QPs. True: a QP has requests outstanding. */
static bool look_at_qps(struct dpa_hw *hw)
{
	uint32_t nslab = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);
	bool busy = false;

	for (uint32_t i = 0; i < nslab; i++) {
		struct dpa_hw_qp *qp = hw->qps.slab[i];

		if (!dpa_qplock_enter_or_note(&qp->lock)) {
			busy = true; /* another thread works on it: not stuck */
			continue;
		}
		if (qp->qpn && qp->type == DPA_QP_RC)
			busy |= dpa_requester_watchdog(qp);
		dpa_qp_leave(qp);
	}
	return busy;
}

/*
 * Twice a second, or less often in a quiet process (quiet.c): QPs without answers, peers that may be
 * gone, a disabled listener.
 */
static void service_tick(struct dpa_hw *hw)
{
	uint64_t now = dpa_now_ns();

	if (hw->listen_off && now - hw->tick.last >= DPA_LISTEN_NS)
		dpa_sock_listen_again(hw);
	check_liveness(hw, now);
	dpa_branches_tick(hw, false);
	dpa_gsi_look(hw);
	if (dpa_unlikely(atomic_load_explicit(&hw->udp->soon, memory_order_acquire)))
		dpa_udp_tick(hw);
	dpa_inspect_tick(hw);
	dpa_inject_tick(hw, now);
	tell_down(hw);
	dpa_meter_tick(hw, now);
	if (now - hw->tick.last < DPA_TICK_NS)
		return;
	hw->tick.last = now;
	fold_if_moved(hw);
	dpa_peers_meet(hw);
	dpa_branches_tick(hw, true);
	dpa_udp_tick(hw);
	dpa_gsi_tick(hw);
	if (hw->tick.waiting)
		hw->tick.waiting = look_at_qps(hw);
}

/*
 * Returns the ns during which no check is needed: until the next tick at most while there are QPs,
 * less while a peer is suspect.
 */
static uint64_t sleep_limit(struct dpa_hw *hw)
{
	bool ticks = atomic_load_explicit(&hw->qps.nslab, memory_order_relaxed) ||
		     dpa_gsi_wants_ticks(hw);
	uint64_t ns = ticks ? dpa_quiet_wait(hw) : UINT64_MAX, now;

	if (hw->listen_off)
		ns = 2 * DPA_LISTEN_NS;
	ns = dpa_meter_wait(hw, dpa_inject_wait(hw, ns));
	if (!atomic_load_explicit(&hw->live.suspects, memory_order_acquire))
		return ns;
	now = dpa_now_ns();
	if (now >= hw->live.at)
		return 0;
	return hw->live.at - now < ns ? hw->live.at - now : ns;
}

/*
 * True if a thread polls within ns. A thread that polls continuously sets the word within a
 * microsecond, unless it is on this core: then this thread must leave the core. Otherwise it must
 * not yield, because that would give a thread that spins on its own memory a whole time slice.
 */
static bool polls_within(struct dpa_hw *hw, uint32_t where, uint64_t ns)
{
	uint64_t now = dpa_now_ns(), end = now + ns;

	atomic_store_explicit(&hw->app_polled, 0, memory_order_relaxed);
	if (where == dpa_here()) {
		for (; now < end; now = dpa_now_ns())
			wait_events(hw, end - now);
		return atomic_load_explicit(&hw->app_polled, memory_order_relaxed);
	}
	for (; now < end; now = dpa_now_ns())
		for (int n = 0; n < 16; n++) {
			dpa_own_rest();
			if (atomic_load_explicit(&hw->app_polled, memory_order_relaxed))
				return true;
			dpa_pause();
		}
	return false;
}

/*
 * One check. False: the application does not poll, or no longer does. A thread that posts for a
 * while between two polls comes back soon. An application that leaves packets unread waits for them
 * elsewhere: its polling must not stop peers from waking this thread.
 */
static bool service_assist(struct dpa_hw *hw)
{
	uint32_t where;

	atomic_store_explicit(&hw->app_polled, 0, memory_order_relaxed);
	wait_events(hw, DPA_ASSIST_NS);
	if (atomic_load_explicit(&hw->kicks_owed, memory_order_relaxed))
		dpa_settle_kicks(hw);
	dpa_acks_settle(hw);
	if (++hw->looks % 16 == 0)
		fold_lanes(hw);
	/* the more QPs, the less often: this is the application's core */
	if (hw->looks % (16 + atomic_load_explicit(&hw->qps.nslab, memory_order_relaxed) / 4) == 0)
		fold_slots(hw);
	where = atomic_load_explicit(&hw->app_polled, memory_order_relaxed);
	if (!where)
		return false;
	/*
	 * To see the application poll now, this thread would have to leave its core once more,
	 * which costs the application more.
	 */
	if ((where == dpa_here() && !dpa_left_lying(hw)) ||
	    polls_within(hw, where, DPA_ASSIST_POLL_NS)) {
		dpa_sched_confirm(hw);
		return true;
	}
	if (!dpa_left_lying(hw))
		return false;
	if (polls_within(hw, where, DPA_ASSIST_UNREAD_NS))
		return true;
	dpa_sched_ignore(hw);
	return false;
}

/* Drives progress until nothing is left, or until a poller of this core takes over. */
static enum dpa_sched service_spin(struct dpa_hw *hw)
{
	struct dpa_spin s = {0};

	do {
		if (atomic_load_explicit(&hw->stop, memory_order_relaxed))
			break;
		dpa_own_rest();
		if (s.passes % 1024 == 1023) { /* the work may never end */
			dpa_inspect_tick(hw);
			dpa_meter_tick(hw, dpa_now_ns());
		}
	} while (dpa_sched_service(hw, &s, (uint32_t)dpa_progress_once(hw)) == DPA_SPIN);
	dpa_settle_kicks(hw);
	return dpa_sched_app_polls(hw) ? DPA_ASSIST : DPA_SLEEP;
}

/* Blocks for ns at most if there is nothing to do. True: the time passed and nothing came. */
static bool sleep_for(struct dpa_hw *hw, uint64_t ns)
{
	uint64_t left = dpa_timer_left(hw);

	dpa_acks_settle(hw);
	if (dpa_anything(hw) || atomic_load_explicit(&hw->stop, memory_order_acquire))
		return false;
	if (atomic_load_explicit(&hw->kicks_owed, memory_order_acquire)) {
		dpa_settle_kicks(hw);
		hw->tick.woken = true;
		return true;
	}
	ns = left < ns ? left : ns;
	if (!dpa_udp_receives(hw->udp))
		wait_events(hw, ns);
	else if (wait_udp(hw, ns))
		return false;
	return !dpa_anything(hw) && !atomic_load_explicit(&hw->app_polled, memory_order_relaxed);
}

/*
 * The first sleep is short. Anything that a thread published, made pending or scheduled without a
 * fence, just before it could see that this thread sleeps, is visible when this thread checks
 * again. A later thread sees that it sleeps and wakes it.
 */
static void sleep_until_woken(struct dpa_hw *hw)
{
	dpa_set_sleep(hw, &hw->sleep.service, 1);
	if (sleep_for(hw, DPA_SLEEP_FIRST_NS)) {
		dpa_full_fence();
		fold_if_moved(hw);
		while (sleep_for(hw, sleep_limit(hw)))
			service_tick(hw);
	}
	dpa_quiet_leave(hw);
	dpa_set_sleep(hw, &hw->sleep.service, 0);
	dpa_sched_ignore_less(hw);
}

static void *service_main(void *arg)
{
	struct dpa_hw *hw = arg;

	hw->tick.packets = UINT64_MAX;
	hw->tick.waiting = true;
	prctl(PR_SET_NAME, "dpa-eu-parked");
	dpa_run_soon();
	dpa_me.stands_in = true;
	dpa_own_begin();
	while (!atomic_load_explicit(&hw->stop, memory_order_acquire)) {
		dpa_own_rest();
		service_tick(hw);
		if (dpa_sched_app_polls(hw) && service_assist(hw)) {
			atomic_store_explicit(&hw->app_polled, 1, memory_order_relaxed);
			continue;
		}
		atomic_store_explicit(&hw->app_polled, 0, memory_order_relaxed);
		if (service_spin(hw) == DPA_SLEEP) {
			sleep_until_woken(hw);
			dpa_inject_steal(hw, true);
		}
	}
	dpa_own_end();
	return NULL;
}

int dpa_service_start(struct dpa_hw *hw)
{
	int ret = dpa_own_start(&hw->service, service_main, hw);

	hw->service_up = !ret;
	return ret;
}

void dpa_service_stop(struct dpa_hw *hw)
{
	if (!hw->service_up)
		return;
	dpa_quiet_hand_over(hw);
	atomic_store_explicit(&hw->stop, 1, memory_order_release);
	dpa_wake_self(hw);
	pthread_join(hw->service, NULL);
	hw->service_up = false;
	dpa_meter_stop(hw);
}
