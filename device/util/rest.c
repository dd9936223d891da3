/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <signal.h>
#include <time.h>
#include "rest.h"

/* a thread in the middle of its work may have lost its processor */
#define PATIENCE_NS 5000000ll

_Atomic uint32_t dpa_rest_wanted;
static _Atomic uint32_t born, own, resting;

static void add_count(_Atomic uint32_t *what, int n)
{
	atomic_fetch_add_explicit(what, (uint32_t)n, memory_order_seq_cst);
}

static uint32_t read_count(_Atomic uint32_t *what)
{
	return atomic_load_explicit(what, memory_order_seq_cst);
}

int dpa_own_start(pthread_t *thread, void *(*body)(void *), void *arg)
{
	sigset_t all, old;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	add_count(&born, 1);
	ret = pthread_create(thread, NULL, body, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		add_count(&born, -1);
	return ret;
}

void dpa_own_begin(void)
{
	add_count(&own, 1);
	add_count(&born, -1);
	dpa_own_rest_now();
}

void dpa_own_end(void)
{
	add_count(&own, -1);
}

void dpa_own_sleeps(void)
{
	add_count(&resting, 1);
}

void dpa_own_woke(void)
{
	uint32_t n = 0;

	for (;;) {
		add_count(&resting, -1);
		if (dpa_likely(!read_count(&dpa_rest_wanted)))
			return;
		add_count(&resting, 1);
		while (read_count(&dpa_rest_wanted))
			dpa_relax(&n);
	}
}

void dpa_own_rest_now(void)
{
	dpa_own_sleeps();
	dpa_own_woke();
}

static int64_t rest_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* False: the time is over. */
static bool wait_until_equal(_Atomic uint32_t *a, _Atomic uint32_t *b)
{
	int64_t end = rest_now_ns() + PATIENCE_NS;
	uint32_t n = 0;

	while (read_count(a) != (b ? read_count(b) : 0)) {
		dpa_relax(&n);
		if (n % 256 == 0 && rest_now_ns() > end)
			return false;
	}
	return true;
}

uint32_t dpa_own_threads(void)
{
	return wait_until_equal(&born, NULL) ? read_count(&own) : UINT32_MAX;
}

bool dpa_rest_begin(void)
{
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong_explicit(&dpa_rest_wanted, &none, 1,
						     memory_order_seq_cst, memory_order_relaxed))
		return false;
	if (wait_until_equal(&born, NULL) && wait_until_equal(&resting, &own))
		return true;
	dpa_rest_end();
	return false;
}

void dpa_rest_end(void)
{
	atomic_store_explicit(&dpa_rest_wanted, 0, memory_order_seq_cst);
}

void dpa_rest_reset(void)
{
	atomic_store_explicit(&dpa_rest_wanted, 0, memory_order_relaxed);
	atomic_store_explicit(&born, 0, memory_order_relaxed);
	atomic_store_explicit(&own, 0, memory_order_relaxed);
	atomic_store_explicit(&resting, 0, memory_order_relaxed);
}
