/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_rest.c - quiesce: while one thread requests it the device's own threads store nothing; a
 * sleeping thread counts as quiescent.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <unistd.h>
#include "util/rest.h"

uint32_t dpa_spin_pauses = 200;

static _Atomic bool over, still;
static _Atomic uint32_t stores, wrong, slept;

static void *busy(void *arg)
{
	(void)arg;
	dpa_own_begin();
	for (uint32_t i = 0; !atomic_load(&over); i++) {
		dpa_own_rest();
		atomic_fetch_add(&wrong, atomic_load(&still));
		atomic_fetch_add(&stores, 1);
		if (i % 64)
			continue;
		dpa_own_sleeps();
		usleep(50);
		dpa_own_woke();
		atomic_fetch_add(&wrong, atomic_load(&still));
		atomic_fetch_add(&slept, 1);
	}
	dpa_own_end();
	return NULL;
}

/*
 * Count the threads. One that is about to begin may have lost its processor: then it is not visible
 * for a while.
 */
static uint32_t threads(void)
{
	uint32_t n;

	do
		n = dpa_own_threads();
	while (n == UINT32_MAX);
	return n;
}

Test(rest, nobody_stores_meanwhile, .timeout = 60)
{
	pthread_t t[3];
	uint32_t rounds = 0;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(dpa_own_start(&t[i], busy, NULL), 0);
	cr_expect_eq(threads(), 3u, "those that are about to begin are waited for");
	while (rounds < 1000) {
		uint32_t was;

		if (!dpa_rest_begin())
			continue;
		atomic_store(&still, true);
		was = atomic_load(&stores);
		for (int k = 0; k < 50; k++)
			dpa_pause();
		cr_assert_eq(atomic_load(&stores), was);
		atomic_store(&still, false);
		dpa_rest_end();
		rounds++;
	}
	atomic_store(&over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(atomic_load(&wrong), 0u);
	cr_expect_gt(atomic_load(&slept), 0u);
	cr_expect_eq(threads(), 0u);
	cr_expect(dpa_rest_begin(), "there is nobody");
	cr_expect_not(dpa_rest_begin(), "one at a time");
	dpa_rest_end();
}

static void *deaf(void *arg)
{
	dpa_own_begin();
	while (!atomic_load(&over))
		usleep(100);
	dpa_own_end();
	return arg;
}

Test(rest, the_wait_for_a_busy_thread_is_bounded)
{
	pthread_t t;

	cr_assert_eq(dpa_own_start(&t, deaf, NULL), 0);
	cr_expect_eq(threads(), 1u);
	cr_expect_not(dpa_rest_begin());
	cr_expect_eq(atomic_load(&dpa_rest_wanted), 0u);
	atomic_store(&over, true);
	pthread_join(t, NULL);
}
