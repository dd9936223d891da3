/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_pcc_events.c - events through a congestion control program, and its end by a fault. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "port.h"
#include <doca_pcc.h>
#include "program.h"

extern struct doca_pcc_app *program_app;

static struct doca_dev *dev;
static struct doca_pcc *pcc;
static char dir[] = "/tmp/test_pcc_XXXXXX", core[64];

static void setup(void)
{
	uint32_t eus[] = {1, 2, 6};

	cr_assert(mkdtemp(dir));
	snprintf(core, sizeof(core), "%s/core", dir);
	port_reset();
	dev = open_dpa0();
	OK(doca_pcc_create(dev, &pcc));
	OK(doca_pcc_set_app(pcc, program_app));
	OK(doca_pcc_set_thread_affinity(pcc, 3, eus));
	OK(doca_pcc_set_dev_coredump_file(pcc, core));
	OK(doca_pcc_start(pcc));
}

static void teardown(void)
{
	char command[128];

	OK(doca_pcc_destroy(pcc));
	OK(doca_dev_close(dev));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

TestSuite(pcc_events, .init = setup, .fini = teardown, .timeout = 60);

static void send_event(uint32_t ring, struct dpa_pcc_report r)
{
	r.slot = PROGRAM_SLOT;
	port_report(ring, &r);
}

static uint32_t rate_of(uint32_t flow)
{
	uint32_t rate = 0;
	bool probe;

	cr_assert(port_answer(flow, &rate, &probe));
	return rate;
}

Test(pcc_events, an_event_has_the_values_of_the_flow)
{
	uint32_t rate;
	bool probe;

	send_event(0, (struct dpa_pcc_report){.flow = 1,
					      .type = DPA_PCC_EV_TX,
					      .flags = DPA_PCC_EV_TX_RTT_SENT,
					      .word = {0, 300 << 16 | 2, 1}});
	port_await(1);
	cr_assert(port_answer(1, &rate, &probe));
	cr_expect_eq(rate, 100000 + 2000 + 300 + 4);
	cr_expect(probe);
	send_event(0, (struct dpa_pcc_report){.flow = 2,
					      .type = DPA_PCC_EV_RTT,
					      .time = 900,
					      .word = {100, 500, 530}});
	port_await(2);
	cr_expect_eq(rate_of(2), 200000 + 800 + 30 + 100 + 12);
	send_event(0, (struct dpa_pcc_report){
			      .flow = 3, .type = DPA_PCC_EV_NACK, .subtype = DPA_PCC_EV_NACK_OOS});
	port_await(3);
	cr_expect_eq(rate_of(3), 300000 + 2);
	send_event(0, (struct dpa_pcc_report){
			      .flow = 4, .type = DPA_PCC_EV_CNP, .word = {1000, 200, 1}});
	port_await(4);
	cr_expect_eq(rate_of(4), 400000 + 2000 + 200 + 1);
	cr_expect_eq(port_counters(PROGRAM_SLOT)[0], 4);
}

Test(pcc_events, a_flow_has_its_memory_and_a_new_one_none)
{
	struct dpa_pcc_report r = {.flow = 7, .type = DPA_PCC_EV_TX, .sn = PROGRAM_COUNT};

	for (int i = 0; i < 100; i++)
		send_event(i % 4 ? 0 : 0, r);
	port_await(100);
	cr_expect_eq(rate_of(7), 100);
	r.flow |= 1u << 24;
	send_event(0, r);
	port_await(101);
	cr_expect_eq(rate_of(1u << 24 | 7), 1);
}

/* In order and none lost, for each flow, with several threads and bursts that come while they end. */
Test(pcc_events, many_processes)
{
	enum { ROUNDS = 300, BURST = 7 };

	for (uint32_t i = 0; i < ROUNDS; i++) {
		for (uint32_t k = 0; k < BURST; k++)
			for (uint32_t ring = 0; ring < 4; ring++)
				send_event(ring, (struct dpa_pcc_report){.flow = 50 + ring,
									 .type = DPA_PCC_EV_TX,
									 .sn = PROGRAM_COUNT});
		if (i % 3 == 0)
			port_await((i + 1) * BURST * 4);
	}
	port_await(ROUNDS * BURST * 4);
	for (uint32_t ring = 0; ring < 4; ring++)
		cr_expect_eq(rate_of(50 + ring), ROUNDS * BURST);
}

Test(pcc_events, another_slot_is_the_library_s_algorithm)
{
	struct dpa_pcc_report r = {.flow = 9, .type = DPA_PCC_EV_TX, .slot = 15, .time = 1000};

	port_report(0, &r);
	port_await(1);
	cr_expect_eq(rate_of(9), DPA_PCC_RATE_ONE);
	r.type = DPA_PCC_EV_CNP;
	port_report(0, &r);
	port_await(2);
	cr_expect_eq(rate_of(9), DPA_PCC_RATE_ONE / 2, "the first cut of DCQCN");
	r.type = DPA_PCC_EV_TX;
	r.time += 10 * 55000;
	port_report(0, &r);
	port_await(3);
	cr_expect_gt(rate_of(9), DPA_PCC_RATE_ONE / 2);
}

Test(pcc_events, parameters)
{
	cr_expect_eq(port_set_param(PROGRAM_SLOT, 0, 7), 0);
	cr_expect_eq(port_params(PROGRAM_SLOT)[0], 7);
	cr_expect_neq(port_set_param(PROGRAM_SLOT, 0, 8), 0, "the program refuses it");
	cr_expect_eq(port_params(PROGRAM_SLOT)[0], 7);
	cr_expect_eq(port_set_param(PROGRAM_SLOT, 0, 9), 0);
	cr_expect_eq(port_params(PROGRAM_SLOT)[0], 9, "set by the library");
	cr_expect_neq(port_set_param(5, 0, 7), 0);
	port_params(PROGRAM_SLOT)[3] = 1;
	cr_expect_neq(port_set_param(PROGRAM_SLOT, 3, 9), 0, "it has two");
	cr_expect_eq(port_params(PROGRAM_SLOT)[3], 1);
}

Test(pcc_events, a_fault_gives_the_port_up)
{
	doca_pcc_process_state_t s;
	uint32_t a, b, c;
	char file[128];

	send_event(0, (struct dpa_pcc_report){.flow = 1, .type = DPA_PCC_EV_TX});
	port_await(1);
	send_event(1,
		   (struct dpa_pcc_report){.flow = 2, .type = DPA_PCC_EV_TX, .sn = PROGRAM_FAULT});
	OK(doca_pcc_wait(pcc, -1));
	OK(doca_pcc_get_process_state(pcc, &s));
	cr_expect_eq(s, DOCA_PCC_PS_ERROR);
	cr_expect_not(port_slots(&a, &b, &c));
	snprintf(file, sizeof(file), "%s.%d.crash", core, (int)getpid());
	cr_expect_eq(access(file, R_OK), 0);
	OK(doca_pcc_stop(pcc));
	OK(doca_pcc_start(pcc));
	send_event(0, (struct dpa_pcc_report){.flow = 3, .type = DPA_PCC_EV_TX});
	port_await(2);
}

Test(pcc_events, a_program_that_does_not_return_is_ended)
{
	send_event(0,
		   (struct dpa_pcc_report){.flow = 2, .type = DPA_PCC_EV_TX, .sn = PROGRAM_LOOP});
	OK(doca_pcc_stop(pcc));
}

/* ------------------------------------------------------- headers and priorities of probes */

/* The rate says how the call went. */
static uint32_t set_probes(uint32_t flow, uint32_t how)
{
	uint32_t n = port_answers();

	send_event(0, (struct dpa_pcc_report){.flow = flow, .type = DPA_PCC_EV_TX, .sn = how});
	port_await(n + 1);
	return rate_of(flow);
}

static void start_with(uint8_t words, bool prio)
{
	OK(doca_pcc_stop(pcc));
	OK(doca_pcc_rp_set_ccmad_custom_header_size(pcc, 0, words));
	OK(doca_pcc_rp_set_ccmad_probe_priority_change_en(pcc, 0, prio));
	OK(doca_pcc_start(pcc));
}

Test(pcc_events, an_algorithm_sets_the_header_and_the_priority_of_its_probes)
{
	uint32_t flow, words[DPA_PCC_HEADER];
	struct dpa_pcc_probes p;
	uint8_t dscp;

	start_with(3, true);
	cr_assert(port_probes(&p));
	cr_expect_eq(p.header, 3);
	cr_expect_eq(set_probes(7, PROGRAM_HEADER), 1u);
	cr_expect_eq(port_custom(&flow, words, &dscp), 3u);
	cr_expect_eq(flow, 7u);
	cr_expect_arr_eq(words, ((uint32_t[]){0x11, 0x22, 0x33}), 12);
	cr_expect_eq(set_probes(8, PROGRAM_PRIO), 1u);
	port_custom(&flow, words, &dscp);
	cr_expect(flow == 8 && dscp == 46);
	cr_expect_eq(set_probes(8, PROGRAM_NO_PRIO), 1u);
	port_custom(&flow, words, &dscp);
	cr_expect_eq(dscp, DPA_PCC_DSCP_NONE);
	cr_expect_eq(set_probes(8, PROGRAM_WRONG), 1u);
}

Test(pcc_events, headers_and_priorities_that_may_not_be)
{
	start_with(2, false);
	cr_expect_eq(set_probes(7, PROGRAM_HEADER), 2u, "3 words where 2 are");
	cr_expect_eq(set_probes(7, PROGRAM_PRIO), 2u, "not enabled");
	start_with(3, true);
	port_fail_custom(28);
	cr_expect_eq(set_probes(7, PROGRAM_HEADER), 2u, "too many flows");
	cr_expect_eq(set_probes(7, PROGRAM_HEADER), 1u);
	OK(doca_pcc_stop(pcc));
	OK(doca_pcc_set_ifa1_probe_packet_format(pcc, 0));
	OK(doca_pcc_start(pcc));
	cr_expect_eq(set_probes(7, PROGRAM_HEADER), 2u, "not of CCMAD");
	cr_expect_eq(set_probes(7, PROGRAM_PRIO), 2u);
}
