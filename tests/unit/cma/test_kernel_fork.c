/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_kernel_fork.c - fork() while another thread is in the kernel's rdma_cm. No id belongs to
 * dpa0, so dpa0 was never opened.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include "model.h"
#include "util.h"

#ifndef __SANITIZE_THREAD__ /* has no threads after a fork */

static int fd, forker;
static atomic_bool is_inside, forked;

static void setup(void)
{
	model_install();
	fd = channel_open(O_CLOEXEC);
	forker = (int)gettid();
}

TestSuite(cma_kernel_fork, .init = setup);

/* Stay in the kernel until the fork waits for this thread, or is done. */
static void stay_inside(void)
{
	if (gettid() == getpid())
		return; /* the child closes its copies */
	atomic_store(&is_inside, true);
	while (!atomic_load(&forked) && !sleeps(forker))
		sched_yield();
}

/* Fork while another thread is in the kernel by fn, and run check() in the child. */
static void fork_during(void *(*fn)(void *), bool (*check)(void))
{
	int status;
	pthread_t t;
	pid_t pid;

	model.inside = stay_inside;
	cr_assert_eq(pthread_create(&t, NULL, fn, NULL), 0);
	while (!atomic_load(&is_inside))
		sched_yield();
	pid = fork();
	if (!pid) {
		model.inside = NULL;
		alarm(20); /* ends a child that hangs */
		_exit(!check());
	}
	atomic_store(&forked, true);
	pthread_join(t, NULL);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(!WIFSIGNALED(status), "the child hangs");
	cr_assert_eq(WEXITSTATUS(status), 0);
}

static void *create_one(void *arg)
{
	(void)create(fd, UID, PS_TCP, QP_RC);
	return arg;
}

static bool can_create(void)
{
	uint32_t id;

	return !try_create(fd, UID, PS_TCP, QP_RC, &id);
}

Test(cma_kernel_fork, during_a_command)
{
	fork_during(create_one, can_create);
}

static bool has_no_file(void)
{
	return !model_open_files();
}

static void *open_one(void *arg)
{
	(void)channel_open(O_CLOEXEC);
	return arg;
}

Test(cma_kernel_fork, during_an_open)
{
	fork_during(open_one, has_no_file);
	cr_assert_eq(model_open_files(), 2, "the parent's");
}

static void *close_it(void *arg)
{
	channel_close(fd);
	return arg;
}

Test(cma_kernel_fork, during_a_close)
{
	(void)channel_open(O_CLOEXEC);
	fork_during(close_it, has_no_file);
	cr_assert_eq(model_open_files(), 1, "the parent's");
}
#endif
