/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_sched.c - SPIN, ASSIST or SLEEP: the decisions, under a clock of the test. */
#include <criterion/criterion.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include "ctx/thread.h"
#include "eu/sched.h"
#include "link/udp/udp.h"
#include "harness.h"

static struct th *th;
static struct dpa_hw *hw;

static void begin(void)
{
	th = th_new(&(struct th_opt){0});
	hw = th->hw;
}

static void end(void)
{
	if (dpa_udp_fd(hw->udp) >= 0)
		close(dpa_udp_fd(hw->udp));
	th_free(th);
}

TestSuite(sched, .init = begin, .fini = end, .timeout = 30);

static void open_socket(void)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	cr_assert_geq(fd, 0);
	atomic_store(&hw->udp->fd, fd);
}

/*
 * Return the ns of passes without packets until the progress thread sleeps; each advances the clock
 * by 1 us.
 */
static uint64_t spins_for(struct dpa_spin *s)
{
	uint64_t from = th_now;

	while (dpa_sched_service(hw, s, 0) == DPA_SPIN)
		th_now += 1000;
	return th_now - from;
}

Test(sched, the_progress_thread_spins_on_rings_for_a_number_of_passes)
{
	struct dpa_spin s = {0};
	uint32_t n = 1;

	while (dpa_sched_service(hw, &s, 0) == DPA_SPIN)
		n++;
	cr_expect_eq(n, DPA_SPIN_PASSES);
	cr_expect_eq(dpa_sched_service(hw, &s, 1), DPA_SPIN, "packets begin it anew");
	cr_expect_eq(dpa_sched_service(hw, &s, 0), DPA_SPIN);
}

Test(sched, it_spins_on_a_socket_for_a_time_and_longer_behind_packets)
{
	struct dpa_spin s = {0};

	open_socket();
	cr_expect_eq(spins_for(&s), DPA_SPIN_WIRE_NS);
	cr_expect_eq(dpa_sched_service(hw, &s, 20), DPA_SPIN);
	cr_expect_eq(spins_for(&s), DPA_SPIN_WIRE_NS + 20 * DPA_SPIN_PACKET_NS);
	for (int i = 0; i < 1000; i++)
		dpa_sched_service(hw, &s, 2);
	cr_expect_eq(spins_for(&s), DPA_SPIN_STREAM_NS);
	atomic_store(&hw->app_polled, dpa_here());
	dpa_sched_service(hw, &s, 2);
	cr_expect_eq(spins_for(&s), DPA_SPIN_WIRE_NS, "not longer beside a poller");
}

Test(sched, endless_work_goes_to_a_poller_of_the_same_core)
{
	struct dpa_spin s = {0};
	uint32_t n = 1;

	open_socket();
	for (uint32_t i = 0; i < 2 * DPA_SPIN_HANDOVER; i++)
		cr_expect_eq(dpa_sched_service(hw, &s, 1), DPA_SPIN, "no thread polls");
	do
		atomic_store(&hw->app_polled, dpa_here());
	while (dpa_sched_service(hw, &s, 1) == DPA_SPIN && ++n < 1000);
	cr_expect_leq(n, 2 * DPA_SPIN_HANDOVER);
}

Test(sched, polling_is_ignored_for_longer_each_time_until_it_was_confirmed)
{
	atomic_store(&hw->app_polled, 1);
	cr_expect(dpa_sched_app_polls(hw));
	for (uint32_t n = DPA_IGNORE_MIN; n <= 2 * DPA_IGNORE_MAX; n *= 2) {
		uint32_t k = n < DPA_IGNORE_MAX ? n : DPA_IGNORE_MAX;

		dpa_sched_ignore(hw);
		while (k--) {
			cr_expect_not(dpa_sched_app_polls(hw));
			dpa_sched_ignore_less(hw);
		}
		cr_expect(dpa_sched_app_polls(hw));
		for (int i = 1; i < DPA_IGNORE_RESET; i++)
			dpa_sched_confirm(hw);
	}
	dpa_sched_confirm(hw);
	dpa_sched_ignore(hw);
	cr_expect_eq(atomic_load(&hw->polls.ignored), DPA_IGNORE_MIN);
}

Test(sched, an_eu_sleeps_after_passes_without_work)
{
	uint32_t idle = 0, n = 1;

	cr_expect_eq(dpa_sched_eu(hw, &idle, 0), DPA_SPIN);
	cr_expect_eq(dpa_sched_eu(hw, &idle, 1), DPA_SPIN);
	while (dpa_sched_eu(hw, &idle, 0) == DPA_SPIN)
		n++;
	cr_expect_eq(n, DPA_SPIN_EU_PASSES);
	cr_expect_eq(dpa_sched_eu(hw, &idle, 0), DPA_SPIN, "woken");
}

Test(sched, a_waiter_leaves_what_it_cannot_get_to_the_thread_that_is_at_it)
{
	uint32_t tries = 0;

	cr_expect_eq(dpa_sched_waiter(&tries, false), DPA_SLEEP);
	cr_expect_eq(dpa_sched_waiter(&tries, true), DPA_SPIN);
	cr_expect_eq(dpa_sched_waiter(&tries, true), DPA_SPIN);
	cr_expect_eq(dpa_sched_waiter(&tries, true), DPA_ASSIST);
	cr_expect_eq(dpa_sched_waiter(&tries, false), DPA_SLEEP);
	cr_expect_eq(dpa_sched_waiter(&tries, true), DPA_SPIN);
}

/* Each answer that comes late doubles the number of those that are not waited for by polling. */
Test(sched, a_waiter_polls_for_answers_that_come_soon)
{
	struct dpa_sched_answer a = {.skip = 0};
	uint32_t slept;

	for (int i = 0; i < 3; i++) {
		cr_expect_eq(dpa_sched_answer_begin(&a, 1000), 1000 + DPA_ANSWER_NS);
		dpa_sched_answer_end(&a, true);
	}
	for (uint32_t want = 1, i = 0; i < 10; i++) {
		cr_assert_neq(dpa_sched_answer_begin(&a, 1000), 0u);
		dpa_sched_answer_end(&a, false);
		for (slept = 0; slept < 2 * DPA_ANSWER_SKIP_MAX && a.skip; slept++)
			cr_expect_eq(dpa_sched_answer_begin(&a, 1000), 0u);
		cr_expect_eq(slept, want);
		want = 2 * want < DPA_ANSWER_SKIP_MAX ? 2 * want : DPA_ANSWER_SKIP_MAX;
	}
	cr_assert_neq(dpa_sched_answer_begin(&a, 1000), 0u);
	dpa_sched_answer_end(&a, true);
	cr_assert_neq(dpa_sched_answer_begin(&a, 1000), 0u, "one that came in time is enough");
	dpa_sched_answer_end(&a, false);
	cr_expect_eq(a.skip, (uint32_t)DPA_ANSWER_SKIP_MIN);
}

/* Polls until a yield: many while no other thread polls here, few again when one does. */
Test(sched, a_poller_yields_rarely_where_it_polls_alone)
{
	const uint32_t min = dpa_spin_pauses / DPA_YIELD, max = dpa_spin_pauses * DPA_YIELD;
	struct dpa_thread *me = &dpa_me;

	dpa_sched_idle_poll(hw, false);
	cr_expect_eq(me->yield_after, min);
	dpa_shares_cpu(hw);
	for (uint32_t n = 2 * min; n < 2 * max; n *= 2) {
		for (uint32_t i = me->yield_after; i--;)
			dpa_sched_idle_poll(hw, false);
		cr_expect_eq(me->yield_after, n < max ? n : max);
	}
	atomic_store(dpa_board_poller(hw->board, 0), 1); /* another thread has */
	for (uint32_t i = me->yield_after; i--;)
		dpa_sched_idle_poll(hw, false);
	cr_expect_eq(me->yield_after, min);
}

/* The yield comes with the first poll that may. */
Test(sched, a_poller_with_a_lock_of_the_program_does_not_yield)
{
	struct dpa_thread *me = &dpa_me;
	uint32_t after;

	dpa_sched_idle_poll(hw, false);
	after = me->yield_after;
	for (uint32_t i = 1; i <= 10 * dpa_spin_pauses * DPA_YIELD; i++) {
		dpa_sched_idle_poll(hw, true);
		cr_assert_eq(me->since_yield, i);
	}
	cr_expect_eq(me->yield_after, after);
	dpa_sched_idle_poll(hw, false);
	cr_expect_eq(me->since_yield, 0u);
}
