/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_quiet.c - the ticks of a quiet process back off, each reason keeps them, and no post is
 * missed.
 */
#include <criterion/criterion.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "ctx/schedule.h"
#include "eu/inject.h"
#include "eu/quiet.h"
#include "eu/sched.h"
#include "gsi/gsi.h"
#include "link/inspect.h"
#include "link/sock.h"
#include "link/udp/udp.h"
#include "tables/tables.h"
#include "harness.h"

#define TICK ((uint64_t)DPA_TICK_NS)

static struct th *th;
static struct dpa_hw *hw;
static bool watches, inspects, injects, is_next;
static uint32_t woken_slot;

/* ------------------------------------------------------------- stand-ins */

bool dpa_gsi_is_watching(struct dpa_hw *h)
{
	return watches;
}

bool dpa_inspect_wants_ticks(struct dpa_hw *h)
{
	return inspects;
}

bool dpa_inject_wants_ticks(struct dpa_hw *h)
{
	return injects;
}

bool dpa_board_gsi_is_next(struct dpa_board *b)
{
	return is_next;
}

bool dpa_board_proc_before(struct dpa_board *b, uint32_t *slot, uint32_t *gen)
{
	*slot = 77;
	*gen = 1;
	return true;
}

void dpa_board_wake(const struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	woken_slot = slot;
}

static void begin(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = DPA_EP_WAKE};

	th = th_new(&(struct th_opt){0});
	hw = th->hw;
	hw->fd.epoll = epoll_create1(EPOLL_CLOEXEC);
	hw->fd.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	hw->fd.wait = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	cr_assert_eq(epoll_ctl(hw->fd.epoll, EPOLL_CTL_ADD, hw->fd.wake, &ev), 0);
	watches = inspects = injects = is_next = false;
	woken_slot = 0;
}

static void end(void)
{
	close(hw->fd.epoll);
	close(hw->fd.wake);
	close(hw->fd.wait);
	hw->fd.epoll = hw->fd.wake = hw->fd.wait = -1;
	th_free(th);
}

TestSuite(quiet, .init = begin, .fini = end, .timeout = 60);

/* The kinds of epoll events that are there, as bits. */
static uint32_t events(void)
{
	struct epoll_event ev[8];
	uint32_t kinds = 0;
	int n = epoll_wait(hw->fd.epoll, ev, 8, 0);

	for (int i = 0; i < n; i++)
		kinds |= 1u << (ev[i].data.u64 & 7);
	return kinds;
}

static void become_quiet(void)
{
	cr_assert_eq(dpa_quiet_wait(hw), TICK);
	cr_assert_eq(dpa_quiet_wait(hw), 2 * TICK);
	cr_assert_eq(dpa_quiet_wait(hw), 4 * TICK);
}

/* Two ticks and no more: half a second, and half a second once more. */
static void is_awake(const char *why)
{
	cr_expect_eq(dpa_quiet_wait(hw), TICK, "%s", why);
	cr_expect_not(hw->tick.quiet, "%s", why);
	cr_expect_eq(dpa_quiet_wait(hw), TICK, "%s", why);
}

/* ---------------------------------------------------------------- states */

Test(quiet, intervals_double_from_one_second_to_sixteen)
{
	static const uint64_t after[] = {1, 2, 4, 8, 16, 32, 32, 32};

	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++)
		cr_expect_eq(dpa_quiet_wait(hw), after[i] * TICK, "interval %zu", i);
}

Test(quiet, a_stir_wakes_once_and_begins_anew)
{
	become_quiet();
	dpa_stir(hw);
	cr_expect_eq(events(), 1u << DPA_EP_WAKE);
	dpa_stir(hw);
	eventfd_read(hw->fd.wake, &(eventfd_t){0});
	dpa_stir(hw);
	cr_expect_eq(events(), 0, "the first one took the word");
	cr_expect_eq(dpa_quiet_wait(hw), TICK);
	cr_expect_not(hw->tick.quiet);
	become_quiet();
}

Test(quiet, a_descriptor_begins_anew)
{
	become_quiet();
	hw->tick.woken = true;
	cr_expect_eq(dpa_quiet_wait(hw), TICK);
	cr_expect_not(atomic_load(&hw->quiet));
	become_quiet();
}

Test(quiet, a_wake_up_for_a_waiting_thread_is_seen_while_quiet_only)
{
	eventfd_write(hw->fd.wait, 1);
	cr_expect_eq(events(), 0, "the progress thread is not woken for each packet");
	cr_expect_eq(dpa_quiet_wait(hw), TICK);
	cr_expect_eq(events(), 1u << DPA_EP_WAIT);
	dpa_quiet_leave(hw);
	cr_expect_eq(events(), 0);
}

/* A peer that read the sleep word wakes a thread that has left: no thread would take the count. */
Test(quiet, a_late_wake_up_for_no_thread_ends_no_more_than_one_sleep)
{
	eventfd_t n;

	eventfd_write(hw->fd.wait, 1);
	cr_expect_eq(dpa_quiet_wait(hw), TICK);
	cr_expect_eq(events(), 1u << DPA_EP_WAIT);
	dpa_quiet_take_wait(hw);
	hw->tick.woken = true;
	cr_expect_eq(dpa_quiet_wait(hw), TICK);
	become_quiet();
	cr_expect_eq(events(), 0);
	atomic_store(&hw->sleep.waiter, 1);
	eventfd_write(hw->fd.wait, 1);
	dpa_quiet_take_wait(hw);
	cr_expect_eq(events(), 1u << DPA_EP_WAIT, "the waiting thread takes it");
	cr_expect_eq(eventfd_read(hw->fd.wait, &n), 0);
}

Test(quiet, without_that_descriptor_it_is_never_quiet)
{
	close(hw->fd.wait);
	is_awake("a program that closes all descriptors");
	hw->fd.wait = eventfd(0, EFD_CLOEXEC);
}

Test(quiet, a_process_that_leaves_wakes_the_one_that_watches_for_it)
{
	dpa_quiet_hand_over(hw);
	cr_expect_eq(woken_slot, 0, "it watched none");
	is_next = true;
	dpa_quiet_hand_over(hw);
	cr_expect_eq(woken_slot, 77);
}

/* --------------------------------------------------------------- reasons */

static void set_reason(enum dpa_unquiet why, bool on)
{
	struct dpa_peer *p = th->peer;

	switch (why) {
	case DPA_UNQUIET_MOVED:
		hw->tick.moved = on;
		break;
	case DPA_UNQUIET_WAITING:
		hw->tick.waiting = on;
		break;
	case DPA_UNQUIET_TIMER:
		atomic_store(&hw->mod.due, on ? th_now + 1000000 : 0);
		break;
	case DPA_UNQUIET_PEER:
		atomic_store(&p->state, on ? DPA_PEER_CONNECTING : DPA_PEER_UP);
		break;
	case DPA_UNQUIET_LISTENER:
		hw->listen_off = on;
		break;
	case DPA_UNQUIET_WIRE: /* another adapter instance has the port */
		atomic_store(&hw->udp->state, on ? DPA_UDP_BEHIND : DPA_UDP_CLOSED);
		break;
	case DPA_UNQUIET_CM:
		watches = on;
		break;
	case DPA_UNQUIET_XRC:
		atomic_store(&hw->xrc.nbranch, on);
		break;
	case DPA_UNQUIET_INSPECT:
		inspects = on;
		break;
	case DPA_UNQUIET_INJECT:
		injects = on;
		break;
	case DPA_UNQUIET_METER:
		hw->meter.on = on;
		break;
	default:
		cr_assert(false, "a reason without a test: %u", why);
	}
}

Test(quiet, each_reason_keeps_half_a_second)
{
	for (uint32_t i = DPA_QUIET + 1; i < DPA_UNQUIETS; i++) {
		const enum dpa_unquiet why = (enum dpa_unquiet)i;
		char name[16];

		snprintf(name, sizeof(name), "reason %u", i);
		set_reason(why, true);
		cr_expect_eq(dpa_unquiet(hw), why, "%s", name);
		is_awake(name);
		set_reason(why, false);
		cr_expect_eq(dpa_unquiet(hw), DPA_QUIET, "%s", name);
		become_quiet();
		set_reason(why, true);
		is_awake(name);
		set_reason(why, false);
	}
}

Test(quiet, a_peer_whose_end_no_descriptor_shows_keeps_half_a_second)
{
	struct dpa_door door = {0};
	struct dpa_peer *p = th->peer;

	p->pidfd = p->sock = p->sock2 = -1;
	cr_expect_eq(dpa_unquiet(hw), DPA_QUIET, "this process itself has none");
	p->door = &door;
	cr_expect_eq(dpa_unquiet(hw), DPA_UNQUIET_PEER);
	p->sock2 = 5;
	cr_expect_eq(dpa_unquiet(hw), DPA_QUIET);
	p->sock2 = -1;
	p->pidfd = 5;
	cr_expect_eq(dpa_unquiet(hw), DPA_QUIET);
	p->pidfd = -1;
	atomic_store(&p->state, DPA_PEER_DEAD);
	cr_expect_eq(dpa_unquiet(hw), DPA_QUIET);
	atomic_store(&p->state, DPA_PEER_UP);
	p->door = hw->door;
	atomic_store(&hw->live.suspects, 1);
	cr_expect_eq(dpa_unquiet(hw), DPA_UNQUIET_PEER);
}

/* --------------------------------------------------------------- threads */

enum { POSTERS = 2, POSTS = 3000 };

static _Atomic uint32_t posts, ended;

/* As dpa_requester_run(): it writes, then reads the word, without a fence in between. */
static void *poster(void *arg)
{
	for (int i = 0; i < POSTS; i++) {
		atomic_fetch_add_explicit(&posts, 1, memory_order_relaxed);
		dpa_stir(hw);
		if (i % 16 == 0)
			sched_yield();
	}
	atomic_fetch_add_explicit(&ended, 1, memory_order_relaxed);
	dpa_stir(hw);
	return arg;
}

/* Stores that other threads made before are visible after it, as after half a second. */
static void half_a_second(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* Sleeps without limit where the thread would sleep for more than half a second. */
static void sleep_as_told(uint64_t ns)
{
	struct pollfd p = {.fd = hw->fd.epoll, .events = POLLIN};

	if (ns <= TICK)
		half_a_second();
	else
		cr_assert_eq(poll(&p, 1, -1), 1);
	hw->tick.woken = eventfd_read(hw->fd.wake, &(eventfd_t){0}) == 0;
}

/* A missed post, or the end of the posters, is a sleep that never ends. */
Test(quiet, no_post_is_missed)
{
	pthread_t t[POSTERS];
	uint32_t seen = 0;

	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	for (int i = 0; i < POSTERS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, poster, NULL), 0);
	do {
		const uint32_t n = atomic_load_explicit(&posts, memory_order_relaxed);

		hw->tick.moved = n != seen; /* a tick */
		seen = n;
		sleep_as_told(dpa_quiet_wait(hw));
	} while (atomic_load_explicit(&ended, memory_order_relaxed) < POSTERS);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(atomic_load(&posts), POSTERS * POSTS);
}
