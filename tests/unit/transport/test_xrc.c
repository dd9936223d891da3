/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_xrc.c - XRC targets and their replicas (transport/xrc_branch.c): the initiators from which
 * an ownership epoch is accepted, and the use of the target's record by a replica. The initiators
 * are the harness's two QPs: the target is connected to A; before it was connected to B.
 */
#include <criterion/criterion.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <stdlib.h>
#include "ctx/srq.h"
#include "ctx/thread.h"
#include "transport/xrc_branch.h"
#include "link/peer.h"
#include "transport/api.h"
#include "harness.h"
#include "direct/direct.h"
#include "link/sock.h"
#include "link/udp/wire.h"
#include "eu/drain.h"

enum { PSN0 = 100, SRQN = 1 << 14 | 3, ELSEWHERE = 5, LEN = 8 };

struct xrc {
	struct th *th;
	struct dpa_hw_srq srq;
	uint32_t xrcd;
	struct dpa_board_qpinfo rec;   /* record that the target's process publishes */
	struct dpa_hw_qp *tgt, *other; /* `other`: replica of an equal target elsewhere */
};

static struct xrc x;

static void target_modify(uint32_t state, uint32_t access, uint8_t min_rnr)
{
	struct dpa_qp_attr a = {.state = state,
				.access = access,
				.rq_psn = PSN0,
				.dest_qpn = x.th->a.qp->qpn,
				.av = {.is_global = 1},
				.port = 1,
				.path_mtu = 3,
				.min_rnr_timer = min_rnr,
				.max_dest_rd_atomic = 4};
	uint32_t mask = DPA_QPM_STATE;

	memcpy(a.av.dgid, th_gid[0], 16);
	if (state == DPA_QPS_INIT)
		mask |= DPA_QPM_ACCESS | DPA_QPM_PORT;
	if (state == DPA_QPS_RTR)
		mask |= DPA_QPM_RQ_PSN | DPA_QPM_DEST_QPN | DPA_QPM_AV | DPA_QPM_PATH_MTU |
			DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_DEST_RD_ATOMIC;
	if (state == DPA_QPS_RTS)
		mask |= DPA_QPM_ACCESS | DPA_QPM_MIN_RNR_TIMER;
	cr_assert_eq(dpa_hw_modify_qp(x.tgt, &a, mask), 0);
}

static void connect_target(void)
{
	target_modify(DPA_QPS_RESET, 0, 0);
	target_modify(DPA_QPS_INIT, TH_ALL, 0);
	target_modify(DPA_QPS_RTR, 0, 5);
	target_modify(DPA_QPS_RTS, TH_ALL, 5);
}

/* From now on the record is that of a target of another process. */
static void branch_off(void)
{
	uint32_t qpn = x.th->board.board_num << 16 | 0x9000;

	x.rec.qpn = qpn;
	th_owned[2] = (struct th_owned){qpn, ELSEWHERE, 1};
	pthread_mutex_lock(&x.th->hw->ctl);
	cr_assert_eq(dpa_branch_get(&x.th->ctx, x.xrcd, qpn, &x.other), 0);
	pthread_mutex_unlock(&x.th->hw->ctl);
}

static void begin(void)
{
	struct dpa_qp_attr_create a = {.type = DPA_QP_XRC_RECV};
	const struct dpa_xrcd_attr d = {.create = true};
	struct dpa_qp_info info;
	struct th *th = th_new(&(struct th_opt){.psn = PSN0});

	memset(&x, 0, sizeof(x));
	x.th = th;
	th->hw->xrc.srqs = calloc(DPA_MAX_SRQ, sizeof(*th->hw->xrc.srqs));
	cr_assert_not_null(th->hw->xrc.srqs);
	cr_assert_eq(dpa_hw_open_xrcd(&th->ctx, &d, &x.xrcd), 0);
	x.srq = (struct dpa_hw_srq){
		.srqn = SRQN, .xrcd = x.xrcd, .pdn = th->pdn, .cq = th->b.rcq.cq};
	atomic_store(&th->hw->xrc.srqs[SRQN % DPA_MAX_SRQ], &x.srq);
	th_info = &x.rec;
	a.xrcd = x.xrcd;
	cr_assert_eq(dpa_hw_create_qp(&th->ctx, &a, &x.tgt, &info), 0);
	th_owned[0] = (struct th_owned){th->a.qp->qpn, th->board.slot, th->board.gen};
	th_owned[1] = (struct th_owned){th->b.qp->qpn, th->board.slot, th->board.gen};
	connect_target();
}

static void end(void)
{
	void *srqs = (void *)x.th->hw->xrc.srqs;

	if (x.other) {
		pthread_mutex_lock(&x.th->hw->ctl);
		dpa_branch_free(x.other);
		pthread_mutex_unlock(&x.th->hw->ctl);
	}
	dpa_hw_destroy_qp(x.tgt);
	cr_expect_eq(dpa_hw_close_xrcd(&x.th->ctx, x.xrcd), 0);
	th_free(x.th);
	free(srqs);
}

TestSuite(transport_xrc, .init = begin, .fini = end, .timeout = 60);

/* Send a WRITE of LEN bytes; return whether it arrived. */
static bool write_by(struct dpa_hw_qp *qp, struct dpa_peer *from, struct th_side *ini, uint32_t psn,
		     uint32_t turn)
{
	struct th_pkt p;
	struct dpa_ext *e = th_ext(&p);
	uint8_t *at = x.th->b.mem + 4096;

	th_forge(ini, &p, DPA_BTH_XRC | DPA_BTH_WRITE_ONLY, psn, LEN);
	p.s.dqpn = qp->qpn;
	e->va = (uintptr_t)at;
	e->rkey = x.th->b.key;
	e->dmalen = LEN;
	e->xrcsrq = SRQN;
	e->turn = turn;
	th_fill(p.data, LEN, psn);
	memset(at, 0, LEN);
	dpa_qplock_lock(&qp->lock);
	dpa_transport_rx(qp, from, &p.s, p.data);
	dpa_responder_flush(qp);
	dpa_qp_leave(qp);
	return th_check(at, LEN, psn);
}

/* A peer that has A's number too, or had it: it gets nothing. */
static struct dpa_peer *somebody_else(void)
{
	static struct dpa_peer p;

	memset(&p, 0, sizeof(p));
	p.hw = x.th->hw;
	p.slot = ELSEWHERE + 1;
	p.gen = 1;
	atomic_store(&p.state, DPA_PEER_DEAD);
	return &p;
}

/* `first`: PSN of A's first epoch. */
static void only_its_initiator(struct dpa_hw_qp *qp, uint32_t first)
{
	struct dpa_peer *peer = x.th->peer;
	struct th_side *a = &x.th->a, *b = &x.th->b;

	cr_expect_not(write_by(qp, peer, b, 7, 1), "B is connected no more");
	cr_expect_not(write_by(qp, somebody_else(), a, 7, 1), "another process");
	cr_expect(write_by(qp, peer, a, PSN0, first), "A's first message");
	cr_expect_not(write_by(qp, peer, b, 7, 1));
	cr_expect_not(write_by(qp, peer, b, 7, 2));
	cr_expect_not(write_by(qp, somebody_else(), a, 7, 3));
	cr_expect(write_by(qp, peer, a, PSN0 + 1, 0), "A goes on");
	cr_expect_not(write_by(qp, peer, b, 7, 4));
	cr_expect(write_by(qp, peer, a, PSN0 + 5, 4), "A's next turn");
}

/* IBA 9.6 (sender) */
Test(transport_xrc, turns_of_the_targets_initiator_only)
{
	only_its_initiator(x.tgt, 0);
}

/* IBA 9.6 (sender) */
Test(transport_xrc, turns_of_the_branchs_initiator_only)
{
	branch_off();
	only_its_initiator(x.other, 1);
}

/* In the error state no epoch begins. */
/* IBA 9.6 (state) */
Test(transport_xrc, no_epoch_of_a_target_in_error)
{
	target_modify(DPA_QPS_ERR, 0, 0);
	cr_expect_not(write_by(x.tgt, x.th->peer, &x.th->a, 7, 1));
	cr_expect_eq(x.tgt->xrc.turn, 0u);
	cr_expect_eq(x.tgt->resp.epsn, PSN0, "%u", x.tgt->resp.epsn);
}

/* The same number on another host. */
Test(transport_xrc, no_epoch_of_a_target_on_the_wire)
{
	dpa_qp_set_flags(x.tgt, dpa_pkt_mtu_flags(x.tgt->mtu));
	cr_expect_not(write_by(x.tgt, x.th->peer, &x.th->a, 7, 1));
	cr_expect_eq(x.tgt->xrc.turn, 0u);
	dpa_qp_set_flags(x.tgt, 0);
}

/* Permissions of the target's process, once it has published them; the same connection. */
Test(transport_xrc, a_replica_permits_what_its_target_does)
{
	struct dpa_peer *peer = x.th->peer;
	struct th_side *a = &x.th->a;

	target_modify(DPA_QPS_RTS, DPA_ACCESS_REMOTE_WRITE, 5);
	branch_off();
	cr_expect(write_by(x.other, peer, a, PSN0, 1), "permitted");
	cr_expect_eq(x.other->access, DPA_ACCESS_REMOTE_WRITE);
	target_modify(DPA_QPS_RTS, TH_ALL, 9);
	cr_expect(write_by(x.other, peer, a, PSN0 + 1, 0));
	cr_expect_eq(x.other->access, TH_ALL, "more is");
	cr_expect_eq(x.other->attr.min_rnr_timer, 9u, "%u", x.other->attr.min_rnr_timer);
	target_modify(DPA_QPS_RTS, TH_NO_ACCESS, 9);
	cr_expect_not(write_by(x.other, peer, a, PSN0 + 2, 0), "not permitted any more");
}

static struct dpa_board_qpinfo shown; /* copy of the record when the target looked for its peer */

static void note(void)
{
	shown = x.rec;
}

/* The record shows a connection when it is complete, and until it ends. */
Test(transport_xrc, what_a_target_shows_of_its_connections)
{
	uint32_t conn = x.rec.conn;

	cr_expect_neq(conn, 0u);
	target_modify(DPA_QPS_ERR, 0, 0);
	cr_expect_eq(x.rec.conn, 0u, "in error");
	th_now += 1000;
	th_looks = note;
	connect_target();
	th_looks = NULL;
	cr_expect_eq(shown.state, DPA_QPS_RTR);
	cr_expect_eq(shown.conn, 0u, "%u: its peer is not known yet", shown.conn);
	cr_expect(x.rec.conn && x.rec.conn != conn, "%u", x.rec.conn);
	conn = x.rec.conn;
	target_modify(DPA_QPS_RTS, TH_NO_ACCESS, 5);
	cr_expect_eq(x.rec.conn, conn, "the same connection");
	target_modify(DPA_QPS_RESET, 0, 0);
	cr_expect_eq(x.rec.conn, 0u, "reset");
}

/* It is in RTR, but its record is only partly that of the new connection. */
Test(transport_xrc, a_replica_waits_for_the_connection)
{
	struct dpa_peer *peer = x.th->peer;
	struct th_side *a = &x.th->a;
	uint32_t conn = x.rec.conn;

	branch_off();
	x.rec.conn = 0;
	x.rec.state = DPA_QPS_RTR;
	cr_expect_not(write_by(x.other, peer, a, PSN0, 1));
	cr_expect_eq(x.other->xrc.turn, 0u);
	x.rec.conn = conn;
	cr_expect(write_by(x.other, peer, a, PSN0, 1));
	x.rec.conn = 0;
	cr_expect_not(write_by(x.other, peer, a, PSN0 + 1, 0), "of the connection before");
	cr_expect_not(write_by(x.other, peer, a, 7, 2), "of neither");
	x.rec.conn = conn + 2;
	cr_expect_not(write_by(x.other, peer, a, PSN0 + 1, 0), "it begins with a turn");
	cr_expect(write_by(x.other, peer, a, 7, 1), "the same number, another connection");
}

/* Its target is gone, it is opened, and a QP of this process has the number now. */
Test(transport_xrc, a_replica_leaves_the_capability_of_its_number_alone)
{
	const uint64_t grant = DPA_GRANT_RC | DPA_GRANT_WRITE | 5;
	_Atomic uint64_t *at;

	branch_off();
	at = &x.th->hw->export->qp_grant[x.other->qpn & DPA_QPN_INDEX];
	atomic_store(at, grant);
	dpa_qplock_lock(&x.other->lock);
	dpa_qp_to_error(x.other);
	dpa_qp_leave(x.other);
	cr_expect_eq(atomic_load(at), grant);
	pthread_mutex_lock(&x.th->hw->ctl);
	dpa_branch_free(x.other);
	x.other = NULL;
	pthread_mutex_unlock(&x.th->hw->ctl);
	cr_expect_eq(atomic_load(at), grant);
	atomic_store(at, 0);
}

/* ibv_xsrq_pingpong moves its targets to RTS, too: they have no queue to check. */
Test(transport_xrc, the_initiators_process_dies)
{
	static const uint8_t states[] = {DPA_QPS_RTR, DPA_QPS_RTS, DPA_QPS_SQD};

	branch_off();
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct dpa_hw_qp *qps[] = {x.tgt, x.other};

		for (int j = 0; j < 2; j++) {
			dpa_qplock_lock(&qps[j]->lock);
			qps[j]->state = states[i];
			dpa_requester_peer_dead(qps[j]);
			cr_expect_eq(qps[j]->state, states[i], "nothing of its own was under way");
			dpa_qp_leave(qps[j]);
		}
	}
}

/* Put a WRITE of `len` bytes by A on its own ring, as its number `n`; false: the ring is full. */
static bool write_on_lane(uint32_t dqpn, uint32_t turn, uint32_t n, uint32_t len)
{
	struct dpa_tx *tx = &x.th->peer->tx[x.th->a.qp->lane];
	uint8_t *data = NULL;
	struct dpa_slot *s = dpa_lane_reserve(tx, len, &data);
	struct dpa_ext *e;

	if (!s)
		return false;
	s->opcode = DPA_BTH_XRC | DPA_BTH_WRITE_ONLY;
	s->flags = 0;
	s->src = (uint16_t)(x.th->a.qp->qpn & DPA_QPN_INDEX);
	s->dqpn = dqpn;
	s->psn = PSN0 + n;
	s->len = len;
	e = (struct dpa_ext *)s->ext;
	memset(e, 0, sizeof(*e));
	e->va = (uintptr_t)x.th->b.mem + (size_t)n * len;
	e->rkey = x.th->b.key;
	e->dmalen = len;
	e->xrcsrq = SRQN;
	e->turn = turn;
	th_fill(data, len, n + 1);
	dpa_lane_publish(tx, s);
	return true;
}

/* Its sender fills the ring meanwhile. */
Test(transport_xrc, packets_that_wait_for_a_replica_keep_their_bytes)
{
	const uint32_t len = 1000;
	struct dpa_rx *rx = &x.th->peer->rx[x.th->a.qp->lane];
	uint32_t qpn, n = 1;

	branch_off();
	qpn = x.other->qpn;
	pthread_mutex_lock(&x.th->hw->ctl);
	dpa_branch_free(x.other);
	pthread_mutex_unlock(&x.th->hw->ctl);
	x.other = NULL;
	th_xrc_srq = (struct th_xrc_srq){SRQN, x.xrcd};
	cr_assert(write_on_lane(qpn + 1, 0, 0, len), "one for nobody in front of it");
	cr_assert(write_on_lane(qpn, 1, 0, len));
	cr_assert_eq(dpa_lane_drain(rx), 1, "the branch is not there yet");
	while (write_on_lane(qpn, 0, n, len))
		n++;
	pthread_mutex_lock(&x.th->hw->ctl);
	cr_assert_eq(dpa_branch_get(&x.th->ctx, x.xrcd, qpn, &x.other), 0);
	pthread_mutex_unlock(&x.th->hw->ctl);
	while (dpa_lane_drain(rx)) /* ACKs are in it, too */
		;
	for (uint32_t i = 0; i < n; i++)
		cr_expect(th_check(x.th->b.mem + (size_t)i * len, len, i + 1), "message %u", i);
}

/*
 * A replica has a QP's place, but is no QP of this process. The progress thread sleeps without a
 * timer if there are no QPs, and the first one wakes it.
 */
Test(transport_xrc, the_first_qp_behind_a_replica_wakes_the_progress_thread)
{
	struct dpa_qp_attr_create a = {.type = DPA_QP_XRC_RECV, .xrcd = x.xrcd};
	struct dpa_hw *hw = x.th->hw;
	const uint32_t nqp = hw->num.qp;
	const int wake = hw->fd.wake;
	struct dpa_qp_info info;
	struct dpa_hw_qp *qp;
	eventfd_t v = 0;

	branch_off();
	hw->fd.wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	cr_assert_geq(hw->fd.wake, 0);
	hw->num.qp = 0; /* as if those of the test belonged to another process */
	atomic_store(&hw->sleep.service, 1);
	cr_assert_eq(dpa_hw_create_qp(&x.th->ctx, &a, &qp, &info), 0);
	cr_expect_eq(eventfd_read(hw->fd.wake, &v), 0, "the first one");
	dpa_hw_destroy_qp(qp);
	hw->num.qp = nqp;
	cr_assert_eq(dpa_hw_create_qp(&x.th->ctx, &a, &qp, &info), 0);
	cr_expect_neq(eventfd_read(hw->fd.wake, &v), 0, "it looks twice a second already");
	dpa_hw_destroy_qp(qp);
	atomic_store(&hw->sleep.service, 0);
	close(hw->fd.wake);
	hw->fd.wake = wake;
}

/*
 * Its initiator's first epoch began at any PSN, and so did one that began again after a loss: PSNs
 * that did not fit, and a target that was set up again, succeeded.
 */
/* IBA 9.7.4 (expected) */
Test(transport_xrc, psns_of_an_epoch_that_keeps_them)
{
	struct dpa_peer *peer = x.th->peer;
	struct th_side *a = &x.th->a;

	cr_expect_not(write_by(x.tgt, peer, a, PSN0 + 3, DPA_TURN_KEEPS | 1), "not rq_psn");
	cr_expect_not(write_by(x.tgt, peer, a, PSN0 + 3, DPA_TURN_KEEPS | 2),
		      "nor when sent again");
	connect_target();
	cr_expect(write_by(x.tgt, peer, a, PSN0, DPA_TURN_KEEPS | 1));
	cr_expect(write_by(x.tgt, peer, a, PSN0 + 1, DPA_TURN_KEEPS | 2),
		  "begun again, and goes on");
	connect_target();
	cr_expect_not(write_by(x.tgt, peer, a, PSN0 + 2, 0), "it was set up again");
	cr_expect_not(write_by(x.tgt, peer, a, PSN0 + 2, DPA_TURN_KEEPS | 3));
	connect_target();
	cr_expect(write_by(x.tgt, peer, a, PSN0 + 9, 4), "others have had those between");
}

/* -------------------------------------------------- the ACK comes before what answers it */

static uint8_t rwqes[4 * 64] __attribute__((aligned(64)));
static struct dpa_dbrec srq_rec;
/* completions; completions that were visible before their ACK */
static int shown_cqes, shown_early;

static uint32_t on_lane(uint32_t lane)
{
	const struct dpa_rx *rx = &x.th->peer->rx[lane];

	return x.th->peer->tx[lane].head - atomic_load(&rx->next);
}

/* Handle a visible completion: the ACK of all received messages must be in the ring. */
static void completion_shows(void *arg)
{
	const struct dpa_tx *tx = arg;
	const struct dpa_slot *s =
		&tx->shm->slots[(tx->head + DPA_LANE_SLOTS - 1) % DPA_LANE_SLOTS];

	shown_cqes++;
	shown_early += s->opcode != (DPA_BTH_XRC | DPA_BTH_ACK) ||
		       s->psn != ((x.tgt->resp.epsn - 1) & DPA_PSN_MASK);
}

/* Post n receives to the SRQ of its domain and arm the CQ. */
static void post_receives(uint32_t n)
{
	memset(&srq_rec, 0, sizeof(srq_rec));
	x.srq.max_sge = 1;
	x.srq.stride = 64;
	x.srq.log_size = 2;
	x.srq.buf = rwqes;
	x.srq.dbrec = &srq_rec;
	for (uint32_t i = 0; i < n; i++) {
		struct dpa_rwqe *r = (struct dpa_rwqe *)(rwqes + (size_t)i * 64);

		*r = (struct dpa_rwqe){.wr_id = i, .nsge = 1};
		*(struct dpa_sge *)(r + 1) =
			(struct dpa_sge){(uintptr_t)x.th->b.mem, LEN, x.th->b.key};
	}
	srq_rec.rq_pi = n;
	shown_cqes = shown_early = 0;
	x.srq.cq->comp = completion_shows;
	x.srq.cq->comp_arg = &x.th->peer->tx[x.tgt->lane];
	x.srq.cq->armed = 1;
}

/* Put a SEND of LEN bytes by A on the target's ring, as its number `n`; false: the ring is full. */
static bool send_on_lane(uint32_t n)
{
	struct dpa_tx *tx = &x.th->peer->tx[x.tgt->lane];
	uint8_t *data = NULL;
	struct dpa_slot *s = dpa_lane_reserve(tx, LEN, &data);

	if (!s)
		return false;
	s->opcode = DPA_BTH_XRC | DPA_BTH_SEND_ONLY;
	s->flags = DPA_PKT_ACKREQ;
	s->src = (uint16_t)(x.th->a.qp->qpn & DPA_QPN_INDEX);
	s->dqpn = x.tgt->qpn;
	s->psn = PSN0 + n;
	s->len = LEN;
	memset(s->ext, 0, sizeof(s->ext));
	((struct dpa_ext *)s->ext)->xrcsrq = SRQN;
	th_fill(data, LEN, n);
	dpa_lane_publish(tx, s);
	return true;
}

/*
 * The program that receives a message at an XRC target answers by another QP. The answer used
 * another ring than the ACK, and the completion was visible first: ib_send_lat -c XRC -e of
 * perftest 4.5 failed, because it takes an event of either CQ for one of its send CQ.
 */
Test(transport_xrc, the_ack_is_on_its_way_when_the_completion_shows)
{
	const uint32_t lane = x.tgt->lane;

	post_receives(4);
	for (uint32_t n = 0; n < 3; n++)
		cr_assert(send_on_lane(n));
	cr_expect_eq(dpa_lane_drain(&x.th->peer->rx[lane]), 3);
	cr_expect_eq(shown_cqes, 1, "%d: of an armed CQ the first", shown_cqes);
	cr_expect_eq(shown_early, 0);
	cr_expect_eq(on_lane(lane), 1u, "%u: one ACK for all three", on_lane(lane));
	x.srq.cq->armed = 1;
	cr_assert(send_on_lane(3));
	/* the ACK, which no QP here takes, and the message */
	while (dpa_lane_drain(&x.th->peer->rx[lane]))
		;
	cr_expect_eq(shown_cqes, 2);
	cr_expect_eq(shown_early, 0);
	cr_expect_eq(x.tgt->resp.epsn, PSN0 + 4u);
}

/* Give a SEND of LEN bytes by A, as its number `n`, without a ring; under the target's lock. */
static void give_send(uint32_t n)
{
	struct th_pkt p;

	th_forge(&x.th->a, &p, DPA_BTH_XRC | DPA_BTH_SEND_ONLY, PSN0 + n, LEN);
	p.s.dqpn = x.tgt->qpn;
	p.s.flags |= DPA_PKT_ACKREQ;
	th_ext(&p)->xrcsrq = SRQN;
	dpa_transport_rx(x.tgt, x.th->peer, &p.s, p.data);
}

/*
 * A packet that arrives alone, as from the wire or for a capture: its completion is not collected.
 */
Test(transport_xrc, the_ack_is_on_its_way_when_a_completion_shows_at_once)
{
	const struct dpa_tx *tx = &x.th->peer->tx[x.tgt->lane];

	post_receives(2);
	for (uint32_t n = 0; n < 2; n++) {
		const uint32_t before = tx->head;

		x.srq.cq->armed = 1;
		dpa_qplock_lock(&x.tgt->lock);
		give_send(n);
		cr_expect_eq(tx->head - before, 1u);
		dpa_responder_flush(x.tgt);
		dpa_qp_leave(x.tgt);
		cr_expect_eq(tx->head - before, 1u, "one ACK, once");
	}
	cr_expect_eq(shown_cqes, 2);
	cr_expect_eq(shown_early, 0);
}

/* A batch from the wire has one ACK, before its completions: none is delayed until after them. */
Test(transport_xrc, a_batch_off_the_wire_has_one_ack)
{
	struct dpa_tx *tx = &x.th->peer->tx[x.tgt->lane];
	const uint32_t before = tx->head;
	struct dpa_run run = {.n = 0};

	post_receives(3);
	dpa_me.run = &run;
	dpa_qplock_lock(&x.tgt->lock);
	dpa_pkt_collect(x.tgt);
	for (uint32_t n = 0; n < 3; n++)
		give_send(n);
	cr_expect_eq(shown_cqes, 0);
	cr_expect_eq(tx->head, before);
	dpa_pkt_done(x.tgt, false);
	dpa_me.run = NULL;
	cr_expect_eq(shown_cqes, 1);
	cr_expect_eq(shown_early, 0);
	cr_expect_eq(tx->head - before, 1u, "%u", tx->head - before);
	cr_expect_null(run.qp);
}

/* Targets, their replicas in other processes, and initiators use one ring. */
Test(transport_xrc, packets_of_all_xrc_qps_keep_one_order)
{
	struct dpa_qp_attr_create a = {.type = DPA_QP_XRC_SEND,
				       .pdn = x.th->pdn,
				       .log_sq = TH_LOG_SQ,
				       .dbrec = &x.th->a.dbrec,
				       .sq = x.th->a.sq,
				       .send_cq = x.th->a.scq.cq,
				       .recv_cq = x.th->a.rcq.cq};
	struct dpa_hw_qp *qp[3];
	struct dpa_qp_info info;

	branch_off();
	cr_expect_eq(x.tgt->lane, DPA_XRC_LANE);
	cr_expect_eq(x.other->lane, DPA_XRC_LANE);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(dpa_hw_create_qp(&x.th->ctx, &a, &qp[i], &info), 0);
		cr_expect_eq(qp[i]->lane, DPA_XRC_LANE, "%u", qp[i]->lane);
	}
	for (int i = 0; i < 3; i++)
		cr_assert_eq(dpa_hw_destroy_qp(qp[i]), 0);
}

/* Fill the ring of the target with entries that no QP takes. */
static void fill_lane(void)
{
	struct dpa_tx *tx = &x.th->peer->tx[x.tgt->lane];
	uint8_t *data;
	struct dpa_slot *s;

	while ((s = dpa_lane_reserve(tx, 0, &data))) {
		s->opcode = DPA_BTH_XRC | DPA_BTH_ACK;
		s->flags = 0;
		s->dqpn = 1;
		s->len = 0;
		dpa_lane_publish(tx, s);
	}
}

static void flush_target(void)
{
	dpa_qplock_lock(&x.tgt->lock);
	dpa_responder_flush(x.tgt);
	dpa_qp_leave(x.tgt);
}

/* The completion does not wait for room in the ring, the answer to it does. */
Test(transport_xrc, an_ack_without_room_holds_back_what_answers)
{
	struct dpa_tx *tx = &x.th->peer->tx[x.tgt->lane];
	struct dpa_rx *rx = &x.th->peer->rx[x.tgt->lane];

	post_receives(2);
	for (uint32_t n = 0; n < 2; n++) {
		cr_assert(send_on_lane(n));
		fill_lane();
		x.srq.cq->armed = 1;
		cr_assert_gt(dpa_lane_drain(rx), 0);
		cr_expect_eq(shown_cqes, (int)n + 1);
		cr_expect_eq(tx->acks_waiting, 1u, "%u", tx->acks_waiting);
		while (dpa_lane_drain(rx))
			;
		if (n == 0)
			flush_target();
		else
			target_modify(DPA_QPS_RESET, 0, 0); /* also sends it */
		cr_expect_eq(on_lane(x.tgt->lane), 1u);
		cr_expect_eq(tx->acks_waiting, 0u, "%u", tx->acks_waiting);
		while (dpa_lane_drain(rx))
			;
	}
}

/* The ring still has no room when the target is reset. */
Test(transport_xrc, a_target_that_is_reset_holds_back_nobody)
{
	struct dpa_tx *tx = &x.th->peer->tx[x.tgt->lane];

	post_receives(1);
	cr_assert(send_on_lane(0));
	fill_lane();
	cr_assert_gt(dpa_lane_drain(&x.th->peer->rx[x.tgt->lane]), 0);
	cr_expect_eq(tx->acks_waiting, 1u);
	fill_lane();
	target_modify(DPA_QPS_RESET, 0, 0);
	cr_expect_eq(tx->acks_waiting, 0u);
	cr_expect_null(x.tgt->resp.ack_waits);
}
