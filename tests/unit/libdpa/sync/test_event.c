/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_event.c - sync events from the host: life cycle, roles, errors, data, waits. */
#include "../host.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <doca_sync_event.h>
#include "libdpa/sync/sync_event.h"

TestSuite(sync_event, .timeout = 60);

static struct doca_sync_event *new_event(struct doca_dev *dev)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, dev));
	OK(doca_sync_event_add_subscriber_location_cpu(se, dev));
	return se;
}

Test(sync_event, null)
{
	struct doca_sync_event *se;
	struct doca_dev *dev = open_dpa0();
	uint64_t v, handle;
	struct doca_dpa *dpa = (struct doca_dpa *)&v;

	IS(doca_sync_event_create(NULL), INVALID_VALUE);
	IS(doca_sync_event_destroy(NULL), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_cpu(NULL, dev), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_dpa(NULL, dpa), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_remote_net(NULL), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_cpu(NULL, dev), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_dpa(NULL, dpa), INVALID_VALUE);
	IS(doca_sync_event_set_addr(NULL, &v), INVALID_VALUE);
	IS(doca_sync_event_start(NULL), INVALID_VALUE);
	IS(doca_sync_event_stop(NULL), INVALID_VALUE);
	IS(doca_sync_event_get_dpa_handle(NULL, dpa, &handle), INVALID_VALUE);
	IS(doca_sync_event_get(NULL, &v), INVALID_VALUE);
	IS(doca_sync_event_update_add(NULL, 1, &v), INVALID_VALUE);
	IS(doca_sync_event_update_set(NULL, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_gt(NULL, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_gt_yield(NULL, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_eq(NULL, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_eq_yield(NULL, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_neq(NULL, 1, 1), INVALID_VALUE);
	IS(doca_sync_event_wait_neq_yield(NULL, 1, 1), INVALID_VALUE);
	se = new_event(dev);
	IS(doca_sync_event_add_publisher_location_cpu(se, NULL), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_dpa(se, NULL), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_cpu(se, NULL), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_dpa(se, NULL), INVALID_VALUE);
	IS(doca_sync_event_set_addr(se, NULL), INVALID_VALUE);
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_get(se, NULL), INVALID_VALUE);
	IS(doca_sync_event_update_add(se, 1, NULL), INVALID_VALUE);
	IS(doca_sync_event_get_dpa_handle(se, NULL, &handle), INVALID_VALUE);
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

Test(sync_event, states)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se = new_event(dev);
	uint64_t v = 0;

	IS(doca_sync_event_stop(se), INVALID_VALUE);
	IS(doca_sync_event_get(se, &v), INVALID_VALUE);
	IS(doca_sync_event_update_set(se, 1), INVALID_VALUE);
	IS(doca_sync_event_update_add(se, 1, &v), INVALID_VALUE);
	IS(doca_sync_event_wait_gt(se, 0, 1), INVALID_VALUE);
	IS(doca_sync_event_set_addr(se, (uint64_t *)((char *)&v + 4)), INVALID_VALUE);
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_start(se), INVALID_VALUE);
	IS(doca_sync_event_set_addr(se, &v), BAD_STATE);
	IS(doca_sync_event_add_publisher_location_cpu(se, dev), INVALID_VALUE);
	IS(doca_sync_event_add_publisher_location_remote_net(se), INVALID_VALUE);
	IS(doca_sync_event_add_subscriber_location_cpu(se, dev), INVALID_VALUE);
	OK(doca_sync_event_update_set(se, 5));
	OK(doca_sync_event_stop(se));
	IS(doca_sync_event_get(se, &v), INVALID_VALUE);
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_get(se, &v));
	cr_assert_eq(v, 5u, "a stop keeps the value");
	IS(doca_dev_close(dev), IN_USE);
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

Test(sync_event, both_sides_are_needed)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	IS(doca_sync_event_start(se), INVALID_VALUE);
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	IS(doca_sync_event_start(se), INVALID_VALUE);
	OK(doca_sync_event_add_subscriber_location_cpu(se, dev));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_destroy(se));
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_subscriber_location_cpu(se, dev));
	IS(doca_sync_event_start(se), INVALID_VALUE);
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

Test(sync_event, values)
{
	struct doca_dev *dev = open_dpa0();
	uint64_t word = 40, v;

	for (int own = 0; own < 2; own++) {
		struct doca_sync_event *se = new_event(dev);

		if (!own)
			OK(doca_sync_event_set_addr(se, &word));
		OK(doca_sync_event_start(se));
		OK(doca_sync_event_get(se, &v));
		cr_assert_eq(v, own ? 0u : 40u);
		OK(doca_sync_event_update_add(se, 2, &v));
		cr_assert_eq(v, own ? 0u : 40u);
		OK(doca_sync_event_get(se, &v));
		cr_assert_eq(v, own ? 2u : 42u);
		OK(doca_sync_event_update_set(se, ~0ull));
		OK(doca_sync_event_update_add(se, 2, &v));
		OK(doca_sync_event_get(se, &v));
		cr_assert_eq(v, 1u, "modulo 2^64");
		OK(doca_sync_event_destroy(se));
		cr_assert_eq(word, own ? 1u : word);
	}
	OK(doca_dev_close(dev));
}

Test(sync_event, waits_that_hold_return)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se = new_event(dev);

	OK(doca_sync_event_start(se));
	OK(doca_sync_event_update_set(se, 0x1234));
	OK(doca_sync_event_wait_gt(se, 0x1233, ~0ull));
	OK(doca_sync_event_wait_gt_yield(se, 0x33, 0xff));
	OK(doca_sync_event_wait_eq(se, 0x1200, 0xff00));
	OK(doca_sync_event_wait_eq_yield(se, 0x1234, ~0ull));
	OK(doca_sync_event_wait_neq(se, 0x1234, 0xff));
	OK(doca_sync_event_wait_neq_yield(se, 1, ~0ull));
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

typedef doca_error_t wait_fn(struct doca_sync_event *, uint64_t, uint64_t);

struct waiter {
	struct doca_sync_event *se;
	wait_fn *fn;
	uint64_t value;
	_Atomic int done;
};

static void *wait_there(void *arg)
{
	struct waiter *w = arg;

	cr_assert_eq(w->fn(w->se, w->value, 0xff), DOCA_SUCCESS);
	atomic_store(&w->done, 1);
	return NULL;
}

/* Each waiter is woken by a call, or by a plain store; awake, or asleep by then. */
Test(sync_event, waits_end_with_the_update_and_not_before)
{
	static const struct {
		wait_fn *fn;
		uint64_t value, wrong, right;
	} t[] = {
		{doca_sync_event_wait_gt, 4, 0x304, 5},
		{doca_sync_event_wait_gt_yield, 4, 4, 5},
		{doca_sync_event_wait_eq, 4, 5, 0x104},
		{doca_sync_event_wait_eq_yield, 4, 5, 4},
		{doca_sync_event_wait_neq, 0, 0x300, 1},
		{doca_sync_event_wait_neq_yield, 0, 0x300, 1},
	};
	struct doca_dev *dev = open_dpa0();

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]) * 4; i++) {
		size_t k = i / 4;
		bool polled = i & 1, sleeps = i & 2;
		struct waiter w = {.se = new_event(dev), .fn = t[k].fn, .value = t[k].value};
		uint64_t word = 0;
		pthread_t th;

		if (polled)
			OK(doca_sync_event_set_addr(w.se, &word));
		OK(doca_sync_event_start(w.se));
		pthread_create(&th, NULL, wait_there, &w);
		if (sleeps)
			usleep(20000);
		if (polled)
			__atomic_store_n(&word, t[k].wrong, __ATOMIC_RELEASE);
		else
			OK(doca_sync_event_update_set(w.se, t[k].wrong));
		for (int n = 0; n < 50; n++)
			sched_yield();
		cr_assert_not(atomic_load(&w.done));
		if (polled)
			__atomic_store_n(&word, t[k].right, __ATOMIC_RELEASE);
		else
			OK(doca_sync_event_update_set(w.se, t[k].right));
		pthread_join(th, NULL);
		cr_assert(atomic_load(&w.done));
		OK(doca_sync_event_destroy(w.se));
	}
	OK(doca_dev_close(dev));
}

static void *add_thousand(void *arg)
{
	uint64_t v;

	for (int i = 0; i < 1000; i++)
		OK(doca_sync_event_update_add(arg, 1, &v));
	return NULL;
}

Test(sync_event, threads_add_without_loss)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se = new_event(dev);
	pthread_t t[4];

	OK(doca_sync_event_start(se));
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, add_thousand, se);
	OK(doca_sync_event_wait_gt(se, 3999, ~0ull));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

Test(sync_event, dpa_handles)
{
	struct doca_sync_event *se;
	struct doca_dpa *other;
	uint64_t h1 = 0, h2 = 0;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_create(r.dev, &other));
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_dpa(se, r.dpa));
	OK(doca_sync_event_add_publisher_location_dpa(se, r.dpa));
	OK(doca_sync_event_add_subscriber_location_cpu(se, r.dev));
	IS(doca_sync_event_get_dpa_handle(se, r.dpa, &h1), INVALID_VALUE);
	OK(doca_sync_event_start(se));
	IS(doca_sync_event_get_dpa_handle(se, r.dpa, NULL), INVALID_VALUE);
	IS(doca_sync_event_get_dpa_handle(se, other, &h1), NOT_SUPPORTED);
	OK(doca_sync_event_get_dpa_handle(se, r.dpa, &h1));
	OK(doca_sync_event_get_dpa_handle(se, r.dpa, &h2));
	cr_assert_neq(h1, 0u);
	cr_assert_eq(h1, h2, "one handle a context");
	cr_assert(dpa_se_usable(se, r.dpa, DPA_SE_PUBLISHER));
	cr_assert_not(dpa_se_usable(se, r.dpa, DPA_SE_SUBSCRIBER));
	cr_assert_not(dpa_se_usable(se, other, DPA_SE_PUBLISHER));
	cr_assert_not(dpa_se_usable(NULL, r.dpa, DPA_SE_PUBLISHER));
	OK(doca_sync_event_stop(se));
	cr_assert_not(dpa_se_usable(se, r.dpa, DPA_SE_PUBLISHER));
	OK(doca_sync_event_add_subscriber_location_dpa(se, other));
	OK(doca_sync_event_start(se));
	cr_assert(dpa_se_usable(se, other, DPA_SE_SUBSCRIBER));
	IS(doca_sync_event_get_dpa_handle(se, other, &h2), INVALID_VALUE);
	OK(doca_sync_event_get_dpa_handle(se, r.dpa, &h2));
	cr_assert_neq(h1, h2, "the old one is no longer valid");
	OK(doca_dpa_destroy(other));
	OK(doca_dpa_destroy(r.dpa)); /* before the event that uses it */
	IS(doca_sync_event_get_dpa_handle(se, r.dpa, &h2), INVALID_VALUE);
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(r.dev));
}

Test(sync_event, nine_contexts_are_too_many_for_a_side)
{
	struct doca_dpa *dpa[DPA_SE_MAX_DPA + 1];
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	for (int i = 0; i <= DPA_SE_MAX_DPA; i++) {
		OK(doca_dpa_create(dev, &dpa[i]));
		if (i < DPA_SE_MAX_DPA)
			OK(doca_sync_event_add_subscriber_location_dpa(se, dpa[i]));
	}
	IS(doca_sync_event_add_subscriber_location_dpa(se, dpa[DPA_SE_MAX_DPA]), INVALID_VALUE);
	OK(doca_sync_event_add_subscriber_location_dpa(se, dpa[0]));
	for (int i = 0; i <= DPA_SE_MAX_DPA; i++)
		OK(doca_dpa_destroy(dpa[i]));
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

/* DOCA: doca_sync_event_get_dpa_handle NO_MEMORY */
Test(sync_event, handles_run_out)
{
	enum { MANY = 5000 };
	static struct doca_sync_event *se[MANY];
	doca_error_t ret = DOCA_SUCCESS;
	uint64_t handle;
	struct rig r;
	int n = 0;

	rig_start(&r);
	while (n < MANY && !ret) {
		OK(doca_sync_event_create(&se[n]));
		OK(doca_sync_event_add_publisher_location_dpa(se[n], r.dpa));
		OK(doca_sync_event_add_subscriber_location_cpu(se[n], r.dev));
		OK(doca_sync_event_start(se[n]));
		ret = doca_sync_event_get_dpa_handle(se[n++], r.dpa, &handle);
	}
	cr_assert_eq(ret, DOCA_ERROR_NO_MEMORY);
	while (n)
		OK(doca_sync_event_destroy(se[--n]));
	rig_destroy(&r);
}
