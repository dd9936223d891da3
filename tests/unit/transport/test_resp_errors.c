/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_resp_errors.c - RC responder: refusals, and their form. */
#include "ctx/qp.h"
#include "link/lane.h"
#include "requests.h"

/* ------------------------------------------------------------------ errors */

/* A receive that is too short: invalid request to the peer, length error here. */
/* IBA 9.7.4 (too-short) */
Test(transport_resp_errors, a_receive_that_is_too_short)
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

/* Too long in the middle, over several SGEs, and exactly fitting. */
Test(transport_resp_errors, receives_with_several_sges)
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

/* IBA 9.9 (class-a) */
Test(transport_resp_errors, a_receive_of_memory_that_is_not_registered)
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

/* The region's flags, key and bounds: a remote access error for each one that is missing. */
/* IBA 9.7.4 (key-access), 9.9 (class-c) */
Test(transport_resp_errors, access_errors_of_regions)
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

/* IBA 9.7.4 (key) */
Test(transport_resp_errors, bounds_and_keys)
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

/* IBA C9-88 */
Test(transport_resp_errors, no_bytes_need_no_key)
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

/* IBA 9.7.4 (permission), 9.9 (class-c) */
Test(transport_resp_errors, permissions_of_the_qp)
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

/* IBA 9.4 (atomic-aligned), C9-94, 9.7.4 (unknown) */
Test(transport_resp_errors, invalid_requests)
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

/* More READs at once than were negotiated. */
/* IBA 9.7.4 (read-depth) */
Test(transport_resp_errors, too_many_reads)
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

/* Memory that the application unmapped: a NAK, not a fault of the device. */
/* IBA 9.9 (memory) */
Test(transport_resp_errors, memory_that_is_gone)
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

/* Packets of one batch after the one that ended the connection were executed. */
/* IBA 9.9 (behind) */
Test(transport_resp_errors, nothing_is_carried_out_behind_a_fatal_nak)
{
	struct th *th = rc();
	struct dpa_cqe e;

	th_recv(&th->b, 1, 0, 100);
	th_recv(&th->b, 2, 0, 100);
	give_remote(th, DPA_BTH_WRITE_ONLY, 0, (uintptr_t)th->b.mem, th->b.key ^ 1, 8);
	give(th, DPA_BTH_SEND_ONLY, 1, 10);
	th_flush(&th->b);
	for (uint64_t i = 1; i <= 2; i++) {
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, i);
		cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	}
	cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
	th_free(th);
}

/* The same packet twice in a batch took, and failed, two receives. */
/* IBA 9.9 (behind) */
Test(transport_resp_errors, a_fatal_packet_fails_one_receive)
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

Test(transport_resp_errors, what_is_fetched)
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
	pull.epoch++; /* the sender left its working state meanwhile: no bytes arrived */
	give_pull(th, 0, 100000, &pull);
	expect_silence(th);
	cr_expect_eq(th->b.qp->resp.epsn, PSN0);
	pull.epoch--;
	give_pull(th, 0, 100000, &pull);
	expect_ack(th, 97, ACK); /* it stood for 98 packets */
	cr_expect(th_check(th->b.mem, 100000, 6));
	th_free(th);
}

Test(transport_resp_errors, what_cannot_be_fetched)
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

/* A connected QP accepts packets of its peer and its transport only. */
/* IBA 9.6 (sender), 9.6 (transport) */
Test(transport_resp_errors, strangers_are_not_heard)
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

/* Neither a message nor a one-sided request, in the states before RTR and after an error. */
/* IBA 9.6 (state) */
Test(transport_resp_errors, a_qp_that_does_not_receive_hears_nothing)
{
	static const uint32_t deaf[] = {DPA_QPS_RESET, DPA_QPS_INIT, DPA_QPS_ERR};
	static const uint32_t hears[] = {DPA_QPS_RTR, DPA_QPS_SQD, DPA_QPS_SQE};
	static const uint8_t zero[100];
	struct th *th = rc();

	th_recv(&th->b, 1, 0, 4096);
	for (uint32_t i = 0; i < 3; i++) {
		th->b.qp->state = deaf[i];
		give(th, DPA_BTH_SEND_ONLY, 0, 100);
		give(th, DPA_BTH_WRITE_ONLY, 0, 100);
		cr_expect_eq(th->b.qp->resp.epsn, PSN0, "state %u", deaf[i]);
		cr_expect_eq(th->b.qp->rq_ci, 0, "state %u", deaf[i]);
		cr_expect_not(th->b.qp->resp.ack_owed, "state %u", deaf[i]);
		cr_expect_arr_eq(th->b.mem, zero, 100);
		cr_expect_eq(th_count(th, DPA_CNT_rx_dropped), 2 * (i + 1));
	}
	for (uint32_t i = 0; i < 3; i++) {
		th->b.qp->state = hears[i];
		give(th, DPA_BTH_WRITE_ONLY, i, 100);
		cr_expect(th_check(th->b.mem, 100, i + 1), "state %u", hears[i]);
	}
	th->b.qp->state = DPA_QPS_RTS;
	th_free(th);
}
