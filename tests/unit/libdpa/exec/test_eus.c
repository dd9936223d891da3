/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_eus.c - EU numbers: affinity, thread groups, sleeping. */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "libdpa/host/libdpa.h"
#include "libdpa/eu/pool_int.h"
#include "rig.h"

TestSuite(eus, .timeout = 60);

Test(eus, affinity_objects)
{
	const struct doca_dpa_eu_affinity *back;
	struct doca_dpa_eu_affinity *a, *theirs;
	struct doca_dpa_thread *t;
	struct rig r, other;
	unsigned int eu;

	exec_rig_start(&r);
	exec_rig_start(&other);
	IS(doca_dpa_eu_affinity_create(NULL, &a), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_create(r.dpa, NULL), INVALID_VALUE);
	OK(doca_dpa_eu_affinity_create(r.dpa, &a));
	OK(doca_dpa_eu_affinity_create(other.dpa, &theirs));
	IS(doca_dpa_eu_affinity_get(a, &eu), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_set(a, 8), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_set(NULL, 1), INVALID_VALUE);
	OK(doca_dpa_eu_affinity_set(a, 7));
	OK(doca_dpa_eu_affinity_get(a, &eu));
	cr_assert_eq(eu, 7u);
	IS(doca_dpa_eu_affinity_get(a, NULL), INVALID_VALUE);
	OK(doca_dpa_eu_affinity_clear(a));
	IS(doca_dpa_eu_affinity_clear(NULL), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_get(a, &eu), INVALID_VALUE);
	OK(doca_dpa_thread_create(r.dpa, &t));
	OK(doca_dpa_thread_get_affinity(t, &back));
	cr_assert_null(back);
	IS(doca_dpa_thread_set_affinity(NULL, a), INVALID_VALUE);
	IS(doca_dpa_thread_set_affinity(t, NULL), INVALID_VALUE);
	IS(doca_dpa_thread_set_affinity(t, theirs), INVALID_VALUE);
	OK(doca_dpa_thread_set_affinity(t, a));
	OK(doca_dpa_thread_get_affinity(t, &back));
	cr_assert_eq(back, a);
	IS(doca_dpa_thread_get_affinity(NULL, &back), INVALID_VALUE);
	IS(doca_dpa_thread_get_affinity(t, NULL), INVALID_VALUE);
	OK(doca_dpa_thread_set_func_arg(t, &thread_note, 0));
	OK(doca_dpa_thread_start(t));
	IS(doca_dpa_thread_set_affinity(t, a), BAD_STATE);
	OK(doca_dpa_eu_affinity_destroy(a)); /* the thread keeps its EU */
	OK(doca_dpa_thread_destroy(t));
	IS(doca_dpa_eu_affinity_destroy(NULL), INVALID_VALUE);
	OK(doca_dpa_destroy(other.dpa));
	IS(doca_dpa_eu_affinity_set(theirs, 1), INVALID_VALUE);
	IS(doca_dpa_eu_affinity_destroy(theirs), BAD_STATE);
	OK(doca_dev_close(other.dev));
	rig_destroy(&r);
}

/* The log contains the EU. */
Test(eus, a_thread_runs_on_its_eu)
{
	static const unsigned int on[] = {200, 3, 0, 255, 17};
	char path[64], line[64];
	struct doca_dpa_eu_affinity *a;
	struct exec_thread t[5];
	struct rig r;

	exec_new_file(path);
	fake_set_num_eus(256);
	rig_create(&r, test_app);
	OK(doca_dpa_log_file_set_path(r.dpa, path));
	rig_go(&r, sizeof(struct exec_shared));
	OK(doca_dpa_eu_affinity_create(r.dpa, &a));
	for (uint64_t i = 0; i < 5; i++) {
		OK(doca_dpa_eu_affinity_set(a, on[i]));
		exec_thread_new(&r, &t[i], &thread_log, a); /* reads it when it is started */
		exec_notify(&r, &t[i]);
		AWAIT_SHARED(&r, ran, i + 1);
	}
	for (int i = 0; i < 5; i++)
		exec_thread_free(&t[i]);
	OK(doca_dpa_eu_affinity_destroy(a));
	rig_destroy(&r);
	for (int i = 0; i < 5; i++) {
		snprintf(line, sizeof(line), "/%3u/[DOCA][DPA DEVICE][INF] here\n", on[i]);
		cr_expect(strstr(exec_file(path), line), "%s", line);
	}
	unlink(path);
}

/* Pinned work waits for its EU while others are free; relaxed work avoids it. */
Test(eus, pinned_work_waits_for_its_eu)
{
	struct doca_dpa_eu_affinity *a;
	struct exec_thread first, second, loose[3];
	struct rig r;

	exec_rig_start(&r);
	OK(doca_dpa_eu_affinity_create(r.dpa, &a));
	OK(doca_dpa_eu_affinity_set(a, 0));
	exec_thread_new(&r, &first, &thread_wait, a);
	exec_thread_new(&r, &second, &thread_note, a);
	for (int i = 0; i < 3; i++)
		exec_thread_new(&r, &loose[i], &thread_note, NULL);
	exec_notify(&r, &first);
	AWAIT_SHARED(&r, ran, 1);
	exec_notify(&r, &second);
	for (uint64_t i = 0; i < 30; i++) {
		exec_notify(&r, &loose[i % 3]);
		AWAIT_SHARED(&r, ran, 2 + i);
	}
	cr_assert_eq(dpa_act_state(&second.thread->act), DPA_ACT_QUEUED);
	PUT(&r, go, 1);
	AWAIT_SHARED(&r, ran, 32);
	exec_thread_free(&first);
	exec_thread_free(&second);
	for (int i = 0; i < 3; i++)
		exec_thread_free(&loose[i]);
	OK(doca_dpa_eu_affinity_destroy(a));
	rig_destroy(&r);
}

/* Relaxed threads that spin leave the pinned one's EU to it. */
Test(eus, relaxed_work_avoids_pinned_eus)
{
	struct doca_dpa_eu_affinity *a;
	struct exec_thread pinned, loose[7];
	struct rig r;

	exec_rig_start(&r);
	OK(doca_dpa_eu_affinity_create(r.dpa, &a));
	OK(doca_dpa_eu_affinity_set(a, 2));
	exec_thread_new(&r, &pinned, &thread_wait, a);
	for (int i = 0; i < 7; i++)
		exec_thread_new(&r, &loose[i], &thread_wait, NULL);
	for (int i = 0; i < 7; i++)
		exec_notify(&r, &loose[i]);
	AWAIT_SHARED(&r, ran, 7);
	exec_notify(&r, &pinned);
	AWAIT_SHARED(&r, ran, 8);
	PUT(&r, go, 1);
	AWAIT_SHARED(&r, ended, 8);
	exec_thread_free(&pinned);
	for (int i = 0; i < 7; i++)
		exec_thread_free(&loose[i]);
	OK(doca_dpa_eu_affinity_destroy(a));
	rig_destroy(&r);
}

Test(eus, thread_groups)
{
	struct doca_dpa_thread *t[2], *theirs;
	struct rig r, other;
	struct doca_dpa_tg *g, *g2;
	unsigned int n;

	exec_rig_start(&r);
	exec_rig_start(&other);
	IS(doca_dpa_thread_group_create(NULL, 2, &g), INVALID_VALUE);
	IS(doca_dpa_thread_group_create(r.dpa, 0, &g), INVALID_VALUE);
	IS(doca_dpa_thread_group_create(r.dpa, 257, &g), INVALID_VALUE);
	IS(doca_dpa_thread_group_create(r.dpa, 2, NULL), INVALID_VALUE);
	OK(doca_dpa_thread_group_create(r.dpa, 2, &g));
	OK(doca_dpa_thread_group_create(r.dpa, 1, &g2));
	OK(doca_dpa_thread_group_get_num_threads(g, &n));
	cr_assert_eq(n, 2u);
	IS(doca_dpa_thread_group_get_num_threads(NULL, &n), INVALID_VALUE);
	IS(doca_dpa_thread_group_get_num_threads(g, NULL), INVALID_VALUE);
	for (int i = 0; i < 2; i++) {
		OK(doca_dpa_thread_create(r.dpa, &t[i]));
		OK(doca_dpa_thread_set_func_arg(t[i], &thread_note, r.shared));
	}
	OK(doca_dpa_thread_create(other.dpa, &theirs));
	IS(doca_dpa_thread_group_set_thread(NULL, t[0], 0), INVALID_VALUE);
	IS(doca_dpa_thread_group_set_thread(g, NULL, 0), INVALID_VALUE);
	IS(doca_dpa_thread_group_set_thread(g, t[0], 2), INVALID_VALUE);
	IS(doca_dpa_thread_group_set_thread(g, theirs, 0), INVALID_VALUE);
	OK(doca_dpa_thread_group_set_thread(g, t[0], 0));
	IS(doca_dpa_thread_group_set_thread(g, t[0], 1), BAD_STATE);
	IS(doca_dpa_thread_group_set_thread(g2, t[0], 0), BAD_STATE);
	OK(doca_dpa_thread_start(t[0]));
	IS(doca_dpa_thread_group_start(g), BAD_STATE);
	OK(doca_dpa_thread_start(t[1]));
	IS(doca_dpa_thread_group_set_thread(g, t[1], 1), BAD_STATE);
	OK(doca_dpa_thread_stop(t[1]));
	OK(doca_dpa_thread_group_set_thread(g, t[1], 1));
	IS(doca_dpa_thread_group_start(g), BAD_STATE);
	OK(doca_dpa_thread_start(t[1]));
	IS(doca_dpa_thread_group_stop(g), BAD_STATE);
	IS(doca_dpa_thread_group_start(NULL), INVALID_VALUE);
	OK(doca_dpa_thread_group_start(g));
	IS(doca_dpa_thread_group_start(g), BAD_STATE);
	IS(doca_dpa_thread_group_set_thread(g, theirs, 0), INVALID_VALUE);
	OK(doca_dpa_thread_group_stop(g));
	IS(doca_dpa_thread_group_stop(NULL), INVALID_VALUE);
	OK(doca_dpa_thread_group_start(g));
	OK(doca_dpa_thread_destroy(t[0])); /* leaves it: the group is stopped */
	IS(doca_dpa_thread_group_stop(g), BAD_STATE);
	OK(doca_dpa_thread_group_destroy(g));
	OK(doca_dpa_thread_destroy(t[1]));
	OK(doca_dpa_thread_group_destroy(g2));
	IS(doca_dpa_thread_group_destroy(NULL), INVALID_VALUE);
	OK(doca_dpa_thread_destroy(theirs));
	OK(doca_dpa_thread_group_create(other.dpa, 1, &g));
	OK(doca_dpa_destroy(other.dpa));
	IS(doca_dpa_thread_group_start(g), BAD_STATE);
	IS(doca_dpa_thread_group_stop(g), BAD_STATE);
	IS(doca_dpa_thread_group_destroy(g), BAD_STATE);
	OK(doca_dev_close(other.dev));
	rig_destroy(&r);
}

Test(eus, groups_give_ranks)
{
	struct exec_thread t[3];
	struct doca_dpa_tg *g;
	struct rig r;

	exec_rig_start(&r);
	OK(doca_dpa_thread_group_create(r.dpa, 3, &g));
	for (unsigned int i = 0; i < 3; i++) {
		OK(doca_dpa_thread_create(r.dpa, &t[i].thread));
		OK(doca_dpa_thread_set_func_arg(t[i].thread, &thread_note, r.shared));
		OK(doca_dpa_thread_group_set_thread(g, t[i].thread, 2 - i));
		OK(doca_dpa_notification_completion_create(r.dpa, t[i].thread, &t[i].notify));
		OK(doca_dpa_thread_start(t[i].thread));
		OK(doca_dpa_notification_completion_start(t[i].notify));
		OK(doca_dpa_notification_completion_get_dpa_handle(t[i].notify, &t[i].handle));
		OK(doca_dpa_thread_run(t[i].thread));
	}
	exec_notify(&r, &t[0]); /* not started yet: alone */
	AWAIT_SHARED(&r, ran, 1);
	cr_assert_eq(SHARED(&r, num), 1u);
	cr_assert_eq(SHARED(&r, rank), 0u);
	OK(doca_dpa_thread_group_start(g));
	for (uint64_t i = 0; i < 3; i++) {
		exec_notify(&r, &t[i]);
		AWAIT_SHARED(&r, ran, 2 + i);
		cr_assert_eq(SHARED(&r, num), 3u);
		cr_assert_eq(SHARED(&r, rank), 2 - i);
	}
	OK(doca_dpa_thread_group_stop(g));
	exec_notify(&r, &t[0]);
	AWAIT_SHARED(&r, ran, 5);
	cr_assert_eq(SHARED(&r, num), 1u);
	OK(doca_dpa_thread_group_destroy(g));
	for (int i = 0; i < 3; i++)
		exec_thread_free(&t[i]);
	rig_destroy(&r);
}

/* A file of dpaeumgmt: EUs 4 to 7 belong to another function, 0 and 1 to a group. */
Test(eus, partitions_and_groups_bound_them)
{
	char board[64], file[80];
	struct doca_dpa_eu_affinity *a;
	struct exec_thread t[3];
	unsigned int n;
	struct rig r;
	FILE *f;

	exec_new_file(board);
	fake_set_board_path(board);
	snprintf(file, sizeof(file), "%s.eus", board);
	f = fopen(file, "w");
	cr_assert(f);
	fputs("dpa-eus 1\npartition 1 2 1,3 4-7\ngroup 1 0 0-1 g\n", f);
	fclose(f);
	exec_rig_start(&r);
	OK(doca_dpa_get_total_num_eus_available(r.dpa, &n));
	cr_assert_eq(n, 4u);
	OK(doca_dpa_get_max_threads_per_kernel(r.dpa, &n));
	cr_assert_eq(n, 2u);
	IS(doca_dpa_kernel_launch_update_set(r.dpa, NULL, 0, NULL, 0, 3, &kernel_note, r.shared),
	   INVALID_VALUE);
	OK(doca_dpa_eu_affinity_create(r.dpa, &a));
	IS(doca_dpa_eu_affinity_set(a, 4), INVALID_VALUE);
	OK(doca_dpa_eu_affinity_set(a, 1)); /* EU of the group, by name */
	for (int i = 0; i < 3; i++) {
		exec_thread_new(&r, &t[i], &thread_wait, NULL);
		exec_notify(&r, &t[i]);
	}
	AWAIT_SHARED(&r, ran, 2); /* 2 and 3 are available for all three */
	for (int i = 0; i < 3; i++)
		exec_notify(&r, &t[i]);
	cr_assert_eq(SHARED(&r, ran), 2u);
	PUT(&r, go, 1);
	while (SHARED(&r, ended) < 3)
		sched_yield();
	for (int i = 0; i < 3; i++)
		exec_thread_free(&t[i]);
	exec_thread_new(&r, &t[0], &thread_note, a);
	exec_notify(&r, &t[0]);
	while (SHARED(&r, num) != 1)
		sched_yield();
	exec_thread_free(&t[0]);
	OK(doca_dpa_eu_affinity_destroy(a));
	rig_destroy(&r);
	unlink(file);
	unlink(board);
}

static void is_asleep(struct dpal_eu *eu, void *arg)
{
	if (!atomic_load(&eu->asleep))
		*(bool *)arg = false;
}

/* Return the voluntary switches of the threads of the pool and of the log so far. */
static long switches(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	long sum = 0;

	while ((e = readdir(d))) {
		char path[300], line[100], name[32] = "";
		FILE *f;
		long n;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f)) {
			sscanf(line, "Name: %31s", name);
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 &&
			    (!strncmp(name, "dpa-eu", 6) || !strncmp(name, "dpa-log", 7)))
				sum += n;
		}
		if (f)
			fclose(f);
	}
	closedir(d);
	return sum;
}

/* A context without work uses no processor time. */
Test(eus, idle_is_asleep)
{
	struct exec_thread t[4];
	uint64_t ret;
	struct rig r;
	bool all;
	long n;

	exec_rig_start(&r);
	for (int i = 0; i < 4; i++) {
		exec_thread_new(&r, &t[i], &thread_note, NULL);
		exec_notify(&r, &t[i]);
	}
	AWAIT_SHARED(&r, ran, 4);
	OK(doca_dpa_rpc(r.dpa, &rpc_log, &ret, 0));
	do {
		sched_yield();
		all = true;
		dpa_pool_each(is_asleep, &all);
	} while (!all);
	n = switches();
	poll(NULL, 0, 200); /* observed for so long; not a wait for an event */
	all = true;
	dpa_pool_each(is_asleep, &all);
	cr_assert(all);
	cr_assert_leq(switches() - n, 8, "each may have been on its way to sleep");
	for (int i = 0; i < 4; i++)
		exec_thread_free(&t[i]);
	rig_destroy(&r);
}
