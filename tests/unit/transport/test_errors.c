/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_errors.c - records of errors: what is in them, how many a QP has, where flushes count. */
#include "ctx/ops.h"
#include "ctx/qp.h"
#include "link/lane.h"
#include "requests.h"

static const struct th_error *last(void)
{
	return &th_errors[th_num_errors % TH_ERRORS];
}

static const struct dpa_error *last_error(void)
{
	return &last()->e;
}

static void send_sges(struct th *th, const struct dpa_sge *g, uint32_t n)
{
	struct th_wr wr = {.op = DPA_OP_SEND, .flags = DPA_WQE_SIGNALED, .nsge = n, .wr_id = 77};

	memcpy(wr.sge, g, n * sizeof(*g));
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	th_settle(th);
}

/* The SGE at fault among others: which one, its values, and its region. */
Test(transport_errors, the_sge_at_fault)
{
	struct th *th = rc();
	const uint64_t m = (uintptr_t)th->a.mem;
	const struct dpa_sge g[] = {{m, 8, th->a.key},
				    {m, 0, 1 /* of no bytes: not looked at */},
				    {m + TH_MEM - 4, 8, th->a.key}};
	const struct dpa_error *e;

	send_sges(th, g, 3);
	e = last_error();
	cr_assert_eq(th_num_errors, 1);
	cr_expect_eq(e->kind, DPA_ERROR_SENT);
	cr_expect_eq(e->status, DPA_CQE_LOC_PROT_ERR);
	cr_expect_eq(e->vendor_err, DPA_SYN_LKEY_BOUNDS);
	cr_expect_eq(e->wr_id, 77);
	cr_expect_eq(e->opcode, DPA_OP_SEND);
	cr_expect_eq(e->qpn, th->a.qp->qpn);
	cr_expect_eq(e->peer.qpn, th->b.qp->qpn);
	cr_expect_eq(e->nth, 1);
	cr_expect_eq(e->flags, 0);
	cr_expect_eq(e->check.kind, DPA_CHECK_SGE);
	cr_expect_eq(e->check.sge, 2);
	cr_expect_eq(e->check.nsge, 3);
	cr_expect_eq(e->check.addr, m + TH_MEM - 4);
	cr_expect_eq(e->check.len, 8);
	cr_expect_eq(e->check.key, th->a.key);
	cr_expect_eq(e->check.why, DPA_WHY_RANGE);
	cr_expect_eq(e->check.region_addr, m);
	cr_expect_eq(e->check.region_len, TH_MEM);
	cr_expect(strstr(th_logged_error, "SGE 3 of 3: "), "%s", th_logged_error);
	th_free(th);
}

/* A key that is none, and one of another PD, whose region is named. */
Test(transport_errors, keys)
{
	struct th *th = rc();
	const uint64_t m = (uintptr_t)th->b.mem;
	struct dpa_mr_attr mr = {.pdn = 2, .access = TH_ALL, .addr = m, .iova = m, .length = 64};
	uint32_t key;

	th->hw->pd.refs[2] = 1;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
	give_remote(th, DPA_BTH_READ_REQUEST, 0, m, key, 8);
	cr_expect_eq(last_error()->vendor_err, DPA_SYN_BAD_RKEY);
	cr_expect_eq(last_error()->check.why, DPA_WHY_OTHER_PD);
	cr_expect_eq(last_error()->check.region_len, 64);
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	th_free(th);
	th = rc();
	give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem, key, 8);
	cr_expect_eq(last_error()->check.why, DPA_WHY_NO_KEY);
	cr_expect_eq(last_error()->check.region_len, 0);
	th_free(th);
}

/* A window that is not this QP's may be bound meanwhile: its range is not read. */
Test(transport_errors, windows)
{
	static const struct {
		uint32_t type, pdn, why;
	} t[] = {{DPA_KIND_MW1, 2, DPA_WHY_OTHER_PD},
		 {DPA_KIND_MW2, 2, DPA_WHY_OTHER_PD},
		 {DPA_KIND_MW2, 1, DPA_WHY_OTHER_QP}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct th *th = rc();
		const uint64_t m = (uintptr_t)th->b.mem;
		struct dpa_mr_attr attr = {
			.pdn = 1, .access = TH_ALL, .addr = m, .iova = m, .length = 64};
		struct dpa_mr *mr;
		uint32_t key;

		cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &attr, &key), 0);
		mr = &th->hw->export->mr[key >> DPA_KEY_TAG_BITS];
		mr->kind = (uint8_t)t[i].type; /* as one that is bound */
		mr->pdn = t[i].pdn;
		mr->qpn = th->b.qp->qpn + 1;
		give_remote(th, DPA_BTH_READ_REQUEST, 0, m, key, 8);
		cr_expect_eq(last_error()->check.why, t[i].why, "%zu", i);
		cr_expect_eq(last_error()->check.region_len, 0, "%zu", i);
		mr->kind = DPA_KIND_MR;
		mr->pdn = 1;
		mr->qpn = 0;
		cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
		th_free(th);
	}
}

/* A refused request: the record of the responder has the packet's PSN and its reason. */
Test(transport_errors, refusals)
{
	static const struct {
		uint8_t op, nak;
		int32_t off;
		uint32_t len, access, reason, recorded_op;
	} t[] = {
		{DPA_BTH_WRITE_ONLY, DPA_NAK_REM_ACCESS, -1, 8, 0, DPA_SYN_RKEY_BOUNDS,
		 DPA_OP_RDMA_WRITE},
		{DPA_BTH_READ_REQUEST, DPA_NAK_INV_REQ, 0, 8, TH_NO_ACCESS, DPA_SYN_QP_ACCESS,
		 DPA_OP_RDMA_READ},
		{DPA_BTH_FETCH_ADD, DPA_NAK_INV_REQ, 4, 8, 0, DPA_SYN_UNALIGNED, DPA_OP_ATOMIC_FA},
		{DPA_BTH_SEND_MIDDLE, DPA_NAK_INV_REQ, 0, MTU, 0, 0, DPA_OP_SEND},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct th *th = th_new(&(struct th_opt){.psn = PSN0, .access = t[i].access});
		const struct dpa_error *e;

		if (t[i].op == DPA_BTH_SEND_MIDDLE)
			give(th, t[i].op, 0, t[i].len);
		else
			give_remote(th, t[i].op, 0,
				    (uintptr_t)th->b.mem + (uint64_t)(int64_t)t[i].off, th->b.key,
				    t[i].len);
		e = last_error();
		cr_expect_eq(e->kind, DPA_ERROR_REFUSED, "%zu", i);
		cr_expect_eq(e->vendor_err, t[i].reason, "%zu: %#x", i, e->vendor_err);
		cr_expect_eq(e->opcode, t[i].recorded_op, "%zu", i);
		cr_expect_eq(e->nak, t[i].nak + 1, "%zu", i);
		cr_expect_eq(e->psn, PSN0, "%zu", i);
		cr_expect_eq(e->qpn, th->b.qp->qpn);
		cr_expect_eq(e->check.kind, t[i].reason ? DPA_CHECK_REQUEST : DPA_CHECK_PACKET);
		th_free(th);
	}
}

/* The requester's record has the PSNs of the message: the responder's PSN is among them. */
Test(transport_errors, both_ends_fit)
{
	struct th *th = rc();
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem, 3 * MTU, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem + TH_MEM - MTU,
			   .rkey = th->b.key};
	const struct dpa_error *a, *b;

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	th_settle(th);
	cr_assert_eq(th_num_errors, 2);
	b = &th_errors[1].e;
	a = &th_errors[2].e;
	cr_expect_eq(b->kind, DPA_ERROR_REFUSED);
	cr_expect_eq(a->kind, DPA_ERROR_SENT);
	cr_expect_eq(a->vendor_err, DPA_SYN_NAK_ACCESS);
	cr_expect_eq(a->psn, dpa_psn_add(PSN0, 1));
	cr_expect_eq(a->npsn, 3);
	cr_expect_eq(b->psn, dpa_psn_add(PSN0, 1));
	cr_expect_eq(a->check.kind, DPA_CHECK_REQUEST);
	cr_expect_eq(a->check.addr, wr.raddr);
	cr_expect_eq(a->check.len, 3 * MTU);
	cr_expect_eq(b->check.region_len, TH_MEM);
	th_free(th);
}

static void again(struct th_side *s)
{
	static const uint32_t states[] = {DPA_QPS_RESET, DPA_QPS_INIT, DPA_QPS_RTR, DPA_QPS_RTS};

	for (int i = 0; i < 4; i++)
		dpa_qp_set_state(s->qp, states[i]);
}

/* A QP that fails again and again: its first error, and the last three. Flushes count in the last. */
Test(transport_errors, four_of_a_qp)
{
	struct th *th = rc();
	struct dpa_cqe e = {.qpn = th->a.qp->qpn,
			    .opcode = DPA_CQE_SEND,
			    .status = DPA_CQE_GENERAL_ERR,
			    .vendor_err = DPA_SYN_NO_FDS},
		       flush = {.qpn = th->a.qp->qpn,
				.opcode = DPA_CQE_RECV,
				.status = DPA_CQE_WR_FLUSH_ERR,
				.vendor_err = DPA_SYN_FLUSHED};
	uint32_t found = 0;

	dpa_qplock_lock(&th->a.qp->lock);
	for (uint32_t i = 1; i <= 20; i++) {
		e.wr_id = i;
		th->a.qp->ops->failed(th->a.qp, &e);
		for (uint32_t k = 0; k < i; k++)
			th->a.qp->ops->failed(th->a.qp, &flush);
		again(&th->a);
	}
	dpa_qp_leave(th->a.qp);
	cr_assert_eq(th_num_errors, 4);
	for (int i = 1; i <= 4; i++) {
		const struct th_error *r = &th_errors[i];

		cr_expect_eq(r->e.nth, r->e.wr_id);
		cr_expect_eq(r->flushed[1], r->e.nth);
		cr_expect_eq(r->flushed[0], 0);
		found |= 1u << r->e.nth;
	}
	cr_expect_eq(found, 1u << 1 | 1u << 18 | 1u << 19 | 1u << 20);
	th_free(th);
}

/* Without an error before, flushes have a record of their own: one for a QP, used again after RESET. */
Test(transport_errors, only_flushed)
{
	struct th *th = rc();

	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 1; i <= 5; i++)
			cr_assert(th_recv(&th->b, i, 0, 8));
		dpa_qplock_lock(&th->b.qp->lock);
		dpa_qp_to_error(th->b.qp);
		cr_expect_eq(th_num_errors, 1);
		cr_expect(th_errors[1].flush);
		cr_expect_eq(th_errors[1].e.wr_id, 1);
		cr_expect_eq(th_errors[1].e.status, DPA_CQE_WR_FLUSH_ERR);
		cr_expect_eq(th_errors[1].flushed[1], 5);
		again(&th->b);
		dpa_qp_leave(th->b.qp);
	}
	th_free(th);
}

/* UC drops what it refuses, and goes on: what is flushed at its end is not that error's. */
Test(transport_errors, uc_goes_on)
{
	struct th *th = th_new(&(struct th_opt){.type = DPA_QP_UC, .psn = PSN0});
	struct th_pkt p;

	cr_assert(th_recv(&th->b, 9, 0, 8));
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_WRITE_ONLY, PSN0, 8);
	th_ext(&p)->va = (uintptr_t)th->b.mem - 8;
	th_ext(&p)->rkey = th->b.key;
	th_ext(&p)->dmalen = 8;
	th_give(&th->b, &p);
	cr_assert_eq(th_num_errors, 1);
	cr_expect_eq(last_error()->kind, DPA_ERROR_REFUSED);
	cr_expect_eq(last_error()->nak, 0);
	cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
	dpa_qplock_lock(&th->b.qp->lock);
	dpa_qp_to_error(th->b.qp);
	dpa_qp_leave(th->b.qp);
	cr_expect_eq(th_errors[1].flushed[1], 0);
	cr_expect_eq(th_num_errors, 2);
	cr_expect(th_errors[2].flush);
	th_free(th);
}

/* A receive that a message does not fit: how long it is as far as it came, and the room. */
Test(transport_errors, lengths)
{
	struct th *th = rc();
	const struct dpa_error *e;

	th_recv(&th->b, 5, 0, MTU + 10);
	give(th, DPA_BTH_SEND_FIRST, 0, MTU);
	give(th, DPA_BTH_SEND_LAST, 1, 200);
	e = last_error();
	cr_expect_eq(e->kind, DPA_ERROR_RECEIVED);
	cr_expect_eq(e->vendor_err, DPA_SYN_RECV_TOO_SMALL);
	cr_expect_eq(e->check.kind, DPA_CHECK_LENGTH);
	cr_expect_eq(e->check.len, MTU + 200);
	cr_expect_eq(e->check.limit, MTU + 10);
	cr_expect_eq(e->wr_id, 5);
	cr_expect_eq(e->psn, dpa_psn_add(PSN0, 1));
	th_free(th);
}

/* The peer as it is at that time: its process lives, has lost the QP, or has ended. */
Test(transport_errors, the_peer)
{
	static const uint8_t states[] = {DPA_ERROR_PEER_LIVES, DPA_ERROR_PEER_NO_QP,
					 DPA_ERROR_PEER_ENDED};

	for (int i = 0; i < 3; i++) {
		struct th *th = rc();
		const uint64_t m = (uintptr_t)th->a.mem;
		const struct dpa_sge g = {m, 8, th->a.key ^ 1};

		strcpy(th->self.comm, "p\33[2J\n");
		th->self.uid = 5;
		th->self.pid = i == 2 ? 0 : 4711; /* a reaper clears it */
		th->peer->pid = 4711;
		atomic_store(&th->self.gen, th->peer->gen);
		if (i == 0)
			th_owned[0] =
				(struct th_owned){th->b.qp->qpn, th->peer->slot, th->peer->gen};
		th_dead = i == 2;
		send_sges(th, &g, 1);
		cr_expect_eq(last_error()->peer.state, states[i], "%d: %u", i,
			     last_error()->peer.state);
		cr_expect_eq(last_error()->peer.pid, 4711);
		cr_expect_eq(last_error()->peer.uid, 5);
		cr_expect_str_eq(last_error()->peer.comm, "p?[2J?");
		th_dead = false;
		memset(th_owned, 0, sizeof(th_owned));
		th_free(th);
	}
}
