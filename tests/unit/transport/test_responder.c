/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RC responder: packets that the test made up go to B, and what B answers is looked at. */
#include <criterion/criterion.h>
#include "harness.h"

#define MTU    1024u
#define PSN0   0xfffffdu
#define ACK    (DPA_AETH_ACK | DPA_AETH_NO_CREDITS)
#define NAK(c) (DPA_AETH_NAK | (c))

static struct th *rc(void)
{
	return th_new(&(struct th_opt){.psn = PSN0, .min_rnr = 5});
}

static void give(struct th *th, uint8_t op, uint32_t n, uint32_t len)
{
	struct th_pkt p;

	th_forge(&th->a, &p, op, PSN0 + n, len);
	p.s.flags = DPA_PKT_ACKREQ;
	th_fill(p.data, len, n + 1);
	th_ext(&p)->va = (uintptr_t)th->b.mem;
	th_ext(&p)->rkey = th->b.key;
	th_ext(&p)->dmalen = len;
	th_give(&th->b, &p);
}

static void give_remote(struct th *th, uint8_t op, uint32_t n, uint64_t va, uint32_t key,
			uint32_t dmalen)
{
	uint32_t len = op == DPA_BTH_WRITE_ONLY ? dmalen : 0;
	struct th_pkt p;

	th_forge(&th->a, &p, op, PSN0 + n, len);
	p.s.flags = DPA_PKT_ACKREQ;
	th_ext(&p)->va = va;
	th_ext(&p)->rkey = key;
	if (op == DPA_BTH_COMPARE_SWAP || op == DPA_BTH_FETCH_ADD) {
		th_ext(&p)->swap_add = dmalen;
		th_ext(&p)->compare = 0;
	} else {
		th_ext(&p)->dmalen = dmalen;
	}
	th_give(&th->b, &p);
}

static void expect_ack(struct th *th, uint32_t n, uint8_t syndrome)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p), "an answer to %u", n);
	cr_expect_eq(p.s.opcode, DPA_BTH_ACK);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n), "%u: answered %06x", n, p.s.psn);
	cr_expect_eq(th_ext(&p)->syndrome, syndrome, "%u: syndrome %02x", n, th_ext(&p)->syndrome);
}

static void expect_silence(struct th *th)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_expect_not(th_take(&th->b, &p));
}

static void expect_error(struct th *th, uint32_t event)
{
	cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
	cr_expect_eq(th->events[event & 63], 1);
}

static uint64_t atomic_answer(struct th *th, uint32_t n)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_ATOMIC_ACK);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n));
	return th_ext(&p)->orig;
}

/* ----------------------------------------------------------- acknowledging */

Test(transport_responder, one_ack_for_a_batch)
{
	struct th *th = rc();
	struct dpa_cqe e;

	for (uint32_t i = 0; i < 5; i++)
		th_recv(&th->b, i, i * 4096, 100);
	for (uint32_t i = 0; i < 5; i++)
		give(th, DPA_BTH_SEND_ONLY, i, 10 + i);
	expect_ack(th, 4, ACK);
	cr_expect_eq(th->b.qp->resp.msn, 5);
	expect_silence(th);
	for (uint32_t i = 0; i < 5; i++) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, i);
		cr_expect_eq(e.byte_len, 10 + i);
		cr_expect(th_check(th->b.mem + i * 4096, 10 + i, i + 1));
	}
	th_free(th);
}

Test(transport_responder, rnr_then_success)
{
	struct th *th = rc();
	struct dpa_cqe e;

	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	expect_ack(th, 0, DPA_AETH_RNR | 5);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_silence(th); /* no NAK for the gap: the requester knows where to start again */
	th_recv(&th->b, 7, 0, 100);
	th_recv(&th->b, 8, 4096, 100);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	expect_ack(th, 1, ACK);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_ack(th, 2, DPA_AETH_RNR | 5);
	for (uint64_t id = 7; id < 9; id++) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, id);
	}
	cr_expect_not(th_poll(&th->b.rcq, &e));
	th_free(th);
}

Test(transport_responder, a_write_with_immediate_needs_its_receive_at_the_end)
{
	struct th *th = rc();
	struct th_pkt p;
	struct dpa_cqe e;

	th_forge(&th->a, &p, DPA_BTH_WRITE_FIRST, PSN0, MTU);
	*th_ext(&p) =
		(struct dpa_ext){.va = (uintptr_t)th->b.mem, .rkey = th->b.key, .dmalen = MTU + 5};
	th_fill(p.data, MTU, 1);
	th_give(&th->b, &p);
	for (int i = 0; i < 2; i++) {
		th_forge(&th->a, &p, DPA_BTH_WRITE_LAST_IMM, PSN0 + 1, 5);
		p.s.flags = DPA_PKT_ACKREQ;
		th_ext(&p)->imm = 0xfeed;
		th_give(&th->b, &p);
		expect_ack(th, 1, i ? ACK : DPA_AETH_RNR | 5);
		th_recv(&th->b, 3, 0, 0);
	}
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.opcode, DPA_CQE_RECV_RDMA_WITH_IMM);
	cr_expect_eq(e.imm, 0xfeed);
	cr_expect_eq(e.byte_len, MTU + 5);
	cr_expect(th_check(th->b.mem, MTU, 1));
	th_free(th);
}

/* C9-114 ff: one NAK a gap, and another for the next gap. */
Test(transport_responder, one_nak_a_gap)
{
	struct th *th = rc();

	for (uint32_t i = 0; i < 8; i++)
		th_recv(&th->b, i, 0, 100);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_ack(th, 0, NAK(DPA_NAK_PSN_SEQ));
	give(th, DPA_BTH_SEND_ONLY, 3, 10);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	expect_silence(th);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	expect_ack(th, 0, ACK);
	give(th, DPA_BTH_SEND_ONLY, 2, 10);
	expect_ack(th, 1, NAK(DPA_NAK_PSN_SEQ));
	cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
	cr_expect_eq(th->b.qp->rq_ci, 1, "nothing was taken out of order");
	th_free(th);
}

/* A duplicate behind it in the same batch: the NAK is what the requester must hear. */
Test(transport_responder, a_nak_is_not_taken_back)
{
	struct th *th = rc();

	give(th, DPA_BTH_WRITE_ONLY, 0, 10);
	expect_ack(th, 0, ACK);
	give(th, DPA_BTH_WRITE_ONLY, 2, 10);
	give(th, DPA_BTH_WRITE_ONLY, 0, 10);
	expect_ack(th, 1, NAK(DPA_NAK_PSN_SEQ));
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	give(th, DPA_BTH_WRITE_ONLY, 0, 10);
	expect_ack(th, 1, DPA_AETH_RNR | 5);
	th_free(th);
}

/* -------------------------------------------------------------- duplicates */

Test(transport_responder, a_duplicate_send_or_write_is_acknowledged_again)
{
	struct th *th = rc();
	struct dpa_cqe e;

	th_recv(&th->b, 1, 8192, 100);
	th_recv(&th->b, 2, 8192, 100);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	give(th, DPA_BTH_WRITE_ONLY, 1, 10);
	expect_ack(th, 1, ACK);
	memset(th->b.mem, 0, 10);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	expect_ack(th, 1, ACK);
	give(th, DPA_BTH_WRITE_ONLY, 1, 10);
	expect_ack(th, 1, ACK);
	cr_expect_eq(th->b.mem[0], 0, "not written twice");
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_not(th_poll(&th->b.rcq, &e), "not received twice");
	cr_expect_eq(th_count(th, DPA_CNT_duplicate_request), 2);
	th_free(th);
}

static void expect_read(struct th *th, uint32_t n, uint32_t off, uint32_t len)
{
	uint32_t got = 0;
	struct th_pkt p;

	th_flush(&th->b);
	while (got < len) {
		cr_assert(th_take(&th->b, &p));
		cr_expect(dpa_op_props(p.s.opcode) & DPA_OPP_READ);
		cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n + got / MTU));
		cr_expect_arr_eq(p.data, th->b.mem + off + got, p.s.len);
		got += p.s.len;
	}
	cr_expect_eq(got, len);
}

/* IBA 9.7.5.1.5: a READ runs again, over all of its range or the rest of it. */
Test(transport_responder, a_duplicate_read_runs_again)
{
	struct th *th = rc();

	th_fill(th->b.mem, 20 * MTU, 4);
	give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem, th->b.key, 20 * MTU);
	expect_read(th, 0, 0, 20 * MTU);
	for (uint32_t k = 0; k < 20; k++) {
		give_remote(th, DPA_BTH_READ_REQUEST, k, (uintptr_t)th->b.mem + k * MTU, th->b.key,
			    (20 - k) * MTU);
		expect_read(th, k, k * MTU, (20 - k) * MTU);
	}
	cr_expect_eq(th->b.qp->resp.epsn, dpa_psn_add(PSN0, 20));
	cr_expect_eq(th->b.qp->resp.msn, 1);
	th_free(th);
}

/* IBA 9.7.5.1.5: the saved result, however often; the memory changes once. */
Test(transport_responder, a_duplicate_atomic_is_replayed)
{
	struct th *th = rc();
	uint64_t *word = (uint64_t *)th->b.mem;

	*word = 100;
	give_remote(th, DPA_BTH_FETCH_ADD, 0, (uintptr_t)word, th->b.key, 5);
	cr_expect_eq(atomic_answer(th, 0), 100);
	give_remote(th, DPA_BTH_FETCH_ADD, 1, (uintptr_t)word, th->b.key, 7);
	cr_expect_eq(atomic_answer(th, 1), 105);
	for (int i = 0; i < 50; i++) {
		give_remote(th, DPA_BTH_FETCH_ADD, 0, (uintptr_t)word, th->b.key, 5);
		cr_expect_eq(atomic_answer(th, 0), 100);
		give_remote(th, DPA_BTH_FETCH_ADD, 1, (uintptr_t)word, th->b.key, 7);
		cr_expect_eq(atomic_answer(th, 1), 105);
	}
	cr_expect_eq(*word, 112);
	give_remote(th, DPA_BTH_COMPARE_SWAP, 0, (uintptr_t)word, th->b.key, 9);
	expect_silence(th); /* another operation than that PSN's */
	th_free(th);
}

/* Replays and READs that ran again pushed the saved results of other atomics out. */
Test(transport_responder, saved_atomics_survive_the_duplicates_of_others)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .rd = 16, .dest_rd = 16});
	uint64_t *word = (uint64_t *)th->b.mem;

	for (uint32_t i = 0; i < 15; i++)
		give_remote(th, DPA_BTH_FETCH_ADD, i, (uintptr_t)word, th->b.key, 1);
	give_remote(th, DPA_BTH_READ_REQUEST, 15, (uintptr_t)th->b.mem, th->b.key, 8);
	th_flush(&th->b);
	th_drop_all(&th->b);
	for (int k = 0; k < 3; k++) {
		for (uint32_t i = 0; i < 8; i++) {
			give_remote(th, DPA_BTH_FETCH_ADD, i, (uintptr_t)word, th->b.key, 1);
			cr_expect_eq(atomic_answer(th, i), i);
		}
		for (uint32_t i = 0; i < 8; i++)
			give_remote(th, DPA_BTH_READ_REQUEST, 15, (uintptr_t)th->b.mem, th->b.key,
				    8);
		th_flush(&th->b);
		th_drop_all(&th->b);
	}
	for (uint32_t i = 0; i < 15; i++) {
		give_remote(th, DPA_BTH_FETCH_ADD, i, (uintptr_t)word, th->b.key, 1);
		cr_expect_eq(atomic_answer(th, i), i);
	}
	cr_expect_eq(*word, 15);
	th_free(th);
}

/* A duplicate READ and the next new one in one batch were one too many: NAK, connection over. */
Test(transport_responder, duplicates_do_not_use_up_read_resources)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .rd = 1, .dest_rd = 1});

	give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem, th->b.key, 8);
	expect_read(th, 0, 0, 8);
	for (int i = 0; i < 40; i++)
		give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem, th->b.key, 8);
	give_remote(th, DPA_BTH_READ_REQUEST, 1, (uintptr_t)th->b.mem, th->b.key, 8);
	th_flush(&th->b);
	cr_expect_geq(th_drop_all(&th->b), 2u);
	cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
	cr_expect_eq(th->b.qp->resp.epsn, dpa_psn_add(PSN0, 2));
	th_free(th);
}

/* A PSN before the expected one got round the QP's own permission. */
Test(transport_responder, a_duplicate_read_needs_the_permission_too)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .access = TH_NO_ACCESS});

	give_remote(th, DPA_BTH_READ_REQUEST, (uint32_t)-1, (uintptr_t)th->b.mem, th->b.key, 8);
	expect_ack(th, (uint32_t)-1, NAK(DPA_NAK_INV_REQ));
	th_free(th);
}

/* ------------------------------------------------------------------ errors */

/* A receive that is too short: invalid request to the peer, length error here. */
Test(transport_responder, a_receive_that_is_too_short)
{
	for (uint32_t len = 1; len <= MTU; len += 341) {
		struct th *th = rc();
		struct dpa_cqe e;

		th_recv(&th->b, 1, 0, len - 1);
		th_recv(&th->b, 2, 0, 100);
		give(th, DPA_BTH_SEND_ONLY, 0, len);
		expect_ack(th, 0, NAK(DPA_NAK_INV_REQ));
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, 1);
		cr_expect_eq(e.status, DPA_CQE_LOC_LEN_ERR);
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, 2);
		cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
		cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
		th_free(th);
	}
}

/* Too long in the middle, over several SGEs, and just right. */
Test(transport_responder, receives_in_pieces)
{
	for (int fits = 0; fits < 2; fits++) {
		struct th *th = rc();
		uint8_t *m = th->b.mem;
		struct dpa_sge g[4] = {{(uintptr_t)m, 1000, th->b.key},
				       {(uintptr_t)m + 1000, 0, th->b.key},
				       {(uintptr_t)m + 1000, 1, th->b.key},
				       {(uintptr_t)m + 1001, 1046 + (uint32_t)fits, th->b.key}};
		struct dpa_cqe e;

		cr_assert(th_recv_sges(&th->b, 1, g, 4));
		give(th, DPA_BTH_SEND_FIRST, 0, MTU);
		expect_ack(th, 0, ACK);
		give(th, DPA_BTH_SEND_LAST, 1, MTU);
		expect_ack(th, 1, fits ? ACK : NAK(DPA_NAK_INV_REQ));
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.status, fits ? DPA_CQE_OK : DPA_CQE_LOC_LEN_ERR);
		if (fits)
			cr_expect(th_check(m, MTU, 1) && th_check(m + MTU, MTU, 2));
		th_free(th);
	}
}

Test(transport_responder, a_receive_of_memory_that_is_not_registered)
{
	struct th *th = rc();
	struct dpa_sge g = {(uintptr_t)th->b.mem, 100, th->b.key ^ 1};
	struct dpa_cqe e;

	cr_assert(th_recv_sges(&th->b, 1, &g, 1));
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	expect_ack(th, 0, NAK(DPA_NAK_REM_OP));
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR);
	cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
	th_free(th);
}

/* The region's flags, key and bounds: a remote access error for every one that lacks. */
Test(transport_responder, access_errors_of_regions)
{
	static const struct {
		uint8_t op;
		uint32_t needs;
	} t[] = {{DPA_BTH_WRITE_ONLY, DPA_ACCESS_REMOTE_WRITE},
		 {DPA_BTH_READ_REQUEST, DPA_ACCESS_REMOTE_READ},
		 {DPA_BTH_COMPARE_SWAP, DPA_ACCESS_REMOTE_ATOMIC},
		 {DPA_BTH_FETCH_ADD, DPA_ACCESS_REMOTE_ATOMIC}};

	for (int i = 0; i < 4; i++) {
		for (uint32_t access = 1; access < 16; access += 2) { /* with LOCAL_WRITE */
			struct th *th = rc();
			struct dpa_mr_attr mr = {.pdn = 1, .access = access, .length = 64};
			bool ok = access & t[i].needs;
			uint32_t key;

			mr.addr = mr.iova = (uintptr_t)th->b.mem;
			cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
			give_remote(th, t[i].op, 0, mr.iova, key, 8);
			th_flush(&th->b);
			if (ok) {
				cr_expect_eq(th_drop_all(&th->b), 1);
				give_remote(th, t[i].op, 1, mr.iova + 64, key, 8);
			}
			expect_ack(th, ok, NAK(DPA_NAK_REM_ACCESS));
			expect_error(th, DPA_EVENT_QP_ACCESS_ERR);
			dpa_hw_dereg_mr(&th->ctx, key);
			th_free(th);
		}
	}
}

Test(transport_responder, bounds_and_keys)
{
	static const struct {
		int64_t off;
		uint32_t len, key_xor;
	} t[] = {{-1, 8, 0},	     {TH_MEM - 7, 8, 0}, {TH_MEM, 1, 0},
		 {0, TH_MEM + 1, 0}, {0, 8, 1},		 {0, 8, 0x80000000u}};

	for (int i = 0; i < 6; i++) {
		struct th *th = rc();

		give_remote(th, DPA_BTH_READ_REQUEST, 0, (uintptr_t)th->b.mem + (uint64_t)t[i].off,
			    th->b.key ^ t[i].key_xor, t[i].len);
		expect_ack(th, 0, NAK(DPA_NAK_REM_ACCESS));
		expect_error(th, DPA_EVENT_QP_ACCESS_ERR);
		th_free(th);
	}
}

/* C9-88 */
Test(transport_responder, no_bytes_need_no_key)
{
	struct th *th = rc();
	struct th_pkt p;

	give_remote(th, DPA_BTH_WRITE_ONLY, 0, 1, 0, 0);
	expect_ack(th, 0, ACK);
	give_remote(th, DPA_BTH_READ_REQUEST, 1, 1, 0, 0);
	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_READ_RESP_ONLY);
	cr_expect_eq(p.s.len, 0);
	th_free(th);
}

Test(transport_responder, permissions_of_the_qp)
{
	static const uint8_t ops[] = {DPA_BTH_WRITE_ONLY, DPA_BTH_READ_REQUEST,
				      DPA_BTH_COMPARE_SWAP, DPA_BTH_FETCH_ADD};

	for (int i = 0; i < 4; i++) {
		struct th *th = th_new(&(struct th_opt){.psn = PSN0, .access = TH_NO_ACCESS});

		give_remote(th, ops[i], 0, (uintptr_t)th->b.mem, th->b.key, 8);
		expect_ack(th, 0, NAK(DPA_NAK_INV_REQ));
		expect_error(th, DPA_EVENT_QP_REQ_ERR);
		th_free(th);
	}
}

Test(transport_responder, invalid_requests)
{
	static const struct {
		uint8_t op;
		int va;
		uint32_t len;
	} t[] = {{DPA_BTH_SEND_MIDDLE, 0, 0},
		 {DPA_BTH_SEND_LAST, 0, 0},
		 {DPA_BTH_WRITE_MIDDLE, 0, 0},
		 {DPA_BTH_WRITE_LAST, 0, 0},
		 {0x15, 0, 0},
		 {0x1f, 0, 0},
		 {DPA_BTH_FETCH_ADD, 4, 0},
		 {DPA_BTH_COMPARE_SWAP, 1, 0},
		 {DPA_BTH_READ_REQUEST, 0, 0x80000001u}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct th *th = rc();

		th_recv(&th->b, 1, 0, 4096);
		give_remote(th, t[i].op, 0, (uintptr_t)th->b.mem + (uint32_t)t[i].va, th->b.key,
			    t[i].len);
		expect_ack(th, 0, NAK(DPA_NAK_INV_REQ));
		expect_error(th, DPA_EVENT_QP_REQ_ERR);
		th_free(th);
	}
}

/* More READs at once than were agreed on. */
Test(transport_responder, too_many_reads)
{
	struct th *th = th_new(&(struct th_opt){.psn = PSN0, .dest_rd = 2});
	struct th_pkt p;

	for (uint32_t i = 0; i < 3; i++)
		give_remote(th, DPA_BTH_READ_REQUEST, i, (uintptr_t)th->b.mem, th->b.key, 8);
	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p) && th_take(&th->b, &p) && th_take(&th->b, &p));
	cr_expect_eq(th_ext(&p)->syndrome, NAK(DPA_NAK_INV_REQ));
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, 2));
	th_free(th);
}

/* Memory that the application unmapped: a NAK, not a fault of ours. */
Test(transport_responder, memory_that_is_gone)
{
	static const uint8_t ops[] = {DPA_BTH_WRITE_ONLY, DPA_BTH_READ_REQUEST,
				      DPA_BTH_COMPARE_SWAP, DPA_BTH_FETCH_ADD};

	for (int i = 0; i < 4; i++) {
		struct th *th = rc();
		struct dpa_mr_attr mr = {.pdn = 1, .access = TH_ALL, .length = 64};
		uint32_t key;

		mr.addr = mr.iova = (uintptr_t)th->b.mem;
		cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
		/* as if it had been unmapped: the zero page's neighbourhood never is mapped */
		th->hw->export->mr[key >> 14].addr = 64;
		give_remote(th, ops[i], 0, mr.iova, key, 8);
		expect_ack(th, 0, NAK(DPA_NAK_REM_ACCESS));
		expect_error(th, DPA_EVENT_QP_ACCESS_ERR);
		dpa_hw_dereg_mr(&th->ctx, key);
		th_free(th);
	}
}

/* Packets of one batch behind the one that ended the connection were carried out. */
Test(transport_responder, nothing_is_carried_out_behind_a_fatal_nak)
{
	struct th *th = rc();
	struct th_pkt p;
	struct dpa_cqe e;

	th_recv(&th->b, 1, 0, 100);
	th_recv(&th->b, 2, 0, 100);
	th_forge(&th->a, &p, DPA_BTH_SEND_ONLY_INV, PSN0, 10);
	th_ext(&p)->imm = th->b.key; /* a plain region cannot be invalidated */
	th_give(&th->b, &p);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	th_flush(&th->b);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_neq(e.status, DPA_CQE_OK);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.wr_id, 2);
	cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
	th_free(th);
}

/* The same packet twice in a batch took, and failed, two receives. */
Test(transport_responder, a_fatal_packet_fails_one_receive)
{
	struct th *th = rc();
	struct dpa_cqe e;

	th_recv(&th->b, 1, 0, 1);
	th_recv(&th->b, 2, 0, 1);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	give(th, DPA_BTH_SEND_ONLY, 0, 10);
	th_flush(&th->b);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_LOC_LEN_ERR);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	th_free(th);
}

/* -------------------------------------------------- data that is fetched */

static void give_pull(struct th *th, uint32_t n, uint32_t len, struct dpa_pull *pull)
{
	struct th_pkt p;

	th_forge(&th->a, &p, DPA_BTH_SEND_ONLY, PSN0 + n, len);
	p.s.flags = DPA_PKT_ACKREQ | DPA_PKT_PULL;
	memcpy(p.data, pull, sizeof(*pull));
	th_give(&th->b, &p);
}

Test(transport_responder, what_is_fetched)
{
	struct th *th = rc();
	struct dpa_pull pull = {.niov = 2};

	th_fill(th->a.mem, 100000, 6);
	th_recv(&th->b, 1, 0, 100000);
	pull.epoch = atomic_load(&th->hw->export->qp_epoch[th->a.qp->qpn & DPA_QPN_INDEX]);
	pull.iov[0].addr = (uintptr_t)th->a.mem;
	pull.iov[0].len = 30000;
	pull.iov[1].addr = (uintptr_t)th->a.mem + 30000;
	pull.iov[1].len = 70000;
	pull.epoch++; /* the sender left its working state meanwhile: nothing came */
	give_pull(th, 0, 100000, &pull);
	expect_silence(th);
	cr_expect_eq(th->b.qp->resp.epsn, PSN0);
	pull.epoch--;
	give_pull(th, 0, 100000, &pull);
	expect_ack(th, 97, ACK); /* it stood for 98 packets */
	cr_expect(th_check(th->b.mem, 100000, 6));
	th_free(th);
}

Test(transport_responder, what_cannot_be_fetched)
{
	for (int i = 0; i < 5; i++) {
		struct th *th = rc();
		struct dpa_pull pull = {.niov = 1};

		th_recv(&th->b, 1, 0, 10000);
		pull.epoch = atomic_load(&th->hw->export->qp_epoch[th->a.qp->qpn & DPA_QPN_INDEX]);
		pull.iov[0].addr = i ? (uintptr_t)th->a.mem : 4096 - 9000 % 4096;
		pull.iov[0].len = i == 1 ? 8999 : i == 2 ? 9001 : 9000;
		pull.niov = i == 3 ? 0 : i == 4 ? DPA_PULL_IOV + 1 : 1;
		give_pull(th, 0, 9000, &pull);
		expect_ack(th, 0, NAK(DPA_NAK_REM_OP));
		cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
		th_free(th);
	}
}

/* C9-45: a connected QP hears its peer and its transport. */
Test(transport_responder, strangers_are_not_heard)
{
	struct th *th = rc();
	struct th_pkt p;

	th_recv(&th->b, 1, 0, 100);
	th_forge(&th->a, &p, DPA_BTH_SEND_ONLY, PSN0, 10);
	p.s.src ^= 1;
	th_give(&th->b, &p);
	th_forge(&th->a, &p, DPA_BTH_UC | DPA_BTH_SEND_ONLY, PSN0, 10);
	th_give(&th->b, &p);
	th_forge(&th->a, &p, DPA_BTH_UD | DPA_BTH_SEND_ONLY, PSN0, 60);
	th_give(&th->b, &p);
	cr_expect_eq(th->b.qp->rq_ci, 0);
	cr_expect_eq(th->b.qp->resp.epsn, PSN0);
	cr_expect_eq(th_count(th, DPA_CNT_rx_dropped), 3);
	th_free(th);
}
