/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_pcc_np.c - probes through a program of the notification point, and its end by a fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "port.h"
#include <doca_pcc.h>
#include "program.h"

extern struct doca_pcc_app *np_program_app, *program_app;

static struct doca_dev *dev;
static struct doca_pcc *pcc;
static char dir[] = "/tmp/test_np_XXXXXX";

static void setup(void)
{
	char core[64];

	cr_assert(mkdtemp(dir));
	snprintf(core, sizeof(core), "%s/core", dir);
	port_reset();
	dev = open_dpa0();
	OK(doca_pcc_np_create(dev, &pcc));
	OK(doca_pcc_set_app(pcc, np_program_app));
	OK(doca_pcc_set_mailbox(pcc, 4, 0));
	OK(doca_pcc_set_dev_coredump_file(pcc, core));
}

static void teardown(void)
{
	char command[64];

	OK(doca_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(pcc_np, .init = setup, .fini = teardown, .timeout = 60);

/* 60 bytes; the UDP header is at 14, the payload at 22. */
static void send_probe(uint32_t ring, uint8_t kind)
{
	struct dpa_pcc_probe p = {.size = 60, .l4 = 14, .payload = 22, .serial = 4};

	p.packet[0] = 0xaa;
	p.packet[14] = 0xbb;
	p.packet[22] = kind;
	port_probe(ring, &p);
}

static doca_pcc_process_state_t state(void)
{
	doca_pcc_process_state_t s;

	OK(doca_pcc_get_process_state(pcc, &s));
	return s;
}

Test(pcc_np, an_answer_is_made_of_the_probe)
{
	uint32_t rx = 2000; /* as in port.c */
	uint8_t a[12];

	OK(doca_pcc_start(pcc));
	cr_expect_eq(state(), DOCA_PCC_PS_ACTIVE);
	send_probe(1, 7);
	port_await(1);
	cr_assert(port_np_answer(1, a));
	cr_expect_arr_eq(a, ((uint8_t[]){7, 60, 46, 38, 0xaa, 0xbb, 1, 0}), 8);
	cr_expect_arr_eq(a + 8, &rx, 4);
}

/* TTL, VLAN, format slot, time of arrival (30 bits), and the priority of the answer. */
Test(pcc_np, calls_of_later_versions)
{
	struct dpa_pcc_probe p = {.size = 100, .l4 = 34, .payload = 42, .came = 0xfedcba98};
	uint32_t t2 = 0xfedcba98 & 0x3fffffff;
	uint8_t a[12];

	p.packet[12] = 0x08;
	p.packet[14 + 8] = 63;
	p.packet[42] = NP_PROGRAM_DESCRIBE;
	OK(doca_pcc_start(pcc));
	port_probe(1, &p);
	port_await(1);
	cr_assert(port_np_answer(1, a));
	cr_expect_arr_eq(a, ((uint8_t[]){63, 0, 0, 0}), 4);
	cr_expect_arr_eq(a + 4, &t2, 4);
	cr_expect_eq(a[8], 1);
	cr_expect_eq(port_np_dscp(1), 46);
	p.packet[12] = 0x86;
	p.packet[13] = 0xdd;
	p.packet[14 + 7] = 255;
	port_probe(2, &p);
	port_await(2);
	cr_assert(port_np_answer(2, a));
	cr_expect_eq(a[0], 255);
	send_probe(0, 1);
	port_await(3);
	cr_assert(port_np_answer(0, a));
	cr_expect_eq(port_np_dscp(0), DPA_PCC_DSCP_NONE);
}

Test(pcc_np, a_refusal_is_no_answer)
{
	uint8_t a[12];

	OK(doca_pcc_start(pcc));
	send_probe(0, NP_PROGRAM_REFUSE);
	port_await(1);
	cr_expect_not(port_np_answer(0, a));
	send_probe(0, 1);
	port_await(2);
	cr_expect(port_np_answer(0, a));
}

Test(pcc_np, many_rings_and_several_threads)
{
	uint32_t eus[] = {1, 2, 6};
	uint8_t a[12];

	OK(doca_pcc_set_thread_affinity(pcc, 3, eus));
	OK(doca_pcc_start(pcc));
	for (uint32_t i = 0; i < 500; i++) {
		for (uint32_t ring = 0; ring < 4; ring++)
			send_probe(ring, (uint8_t)(ring + 1));
		port_await((i + 1) * 4);
		for (uint32_t ring = 0; ring < 4; ring++)
			cr_assert(port_np_answer(ring, a) && a[0] == ring + 1, "%u", i);
	}
}

Test(pcc_np, the_mailbox)
{
	uint32_t size, ret;
	uint8_t a[12];
	void *request;

	OK(doca_pcc_start(pcc));
	OK(doca_pcc_mailbox_get_request_buffer(pcc, &request));
	OK(doca_pcc_mailbox_send(pcc, 3, &size, &ret));
	cr_expect_eq(ret, 0);
	send_probe(2, 1);
	port_await(1);
	cr_assert(port_np_answer(2, a));
	cr_expect_eq(a[7], 3);
}

Test(pcc_np, a_fault_gives_the_port_up)
{
	struct dpa_pcc_probes p;

	OK(doca_pcc_start(pcc));
	send_probe(0, NP_PROGRAM_FAULT);
	OK(doca_pcc_wait(pcc, -1));
	cr_expect_eq(state(), DOCA_PCC_PS_ERROR);
	cr_expect_not(port_probes(&p));
	OK(doca_pcc_stop(pcc));
	OK(doca_pcc_start(pcc));
	send_probe(1, 1);
	port_await(1);
}

Test(pcc_np, a_program_that_does_not_return_is_ended)
{
	OK(doca_pcc_start(pcc));
	send_probe(0, NP_PROGRAM_LOOP);
	OK(doca_pcc_stop(pcc));
}

/* A program of one role does not have the entries of the other. */
Test(pcc_np, the_role_is_the_program_s)
{
	struct doca_pcc *rp;

	OK(doca_pcc_set_app(pcc, program_app));
	cr_expect_eq(doca_pcc_start(pcc), DOCA_ERROR_NOT_SUPPORTED);
	OK(doca_pcc_create(dev, &rp));
	OK(doca_pcc_set_app(rp, np_program_app));
	cr_expect_eq(doca_pcc_start(rp), DOCA_ERROR_NOT_SUPPORTED);
	OK(doca_pcc_destroy(rp));
}

Test(pcc_np, standby_and_deactivated)
{
	port_occupy(true);
	OK(doca_pcc_start(pcc));
	cr_expect_eq(state(), DOCA_PCC_PS_STANDBY);
	port_occupy(false);
	OK(doca_pcc_wait(pcc, -1));
	cr_expect_eq(state(), DOCA_PCC_PS_ACTIVE);
	OK(doca_pcc_wait(pcc, 1));
	cr_expect_eq(state(), DOCA_PCC_PS_DEACTIVATED);
}

/* ------------------------------------------------------------------------ formats */

Test(pcc_np, what_its_probes_are_reaches_the_port)
{
	struct dpa_pcc_probes p;

	OK(doca_pcc_set_ifa2_probe_packet_format(pcc, 0));
	OK(doca_pcc_np_set_ifa2_gns_ignore(pcc, 0, 3, 2));
	OK(doca_pcc_start(pcc));
	cr_assert(port_probes(&p));
	cr_expect_eq(p.format, DPA_PCC_IFA2);
	cr_expect(p.ignore_mask == 3 && p.ignore_value == 2);
	cr_expect_eq(p.marker, DPA_PCC_IFA1_MARKER);
	OK(doca_pcc_stop(pcc));
	OK(doca_pcc_set_ifa1_probe_packet_format(pcc, 0));
	OK(doca_pcc_set_ifa1_probe_marker(pcc, 0, UINT64_C(1) << 63 | 5));
	OK(doca_pcc_start(pcc));
	cr_assert(port_probes(&p));
	cr_expect(p.format == DPA_PCC_IFA1 && p.marker == (UINT64_C(1) << 63 | 5));
	OK(doca_pcc_stop(pcc));
	OK(doca_pcc_set_ccmad_probe_packet_format(pcc, 0));
	OK(doca_pcc_start(pcc));
	cr_assert(port_probes(&p));
	cr_expect_eq(p.format, DPA_PCC_CCMAD);
}

Test(pcc_np, a_reaction_point_s_probes_reach_the_port)
{
	struct dpa_pcc_probes p;
	struct doca_pcc *rp;

	OK(doca_pcc_create(dev, &rp));
	OK(doca_pcc_set_app(rp, program_app));
	OK(doca_pcc_start(rp));
	cr_assert(port_probes(&p));
	cr_expect(p.format == DPA_PCC_CCMAD && !p.program && p.gns == 0xf && p.hops == 0xfe);
	OK(doca_pcc_stop(rp));
	OK(doca_pcc_rp_set_ccmad_remote_sw_handler(rp, 0, true));
	OK(doca_pcc_rp_set_ifa2_gns(rp, 0, 7));
	OK(doca_pcc_rp_set_ifa2_hop_limit(rp, 0, 9));
	OK(doca_pcc_start(rp));
	cr_assert(port_probes(&p));
	cr_expect(p.program && p.gns == 7 && p.hops == 9);
	OK(doca_pcc_destroy(rp));
}

Test(pcc_np, errors)
{
	struct doca_pcc *rp;

	OK(doca_pcc_create(dev, &rp));
	/* of the other role */
	cr_expect_eq(doca_pcc_rp_set_ccmad_remote_sw_handler(pcc, 0, true),
		     DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_rp_set_ifa2_gns(pcc, 0, 1), DOCA_ERROR_NOT_SUPPORTED);
	cr_expect_eq(doca_pcc_rp_set_ccmad_custom_header_size(pcc, 0, 1), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_rp_set_ccmad_custom_header_location(
			     pcc, 0, DOCA_PCC_CCMAD_CUSTOM_HEADER_LOCATION_MAD_PAYLOAD),
		     DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_rp_set_ccmad_probe_priority_change_en(pcc, 0, true),
		     DOCA_ERROR_NOT_SUPPORTED);
	cr_expect_eq(doca_pcc_rp_set_ifa2_hop_limit(pcc, 0, 1), DOCA_ERROR_NOT_SUPPORTED);
	cr_expect_eq(doca_pcc_np_set_ifa2_gns_ignore(rp, 0, 1, 1), DOCA_ERROR_NOT_SUPPORTED);
	/* out of bounds */
	cr_expect_eq(doca_pcc_rp_set_ifa2_gns(rp, 0, 16), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_np_set_ifa2_gns_ignore(pcc, 0, 16, 0), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_np_set_ifa2_gns_ignore(pcc, 0, 0, 16), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_set_ifa1_probe_marker(pcc, 0, 5), DOCA_ERROR_INVALID_VALUE,
		     "its highest bit is not set");
	cr_expect_eq(doca_pcc_set_ifa1_probe_packet_format(pcc, 1), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_set_ifa2_probe_packet_format(pcc, 1), DOCA_ERROR_INVALID_VALUE);
	OK(doca_pcc_destroy(rp));
	OK(doca_pcc_start(pcc));
	cr_expect_eq(doca_pcc_set_ccmad_probe_packet_format(pcc, 0), DOCA_ERROR_BAD_STATE);
	cr_expect_eq(doca_pcc_set_ifa1_probe_packet_format(pcc, 0), DOCA_ERROR_BAD_STATE);
	cr_expect_eq(doca_pcc_set_ifa2_probe_packet_format(pcc, 0), DOCA_ERROR_BAD_STATE);
	cr_expect_eq(doca_pcc_np_set_ifa2_gns_ignore(pcc, 0, 1, 1), DOCA_ERROR_BAD_STATE);
	cr_expect_eq(doca_pcc_set_ifa1_probe_marker(pcc, 0, UINT64_MAX), DOCA_ERROR_BAD_STATE);
}

/* ---------------------------------------------------------------------- resources */

static const char file[] = "a:\n  app:\n    EUs: [4, 0-2]\n  groups:\n    EUGs: g\n";

Test(pcc_np, eus_of_a_file)
{
	struct doca_pcc_resources *r = NULL;
	uint32_t n, eus[4] = {0};

	OK(doca_pcc_resources_create("app", file, sizeof(file) - 1, &r));
	OK(doca_pcc_resources_get_num_eus(r, &n));
	cr_expect_eq(n, 4);
	OK(doca_pcc_resources_get_eus(r, n, eus));
	cr_expect_arr_eq(eus, ((uint32_t[]){0, 1, 2, 4}), sizeof(eus));
	OK(doca_pcc_resources_get_eus(r, 0, NULL));
	OK(doca_pcc_set_thread_affinity(pcc, n, eus));
	cr_expect_eq(doca_pcc_resources_get_eus(r, 5, eus), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_resources_get_eus(r, 1, NULL), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_resources_get_num_eus(r, NULL), DOCA_ERROR_INVALID_VALUE);
	OK(doca_pcc_resources_destroy(r));
	cr_expect_eq(doca_pcc_resources_destroy(r), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_resources_get_num_eus(r, &n), DOCA_ERROR_INVALID_VALUE);
	OK(doca_pcc_resources_create("groups", file, sizeof(file) - 1, &r));
	OK(doca_pcc_resources_get_num_eus(r, &n));
	cr_expect_eq(n, 0);
	OK(doca_pcc_resources_destroy(r));
	cr_expect_eq(doca_pcc_resources_create("none", file, sizeof(file) - 1, &r),
		     DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_resources_create(NULL, file, 1, &r), DOCA_ERROR_INVALID_VALUE);
	cr_expect_eq(doca_pcc_resources_create("app", file, sizeof(file) - 1, NULL),
		     DOCA_ERROR_INVALID_VALUE);
}
