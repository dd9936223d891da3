/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_ud.c - unreliable datagram: Q_Keys, the 40 bytes in front of a receive, dropped datagrams.
 */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include "knobs.h"
#include "cmd/leave.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "harness.h"

#define QKEY 0x11111111u

static struct th *ud(void)
{
	return th_new(&(struct th_opt){.type = DPA_QP_UD});
}

static struct dpa_wqe_av av_to(struct th_side *to, int gid)
{
	struct dpa_wqe_av av = {.dqpn = to->qp->qpn,
				.qkey = QKEY,
				.sgid_index = (uint8_t)gid,
				.hop_limit = 9,
				.traffic_class = 0x20,
				.flow_label = 0x12345,
				.is_global = 1};

	memcpy(av.dgid, th_gid[gid], 16);
	return av;
}

static struct dpa_wqe_av av_group(struct th_side *any)
{
	struct dpa_wqe_av av = av_to(any, 0);

	memset(av.dgid, 0, 16);
	av.dgid[0] = 0xff;
	av.dgid[1] = 0x0e;
	av.dqpn = DPA_QPN_MCAST;
	return av;
}

static void send_av(struct th_side *s, const struct dpa_wqe_av *av, uint32_t len, uint8_t op)
{
	struct th_wr wr = {.op = op,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)s->mem, len, s->key}},
			   .imm = 0xabcd,
			   .av = av};

	cr_assert(th_post(s, &wr));
	th_ring(s);
}

static uint32_t word16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* Conditions of ibv_init_ah_from_wc() on the last 20 bytes for IPv4. */
/* IBA 9.8.3 (grh) */
Test(transport_ud, ipv4_header_has_a_valid_checksum)
{
	for (uint32_t len = 0; len < 300; len += 7) {
		struct th *th = ud();
		struct dpa_wqe_av av = av_to(&th->b, 0);
		const uint8_t *ip = th->b.mem + 20;
		uint32_t sum = 0;
		struct dpa_cqe e;

		th_recv(&th->b, 1, 0, 4096);
		th_fill(th->a.mem, len, 5);
		send_av(&th->a, &av, len, DPA_OP_SEND);
		th_settle(th);
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.byte_len, len + 40);
		cr_expect_eq(e.src_qpn, th->a.qp->qpn);
		cr_expect_eq(e.flags & DPA_CQE_F_GRH, DPA_CQE_F_GRH);
		cr_expect(th_check(th->b.mem + 40, len, 5));
		for (int i = 0; i < 20; i += 2)
			sum += word16(ip + i);
		sum = (sum & 0xffff) + (sum >> 16);
		cr_expect_eq((sum & 0xffff) + (sum >> 16), 0xffff);
		cr_expect_eq(ip[0], 0x45);
		cr_expect_eq(ip[1], 0x20);
		/* IP 20, UDP 8, BTH 12, DETH 8, payload with pad, ICRC 4 */
		cr_expect_eq(word16(ip + 2), 52 + (len + 3) / 4 * 4);
		cr_expect_eq(ip[8], 9);
		cr_expect_eq(ip[9], 17);
		cr_expect_arr_eq(ip + 12, th_gid[0] + 12, 4);
		cr_expect_arr_eq(ip + 16, th_gid[0] + 12, 4);
		cr_expect_neq(th->b.mem[0] >> 4, 6, "not to be taken for IPv6");
		th_free(th);
	}
}

/* IBA 9.8.3 (grh) */
Test(transport_ud, ipv6_header)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 1);
	const uint8_t *g = th->b.mem;

	th_recv(&th->b, 1, 0, 4096);
	send_av(&th->a, &av, 100, DPA_OP_SEND);
	th_settle(th);
	cr_expect_eq(g[0] >> 4, 6);
	cr_expect_eq((g[0] & 15) << 4 | g[1] >> 4, 0x20);
	cr_expect_eq((uint32_t)(g[1] & 15) << 16 | word16(g + 2), 0x12345);
	cr_expect_eq(word16(g + 4), 8 + 12 + 8 + 100 + 4);
	cr_expect_eq(g[6], 17);
	cr_expect_eq(g[7], 9);
	cr_expect_arr_eq(g + 8, th_gid[1], 16);
	cr_expect_arr_eq(g + 24, th_gid[1], 16);
	th_free(th);
}

/* The length in both IP headers counts the 4 bytes of immediate data. */
Test(transport_ud, immediate_data_counts_in_the_length_of_the_grh)
{
	for (int gid = 0; gid < 2; gid++) {
		struct th *th = ud();
		struct dpa_wqe_av av = av_to(&th->b, gid);
		const uint8_t *g = th->b.mem;

		th_recv(&th->b, 1, 0, 4096);
		th_recv(&th->b, 2, 0, 4096);
		send_av(&th->a, &av, 100, DPA_OP_SEND_IMM);
		th_settle(th);
		cr_expect_eq(word16(gid ? g + 4 : g + 22), (gid ? 8 : 28) + 12 + 8 + 4 + 100 + 4);
		send_av(&th->a, &av, 100, DPA_OP_SEND);
		th_settle(th);
		cr_expect_eq(word16(gid ? g + 4 : g + 22), (gid ? 8 : 28) + 12 + 8 + 100 + 4);
		th_free(th);
	}
}

/* Another Q_Key is dropped; a Q_Key with its top bit set stands for the QP's own. */
/* IBA 9.6 (qkey), 9.6 (privileged-qkey) */
Test(transport_ud, q_key)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	struct dpa_cqe e;

	th_recv(&th->b, 1, 0, 4096);
	av.qkey = QKEY + 1;
	send_av(&th->a, &av, 10, DPA_OP_SEND);
	th_settle(th);
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect_eq(th_count(th, DPA_CNT_rx_dropped), 1);
	av.qkey = 0x80000000u;
	send_av(&th->a, &av, 10, DPA_OP_SEND_IMM);
	th_settle(th);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.imm, 0xabcd);
	cr_expect_eq(e.flags & DPA_CQE_F_IMM, DPA_CQE_F_IMM);
	th_free(th);
}

/* IBA 9.8.3 (lost) */
Test(transport_ud, nobody_there_or_no_receive_is_lost)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	struct dpa_cqe e;

	send_av(&th->a, &av, 10, DPA_OP_SEND);
	th_settle(th);
	th_nobody = true;
	send_av(&th->a, &av, 10, DPA_OP_SEND);
	th_nobody = false;
	th_settle(th);
	for (int i = 0; i < 2; i++) {
		cr_assert(th_poll(&th->a.scq, &e));
		cr_expect_eq(e.status, DPA_CQE_OK);
	}
	cr_expect_not(th_poll(&th->b.rcq, &e));
	cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
	th_free(th);
}

/* IBA 9.8.3 (length), 9.8.3 (only) */
Test(transport_ud, too_long_and_wrong_operations_are_local_errors)
{
	static const struct {
		uint8_t op, status;
		uint32_t len;
	} t[] = {{DPA_OP_SEND, DPA_CQE_LOC_LEN_ERR, 4097},
		 {DPA_OP_RDMA_WRITE, DPA_CQE_LOC_QP_OP_ERR, 1},
		 {DPA_OP_RDMA_READ, DPA_CQE_LOC_QP_OP_ERR, 1}};

	for (int i = 0; i < 3; i++) {
		struct th *th = ud();
		struct dpa_wqe_av av = av_to(&th->b, 0);
		struct dpa_cqe e;

		send_av(&th->a, &av, t[i].len, t[i].op);
		cr_assert(th_poll(&th->a.scq, &e));
		cr_expect_eq(e.status, t[i].status);
		cr_expect_eq(th->a.qp->state, DPA_QPS_SQE);
		th_free(th);
	}
}

/*
 * The limit is the port's active MTU, also on this host, for one peer, for no peer and for a group.
 */
/* IBA 9.8.3 (length) */
Test(transport_ud, longer_than_the_active_mtu)
{
	for (uint32_t mtu = 1; mtu <= 5; mtu++) {
		for (int to = 0; to < 3; to++) {
			struct th *th = ud();
			struct dpa_wqe_av av = to == 2 ? av_group(&th->b) : av_to(&th->b, 0);
			struct dpa_cqe e;

			th_port_mtu = mtu;
			th_nobody = to == 1;
			th_members[0] = to == 2 ? th->b.qp->qpn : 0;
			th_recv(&th->b, 1, 0, 8192);
			th_recv(&th->b, 2, 0, 8192);
			send_av(&th->a, &av, 128u << mtu, DPA_OP_SEND);
			th_settle(th);
			cr_assert(th_poll(&th->a.scq, &e));
			cr_expect_eq(e.status, DPA_CQE_OK);
			cr_expect_eq(th_poll(&th->b.rcq, &e), to != 1);
			send_av(&th->a, &av, (128u << mtu) + 1, DPA_OP_SEND);
			th_settle(th);
			cr_assert(th_poll(&th->a.scq, &e));
			cr_expect_eq(e.status, DPA_CQE_LOC_LEN_ERR, "MTU %u, %d", mtu, to);
			cr_expect_eq(th->a.qp->state, DPA_QPS_SQE);
			cr_expect_not(th_poll(&th->b.rcq, &e));
			th_free(th);
		}
	}
}

Test(transport_ud, inline_and_whole_mtu)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	struct th_wr wr = {.op = DPA_OP_SEND, .inl = "datagram", .inl_len = 8, .av = &av};
	struct dpa_cqe e;

	th_recv(&th->b, 1, 0, 4136);
	th_recv(&th->b, 2, 8192, 4136);
	cr_assert(th_post(&th->a, &wr));
	th_fill(th->a.mem, 4096, 3);
	send_av(&th->a, &av, 4096, DPA_OP_SEND);
	th_settle(th);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_arr_eq(th->b.mem + 40, "datagram", 8);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.byte_len, 4136);
	cr_expect(th_check(th->b.mem + 8192 + 40, 4096, 3));
	th_free(th);
}

/*
 * A datagram that is longer than its receive is lost; the QP and the receive stay usable for the
 * next one.
 */
/* IBA 9.8.3 (lost), 9.8.3 (too-short) */
Test(transport_ud, too_long_for_its_receive)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	struct dpa_cqe e;

	th_fill(th->a.mem, 300, 2);
	for (uint64_t i = 1; i < 4; i++) {
		th_recv(&th->b, i, 0, 40 + 100);
		send_av(&th->a, &av, 101, DPA_OP_SEND);
		send_av(&th->a, &av, 300, DPA_OP_SEND);
		th_settle(th);
		cr_expect_not(th_poll(&th->b.rcq, &e));
		cr_expect_eq(th->b.qp->state, DPA_QPS_RTS);
		cr_expect_eq(th_count(th, DPA_CNT_resp_local_length_error), 2 * i);
		send_av(&th->a, &av, 100, DPA_OP_SEND);
		th_settle(th);
		cr_assert(th_poll(&th->b.rcq, &e));
		cr_expect_eq(e.wr_id, i);
		cr_expect_eq(e.status, DPA_CQE_OK);
		cr_expect_eq(e.byte_len, 140);
		cr_expect(th_check(th->b.mem + 40, 100, 2));
		cr_expect_not(th_poll(&th->b.rcq, &e));
	}
	th_free(th);
}

/*
 * A receive whose memory is unmapped meanwhile, as UCX 1.13 leaves its own when it ends: the thread
 * that finds the datagram must not fail.
 */
Test(transport_ud, a_receive_that_is_unmapped)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	uint8_t *hole = th->b.mem + (1 << 20);
	struct dpa_cqe e;

	th_recv(&th->b, 1, 1 << 20, 4096);
	cr_assert_eq(munmap(hole, 4096), 0);
	send_av(&th->a, &av, 100, DPA_OP_SEND);
	th_settle(th);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.wr_id, 1);
	cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR);
	cr_expect_eq(th->b.qp->state, DPA_QPS_ERR);
	cr_assert_eq(mmap(hole, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
		     hole);
	th_free(th);
}

/* Count the copies of this length among all packets that a sent: the number for each side. */
static void take_copies(struct th *th, uint32_t len, uint32_t n, uint32_t to[2])
{
	struct th_pkt p;

	while (n-- && th_take(&th->a, &p))
		if (p.s.len == len + 40)
			to[p.s.dqpn == th->b.qp->qpn]++;
}

/* A copy that had to wait is sent once, and earlier copies are not sent again. */
Test(transport_ud, a_group_goes_on_where_it_waited)
{
	struct th *th = ud();
	struct dpa_wqe_av one = av_to(&th->b, 0), all = av_group(&th->b);
	uint32_t to[2] = {0}, n = 0, turns = 0;
	struct dpa_cqe e;

	do { /* until the ring has no room */
		send_av(&th->a, &one, 8, DPA_OP_SEND);
		cr_assert_lt(n++, 100000u);
	} while (th_poll(&th->a.scq, &e));
	th_members[0] = th_members[2] = th->b.qp->qpn;
	th_members[1] = th->a.qp->qpn;
	send_av(&th->a, &all, 9, DPA_OP_SEND);
	do { /* one entry at a time: one waits after the other */
		take_copies(th, 9, 1, to);
		turns++;
	} while (th_tick(th));
	cr_expect_geq(turns, 4u, "it did not wait");
	take_copies(th, 9, UINT32_MAX, to);
	cr_expect_eq(to[0], 1u);
	cr_expect_eq(to[1], 2u);
	for (int i = 0; i < 2; i++) {
		cr_assert(th_poll(&th->a.scq, &e));
		cr_expect_eq(e.status, DPA_CQE_OK);
	}
	/* the next one begins with the first */
	send_av(&th->a, &all, 9, DPA_OP_SEND);
	take_copies(th, 9, UINT32_MAX, to);
	cr_expect_eq(to[0], 2u);
	cr_expect_eq(to[1], 4u);
	th_free(th);
}

/* A fault of the sender is found before any member has a copy; the next send begins normally. */
Test(transport_ud, a_group_and_a_bad_key)
{
	struct th *th = ud();
	struct dpa_wqe_av all = av_group(&th->b);
	struct th_wr wr = {.op = DPA_OP_SEND,
			   .nsge = 1,
			   .sge = {{(uintptr_t)th->a.mem, 9, th->a.key ^ 1}},
			   .av = &all};
	uint32_t to[2] = {0};
	struct dpa_cqe e;

	th_members[0] = th->a.qp->qpn;
	th_members[1] = th->b.qp->qpn;
	cr_assert(th_post(&th->a, &wr));
	th_ring(&th->a);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_LOC_PROT_ERR);
	cr_expect_eq(th->a.qp->state, DPA_QPS_SQE);
	cr_expect_eq(th->a.qp->req.mc_at, 0u);
	take_copies(th, 9, UINT32_MAX, to);
	cr_expect_eq(to[0] + to[1], 0u);
	th_free(th);
}

/* The multicast QPN and the address belong together. */
Test(transport_ud, a_group_under_another_qpn_is_nobody)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_group(&th->b);
	uint32_t to[2] = {0};
	struct dpa_cqe e;

	th_members[0] = th->b.qp->qpn;
	av.dqpn = th->b.qp->qpn;
	send_av(&th->a, &av, 9, DPA_OP_SEND);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	take_copies(th, 9, UINT32_MAX, to);
	cr_expect_eq(to[0] + to[1], 0u);
	th_free(th);
}

/* The peer is met in the middle of it. */
static struct th *meeting;
static uint32_t until_met;

static void meets(void)
{
	if (until_met && !--until_met)
		atomic_store(&meeting->peer->state, DPA_PEER_UP);
}

static void post_many(struct th *th, const struct dpa_wqe_av *av, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct th_wr wr = {.op = DPA_OP_SEND,
				   .nsge = 1,
				   .sge = {{(uintptr_t)th->a.mem, 100, th->a.key}},
				   .av = av};

		cr_assert(th_post(&th->a, &wr));
	}
	th_ring(&th->a);
}

static void destroy_a(struct th *th)
{
	dpa_hw_destroy_qp(th->a.qp);
	th->a.qp = NULL;
}

/* Count all entries in the ring of a QP that is gone. */
static uint32_t arrived(struct th *th, uint32_t lane)
{
	struct th_pkt p;
	uint32_t n = 0;

	th->b.qp->lane = (uint8_t)lane;
	while (th_take(&th->b, &p))
		n++;
	return n;
}

/*
 * A process posts to a peer that it has not met, and destroys the QP: an adapter has sent by then.
 */
Test(transport_ud, what_was_posted_leaves_before_the_qp_ends)
{
	for (uint32_t n = 1; n <= 100; n += 99) { /* more than one call may send, too */
		for (int met = 0; met < 2; met++) {
			struct th *th = ud();
			struct dpa_wqe_av av = av_to(&th->b, 0);
			uint32_t lane = th->a.qp->lane;

			meeting = th;
			until_met = met ? 0 : 20;
			atomic_store(&th->peer->state, met ? DPA_PEER_UP : DPA_PEER_CONNECTING);
			post_many(th, &av, n);
			th_now_step = 1000000;
			th_looks = meets;
			destroy_a(th);
			th_looks = NULL;
			cr_expect_eq(arrived(th, lane), n, "%u, met %d", n, met);
			th_free(th);
		}
	}
}

/* A peer that never introduces itself delays it for a limited time. */
Test(transport_ud, a_destruction_waits_for_a_second_at_most)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	uint64_t from = th_now;

	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	post_many(th, &av, 5);
	th_now_step = 1000000;
	destroy_a(th);
	cr_expect_geq(th_now - from, 900000000u);
	cr_expect_leq(th_now - from, 1100000000u);
	cr_expect(strstr(th_logged, "could not be sent"), "%s", th_logged);
	th_free(th);
}

/* Return the time to destroy it with five datagrams that no peer takes. */
static uint64_t destroys_in(struct th_side *side, const struct dpa_wqe_av *av)
{
	uint64_t from = th_now;

	for (uint32_t i = 0; i < 5; i++) {
		struct th_wr wr = {.op = DPA_OP_SEND,
				   .nsge = 1,
				   .sge = {{(uintptr_t)side->mem, 100, side->key}},
				   .av = av};

		cr_assert(th_post(side, &wr));
	}
	th_ring(side);
	dpa_hw_destroy_qp(side->qp);
	side->qp = NULL;
	return th_now - from;
}

/* 500 QPs with datagrams for one stopped process took 500 seconds to destroy. */
Test(transport_ud, a_peer_that_did_not_resolve_is_not_waited_for_again)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);

	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	th_now_step = 1000000;
	cr_expect_geq(destroys_in(&th->a, &av), 900000000u);
	cr_expect_leq(destroys_in(&th->b, &av), 100000000u);
	th_free(th);
}

/* Its ring is full; then it takes one, and another QP waits for it again. */
Test(transport_ud, a_peer_that_took_something_is_waited_for_again)
{
	for (int takes = 0; takes < 2; takes++) {
		struct th *th = ud();
		struct dpa_wqe_av av = av_to(&th->b, 0);
		struct dpa_cqe e;
		uint64_t ns;

		th->b.qp->lane = th->a.qp->lane;
		do {
			send_av(&th->a, &av, 8, DPA_OP_SEND);
		} while (th_poll(&th->a.scq, &e));
		th_now_step = 1000000;
		for (uint32_t i = 0; i < 20; i++)
			send_av(&th->a, &av, 8, DPA_OP_SEND);
		destroy_a(th);
		atomic_fetch_add(&th->lanes[th->b.qp->lane].tail, takes);
		ns = destroys_in(&th->b, &av);
		if (takes)
			cr_expect_geq(ns, 200000000u);
		else
			cr_expect_leq(ns, 100000000u);
		th_free(th);
	}
}

/* The ring of its peer stays full. It completes, but port_xmit_discards has it. */
Test(transport_ud, a_datagram_that_finds_no_room_is_counted)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	uint64_t from;
	struct dpa_cqe e;

	do {
		send_av(&th->a, &av, 8, DPA_OP_SEND);
	} while (th_poll(&th->a.scq, &e));
	cr_expect_eq(th_count(th, DPA_CNT_tx_dropped), 0);
	from = th_now;
	th_now_step = 1000000;
	while (!th_poll(&th->a.scq, &e))
		th_ring(&th->a);
	cr_expect_geq(th_now - from, 100000000u);
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_eq(th_count(th, DPA_CNT_tx_dropped), 1);
	th_free(th);
}

static void forgets(void)
{
	atomic_store(&meeting->peer->left_at, 0);
}

/* When a context is closed all its QPs share one second. */
Test(transport_ud, the_qps_of_a_context_wait_for_a_second_together)
{
	struct th *th = ud();
	struct dpa_wqe_av av = av_to(&th->b, 0);
	struct th_side *sides[] = {&th->a, &th->b};
	uint64_t from = th_now;

	atomic_store(&th->peer->state, DPA_PEER_CONNECTING);
	for (int i = 0; i < 2; i++) {
		struct th_wr wr = {.op = DPA_OP_SEND,
				   .nsge = 1,
				   .sge = {{(uintptr_t)sides[i]->mem, 100, sides[i]->key}},
				   .av = &av};

		cr_assert(th_post(sides[i], &wr));
		th_ring(sides[i]);
	}
	th_now_step = 1000000;
	meeting = th;
	th_looks = forgets; /* as if it were another peer each time */
	dpa_qps_leave_out(&th->ctx);
	cr_expect_geq(th_now - from, 900000000u);
	for (int i = 0; i < 2; i++) {
		dpa_hw_destroy_qp(sides[i]->qp);
		sides[i]->qp = NULL;
	}
	th_looks = NULL;
	cr_expect_leq(th_now - from, 1100000000u);
	th_free(th);
}

/* Without a GRH the 40 bytes exist, undefined; slid and sl are those of the sender. */
Test(transport_ud, addressed_by_lid)
{
	struct th *th = ud();
	struct dpa_wqe_av av = {.dqpn = th->b.qp->qpn, .qkey = QKEY, .dlid = 1, .sl = 3};
	struct dpa_cqe e;

	th->hw->cfg.link_layer = DPA_CFG_LAYER_INFINIBAND;
	th_recv(&th->b, 1, 0, 4096);
	th_fill(th->a.mem, 100, 5);
	send_av(&th->a, &av, 100, DPA_OP_SEND_IMM);
	th_settle(th);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.byte_len, 140u);
	cr_expect_eq(e.flags & (DPA_CQE_F_GRH | DPA_CQE_F_IMM), DPA_CQE_F_IMM);
	cr_expect_eq(e.slid, 1);
	cr_expect_eq(e.sl, 3);
	cr_expect_eq(e.src_qpn, th->a.qp->qpn);
	cr_expect(th_check(th->b.mem + 40, 100, 5));
	/* the next one has a GRH again */
	av = av_to(&th->b, 1);
	th_recv(&th->b, 1, 0, 4096);
	send_av(&th->a, &av, 100, DPA_OP_SEND);
	th_settle(th);
	cr_assert(th_poll(&th->b.rcq, &e));
	cr_expect_eq(e.flags & DPA_CQE_F_GRH, DPA_CQE_F_GRH);
	cr_expect_eq(e.slid, 0);
	th_free(th);
}

/* A LID that no function of the adapter has: the datagram is lost, the send succeeds. */
Test(transport_ud, a_lid_of_nobody)
{
	struct th *th = ud();
	struct dpa_wqe_av av = {.dqpn = th->b.qp->qpn, .qkey = QKEY, .dlid = 2};
	struct dpa_cqe e;

	th->hw->cfg.link_layer = DPA_CFG_LAYER_INFINIBAND;
	th_recv(&th->b, 1, 0, 4096);
	send_av(&th->a, &av, 100, DPA_OP_SEND);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_expect_eq(e.status, DPA_CQE_OK);
	cr_expect_not(th_poll(&th->b.rcq, &e));
	th_free(th);
}
