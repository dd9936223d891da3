/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_watch.c - watches: called once, by an update or by the poller; never after a cancel. */
#include "../host.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <doca_sync_event.h>
#include "libdpa/host/libdpa.h"
#include "libdpa/sync/sync_event.h"

TestSuite(sync_watch, .timeout = 60);

/* ThreadSanitizer has its own threads, and none after a fork. */
#if defined(__SANITIZE_THREAD__)
#define TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSAN 1
#endif
#endif
#ifndef TSAN
#define TSAN 0
#endif

struct mine {
	struct dpa_se_watch w;
	_Atomic int calls;
	pthread_t by;
};

static void note(struct dpa_se_watch *w)
{
	struct mine *m = container_of(w, struct mine, w);

	m->by = pthread_self();
	atomic_fetch_add_explicit(&m->calls, 1, memory_order_release);
}

static int calls(struct mine *m)
{
	return atomic_load_explicit(&m->calls, memory_order_acquire);
}

/* Make a started event of the CPU; with a word of the caller, which is polled. */
static struct doca_sync_event *new_event(struct doca_dev *dev, uint64_t *word)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, dev));
	OK(doca_sync_event_add_subscriber_location_cpu(se, dev));
	if (word)
		OK(doca_sync_event_set_addr(se, word));
	OK(doca_sync_event_start(se));
	return se;
}

Test(sync_watch, an_update_calls_at_once_on_its_own_thread)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se = new_event(dev, NULL);
	struct mine m[4] = {0};
	uint64_t before;

	cr_assert_eq(dpa_se_watch(&m[0].w, se, DPA_SE_GE, 2, ~0ull, note), 0);
	cr_assert_eq(dpa_se_watch(&m[1].w, se, DPA_SE_GT, 2, ~0ull, note), 0);
	cr_assert_eq(dpa_se_watch(&m[2].w, se, DPA_SE_NE, 0, ~0ull, note), 0);
	cr_assert_eq(dpa_se_watch(&m[3].w, se, DPA_SE_EQ, 0x300, 0xff00, note), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(calls(&m[i]), 0);
	OK(doca_sync_event_update_set(se, 1));
	cr_assert_eq(calls(&m[2]), 1, "1 != 0");
	cr_assert(pthread_equal(m[2].by, pthread_self()));
	cr_assert_eq(calls(&m[0]), 0);
	OK(doca_sync_event_update_add(se, 1, &before));
	cr_assert_eq(before, 1u);
	cr_assert_eq(calls(&m[0]), 1, "2 >= 2");
	cr_assert_eq(calls(&m[1]), 0, "2 > 2");
	OK(doca_sync_event_update_set(se, 0x10342));
	cr_assert_eq(calls(&m[1]), 1);
	cr_assert_eq(calls(&m[3]), 1, "masked");
	OK(doca_sync_event_update_set(se, 0));
	OK(doca_sync_event_update_set(se, 5));
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(calls(&m[i]), 1, "once");
		cr_assert_not(dpa_se_watch_cancel(&m[i].w), "has been called");
	}
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

Test(sync_watch, what_holds_already_is_called_before_watch_returns)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se = new_event(dev, NULL);
	struct mine m = {0};

	OK(doca_sync_event_update_set(se, 3));
	cr_assert_eq(dpa_se_watch(&m.w, se, DPA_SE_GE, 3, ~0ull, note), 0);
	cr_assert_eq(calls(&m), 1);
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

Test(sync_watch, a_store_that_nobody_announces_is_found)
{
	struct doca_dev *dev = open_dpa0();
	uint64_t word = 7;
	struct doca_sync_event *se = new_event(dev, &word);

	for (uint64_t i = 1; i <= 50; i++) {
		struct mine m = {0};

		cr_assert_eq(dpa_se_watch(&m.w, se, DPA_SE_GE, 7 + i, ~0ull, note), 0);
		cr_assert_eq(calls(&m), 0);
		if (i % 8 == 0) /* after it has stopped spinning */
			usleep(1000);
		__atomic_store_n(&word, 7 + i, __ATOMIC_RELEASE);
		while (!calls(&m))
			sched_yield();
		cr_assert_not(pthread_equal(m.by, pthread_self()));
		cr_assert_not(dpa_se_watch_cancel(&m.w));
	}
	OK(doca_sync_event_destroy(se));
	OK(doca_dev_close(dev));
}

Test(sync_watch, a_cancelled_watch_is_not_called)
{
	struct doca_dev *dev = open_dpa0();
	uint64_t word = 0;

	for (int polled = 0; polled < 2; polled++) {
		struct doca_sync_event *se = new_event(dev, polled ? &word : NULL);
		struct mine m = {0}, other = {0};

		cr_assert_eq(dpa_se_watch(&m.w, se, DPA_SE_GE, 1, ~0ull, note), 0);
		cr_assert_eq(dpa_se_watch(&other.w, se, DPA_SE_GE, 1, ~0ull, note), 0);
		cr_assert(dpa_se_watch_cancel(&m.w));
		cr_assert_not(dpa_se_watch_cancel(&m.w), "no longer there");
		OK(doca_sync_event_update_set(se, 1));
		while (!calls(&other)) /* by this thread or by the poller */
			sched_yield();
		cr_assert_eq(calls(&m), 0);
		OK(doca_sync_event_destroy(se));
	}
	OK(doca_dev_close(dev));
}

Test(sync_watch, an_event_that_is_gone_calls_nobody)
{
	struct doca_dev *dev = open_dpa0();
	uint64_t *word = malloc(sizeof(*word));
	struct doca_sync_event *se;
	struct mine m = {0};

	*word = 0;
	se = new_event(dev, word);
	cr_assert_eq(dpa_se_watch(&m.w, se, DPA_SE_GE, 1, ~0ull, note), 0);
	OK(doca_sync_event_destroy(se));
	free(word); /* no thread reads it any more: ASan would report it */
	usleep(1000);
	cr_assert_eq(calls(&m), 0);
	cr_assert(dpa_se_watch_cancel(&m.w));
	OK(doca_dev_close(dev));
}

Test(sync_watch, a_held_event_takes_late_updates)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_sync_event *se = new_event(dev, NULL);

	dpa_se_set(se, 9);
	dpa_se_hold(se);
	OK(doca_sync_event_destroy(se));
	dpa_se_set(se, 1);
	cr_assert_eq(dpa_se_add(se, 1), 0u);
	cr_assert_eq(dpa_se_read(se), 0u);
	dpa_se_release(se);
	OK(doca_dev_close(dev));
}

enum { RACES = 3000 };

struct race {
	struct doca_sync_event *se;
	struct mine m;
	_Atomic int round, done;
};

static void *updater(void *arg)
{
	struct race *r = arg;

	for (int i = 1; i <= RACES; i++) {
		while (atomic_load(&r->round) < i)
			sched_yield();
		dpa_se_set(r->se, (uint64_t)i);
		atomic_store(&r->done, i);
	}
	return NULL;
}

Test(sync_watch, update_and_cancel_at_once_and_either_wins)
{
	struct doca_dev *dev = open_dpa0();
	struct race r = {.se = new_event(dev, NULL)};
	pthread_t t;

	pthread_create(&t, NULL, updater, &r);
	for (int i = 1; i <= RACES; i++) {
		bool cancelled;

		r.m = (struct mine){0};
		atomic_store(&r.round, i);
		cr_assert_eq(dpa_se_watch(&r.m.w, r.se, DPA_SE_GE, (uint64_t)i, ~0ull, note), 0);
		cancelled = i % 2 ? dpa_se_watch_cancel(&r.m.w) : false;
		while (atomic_load(&r.done) < i)
			sched_yield();
		cr_assert_eq(calls(&r.m), cancelled ? 0 : 1, "round %d", i);
	}
	pthread_join(t, NULL);
	OK(doca_sync_event_destroy(r.se));
	OK(doca_dev_close(dev));
}

static int num_threads(void)
{
	char line[64];
	FILE *f = fopen("/proc/self/status", "r");
	int n = 0;

	while (fgets(line, sizeof(line), f) && sscanf(line, "Threads: %d", &n) != 1)
		;
	fclose(f);
	return n;
}

Test(sync_watch, the_poller_ends_with_the_last_event)
{
	struct doca_dev *dev = open_dpa0();
	uint64_t word = 0;
	struct doca_sync_event *se, *other = new_event(dev, NULL);
	int before = num_threads();
	struct mine m = {0};

	if (TSAN)
		cr_skip_test("counts threads");

	for (int i = 0; i < 3; i++) {
		se = new_event(dev, &word);
		cr_assert_eq(dpa_se_watch(&m.w, se, DPA_SE_GE, 1, ~0ull, note), 0);
		cr_assert_eq(num_threads(), before + 1);
		cr_assert(dpa_se_watch_cancel(&m.w));
		OK(doca_sync_event_destroy(se));
		cr_assert_eq(num_threads(), before + 1, "another event may need it");
		OK(doca_sync_event_destroy(other));
		while (num_threads() != before) /* joined, but the kernel may still count it */
			sched_yield();
		other = new_event(dev, NULL);
	}
	OK(doca_sync_event_destroy(other));
	OK(doca_dev_close(dev));
}

Test(sync_watch, a_forked_child_has_no_watches)
{
	struct rig r;
	struct doca_sync_event *se;
	struct mine m = {0}, mine = {0};
	uint64_t word = 0;
	int status;
	pid_t pid;

	if (TSAN)
		cr_skip_test("makes threads after a fork");
	rig_start(&r);
	se = new_event(r.dev, &word);
	cr_assert_eq(dpa_se_watch(&m.w, se, DPA_SE_GE, 1, ~0ull, note), 0);
	pid = fork();
	if (!pid) {
		bool ok = !dpa_se_watch(&mine.w, se, DPA_SE_GE, 2, ~0ull, note);

		dpa_se_set(se, 1);
		ok = ok && !calls(&m) && !calls(&mine) && !dpa_se_watch_cancel(&m.w);
		dpa_se_set(se, 2);
		while (!calls(&mine))
			sched_yield();
		_exit(ok && doca_sync_event_destroy(se) == DOCA_SUCCESS ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(calls(&m), 0);
	OK(doca_sync_event_update_set(se, 1));
	while (!calls(&m))
		sched_yield();
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}
