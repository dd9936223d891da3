/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_lanes.c - a process of the board that writes invalid entries into its ring. */
#include <criterion/criterion.h>
#include "ctx/qp.h"
#include "link/lane.h"
#include "harness.h"
#include "link/sock.h"
#include "eu/drain.h"

#define MTU 1024u

/* An entry from A to B with these flags, which B takes as from any ring. */
static void slot(struct th *th, uint32_t psn, uint8_t flags, const void *data, uint32_t bytes,
		 uint32_t len)
{
	struct dpa_tx *tx = &th->peer->tx[th->a.qp->lane];
	uint8_t *at = NULL;
	struct dpa_slot *s = dpa_lane_reserve(tx, bytes, &at);

	cr_assert_not_null(s);
	s->opcode = DPA_BTH_SEND_ONLY;
	s->flags = flags;
	s->src = (uint16_t)(th->a.qp->qpn & DPA_QPN_INDEX);
	s->dqpn = th->b.qp->qpn;
	s->psn = psn;
	s->len = len;
	memcpy(at, data, bytes);
	dpa_lane_publish(tx, s);
	cr_assert_eq(dpa_lane_drain(&th->peer->rx[th->a.qp->lane]), 1);
}

/*
 * Segments are pointers into the receiving process: a sender that could set them would read all of
 * its memory.
 */
Test(security_lanes, no_pointer_is_taken_from_a_ring)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0});
	static uint8_t secret[256];
	struct dpa_pieces v = {.n = 1};

	memset(secret, 0x5e, sizeof(secret));
	v.iov[0] = (struct iovec){.iov_base = secret, .iov_len = sizeof(secret)};
	th_recv(&th->b, 1, 0, 4096);
	slot(th, 0, DPA_PKT_IOV, &v, sizeof(v), sizeof(secret));
	/* an address may have such a byte in it, but not many in a row */
	for (uint32_t i = 0, row = 0; i < sizeof(secret); i++) {
		row = th->b.mem[i] == 0x5e ? row + 1 : 0;
		cr_assert_lt(row, 8, "bytes of the victim's own");
	}
	th_free(th);
}

/*
 * Packets from the wire are queued out of order; the length of the segments was chosen by the
 * sender.
 */
Test(security_lanes, nothing_of_a_ring_is_queued)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0});
	static uint8_t much[65536];
	struct dpa_pieces v = {.n = 1};

	v.iov[0] = (struct iovec){.iov_base = much, .iov_len = sizeof(much)};
	slot(th, 5, DPA_PKT_IOV | 3 << DPA_PKT_MTU_SHIFT, &v, sizeof(v), 16);
	cr_expect_eq(th->b.qp->ooo.n, 0);
	th_free(th);
}
