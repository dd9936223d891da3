/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_num.c - board numbers: one for each board in the namespace, taken over when its holder ends.
 */
#include "util.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

static int with_fd = -1; /* the file of this descriptor has this inode number */
static ino_t with_ino;

/* Replace that of libc. */
int fstat(int fd, struct stat *st)
{
	int ret = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (fd == with_fd)
		st->st_ino = with_ino;
	return ret;
}

TestSuite(board_num, .init = bt_setup, .fini = bt_teardown);

static struct dpa_board *open_at(const char *name, int *rc)
{
	char path[160];
	struct dpa_board_cfg cfg = {.path = path, .lib_version = BT_VERSION};
	struct dpa_board *b = NULL;

	snprintf(path, sizeof(path), "%s/%s", bt_dir, name);
	*rc = dpa_board_open(&cfg, &b, bt_err, sizeof(bt_err));
	return b;
}

Test(board_num, boards_differ)
{
	struct dpa_board *a, *b;
	int rc;

	a = open_at("a", &rc);
	cr_assert_eq(rc, 0);
	b = open_at("b", &rc);
	cr_assert_eq(rc, 0);
	cr_expect_neq(a->board_num, b->board_num);
	dpa_board_close(b);
	dpa_board_close(a);
}

Test(board_num, taken_over)
{
	struct dpa_board *a = bt_open(), *b = bt_open(), *c;

	cr_expect_geq(a->num_fd, 0);
	cr_expect_eq(b->num_fd, -1);
	dpa_board_close(a);
	dpa_board_reap(b);
	cr_expect_geq(b->num_fd, 0, "the next reap takes the number over");
	dpa_board_reap(b);
	c = bt_open();
	cr_expect_eq(c->num_fd, -1);
	dpa_board_close(b);
	a = bt_open();
	cr_expect_geq(a->num_fd, 0, "who comes next takes it over, too");
	dpa_board_close(a);
	dpa_board_close(c);
}

/* Count other descriptors of this process that hold the number. */
static int unnoted(const struct dpa_board *b)
{
	char name[64];
	int n = 0, len = snprintf(name, sizeof(name), "dpa-board-%u", b->board_num);

	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_un sa = {0};
		socklen_t size = sizeof(sa);

		if (fd != b->num_fd && !getsockname(fd, (struct sockaddr *)&sa, &size) &&
		    sa.sun_family == AF_UNIX && !memcmp(sa.sun_path + 1, name, (size_t)len))
			n++;
	}
	return n;
}

static _Atomic uint32_t claims, over;

static void *claimer(void *arg)
{
	while (!atomic_load(&over)) {
		dpa_board_num_claim(arg);
		atomic_fetch_add(&claims, 1);
	}
	return NULL;
}

/* A fork finds all descriptors recorded, and no thread claims one meanwhile. */
Test(board_num, held_around_fork, .timeout = 60)
{
	struct dpa_board *b = bt_open();
	uint64_t ino;
	pthread_t t;

	cr_assert_eq(pthread_create(&t, NULL, claimer, b), 0);
	for (int i = 0; i < 300; i++) {
		uint32_t was;

		dpa_board_num_hold(b);
		cr_assert_eq(unnoted(b), 0);
		cr_assert_eq(dpa_board_num_fd(b, true, &ino), -2);
		if (b->num_fd >= 0) /* so that a number can be claimed */
			close(b->num_fd);
		b->num_fd = -1;
		was = atomic_load(&claims);
		dpa_board_num_release(b);
		while (i % 2 && atomic_load(&claims) - was < 2)
			sched_yield();
	}
	atomic_store(&over, 1);
	pthread_join(t, NULL);
	dpa_board_num_claim(b);
	cr_expect_geq(b->num_fd, 0);
	dpa_board_close(b);
}

/* In a separate namespace, so that taking all numbers affects no other test. */
static void takes_all(void *arg)
{
	uint32_t num;
	bool had[256] = {false};
	int fd, last = -1;
	struct dpa_board *b;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWNET | CLONE_NEWUSER))
		_exit(77);
	for (int i = 0; i < 254; i++) {
		if (dpa_board_num_new(&num, &fd) || num < 1 || num > 254 || had[num])
			_exit(1);
		had[num] = true;
		last = fd;
	}
	if (dpa_board_num_new(&num, &fd) != ENOSPC || fd != -1)
		_exit(2);
	if (bt_try(&b, BT_VERSION) != ENOSPC || access(bt_path, F_OK) == 0)
		_exit(3);
	close(last);
	if (bt_try(&b, BT_VERSION))
		_exit(4);
	dpa_board_close(b);
}

Test(board_num, all_taken)
{
	int status = bt_wait(bt_fork(takes_all, NULL));

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		bt_skip("no network namespace is available");
	cr_expect_eq(status, 0, "status %#x", (unsigned)status);
}

/*
 * A descriptor of the application replaced that of the number, and its file has the same inode
 * number.
 */
Test(board_num, another_file_system_has_the_inode_number)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), at;
	struct dpa_board *b;
	uint64_t ino;

	cr_assert_geq(fd, 0);
	b = bt_open();
	dpa_board_num_claim(b);
	at = b->num_fd;
	cr_assert_geq(at, 0);
	with_ino = b->num_ino;
	cr_assert_eq(dup2(fd, at), at);
	with_fd = at;
	cr_expect_eq(dpa_board_num_fd(b, false, &ino), -1, "it is not the number's");
	dpa_board_close(b);
	cr_expect_neq(fcntl(at, F_GETFD), -1, "it was closed");
	with_fd = -1;
}
