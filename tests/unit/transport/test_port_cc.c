/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_port_cc.c - flows follow the algorithm that acts on the port: DCQCN, round trip times, an
 * image, none.
 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <string.h>
#include "harness.h"
#include "cc/cc.h"
#include "link/udp/wire.h"
#include "pcc/dcqcn.h"
#include "pcc/rtt.h"
#include "standins_pcc.h"
#include "wire/probe.h"

#define IMAGE (UINT64_C(7) << DPA_BOARD_PCC_IMAGE)

/* Return the word: enabled slots, slots of the image, the slot that counts (-1: none). */
static uint64_t word_of(uint32_t enabled, uint32_t populated, int counting)
{
	return enabled | (uint64_t)populated << DPA_BOARD_PCC_POPULATED |
	       (uint64_t)(counting + 1) << DPA_BOARD_PCC_COUNTING;
}

static struct th *th;

static void setup_on(uint64_t word, bool wire)
{
	memset(&th_pcc, 0, sizeof(th_pcc));
	atomic_store(&th_pcc.word, word);
	th = th_new(&(struct th_opt){.retry = 7, .timeout = 20, .lossy = true, .wire = wire});
	th->hw->cc.word = &th_pcc.word;
	dpa_cc_begin(th->a.qp);
}

static void setup_word(uint64_t word)
{
	setup_on(word, true);
}

static void teardown(void)
{
	dpa_cc_fini(th->hw);
	th_free(th);
}

static const struct dpa_pcc_flow *flow(void)
{
	return &th->a.qp->pcc;
}

static void send_one(void)
{
	struct dpa_cqe e;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 64, 0);
	th_settle(th);
	while (th_poll(&th->a.scq, &e))
		;
}

Test(port_cc, a_flow_begins_with_what_acts, .fini = teardown)
{
	setup_word(word_of(1 << DPA_PCC_SLOT_DCQCN, 0, -1));
	cr_expect_eq(flow()->algo, &dpa_pcc_dcqcn);
}

Test(port_cc, the_lowest_enabled_slot_acts, .fini = teardown)
{
	setup_word(word_of(3 << DPA_PCC_SLOT_RTT, 0, -1));
	cr_expect_eq(th->a.qp->cc.slot, (int)DPA_PCC_SLOT_RTT);
	cr_expect_eq(th->a.qp->cc.split.rate, &dpa_pcc_rtt);
}

Test(port_cc, without_a_slot_a_flow_is_not_controlled, .fini = teardown)
{
	setup_word(word_of(0, 0, -1));
	cr_expect_eq(flow()->algo, &dpa_pcc_none);
}

Test(port_cc, a_flow_changes_over_when_it_sends, .fini = teardown)
{
	setup_word(word_of(1 << DPA_PCC_SLOT_DCQCN, 0, -1));
	atomic_store(&th_pcc.word, word_of(1 << DPA_PCC_SLOT_RTT, 0, -1));
	cr_expect_eq(flow()->algo, &dpa_pcc_dcqcn);
	send_one();
	cr_expect_eq(th->a.qp->cc.slot, (int)DPA_PCC_SLOT_RTT);
}

Test(port_cc, a_change_of_parameters_keeps_what_was_learned, .fini = teardown)
{
	struct dpa_pcc_event cnp = {.now = 1, .type = DPA_PCC_CNP};
	uint64_t rate;

	setup_word(word_of(1 << DPA_PCC_SLOT_DCQCN, 0, -1));
	cr_assert(dpa_cc_event(th->a.qp, &cnp));
	rate = flow()->rate;
	th_pcc.params[DPA_PCC_P_DCQCN_TIME_RESET] = 77000;
	atomic_fetch_add(&th_pcc.word, UINT64_C(1) << DPA_BOARD_PCC_CHANGE);
	dpa_cc_follow(th->a.qp);
	cr_expect_eq(((const struct dpa_pcc_dcqcn_param *)flow()->param)->rpg_time_reset, 77000);
	cr_expect_eq(flow()->rate, rate);
}

/* Each earlier parameter set occupied memory until the close. */
Test(port_cc, changes_of_parameters_take_no_memory, .fini = teardown)
{
	size_t before;

	setup_word(word_of(1 << DPA_PCC_SLOT_DCQCN, 0, -1));
	before = mallinfo2().uordblks;
	for (uint32_t i = 1; i <= 1000; i++) {
		th_pcc.params[DPA_PCC_P_DCQCN_TIME_RESET] = 70000 + i;
		atomic_fetch_add(&th_pcc.word, UINT64_C(1) << DPA_BOARD_PCC_CHANGE);
		dpa_cc_follow(th->a.qp);
	}
	cr_expect_eq(((const struct dpa_pcc_dcqcn_param *)flow()->param)->rpg_time_reset, 71000);
	cr_expect_lt(mallinfo2().uordblks, before + 1000);
	th_pcc.params[DPA_PCC_P_DCQCN_TIME_RESET] = 0;
	atomic_fetch_add(&th_pcc.word, UINT64_C(1) << DPA_BOARD_PCC_CHANGE);
	dpa_cc_follow(th->a.qp);
	cr_expect_null(flow()->param, "the defaults, which all flows share");
}

Test(port_cc, counts_only_while_its_slot_counts, .fini = teardown)
{
	struct dpa_pcc_event cnp = {.now = 1, .type = DPA_PCC_CNP};

	setup_word(word_of(1 << DPA_PCC_SLOT_DCQCN, 0, (int)DPA_PCC_SLOT_DCQCN));
	dpa_cc_event(th->a.qp, &cnp);
	send_one();
	cr_expect_eq(th_pcc.counts[DPA_PCC_N_CNP], 1);
	cr_expect_geq(th_pcc.counts[DPA_PCC_N_TX], 1);
	cr_expect_geq(th_pcc.counts[DPA_PCC_N_ACK], 1);
	cr_expect_geq(th_pcc.counts[DPA_PCC_N_RTT], 1);
	atomic_store(&th_pcc.word, word_of(1 << DPA_PCC_SLOT_DCQCN, 0, -1));
	dpa_cc_follow(th->a.qp);
	dpa_cc_event(th->a.qp, &cnp);
	cr_expect_eq(th_pcc.counts[DPA_PCC_N_CNP], 1);
}

/* ------------------------------------------------------------------ READ responses */

#define READS  4u
#define READ_N 65536u

static void mark_often(struct dpa_hw_qp *qp, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++) {
		th_now += 60000;
		dpa_qplock_lock(&qp->lock);
		dpa_wire_cnp(qp);
		dpa_qp_leave(qp);
	}
}

/* Return the ns that READS of A take. */
static uint64_t time_of_reads(void)
{
	const uint64_t from = th_now;
	uint32_t done = 0;
	struct dpa_cqe e;

	th_fill(th->b.mem, READS * READ_N, 1);
	for (uint32_t i = 0; i < READS; i++)
		th_send(&th->a, DPA_OP_RDMA_READ, i * READ_N, READ_N, i * READ_N);
	while (done < READS) {
		th_settle(th);
		while (th_poll(&th->a.scq, &e)) {
			cr_assert_eq(e.status, DPA_CQE_OK);
			done++;
		}
		if (done < READS)
			cr_assert(th_tick(th), "%u READs of %u", done, READS);
	}
	cr_expect(th_check(th->a.mem, READS * READ_N, 1));
	return th_now - from;
}

/* The program of a server of READs often leaves its QP in RTR. */
Test(port_cc, a_responder_in_rtr_has_a_flow_that_is_paced, .fini = teardown)
{
	uint64_t plain, paced, rate, bytes = READS * READ_N;

	th = th_new(&(struct th_opt){
		.retry = 7, .timeout = 20, .wire = true, .b_rtr = true, .rd = 4, .dest_rd = 4});
	cr_assert_eq(th->b.qp->state, DPA_QPS_RTR);
	plain = time_of_reads();
	cr_expect_eq(plain, 0u, "not marked, not paced: %lu ns", (unsigned long)plain);
	mark_often(th->b.qp, 20);
	cr_expect_eq(th_count(th, DPA_CNT_rp_cnp_handled), 20u);
	cr_expect_eq(th_count(th, DPA_CNT_rp_cnp_ignored), 0u);
	rate = th->b.qp->pcc.rate;
	cr_assert_lt(rate, UINT64_C(100000000), "%lu", (unsigned long)rate);
	paced = time_of_reads();
	/* the rate rises meanwhile: fast recovery */
	cr_expect_gt(paced, bytes * UINT64_C(1000000000) / (8 * rate), "%lu ns at %lu",
		     (unsigned long)paced, (unsigned long)rate);
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
}

/* It asks for probes as one in RTS does, and hears the answers. */
Test(port_cc, a_responder_in_rtr_measures_round_trips, .fini = teardown)
{
	memset(&th_pcc, 0, sizeof(th_pcc));
	atomic_store(&th_pcc.word, word_of(1 << DPA_PCC_SLOT_RTT, 0, (int)DPA_PCC_SLOT_RTT));
	th = th_new(&(struct th_opt){
		.retry = 7, .timeout = 20, .wire = true, .b_rtr = true, .rd = 4, .dest_rd = 4});
	th->hw->cc.word = &th_pcc.word;
	dpa_cc_begin(th->b.qp);
	th_now_step = 100;
	time_of_reads();
	time_of_reads();
	th_now_step = 0;
	cr_expect_gt(th_pcc.counts[DPA_PCC_N_RTT], 0u);
	cr_expect_eq(th_pcc.counts[DPA_PCC_N_ACK], 0u, "from the probes");
}

/* ----------------------------------------------------------------------- an image */

static void setup_image(void)
{
	setup_word(word_of(1 | 1 << DPA_PCC_SLOT_DCQCN, 1, -1) | IMAGE);
}

static uint32_t epoch(void)
{
	return th_pcc.reports[0].flow >> 24;
}

static void answer(uint32_t probes, uint32_t rate)
{
	atomic_store(&th_pcc.result, dpa_pcc_result_make(7, epoch(), probes, rate));
}

static const struct dpa_pcc_report *last(uint8_t type)
{
	for (uint32_t i = th_pcc.nreports; i-- > 0;)
		if (th_pcc.reports[i].type == type)
			return &th_pcc.reports[i];
	return NULL;
}

Test(port_cc, the_first_burst_is_reported, .fini = teardown)
{
	const struct dpa_pcc_report *r;

	setup_image();
	cr_expect_eq(flow()->rate, DPA_PCC_NO_LIMIT, "not paced before there is an answer");
	send_one();
	r = last(DPA_PCC_EV_TX);
	cr_assert(r);
	cr_expect_eq(r->flow & 0xffffff, th->a.qp->qpn);
	cr_expect_eq(r->slot, 0);
	cr_expect_eq(r->word[1] & 0xffff, 1, "a packet");
	cr_expect_eq(r->word[2], th->a.qp->qpn);
}

Test(port_cc, a_rate_is_a_share_of_the_line, .fini = teardown)
{
	setup_image();
	send_one();
	answer(0, DPA_PCC_RATE_ONE / 4);
	cr_assert_leq(dpa_pcc_may_send(&th->a.qp->pcc, th_now, 64), 1000000);
	cr_expect_leq(flow()->rate, UINT64_C(3125000000));
	cr_expect_geq(flow()->rate, UINT64_C(3120000000));
	answer(0, DPA_PCC_RATE_ONE);
	dpa_pcc_may_send(&th->a.qp->pcc, th_now, 64);
	cr_expect_eq(flow()->rate, DPA_PCC_NO_LIMIT);
}

Test(port_cc, an_answer_for_another_flow_or_image_does_not_count, .fini = teardown)
{
	setup_image();
	send_one();
	atomic_store(&th_pcc.result, dpa_pcc_result_make(7, epoch() + 1, 0, 1));
	dpa_pcc_may_send(&th->a.qp->pcc, th_now, 64);
	cr_expect_eq(flow()->rate, DPA_PCC_NO_LIMIT);
	atomic_store(&th_pcc.result, dpa_pcc_result_make(6, epoch(), 0, 1));
	dpa_pcc_may_send(&th->a.qp->pcc, th_now, 64);
	cr_expect_eq(flow()->rate, DPA_PCC_NO_LIMIT);
}

Test(port_cc, a_probe_that_is_asked_for_is_answered_once, .fini = teardown)
{
	const struct dpa_pcc_report *r;
	bool sent = false;

	setup_image();
	send_one();
	cr_expect_not(last(DPA_PCC_EV_RTT), "none was asked for");
	answer(1, DPA_PCC_RATE_ONE);
	th_now_step = 1000;
	send_one();
	send_one();
	r = last(DPA_PCC_EV_RTT);
	cr_assert(r);
	cr_expect_lt(r->word[0], r->word[1]);
	cr_expect_lt(r->word[1], r->word[2]);
	cr_expect_lt(r->word[2], r->time);
	for (uint32_t i = 0; i < th_pcc.nreports; i++)
		sent |= th_pcc.reports[i].type == DPA_PCC_EV_TX &&
			th_pcc.reports[i].flags & DPA_PCC_EV_TX_RTT_SENT;
	cr_expect(sent, "a burst says that the probe has left");
	th_pcc.nreports = 1;
	send_one();
	th_now_step = 0;
	cr_expect_not(last(DPA_PCC_EV_RTT));
}

/* The probe that leaves behind a WRITE; false: there is none. */
static bool probe_of_one(struct th_pkt *probe)
{
	struct th_pkt p;
	bool found = false;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 64, 0);
	while (th_take(&th->a, &p)) {
		if (p.s.opcode == DPA_BTH_PROBE) {
			*probe = p;
			found = true;
		}
		th_give(&th->b, &p);
	}
	th_settle(th);
	return found;
}

Test(port_cc, probes_have_the_header_and_the_priority_of_the_flow, .fini = teardown)
{
	struct th_pkt p;

	/* entries as they are in a ring: the DSCP is no field of the packet */
	setup_on(word_of(1 | 1 << DPA_PCC_SLOT_DCQCN, 1, -1) | IMAGE, false);
	th_pcc.has_probes = true;
	th_pcc.probes = (struct dpa_pcc_probes){.format = DPA_PCC_CCMAD, .header = 3};
	th_pcc.header[0] = 0x11;
	th_pcc.header[2] = 0x33;
	send_one();
	answer(1, DPA_PCC_RATE_ONE);
	cr_assert(probe_of_one(&p));
	cr_expect_eq(p.s.len, 12u);
	cr_expect_arr_eq(p.data, th_pcc.header, 12);
	cr_expect_eq(th_ext(&p)->dscp, 0u, "that of the path");
	cr_expect_eq(th_pcc.header_flow, th_pcc.reports[0].flow);
	answer(2, DPA_PCC_RATE_ONE);
	atomic_fetch_or(&th_pcc.result, UINT64_C(47) << DPA_PCC_RESULT_DSCP);
	th_pcc.header_torn = true;
	cr_expect_not(probe_of_one(&p), "its header is being changed");
	th_pcc.header_torn = false;
	cr_assert(probe_of_one(&p));
	cr_expect_eq(th_ext(&p)->dscp, 47u);
	/* of another format: neither */
	th_pcc.probes.format = DPA_PCC_IFA2;
	answer(3, DPA_PCC_RATE_ONE);
	atomic_fetch_or(&th_pcc.result, UINT64_C(47) << DPA_PCC_RESULT_DSCP);
	cr_assert(probe_of_one(&p));
	cr_expect_eq(p.s.len, DPA_IFA2_HEAD);
	cr_expect_eq(th_ext(&p)->dscp, 0u);
}

Test(port_cc, marks_and_losses_are_reported_and_the_window_follows, .fini = teardown)
{
	struct dpa_pcc_event cnp = {.now = 5, .type = DPA_PCC_CNP, .psn = 3};
	struct dpa_pcc_event loss = {.now = 6, .type = DPA_PCC_LOSS, .psn = 4};
	uint32_t window;

	setup_image();
	window = flow()->window;
	dpa_cc_event(th->a.qp, &cnp);
	dpa_cc_event(th->a.qp, &loss);
	cr_assert(last(DPA_PCC_EV_CNP) && last(DPA_PCC_EV_NACK));
	cr_expect_eq(last(DPA_PCC_EV_NACK)->subtype, DPA_PCC_EV_NACK_OOS);
	cr_expect_eq(flow()->rate, DPA_PCC_NO_LIMIT, "the rate is the image's");
	cr_expect_lt(flow()->window, window, "the window is not");
}

Test(port_cc, events_that_are_not_wanted_are_not_reported, .fini = teardown)
{
	setup_image();
	th_pcc.disabled = 1 << DPA_PCC_EV_ACK;
	send_one();
	cr_expect(last(DPA_PCC_EV_TX));
	cr_expect_not(last(DPA_PCC_EV_ACK));
}

Test(port_cc, a_full_ring_costs_events_and_nothing_else, .fini = teardown)
{
	setup_image();
	for (int i = 0; i < 200; i++)
		send_one();
	cr_expect_eq(th_pcc.nreports, TH_PCC_REPORTS);
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
}

Test(port_cc, without_the_image_a_flow_goes_on, .fini = teardown)
{
	setup_image();
	send_one();
	answer(0, 1);
	atomic_store(&th_pcc.word, word_of(1 << DPA_PCC_SLOT_DCQCN, 0, -1) | IMAGE);
	dpa_cc_follow(th->a.qp);
	cr_expect_eq(flow()->algo, &dpa_pcc_dcqcn);
	send_one();
}

/* The state of the image was used as the time of the last cut: no cut for a day. */
Test(port_cc, round_trip_times_count_behind_an_image, .fini = teardown)
{
	struct dpa_pcc_event ack = {.now = 1000000, .type = DPA_PCC_ACK, .rtt_ns = 1000000};

	setup_image();
	send_one();
	atomic_store(&th_pcc.word, word_of(1 << DPA_PCC_SLOT_RTT, 0, -1) | IMAGE);
	dpa_cc_follow(th->a.qp);
	cr_expect_eq(flow()->rate, DPA_PCC_NO_LIMIT);
	dpa_cc_event(th->a.qp, &ack);
	cr_expect_lt(flow()->rate, DPA_PCC_NO_LIMIT);
}

Test(port_cc, another_image_begins_anew, .fini = teardown)
{
	uint32_t was;

	setup_image();
	send_one();
	was = epoch();
	answer(0, 1);
	atomic_store(&th_pcc.word, word_of(1, 1, -1) | UINT64_C(8) << DPA_BOARD_PCC_IMAGE);
	dpa_cc_follow(th->a.qp);
	cr_expect_eq(flow()->rate, DPA_PCC_NO_LIMIT);
	send_one();
	cr_expect_neq(last(DPA_PCC_EV_TX)->flow >> 24, was);
}

Test(port_cc, without_memory_the_built_in_algorithm_acts, .fini = teardown)
{
	memset(&th_pcc, 0, sizeof(th_pcc));
	setup_image();
	th_pcc.no_memory = true;
	atomic_fetch_add(&th_pcc.word, UINT64_C(1) << DPA_BOARD_PCC_IMAGE);
	dpa_cc_follow(th->a.qp);
	cr_expect_eq(flow()->algo, &dpa_pcc_dcqcn);
}
