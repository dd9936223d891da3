/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_quick.c - a short SEND of one segment into a receive of one segment takes the fast path, and
 * so does its ACK. With two segments on either side it takes the general path, as does an ACK that
 * is sent with the QP's own packets. No visible effect may distinguish the paths.
 */
#include <criterion/criterion.h>
#include "ctx/qp.h"
#include "ctx/srq.h"
#include "link/lane.h"
#include "harness.h"

#define AT    4096u
#define BYTES 44u /* some more than an entry holds */

/* The effects of a message. */
struct trace {
	struct th_pkt request, ack;
	struct dpa_cqe sent, received;
	uint8_t data[BYTES + 1];
	uint32_t send_psn, send_wqe_psn, max_psn, una_psn, send_ssn, acked, idx, una;
	uint32_t epsn, msn, off, sq_ci, rq_ci;
	uint64_t packets, bytes, sends;
	uint32_t read_off;
	bool owed, have_wqe, heard;
	uint8_t last_op, retry_left, rnr_left;
};

static void post(struct th *th, uint32_t len, uint8_t flags, bool inl, bool quick)
{
	struct th_wr wr = {.op = DPA_OP_SEND, .flags = DPA_WQE_SIGNALED | flags, .wr_id = 77};
	struct dpa_sge in[2];
	uint32_t head = quick ? len : len / 2;

	th_fill(th->a.mem, len, len);
	wr.nsge = quick ? 1 : 2;
	wr.sge[0] = (struct dpa_sge){(uintptr_t)th->a.mem, head, th->a.key};
	wr.sge[1] = (struct dpa_sge){(uintptr_t)th->a.mem + head, len - head, th->a.key};
	if (inl) {
		wr.nsge = 0;
		wr.inl = th->a.mem;
		wr.inl_len = len;
	}
	in[0] = (struct dpa_sge){(uintptr_t)th->b.mem + AT, quick ? BYTES : 3, th->b.key};
	in[1] = (struct dpa_sge){(uintptr_t)th->b.mem + AT + 3, BYTES - 3, th->b.key};
	cr_assert(th_recv_sges(&th->b, 88, in, quick ? 1 : 2));
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
}

static void look(struct th *th, struct trace *t)
{
	const struct dpa_lane_stat *stat = &th->peer->tx[th->a.qp->lane].stat;
	const struct dpa_req *r = &th->a.qp->req;
	const struct dpa_resp *p = &th->b.qp->resp;

	t->send_psn = r->send_psn;
	t->send_wqe_psn = r->send_wqe_psn;
	t->max_psn = r->max_psn;
	t->una_psn = r->una_psn;
	t->send_ssn = r->send_ssn;
	t->acked = r->acked_psn;
	t->idx = r->send_idx;
	t->una = r->una_idx;
	t->epsn = p->epsn;
	t->msn = p->msn;
	t->off = p->off;
	t->owed = p->ack_owed;
	t->have_wqe = p->have_wqe;
	t->last_op = p->last_op;
	t->read_off = r->read_off;
	t->heard = r->heard;
	t->retry_left = (uint8_t)r->retry_left;
	t->rnr_left = (uint8_t)r->rnr_left;
	t->sq_ci = th->a.dbrec.sq_ci;
	t->rq_ci = th->b.dbrec.rq_ci;
	t->packets = stat->packets;
	t->bytes = stat->bytes;
	t->sends = stat->sends;
	memcpy(t->data, th->b.mem + AT, sizeof(t->data));
}

static void answer(struct th *th, bool quick)
{
	struct dpa_tx *tx = &th->peer->tx[th->b.qp->lane];

	if (quick) {
		th_flush(&th->b);
		return;
	}
	th->b.qp->tx = tx;
	dpa_spin_lock(&tx->lock);
	dpa_responder_join(th->b.qp);
	dpa_spin_unlock(&tx->lock);
}

/* Makes B's receive queue a shared one, of a PD that is not the QP's. */
static void share(struct th *th, struct dpa_hw_srq *srq)
{
	struct dpa_hw_qp *qp = th->b.qp;

	*srq = (struct dpa_hw_srq){.ctx = qp->ctx,
				   .pdn = qp->pdn,
				   .max_sge = qp->max_recv_sge,
				   .log_size = TH_LOG_RQ,
				   .stride = qp->rq_stride,
				   .buf = th->b.rq,
				   .dbrec = &th->b.dbrec};
	qp->srq = srq;
	qp->pdn++;
}

static void run(struct trace *t, uint32_t len, uint8_t flags, bool inl, bool quick, bool shared)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0xffffff, .index = UINT32_MAX});
	struct dpa_hw_srq srq;
	struct th_pkt back;
	struct dpa_cqe e;

	memset(t, 0, sizeof(*t));
	if (shared)
		share(th, &srq);
	for (int i = 0; i < 2; i++) { /* the second one crosses the end of the PSN space */
		memset(th->b.mem + AT, 0xee, BYTES + 1);
		post(th, len, flags, inl, quick);
		cr_assert(th_take(&th->a, &t->request));
		th_give(&th->b, &t->request);
		cr_assert(th_poll(&th->b.rcq, &t->received));
		answer(th, quick);
		cr_assert(th_take(&th->b, &t->ack));
		back = t->ack;
		if (!quick)
			back.s.flags |= DPA_PKT_SE; /* requests no ACK */
		th->a.qp->req.retry_left = th->a.qp->req.rnr_left = 0;
		th->a.qp->req.heard = false;
		th_give(&th->a, &back);
		cr_assert(th_poll(&th->a.scq, &t->sent));
		cr_expect_not(th_poll(&th->a.scq, &e));
	}
	look(th, t);
	th->b.qp->srq = NULL;
	th_free(th);
}

/* Numbers of QPs are random. */
static void same_cqe(struct dpa_cqe a, struct dpa_cqe b, uint32_t len, int kind)
{
	a.qpn = b.qpn;
	a.src_qpn = b.src_qpn;
	a.user_index = b.user_index;
	cr_expect_arr_eq(&a, &b, sizeof(a), "%u bytes, kind %d", len, kind);
}

static void same(const struct trace *a, const struct trace *b, uint32_t len, int kind)
{
	const struct dpa_slot *s = &a->request.s, *u = &b->request.s;

	cr_expect_eq(s->opcode, u->opcode, "%u bytes, kind %d", len, kind);
	cr_expect_eq(s->flags, u->flags, "%u bytes, kind %d", len, kind);
	cr_expect_eq(s->psn, u->psn);
	cr_expect_eq(s->len, u->len);
	cr_expect_eq(a->ack.s.opcode, b->ack.s.opcode);
	cr_expect_eq(a->ack.s.psn, b->ack.s.psn);
	cr_expect_eq(a->ack.s.flags, b->ack.s.flags);
	cr_expect_eq(a->ack.s.len, b->ack.s.len);
	cr_expect_arr_eq(a->ack.s.ext, b->ack.s.ext, 8); /* MSN, AETH syndrome */
	same_cqe(a->sent, b->sent, len, kind);
	same_cqe(a->received, b->received, len, kind);
	cr_expect_arr_eq(&a->data, &b->data, sizeof(*a) - offsetof(struct trace, data),
			 "%u bytes, kind %d", len, kind);
}

Test(transport_quick, as_all_others)
{
	static struct trace quick, other;

	for (uint32_t len = 0; len <= BYTES; len++)
		for (int kind = 0; kind < 8; kind++) {
			uint8_t flags = kind & 1 ? DPA_WQE_SOLICITED : 0;
			bool shared = kind & 4;

			if (kind & 2 && len > DPA_WQEBB - sizeof(struct dpa_wqe_ctrl))
				continue; /* a WQE of two blocks */
			run(&quick, len, flags, kind & 2, true, shared);
			run(&other, len, flags, false, false, shared);
			same(&quick, &other, len, kind);
			cr_expect(th_check(quick.data, len, len));
			cr_expect_eq(quick.data[len], 0xee);
		}
}

/* The responder handles an unexpected packet, which the fast path leaves unchanged. */
Test(transport_quick, leaves_the_rest_alone)
{
	struct th *th = th_new(&(struct th_opt){.psn = 5});
	struct dpa_sge bad = {(uintptr_t)th->b.mem, 64, th->b.key ^ 1};
	struct th_pkt p, again;
	struct dpa_cqe e;

	post(th, 8, 0, false, true);
	cr_assert(th_take(&th->a, &p));
	again = p;
	again.s.psn = dpa_psn_add(p.s.psn, 1); /* a gap */
	th_give(&th->b, &again);
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect_eq(th->b.qp->resp.epsn, p.s.psn);
	th_give(&th->b, &p);
	cr_assert(th_poll(&th->b.rcq, &e));
	th_give(&th->b, &p); /* a duplicate */
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect_eq(th->b.dbrec.rq_ci, 1);
	th_drop_all(&th->b);
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	th_ring(&th->a);
	cr_assert(th_take(&th->a, &p));
	th_give(&th->b, &p); /* no receive */
	cr_expect(th->b.qp->resp.nak_sent);
	th_flush(&th->b);
	cr_assert(th_recv_sges(&th->b, 1, &bad, 1));
	th_give(&th->b, &p);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR);
	th_free(th);
}

static uint32_t limits;

static void on_event(void *arg, const struct dpa_event *ev)
{
	(void)arg;
	limits += ev->type == DPA_EVENT_SRQ_LIMIT_REACHED;
}

/* Receives of an SRQ are used in order; its limit event occurs once; an empty SRQ gives RNR. */
Test(transport_quick, shared_queue)
{
	struct th *th = th_new(&(struct th_opt){.psn = 5});
	struct dpa_hw_srq srq;
	struct th_pkt p;
	struct dpa_cqe e;

	share(th, &srq);
	th->b.qp->ctx->event = on_event;
	for (uint64_t i = 0; i < 3; i++)
		cr_assert(th_recv(&th->b, 100 + i, AT, 64));
	cr_assert_eq(dpa_hw_set_srq_limit(&srq, 2), 0);
	for (uint64_t i = 0; i < 3; i++) {
		th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
		th_ring(&th->a);
		cr_assert(th_take(&th->a, &p));
		th_give(&th->b, &p);
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, 100 + i);
		cr_expect_eq(e.status, DPA_CQE_OK);
		cr_expect_eq(limits, i > 0);
		cr_expect_eq(th->b.dbrec.rq_ci, i + 1);
	}
	th_drop_all(&th->b);
	th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
	th_ring(&th->a);
	cr_assert(th_take(&th->a, &p));
	th_give(&th->b, &p);
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect(th->b.qp->resp.nak_sent);
	th->b.qp->srq = NULL;
	th_free(th);
}

/* The key of a receive of an SRQ is checked against the PD of the SRQ, not against the QP's. */
Test(transport_quick, shared_queue_pd)
{
	struct th *th = th_new(&(struct th_opt){.psn = 5});
	struct dpa_hw_srq srq;
	struct th_pkt p;
	struct dpa_cqe e;

	share(th, &srq);
	for (uint64_t i = 0; i < 2; i++) { /* the first request of a connection is for all paths */
		if (i)
			th->b.qp->pdn = srq.pdn++;
		cr_assert(th_recv(&th->b, i, AT, 64));
		th_send(&th->a, DPA_OP_SEND, 0, 8, 0);
		th_ring(&th->a);
		cr_assert(th_take(&th->a, &p));
		th_give(&th->b, &p);
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.status, i ? DPA_CQE_LOC_PROT_ERR : DPA_CQE_OK);
	}
	th->b.qp->srq = NULL;
	th_free(th);
}

/* A WQE with lengths that differ from its SGE, or with memory that is not its own, fails. */
Test(transport_quick, bad_requests_fail)
{
	for (int kind = 0; kind < 3; kind++) {
		struct th *th = th_new(&(struct th_opt){.psn = 5});
		struct th_wr wr = {.op = DPA_OP_SEND, .nsge = 1, .wr_id = 9};
		struct dpa_cqe e;

		wr.sge[0] = (struct dpa_sge){(uintptr_t)th->a.mem, 8, th->a.key ^ (kind == 0)};
		if (kind == 1)
			wr.sge[0].addr += TH_MEM - 4;
		cr_assert(th_post(&th->a, &wr));
		if (kind == 2)
			((struct dpa_wqe_ctrl *)th->a.sq)->length = 4;
		th_ring(&th->a);
		cr_assert(th_poll(&th->a.scq, &e), "kind %d", kind);
		cr_expect_neq(e.status, DPA_CQE_OK);
		cr_expect_eq(e.wr_id, 9);
		cr_expect_eq(th_drop_all(&th->a), 0);
		th_free(th);
	}
}
