/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_unread.c - data before the end of a connection, and completions that the program has not
 * polled.
 */
#include <criterion/criterion.h>
#include "gsi/endpoint.h"
#include "harness.h"
#include "link/peer.h"
#include "link/sock.h"
#include "eu/peer_end.h"
#include "eu/drain.h"

#define NO_QP 0xabcdefu /* as in the messages of UCX's ids: the QP is gone */

static struct th *th;
static struct dpa_hw_gsi gsi;

/* Replace link/peer.c, for the only peer of the harness. */
void dpa_peers_drain(struct dpa_hw *hw)
{
	while (dpa_lane_drain(&th->peer->rx[0]))
		;
}

/* A SEND from a to b that lies in the ring. */
static void setup(void)
{
	struct th_side *sides[2];

	th = th_new(&(struct th_opt){.psn = 1});
	gsi.hw = th->hw;
	sides[0] = &th->a;
	sides[1] = &th->b;
	for (int i = 0; i < 2; i++) {
		sides[i]->qp->lane = 0;
		sides[i]->qp->tx = &th->peer->tx[0];
		sides[i]->qp->peer = th->peer;
	}
	th_recv(&th->b, 70, 0, 100);
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	th_ring(&th->a);
}

static void teardown(void)
{
	th_free(th);
}

TestSuite(transport_unread, .init = setup, .fini = teardown);

Test(transport_unread, data_in_the_ring_is_taken_in_first)
{
	struct dpa_cqe e;

	cr_expect_not(dpa_hw_gsi_unread(&gsi, th->b.qp->qpn), "nothing was carried out yet");
	dpa_hw_gsi_take_in(&gsi);
	cr_expect(dpa_hw_gsi_unread(&gsi, th->b.qp->qpn));
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.wr_id, 70);
	cr_expect_not(dpa_hw_gsi_unread(&gsi, th->b.qp->qpn));
	cr_expect(dpa_hw_gsi_unread(&gsi, th->a.qp->qpn), "its SEND is complete");
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_not(dpa_hw_gsi_unread(&gsi, th->a.qp->qpn));
}

/* A QP that is gone stands for all connected QPs of the process. */
Test(transport_unread, a_qp_that_is_gone)
{
	struct dpa_cqe e;

	cr_expect_not(dpa_hw_gsi_unread(&gsi, NO_QP));
	dpa_hw_gsi_take_in(&gsi);
	cr_expect(dpa_hw_gsi_unread(&gsi, NO_QP));
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect(dpa_hw_gsi_unread(&gsi, NO_QP), "the sender's");
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_not(dpa_hw_gsi_unread(&gsi, NO_QP));
}

/* In a forked child the queues are not mapped. */
Test(transport_unread, a_forked_child)
{
	dpa_hw_gsi_take_in(&gsi);
	*th->hw->alive = 0;
	cr_expect_not(dpa_hw_gsi_unread(&gsi, th->b.qp->qpn));
	*th->hw->alive = 1;
}
