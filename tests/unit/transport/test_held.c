/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_held.c - a packet that waits in its ring for a receive keeps its payload while others are
 * sent after it.
 */
#include <criterion/criterion.h>
#include "link/lane.h"
#include "harness.h"
#include "link/sock.h"
#include "eu/drain.h"

enum {
	LEN = 4000, /* the payload lies in the data area, which holds 65 of them: the SQ has more */
	MTU_4096 = 5,
	MESSAGES = 300,
	SLOT = 4096, /* each message has its own place: no sender reuses memory */
	SLOTS = TH_MEM / SLOT / 2,
	AT = TH_MEM / 2, /* start of receives and of WRITE targets */
	QKEY = 0x11111111,
};

static bool post(struct th *th, uint8_t op, uint32_t i)
{
	const uint32_t off = i % SLOTS * SLOT;
	struct dpa_wqe_av av = {
		.dqpn = th->b.qp->qpn, .qkey = QKEY, .hop_limit = 9, .is_global = 1};
	struct th_wr wr = {.op = op,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem + off, LEN, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem + AT + off,
			   .rkey = th->b.key,
			   .imm = i};

	memcpy(av.dgid, th_gid[0], 16);
	if (th->a.qp->type == DPA_QP_UD)
		wr.av = &av;
	th_fill(th->a.mem + off, LEN, i + 1);
	if (!th_post(&th->a, &wr))
		return false;
	th_ring(&th->a);
	return true;
}

/*
 * The receiver is always one receive late: the packet at the front of the ring waits for it, and
 * the sender fills the ring meanwhile.
 */
static void starve(uint32_t type, uint8_t op)
{
	struct th *th = th_new(&(struct th_opt){.type = type, .mtu = MTU_4096});
	struct dpa_rx *rx = &th->peer->rx[th->a.qp->lane];
	const uint32_t grh = type == DPA_QP_UD ? 40 : 0;
	uint32_t sent = 0, wrong = 0;
	struct dpa_cqe e;

	for (uint32_t got = 0; got < MESSAGES; got++) {
		const uint32_t at = AT + got % SLOTS * SLOT;

		while (sent < MESSAGES && sent - got < SLOTS - 1 && post(th, op, sent))
			sent++;
		memset(th->b.mem + at, 0, SLOT);
		cr_assert(th_recv(&th->b, got, at, SLOT));
		cr_assert_eq(dpa_lane_drain(rx), 1, "message %u", got);
		cr_assert(th_poll(&th->b.rcq, &e), "message %u", got);
		cr_expect_eq(e.status, DPA_CQE_OK);
		cr_expect_eq(e.byte_len, LEN + grh);
		cr_expect_eq(e.imm, got, "%u instead of %u", e.imm, got);
		wrong += !th_check(th->b.mem + at + grh, LEN, got + 1);
		th_ring(&th->a);
	}
	cr_expect_eq(wrong, 0, "%u of %u messages have bytes of another one", wrong, MESSAGES);
	th_free(th);
}

Test(transport_held, uc_send_keeps_its_bytes)
{
	starve(DPA_QP_UC, DPA_OP_SEND_IMM);
}

Test(transport_held, uc_write_with_immediate_keeps_its_bytes)
{
	starve(DPA_QP_UC, DPA_OP_RDMA_WRITE_IMM);
}

Test(transport_held, ud_keeps_its_bytes)
{
	starve(DPA_QP_UD, DPA_OP_SEND_IMM);
}
