/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_activation.c - the state machine of libdpa/eu/activation.h, step by step and under load. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include "libdpa/eu/activation.h"
#include "libdpa/eu/pool.h"

/* A source that consists of counters and simulated hardware. */
struct counter {
	struct dpa_source src;
	_Atomic uint32_t written, read;
	pthread_mutex_t lock;
	bool hw_armed;
	int armings;
};

static struct counter *of(struct dpa_source *src)
{
	return (struct counter *)src;
}

static bool unread(struct dpa_source *src)
{
	return atomic_load(&of(src)->written) != atomic_load(&of(src)->read);
}

static void arm(struct dpa_source *src)
{
	struct counter *c = of(src);

	pthread_mutex_lock(&c->lock);
	c->hw_armed = true;
	c->armings++;
	pthread_mutex_unlock(&c->lock);
}

static void counter_init(struct counter *c)
{
	*c = (struct counter){.src = {.unread = unread, .arm = arm}};
	pthread_mutex_init(&c->lock, NULL);
}

static void put(struct counter *c)
{
	pthread_mutex_lock(&c->lock);
	atomic_fetch_add(&c->written, 1);
	if (c->hw_armed) {
		c->hw_armed = false;
		dpa_source_event(&c->src);
	}
	pthread_mutex_unlock(&c->lock);
}

/* ------------------------------------------------------------ step by step */

static struct dpa_act act;
static struct counter c;
static int dispatched, ran;
static void (*body)(void);
static enum dpa_act_end how;

static void count_dispatch(struct dpa_act *a)
{
	dispatched++;
}

static enum dpa_act_end run_body(struct dpa_act *a)
{
	ran++;
	if (body)
		body();
	return how;
}

static void take(void)
{
	atomic_fetch_add(&c.read, 1);
}

static void take_and_request(void)
{
	take();
	dpa_source_request(&c.src, true);
}

static void request_and_take(void)
{
	dpa_source_request(&c.src, true);
	take();
}

static void set_up(void)
{
	dpa_act_init(&act);
	act.dispatch = count_dispatch;
	act.run = run_body;
	counter_init(&c);
	dpa_act_start(&act);
	dpa_act_attach(&act, &c.src);
	how = DPA_END_RESCHEDULE;
}

/* Run dispatched work, and work that this dispatches; return the number of activations. */
static int settle(void)
{
	int before = ran;

	for (; dispatched; dispatched--)
		dpa_act_execute(&act);
	return ran - before;
}

TestSuite(activation, .init = set_up, .timeout = 60);

Test(activation, latches_before_run_and_coalesces)
{
	put(&c);
	put(&c);
	dpa_act_notify(&act);
	cr_assert_eq(dispatched, 0);
	dpa_act_set_running(&act);
	cr_assert_eq(dispatched, 1);
	cr_assert_eq(settle(), 1);
	cr_assert_eq(dpa_act_state(&act), DPA_ACT_IDLE);
}

Test(activation, one_for_each_arming)
{
	dpa_act_set_running(&act);
	body = take;
	put(&c);
	cr_assert_eq(settle(), 1);
	put(&c);
	put(&c);
	cr_assert_eq(settle(), 0, "nobody asked for it");
}

Test(activation, unread_at_request_is_an_activation_after_this_one)
{
	dpa_act_set_running(&act);
	body = take_and_request;
	put(&c);
	put(&c);
	put(&c);
	cr_assert_eq(settle(), 3);
	cr_assert_not(unread(&c.src));
	cr_assert_eq(settle(), 0);
	put(&c);
	cr_assert_eq(settle(), 1);
}

Test(activation, completions_taken_after_the_request_are_not_pending)
{
	dpa_act_set_running(&act);
	body = request_and_take;
	put(&c);
	cr_assert_eq(settle(), 1);
	put(&c);
	cr_assert_eq(settle(), 1);
}

static void late_callback(void)
{
	take();
	dpa_source_request(&c.src, true);
	dpa_source_event(&c.src); /* for the element that is taken already */
}

Test(activation, a_late_callback_is_no_activation_and_costs_no_arming)
{
	dpa_act_set_running(&act);
	body = late_callback;
	put(&c);
	cr_assert_eq(settle(), 1);
	cr_assert_eq(dpa_act_state(&act), DPA_ACT_IDLE);
	put(&c);
	cr_assert_eq(settle(), 1, "the arming was lost");
}

static void arrives_while_running(void)
{
	take();
	dpa_source_request(&c.src, true);
	if (ran == 1)
		put(&c);
}

Test(activation, what_arrives_between_request_and_end_is_not_lost)
{
	dpa_act_set_running(&act);
	body = arrives_while_running;
	put(&c);
	cr_assert_eq(settle(), 2);
}

Test(activation, notify_needs_no_element)
{
	dpa_act_set_running(&act);
	dpa_act_notify(&act);
	dpa_act_notify(&act);
	cr_assert_eq(settle(), 1);
}

Test(activation, two_sources_one_activation)
{
	static struct counter d;

	counter_init(&d);
	dpa_act_attach(&act, &d.src);
	put(&c);
	put(&d);
	dpa_act_set_running(&act);
	cr_assert_eq(settle(), 1);
}

Test(activation, request_from_elsewhere_looks_at_once)
{
	dpa_act_set_running(&act);
	body = take;
	put(&c);
	cr_assert_eq(settle(), 1);
	put(&c);
	cr_assert_eq(settle(), 0);
	dpa_source_request(&c.src, false);
	cr_assert_eq(settle(), 1);
}

Test(activation, finish_is_the_end)
{
	dpa_act_set_running(&act);
	how = DPA_END_FINISH;
	body = take_and_request;
	put(&c);
	put(&c);
	cr_assert_eq(settle(), 1);
	cr_assert_eq(dpa_act_state(&act), DPA_ACT_FINISHED);
	put(&c);
	dpa_act_notify(&act);
	cr_assert_eq(settle(), 0);
	cr_assert(dpa_act_stop(&act, 0));
}

Test(activation, stop_before_an_eu_takes_it)
{
	dpa_act_set_running(&act);
	put(&c);
	cr_assert_eq(dispatched, 1);
	cr_assert_not(dpa_act_stop(&act, 0), "an EU still has it");
	cr_assert_eq(settle(), 0);
	cr_assert(dpa_act_stop(&act, 0));
	cr_assert_eq(dpa_act_state(&act), DPA_ACT_STOPPED);
	put(&c);
	cr_assert_eq(settle(), 0);
}

static void stop_inside(void)
{
	cr_assert_not(dpa_act_stop(&act, 0));
	put(&c);
	dpa_source_request(&c.src, true);
}

Test(activation, stop_while_running_ends_after_the_activation)
{
	dpa_act_set_running(&act);
	body = stop_inside;
	put(&c);
	cr_assert_eq(settle(), 1);
	cr_assert_eq(dpa_act_state(&act), DPA_ACT_STOPPED);
}

/* --------------------------------------------------------------- under load */

enum { TARGETS = 12, EUS = 4, ELEMENTS = 20000 };

struct target {
	struct dpa_act act; /* first member */
	struct counter c;
	_Atomic uint32_t inside, spurious, overlaps;
	unsigned int seed;
};

static int open_nothing(void *arg, void **dev, uint32_t *num_eus)
{
	*num_eus = EUS;
	return 0;
}

static int no_progress(void *dev)
{
	return 0;
}

static void do_nothing(void *dev)
{
}

static const struct dpa_pool_ops no_device = {open_nothing, no_progress, do_nothing, do_nothing};

/* Take some of the elements; request a notification before, between or after; never omit it. */
static enum dpa_act_end consume(struct dpa_act *a)
{
	struct target *t = (struct target *)a;
	unsigned int choice = (unsigned int)rand_r(&t->seed), n = 1 + choice % 3;

	if (atomic_fetch_add(&t->inside, 1))
		atomic_fetch_add(&t->overlaps, 1);
	if (!unread(&t->c.src))
		atomic_fetch_add(&t->spurious, 1);
	if (choice & 16)
		dpa_source_request(&t->c.src, true);
	while (n-- && unread(&t->c.src))
		atomic_fetch_add(&t->c.read, 1);
	if (!(choice & 16) || choice & 32)
		dpa_source_request(&t->c.src, true);
	atomic_fetch_sub(&t->inside, 1);
	return DPA_END_RESCHEDULE;
}

static void dispatch(struct dpa_act *a)
{
	dpa_pool_dispatch(&a->work);
}

static void *produce(void *arg)
{
	struct target *t = arg;
	unsigned int seed = 1;

	for (int i = 0; i < ELEMENTS; i++) {
		struct target *to = &t[rand_r(&seed) % TARGETS];

		put(&to->c);
		if (!(rand_r(&seed) % 64))
			sched_yield();
	}
	return NULL;
}

static void wait_for_all(struct target *t)
{
	for (int i = 0; i < TARGETS; i++)
		while (unread(&t[i].c.src))
			sched_yield(); /* a lost wake-up ends at the time limit of the suite */
}

/* More targets than EUs, two producers, each element consumed, no activation without a reason. */
Test(activation_load, nothing_lost_nothing_spurious)
{
	static struct target t[TARGETS];
	pthread_t p[2];

	cr_assert_eq(dpa_pool_get(&no_device, NULL), 0);
	for (int i = 0; i < TARGETS; i++) {
		t[i].seed = (unsigned int)i + 1;
		dpa_act_init(&t[i].act);
		t[i].act.dispatch = dispatch;
		t[i].act.run = consume;
		counter_init(&t[i].c);
		cr_assert_eq(dpa_pool_reserve(1), 0);
		dpa_act_start(&t[i].act);
		dpa_act_attach(&t[i].act, &t[i].c.src);
		dpa_act_set_running(&t[i].act);
	}
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&p[i], NULL, produce, t), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(p[i], NULL);
	wait_for_all(t);
	for (int i = 0; i < TARGETS; i++) {
		cr_assert(dpa_act_stop(&t[i].act, -1));
		cr_expect_eq(atomic_load(&t[i].spurious), 0u);
		cr_expect_eq(atomic_load(&t[i].overlaps), 0u);
		dpa_pool_unreserve(1);
	}
	dpa_pool_put();
}

/* One element at a time, for which the producer waits: every activation is a hand-over. */
Test(activation_load, ping_pong_with_sleeping_eus)
{
	static struct target t;

	cr_assert_eq(dpa_pool_get(&no_device, NULL), 0);
	dpa_act_init(&t.act);
	t.act.dispatch = dispatch;
	t.act.run = consume;
	counter_init(&t.c);
	cr_assert_eq(dpa_pool_reserve(1), 0);
	dpa_act_start(&t.act);
	dpa_act_attach(&t.act, &t.c.src);
	dpa_act_set_running(&t.act);
	for (int i = 0; i < 2000; i++) {
		put(&t.c);
		while (unread(&t.c.src))
			sched_yield();
	}
	cr_assert(dpa_act_stop(&t.act, -1));
	cr_assert_leq(atomic_load(&t.act.count), 2000u);
	cr_assert_eq(atomic_load(&t.spurious), 0u);
	dpa_pool_unreserve(1);
	dpa_pool_put();
}
