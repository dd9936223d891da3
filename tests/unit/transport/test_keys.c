/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_keys.c - checks of keys: when, by which side, against which PD, and the resulting errors:
 * local keys of READs and atomics, receives of an SRQ, R_Keys of WRITEs with immediate data, keys
 * to invalidate. The outcome is the same on each path.
 */
#include <criterion/criterion.h>
#include "ctx/srq.h"
#include "link/lane.h"
#include "harness.h"

/* Paths: by ring, fetched, by the initiator itself, with loss, as to another host. */
static const struct th_opt ways[] = {
	{.retry = 1, .timeout = 10},
	{.retry = 1, .timeout = 10, .pull = true},
	{.retry = 1, .timeout = 10, .pull = true, .direct = true},
	{.retry = 1, .timeout = 10, .lossy = true},
	{.retry = 1, .timeout = 10, .wire = true},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static struct th *way(size_t i)
{
	return th_new(&ways[i]);
}

static void expect_one(struct th_cq *cq, uint64_t wr_id, uint8_t status, size_t i)
{
	struct dpa_cqe e;

	cr_assert(th_poll(cq, &e), "way %zu: a completion of %lu", i, (unsigned long)wr_id);
	cr_expect_eq(e.wr_id, wr_id);
	cr_expect_eq(e.status, status, "way %zu, %lu: status %u, not %u", i, (unsigned long)wr_id,
		     e.status, status);
}

static void expect_none(struct th_cq *cq, size_t i)
{
	struct dpa_cqe e;

	cr_expect_not(th_poll(cq, &e), "way %zu: status %u", i, e.status);
}

/* --------------------------------------------------------- READs and atomics */

/* The possible errors of an operation. */
#define LKEY  1u
#define RKEY  2u
#define ODD   4u  /* the address, of an atomic */
#define SHORT 8u  /* 7 bytes for an answer of 8 */
#define LONG  16u /* 9 bytes for it */

static void post(struct th *th, uint8_t op, uint32_t len, uint32_t wrong)
{
	struct th_wr wr = {.op = op,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem, len, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem + (wrong & ODD ? 1 : 0),
			   .rkey = th->b.key ^ (wrong & RKEY ? 0x5a : 0),
			   .swap_add = 3,
			   .compare = 2};

	wr.sge[0].lkey ^= wrong & LKEY ? 0x5a : 0;
	if (wrong & (SHORT | LONG))
		wr.sge[0].length = wrong & SHORT ? len - 1 : len + 1;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	th_settle(th);
}

static uint64_t word(const struct th_side *s)
{
	uint64_t v;

	memcpy(&v, s->mem, 8);
	return v;
}

/*
 * The responder checks first; the answer meets a bad local key, when an atomic is already executed.
 */
/* IBA 9.7.3 (answer-keys) */
Test(transport_keys, the_local_key_of_an_answer_is_looked_at_when_it_comes)
{
	static const struct {
		uint8_t op, status;
		uint32_t wrong;
		bool done; /* the responder has executed it */
	} t[] = {
		{DPA_OP_RDMA_READ, DPA_CQE_LOC_PROT_ERR, LKEY, false},
		{DPA_OP_RDMA_READ, DPA_CQE_REM_ACCESS_ERR, LKEY | RKEY, false},
		{DPA_OP_ATOMIC_FA, DPA_CQE_LOC_PROT_ERR, LKEY, true},
		{DPA_OP_ATOMIC_FA, DPA_CQE_REM_ACCESS_ERR, LKEY | RKEY, false},
		{DPA_OP_ATOMIC_FA, DPA_CQE_REM_INV_REQ_ERR, LKEY | ODD, false},
		{DPA_OP_ATOMIC_FA, DPA_CQE_REM_INV_REQ_ERR, LKEY | RKEY | ODD, false},
		{DPA_OP_ATOMIC_CS, DPA_CQE_LOC_PROT_ERR, LKEY, true},
		{DPA_OP_ATOMIC_CS, DPA_CQE_REM_ACCESS_ERR, LKEY | RKEY, false},
		{DPA_OP_ATOMIC_CS, DPA_CQE_REM_INV_REQ_ERR, RKEY | ODD, false},
		{DPA_OP_ATOMIC_FA, DPA_CQE_LOC_LEN_ERR, SHORT | LKEY | RKEY | ODD, false},
		{DPA_OP_ATOMIC_CS, DPA_CQE_LOC_LEN_ERR, SHORT, false},
		{DPA_OP_ATOMIC_FA, DPA_CQE_LOC_LEN_ERR, LONG | LKEY | RKEY | ODD, false},
		{DPA_OP_ATOMIC_CS, DPA_CQE_LOC_LEN_ERR, LONG, false},
	};

	for (size_t i = 0; i < WAYS; i++) {
		for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
			struct th *th = way(i);
			uint64_t two = 2;

			memcpy(th->b.mem, &two, 8);
			post(th, t[k].op, 8, t[k].wrong);
			expect_one(&th->a.scq, 1, t[k].status, i);
			cr_expect_eq(word(&th->a), 0u, "way %zu, %zu", i, k);
			cr_expect_eq(word(&th->b),
				     !t[k].done			   ? 2u
				     : t[k].op == DPA_OP_ATOMIC_FA ? 5u
								   : 3u,
				     "way %zu, %zu: %lu", i, k, (unsigned long)word(&th->b));
			cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
			th_free(th);
		}
	}
}

/* A long READ, in segments, with a bad second SGE: nothing is written after the first SGE. */
Test(transport_keys, a_long_read_with_a_bad_second_sge)
{
	const uint32_t half = 600000;

	for (size_t i = 0; i < WAYS; i++) {
		for (int bad = 0; bad < 2; bad++) {
			struct th *th = way(i);
			struct th_wr wr = {
				.op = DPA_OP_RDMA_READ,
				.flags = DPA_WQE_SIGNALED,
				.nsge = 2,
				.sge = {{(uintptr_t)th->a.mem, half, th->a.key},
					{(uintptr_t)th->a.mem + half, half, th->a.key ^ 0x5a}},
				.raddr = (uintptr_t)th->b.mem,
				.rkey = th->b.key ^ (bad ? 0x5a : 0)};

			memset(th->b.mem, 7, 2 * half);
			cr_assert(th_post(&th->a, &wr));
			th_ring(&th->a);
			th_settle(th);
			expect_one(&th->a.scq, 1,
				   bad ? DPA_CQE_REM_ACCESS_ERR : DPA_CQE_LOC_PROT_ERR, i);
			for (uint32_t k = half; k < 2 * half; k++)
				cr_assert_eq(th->a.mem[k], 0, "way %zu: byte %u", i, k);
			th_free(th);
		}
	}
}

/* --------------------------------------------------------- receives of an SRQ */

/* B's receives are those of an SRQ of PD 2, which has another key for the same memory. */
struct shared {
	struct th *th;
	struct dpa_hw_srq *srq;
	struct dpa_dbrec dbrec __attribute__((aligned(64)));
	uint8_t *rq;
	uint32_t key;
};

static void share(struct shared *s, const struct th_opt *o)
{
	struct dpa_mr_attr mr = {.pdn = 2, .access = TH_ALL, .length = TH_MEM};
	struct dpa_srq_attr a = {.pdn = 2, .max_sge = 4, .log_size = 4, .dbrec = &s->dbrec};
	uint32_t srqn;

	s->th = th_new(o);
	s->th->hw->pd.refs[2] = 1;
	mr.addr = mr.iova = (uintptr_t)s->th->b.mem;
	cr_assert_eq(dpa_hw_reg_mr(&s->th->ctx, &mr, &s->key), 0);
	s->rq = calloc(1u << 4, dpa_rwqe_stride(4));
	cr_assert_not_null(s->rq);
	a.buf = s->rq;
	cr_assert_eq(dpa_hw_create_srq(&s->th->ctx, &a, &s->srq, &srqn), 0);
	s->th->b.qp->srq = s->srq;
	atomic_fetch_add(&s->srq->refs, 1);
}

static void share_end(struct shared *s)
{
	atomic_fetch_sub(&s->srq->refs, 1);
	s->th->b.qp->srq = NULL;
	cr_expect_eq(dpa_hw_destroy_srq(s->srq), 0);
	cr_expect_eq(dpa_hw_dereg_mr(&s->th->ctx, s->key), 0);
	th_free(s->th);
	free(s->rq);
}

static void share_recv(struct shared *s, uint64_t wr_id, uint32_t off, uint32_t len, uint32_t key)
{
	struct dpa_rwqe r = {.wr_id = wr_id, .nsge = 1};
	struct dpa_sge g = {(uintptr_t)s->th->b.mem + off, len, key};
	uint8_t *at = s->rq + (size_t)(s->dbrec.rq_pi & 15) * dpa_rwqe_stride(4);

	memcpy(at, &r, sizeof(r));
	memcpy(at + sizeof(r), &g, sizeof(g));
	s->dbrec.rq_pi++;
}

/* The L_Keys of a receive belong to the SRQ's PD, an R_Key to the QP's. */
/* IBA 9.7.4 (srq-pd) */
Test(transport_keys, receives_of_an_srq_have_keys_of_its_pd)
{
	static const uint32_t lens[] = {8, 5000, 200000};

	for (size_t i = 0; i < WAYS; i++) {
		for (int l = 0; l < 3; l++) {
			struct shared s = {0};

			share(&s, &ways[i]);
			share_recv(&s, 10, 1 << 20, lens[l], s.key);
			share_recv(&s, 11, 2 << 20, lens[l], s.th->b.key);
			th_fill(s.th->a.mem, lens[l], 6);
			th_send(&s.th->a, DPA_OP_SEND, 0, lens[l], 0);
			th_settle(s.th);
			expect_one(&s.th->b.rcq, 10, DPA_CQE_OK, i);
			expect_one(&s.th->a.scq, 1, DPA_CQE_OK, i);
			cr_expect(th_check(s.th->b.mem + (1 << 20), lens[l], 6));
			/* still checked against the QP's PD */
			th_send(&s.th->a, DPA_OP_RDMA_WRITE, 0, lens[l], 0);
			th_settle(s.th);
			expect_one(&s.th->a.scq, 2, DPA_CQE_OK, i);
			th_send(&s.th->a, DPA_OP_SEND, 0, lens[l], 0);
			th_settle(s.th);
			expect_one(&s.th->b.rcq, 11, DPA_CQE_LOC_PROT_ERR, i);
			expect_one(&s.th->a.scq, 3, DPA_CQE_REM_OP_ERR, i);
			cr_expect_eq(s.th->b.mem[2 << 20], 0);
			share_end(&s);
		}
	}
}

Test(transport_keys, the_r_key_of_a_qp_with_an_srq_is_of_the_qps_pd)
{
	for (size_t i = 0; i < WAYS; i++) {
		struct shared s = {0};
		struct th_wr wr = {.op = DPA_OP_RDMA_READ, .flags = DPA_WQE_SIGNALED, .nsge = 1};

		share(&s, &ways[i]);
		wr.sge[0] = (struct dpa_sge){(uintptr_t)s.th->a.mem, 100, s.th->a.key};
		wr.raddr = (uintptr_t)s.th->b.mem;
		wr.rkey = s.key;
		cr_assert(th_post(&s.th->a, &wr));
		th_ring(&s.th->a);
		th_settle(s.th);
		expect_one(&s.th->a.scq, 1, DPA_CQE_REM_ACCESS_ERR, i);
		share_end(&s);
	}
}

/* The unreliable transports take from an SRQ as well. */
Test(transport_keys, unreliable_receives_of_an_srq_have_keys_of_its_pd)
{
	for (int good = 0; good < 2; good++) {
		struct shared s = {0};
		struct dpa_cqe e;

		share(&s, &(struct th_opt){.type = DPA_QP_UC});
		share_recv(&s, 10, 1 << 20, 100, good ? s.key : s.th->b.key);
		th_send(&s.th->a, DPA_OP_SEND, 0, 100, 0);
		th_settle(s.th);
		cr_assert(th_poll(&s.th->b.rcq, &e));
		cr_expect_eq(e.status, good ? DPA_CQE_OK : DPA_CQE_LOC_PROT_ERR);
		share_end(&s);
	}
}

/* --------------------------------------------------------- WRITE with immediate */

/*
 * One packet: the receive completes with its own error. A longer message is refused at its first
 * packet, before it has a receive; also if one entry stands for several packets.
 */
/* IBA 9.9 (class-c-receive) */
Test(transport_keys, a_write_with_immediate_and_a_bad_r_key)
{
	static const uint32_t lens[] = {1, 1024, 1025, 8192, 8193, 100000};

	for (size_t i = 0; i < WAYS; i++) {
		for (int l = 0; l < 6; l++) {
			struct th *th = way(i);
			struct th_wr wr = {.op = DPA_OP_RDMA_WRITE_IMM,
					   .flags = DPA_WQE_SIGNALED,
					   .nsge = 1,
					   .sge = {{(uintptr_t)th->a.mem, lens[l], th->a.key}},
					   .raddr = (uintptr_t)th->b.mem,
					   .rkey = th->b.key ^ 0x5a};

			memset(th->a.mem, 9, lens[l]);
			th_recv(&th->b, 10, 0, 0);
			th_recv(&th->b, 11, 0, 0);
			cr_assert(th_post(&th->a, &wr));
			th_ring(&th->a);
			th_settle(th);
			expect_one(&th->a.scq, 1, DPA_CQE_REM_ACCESS_ERR, i);
			expect_one(&th->b.rcq, 10,
				   lens[l] <= 1024 ? DPA_CQE_LOC_ACCESS_ERR : DPA_CQE_WR_FLUSH_ERR,
				   i);
			expect_one(&th->b.rcq, 11, DPA_CQE_WR_FLUSH_ERR, i);
			cr_expect_eq(th->b.mem[0], 0);
			cr_expect_eq(th->events[DPA_EVENT_QP_ACCESS_ERR], 1u);
			th_free(th);
		}
	}
}

/* Without a receive the key is the error; UC drops the message and keeps its receive. */
Test(transport_keys, a_write_with_immediate_and_a_bad_r_key_takes_no_receive)
{
	for (int uc = 0; uc < 2; uc++) {
		struct th *th = th_new(&(struct th_opt){.type = uc ? DPA_QP_UC : 0});
		struct th_wr wr = {.op = DPA_OP_RDMA_WRITE_IMM,
				   .flags = DPA_WQE_SIGNALED,
				   .nsge = 1,
				   .sge = {{(uintptr_t)th->a.mem, 8, th->a.key}},
				   .raddr = (uintptr_t)th->b.mem,
				   .rkey = th->b.key ^ 0x5a};

		if (uc)
			th_recv(&th->b, 10, 0, 0);
		cr_assert(th_post(&th->a, &wr));
		th_ring(&th->a);
		th_settle(th);
		expect_one(&th->a.scq, 1, uc ? DPA_CQE_OK : DPA_CQE_REM_ACCESS_ERR, (size_t)uc);
		expect_none(&th->b.rcq, (size_t)uc);
		if (uc) {
			wr.rkey = th->b.key;
			cr_assert(th_post(&th->a, &wr));
			th_ring(&th->a);
			th_settle(th);
			expect_one(&th->b.rcq, 10, DPA_CQE_OK, 1);
		}
		th_free(th);
	}
}

/* ------------------------------------------------------- SEND with invalidate */

/*
 * A key that cannot be invalidated: the receive fails, and no NAK is sent. All earlier packets are
 * acknowledged; the requester ends when its retries are used up.
 */
/* IBA 9.9 (class-j) */
Test(transport_keys, a_key_that_cannot_be_invalidated)
{
	static const uint32_t lens[] = {8, 5000, 100000};

	/* the last path has a peer of this host that notifies, for which the wire has no packet */
	for (size_t i = 0; i < WAYS - 1; i++) {
		for (int l = 0; l < 3; l++) {
			struct th *th = way(i);
			struct th_wr wr = {.op = DPA_OP_SEND,
					   .flags = DPA_WQE_SIGNALED,
					   .nsge = 1,
					   .sge = {{(uintptr_t)th->a.mem, lens[l], th->a.key}},
					   .imm = th->b.key}; /* of a region */
			struct dpa_cqe e;

			for (uint64_t k = 10; k < 13; k++)
				th_recv(&th->b, k, 0, lens[l]);
			cr_assert(th_post(&th->a, &wr));
			wr.op = DPA_OP_SEND_INV;
			cr_assert(th_post(&th->a, &wr));
			wr.op = DPA_OP_SEND;
			cr_assert(th_post(&th->a, &wr));
			th_ring(&th->a);
			th_settle(th);
			expect_one(&th->b.rcq, 10, DPA_CQE_OK, i);
			expect_one(&th->b.rcq, 11, DPA_CQE_REM_INV_REQ_ERR, i);
			expect_one(&th->b.rcq, 12, DPA_CQE_WR_FLUSH_ERR, i);
			cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
			expect_one(&th->a.scq, 1, DPA_CQE_OK, i);
			expect_none(&th->a.scq, i); /* the retries continue */
			for (int k = 0; k < 100 && th->a.qp->state != DPA_QPS_ERR; k++) {
				cr_assert(th_tick(th), "way %zu: no timer runs", i);
				th_settle(th);
			}
			expect_one(&th->a.scq, 2, DPA_CQE_RETRY_EXC_ERR, i);
			cr_assert(th_poll(&th->a.scq, &e));
			cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
			th_free(th);
		}
	}
}

/* It arrived out of order and was queued: the queue ends with the QP. */
Test(transport_keys, a_cached_key_that_cannot_be_invalidated)
{
	struct th *th = way(4);
	struct th_pkt p;

	for (uint64_t k = 10; k < 13; k++)
		th_recv(&th->b, k, 0, 100);
	for (uint32_t k = 3; k-- > 0;) {
		th_forge(&th->a, &p, k == 1 ? DPA_BTH_SEND_ONLY_INV : DPA_BTH_SEND_ONLY, k, 10);
		p.s.flags = DPA_PKT_ACKREQ | dpa_pkt_mtu_flags(1024);
		th_ext(&p)->imm = th->b.key;
		th_give(&th->b, &p);
	}
	expect_one(&th->b.rcq, 10, DPA_CQE_OK, 4);
	expect_one(&th->b.rcq, 11, DPA_CQE_REM_INV_REQ_ERR, 4);
	expect_one(&th->b.rcq, 12, DPA_CQE_WR_FLUSH_ERR, 4);
	cr_expect_null(th->b.qp->ooo.list);
	th_free(th);
}

/* ------------------------------------------------------------- rights that change */

/* Register the memory of B once more with these rights. */
static uint32_t region(struct th *th, uint32_t access)
{
	struct dpa_mr_attr mr = {.pdn = 1, .access = access, .length = TH_MEM};
	uint32_t key;

	mr.addr = mr.iova = (uintptr_t)th->b.mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
	return key;
}

static void rereg(struct th *th, uint32_t key, uint32_t access)
{
	struct dpa_mr_attr mr = {.access = access};
	uint32_t was = key;

	cr_assert_eq(dpa_hw_rereg_mr(&th->ctx, &key, DPA_REREG_ACCESS, &mr), 0);
	cr_expect_eq(key, was, "the key stays");
}

static void post_to(struct th *th, uint8_t op, uint32_t len, uint32_t key)
{
	struct th_wr wr = {.op = op,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem, len, th->a.key}},
			   .raddr = (uintptr_t)th->b.mem,
			   .rkey = key};

	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
}

/* Rights are removed and added under the same key; allowed operations continue. */
Test(transport_keys, other_rights_under_the_same_key)
{
	const uint32_t rd = DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_READ;

	for (size_t i = 0; i < WAYS; i++) {
		for (uint32_t len = 8; len < 100000; len += 60000) {
			struct th *th = way(i);
			uint32_t key = region(th, rd);

			post_to(th, DPA_OP_RDMA_READ, len, key);
			th_settle(th);
			expect_one(&th->a.scq, 1, DPA_CQE_OK, i);
			rereg(th, key, TH_ALL);
			post_to(th, DPA_OP_RDMA_WRITE, len, key);
			th_settle(th);
			expect_one(&th->a.scq, 2, DPA_CQE_OK, i);
			rereg(th, key, rd);
			post_to(th, DPA_OP_RDMA_READ, len, key);
			th_settle(th);
			expect_one(&th->a.scq, 3, DPA_CQE_OK, i);
			post_to(th, DPA_OP_RDMA_WRITE, len, key);
			th_settle(th);
			expect_one(&th->a.scq, 4, DPA_CQE_REM_ACCESS_ERR, i);
			th_free(th);
		}
	}
}

/*
 * Data that is fetched after the right was removed does not count, although the key is the same.
 * Data that the responder has copied earlier counts.
 */
Test(transport_keys, a_right_that_is_taken_under_a_read)
{
	const uint32_t len = 100000;

	for (size_t i = 0; i < WAYS; i++) {
		struct th_opt o = ways[i];
		struct th_pkt p;
		uint32_t key;
		struct th *th;

		o.direct = false; /* the test acts between the request and the answer */
		th = th_new(&o);
		key = region(th, TH_ALL);
		post_to(th, DPA_OP_RDMA_READ, len, key);
		th_deliver(&th->a);
		cr_assert(th_take(&th->b, &p));
		rereg(th, key, DPA_ACCESS_LOCAL_WRITE);
		th_give(&th->a, &p);
		th_settle(th);
		expect_one(&th->a.scq, 1, o.pull ? DPA_CQE_REM_ACCESS_ERR : DPA_CQE_OK, i);
		th_free(th);
	}
}
