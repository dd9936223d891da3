/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_probe.c - round trips that congestion control requests: sent with the next packets, answered
 * at once.
 */
#include <criterion/criterion.h>
#include "harness.h"
#include "link/udp/wire.h"
#include "standins_pcc.h"
#include "transport/api.h"
#include "wire/probe.h"

static uint8_t wanted;
static struct dpa_pcc_event got;
static uint32_t num_got;

static void init(void *priv, const void *param, uint64_t now)
{
}

static void on_event(void *priv, const void *param, const struct dpa_pcc_event *ev)
{
	if (ev->type != DPA_PCC_RTT)
		return;
	got = *ev;
	num_got++;
}

static void get(const void *priv, const void *param, struct dpa_pcc_result *res)
{
	res->events = DPA_PCC_WANT(DPA_PCC_RTT) | DPA_PCC_WANT(DPA_PCC_SENT);
	res->probes = wanted;
}

static const struct dpa_pcc_algo algo = {
	.name = "test", .init = init, .on_event = on_event, .get = get};

static struct th *open_pair(void)
{
	struct th *th = th_new(&(struct th_opt){.lossy = true, .timeout = 14, .retry = 7});

	wanted = 0;
	num_got = 0;
	memset(&th_pcc, 0, sizeof(th_pcc));
	dpa_pcc_init(&th->a.qp->pcc, &algo, NULL, th_now);
	return th;
}

/* The flow requests another probe; a WRITE leaves. Return the probe after it. */
static struct th_pkt *ask(struct th *th)
{
	static struct th_pkt p;

	wanted++;
	dpa_pcc_deliver(&th->a.qp->pcc, &(struct dpa_pcc_event){.now = th_now});
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 64, 0);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_RC | DPA_BTH_WRITE_ONLY);
	th_give(&th->b, &p);
	cr_assert(th_take(&th->a, &p), "behind it");
	cr_assert_eq(p.s.opcode, DPA_BTH_PROBE);
	return &p;
}

/* Handle all packets of B: store the answer to the probe to *p, give ACKs to A. */
static bool answer_of(struct th *th, struct th_pkt *p)
{
	struct th_pkt k;
	bool found = false;

	th_flush(&th->b);
	while (th_take(&th->b, &k)) {
		if (k.s.opcode == DPA_BTH_PROBED) {
			*p = k;
			found = true;
		} else {
			th_give(&th->a, &k);
		}
	}
	return found;
}

Test(transport_probe, the_times_of_both_sides)
{
	struct th *th = open_pair();
	uint64_t sent = th_now;
	struct th_pkt *probe = ask(th), answer;

	cr_expect_eq(th_ext(probe)->va, sent);
	cr_expect_eq(probe->s.dqpn, th->b.qp->qpn);
	th_now += 7000;
	th_give(&th->b, probe);
	cr_assert(answer_of(th, &answer));
	cr_expect_eq(num_got, 0u);
	th_now += 5000;
	th_give(&th->a, &answer);
	cr_assert_eq(num_got, 1u);
	cr_expect_eq(got.rtt_ns, 12000u);
	cr_expect_eq(got.req_sent, (uint32_t)sent);
	cr_expect_eq(got.req_recv, (uint32_t)sent + 7000);
	cr_expect_eq(got.resp_sent, (uint32_t)sent + 7000);
	th_give(&th->a, &answer);
	cr_expect_eq(num_got, 1u, "once");
	th_free(th);
}

Test(transport_probe, no_wish_no_probe)
{
	struct th *th = open_pair();
	struct th_pkt p;

	for (int i = 0; i < 3; i++)
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 64, 0);
	while (th_take(&th->a, &p))
		cr_expect_neq(p.s.opcode, DPA_BTH_PROBE);
	th_free(th);
}

/* A lost probe is never answered; a late answer to it does not count for the next one. */
Test(transport_probe, the_last_one_counts)
{
	struct th *th = open_pair();
	struct th_pkt first, second;

	th_give(&th->b, ask(th));
	cr_assert(answer_of(th, &first));
	th_now += 1000;
	th_give(&th->b, ask(th));
	cr_assert(answer_of(th, &second));
	th_give(&th->a, &first);
	cr_expect_eq(num_got, 0u);
	th_give(&th->a, &second);
	cr_expect_eq(num_got, 1u);
	th_free(th);
}

Test(transport_probe, an_answer_that_was_not_asked_for)
{
	struct th *th = open_pair();
	struct th_pkt p, answer;

	th_forge(&th->b, &p, DPA_BTH_PROBED, 0, 0);
	th_give(&th->a, &p);
	cr_expect_eq(num_got, 0u);
	th_give(&th->b, ask(th));
	cr_assert(answer_of(th, &answer));
	p = answer;
	th_ext(&p)->va++;
	th_give(&th->a, &p);
	p = answer;
	p.s.psn ^= 1;
	th_give(&th->a, &p);
	cr_expect_eq(num_got, 0u, "of other times or another number");
	th_give(&th->a, &answer);
	cr_expect_eq(num_got, 1u);
	th_free(th);
}

/* Neither changes a PSN, nor takes part in the order of requests. */
Test(transport_probe, has_no_place_among_psns)
{
	struct th *th = open_pair();
	struct th_pkt *probe, answer;
	struct dpa_cqe e;
	uint32_t epsn;

	probe = ask(th);
	epsn = th->b.qp->resp.epsn;
	for (int i = 0; i < 3; i++)
		th_give(&th->b, probe);
	cr_expect_eq(th->b.qp->resp.epsn, epsn);
	cr_assert(answer_of(th, &answer));
	cr_expect(th_poll(&th->a.scq, &e), "the WRITE is done");
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_eq(th_count(th, DPA_CNT_duplicate_request) +
			     th_count(th, DPA_CNT_out_of_sequence),
		     0u);
	th_free(th);
}

/* --------------------------------------------- probes that a program of the other side answers */

/* A's flow belongs to an image with these probes. */
static struct th *open_with(struct dpa_pcc_probes probes)
{
	struct th *th = open_pair();

	th->a.qp->cc.slot = 0;
	th_pcc.probes = probes;
	th_pcc.has_probes = true;
	return th;
}

static const struct dpa_pcc_probes ccmad = {.format = DPA_PCC_CCMAD, .program = true};

static void np_takes(struct dpa_pcc_probes p)
{
	th_pcc.np_takes = p;
	th_pcc.has_np = true;
}

/* The program has answered. */
static void np_answers(enum dpa_np_state state)
{
	th_pcc.np_state = state;
	th_pcc.np_answer = (struct dpa_pcc_reply){"twelve bytes", 46};
}

Test(transport_probe, a_program_answers)
{
	struct th *th = open_with(ccmad);
	struct th_pkt *probe, answer;

	np_takes(ccmad);
	probe = ask(th);
	cr_expect_eq(probe->s.len, 0u);
	th_give(&th->b, probe);
	cr_expect_eq(th_pcc.np_posts, 1u);
	cr_expect_eq(th_pcc.np_probe.size, 14u + 20 + 8 + 20 + 24 + 64);
	cr_expect_not(answer_of(th, &answer), "it has not answered yet");
	th_now += 50000;
	np_answers(DPA_NP_SENDS);
	cr_assert(answer_of(th, &answer));
	cr_expect_eq(answer.s.len, DPA_PCC_ANSWER);
	cr_expect_eq(th_ext(&answer)->dscp, 47u);
	th_give(&th->a, &answer);
	cr_assert_eq(num_got, 1u);
	cr_expect(got.program);
	cr_expect_arr_eq(got.data, "twelve bytes", DPA_PCC_ANSWER);
	cr_expect_eq(got.rtt_ns, 50000u);
	cr_expect_not(answer_of(th, &answer), "once");
	th_free(th);
}

Test(transport_probe, without_a_program_there_is_no_answer)
{
	struct th *th = open_with(ccmad);
	struct th_pkt answer;

	th_give(&th->b, ask(th));
	cr_expect_not(answer_of(th, &answer));
	cr_expect_eq(th_pcc.np_posts, 0u);
	np_takes(ccmad);
	th_pcc.np_full = true;
	th_give(&th->b, ask(th));
	cr_expect_not(answer_of(th, &answer), "too many wait");
	cr_expect_not(th->b.qp->resp.np_due);
	th_free(th);
}

Test(transport_probe, a_program_that_refuses_or_is_slow)
{
	struct th *th = open_with(ccmad);
	struct th_pkt answer;

	np_takes(ccmad);
	th_give(&th->b, ask(th));
	np_answers(DPA_NP_NONE);
	cr_expect_not(answer_of(th, &answer));
	cr_expect_not(th->b.qp->resp.np_due);
	th_give(&th->b, ask(th));
	th_now += 19000000;
	cr_expect_not(answer_of(th, &answer));
	cr_expect(th->b.qp->resp.np_due);
	cr_expect_eq(th_pcc.np_checks, 0u);
	th_now += 1000000;
	cr_expect_not(answer_of(th, &answer));
	cr_expect_not(th->b.qp->resp.np_due, "given up after 20 ms");
	cr_expect_eq(th_pcc.np_drops, 1u);
	cr_expect_eq(th_pcc.np_checks, 1u, "it may have died");
	th_free(th);
}

/* A second probe replaces one that waits: the peer has given up on that one. */
Test(transport_probe, the_last_one_waits)
{
	struct th *th = open_with(ccmad);
	struct th_pkt answer;

	np_takes(ccmad);
	th_give(&th->b, ask(th));
	th_give(&th->b, ask(th));
	cr_expect_eq(th_pcc.np_posts, 2u);
	cr_expect_eq(th_pcc.np_drops, 1u);
	np_answers(DPA_NP_SENDS);
	cr_assert(answer_of(th, &answer));
	th_give(&th->a, &answer);
	cr_expect_eq(num_got, 1u);
	th_free(th);
}

Test(transport_probe, a_reset_leaves_none)
{
	struct th *th = open_with(ccmad);

	np_takes(ccmad);
	th_give(&th->b, ask(th));
	dpa_transport_reset(th->b.qp);
	cr_expect_eq(th_pcc.np_drops, 1u);
	cr_expect_not(th->b.qp->resp.np_due);
	dpa_transport_reset(th->b.qp);
	cr_expect_eq(th_pcc.np_drops, 1u);
	th_free(th);
}

Test(transport_probe, formats_and_what_a_program_takes)
{
	const struct dpa_pcc_probes ifa1 = {.format = DPA_PCC_IFA1, .program = true, .marker = 77};
	const struct dpa_pcc_probes ifa2 = {
		.format = DPA_PCC_IFA2, .program = true, .gns = 5, .hops = 9};
	struct th *th = open_with(ifa1);
	struct th_pkt *probe;

	np_takes(ifa1);
	probe = ask(th);
	cr_expect_eq(probe->s.len, DPA_IFA1_HEAD);
	cr_expect_eq(dpa_ifa1_marker(probe->data, probe->s.len), 77u);
	th_give(&th->b, probe);
	cr_expect_eq(th_pcc.np_posts, 1u);
	th_pcc.probes = ifa2;
	probe = ask(th);
	cr_expect_eq(probe->s.len, DPA_IFA2_HEAD);
	cr_expect_eq(probe->data[2], 9);
	th_give(&th->b, probe);
	cr_expect_eq(th_pcc.np_posts, 1u, "not its format");
	np_takes(ifa2);
	th_give(&th->b, ask(th));
	cr_expect_eq(th_pcc.np_posts, 2u);
	th_pcc.np_takes.gns = 6;
	th_give(&th->b, ask(th));
	cr_expect_eq(th_pcc.np_posts, 2u);
	th_free(th);
}
