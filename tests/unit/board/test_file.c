/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_file.c - the board's file: creation, look-up, name, removal. */
#include "util.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

TestSuite(board_file, .init = bt_setup, .fini = bt_teardown);

Test(board_file, made_and_removed)
{
	struct dpa_board *b = bt_open();
	struct stat st;

	cr_assert_eq(stat(bt_path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	cr_expect_eq((uint64_t)st.st_size, DPA_BOARD_FILE_LEN);
	cr_expect_lt((uint64_t)st.st_blocks * 512, 256u << 10, "sparse: %lu blocks",
		     (unsigned long)st.st_blocks);
	cr_expect(b->board_num >= 1 && b->board_num <= 254);
	cr_expect_eq(strlen(b->id), 32u);
	cr_expect_str_eq(b->path, bt_path);
	cr_expect_str_eq(b->self->lib_version, BT_VERSION);
	cr_expect(bt_list_whole(b));
	dpa_board_close(b);
	cr_expect_eq(access(bt_path, F_OK), -1, "the last one out removes the file");
}

Test(board_file, shared)
{
	struct dpa_board *a = bt_open(), *b = bt_open();

	cr_expect_str_eq(a->id, b->id);
	cr_expect_eq(a->board_num, b->board_num);
	cr_expect_neq(a->slot, b->slot);
	cr_expect((a->num_fd >= 0) != (b->num_fd >= 0), "one holds the number");
	dpa_board_close(a);
	cr_expect_eq(access(bt_path, F_OK), 0, "b is still on it");
	cr_expect(dpa_board_alive(b, b->slot, b->gen));
	dpa_board_close(b);
	cr_expect_eq(access(bt_path, F_OK), -1);
}

Test(board_file, version_mismatch_names_both)
{
	struct dpa_board *b = bt_open(), *other = NULL;
	struct dpa_board_cfg cfg = {.path = bt_path, .lib_version = "1.2.4"};

	cr_expect_eq(bt_try(&other, "1.2.4"), EPROTO);
	cr_expect_not_null(strstr(bt_err, "1.2.3"), "%s", bt_err);
	cr_expect_not_null(strstr(bt_err, "1.2.4"), "%s", bt_err);
	cr_expect_not_null(strstr(bt_err, bt_path), "%s", bt_err);
	cr_expect_null(strchr(bt_err, '\n'), "%s", bt_err);
	cr_expect_eq(dpa_board_peek(&cfg, &other, bt_err, sizeof(bt_err)), EPROTO);
	cr_expect_not_null(strstr(bt_err, "1.2.3"), "%s", bt_err);
	dpa_board_close(b);
	cr_assert_eq(bt_try(&other, "1.2.4"), 0);
	dpa_board_close(other);
}

static void open_and_die(void *arg)
{
	struct dpa_board *b;

	if (bt_try(&b, arg) == 0)
		kill(getpid(), SIGKILL);
}

/* All its processes were killed: the next one starts clean, with any version. */
Test(board_file, stale_is_replaced)
{
	struct dpa_board *b;
	char id[33];

	bt_wait(bt_fork(open_and_die, (void *)"0.9"));
	cr_assert_eq(access(bt_path, F_OK), 0);
	b = bt_open();
	snprintf(id, sizeof(id), "%s", b->id);
	cr_expect_eq(bt_procs(b), 1u);
	dpa_board_close(b);
	bt_wait(bt_fork(open_and_die, (void *)BT_VERSION));
	b = bt_open();
	cr_expect_str_neq(id, b->id);
	dpa_board_close(b);
}

static void open_close(void *arg)
{
	struct dpa_board *b;

	if (bt_try(&b, BT_VERSION) == 0)
		dpa_board_close(b);
}

Test(board_file, creator_dies)
{
	static const char *const steps[] = {"create-sized", "create-lists", "create-ident",
					    "proc-byte",    "proc-gen",	    "proc-live",
					    "proc-leave",   "detached"};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct dpa_board *b, *p;
		struct dpa_board_cfg cfg = bt_cfg();

		cr_assert(bt_dies(open_close, NULL, steps[i], 1), "%s", steps[i]);
		cr_assert_eq(access(bt_path, F_OK), 0, "%s", steps[i]);
		if (strncmp(steps[i], "create", 6) == 0)
			cr_expect_eq(dpa_board_peek(&cfg, &p, bt_err, sizeof(bt_err)), ENOENT, "%s",
				     steps[i]);
		b = bt_open();
		cr_expect_eq(bt_procs(b), 1u, "%s", steps[i]);
		cr_expect(bt_list_whole(b), "%s", steps[i]);
		dpa_board_close(b);
		cr_expect_eq(access(bt_path, F_OK), -1, "%s", steps[i]);
	}
}

/* Dies between finding the stale file and creating a new one. */
Test(board_file, replacer_dies)
{
	struct dpa_board *b;

	bt_wait(bt_fork(open_and_die, (void *)BT_VERSION));
	cr_assert(bt_dies(open_close, NULL, "stale-unlink", 1));
	b = bt_open();
	cr_expect_eq(bt_procs(b), 1u);
	dpa_board_close(b);
}

Test(board_file, no_such_place)
{
	struct dpa_board_cfg cfg = {.path = "/nonexistent/dpa/board", .lib_version = BT_VERSION};
	struct dpa_board *b;
	char longpath[512];

	cr_expect_eq(dpa_board_open(&cfg, &b, bt_err, sizeof(bt_err)), ENOENT);
	cr_expect_not_null(strstr(bt_err, cfg.path), "%s", bt_err);
	memset(longpath, 'x', sizeof(longpath) - 1);
	longpath[sizeof(longpath) - 1] = '\0';
	cfg.path = longpath;
	cr_expect_eq(dpa_board_open(&cfg, &b, NULL, 0), ENAMETOOLONG);
}

static void small_fsize(void *arg)
{
	struct rlimit lim = {65536, 65536};
	struct dpa_board *b;

	setrlimit(RLIMIT_FSIZE, &lim);
	if (bt_try(&b, BT_VERSION) != EFBIG || !strstr(bt_err, "ulimit"))
		_exit(1);
}

static void enough_fsize(void *arg)
{
	struct rlimit lim = {64 << 20, 64 << 20};
	struct dpa_board *b;

	setrlimit(RLIMIT_FSIZE, &lim);
	if (bt_try(&b, BT_VERSION))
		_exit(1);
	dpa_board_close(b);
}

Test(board_file, a_limit_of_64_mib_is_enough)
{
	cr_expect_eq(bt_wait(bt_fork(enough_fsize, NULL)), 0, "%s", bt_err);
}

/* Growing a file past its limit would be a signal, not an error. */
Test(board_file, file_size_limit)
{
	cr_expect_eq(bt_wait(bt_fork(small_fsize, NULL)), 0);
	cr_expect_eq(access(bt_path, F_OK), -1, "nothing is left");
}

Test(board_file, default_path)
{
	char path[256], want[256];

	cr_assert_eq(setenv("XDG_RUNTIME_DIR", bt_dir, 1), 0);
	cr_assert_eq(dpa_board_default_path(path, sizeof(path)), 0);
	if (strncmp(path, "/run/dpa/", 9) != 0) {
		snprintf(want, sizeof(want), "%s/dpa-%u-", bt_dir, dpa_board_uid());
		cr_expect_eq(strncmp(path, want, strlen(want)), 0, "%s", path);
		/* others could replace the file there */
		cr_assert_eq(chmod(bt_dir, 0777), 0);
		cr_assert_eq(dpa_board_default_path(path, sizeof(path)), 0);
		cr_expect_eq(strncmp(path, "/dev/shm/dpa-", 13), 0, "%s", path);
	}
	cr_expect_eq(dpa_board_default_path(path, 8), ENAMETOOLONG);
}

static void touch(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

/*
 * A process that creates a board removes boards beside it whose namespaces ended; it removes
 * nothing else.
 */
Test(board_file, stale_neighbours)
{
	static const char *const names[] = {"1", "2", "3", "4x"};
	char path[4][160], ours[160];
	struct dpa_board_cfg cfg = {.lib_version = BT_VERSION};
	struct dpa_board *b, *live;
	char was[sizeof(bt_path)];

	for (int i = 0; i < 4; i++)
		snprintf(path[i], sizeof(path[i]), "%s/dpa-%u-%s", bt_dir, dpa_board_uid(),
			 names[i]);
	snprintf(ours, sizeof(ours), "%s/dpa-%u-99", bt_dir, dpa_board_uid());
	memcpy(was, bt_path, sizeof(was));
	snprintf(bt_path, sizeof(bt_path), "%s", path[0]);
	bt_wait(bt_fork(open_and_die, (void *)"7.7"));
	memcpy(bt_path, was, sizeof(was));
	cfg.path = path[1];
	cr_assert_eq(dpa_board_open(&cfg, &live, bt_err, sizeof(bt_err)), 0);
	touch(path[2], "not a board");
	touch(path[3], "");
	cfg.path = ours;
	cr_assert_eq(dpa_board_open(&cfg, &b, bt_err, sizeof(bt_err)), 0, "%s", bt_err);
	cr_expect_eq(access(path[0], F_OK), -1, "stale");
	cr_expect_eq(access(path[1], F_OK), 0, "somebody is on it");
	cr_expect_eq(access(path[2], F_OK), 0, "not a board");
	cr_expect_eq(access(path[3], F_OK), 0, "not our name");
	dpa_board_close(b);
	dpa_board_close(live);
	unlink(path[2]);
	unlink(path[3]);
}

Test(board_file, peek)
{
	struct dpa_board_cfg cfg = bt_cfg();
	struct dpa_board *b, *p;
	uint32_t page, slot, qpn;

	cr_expect_eq(dpa_board_peek(&cfg, &p, bt_err, sizeof(bt_err)), ENOENT);
	cr_expect_not_null(strstr(bt_err, bt_path), "%s", bt_err);
	b = bt_open();
	cr_assert_eq(dpa_board_peek(&cfg, &p, bt_err, sizeof(bt_err)), 0, "%s", bt_err);
	cr_expect(dpa_board_alive(p, b->slot, b->gen));
	cr_expect_not(dpa_board_alive(p, b->slot, b->gen + 1));
	cr_expect_null(dpa_board_uar_page(p, 0));
	cr_expect_null(dpa_board_qpinfo(p, p->board_num << 16));
	cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
	cr_expect_not_null(dpa_board_uar_page(p, page));
	cr_expect_not_null(dpa_board_qpinfo(p, qpn));
	cr_expect_eq(dpa_board_reap(p), 0);
	dpa_board_close(b);
	/* The file is removed, the view stays. */
	cr_expect_eq(bt_uars(p), 0u);
	cr_expect_eq(bt_procs(p), 0u);
	dpa_board_unpeek(p);
}
