/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a QP is told when the socket does not take its packets. (dpa_wire_flush is named wire_flush
 * here, for the harness has a stand-in of that name.)
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "harness.h"
#include "link/inspect.h"
#include "link/wire.h"

void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg)
{
}

#define SRC 0x12

/* A remote whose sockets take nothing. */
static struct dpa_remote *remote(struct th *th)
{
	struct dpa_remote *r = NULL;
	static struct dpa_wire w;

	for (uint32_t i = 0; i < DPA_LANES; i++)
		w.tx_fd[0][i] = w.tx_fd[1][i] = -1;
	atomic_store(&th->hw->wire, &w);
	cr_assert_eq(posix_memalign((void **)&r, DPA_CACHE_LINE, sizeof(*r)), 0);
	memset(r, 0, sizeof(*r));
	r->peer.hw = th->hw;
	r->peer.wire = true;
	r->v4 = true;
	r->net.src[10] = r->net.src[11] = r->net.dst[10] = r->net.dst[11] = 0xff;
	r->peer.tx[0].peer = &r->peer;
	r->peer.tx[0].shm = aligned_alloc(4096, sizeof(struct dpa_lane_shm));
	memset(r->peer.tx[0].shm, 0, sizeof(struct dpa_lane_shm));
	return r;
}

static void put(struct dpa_remote *r, uint8_t opcode, uint32_t psn, uint32_t len)
{
	uint8_t *data;
	struct dpa_slot *s = dpa_lane_reserve(&r->peer.tx[0], len, &data);

	cr_assert_not_null(s);
	s->opcode = opcode;
	s->flags = dpa_pkt_mtu_flags(1024);
	s->src = SRC;
	s->dqpn = 0x020011;
	s->psn = psn;
	s->len = len;
	dpa_lane_publish(&r->peer.tx[0], s);
}

static void end(struct th *th, struct dpa_remote *r)
{
	for (uint32_t i = 0; i < DPA_WIRE_ROOMS; i++) {
		free(th->hw->wire->room[i].scratch);
		th->hw->wire->room[i].scratch = NULL;
	}
	free(r->peer.tx[0].shm);
	free(r);
	atomic_store(&th->hw->wire, NULL);
	th_free(th);
}

/* A QP went back to a PSN of its peer, or of a QP of another kind on the same lane. */
Test(udp_flush, only_requests_name_the_psn_to_go_on_from)
{
	static const uint8_t foreign[] = {DPA_BTH_ACK, DPA_BTH_ATOMIC_ACK, DPA_BTH_READ_RESP_LAST,
					  DPA_BTH_UD | DPA_BTH_SEND_ONLY, DPA_BTH_CNP};
	struct th *th = th_new(&(struct th_opt){0});
	struct dpa_remote *r = remote(th);
	uint32_t psn;

	for (uint32_t i = 0; i < sizeof(foreign); i++) {
		put(r, foreign[i], 0x123456, 0);
		psn = 0;
		cr_expect_eq(wire_flush(&r->peer.tx[0], SRC, &psn), 1);
		cr_expect_eq(psn, DPA_WIRE_NO_PSN, "%02x: %06x", foreign[i], psn);
		put(r, foreign[i], 0x123456, 0);
		put(r, DPA_BTH_SEND_ONLY, 7, 100);
		put(r, DPA_BTH_SEND_ONLY, 8, 100);
		cr_expect_eq(wire_flush(&r->peer.tx[0], SRC, &psn), 3);
		cr_expect_eq(psn, 7, "%02x: %06x", foreign[i], psn);
		/* another QP's, that waited in the lane for company */
		put(r, DPA_BTH_SEND_ONLY, 9, 100);
		cr_expect_eq(wire_flush(&r->peer.tx[0], SRC + 1, &psn), 1);
		cr_expect_eq(psn, DPA_WIRE_NO_PSN);
	}
	end(th, r);
}
