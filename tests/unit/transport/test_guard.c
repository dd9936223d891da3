/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_guard.c - guards: an access under a guard is made while the guard holds, or not at all. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
#include "ctx/qp.h"
#include "harness.h"
#include "direct/direct.h"

Test(transport_guard, a_guard_that_does_not_hold_lets_nothing_be_touched)
{
	_Atomic uint64_t grant = 5;
	_Atomic uint32_t gen = 7;
	uint64_t to = 1, from = 2;
	struct iovec iov = {&from, 8};
	_Atomic uint64_t conn = 11;
	struct dpa_guard ok = {&grant, 5, &gen, 7, 0, &conn, 11}, g;

	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	for (int i = 0; i < 4; i++) {
		ok.alive = dpa_guard_ticks();
		g = ok;
		if (i == 0)
			g.grant_was = 6 | 5ull << 32;
		else if (i == 1)
			g.gen_was = 8;
		else if (i == 2)
			g.conn_was = 12 | 11ull << 32;
		else
			g.alive -= DPA_ALIVE_TICKS + 1;
		cr_expect_eq(dpa_guard_copy(&g, true, getpid(), &iov, 1, (uintptr_t)&to, 8),
			     ESTALE);
		cr_expect_eq(to, 1u);
	}
	ok.alive = dpa_guard_ticks();
	cr_expect_eq(dpa_guard_copy(&ok, true, getpid(), &iov, 1, (uintptr_t)&to, 8), 0);
	cr_expect_eq(to, 2u);
	to = 9;
	ok.alive = dpa_guard_ticks();
	cr_expect_eq(dpa_guard_copy(&ok, false, getpid(), &iov, 1, (uintptr_t)&to, 8), 0);
	cr_expect_eq(from, 9u);
	ok.alive = dpa_guard_ticks();
	cr_expect_eq(dpa_guard_copy(&ok, true, getpid(), &iov, 1, 8, 8), EFAULT);
}

static const _Atomic uint64_t stays = 3;

static struct dpa_guard holds(const _Atomic uint64_t *grant, const _Atomic uint32_t *gen)
{
	return (struct dpa_guard){
		grant, atomic_load(grant), gen, atomic_load(gen), dpa_guard_ticks(), &stays, 3};
}

/* At any alignment: exactly these bytes are moved. */
Test(transport_guard, a_guarded_move_moves_what_it_is_to)
{
	_Atomic uint64_t grant = 5;
	_Atomic uint32_t gen = 7;
	uint8_t from[160], to[160], want[160];

	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	th_fill(from, sizeof(from), 1);
	for (uint32_t n = 0; n < 64; n++)
		for (uint32_t a = 0; a < 64; a++) {
			uint32_t at = 8 + a % 8, src = 8 + a / 8;
			bool write = (n + a) % 2;
			int ret;

			memset(to, 0xee, sizeof(to));
			memset(want, 0xee, sizeof(want));
			memcpy(want + at, from + src, n);
			do { /* repeat if the guard expired: the processor was taken away */
				struct dpa_guard g = holds(&grant, &gen);

				/* the mapped side is the one that is written to, or read */
				ret = write ? dpa_guard_move(&g, true, to + at, from + src, n)
					    : dpa_guard_move(&g, false, from + src, to + at, n);
			} while (ret == ESTALE);
			cr_assert_eq(ret, 0);
			cr_assert(!memcmp(to, want, sizeof(to)), "%u bytes, %u to %u", n, src, at);
		}
}

/* More than one segment, and its surroundings. */
Test(transport_guard, long_ones)
{
	static const uint32_t lens[] = {511,  512,  513,   519,	  520,	 639,	640,  641,
					1023, 4095, 32767, 32768, 32769, 65535, 70001};
	static uint8_t from[70100], to[70100], want[70100];
	_Atomic uint64_t grant = 5;
	_Atomic uint32_t gen = 7;

	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	th_fill(from, sizeof(from), 2);
	for (uint32_t i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++)
		for (uint32_t at = 8; at < 72; at += 1 + at / 16) {
			uint32_t n = lens[i / 2], src = 8 + (at + i) % 9;
			int ret;

			memset(to, 0xee, sizeof(to));
			memset(want, 0xee, sizeof(want));
			memcpy(want + at, from + src, n);
			do {
				struct dpa_guard g = holds(&grant, &gen);

				ret = i % 2 ? dpa_guard_move(&g, true, to + at, from + src, n)
					    : dpa_guard_move(&g, false, from + src, to + at, n);
			} while (ret == ESTALE);
			cr_assert_eq(ret, 0);
			cr_assert(!memcmp(to, want, sizeof(to)), "%u bytes, %u to %u", n, src, at);
		}
}

Test(transport_guard, a_guard_that_does_not_hold_moves_nothing)
{
	_Atomic uint64_t grant = 5;
	_Atomic uint32_t gen = 7;
	uint64_t to = 1, from = 2, old = 3, compare = 1;

	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	for (int i = 0; i < 2; i++) {
		struct dpa_guard g = holds(&grant, &gen);

		g.grant_was += i == 0;
		g.gen_was += i == 1;
		cr_expect_eq(dpa_guard_move(&g, true, &to, &from, 8), ESTALE);
		cr_expect_eq(dpa_guard_move(&g, false, &from, &to, 8), ESTALE);
		cr_expect_eq(dpa_guard_atomic(&g, &to, NULL, 5, &old), ESTALE);
		cr_expect_eq(dpa_guard_atomic(&g, &to, &compare, 5, &old), ESTALE);
		cr_expect_eq(to, 1u);
	}
	struct dpa_guard g = holds(&grant, &gen);

	g.alive = 0; /* no pid is set */
	cr_expect_eq(dpa_guard_atomic(&g, &to, NULL, 5, &old), 0);
	cr_expect(to == 6 && old == 1);
	cr_expect_eq(dpa_guard_atomic(&g, &to, &compare, 9, &old), 0);
	cr_expect(to == 6 && old == 6, "it was not %lu", (unsigned long)compare);
	compare = 6;
	cr_expect_eq(dpa_guard_atomic(&g, &to, &compare, 9, &old), 0);
	cr_expect(to == 9 && old == 6);
}

static _Atomic uint32_t ticks;

static void on_tick(int sig)
{
	(void)sig;
	atomic_fetch_add(&ticks, 1);
}

/* A sequence that is interrupted begins again; each addition happened once. */
Test(transport_guard, interrupted_sequences, .timeout = 60)
{
	const size_t n = 1 << 18;
	struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	_Atomic uint64_t grant = 5;
	_Atomic uint32_t gen = 7;
	uint8_t *from = malloc(n), *to = malloc(n);
	uint64_t sum = 0, old, adds = 0;

	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	cr_assert(from && to);
	signal(SIGALRM, on_tick);
	cr_assert_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (uint32_t i = 0; i < 100 || (atomic_load(&ticks) < 300 && i < 5000); i++) {
		struct dpa_guard g = holds(&grant, &gen);

		th_fill(from, n, i);
		g.alive = dpa_guard_ticks();
		while (dpa_guard_move(&g, i % 2, i % 2 ? to : from, i % 2 ? from : to, n) == ESTALE)
			g.alive = dpa_guard_ticks();
		cr_assert(th_check(to, n, i), "round %u", i);
		for (int k = 0; k < 1000; k++) {
			g.alive = dpa_guard_ticks();
			if (!dpa_guard_atomic(&g, &sum, NULL, 1, &old))
				cr_assert_eq(old, adds++);
		}
	}
	cr_assert_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	cr_expect_eq(sum, adds);
	free(from);
	free(to);
}
