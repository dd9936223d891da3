/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_turns.c - XRC initiators (transport/xrc_branch.c): the target replicas that they address,
 * and the start of an ownership epoch.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include "link/lane.h"
#include "eu/progress.h"
#include "harness.h"

enum { PSN0 = 100, TIMEOUT = 10, RETRY = 2 };

static struct th *initiators(void)
{
	return th_new(&(struct th_opt){
		.type = DPA_QP_XRC_SEND, .psn = PSN0, .timeout = TIMEOUT, .retry = RETRY});
}

/* Return the ownership epoch of A's next packet. */
static uint32_t turn_of_next(struct th *th)
{
	struct th_pkt p;

	cr_assert(th_take(&th->a, &p));
	cr_assert_eq(p.s.opcode & DPA_BTH_TRANSPORT, DPA_BTH_XRC);
	return th_ext(&p)->turn;
}

/*
 * A process without descriptors for another link: the error was "transport retry counter exceeded".
 */
Test(transport_turns, no_descriptor_to_meet_the_peer)
{
	struct th *th = initiators();
	uint64_t began = th_now;
	struct dpa_cqe e;
	int n = 0;

	th_nobody = true;
	th_nobody_errno = EMFILE;
	th->a.qp->peer = NULL;
	th->a.qp->tx = NULL;
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	while (!th_poll(&th->a.scq, &e))
		cr_assert(th_tick(th) && n++ < 100, "for ever");
	cr_expect_eq(e.status, DPA_CQE_GENERAL_ERR, "%u", e.status);
	cr_expect_eq(e.vendor_err, DPA_SYN_NO_FDS, "%#x", e.vendor_err);
	cr_expect_eq(th_now - began, RETRY * (4096ull << TIMEOUT), "it tries as often as it may");
	th_nobody = false;
	th_nobody_errno = ENOENT;
	th_free(th);
}

/* The question went to another process: the requester does not wait for its answer. */
Test(transport_turns, an_epoch_begins_with_no_request_pending)
{
	struct th *th = initiators();

	th->a.qp->peer = NULL;
	th->a.qp->tx = NULL;
	th->a.qp->req.asked = true;
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_expect_not(th->a.qp->req.asked);
	th_free(th);
}

/*
 * The first epoch starts again if its peer was looked up again: its packets still go to a target
 * that expects the initial PSN. Not after a packet was acknowledged.
 */
/* IBA 9.7.4 (expected) */
Test(transport_turns, the_first_epoch_keeps_its_psns)
{
	struct th *th = initiators();
	struct th_pkt p;

	th->a.qp->peer = NULL;
	th->a.qp->tx = NULL;
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_expect(turn_of_next(th) & DPA_TURN_KEEPS, "the first");
	th_lost(&th->a);
	th->a.qp->peer = NULL;
	cr_assert(th_tick(th));
	cr_expect(turn_of_next(th) & DPA_TURN_KEEPS, "the first, again");
	th_forge(&th->b, &p, DPA_BTH_XRC | DPA_BTH_ACK, PSN0, 0);
	th_ext(&p)->syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS;
	th_give(&th->a, &p);
	cr_assert_eq(th->a.qp->req.una_psn, PSN0 + 1);
	th->a.qp->peer = NULL;
	th->a.qp->tx = NULL;
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_expect_not(turn_of_next(th) & DPA_TURN_KEEPS, "another");
	th_free(th);
}

/* The ACK of a target of this process found no room: messages do not overtake it. */
Test(transport_turns, messages_wait_behind_acks_without_room)
{
	struct th *th = initiators();
	struct dpa_tx *tx = &th->peer->tx[th->a.qp->lane];
	struct th_pkt p;

	tx->acks_waiting = 1;
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	cr_expect_not(th_take(&th->a, &p), "before the ACK");
	cr_expect(th->a.qp->pend.on);
	tx->acks_waiting = 0;
	cr_expect_gt(dpa_progress_once(th->hw), 0);
	cr_expect(th_take(&th->a, &p), "and behind it");
	th_free(th);
}
