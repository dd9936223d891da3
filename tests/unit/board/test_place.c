/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_place.c - the place of the board when neither /run/dpa, $XDG_RUNTIME_DIR nor /dev/shm can be
 * used.
 */
#include "util.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern const char *dpa_board_system_dir, *dpa_board_shm_dir, *dpa_board_tmp_dir[2];

static char tmp[2][128], own[2][288]; /* gcc for aarch64 sees the first as 256 bytes */

static void setup(void)
{
	bt_setup();
	cr_assert_eq(unsetenv("XDG_RUNTIME_DIR"), 0);
	dpa_board_system_dir = dpa_board_shm_dir = "/nonexistent";
	for (int i = 0; i < 2; i++) {
		snprintf(tmp[i], sizeof(tmp[i]), "%s/tmp%d", bt_dir, i);
		snprintf(own[i], sizeof(own[i]), "%s/dpa-%u", tmp[i], dpa_board_uid());
		cr_assert_eq(mkdir(tmp[i], 0700), 0);
		cr_assert_eq(chmod(tmp[i], 01777), 0);
		dpa_board_tmp_dir[i] = tmp[i];
	}
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		if (rmdir(own[i]))
			unlink(own[i]);
		rmdir(tmp[i]);
	}
	bt_teardown();
}

TestSuite(board_place, .init = setup, .fini = teardown);

/* The default path lies in that folder; NULL: there is none. */
static void lies_in(const char *dir, const char *why)
{
	char path[256] = "", want[256];
	int rc = dpa_board_default_path(path, sizeof(path));

	if (!dir) {
		cr_expect_eq(rc, ENOENT, "%s: %d %s", why, rc, path);
		return;
	}
	snprintf(want, sizeof(want), "%s/dpa-%u-%llu", dir, dpa_board_uid(),
		 (unsigned long long)dpa_board_netns());
	cr_expect_eq(rc, 0, "%s: %s", why, strerror(rc));
	cr_expect_str_eq(path, want, "%s: %s", why, path);
}

Test(board_place, own_folder)
{
	struct dpa_board_cfg cfg = {.lib_version = BT_VERSION};
	struct dpa_board *b;
	struct stat st;

	lies_in(own[0], "the first");
	cr_assert_eq(lstat(own[0], &st), 0);
	cr_expect_eq(st.st_mode, (mode_t)(S_IFDIR | 0700));
	cr_expect_eq(st.st_uid, geteuid());
	lies_in(own[0], "it is there already");
	cr_assert_eq(dpa_board_open(&cfg, &b, bt_err, sizeof(bt_err)), 0, "%s", bt_err);
	cr_expect_eq(strncmp(b->path, own[0], strlen(own[0])), 0, "%s", b->path);
	dpa_board_close(b);
	cr_expect_eq(access(own[0], F_OK), 0, "nobody else gets the name");
	cr_expect_eq(rmdir(own[0]), 0, "the board is gone");
}

Test(board_place, better_places_first)
{
	cr_assert_eq(setenv("XDG_RUNTIME_DIR", tmp[1], 1), 0);
	lies_in(tmp[1], "XDG_RUNTIME_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	dpa_board_shm_dir = tmp[1];
	lies_in(tmp[1], "/dev/shm");
	cr_expect_eq(access(own[0], F_OK), -1, "nothing was made");
}

/* A temporary folder in which other users can rename our files. */
Test(board_place, not_sticky)
{
	cr_assert_eq(chmod(tmp[0], 0777), 0);
	lies_in(own[1], "the first is not sticky");
	cr_expect_eq(access(own[0], F_OK), -1, "nothing was made");
	cr_assert_eq(chmod(tmp[1], 0777), 0);
	lies_in(NULL, "neither is sticky");
}

static void make_link(void)
{
	cr_assert_eq(symlink(tmp[1], own[0]), 0);
}

static void make_open(void)
{
	cr_assert_eq(mkdir(own[0], 0700), 0);
	cr_assert_eq(chmod(own[0], 0750), 0);
}

static void make_writable(void)
{
	cr_assert_eq(mkdir(own[0], 0700), 0);
	cr_assert_eq(chmod(own[0], 01702), 0);
}

static void make_file(void)
{
	FILE *f = fopen(own[0], "w");

	cr_assert_not_null(f);
	fclose(f);
}

static void make_strangers(void)
{
	cr_assert_eq(mkdir(own[0], 0700), 0);
	cr_assert_eq(lchown(own[0], 65534, 65534), 0);
}

/* Another user was first: files of others, or folders that others can enter, are not used. */
Test(board_place, taken)
{
	static void (*const make[])(void) = {make_link, make_open, make_writable, make_file,
					     make_strangers};
	static const char *const what[] = {"a link", "others may look into it",
					   "others may write into it", "a file", "a stranger's"};

	for (int i = 0; i < 5; i++) {
		if (make[i] == make_strangers && geteuid() != 0)
			continue;
		make[i]();
		lies_in(own[1], what[i]);
		if (rmdir(own[0]))
			cr_assert_eq(unlink(own[0]), 0);
	}
}

Test(board_place, nowhere)
{
	struct dpa_board_cfg cfg = {.lib_version = BT_VERSION};
	struct dpa_board *b;

	dpa_board_tmp_dir[0] = dpa_board_tmp_dir[1] = "/nonexistent";
	lies_in(NULL, "no folder at all");
	cr_expect_eq(dpa_board_open(&cfg, &b, bt_err, sizeof(bt_err)), ENOENT);
	cr_expect_not_null(strstr(bt_err, "/var/tmp"), "%s", bt_err);
}

#ifdef SYS_faccessat2
/* Older container runtimes answer EPERM, not ENOSYS, to system calls that they do not list. */
static bool refuse_faccessat2(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(f) / sizeof(f[0]), .filter = f};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void in_container(void *arg)
{
	char path[256] = "", want[400];

	(void)arg;
	if (!refuse_faccessat2())
		_exit(77);
	if (syscall(SYS_faccessat2, AT_FDCWD, tmp[0], W_OK, AT_EACCESS) == 0 || errno != EPERM)
		_exit(2);
	snprintf(want, sizeof(want), "%s/dpa-%u-%llu", own[0], dpa_board_uid(),
		 (unsigned long long)dpa_board_netns());
	_exit(dpa_board_default_path(path, sizeof(path)) || strcmp(path, want));
}

Test(board_place, faccessat2_is_refused)
{
	int status = bt_wait(bt_fork(in_container, NULL));

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		teardown();
		cr_skip_test("no seccomp here");
	}
	cr_expect_eq(status, 0, "%#x", (unsigned)status);
}
#endif
