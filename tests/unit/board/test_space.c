/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_space.c - a file system that is full: an error, never SIGBUS. */
#include "util.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

TestSuite(board_space, .init = bt_setup, .fini = bt_teardown);

enum { NOT_ALLOWED = 77 };

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(NOT_ALLOWED);
	close(fd);
}

/* Mount a small tmpfs over the test's directory, in this process only. */
static void small_tmpfs(const char *size)
{
	char map[64], opt[64];
	unsigned uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWNS | CLONE_NEWUSER))
			_exit(NOT_ALLOWED);
		snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		write_file("/proc/self/uid_map", map);
		write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		write_file("/proc/self/gid_map", map);
	}
	snprintf(opt, sizeof(opt), "size=%s,mode=0700", size);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", bt_dir, "tmpfs", 0, opt))
		_exit(NOT_ALLOWED);
}

static void run(void (*fn)(void *))
{
	int status = bt_wait(bt_fork(fn, NULL));

	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_ALLOWED)
		bt_skip("no mount namespace is available");
	cr_expect_eq(status, 0, "status %#x", (unsigned)status);
}

static void no_room_at_all(void *arg)
{
	struct dpa_board *b;

	small_tmpfs("28k"); /* 7 units: the fixed part needs 8 */
	if (bt_try(&b, BT_VERSION) != ENOMEM)
		_exit(1);
	if (!strstr(bt_err, bt_path) || !strstr(bt_err, "full"))
		_exit(2);
	if (access(bt_path, F_OK) == 0)
		_exit(3);
}

Test(board_space, no_room_for_a_board)
{
	run(no_room_at_all);
}

/* Room for the file, but not for this process's page. */
static void no_room_for_process(void *arg)
{
	struct dpa_board *b;

	small_tmpfs("36k"); /* 9 units: a process needs one of the table and one of its own */
	if (bt_try(&b, BT_VERSION) != ENOMEM)
		_exit(1);
	if (!strstr(bt_err, bt_path) || !strstr(bt_err, "full"))
		_exit(2);
}

Test(board_space, no_room_for_a_process)
{
	run(no_room_for_process);
}

static void room_for_one(void *arg)
{
	struct dpa_board *b;

	small_tmpfs("40k");
	if (bt_try(&b, BT_VERSION))
		_exit(1);
	_exit(dpa_board_reserve(b, DPA_BOARD_OFF_BAR, 4096) == ENOMEM ? 0 : 2);
}

Test(board_space, room_for_one_process)
{
	run(room_for_one);
}

static void fills_up(void *arg)
{
	struct dpa_board *b;
	uint32_t page, slot, qpn, n = 0, s, g;
	int rc;

	small_tmpfs("512k");
	if (bt_try(&b, BT_VERSION))
		_exit(1);
	while ((rc = dpa_board_uar_alloc(b, &page, &slot)) == 0) {
		dpa_board_uar_addr(b, page, slot)->word = 1;
		n++;
	}
	/* pages that have memory are used up to the last slot */
	if (rc != ENOSPC || n < 16 || n % 16)
		_exit(2);
	if (dpa_board_qpn_alloc(b, &qpn) != ENOSPC)
		_exit(3);
	/* reads at any place cause no fault */
	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++) {
		if (dpa_board_qpn_owner(b, b->board_num << 16 | i, &s, &g))
			_exit(4);
		if (dpa_board_qpinfo(b, b->board_num << 16 | i) &&
		    dpa_board_qpinfo(b, b->board_num << 16 | i)->qpn)
			_exit(5);
	}
	for (uint32_t i = 0; i < DPA_BOARD_PROCS; i++)
		if (dpa_board_counters(b, i) && atomic_load(dpa_board_counters(b, i)))
			_exit(6);
	if (bt_uars(b) != n || !bt_list_whole(b))
		_exit(7);
	dpa_board_uar_free(b, 0, 0);
	if (dpa_board_uar_alloc(b, &page, &slot) || page || slot)
		_exit(8);
	dpa_board_close(b);
	if (access(bt_path, F_OK) == 0)
		_exit(9);
}

Test(board_space, fills_up)
{
	run(fills_up);
}
