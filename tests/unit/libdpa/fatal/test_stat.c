/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_stat.c - the published data of a process's DPA threads and EUs, read as the tools read them.
 */
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <view.h>
#include "fatal_rig.h"

static char board[96];

static void setup(void)
{
	crash_setup();
	snprintf(board, sizeof(board), "%s/board", crash_dir);
	fake_set_board_path(board);
}

TestSuite(stat, .init = setup, .fini = crash_teardown, .timeout = 60);

static struct view views[VIEW_MAX];

static int files(void)
{
	char pattern[128];
	glob_t g;
	int n;

	snprintf(pattern, sizeof(pattern), "%s*", board);
	n = glob(pattern, 0, NULL, &g) ? 0 : (int)g.gl_pathc;
	globfree(&g);
	return n;
}

/* Read from another process: a process does not see its own locks. */
static int seen_from_outside(void)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(view_open(board, "dpa0", views));
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void in_child(void (*fn)(const struct view *v))
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (view_open(board, NULL, views) != 1)
			_exit(99);
		fn(&views[0]);
		_exit(0);
	}
	waitpid(child, &status, 0);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "failed at step %d", WEXITSTATUS(status));
}

#define STEP(n, what)                                                                              \
	do {                                                                                       \
		if (!(what))                                                                       \
			_exit(n);                                                                  \
	} while (0)

static bool find(const struct view *v, const char *name, struct view_task *t)
{
	for (uint32_t i = 0; i < DPA_STAT_TASKS; i++)
		if (view_task(v, i, t) && !strcmp(t->name, name))
			return true;
	return false;
}

Test(stat, nothing_without_a_pool)
{
	cr_assert_eq(files(), 0);
	cr_assert_eq(view_open(board, NULL, views), 0);
}

static void ten_activations(const struct view *v)
{
	struct view_task t;

	STEP(1, v->file->head.num_eus == 8 && v->file->head.max_run_time == 7);
	STEP(2, !strcmp(v->file->head.device, "dpa0"));
	STEP(3, find(v, "work", &t));
	STEP(4, t.kind == DPA_STAT_THREAD && t.runs == 10 && t.ns > 0);
	STEP(5, t.eu >= 0 && t.eu < 8 && !t.active && !t.failed);
	STEP(6, t.id == 1 && t.context == 1);
	STEP(7, atomic_load(&v->file->eus[t.eu].runs) > 0);
}

static void after_a_reset(const struct view *v)
{
	struct view_task t;

	view_reset((struct view *)v);
	STEP(1, find(v, "work", &t));
	STEP(2, t.runs == 0 && t.ns == 0);
}

static void five_more(const struct view *v)
{
	struct view_task t;

	STEP(1, find(v, "work", &t));
	STEP(2, t.runs == 5 && t.ns > 0);
}

static void run_some(struct rig *r, uint64_t n)
{
	uint64_t until = FATAL_READ(r, begun) + n;

	while (FATAL_READ(r, begun) < until) {
		uint64_t now = FATAL_READ(r, begun);

		fake_push_recv(r->cq, 1);
		while (FATAL_READ(r, begun) == now)
			sched_yield();
	}
	/* it has ended, not only begun */
	while (dpa_act_state(&r->thread->act) != DPA_ACT_IDLE)
		sched_yield();
}

Test(stat, activations_are_counted_and_reset)
{
	struct rig r;

	fake_set_max_run_time(7);
	fatal_rig_start(&r);
	fatal_rig_run(&r, &work, 0);
	cr_assert_eq(files(), 1);
	cr_assert_eq(seen_from_outside(), 1);
	run_some(&r, 10);
	in_child(ten_activations);
	in_child(after_a_reset);
	run_some(&r, 5);
	in_child(five_more);
	rig_close(&r);
	cr_assert_eq(files(), 0);
}

static void loop_runs(const struct view *v)
{
	struct view_task a, b;

	STEP(1, find(v, "loop", &a));
	STEP(2, a.runs == 1 && a.active == 1);
	do
		STEP(3, find(v, "loop", &b));
	while (b.ns <= a.ns);
}

/* The time of a run in progress counts already. */
Test(stat, a_run_that_goes_on_is_shown)
{
	struct rig r;

	fatal_rig_start(&r);
	fatal_rig_run(&r, &loop, 0);
	fake_push_recv(r.cq, 1);
	while (!FATAL_READ(&r, rounds))
		sched_yield();
	in_child(loop_runs);
	rig_close(&r);
}

static void write_failed(const struct view *v)
{
	struct view_task t;

	STEP(1, find(v, "bad_write", &t));
	STEP(2, t.failed && strstr(t.error, "SIGSEGV at address 0x8"));
	STEP(3, find(v, "work", &t));
	STEP(4, !t.failed);
}

Test(stat, the_last_error)
{
	struct rig good, r;

	fatal_rig_start(&good);
	fatal_rig_run(&good, &work, 0);
	fatal_rig_start(&r);
	fatal_rig_run(&r, &bad_write, 8);
	fake_push_recv(r.cq, 1);
	OK(dpa_thread_wait(r.thread, -1));
	in_child(write_failed);
	rig_close(&r);
	rig_close(&good);
}

/* The file of a killed process is not a process, and is removed when the next one starts. */
Test(stat, files_of_the_dead)
{
	struct rig r;
	char dead[128];
	int status;
	pid_t child = fork();

	if (!child) {
		fatal_rig_start(&r);
		_exit(0); /* without clean-up */
	}
	waitpid(child, &status, 0);
	cr_assert_eq(files(), 1);
	cr_assert_eq(view_open(board, NULL, views), 0);
	snprintf(dead, sizeof(dead), "%s.dpa-1-abcdef", board);
	cr_assert_geq(open(dead, O_CREAT | O_RDWR, 0600), 0);
	fatal_rig_start(&r);
	cr_assert_eq(files(), 1);
	rig_close(&r);
	cr_assert_eq(files(), 0);
}

/* Of a board whose network namespace is gone: files without a lock are removed. */
Test(stat, files_of_the_dead_of_other_boards)
{
	static const struct {
		const char *name;
		bool stays;
	} of[] = {{"dpa-7-20.dpa-1-abcdef", false},
		  {"dpa-7-20.dpa-2-abcdef", true}, /* locked below */
		  {"dpa-77-20.dpa-1-abcdef", true},
		  {"dpa-7-20", true},
		  {"dpa-7-20.eus", true},
		  {"mydpa-7-20.dpa-1-abcdef", true},
		  {"dpa-7-100.dpa-1-abcdef", false},
		  {"dpa-7-10.dpa-1-abcdef", false}};
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int ready[2], status, fd;
	struct rig r;
	char path[8][160];
	pid_t child;
	char c;

	snprintf(board, sizeof(board), "%s/dpa-7-10", crash_dir);
	fake_set_board_path(board);
	for (int i = 0; i < 8; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s", crash_dir, of[i].name);
		fd = open(path[i], O_CREAT | O_RDWR, 0600);
		cr_assert_geq(fd, 0);
		close(fd);
	}
	cr_assert(!pipe(ready));
	child = fork();
	if (!child) {
		fd = open(path[1], O_RDWR);
		if (fd < 0 || fcntl(fd, F_SETLK, &l) || write(ready[1], "y", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &c, 1), 1);
	fatal_rig_start(&r);
	for (int i = 0; i < 8; i++)
		cr_expect_eq(access(path[i], F_OK) == 0, of[i].stays, "%s", of[i].name);
	rig_close(&r);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	for (int i = 0; i < 8; i++)
		unlink(path[i]);
}

/*
 * The action of a library's destructor at exit(): removes the process's own file, not a parent's.
 */
Test(stat, not_closed_at_exit)
{
	struct rig r;
	int status;
	pid_t child = fork();

	if (!child) {
		fatal_rig_start(&r);
		dpa_stat_exit();
		_exit(files());
	}
	waitpid(child, &status, 0);
	cr_assert_eq(WEXITSTATUS(status), 0);
	fatal_rig_start(&r);
	child = fork();
	if (!child) {
		dpa_stat_exit();
		_exit(files());
	}
	waitpid(child, &status, 0);
	cr_assert_eq(WEXITSTATUS(status), 1);
	rig_close(&r);
	cr_assert_eq(files(), 0);
}

/* A child neither writes to its parent's file nor removes it. */
Test(stat, a_forked_child_leaves_it_alone)
{
	struct rig r;
	int status;
	pid_t child;

#ifdef __SANITIZE_THREAD__
	crash_skip("ThreadSanitizer has no threads in forked children");
#endif
	fatal_rig_start(&r);
	child = fork();
	if (!child) {
		struct rig own;

		fatal_rig_start(&own);
		if (files() != 2)
			_exit(1);
		rig_close(&own);
		_exit(files() == 1 ? 0 : 2);
	}
	waitpid(child, &status, 0);
	cr_assert_eq(WEXITSTATUS(status), 0);
	cr_assert_eq(files(), 1);
	cr_assert_eq(seen_from_outside(), 1);
	rig_close(&r);
}

/* Other files are skipped. */
Test(stat, foreign_files)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s.dpa-7-abcdef", board);
	f = fopen(path, "w");
	fputs("not a file of ours", f);
	fclose(f);
	cr_assert_eq(view_open(board, NULL, views), 0);
}

Test(stat, no_place_is_no_error)
{
	struct rig r;

	fake_set_board_path("/nowhere/at/all/board");
	fatal_rig_start(&r);
	fatal_rig_run(&r, &work, 0);
	run_some(&r, 3);
	cr_assert_null(r.thread->stat);
	rig_close(&r);
}
