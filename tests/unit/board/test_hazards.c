/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_hazards.c - actions of an application that the library does not see: closefrom(), fork(),
 * raw clone.
 */
#include "util.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

TestSuite(board_hazards, .init = bt_setup, .fini = bt_teardown);

struct pair {
	struct bt_signal up, go;
};

static void pair_init(struct pair *p)
{
	bt_signal_init(&p->up);
	bt_signal_init(&p->go);
}

static struct dpa_board *child_open(void)
{
	struct dpa_board *b;

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	return b;
}

/* Close descriptors that it did not open; other files take the numbers. */
static void closes_everything(void *arg)
{
	struct pair *p = arg;
	struct dpa_board *b = child_open();
	uint32_t page, slot, qpn;
	int fd = b->fd, num = b->num_fd, null = open("/dev/null", O_RDONLY);

	dup2(null, fd);
	if (num >= 0)
		dup2(null, num);
	bt_signal_send(&p->up);
	bt_signal_wait(&p->go);
	if (dpa_board_uar_alloc(b, &page, &slot) || dpa_board_qpn_alloc(b, &qpn))
		_exit(3);
	dpa_board_reap(b);
	dpa_board_close(b);
	/* the other files are still open */
	if (fcntl(fd, F_GETFD) < 0 || (num >= 0 && fcntl(num, F_GETFD) < 0))
		_exit(4);
}

Test(board_hazards, closefrom)
{
	struct dpa_board *b;
	struct pair p;
	pid_t pid;

	pair_init(&p);
	pid = bt_fork(closes_everything, &p);
	bt_signal_wait(&p.up);
	b = bt_open();
	cr_expect_eq(bt_procs(b), 2u, "it lives though its descriptors are gone");
	cr_expect(dpa_board_alive(b, 0, atomic_load(&dpa_board_proc(b, 0)->gen)));
	bt_signal_send(&p.go);
	cr_expect_eq(bt_wait(pid), 0);
	cr_expect_eq(bt_procs(b), 1u);
	cr_expect_eq(bt_uars(b), 0u);
	cr_expect_eq(bt_qpns(b), 0u);
	dpa_board_close(b);
}

/* Have a child that keeps all descriptors, and dies before the child. */
static void leaves_child(void *arg, bool raw)
{
	struct pair *p = arg;
	uint32_t page, slot;
	struct dpa_board *b = child_open();
	long pid;

	dpa_board_uar_alloc(b, &page, &slot);
	pid = raw ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	if (pid == 0) {
		bt_signal_send(&p->up);
		bt_signal_wait(&p->go);
		bt_signal_send(&p->up);
		_exit(0);
	}
	bt_signal_wait(&p->go);
	kill(getpid(), SIGKILL);
}

static void leaves_forked(void *arg)
{
	leaves_child(arg, false);
}

static void leaves_cloned(void *arg)
{
	leaves_child(arg, true);
}

static void orphan(void (*fn)(void *))
{
	struct dpa_board *b;
	struct pair p;
	uint32_t gen;
	pid_t pid;

	pair_init(&p);
	pid = bt_fork(fn, &p);
	bt_signal_wait(&p.up);
	b = bt_open();
	gen = atomic_load(&dpa_board_proc(b, 0)->gen);
	cr_expect(dpa_board_alive(b, 0, gen));
	cr_expect_eq(bt_uars(b), 1u);
	bt_kill(pid);
	/* The grandchild still exists and has every descriptor of its parent. */
	cr_expect_not(dpa_board_alive(b, 0, gen), "dead though its child lives");
	cr_expect_eq(dpa_board_reap(b), 1);
	cr_expect_eq(bt_uars(b), 0u);
	bt_signal_send(&p.go);
	bt_signal_wait(&p.up);
	dpa_board_close(b);
}

Test(board_hazards, forked_child_outlives)
{
	orphan(leaves_forked);
}

Test(board_hazards, cloned_child_outlives)
{
	orphan(leaves_cloned);
}

/* A forked child releases everything, and opens its own board entry. */
static void abandons(void *arg)
{
	struct dpa_board *b = arg;
	uint32_t slot = b->slot, page, s;

	dpa_board_close(b); /* notices that it is in a child */
	b = child_open();
	if (b->slot == slot)
		_exit(3);
	if (dpa_board_uar_alloc(b, &page, &s))
		_exit(4);
	dpa_board_close(b);
}

Test(board_hazards, child_abandons)
{
	struct dpa_board *b = bt_open();
	uint32_t page, slot;

	cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect_eq(bt_wait(bt_fork(abandons, b)), 0);
	cr_expect_eq(bt_uars(b), 1u, "the parent's slot is untouched");
	cr_expect(dpa_board_alive(b, b->slot, b->gen));
	cr_expect_eq(access(bt_path, F_OK), 0);
	dpa_board_close(b);
}

static void stops(void *arg)
{
	struct pair *p = arg;

	child_open();
	bt_signal_send(&p->up);
	kill(getpid(), SIGSTOP);
}

/* A process that is only stopped is alive. */
Test(board_hazards, stopped_is_alive)
{
	struct dpa_board *b;
	struct pair p;
	uint32_t gen;
	int status;
	pid_t pid;

	pair_init(&p);
	pid = bt_fork(stops, &p);
	bt_signal_wait(&p.up);
	cr_assert_eq(waitpid(pid, &status, WUNTRACED), pid);
	cr_assert(WIFSTOPPED(status));
	b = bt_open();
	gen = atomic_load(&dpa_board_proc(b, 0)->gen);
	cr_expect(dpa_board_alive(b, 0, gen));
	cr_expect_eq(dpa_board_reap(b), 0);
	bt_kill(pid);
	cr_expect_not(dpa_board_alive(b, 0, gen));
	cr_expect_eq(dpa_board_reap(b), 1);
	dpa_board_close(b);
}

static void stops_steering(void *arg)
{
	uint16_t map[DPA_BOARD_QPN_BLOCKS];
	struct dpa_board *b = child_open();
	struct pair *p = arg;
	uint32_t want;

	if (dpa_board_steer_begin(b, map, &want))
		_exit(3);
	bt_signal_send(&p->up);
	kill(getpid(), SIGSTOP);
}

/* Giving the kernel a program takes long: a process that is stopped meanwhile blocks no other. */
Test(board_hazards, stopped_while_steering)
{
	uint16_t map[DPA_BOARD_QPN_BLOCKS];
	uint32_t page, slot, want;
	struct dpa_board *b;
	struct pair p;
	pid_t pid;

	pair_init(&p);
	pid = bt_fork(stops_steering, &p);
	bt_signal_wait(&p.up);
	b = bt_open();
	cr_expect_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect_eq(dpa_board_steer_begin(b, map, &want), EBUSY);
	bt_kill(pid);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(dpa_board_steer_begin(b, map, &want), 0, "round %d", i);
		dpa_board_steer_end(b, true, want);
	}
	dpa_board_close(b);
}
