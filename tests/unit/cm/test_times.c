/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_times.c - times: formulas, and the duration of retransmissions of each message. */
#include <criterion/criterion.h>
#include <errno.h>
#include "util.h"

Test(cm_times, formulas)
{
	cr_assert(dpav_cm_ms(0) == 1 && dpav_cm_ms(8) == 1 && dpav_cm_ms(9) == 2);
	cr_assert(dpav_cm_ms(18) == 1024 && dpav_cm_ms(20) == 4096 && dpav_cm_ms(24) == 65536);
	cr_assert_eq(dpav_cm_ms(31), 1u << 23);
	cr_assert_eq(dpav_cm_req_wait(18, 20), 6144);
	/* a delay that does not count; equal to the trip; half; far longer; too long */
	cr_assert_eq(dpav_cm_ack_timeout(0, 18), 19);
	cr_assert_eq(dpav_cm_ack_timeout(19, 18), 20);
	cr_assert_eq(dpav_cm_ack_timeout(18, 18), 20);
	cr_assert_eq(dpav_cm_ack_timeout(17, 18), 19);
	cr_assert_eq(dpav_cm_ack_timeout(20, 18), 21);
	cr_assert_eq(dpav_cm_ack_timeout(21, 18), 21);
	cr_assert_eq(dpav_cm_ack_timeout(31, 31), 31);
}

/* Run until the timer ends the wait. Return how often the message was sent again. */
static int until_end(struct dpav_cm *cm, uint64_t *now, struct dpav_cm_effects *out)
{
	enum dpav_cm_state state = cm->state;
	int sent = 0;

	while (cm->state == state) {
		struct dpav_cm_input in = test_input(DPA_CM_TIMER);

		cr_assert_neq(cm->deadline, DPA_CM_NEVER);
		*now = in.now = cm->deadline;
		*out = test_step(cm, &in);
		sent += out->send;
		cr_assert_leq(sent, 15, "it is repeated for ever");
	}
	return sent;
}

/* 15 retransmissions, and then one more wait of the same time: REQ 98 s. */
Test(cm_times, retries)
{
	static const struct {
		enum place p;
		uint64_t ms;
		enum dpav_cm_event_type event;
	} t[] = {{P_REQ_SENT, 16 * 6144, DPA_CM_EV_UNREACHABLE},
		 {P_REP_SENT, 16 * 4096, DPA_CM_EV_UNREACHABLE},
		 {P_DREQ_SENT, 16 * 6144, DPA_CM_EV_DREQ_TIMEOUT},
		 {P_SIDR_REQ_SENT, 16 * 4096, DPA_CM_EV_UNREACHABLE},
		 {P_MRA_REQ_RCVD, 16 * (65536 + 2048), DPA_CM_EV_UNREACHABLE},
		 {P_MRA_REP_RCVD, 16 * (65536 + 2048), DPA_CM_EV_UNREACHABLE}};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct dpav_cm_effects out;
		struct dpav_cm cm;
		uint64_t now;

		test_reach(&cm, t[i].p);
		cr_assert_eq(until_end(&cm, &now, &out), 15, "%s", test_place_names[t[i].p]);
		cr_assert_eq(now - NOW, t[i].ms, "%s: %lu", test_place_names[t[i].p], now - NOW);
		cr_assert(out.event.type == t[i].event && out.event.status == -ETIMEDOUT);
	}
}

/* Its time applies to each retransmission; a second MRA changes nothing. */
Test(cm_times, mra_counts_once)
{
	struct dpav_cm cm;
	uint64_t deadline;

	test_reach(&cm, P_MRA_REQ_RCVD);
	deadline = cm.deadline;
	test_get(&cm, DPA_CM_MRA);
	cr_assert_eq(cm.deadline, deadline);
}

/* The passive side uses the times and the retries of the REQ. */
Test(cm_times, of_the_request)
{
	struct dpa_mad m = test_mad(DPA_CM_REQ);
	struct dpav_cm_input in = test_receive(&m);
	struct dpav_cm_effects out;
	struct dpav_cm cm;
	uint64_t now;

	m.req.local_cm_timeout = 10;
	m.req.max_cm_retries = 2;
	m.req.primary_ack_timeout = 12;
	dpav_cm_init(&cm, &test_config);
	test_step(&cm, &in);
	cr_assert_eq(test_call(&cm, DPA_CM_ACCEPT).deadline, NOW + 4);
	cr_assert_eq(until_end(&cm, &now, &out), 2);
	cr_assert_eq(now, NOW + 12);
	dpav_cm_init(&cm, &test_config);
	test_step(&cm, &in);
	test_call(&cm, DPA_CM_ACCEPT);
	cr_assert_eq(test_call(&cm, DPA_CM_REJECT).deadline, NOW + 16);
}

/* The ACK delay in the target's REP makes timewait longer. */
Test(cm_times, target_ack_delay)
{
	struct dpa_mad m = test_mad(DPA_CM_REP);
	struct dpav_cm_input in = test_receive(&m);
	struct dpav_cm cm;

	m.rep.target_ack_delay = 21;
	test_reach(&cm, P_REQ_SENT);
	test_step(&cm, &in);
	test_call(&cm, DPA_CM_CONFIRM);
	test_call(&cm, DPA_CM_DISCONNECT);
	cr_assert_eq(test_get(&cm, DPA_CM_DREP).deadline, NOW + 8192);
}

/* The longest times without a retry that a REQ can contain: one REP, 2.3 hours, the end. */
Test(cm_times, longest)
{
	struct dpa_mad m = test_mad(DPA_CM_REQ), mra = test_mad(DPA_CM_MRA);
	struct dpav_cm_input in = test_receive(&m), again = test_receive(&mra);
	struct dpav_cm_effects out;
	struct dpav_cm cm;
	uint64_t now;

	m.req.local_cm_timeout = m.req.remote_cm_timeout = m.req.primary_ack_timeout = 31;
	m.req.max_cm_retries = 0;
	mra.mra.message = 1;
	mra.mra.service_timeout = 31;
	dpav_cm_init(&cm, &test_config);
	test_step(&cm, &in);
	cr_assert_eq(test_call(&cm, DPA_CM_ACCEPT).deadline, NOW + (1u << 23));
	cr_assert_eq(test_step(&cm, &again).deadline, NOW + (1u << 24));
	cr_assert_eq(until_end(&cm, &now, &out), 0);
	cr_assert(now == NOW + (1u << 24) && out.event.type == DPA_CM_EV_UNREACHABLE);
	cr_assert_eq(dpav_cm_req_wait(31, 31), 3u << 23);
}

/* Without an owner a DREQ waits no longer than twice the time of this side. */
Test(cm_times, disconnects_without_an_owner)
{
	struct dpa_mad m = test_mad(DPA_CM_REQ);
	struct dpav_cm_input in = test_receive(&m);

	m.req.local_cm_timeout = 31;
	for (int called = 0; called < 2; called++) {
		struct dpav_cm_effects out;
		struct dpav_cm cm;
		uint64_t now;

		dpav_cm_init(&cm, &test_config);
		test_step(&cm, &in);
		test_call(&cm, DPA_CM_ACCEPT);
		test_get(&cm, DPA_CM_RTU);
		if (called)
			cr_assert_eq(test_call(&cm, DPA_CM_DISCONNECT).deadline, NOW + (1u << 23));
		cr_assert_eq(test_call(&cm, DPA_CM_DESTROY).deadline, NOW + 8192);
		cr_assert_eq(until_end(&cm, &now, &out), 15);
		cr_assert_eq(now, NOW + 16 * 8192);
	}
}

/* Numbers of the caller that no field can hold count as the largest value. */
Test(cm_times, numbers_of_the_caller)
{
	const struct dpav_cm_config c = {.local_id = ID,
					 .psn = 0xff123456,
					 .ack_delay = 255,
					 .cm_timeout = 255,
					 .max_retries = 255,
					 .mra_timeout = 255};
	uint8_t bytes[DPA_MAD_BYTES];
	struct dpav_cm_input again;
	struct dpav_cm cm;
	struct dpa_mad m;

	dpav_cm_init(&cm, &c);
	m = test_call(&cm, DPA_CM_CONNECT).mad;
	cr_assert(m.req.psn == 0x123456 && m.req.max_cm_retries == 15);
	cr_assert(m.req.remote_cm_timeout == 31 && m.req.local_cm_timeout == 31);
	cr_assert(dpa_mad_encode(&m, bytes));
	test_get(&cm, DPA_CM_REP);
	m = test_mad(DPA_CM_REP);
	again = test_receive(&m);
	again.now = NOW + (1u << 23);
	m = test_step(&cm, &again).mad;
	cr_assert(m.mra.service_timeout == 31 && dpa_mad_encode(&m, bytes));
}

/* An MRA answers retransmissions of the peer's timer, not copies made by the network. */
Test(cm_times, copies_get_no_mra)
{
	struct dpa_mad m = test_mad(DPA_CM_REQ);
	struct dpav_cm_input in = test_receive(&m);
	struct dpav_cm cm;

	m.req.remote_cm_timeout = 12;
	dpav_cm_init(&cm, &test_config);
	test_step(&cm, &in);
	in.now = NOW + 7;
	cr_assert(!test_step(&cm, &in).send && cm.state == DPA_CM_ST_REQ_RCVD);
	in.now = NOW + 8; /* half of 2^(12 - 8) */
	cr_assert(test_step(&cm, &in).send && cm.state == DPA_CM_ST_MRA_REQ_SENT);
	test_reach(&cm, P_REP_RCVD);
	cr_assert(!test_get(&cm, DPA_CM_REP).send && cm.state == DPA_CM_ST_REP_RCVD);
	cr_assert_eq(test_get_again(&cm, DPA_CM_REP).mad.mra.message, 1);
}
