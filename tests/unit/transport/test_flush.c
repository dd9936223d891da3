/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_flush.c - FLUSH (annex A19): the requests, their effect, and their answer. */
#include "link/lane.h"
#include "requests.h"

#define FLUSHES (TH_ALL | DPA_ACCESS_FLUSH_GLOBAL)

static struct th *flushing(void)
{
	return th_new(&(struct th_opt){.psn = PSN0, .access = FLUSHES, .rd = 2, .dest_rd = 2});
}

/* A region of B's first `len` bytes. */
static uint32_t region(struct th *th, uint32_t access, uint64_t len)
{
	struct dpa_mr_attr mr = {.pdn = th->pdn, .access = access, .length = len};
	uint32_t key;

	mr.addr = mr.iova = (uintptr_t)th->b.mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
	return key;
}

static void give_flush(struct th *th, uint32_t n, uint32_t feth, uint64_t off, uint32_t key,
		       uint32_t len)
{
	struct th_pkt p;

	th_forge(&th->a, &p, DPA_BTH_FLUSH, PSN0 + n, 0);
	p.s.flags = DPA_PKT_ACKREQ;
	th_ext(&p)->va = (uintptr_t)th->b.mem + off;
	th_ext(&p)->rkey = key;
	th_ext(&p)->dmalen = len;
	th_ext(&p)->feth = feth;
	th_give(&th->b, &p);
}

static void expect_done(struct th *th, uint32_t n)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p), "an answer to %u", n);
	cr_expect_eq(p.s.opcode, DPA_BTH_READ_RESP_ONLY);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n));
	cr_expect_eq(p.s.len, 0);
	cr_expect_eq(th_ext(&p)->syndrome & DPA_AETH_KIND, DPA_AETH_ACK);
}

static struct th_wr flush_of(struct th *th, uint32_t key, uint32_t flush, uint32_t len)
{
	return (struct th_wr){.op = DPA_OP_FLUSH,
			      .flags = DPA_WQE_SIGNALED,
			      .raddr = (uintptr_t)th->b.mem,
			      .rkey = key,
			      .flush = flush,
			      .length = len};
}

static void expect_cqe(struct th *th, uint8_t opcode, uint8_t status)
{
	struct dpa_cqe e = {.wr_id = 0};

	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.opcode, opcode);
	cr_expect_eq(e.status, status, "status %u, syndrome %x", e.status, e.vendor_err);
}

/* IBA 9.4 (flush) */
Test(transport_flush, a_write_and_its_flush)
{
	struct th *th = flushing();
	uint32_t key = region(th, FLUSHES, TH_MEM);
	struct th_wr write = {.op = DPA_OP_RDMA_WRITE,
			      .flags = DPA_WQE_SIGNALED,
			      .inl = "written",
			      .inl_len = 8,
			      .raddr = (uintptr_t)th->b.mem,
			      .rkey = key};
	struct th_wr flush = flush_of(th, key, DPA_FLUSH_GLOBAL, 100000);
	struct th_pkt w, f;

	cr_assert(th_post(&th->a, &write) && th_post(&th->a, &flush));
	th_ring(&th->a);
	cr_assert(th_take(&th->a, &w) && th_take(&th->a, &f));
	cr_expect_eq(f.s.opcode, DPA_BTH_FLUSH);
	cr_expect_eq(f.s.psn, dpa_psn_add(PSN0, 1));
	cr_expect_eq(f.s.len, 0);
	cr_expect_eq(th_ext(&f)->va, (uintptr_t)th->b.mem);
	cr_expect_eq(th_ext(&f)->rkey, key);
	cr_expect_eq(th_ext(&f)->dmalen, 100000);
	cr_expect_eq(th_ext(&f)->feth, 1);
	cr_expect_eq(th->a.qp->req.send_psn, dpa_psn_add(PSN0, 2), "one PSN, however long");
	th_give(&th->b, &w);
	th_give(&th->b, &f);
	th_flush(&th->b);
	th_settle(th);
	cr_expect_eq(memcmp(th->b.mem, "written", 8), 0);
	expect_cqe(th, DPA_CQE_RDMA_WRITE, DPA_CQE_OK);
	expect_cqe(th, DPA_CQE_FLUSH, DPA_CQE_OK);
	cr_expect_eq(th->a.qp->req.rd_out, 0);
	th_free(th);
}

/* An ACK does not end it; its answer does, and ends all earlier operations. */
Test(transport_flush, only_its_answer_ends_it)
{
	struct th *th = flushing();
	struct th_wr wr = flush_of(th, region(th, FLUSHES, 64), DPA_FLUSH_GLOBAL, 64);
	struct dpa_cqe e;
	struct th_pkt p;

	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_expect_eq(th->a.qp->req.rd_out, 1);
	th_drop_all(&th->a);
	th_forge(&th->b, &p, DPA_BTH_ACK, PSN0, 0);
	th_ext(&p)->syndrome = ACK;
	th_give(&th->a, &p);
	cr_expect_not(th_poll(&th->a.scq, &e));
	th_forge(&th->b, &p, DPA_BTH_READ_RESP_ONLY, PSN0, 0);
	th_ext(&p)->syndrome = ACK;
	th_give(&th->a, &p);
	expect_cqe(th, DPA_CQE_FLUSH, DPA_CQE_OK);
	th_free(th);
}

/* The right to it, and the range; for a whole region neither address nor length is checked. */
/* IBA 9.4 (flush) */
Test(transport_flush, what_the_key_must_allow)
{
	const uint32_t mr = DPA_FLUSH_GLOBAL | DPA_FLUSH_MR;
	struct {
		uint32_t access, feth, len;
		uint64_t off;
		bool no_key, ok;
	} cases[] = {
		{FLUSHES, DPA_FLUSH_GLOBAL, 4096, 0, false, true},
		{FLUSHES, DPA_FLUSH_GLOBAL, 4096, 1, false, false},
		{FLUSHES, DPA_FLUSH_GLOBAL, 0, 1u << 30, true, true}, /* no scope: no key needed */
		{FLUSHES, mr, 1u << 31, 1u << 30, false, true},
		{FLUSHES, mr, 0, 0, true, false},
		{FLUSHES, DPA_FLUSH_GLOBAL, 4096, 0, true, false},
		{TH_ALL, DPA_FLUSH_GLOBAL, 4096, 0, false, false},
		{TH_ALL, mr, 0, 0, false, false},
		{DPA_ACCESS_FLUSH_GLOBAL, DPA_FLUSH_GLOBAL, 4096, 0, false, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct th *th = flushing();
		uint32_t key = region(th, cases[i].access, 4096);

		give_flush(th, 0, cases[i].feth, cases[i].off, cases[i].no_key ? key ^ 1 : key,
			   cases[i].len);
		if (cases[i].ok) {
			expect_done(th, 0);
		} else {
			expect_ack(th, 0, NAK(DPA_NAK_REM_ACCESS));
			expect_error(th, DPA_EVENT_QP_ACCESS_ERR);
		}
		th_free(th);
	}
}

/* IBA 9.4 (flush) */
Test(transport_flush, what_the_qp_must_allow)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0});

	give_flush(th, 0, DPA_FLUSH_GLOBAL, 0, region(th, FLUSHES, 64), 64);
	expect_ack(th, 0, NAK(DPA_NAK_INV_REQ));
	expect_error(th, DPA_EVENT_QP_REQ_ERR);
	th_free(th);
	th = flushing();
	give_flush(th, 0, DPA_FLUSH_PERSISTENT, 0, region(th, FLUSHES, 64), 64);
	expect_ack(th, 0, NAK(DPA_NAK_INV_REQ));
	th_free(th);
}

/* A QP can have the right to it; a region never has it, so the key refuses. */
/* IBA 9.4 (flush) */
Test(transport_flush, a_qp_may_be_asked_to_persist)
{
	struct th *th = th_new(
		&(struct th_opt){.psn = PSN0, .access = FLUSHES | DPA_ACCESS_FLUSH_PERSISTENT});
	struct dpa_mr_attr mr = {.pdn = 1,
				 .access = FLUSHES | DPA_ACCESS_FLUSH_PERSISTENT,
				 .addr = (uintptr_t)th->b.mem,
				 .length = 64};
	struct dpa_qp_attr a;
	uint32_t key;

	cr_assert_eq(dpa_hw_query_qp(th->b.qp, &a), 0);
	cr_expect_eq(a.access, FLUSHES | DPA_ACCESS_FLUSH_PERSISTENT);
	cr_expect_neq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
	give_flush(th, 0, DPA_FLUSH_GLOBAL, 0, region(th, FLUSHES, 64), 64);
	expect_done(th, 0);
	give_flush(th, 1, DPA_FLUSH_PERSISTENT, 0, region(th, FLUSHES, 64), 64);
	expect_ack(th, 1, NAK(DPA_NAK_REM_ACCESS));
	expect_error(th, DPA_EVENT_QP_ACCESS_ERR);
	th_free(th);
}

/* It counts among READs and atomics, and each duplicate is answered. */
/* IBA 9.4 (flush), 9.7.5 (read-again-checks) */
Test(transport_flush, resources_and_duplicates)
{
	struct th *th = flushing();
	uint32_t key = region(th, FLUSHES, 64);

	give_flush(th, 0, DPA_FLUSH_GLOBAL, 0, key, 64);
	expect_done(th, 0);
	for (int i = 0; i < 20; i++) {
		give_flush(th, 0, DPA_FLUSH_GLOBAL, 0, key, 64);
		expect_done(th, 0);
	}
	cr_expect_eq(th->b.qp->resp.epsn, dpa_psn_add(PSN0, 1));
	cr_expect_eq(th->b.qp->resp.msn, 1);
	for (uint32_t n = 1; n <= 3; n++) /* two may be outstanding */
		give_flush(th, n, DPA_FLUSH_GLOBAL, 0, key, 64);
	expect_done(th, 1);
	expect_done(th, 2);
	expect_ack(th, 3, NAK(DPA_NAK_INV_REQ));
	th_free(th);
	th = flushing();
	key = region(th, FLUSHES, 64);
	give_flush(th, 0, DPA_FLUSH_GLOBAL, 0, key, 64);
	expect_done(th, 0);
	th->b.qp->attr.access = DPA_ACCESS_LOCAL_WRITE;
	give_flush(th, 0, DPA_FLUSH_GLOBAL, 0, key, 64);
	expect_ack(th, 0, NAK(DPA_NAK_INV_REQ));
	th_free(th);
}

/* No data, known scopes, 2^31 bytes at most. */
Test(transport_flush, malformed_requests)
{
	struct th_wr bad[5];
	static const uint8_t status[] = {DPA_CQE_LOC_QP_OP_ERR, DPA_CQE_LOC_QP_OP_ERR,
					 DPA_CQE_LOC_QP_OP_ERR, DPA_CQE_LOC_QP_OP_ERR,
					 DPA_CQE_LOC_LEN_ERR};

	for (size_t i = 0; i < 5; i++) {
		struct th *th = flushing();
		uint32_t key = region(th, FLUSHES, 64);

		for (size_t k = 0; k < 5; k++)
			bad[k] = flush_of(th, key, DPA_FLUSH_GLOBAL, 64);
		bad[0].nsge = 1;
		bad[0].sge[0] = (struct dpa_sge){(uintptr_t)th->a.mem, 8, th->a.key};
		bad[1].inl = "x";
		bad[1].inl_len = 1;
		bad[2].flush = 0;
		bad[3].flush = DPA_FLUSH_GLOBAL | 2u << 4;
		bad[4].length = 0x80000001u;
		cr_assert(th_post(&th->a, &bad[i]));
		th_ring(&th->a);
		expect_cqe(th, DPA_CQE_FLUSH, status[i]);
		cr_expect_eq(th_drop_all(&th->a), 0);
		th_free(th);
	}
}

/* The request is lost, or its answer. */
Test(transport_flush, losses)
{
	for (int side = 0; side < 2; side++) {
		struct th *th = th_new(&(struct th_opt){.psn = PSN0,
							.access = FLUSHES,
							.retry = 7,
							.timeout = 10,
							.rd = 2,
							.dest_rd = 2,
							.lossy = true});
		struct th_wr wr = flush_of(th, region(th, FLUSHES, 64), DPA_FLUSH_GLOBAL, 64);

		cr_assert(th_post(&th->a, &wr));
		th_ring(&th->a);
		if (side)
			th_deliver(&th->a);
		th_drop_all(side ? &th->b : &th->a);
		for (int i = 0; i < 50 && th->a.qp->req.una_idx != th->a.pi; i++) {
			th_tick(th);
			th_settle(th);
		}
		expect_cqe(th, DPA_CQE_FLUSH, DPA_CQE_OK);
		th_free(th);
	}
}
