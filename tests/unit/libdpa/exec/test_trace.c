/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_trace.c - trace and log files. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rig.h"

TestSuite(trace, .timeout = 60);

static int lines_of(const char *text)
{
	int n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

Test(trace, flush_writes_and_stop_writes_the_rest)
{
	char path[64];
	uint64_t ret;
	struct rig r;

	exec_new_file(path);
	rig_create(&r, test_app);
	OK(doca_dpa_trace_file_set_path(r.dpa, path));
	rig_go(&r, sizeof(struct exec_shared));
	OK(doca_dpa_rpc(r.dpa, &rpc_trace, &ret, 3ull, 0ull));
	cr_assert_eq(lines_of(exec_file(path)), 0);
	OK(doca_dpa_rpc(r.dpa, &rpc_trace, &ret, 2ull, 1ull));
	cr_assert_eq(lines_of(exec_file(path)), 5, "what was flushed is out before the RPC ends");
	cr_assert(strstr(exec_file(path),
			 "/  0/[DOCA][DPA TRACE] 0x2 0x2 0xabcdef 0xffffffffffffffff 0x5\n"));
	OK(doca_dpa_rpc(r.dpa, &rpc_trace, &ret, 4ull, 0ull));
	OK(doca_dpa_stop(r.dpa));
	cr_assert_eq(lines_of(exec_file(path)), 9);
	OK(doca_dpa_start(r.dpa));
	OK(doca_dpa_rpc(r.dpa, &rpc_trace, &ret, 1ull, 0ull));
	rig_destroy(&r);
	cr_assert_eq(lines_of(exec_file(path)), 10);
	unlink(path);
}

/* More than the buffer holds: nothing is lost, the writer keeps up or the EU waits for it. */
Test(trace, a_full_buffer_is_written)
{
	char path[64];
	uint64_t ret;
	struct rig r;

	exec_new_file(path);
	rig_create(&r, test_app);
	OK(doca_dpa_trace_file_set_path(r.dpa, path));
	rig_go(&r, sizeof(struct exec_shared));
	OK(doca_dpa_rpc(r.dpa, &rpc_trace, &ret, 2000ull, 0ull));
	rig_destroy(&r);
	cr_assert_eq(lines_of(exec_file(path)), 2000);
	unlink(path);
}

Test(trace, paths)
{
	char log[64], trace[64], buf[64];
	uint32_t len = sizeof(buf);
	struct rig r;

	exec_new_file(log);
	exec_new_file(trace);
	rig_create(&r, test_app);
	OK(doca_dpa_log_file_get_path(r.dpa, buf, &len));
	cr_assert_str_eq(buf, "");
	cr_assert_eq(len, 1u);
	IS(doca_dpa_log_file_set_path(NULL, log), INVALID_VALUE);
	IS(doca_dpa_log_file_set_path(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_log_file_set_path(r.dpa, ""), INVALID_VALUE);
	IS(doca_dpa_log_file_set_path(r.dpa, "/nonexistent/file"), OPERATING_SYSTEM);
	IS(doca_dpa_trace_file_set_path(NULL, trace), INVALID_VALUE);
	IS(doca_dpa_trace_file_set_path(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_trace_file_set_path(r.dpa, "/nonexistent/file"), OPERATING_SYSTEM);
	OK(doca_dpa_log_file_set_path(r.dpa, trace));
	OK(doca_dpa_log_file_set_path(r.dpa, log)); /* again: the last one counts */
	OK(doca_dpa_trace_file_set_path(r.dpa, trace));
	IS(doca_dpa_log_file_set_path(r.dpa, "/nonexistent/file"), OPERATING_SYSTEM);
	IS(doca_dpa_log_file_get_path(NULL, buf, &len), INVALID_VALUE);
	IS(doca_dpa_log_file_get_path(r.dpa, NULL, &len), INVALID_VALUE);
	IS(doca_dpa_log_file_get_path(r.dpa, buf, NULL), INVALID_VALUE);
	len = 5;
	IS(doca_dpa_log_file_get_path(r.dpa, buf, &len), INVALID_VALUE);
	cr_assert_eq(len, strlen(log) + 1);
	OK(doca_dpa_log_file_get_path(r.dpa, buf, &len));
	cr_assert_str_eq(buf, log);
	len = 5;
	IS(doca_dpa_trace_file_get_path(r.dpa, buf, &len), INVALID_VALUE);
	IS(doca_dpa_trace_file_get_path(NULL, buf, &len), INVALID_VALUE);
	OK(doca_dpa_trace_file_get_path(r.dpa, buf, &len));
	cr_assert_str_eq(buf, trace);
	rig_go(&r, sizeof(struct exec_shared));
	IS(doca_dpa_log_file_set_path(r.dpa, log), BAD_STATE);
	IS(doca_dpa_trace_file_set_path(r.dpa, trace), BAD_STATE);
	rig_destroy(&r);
	unlink(log);
	unlink(trace);
}

/* Without a file: the standard output, at the latest when the context stops. */
Test(trace, to_standard_output)
{
	char name[64];
	uint64_t ret;
	struct rig r;
	int keep;

	exec_new_file(name);
	fflush(stdout);
	keep = dup(1);
	cr_assert(freopen(name, "w", stdout));
	exec_rig_start(&r);
	OK(doca_dpa_rpc(r.dpa, &rpc_trace, &ret, 1ull, 0ull));
	OK(doca_dpa_rpc(r.dpa, &rpc_log, &ret, 1));
	rig_destroy(&r);
	fflush(stdout);
	dup2(keep, 1);
	close(keep);
	cr_assert(strstr(exec_file(name), "[DOCA][DPA TRACE] 0x0 0x2"));
	cr_assert(strstr(exec_file(name), "[DOCA][DPA DEVICE][INF] line 0\n"));
	unlink(name);
}

/* ---------------------------------------------------------- lost elements */

/* One line, for any number of overruns; again after the next start. */
Test(trace, a_full_completion_context_is_reported_once)
{
	static const char line[] = "[ERR] rpc_take: a completion context of 4 elements was full: "
				   "the oldest 3 are lost\n";
	char path[64];
	uint64_t h, found;
	const char *text;
	struct rig r;

	exec_new_file(path);
	rig_create(&r, test_app);
	OK(doca_dpa_log_file_set_path(r.dpa, path));
	rig_go(&r, sizeof(struct exec_shared));
	OK(doca_dpa_completion_create(r.dpa, 3, &r.comp));
	for (int start = 0; start < 2; start++) {
		OK(doca_dpa_completion_start(r.comp));
		OK(doca_dpa_completion_get_dpa_handle(r.comp, &h));
		OK(dpa_completion_get_ibv_cq(r.comp, &r.cq));
		for (int round = 0; round < 5; round++) {
			for (uint64_t i = 0; i < 7; i++)
				fake_push_recv(r.cq, i);
			for (uint64_t i = 0; i < 6; i++) {
				OK(doca_dpa_rpc(r.dpa, &rpc_take, &found, h));
				cr_assert_eq(found, i < 4, "round %d, %lu", round,
					     (unsigned long)i);
			}
		}
		OK(doca_dpa_completion_stop(r.comp));
	}
	rig_destroy(&r);
	text = exec_file(path);
	unlink(path);
	cr_assert(strstr(text, line), "%s", text);
	text = strstr(text, line) + strlen(line);
	cr_assert(strstr(text, line), "%s", text);
	text = strstr(text, line) + strlen(line);
	cr_assert_str_eq(text, "");
}
