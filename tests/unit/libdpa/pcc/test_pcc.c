/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_pcc.c - doca_pcc: life cycle, settings, states, the mailbox, and the documented errors. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "port.h"
#include <doca_pcc.h>
#include <libflexio/flexio_ver.h>
#define FLEXIO_VER_USED FLEXIO_VER(25, 4, 0)
#include <libflexio/flexio.h>
#include "program.h"

extern struct doca_pcc_app *program_app;
extern struct doca_dpa_app *test_app; /* of DPA kernels: no congestion control */

static struct doca_dev *dev;
static struct doca_pcc *pcc;
static char dir[] = "/tmp/test_pcc_XXXXXX";

static void setup(void)
{
	uint32_t eus[] = {3, 5};
	char core[64];

	cr_assert(mkdtemp(dir));
	snprintf(core, sizeof(core), "%s/core", dir);
	port_reset();
	dev = open_dpa0();
	OK(doca_pcc_create(dev, &pcc));
	OK(doca_pcc_set_app(pcc, program_app));
	OK(doca_pcc_set_thread_affinity(pcc, 2, eus));
	OK(doca_pcc_set_dev_coredump_file(pcc, core));
}

static void teardown(void)
{
	char command[64];

	OK(doca_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
	cr_assert_eq(fake_opens(), 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(pcc, .init = setup, .fini = teardown, .timeout = 60);

static doca_pcc_process_state_t state(void)
{
	doca_pcc_process_state_t s;

	OK(doca_pcc_get_process_state(pcc, &s));
	return s;
}

Test(pcc, devices)
{
	struct doca_devinfo **list;
	struct doca_pcc *none;
	struct doca_dev *other;
	uint32_t n;

	OK(doca_devinfo_get_is_pcc_supported(doca_dev_as_devinfo(dev)));
	IS(doca_devinfo_get_is_pcc_supported(NULL), INVALID_VALUE);
	OK(doca_pcc_np_cap_is_supported(doca_dev_as_devinfo(dev)));
	IS(doca_pcc_np_cap_is_supported(NULL), INVALID_VALUE);
	OK(doca_devinfo_create_list(&list, &n));
	IS(doca_devinfo_get_is_pcc_supported(list[0]), NOT_SUPPORTED);
	OK(doca_dev_open(list[0], &other));
	IS(doca_pcc_create(other, &none), NOT_SUPPORTED);
	IS(doca_pcc_np_cap_is_supported(list[0]), NOT_SUPPORTED);
	OK(doca_pcc_cap_is_ccmad_custom_header_supported(doca_dev_as_devinfo(dev)));
	IS(doca_pcc_cap_is_ccmad_custom_header_supported(NULL), INVALID_VALUE);
	IS(doca_pcc_cap_is_ccmad_custom_header_supported(list[0]), NOT_SUPPORTED);
	OK(doca_pcc_cap_is_probe_priority_change_supported(doca_dev_as_devinfo(dev)));
	IS(doca_pcc_cap_is_probe_priority_change_supported(NULL), INVALID_VALUE);
	IS(doca_pcc_cap_is_probe_priority_change_supported(list[0]), NOT_SUPPORTED);
	IS(doca_pcc_np_create(other, &none), NOT_SUPPORTED);
	OK(doca_dev_close(other));
	OK(doca_devinfo_destroy_list(list));
	IS(doca_pcc_create(NULL, &none), INVALID_VALUE);
	IS(doca_pcc_create(dev, NULL), INVALID_VALUE);
	IS(doca_pcc_np_create(NULL, &none), INVALID_VALUE);
	IS(doca_pcc_destroy(NULL), INVALID_VALUE);
	IS(doca_dev_close(dev), IN_USE);
}

Test(pcc, settings)
{
	uint32_t eus[300] = {0}, n;
	static char numbers[] = "%#lx %lu %d %x %%\n", six[] = "%d%d%d%d%d%d", string[] = "%s";
	char *good[] = {numbers, NULL}, *many[] = {six, NULL}, *bad[] = {string, NULL};

	OK(doca_pcc_get_min_num_threads(pcc, &n));
	cr_expect_eq(n, 1);
	IS(doca_pcc_get_min_num_threads(pcc, NULL), INVALID_VALUE);
	OK(doca_pcc_get_max_num_threads(pcc, &n));
	cr_expect_eq(n, 8, "the EUs of the test's adapter");
	IS(doca_pcc_get_max_num_threads(NULL, &n), INVALID_VALUE);
	IS(doca_pcc_set_thread_affinity(pcc, 9, eus), INVALID_VALUE);
	IS(doca_pcc_set_thread_affinity(pcc, 0, eus), INVALID_VALUE);
	IS(doca_pcc_set_thread_affinity(pcc, 1, NULL), INVALID_VALUE);
	eus[1] = 8;
	IS(doca_pcc_set_thread_affinity(pcc, 2, eus), INVALID_VALUE);
	IS(doca_pcc_set_app(pcc, NULL), INVALID_VALUE);
	IS(doca_pcc_set_app(NULL, program_app), INVALID_VALUE);
	OK(doca_pcc_set_trace_message(pcc, good));
	IS(doca_pcc_set_trace_message(pcc, many), INVALID_VALUE);
	IS(doca_pcc_set_trace_message(pcc, bad), INVALID_VALUE);
	IS(doca_pcc_set_trace_message(pcc, NULL), INVALID_VALUE);
	OK(doca_pcc_set_print_buffer_size(pcc, 1 << 20));
	IS(doca_pcc_set_print_buffer_size(pcc, 0), INVALID_VALUE);
	OK(doca_pcc_set_dev_coredump_file(pcc, "/tmp/test_pcc_core"));
	IS(doca_pcc_set_dev_coredump_file(pcc, ""), INVALID_VALUE);
	OK(doca_pcc_set_mailbox(pcc, 4, 8));
	IS(doca_pcc_set_mailbox(pcc, 0, 0), INVALID_VALUE);
	OK(doca_pcc_start(pcc));
	IS(doca_pcc_set_app(pcc, program_app), BAD_STATE);
	IS(doca_pcc_set_thread_affinity(pcc, 1, eus), BAD_STATE);
	IS(doca_pcc_set_trace_message(pcc, good), BAD_STATE);
	IS(doca_pcc_set_print_buffer_size(pcc, 1), BAD_STATE);
	IS(doca_pcc_set_dev_coredump_file(pcc, "/tmp/x"), BAD_STATE);
	IS(doca_pcc_set_mailbox(pcc, 4, 8), BAD_STATE);
}

#define MAD_PAYLOAD DOCA_PCC_CCMAD_CUSTOM_HEADER_LOCATION_MAD_PAYLOAD

Test(pcc, probes)
{
	uint32_t n;

	OK(doca_pcc_cap_get_num_probe_format_slots(pcc, &n));
	cr_expect_eq(n, 1);
	OK(doca_pcc_set_ccmad_probe_packet_format(pcc, 0));
	IS(doca_pcc_set_ccmad_probe_packet_format(pcc, 1), INVALID_VALUE);
	OK(doca_pcc_rp_set_ccmad_remote_sw_handler(pcc, 0, false));
	OK(doca_pcc_rp_set_ccmad_remote_sw_handler(pcc, 0, true));
	IS(doca_pcc_rp_set_ccmad_remote_sw_handler(pcc, 1, true), INVALID_VALUE);
	OK(doca_pcc_set_ifa1_probe_packet_format(pcc, 0));
	OK(doca_pcc_set_ifa2_probe_packet_format(pcc, 0));
	OK(doca_pcc_set_ifa1_probe_marker(pcc, 0, UINT64_MAX));
	OK(doca_pcc_rp_set_ifa2_gns(pcc, 0, 1));
	IS(doca_pcc_np_set_ifa2_gns_ignore(pcc, 0, 1, 1), NOT_SUPPORTED);
	OK(doca_pcc_rp_set_ifa2_hop_limit(pcc, 0, 1));
	IS(doca_pcc_set_ifa1_probe_packet_format(pcc, 1), INVALID_VALUE);
	IS(doca_pcc_set_ifa2_probe_packet_format(pcc, 1), INVALID_VALUE);
	IS(doca_pcc_set_ifa1_probe_marker(pcc, 1, 1), INVALID_VALUE);
	IS(doca_pcc_rp_set_ifa2_gns(pcc, 1, 1), INVALID_VALUE);
	IS(doca_pcc_np_set_ifa2_gns_ignore(pcc, 1, 1, 1), INVALID_VALUE);
	IS(doca_pcc_rp_set_ifa2_hop_limit(pcc, 1, 1), INVALID_VALUE);
	OK(doca_pcc_rp_set_ccmad_custom_header_size(pcc, 0, 15));
	IS(doca_pcc_rp_set_ccmad_custom_header_size(pcc, 0, 16), INVALID_VALUE);
	IS(doca_pcc_rp_set_ccmad_custom_header_size(pcc, 1, 1), INVALID_VALUE);
	OK(doca_pcc_rp_set_ccmad_custom_header_location(pcc, 0, MAD_PAYLOAD));
	IS(doca_pcc_rp_set_ccmad_custom_header_location(pcc, 1, MAD_PAYLOAD), INVALID_VALUE);
	IS(doca_pcc_rp_set_ccmad_custom_header_location(pcc, 0, 0), INVALID_VALUE);
	OK(doca_pcc_rp_set_ccmad_probe_priority_change_en(pcc, 0, true));
	IS(doca_pcc_rp_set_ccmad_probe_priority_change_en(pcc, 1, true), INVALID_VALUE);
	OK(doca_pcc_start(pcc));
	IS(doca_pcc_rp_set_ccmad_custom_header_size(pcc, 0, 1), BAD_STATE);
	IS(doca_pcc_rp_set_ccmad_custom_header_location(pcc, 0, MAD_PAYLOAD), BAD_STATE);
	IS(doca_pcc_rp_set_ccmad_probe_priority_change_en(pcc, 0, false), BAD_STATE);
	IS(doca_pcc_set_ccmad_probe_packet_format(pcc, 0), BAD_STATE);
	IS(doca_pcc_rp_set_ccmad_remote_sw_handler(pcc, 0, false), BAD_STATE);
	IS(doca_pcc_set_ifa1_probe_packet_format(pcc, 0), BAD_STATE);
	IS(doca_pcc_set_ifa2_probe_packet_format(pcc, 0), BAD_STATE);
	IS(doca_pcc_set_ifa1_probe_marker(pcc, 0, UINT64_MAX), BAD_STATE);
	IS(doca_pcc_rp_set_ifa2_gns(pcc, 0, 1), BAD_STATE);
	IS(doca_pcc_np_set_ifa2_gns_ignore(pcc, 0, 1, 1), BAD_STATE);
	IS(doca_pcc_rp_set_ifa2_hop_limit(pcc, 0, 1), BAD_STATE);
}

Test(pcc, start_and_stop)
{
	doca_pcc_process_state_t s;
	struct doca_pcc *more;
	uint32_t populated, enabled, disabled;
	const struct dpa_pcc_slot *slots;

	IS(doca_pcc_get_process_state(pcc, &s), BAD_STATE);
	IS(doca_pcc_wait(pcc, 0), BAD_STATE);
	IS(doca_pcc_stop(pcc), DRIVER);
	OK(doca_pcc_start(pcc));
	IS(doca_pcc_start(pcc), DRIVER);
	cr_expect_eq(state(), DOCA_PCC_PS_ACTIVE);
	slots = port_slots(&populated, &enabled, &disabled);
	cr_assert(slots);
	cr_expect_eq(populated, 1 << PROGRAM_SLOT | 1 << 3);
	cr_expect_eq(enabled, 1 << PROGRAM_SLOT);
	cr_expect_eq(disabled, 1 << DPA_PCC_EV_ACK);
	cr_expect_eq(slots[PROGRAM_SLOT].id, 0xabc);
	cr_expect_str_eq(slots[PROGRAM_SLOT].text, "The test's algorithm");
	cr_expect_str_eq(slots[PROGRAM_SLOT].params[0].text, "a parameter");
	cr_expect_str_eq(slots[PROGRAM_SLOT].counters[0], "events");
	cr_expect_eq(port_params(PROGRAM_SLOT)[0], 5, "the default");
	/* one image for each process */
	OK(doca_pcc_create(dev, &more));
	IS(doca_pcc_start(more), INVALID_VALUE);
	OK(doca_pcc_set_app(more, program_app));
	IS(doca_pcc_start(more), DRIVER);
	OK(doca_pcc_destroy(more));
	OK(doca_pcc_stop(pcc));
	cr_expect_not(port_slots(&populated, &enabled, &disabled));
	for (int i = 0; i < 100; i++) {
		OK(doca_pcc_start(pcc));
		OK(doca_pcc_stop(pcc));
	}
	IS(doca_pcc_start(NULL), INVALID_VALUE);
	IS(doca_pcc_stop(NULL), INVALID_VALUE);
	IS(doca_pcc_get_process_state(pcc, NULL), INVALID_VALUE);
	IS(doca_pcc_wait(NULL, 0), INVALID_VALUE);
	port_fail_load(ENOMEM);
	IS(doca_pcc_start(pcc), NO_MEMORY);
}

/* As the public application reads it. */
Test(pcc, an_application_has_its_name)
{
	uint64_t none[8] = {0};

	cr_expect_str_eq(flexio_app_get_name((struct flexio_app *)program_app), "program_app");
	cr_expect_null(flexio_app_get_name((struct flexio_app *)none));
	cr_expect_null(flexio_app_get_name(NULL));
}

Test(pcc, an_application_of_kernels_is_no_program)
{
	OK(doca_pcc_set_app(pcc, (struct doca_pcc_app *)test_app));
	IS(doca_pcc_start(pcc), NOT_SUPPORTED);
	OK(doca_pcc_set_app(pcc, program_app));
	OK(doca_pcc_start(pcc));
}

Test(pcc, standby_takes_over)
{
	uint32_t n, ret;

	OK(doca_pcc_set_mailbox(pcc, 4, 8));
	port_occupy(true);
	OK(doca_pcc_start(pcc));
	cr_expect_eq(state(), DOCA_PCC_PS_STANDBY);
	IS(doca_pcc_mailbox_send(pcc, 4, &n, &ret), BAD_STATE);
	port_occupy(false);
	OK(doca_pcc_wait(pcc, -1));
	cr_expect_eq(state(), DOCA_PCC_PS_ACTIVE);
	OK(doca_pcc_stop(pcc));
	port_occupy(true);
	OK(doca_pcc_start(pcc));
	OK(doca_pcc_stop(pcc));
}

Test(pcc, a_wait_that_runs_out_ends_the_program)
{
	uint32_t a, b, c;

	OK(doca_pcc_start(pcc));
	OK(doca_pcc_wait(pcc, 0));
	cr_expect_eq(state(), DOCA_PCC_PS_ACTIVE);
	OK(doca_pcc_wait(pcc, 1));
	cr_expect_eq(state(), DOCA_PCC_PS_DEACTIVATED);
	cr_expect_not(port_slots(&a, &b, &c));
	OK(doca_pcc_wait(pcc, -1));
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* Programs end by Ctrl-C, with a handler of signal(), which restarts calls. */
Test(pcc, a_signal_ends_a_wait)
{
	signal(SIGALRM, on_alarm);
	OK(doca_pcc_start(pcc));
	ualarm(20000, 20000); /* again: the first may come before the wait */
	OK(doca_pcc_wait(pcc, -1));
	ualarm(0, 0);
	cr_expect_eq(state(), DOCA_PCC_PS_ACTIVE);
}

/* A descriptor for it is needed. */
Test(pcc, without_descriptors)
{
	struct rlimit old, none;
	struct doca_pcc *more;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	IS(doca_pcc_create(dev, &more), DRIVER);
	IS(doca_pcc_np_create(dev, &more), DRIVER);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
}

Test(pcc, mailbox)
{
	uint32_t *in, *out, n, ret;
	void *buf;

	IS(doca_pcc_mailbox_get_request_buffer(pcc, &buf), BAD_STATE);
	IS(doca_pcc_mailbox_get_response_buffer(pcc, &buf), BAD_STATE);
	IS(doca_pcc_mailbox_send(pcc, 4, &n, &ret), BAD_STATE);
	OK(doca_pcc_start(pcc));
	IS(doca_pcc_mailbox_get_request_buffer(pcc, &buf), INITIALIZATION);
	IS(doca_pcc_mailbox_get_response_buffer(pcc, &buf), INITIALIZATION);
	IS(doca_pcc_mailbox_send(pcc, 4, &n, &ret), INITIALIZATION);
	OK(doca_pcc_stop(pcc));
	OK(doca_pcc_set_mailbox(pcc, 4, 8));
	OK(doca_pcc_start(pcc));
	OK(doca_pcc_mailbox_get_request_buffer(pcc, &buf));
	in = buf;
	OK(doca_pcc_mailbox_get_response_buffer(pcc, &buf));
	out = buf;
	IS(doca_pcc_mailbox_get_request_buffer(pcc, NULL), INVALID_VALUE);
	IS(doca_pcc_mailbox_get_response_buffer(NULL, &buf), INVALID_VALUE);
	*in = 100;
	OK(doca_pcc_mailbox_send(pcc, 4, &n, &ret));
	cr_expect_eq(n, 8);
	cr_expect_eq(ret, 0);
	cr_expect_eq(out[0], 100 + 4 + 8 + 1);
	cr_expect_eq(out[1], 3000, "the port's counters");
	*in = 1;
	OK(doca_pcc_mailbox_send(pcc, 4, &n, &ret));
	cr_expect_eq(ret, 1);
	IS(doca_pcc_mailbox_send(pcc, 5, &n, &ret), INVALID_VALUE);
	IS(doca_pcc_mailbox_send(pcc, 4, NULL, &ret), INVALID_VALUE);
	*in = PROGRAM_FAULT;
	IS(doca_pcc_mailbox_send(pcc, 4, &n, &ret), DRIVER);
	OK(doca_pcc_wait(pcc, -1));
	cr_expect_eq(state(), DOCA_PCC_PS_ERROR);
}

Test(pcc, debugging)
{
	IS(doca_pcc_dump_debug(pcc), BAD_STATE);
	IS(doca_pcc_enable_debug(pcc, true), BAD_STATE);
	OK(doca_pcc_start(pcc));
	IS(doca_pcc_dump_debug(pcc), BAD_STATE);
	OK(doca_pcc_enable_debug(pcc, true));
	OK(doca_pcc_dump_debug(pcc));
	OK(doca_pcc_enable_debug(pcc, false));
	IS(doca_pcc_dump_debug(pcc), BAD_STATE);
	IS(doca_pcc_dump_debug(NULL), INVALID_VALUE);
	IS(doca_pcc_enable_debug(NULL, true), INVALID_VALUE);
}
