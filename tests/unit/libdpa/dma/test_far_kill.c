/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_far_kill.c - an exporter that is another process: it is killed or stopped in the middle. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "far_rig.h"
#include "../open_dev.h"

enum { QUEUE = 20 };

static pid_t owner;

/* Message of the exporter: its export, and the address of its memory. */
struct told {
	char blob[512];
	size_t len;
	char *mem;
};

static void put(int fd, const struct told *t)
{
	if (write(fd, t, sizeof(*t)) != sizeof(*t))
		_exit(1);
	pause();
	_exit(1);
}

/* Run the exporter's process: it does nothing after its export. */
static void export_and_wait(int fd)
{
	struct told t = {.mem = calloc(1, FAR_MEM)};
	const void *blob;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rig.dev = open_dev("dpa0");
	memset(t.mem, 0x5a, FAR_MEM);
	OK(doca_mmap_export_pci(far_map(t.mem, DOCA_ACCESS_FLAG_PCI_READ_WRITE), rig.dev, &blob,
				&t.len));
	memcpy(t.blob, blob, t.len);
	put(fd, &t);
}

/* Forked before this process has opened anything; the child owns the far memory from now on. */
static void start_owner(void)
{
	struct told t;
	int fds[2];

	cr_assert(!pipe(fds));
	owner = fork();
	cr_assert(owner >= 0);
	if (!owner)
		export_and_wait(fds[1]);
	close(fds[1]);
	cr_assert_eq(read(fds[0], &t, sizeof(t)), (ssize_t)sizeof(t));
	close(fds[0]);
	memcpy(rig.blob, t.blob, t.len);
	rig.len = t.len;
	rig.far = t.mem;
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
	cr_assert_eq(rig.near[99], 0x5a);
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
