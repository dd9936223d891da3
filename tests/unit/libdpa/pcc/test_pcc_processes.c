/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_pcc_processes.c - programs of several processes on one port: standby, take-over, and kills
 * at any time.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <doca_pcc.h>
#include <doca_telemetry_pcc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "own_board.h"
#include "program.h"

extern struct doca_pcc_app *program_app;

enum { DCQCN = 15 };

TestSuite(pcc_processes, .init = own_board_setup, .fini = own_board_teardown, .timeout = 100);

static struct doca_pcc *load(struct doca_dev *dev)
{
	struct doca_pcc *pcc;

	OK(doca_pcc_create(dev, &pcc));
	OK(doca_pcc_set_app(pcc, program_app));
	OK(doca_pcc_start(pcc));
	return pcc;
}

static doca_pcc_process_state_t state(struct doca_pcc *pcc)
{
	doca_pcc_process_state_t s;

	OK(doca_pcc_get_process_state(pcc, &s));
	return s;
}

/* Run a process that loads the program, reports it, and waits to be killed. */
static pid_t start_other(void)
{
	int fds[2];
	pid_t pid;
	char c;

	cr_assert(!pipe(fds));
	pid = fork();
	cr_assert(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		load(open_dpa0());
		if (write(fds[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(fds[1]);
	cr_assert_eq(read(fds[0], &c, 1), 1);
	close(fds[0]);
	return pid;
}

static void kill_other(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(pcc_processes, another_process_s_program_is_seen_and_gone_when_it_is_killed)
{
	pid_t pid = start_other();
	struct doca_dev *dev = open_dpa0();
	struct doca_telemetry_pcc *t;
	uint32_t id, n, v[63];
	uint8_t algo, counters;
	char text[128];

	OK(doca_telemetry_pcc_create(dev, &t));
	OK(doca_telemetry_pcc_get_algo_id(t, PROGRAM_SLOT, &id));
	cr_expect_eq(id, 0xabc);
	OK(doca_telemetry_pcc_get_algo_info(t, PROGRAM_SLOT, text));
	cr_expect_str_eq(text, "The test's algorithm");
	OK(doca_telemetry_pcc_get_algo_enable_status(t, PROGRAM_SLOT, &algo, &counters));
	cr_expect(algo && counters);
	OK(doca_telemetry_pcc_get_counters(t, PROGRAM_SLOT, &n, v));
	cr_expect_eq(n, 2);
	kill_other(pid);
	cr_expect_eq(doca_telemetry_pcc_get_algo_id(t, PROGRAM_SLOT, &id), DOCA_ERROR_BAD_STATE);
	cr_expect_eq(doca_telemetry_pcc_get_counters(t, PROGRAM_SLOT, &n, v), DOCA_ERROR_DRIVER);
	OK(doca_telemetry_pcc_get_algo_enable_status(t, DCQCN, &algo, &counters));
	cr_expect(algo && counters, "the built-in algorithm acts and counts again");
	OK(doca_telemetry_pcc_destroy(t));
	OK(doca_dev_close(dev));
}

Test(pcc_processes, standby_takes_over_from_a_killed_process)
{
	pid_t pid = start_other();
	struct doca_dev *dev = open_dpa0();
	struct doca_pcc *pcc = load(dev);

	cr_expect_eq(state(pcc), DOCA_PCC_PS_STANDBY);
	kill_other(pid);
	OK(doca_pcc_wait(pcc, -1));
	cr_expect_eq(state(pcc), DOCA_PCC_PS_ACTIVE);
	OK(doca_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
}

Test(pcc_processes, one_that_stops_leaves_the_port_to_another)
{
	pid_t pid = start_other();
	struct doca_dev *dev = open_dpa0();
	struct doca_pcc *pcc = load(dev);

	cr_expect_eq(state(pcc), DOCA_PCC_PS_STANDBY);
	OK(doca_pcc_stop(pcc));
	kill_other(pid);
	for (int i = 0; i < 20; i++) {
		OK(doca_pcc_start(pcc));
		cr_expect_eq(state(pcc), DOCA_PCC_PS_ACTIVE);
		OK(doca_pcc_stop(pcc));
	}
	OK(doca_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
}

/* Load and unload until killed, at any instruction. */
static void restless(void)
{
	struct doca_dev *dev = open_dpa0();

	for (;;) {
		struct doca_pcc *pcc = load(dev);

		OK(doca_pcc_destroy(pcc));
	}
}

/* Forked while no device is open: a child would get that of its parent, which it cannot use. */
Test(pcc_processes, killed_at_any_time_it_leaves_the_port_usable)
{
	uint32_t seed = 1;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		struct doca_dev *dev;
		struct doca_pcc *pcc;
		int status;

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			restless();
		}
		seed = seed * 1103515245 + 12345;
		poll(NULL, 0, 20 + (int)(seed >> 16) % 60); /* any moment is suitable */
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		dev = open_dpa0();
		pcc = load(dev);
		cr_expect_eq(state(pcc), DOCA_PCC_PS_ACTIVE);
		OK(doca_pcc_destroy(pcc));
		OK(doca_dev_close(dev));
	}
}
