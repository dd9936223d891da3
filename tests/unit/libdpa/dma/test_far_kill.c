/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_far_kill.c - an exporter that is another process: it is killed or stopped in the middle. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "far_owner.h"
#include "far_rig.h"

enum { QUEUE = 20 };

static pid_t owner;

/* Starts the exporter's process, which owns the far memory from now on. */
static void start_owner(void)
{
	posix_spawn_file_actions_t files;
	char *argv[] = {FAR_OWNER, NULL};
	struct far_owner o;
	int fds[2];

	cr_assert(!pipe2(fds, O_CLOEXEC));
	cr_assert(!posix_spawn_file_actions_init(&files));
	cr_assert(!posix_spawn_file_actions_adddup2(&files, fds[1], STDOUT_FILENO));
	cr_assert(!posix_spawn(&owner, FAR_OWNER, &files, NULL, argv, environ));
	posix_spawn_file_actions_destroy(&files);
	close(fds[1]);
	cr_assert_eq(read(fds[0], &o, sizeof(o)), (ssize_t)sizeof(o));
	close(fds[0]);
	memcpy(rig.blob, o.blob, o.len);
	rig.len = o.len;
	rig.far = o.mem;
}

static void end_owner(int sig)
{
	int status;

	cr_assert(!kill(owner, sig));
	cr_assert_eq(waitpid(owner, &status, WUNTRACED), owner); /* all its threads are stopped */
	cr_assert(sig == SIGKILL ? WIFSIGNALED(status) : WIFSTOPPED(status));
}

static void setup(void)
{
	memset(&rig, 0, sizeof(rig));
	start_owner();
	far_open();
	OK(doca_mmap_create_from_export(NULL, rig.blob, rig.len, rig.dev, &rig.import));
}

static void teardown(void)
{
	rig.far = NULL; /* it was never this process's */
	far_teardown();
}

TestSuite(dma_far_kill, .timeout = 120);

static void submit(size_t n, int number)
{
	if (number % 2)
		far_submit(far_data(rig.map, rig.near, n), far_room(rig.import, rig.far, n),
			   (uint64_t)number);
	else
		far_submit(far_data(rig.import, rig.far, n), far_room(rig.map, rig.near, n),
			   (uint64_t)number);
}

/* Check that each copy succeeds, fails by the exporter's end, or ends with the context. */
static void judge(void)
{
	int i = 0;

	while (i < QUEUE && rig.status[i] == DOCA_SUCCESS)
		i++;
	cr_assert(i == QUEUE || rig.status[i] == DOCA_ERROR_IO_FAILED, "%s",
		  doca_error_get_name(rig.status[i]));
	while (++i < QUEUE)
		cr_assert_eq(rig.status[i], DOCA_ERROR_SHUTDOWN);
}

static void kill_round(int round)
{
	const size_t n = round % 3 == 0 ? 100 : round % 3 == 1 ? 30000 : 3 << 20;

	for (int i = 0; i < QUEUE; i++)
		submit(n, i);
	for (int i = 0; i < round * 2; i++)
		doca_pe_progress(rig.pe);
	end_owner(SIGKILL);
	far_await(QUEUE);
	judge();
	if (rig.failed)
		far_restart();
	submit(n, 0); /* and the next one finds no exporter */
	far_await(QUEUE + 1);
	cr_assert_eq(rig.status[0], DOCA_ERROR_IO_FAILED);
	far_restart();
}

/* Before the link, during its exchange, during the copies. */
#define KILLED(n)                                                                                  \
	Test(dma_far_kill, killed_##n, .init = setup, .fini = teardown)                            \
	{                                                                                          \
		kill_round(n);                                                                     \
	}
KILLED(0)
KILLED(1)
KILLED(2)
KILLED(3)
KILLED(4)
KILLED(5)
KILLED(10)
KILLED(11)
KILLED(12)
KILLED(40)
KILLED(41)
KILLED(42)

/* It is only stopped: the copies wait, and the importer's program can end them. */
Test(dma_far_kill, stopped, .init = setup, .fini = teardown)
{
	cr_assert_eq(far_copy(far_data(rig.import, rig.far, 100), far_room(rig.map, rig.near, 100)),
		     DOCA_SUCCESS);
	cr_assert_eq(rig.near[99], FAR_OWNER_BYTE);
	end_owner(SIGSTOP);
	for (int i = 0; i < QUEUE; i++)
		submit(100, i);
	for (int i = 0; i < 1000; i++)
		doca_pe_progress(rig.pe);
	doca_ctx_stop(rig.ctx);
	far_await(QUEUE + 1);
	for (int i = 0; i < QUEUE; i++)
		cr_assert(!rig.status[i] || rig.status[i] == DOCA_ERROR_SHUTDOWN);
	far_restart();
	cr_assert(!kill(owner, SIGCONT));
	cr_assert_eq(far_copy(far_data(rig.import, rig.far, 100), far_room(rig.map, rig.near, 100)),
		     DOCA_SUCCESS);
	end_owner(SIGKILL);
}

/* It is stopped before the link: the exchange has a limit. */
Test(dma_far_kill, stopped_before, .init = setup, .fini = teardown)
{
	end_owner(SIGSTOP);
	cr_assert_eq(far_copy(far_data(rig.import, rig.far, 100), far_room(rig.map, rig.near, 100)),
		     DOCA_ERROR_IO_FAILED);
	end_owner(SIGKILL);
}
