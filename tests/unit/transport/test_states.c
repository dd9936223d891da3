/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_states.c - results of dpa_req_state() along the arrows of device/transport/README.md, which
 * are the steps of tests/model/rc.pml.
 */
#include "link/peer.h"
#include "eu/progress.h"
#include "lossy.h"
#include "send/req_state.h"
#include "link/sock.h"
#include "eu/drain.h"

static void expect_at(struct th *th, enum dpa_req_state st, int line)
{
	enum dpa_req_state is = dpa_req_state(th->a.qp);

	cr_expect_eq(is, st, "line %d: %s, not %s", line, dpa_req_state_name(is),
		     dpa_req_state_name(st));
}
#define expect(th, st) expect_at(th, DPA_REQ_##st, __LINE__)

static void post_writes(struct th *th, uint32_t n, uint32_t len)
{
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem, len, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem,
			   .rkey = th->b.key};

	for (uint32_t i = 0; i < n; i++)
		cr_assert(th_post(&th->a, &wr));
}

static void modify(struct th *th, uint32_t state)
{
	struct dpa_qp_attr a = {.state = state};

	cr_assert_eq(dpa_hw_modify_qp(th->a.qp, &a, DPA_QPM_STATE), 0);
}

/*
 * IDLE --doorbell--> SENDING --all sent--> WAITING --ACK--> IDLE
 */
Test(transport_states, of_a_message_that_goes_well)
{
	for (int wire_too = 0; wire_too < 2; wire_too++) {
		struct th *th = wire_too ? wire() : rc();

		expect(th, IDLE);
		post_writes(th, 1, 10);
		expect(th, SENDING);
		th_ring(&th->a);
		expect(th, WAITING);
		th_drop_all(&th->a);
		answer(th, 0, ACK);
		expect(th, IDLE);
		th_free(th);
	}
}

/* A call does bounded work: no thread waits for the rest. */
Test(transport_states, between_two_calls_it_is_sending)
{
	struct th *th = rc();

	post_writes(th, 200, 10);
	th_ring(&th->a);
	cr_expect_eq(th_drop_all(&th->a), 64);
	expect(th, SENDING);
	dpa_progress_once(th->hw);
	expect(th, SENDING);
	while (dpa_progress_once(th->hw))
		;
	expect(th, WAITING);
	answer(th, 198, ACK);
	expect(th, WAITING);
	answer(th, 199, ACK);
	expect(th, IDLE);
	th_free(th);
}

/*
 * SENDING --no room in the ring--> `PENDED` --progress--> SENDING
 */
Test(transport_states, a_ring_without_room)
{
	struct th *th = rc();
	struct dpa_rx *rx = &th->peer->rx[th->a.qp->lane];

	post_writes(th, 1, 512 * 1024); /* twice the size of a ring's data area */
	th_ring(&th->a);
	expect(th, PENDED);
	dpa_progress_once(th->hw);
	expect(th, PENDED);
	cr_assert_eq(dpa_lane_drain(rx), 32);
	expect(th, SENDING);
	dpa_progress_once(th->hw);
	expect(th, WAITING);
	th_settle(th);
	expect(th, IDLE);
	th_free(th);
}

/* SENDING --link not up--> `PENDED` */
Test(transport_states, a_peer_that_is_not_met_yet)
{
	struct th *th = rc();

	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	post_writes(th, 1, 10);
	expect(th, PENDED);
	th_ring(&th->a);
	expect(th, PENDED);
	atomic_store(&th->peer->state, DPA_PEER_UP);
	th_ring(&th->a);
	expect(th, WAITING);
	th_free(th);
}

/* SENDING --READ limit, fence--> WAITING --response--> SENDING */
Test(transport_states, what_waits_for_a_response)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .retry = 7, .timeout = 14, .rd = 1});
	struct th_wr fenced = {.op = DPA_OP_RDMA_WRITE,
			       .flags = DPA_WQE_FENCE,
			       .nsge = 1,
			       .sge = {{(uintptr_t)th->a.mem, 10, th->a.key}},
			       .raddr = (uintptr_t)th->b.mem,
			       .rkey = th->b.key};
	struct dpa_req *r = &th->a.qp->req;

	th_send(&th->a, DPA_OP_RDMA_READ, 0, 8, 0);
	th_send(&th->a, DPA_OP_RDMA_READ, 0, 8, 0);
	cr_assert_neq(r->send_idx, th->a.pi);
	expect(th, WAITING);
	response(th, DPA_BTH_READ_RESP_ONLY, 0, 0, 8);
	cr_assert_eq(r->send_idx, th->a.pi);
	cr_assert(th_post(&th->a, &fenced));
	th_ring(&th->a);
	cr_assert_neq(r->send_idx, th->a.pi);
	expect(th, WAITING);
	response(th, DPA_BTH_READ_RESP_ONLY, 1, 0, 8);
	cr_assert_eq(r->send_idx, th->a.pi, "the answer let it go");
	expect(th, WAITING);
	answer(th, 2, ACK);
	expect(th, IDLE);
	th_free(th);
}

/* SENDING --window--> WAITING --ACK--> SENDING */
Test(transport_states, a_window_that_is_full)
{
	struct th *th = wire();
	struct dpa_req *r = &th->a.qp->req;
	uint32_t sent;

	post_writes(th, 1, 2u << 20);
	th_ring(&th->a);
	while (dpa_progress_once(th->hw))
		;
	cr_assert_neq(r->send_idx, th->a.pi);
	expect(th, WAITING);
	sent = th_drop_all(&th->a);
	answer(th, sent - 1, ACK);
	cr_expect_gt(th_drop_all(&th->a), 0);
	expect(th, WAITING);
	th_free(th);
}

/*
 * SENDING --credits--> WAITING --new credits--> SENDING
 */
Test(transport_states, a_peer_without_receives)
{
	struct th *th = wire();

	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	ack_with(th, 0, 1, 0); /* and none is left */
	expect(th, IDLE);
	th_send(&th->a, DPA_OP_SEND, 0, 10, 0); /* goes in any case */
	th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	cr_assert_neq(th->a.qp->req.send_idx, th->a.pi);
	expect(th, WAITING);
	ack_with(th, 1, 2, 1);
	cr_assert_eq(th->a.qp->req.send_idx, th->a.pi);
	expect(th, WAITING);
	th_free(th);
}

/* SQD holds new messages back, not messages that were sent before. */
Test(transport_states, draining)
{
	struct th *th = rc();

	post_writes(th, 1, 10);
	th_ring(&th->a);
	modify(th, DPA_QPS_SQD);
	post_writes(th, 1, 10);
	th_ring(&th->a);
	expect(th, WAITING);
	answer(th, 0, ACK);
	expect(th, WAITING);
	modify(th, DPA_QPS_RTS);
	expect(th, WAITING);
	answer(th, 1, ACK);
	expect(th, IDLE);
	th_free(th);
}

/*
 * WAITING --RNR NAK--> TIMER --expiry--> SENDING from the given PSN
 */
Test(transport_states, the_rnr_timer)
{
	struct th *th = rc();
	struct th_pkt p;

	for (int i = 0; i < 2; i++)
		th_send(&th->a, DPA_OP_SEND, 0, 10, 0);
	th_drop_all(&th->a);
	answer(th, 1, RNR(1));
	expect(th, TIMER);
	post_writes(th, 1, 10);
	th_ring(&th->a);
	cr_expect_eq(th_drop_all(&th->a), 0);
	expect(th, TIMER);
	th_tick(th);
	expect(th, WAITING);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(nth(&p), 1);
	answer(th, 2, ACK);
	expect(th, IDLE);
	th_free(th);
}

/*
 * WAITING --loss--> TIMER: no process has the QPN
 */
Test(transport_states, the_retry_timer)
{
	struct th *th = rc();

	post_writes(th, 1, 10);
	th_ring(&th->a);
	th_drop_all(&th->a);
	th_lost(&th->a);
	expect(th, TIMER);
	th_tick(th);
	expect(th, WAITING);
	th_lost(&th->a);
	expect(th, TIMER);
	answer(th, 0, ACK); /* late, but there */
	expect(th, IDLE);
	th_free(th);
}

/* WAITING --NAK of the sequence, local ACK timer--> SENDING from there, until retries are spent */
Test(transport_states, retries_end_in_err)
{
	struct th *th = wire_of((struct th_opt){.retry = 1});

	post_writes(th, 1, 3 * MTU);
	th_ring(&th->a);
	th_drop_all(&th->a);
	answer(th, 1, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_gt(th_drop_all(&th->a), 0);
	expect(th, WAITING);
	th_logged[0] = '\0';
	silence(th);
	expect(th, ERR);
	cr_expect(strstr(th_logged, "while WAITING"), "the log: %s", th_logged);
	th_free(th);
}

/* any --NAK, local fault--> ERR */
Test(transport_states, faults_end_in_err)
{
	struct th *th = rc();

	post_writes(th, 1, 10);
	th_ring(&th->a);
	answer(th, 0, NAK(DPA_NAK_REM_ACCESS));
	expect(th, ERR);
	cr_expect(strstr(th_logged, "while WAITING"), "the log: %s", th_logged);
	modify(th, DPA_QPS_RESET);
	expect(th, IDLE);
	th_free(th);

	th = rc();
	th->a.key ^= 0x100; /* not a key of this function */
	post_writes(th, 1, 10);
	expect(th, SENDING);
	th_ring(&th->a);
	expect(th, ERR);
	cr_expect(strstr(th_logged, "while SENDING"), "the log: %s", th_logged);
	th->a.key ^= 0x100;
	th_free(th);
}

/* Datagrams and UC have SQE, and are complete when they were sent. */
Test(transport_states, without_acknowledgements)
{
	struct th *th = th_new(&(struct th_opt){.type = DPA_QP_UC, .psn = PSN0});

	post_writes(th, 1, 10);
	expect(th, SENDING);
	th_ring(&th->a);
	expect(th, IDLE);
	th->a.key ^= 0x100;
	post_writes(th, 1, 10);
	th_ring(&th->a);
	cr_expect_eq(th->a.qp->state, DPA_QPS_SQE);
	expect(th, ERR);
	th->a.key ^= 0x100;
	modify(th, DPA_QPS_RTS);
	expect(th, IDLE);
	th_free(th);
}
