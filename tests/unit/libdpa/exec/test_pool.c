/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pool.c - the pool alone: tokens, queues, threads; loads in which a lost wake-up would be a
 * hang.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <criterion/criterion.h>
#include "libdpa/eu/pool_int.h"

TestSuite(pool, .timeout = 100);

static uint32_t fake_eus = 2;

static int open_nothing(void *arg, void **dev, uint32_t *num_eus)
{
	*dev = NULL;
	*num_eus = fake_eus;
	return 0;
}

static int no_progress(void *dev)
{
	return 0;
}

static void no_idle(void *dev)
{
}

static const struct dpa_pool_ops no_device = {
	.open = open_nothing,
	.progress = no_progress,
	.idle = no_idle,
	.close = no_idle,
};

struct job {
	struct dpa_work work;
	_Atomic uint32_t runs, busy;
	_Atomic uint32_t left; /* number of times that it dispatches itself again */
};

static _Atomic uint32_t on_eu[DPA_EU_MAX], errors, total;

static void run_job(struct dpa_work *work)
{
	struct job *j = (struct job *)work;
	struct dpal_eu *me = dpal_eu_self;

	if (!me->shared && atomic_fetch_add(&on_eu[me->id], 1))
		atomic_fetch_add(&errors, 1); /* two works on one EU */
	if (j->work.pin >= 0 && me->id != j->work.pin)
		atomic_fetch_add(&errors, 1);
	if (j->work.eus && !(j->work.eus[0] >> me->id & 1))
		atomic_fetch_add(&errors, 1);
	atomic_fetch_add(&j->runs, 1);
	if (atomic_load(&j->runs) % 16 == 0)
		sched_yield();
	if (!me->shared)
		atomic_fetch_sub(&on_eu[me->id], 1);
	if (atomic_load(&j->left)) {
		atomic_fetch_sub(&j->left, 1);
		dpa_pool_dispatch(work);
		return;
	}
	atomic_fetch_add(&total, 1);
	atomic_store(&j->busy, 0);
}

#define JOBS 12
static struct job jobs[JOBS];

/* Dispatch works that are not busy, `runs` times in all. */
static void *dispatcher(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	for (int i = 0; i < 3000;) {
		struct job *j = &jobs[(unsigned int)rand_r(&seed) % JOBS];

		if (atomic_exchange(&j->busy, 1)) {
			sched_yield();
			continue;
		}
		atomic_store(&j->left, i % 3);
		if (rand_r(&seed) % 2)
			dpa_pool_stir();
		dpa_pool_dispatch(&j->work);
		i++;
	}
	return NULL;
}

static void load(uint32_t eus)
{
	static const uint64_t only_last[4] = {2};
	pthread_t t[2];

	fake_eus = eus;
	cr_assert_eq(dpa_pool_get(&no_device, NULL), 0);
	cr_assert_eq(dpa_pool.num_eus, eus);
	cr_assert_eq(dpa_pool_reserve(JOBS), 0);
	for (int i = 0; i < JOBS; i++) {
		dpa_work_init(&jobs[i].work, run_job);
		if (i % 4 == 1) {
			jobs[i].work.pin = i / 4 % (int)eus;
			dpa_pool_pin((uint32_t)jobs[i].work.pin);
		}
		jobs[i].work.urgent = i % 4 == 2;
		if (i % 4 == 3 && eus > 1)
			jobs[i].work.eus = only_last;
	}
	for (uintptr_t i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, dispatcher, (void *)(i + 1)), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < JOBS; i++)
		while (atomic_load(&jobs[i].busy))
			sched_yield();
	cr_assert_eq(atomic_load(&errors), 0u);
	cr_assert_eq(atomic_load(&total), 6000u);
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].work.pin >= 0)
			dpa_pool_unpin((uint32_t)jobs[i].work.pin);
	dpa_pool_unreserve(JOBS);
	dpa_pool_put();
}

Test(pool, one_eu_for_all)
{
	load(1);
}

Test(pool, fewer_eus_than_work)
{
	load(3);
}

Test(pool, more_eus_than_work)
{
	load(64);
}

static void is_awake(struct dpal_eu *eu, void *arg)
{
	if (!atomic_load(&eu->asleep))
		*(bool *)arg = true;
}

static void await_sleep(void)
{
	bool awake;

	do {
		sched_yield();
		awake = false;
		dpa_pool_each(is_awake, &awake);
	} while (awake);
}

/* Stirred without work it sleeps again, and still accepts work. */
Test(pool, a_stir_without_work)
{
	struct job j;

	fake_eus = 1;
	cr_assert_eq(dpa_pool_get(&no_device, NULL), 0);
	cr_assert_eq(dpa_pool_reserve(1), 0);
	dpa_work_init(&j.work, run_job);
	for (uint32_t i = 1; i <= 50; i++) {
		dpa_pool_stir();
		await_sleep();
		atomic_store(&j.busy, 1);
		atomic_store(&j.left, 0);
		dpa_pool_dispatch(&j.work);
		while (atomic_load(&j.busy))
			sched_yield();
	}
	dpa_pool_unreserve(1);
	dpa_pool_put();
}

static _Atomic uint32_t held, go;

static void hold(struct dpa_work *work)
{
	atomic_fetch_add(&held, 1);
	while (!atomic_load(&go))
		sched_yield();
	atomic_fetch_sub(&held, 1);
}

Test(pool, what_waits_can_be_taken_back)
{
	struct job waits;
	struct dpa_work h;

	fake_eus = 1;
	cr_assert_eq(dpa_pool_get(&no_device, NULL), 0);
	cr_assert_eq(dpa_pool_reserve(2), 0);
	dpa_work_init(&h, hold);
	dpa_work_init(&waits.work, run_job);
	atomic_init(&waits.runs, 0);
	cr_assert_not(dpa_pool_cancel(&waits.work));
	dpa_pool_dispatch(&h);
	while (!atomic_load(&held))
		sched_yield();
	cr_assert_not(dpa_pool_cancel(&h), "it runs");
	dpa_pool_dispatch(&waits.work);
	cr_assert(dpa_pool_cancel(&waits.work));
	cr_assert_not(dpa_pool_cancel(&waits.work));
	atomic_store(&go, 1);
	dpa_pool_unreserve(2);
	dpa_pool_put(); /* waits for the holder */
	cr_assert_eq(atomic_load(&waits.runs), 0u);
}

Test(pool, reservations_have_a_limit)
{
	cr_assert_eq(dpa_pool_get(&no_device, NULL), 0);
	cr_assert_eq(dpa_pool_reserve(DPA_EU_THREADS + 1), EAGAIN);
	cr_assert_eq(dpa_pool_reserve(1), 0);
	cr_assert_eq(atomic_load(&dpa_pool.num_threads), 1u);
	dpa_pool_unreserve(1);
	cr_assert_eq(dpa_pool_reserve(1), 0);
	cr_assert_eq(atomic_load(&dpa_pool.num_threads), 1u, "the same thread again");
	dpa_pool_unreserve(1);
	dpa_pool_put();
	cr_assert_eq(atomic_load(&dpa_pool.num_threads), 0u);
}
