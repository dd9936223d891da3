/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_requester.c - the sending side alone: packets of a work request, order, fences, limits,
 * local faults, SQD.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>
#include "ctx/schedule.h"
#include "link/peer.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "harness.h"

#define MTU 1024u

static struct th *rc(void)
{
	return th_new(&(struct th_opt){.psn = 0xfffffe, .rnr_retry = 7, .retry = 7, .timeout = 14});
}

static struct th_wr wr_of(struct th_side *s, uint8_t op, uint32_t len)
{
	return (struct th_wr){.op = op,
			      .flags = DPA_WQE_SIGNALED,
			      .nsge = 1,
			      .sge = {{(uintptr_t)s->mem, len, s->key}},
			      .raddr = (uintptr_t)s->other->mem,
			      .rkey = s->other->key};
}

static void post(struct th_side *s, const struct th_wr *wr)
{
	cr_assert(th_post(s, wr));
	th_ring(s);
}

/* FIRST, MIDDLE, LAST with the PSNs of whole MTUs between them; AckReq on the last only. */
/* IBA 9.4 (cut), 9.2 (ackreq), 9.3 (immediate) */
Test(transport_requester, a_long_message_is_cut)
{
	static const struct {
		uint8_t op, bth[3];
	} t[] = {{DPA_OP_SEND, {0x00, 0x01, 0x02}},
		 {DPA_OP_SEND_IMM, {0x00, 0x01, 0x03}},
		 {DPA_OP_SEND_INV, {0x00, 0x01, 0x16}},
		 {DPA_OP_RDMA_WRITE, {0x06, 0x07, 0x08}},
		 {DPA_OP_RDMA_WRITE_IMM, {0x06, 0x07, 0x09}}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct th *th = rc();
		struct th_wr wr = wr_of(&th->a, t[i].op, 2 * DPA_LANE_MTU + 7);
		uint32_t psn = 0xfffffe;
		struct th_pkt p;

		post(&th->a, &wr);
		for (int k = 0; k < 3; k++) {
			cr_assert(th_take(&th->a, &p));
			cr_expect_eq(p.s.opcode, t[i].bth[k]);
			cr_expect_eq(p.s.psn, psn);
			cr_expect_eq(!!(p.s.flags & DPA_PKT_ACKREQ), k == 2);
			psn = dpa_psn_add(psn, dpa_npkts(p.s.len, MTU));
		}
		cr_expect_not(th_take(&th->a, &p));
		cr_expect_eq(th->a.qp->req.send_psn, psn);
		th_free(th);
	}
}

/* IBA 9.4 (only), 9.3 (immediate) */
Test(transport_requester, only_packets)
{
	static const uint8_t t[][2] = {{DPA_OP_SEND, 0x04},	      {DPA_OP_SEND_IMM, 0x05},
				       {DPA_OP_SEND_INV, 0x17},	      {DPA_OP_RDMA_WRITE, 0x0a},
				       {DPA_OP_RDMA_WRITE_IMM, 0x0b}, {DPA_OP_RDMA_READ, 0x0c},
				       {DPA_OP_ATOMIC_CS, 0x13},      {DPA_OP_ATOMIC_FA, 0x14}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct th *th = rc();
		struct th_wr wr = wr_of(&th->a, t[i][0], 8);
		struct th_pkt p;

		wr.imm = 0x1234;
		wr.swap_add = 5;
		wr.compare = 6;
		post(&th->a, &wr);
		cr_assert(th_take(&th->a, &p));
		cr_expect_eq(p.s.opcode, t[i][1]);
		cr_expect(p.s.flags & DPA_PKT_ACKREQ);
		if (t[i][1] == 0x05 || t[i][1] == 0x17)
			cr_expect_eq(th_ext(&p)->imm, 0x1234);
		if (t[i][1] == 0x0b)
			cr_expect_eq(th_ext(&p)->imm_after_reth, 0x1234);
		if (t[i][1] >= 0x13 && t[i][1] <= 0x14) {
			cr_expect_eq(th_ext(&p)->swap_add, 5);
			cr_expect_eq(th_ext(&p)->compare, 6);
		}
		th_free(th);
	}
}

/* IBA 9.7.3.1: a READ takes the PSNs of its response. */
/* IBA 9.7.3 (read-psns) */
Test(transport_requester, a_read_takes_the_psns_of_its_response)
{
	struct th *th = rc();
	struct th_wr wr = wr_of(&th->a, DPA_OP_RDMA_READ, 10 * MTU + 1);
	struct th_pkt p;

	post(&th->a, &wr);
	wr = wr_of(&th->a, DPA_OP_SEND, 0);
	post(&th->a, &wr);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.psn, 0xfffffe);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.psn, 9);
	th_free(th);
}

/* IBA 9.7.3 (read-limit) */
Test(transport_requester, reads_and_atomics_wait_for_their_limit)
{
	struct th *th = th_new(&(struct th_opt){.rd = 2});
	struct th_wr wr = wr_of(&th->a, DPA_OP_RDMA_READ, 8);

	for (int i = 0; i < 5; i++)
		post(&th->a, &wr);
	cr_expect_eq(th->a.qp->req.rd_out, 2);
	th_settle(th);
	cr_expect_eq(th->a.qp->req.una_idx, th->a.pi);
	cr_expect_eq(th->a.qp->req.rd_out, 0);
	th_free(th);
}

/*
 * As many as a peer of another make may accept (perftest's client sets the limit that a kernel rxe
 * reports): all of them leave, exactly as the attribute allows.
 */
Test(transport_requester, an_initiator_has_up_to_128_reads_out)
{
	struct th *th = th_new(&(struct th_opt){.rd = DPA_MAX_INIT_RD_ATOMIC});
	struct th_wr wr = wr_of(&th->a, DPA_OP_RDMA_READ, 8);
	struct th_pkt p;
	int n = 0;

	for (int i = 0; i < DPA_MAX_INIT_RD_ATOMIC + 2; i++)
		post(&th->a, &wr);
	while (th_take(&th->a, &p))
		n += p.s.opcode == DPA_BTH_READ_REQUEST;
	cr_expect_eq(n, DPA_MAX_INIT_RD_ATOMIC);
	cr_expect_eq(th->a.qp->req.rd_out, DPA_MAX_INIT_RD_ATOMIC);
	th_free(th);
}

Test(transport_requester, a_fence_waits_for_reads)
{
	struct th *th = rc();
	struct th_wr wr = wr_of(&th->a, DPA_OP_RDMA_READ, 8);
	struct th_pkt p;

	post(&th->a, &wr);
	wr = wr_of(&th->a, DPA_OP_RDMA_WRITE, 8);
	wr.flags |= DPA_WQE_FENCE;
	post(&th->a, &wr);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_READ_REQUEST);
	cr_expect_not(th_take(&th->a, &p));
	th_forge(&th->a, &p, DPA_BTH_READ_REQUEST, 0xfffffe, 0);
	th_ext(&p)->va = (uintptr_t)th->b.mem;
	th_ext(&p)->rkey = th->b.key;
	th_ext(&p)->dmalen = 8;
	th_give(&th->b, &p);
	th_flush(&th->b);
	th_deliver(&th->b);
	cr_assert(th_take(&th->a, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_WRITE_ONLY);
	th_free(th);
}

/* IBA 9.7.1: fewer than 2^23 PSNs are outstanding, for any posts: old and new must differ. */
/* IBA 9.7.1 (window) */
Test(transport_requester, the_psn_window_is_respected)
{
	struct th *th = th_new(&(struct th_opt){.mtu = 1, .pull = true, .retry = 7});
	struct dpa_mr_attr mr = {.pdn = 1, .length = 1ull << 30};
	uint32_t key, packets = 0;
	struct th_wr wr;
	struct dpa_cqe e;
	struct th_pkt p;
	void *big = mmap(NULL, mr.length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	cr_assert_neq(big, MAP_FAILED);
	mr.addr = mr.iova = (uintptr_t)big;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
	wr = wr_of(&th->a, DPA_OP_RDMA_WRITE, 1u << 30);
	wr.sge[0] = (struct dpa_sge){mr.addr, 1u << 30, key};
	for (int i = 0; i < 4; i++)
		post(&th->a, &wr);
	do {
		while (th_take(&th->a, &p))
			packets++;
	} while (dpa_progress_once(th->hw));
	cr_expect_eq(packets, 1024, "the first of 2^22 packets; the second would fill the window");
	cr_expect_lt((th->a.qp->req.max_psn - th->a.qp->req.una_psn) & DPA_PSN_MASK, 1u << 23);
	th_forge(&th->b, &p, DPA_BTH_ACK, th->a.qp->req.max_psn - 1, 0);
	th_ext(&p)->syndrome = DPA_AETH_ACK | DPA_AETH_NO_CREDITS;
	th_give(&th->a, &p);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect(th_take(&th->a, &p), "there is room again");
	th_drop_all(&th->a);
	dpa_hw_dereg_mr(&th->ctx, key);
	munmap(big, mr.length);
	th_free(th);
}

/* C10-90 ff and 10.8.3: errors of a work request are reported after all earlier work requests. */
/* IBA 9.7.3 (fault-order) */
Test(transport_requester, local_faults_come_in_order)
{
	static const struct {
		uint8_t op;
		uint32_t len, key_xor, status;
	} t[] = {{DPA_OP_SEND, 10, 1, DPA_CQE_LOC_PROT_ERR},
		 {DPA_OP_SEND, TH_MEM + 1, 0, DPA_CQE_LOC_PROT_ERR},
		 {DPA_OP_ATOMIC_FA, 7, 0, DPA_CQE_LOC_LEN_ERR},
		 {DPA_OP_ATOMIC_FA, 9, 0, DPA_CQE_LOC_LEN_ERR},
		 {DPA_OP_FLUSH, 10, 0, DPA_CQE_LOC_QP_OP_ERR},
		 {0x7e, 10, 0, DPA_CQE_LOC_QP_OP_ERR}};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct th *th = rc();
		struct th_wr wr = wr_of(&th->a, DPA_OP_RDMA_WRITE, 100);
		struct dpa_cqe e;

		post(&th->a, &wr);
		wr = wr_of(&th->a, t[i].op, t[i].len);
		wr.sge[0].lkey ^= t[i].key_xor;
		post(&th->a, &wr);
		cr_expect_eq(th->a.qp->state, DPA_QPS_RTS, "the WRITE is not through");
		th_settle(th);
		cr_assert(th_poll(&th->a.scq, &e));
		cr_expect_eq(e.status, DPA_CQE_OK);
		cr_assert(th_poll(&th->a.scq, &e));
		cr_expect_eq(e.status, t[i].status, "%zu: %u", i, e.status);
		cr_expect_eq(e.wr_id, 2);
		cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
		cr_expect_eq(th->b.qp->state, DPA_QPS_RTS, "the peer hears nothing");
		th_free(th);
	}
}

/* A full ring: the QP waits on the pending list and continues at the same place. */
Test(transport_requester, a_full_ring_is_waited_for)
{
	struct th *th = rc();
	struct th_wr wr = wr_of(&th->a, DPA_OP_RDMA_WRITE, 1u << 20);
	struct dpa_cqe e;

	th_fill(th->a.mem, 1u << 20, 77);
	post(&th->a, &wr);
	cr_expect_gt(th_count(th, DPA_CNT_ring_full), 0u);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect(th_check(th->b.mem, 1u << 20, 77));
	th_free(th);
}

/* --------------------------------------------------------------------- SQD */

static void modify(struct th_side *s, uint32_t state)
{
	struct dpa_qp_attr a = {.state = state, .sqd_async_notify = 1};
	uint32_t mask = DPA_QPM_STATE;

	if (state == DPA_QPS_SQD)
		mask |= DPA_QPM_EN_SQD_ASYNC_NOTIFY;
	cr_assert_eq(dpa_hw_modify_qp(s->qp, &a, mask), 0);
}

/* IBA 10.3.1: begun messages are finished, new ones wait, one event when nothing is outstanding. */
Test(transport_requester, sqd_drains)
{
	struct th *th = rc();

	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	modify(&th->a, DPA_QPS_SQD);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 0);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	th_settle(th);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 1);
	cr_expect_eq(th->a.pi - th->a.qp->req.una_idx, 1);
	modify(&th->a, DPA_QPS_RTS);
	th_settle(th);
	cr_expect_eq(th->a.qp->req.una_idx, th->a.pi);
	th_free(th);
}

/*
 * The QP waited for an RNR timer while it drained: it reported "drained" and never sent the rest.
 */
Test(transport_requester, sqd_sends_again_what_it_must)
{
	struct th *th = rc();
	struct dpa_cqe e;

	th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
	th_settle(th);
	cr_expect(th->a.qp->slow.wait_timer);
	modify(&th->a, DPA_QPS_SQD);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 0, "it is not through");
	th_recv(&th->b, 1, 0, 100);
	th_tick(th);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 1);
	th_free(th);
}

/* A packet to be sent again found the ring full: the QP reported "drained". */
Test(transport_requester, sqd_is_not_drained_while_the_ring_is_full)
{
	struct th *th = rc();
	struct dpa_slot *s;
	struct dpa_cqe e;

	th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
	th_settle(th);
	modify(&th->a, DPA_QPS_SQD);
	while ((s = dpa_lane_reserve(th->a.qp->tx, 0, NULL)))
		dpa_lane_publish(th->a.qp->tx, s);
	th_tick(th);
	cr_expect_eq(th->a.qp->req.send_idx, th->a.qp->req.una_idx);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 0);
	th_drop_all(&th->a);
	th_recv(&th->b, 1, 0, 100);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_eq(th->events[DPA_EVENT_SQ_DRAINED & 63], 1);
	th_free(th);
}

/* Other reasons to wait (here: the responder side of the same QP finds the ring full). */
/* IBA 9.7.6 (rnr-wait) */
Test(transport_requester, an_rnr_timer_is_not_cut_short)
{
	struct th *th = th_new(&(struct th_opt){.rnr_retry = 1, .retry = 7, .min_rnr = 20});
	struct dpa_cqe e;

	th_send(&th->a, DPA_OP_SEND, 0, 100, 0);
	th_settle(th);
	cr_expect(th->a.qp->slow.wait_timer);
	for (int i = 0; i < 5; i++) {
		dpa_schedule(th->a.qp, 0);
		th_settle(th);
	}
	cr_expect(th->a.qp->slow.wait_timer);
	cr_expect_not(th_poll(&th->a.scq, &e));
	th_recv(&th->b, 1, 0, 100);
	th_tick(th);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	th_free(th);
}

/* ------------------------------------------------------------ peer and loss */

/*
 * Like an unreachable hardware peer: the retries are used up first, in a tenth of a second at most,
 * also for WQEs that are posted later. A program that does not need an ended peer any more has time
 * to poll its completions: ibv_srq_pingpong got an error at its end.
 */
Test(transport_requester, a_dead_peer_ends_the_retries_in_their_time)
{
	static const struct {
		uint8_t timeout, retry;
		uint64_t ns;
	} of[] = {{8, 0, 4096ull << 8},
		  {8, 3, 4 * (4096ull << 8)},
		  {14, 7, 100000000},
		  {31, 7, 100000000},
		  {0, 7, 100000000}};

	for (size_t i = 0; i < 2 * sizeof(of) / sizeof(of[0]); i++) {
		const bool afterwards = i % 2;
		struct th *th = th_new(
			&(struct th_opt){.retry = of[i / 2].retry, .timeout = of[i / 2].timeout});
		uint64_t began;
		struct dpa_cqe e;

		if (!afterwards)
			th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
		atomic_store(&th->peer->state, DPA_PEER_DEAD);
		dpa_qplock_lock(&th->a.qp->lock);
		dpa_requester_peer_dead(th->a.qp);
		dpa_qp_leave(th->a.qp);
		began = th_now;
		th_drop_all(&th->a);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
		cr_expect_not(th_poll(&th->a.scq, &e), "not yet");
		while (!th_poll(&th->a.scq, &e))
			cr_assert(th_tick(th), "nobody looks any more");
		cr_expect_eq(th_now - began, of[i / 2].ns, "%zu: %lu", i, th_now - began);
		cr_expect_eq(e.status, DPA_CQE_RETRY_EXC_ERR);
		cr_expect_eq(e.vendor_err, DPA_SYN_PEER_DEAD);
		cr_expect_eq(th_poll(&th->a.scq, &e), !afterwards);
		cr_expect(afterwards || e.status == DPA_CQE_WR_FLUSH_ERR);
		cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
		th_free(th);
	}
}

/* It closed its device or ended before the two had met: no other event will report it. */
Test(transport_requester, a_peer_that_was_never_met_and_has_no_such_qp_any_more)
{
	struct th *th = th_new(&(struct th_opt){.retry = 2, .timeout = 10});
	struct dpa_cqe e;
	int n = 0;

	th->a.qp->tx = NULL;
	th->a.qp->peer = th->peer;
	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	cr_assert(th_tick(th), "it waits for the hello");
	cr_assert_not(th_poll(&th->a.scq, &e));
	th_nobody = true;
	while (!th_poll(&th->a.scq, &e))
		cr_assert(th_tick(th) && n++ < 100, "for ever");
	cr_expect_eq(e.status, DPA_CQE_RETRY_EXC_ERR);
	cr_expect_eq(e.vendor_err, DPA_SYN_TIMEOUT);
	cr_expect_eq(th->a.qp->state, DPA_QPS_ERR);
	th_free(th);
}

static struct dpa_peer *meets; /* result of a try to meet it */
static bool is_refused;

static void tries_to_meet(void)
{
	if (is_refused)
		atomic_fetch_add(&meets->no_fds, 1);
}

/* Descriptors had run out when two QPs met: the error was "transport retry counter exceeded". */
Test(transport_requester, no_descriptor_to_meet_the_peer)
{
	static const struct {
		uint32_t type;
		bool nobody; /* not even the rings could be made */
	} of[] = {{DPA_QP_RC, false}, {DPA_QP_RC, true}, {DPA_QP_UC, false}, {DPA_QP_UC, true}};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct th *th =
			th_new(&(struct th_opt){.type = of[i].type, .retry = 2, .timeout = 10});
		const bool rc_qp = of[i].type == DPA_QP_RC;
		uint64_t began = th_now;
		struct dpa_cqe e;
		int n = 0;

		meets = th->peer;
		is_refused = !of[i].nobody;
		th_looks = tries_to_meet;
		th_nobody = of[i].nobody;
		th_nobody_errno = EMFILE;
		th->a.qp->tx = NULL;
		th->a.qp->peer = of[i].nobody ? NULL : th->peer;
		atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
		th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
		while (!th_poll(&th->a.scq, &e))
			cr_assert(th_tick(th) && n++ < 100, "%zu: for ever", i);
		cr_expect_eq(e.status, DPA_CQE_GENERAL_ERR, "%zu: %u", i, e.status);
		cr_expect_eq(e.vendor_err, DPA_SYN_NO_FDS, "%zu: %#x", i, e.vendor_err);
		cr_expect_eq(th_now - began, rc_qp ? 2 * (4096ull << 10) : 0,
			     "%zu: RC tries as often as it may", i);
		cr_expect_eq(th->a.qp->state, (uint32_t)(rc_qp ? DPA_QPS_ERR : DPA_QPS_SQE));
		cr_expect(strstr(th_logged, "ulimit -n"), "%s", th_logged);
		th_looks = NULL;
		th_nobody = false;
		th_nobody_errno = ENOENT;
		th_free(th);
	}
}

#define SLOW_NS 20000000u

/* The peer refuses a connection after a time; all QPs that wait for it share this result. */
static void is_refused_slowly(void)
{
	static uint64_t at;

	if (th_now - at < SLOW_NS)
		return;
	at = th_now;
	atomic_fetch_add(&meets->no_fds, 1);
}

/* A refusal was taken by one QP: N of them ended after N times the allowed number of refusals. */
Test(transport_requester, a_refusal_is_every_waiting_qps)
{
	struct th *th = th_new(&(struct th_opt){.retry = 2, .timeout = 10});
	struct th_side *side[] = {&th->a, &th->b};
	uint64_t began;
	uint32_t ended = 0;
	struct dpa_cqe e;

	meets = th->peer;
	th_now += SLOW_NS;
	began = th_now;
	th_looks = is_refused_slowly;
	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	for (int i = 0; i < 2; i++) {
		side[i]->qp->tx = NULL;
		side[i]->qp->peer = th->peer;
		th_send(side[i], DPA_OP_RDMA_WRITE, 0, 100, 0);
	}
	while (ended < 2) {
		for (int i = 0; i < 2; i++) {
			if (!th_poll(&side[i]->scq, &e))
				continue;
			cr_expect_eq(e.vendor_err, DPA_SYN_NO_FDS, "%#x", e.vendor_err);
			ended++;
		}
		cr_assert(th_tick(th) || ended == 2);
		cr_assert_leq(th_now - began, 4 * SLOW_NS, "%u ended", ended);
	}
	th_looks = NULL;
	th_free(th);
}

/* An earlier refusal of other QPs is no answer to this QP: UC has no second try. */
Test(transport_requester, an_old_refusal)
{
	struct th *th = th_new(&(struct th_opt){.type = DPA_QP_UC});
	struct dpa_cqe e;

	th->a.qp->tx = NULL;
	th->a.qp->peer = th->peer;
	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	atomic_fetch_add(&th->peer->no_fds, 1);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	cr_assert_not(th_poll(&th->a.scq, &e), "%#x", e.vendor_err);
	atomic_store(&th->peer->state, DPA_PEER_UP);
	cr_assert(th_tick(th));
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	th_free(th);
}

/* Other code closed some meanwhile: nothing is lost. */
Test(transport_requester, a_descriptor_comes_free)
{
	struct th *th = th_new(&(struct th_opt){.retry = 2, .timeout = 10});
	struct dpa_cqe e;

	meets = th->peer;
	is_refused = true;
	th_looks = tries_to_meet;
	th->a.qp->tx = NULL;
	th->a.qp->peer = th->peer;
	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	cr_assert(th_tick(th));
	th_looks = NULL;
	atomic_store(&th->peer->state, DPA_PEER_UP);
	while (!th_poll(&th->a.scq, &e)) {
		cr_assert(th_tick(th));
		th_settle(th);
	}
	cr_expect_eq(e.status, DPA_CQE_OK);
	th_free(th);
}

Test(transport_requester, a_dead_peer_does_not_harm_an_idle_qp)
{
	struct th *th = rc();

	dpa_qplock_lock(&th->a.qp->lock);
	dpa_requester_peer_dead(th->a.qp);
	dpa_qp_leave(th->a.qp);
	cr_expect_eq(th->a.qp->state, DPA_QPS_RTS);
	th_free(th);
}

/*
 * A packet to a QP that does not exist or is not ready: retry_cnt tries, one timeout each, then the
 * end.
 */
/* IBA 9.7.6 (retries), C9-140 */
Test(transport_requester, retries_are_exhausted_in_their_time)
{
	struct th *th = th_new(&(struct th_opt){.retry = 3, .timeout = 10});
	uint64_t start = th_now;
	struct dpa_cqe e;
	int tries = 1;

	modify(&th->b, DPA_QPS_RESET);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	th_settle(th);
	for (; !th_poll(&th->a.scq, &e); tries++) {
		cr_assert(th_tick(th));
		th_settle(th);
	}
	cr_expect_eq(tries, 4, "once and three times again");
	cr_expect_eq(e.status, DPA_CQE_RETRY_EXC_ERR);
	cr_expect_eq(th_now - start, 3 * (4096ull << 10));
	cr_expect_eq(th_count(th, DPA_CNT_local_ack_timeout_err), 4);
	th_free(th);
}

/* IBA C9-140 */
Test(transport_requester, timeout_0_tries_for_ever)
{
	struct th *th = th_new(&(struct th_opt){.retry = 1});
	struct dpa_cqe e;

	modify(&th->b, DPA_QPS_RESET);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	for (int i = 0; i < 100; i++) {
		th_settle(th);
		cr_assert(th_tick(th));
	}
	cr_expect_not(th_poll(&th->a.scq, &e));
	th_free(th);
}

/* IBA 9.6 (qp-exists) */
Test(transport_requester, a_qpn_that_nobody_has)
{
	struct th *th = th_new(&(struct th_opt){.retry = 2, .timeout = 10});
	struct dpa_cqe e;

	th_nobody = true;
	th->a.qp->peer = NULL;
	th->a.qp->tx = NULL;
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, 100, 0);
	while (!th_poll(&th->a.scq, &e))
		cr_assert(th_tick(th));
	cr_expect_eq(e.status, DPA_CQE_RETRY_EXC_ERR);
	th_free(th);
}

Test(transport_requester, inline_data_wraps_with_the_ring)
{
	struct th *th = th_new(&(struct th_opt){.index = 0xfffffff0});
	uint8_t text[1000];

	th_fill(text, sizeof(text), 9);
	for (int i = 0; i < 100; i++) {
		struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
				   .inl = text,
				   .inl_len = 1000,
				   .raddr = (uintptr_t)th->b.mem,
				   .rkey = th->b.key};

		memset(th->b.mem, 0, 1000);
		post(&th->a, &wr);
		th_settle(th);
		cr_assert(th_check(th->b.mem, 1000, 9));
	}
	th_free(th);
}

/* An invalid doorbell record: the content of the ring is flushed, once. */
Test(transport_requester, a_wild_producer_index_is_flushed_within_the_ring)
{
	struct th *th = rc();
	struct th_wr wr = wr_of(&th->a, DPA_OP_RDMA_WRITE, 100);
	uint32_t n = 0;
	struct dpa_cqe e;

	while (th_post(&th->a, &wr))
		;
	__atomic_store_n(&th->a.dbrec.sq_pi, th->a.pi + 100000, __ATOMIC_RELEASE);
	modify(&th->a, DPA_QPS_ERR);
	for (; th_poll(&th->a.scq, &e); n++)
		cr_expect_eq(e.status, DPA_CQE_WR_FLUSH_ERR);
	cr_expect_eq(n, 1u << TH_LOG_SQ);
	th_free(th);
}

/* More than one fetch, in both directions. */
Test(transport_requester, long_messages_are_copied_in_segments)
{
	struct th *th = th_new(&(struct th_opt){.pull = true});
	uint32_t n = 2 * DPA_PULL_CHUNK + 500000;
	struct dpa_cqe e;

	th_fill(th->a.mem, n, 12);
	th_send(&th->a, DPA_OP_RDMA_WRITE, 0, n, 100);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect(th_check(th->b.mem + 100, n, 12));
	memset(th->a.mem, 0, n);
	th_send(&th->a, DPA_OP_RDMA_READ, 7, n, 100);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect(th_check(th->a.mem + 7, n, 12));
	cr_expect_eq(th_count(th, DPA_CNT_pull_bytes), 2ull * n);
	th_free(th);
}
