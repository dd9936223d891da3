/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_telemetry.c - doca_telemetry_pcc on the real device, while another process changes the
 * state.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <doca_telemetry_pcc.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dpa_hw_pcc.h>
#include <dpadv.h>
#include "own_board.h"

enum { RTT = 14, DCQCN = 15 };

TestSuite(telemetry_real, .init = own_board_setup, .fini = own_board_teardown, .timeout = 60);

/* Look up dpa0, and its port's calls. */
static const struct dpa_pcc_ops *ops_of(void **port)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "dpa0"))
			ctx = ibv_open_device(list[i]);
	return ctx ? dpadv_query_pcc(ctx, port) : NULL;
}

Test(telemetry_real, a_fresh_adapter_has_two_algorithms)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_telemetry_pcc *pcc;
	uint32_t id, n, v[63];
	uint8_t algo, counters;
	char text[128];

	OK(doca_telemetry_pcc_create(dev, &pcc));
	cr_expect_eq(doca_telemetry_pcc_get_algo_id(pcc, 0, &id), DOCA_ERROR_BAD_STATE);
	OK(doca_telemetry_pcc_get_algo_id(pcc, RTT, &id));
	OK(doca_telemetry_pcc_get_algo_info(pcc, DCQCN, text));
	cr_expect(strstr(text, "DCQCN"));
	OK(doca_telemetry_pcc_start(pcc));
	OK(doca_telemetry_pcc_get_algo_enable_status(pcc, DCQCN, &algo, &counters));
	cr_expect(algo == 1 && counters == 1);
	OK(doca_telemetry_pcc_get_counters(pcc, DCQCN, &n, v));
	cr_expect_gt(n, 0);
	OK(doca_telemetry_pcc_stop(pcc));
	OK(doca_telemetry_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
}

/* Enable and disable the counters until killed. */
static pid_t start_changer(void)
{
	pid_t pid = fork();
	const struct dpa_pcc_ops *ops;
	void *port;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ops = ops_of(&port);
	while (ops) {
		ops->count(port, DCQCN, false);
		ops->count(port, DCQCN, true);
	}
	_exit(1);
}

/* Each call reports the state at that moment, or the documented error. */
Test(telemetry_real, another_process_disables_while_this_one_polls)
{
	pid_t pid = start_changer();
	struct doca_dev *dev = open_dpa0();
	struct doca_telemetry_pcc *pcc;
	uint32_t good = 0, off = 0, n, v[63];

	OK(doca_telemetry_pcc_create(dev, &pcc));
	while (good < 100 || off < 100) {
		doca_error_t ret = doca_telemetry_pcc_get_counters(pcc, DCQCN, &n, v);

		cr_assert(ret == DOCA_SUCCESS || ret == DOCA_ERROR_BAD_STATE);
		*(ret ? &off : &good) += 1;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	OK(doca_telemetry_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
}

Test(telemetry_real, a_change_by_another_process_is_seen)
{
	struct doca_dev *dev;
	struct doca_telemetry_pcc *pcc;
	uint8_t algo, counters;
	void *port;
	int status, go[2];
	pid_t pid;
	char c;

	/* forked before there is a thread: ThreadSanitizer requires that of a child with threads */
	cr_assert_eq(pipe(go), 0);
	pid = fork();
	if (!pid) {
		const struct dpa_pcc_ops *ops;

		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(2);
		ops = ops_of(&port);
		_exit(!ops || ops->enable(port, RTT, true));
	}
	close(go[0]);
	dev = open_dpa0();
	OK(doca_telemetry_pcc_create(dev, &pcc));
	cr_assert_eq(write(go[1], "", 1), 1);
	close(go[1]);
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
	OK(doca_telemetry_pcc_get_algo_enable_status(pcc, RTT, &algo, &counters));
	cr_expect_eq(algo, 1);
	OK(doca_telemetry_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
}
