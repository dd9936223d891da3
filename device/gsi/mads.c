/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mads.c - sends and receives MADs for the driver; services and communication ids. */
#include <errno.h>
#include "ctx/hw.h"
#include "link/kick.h"
#include "gsi/endpoint.h"
#include "link/udp/forward.h"
#include "link/frame.h"
#include "tables/tables.h"

/* ------------------------------------------------------------------ sending */

/* Context: g->lock. The WQE has 8 blocks; 336 bytes of them are used. */
static int post_mad(struct dpa_hw_gsi *g, const struct dpa_wqe_av *av, const uint8_t *mad)
{
	const uint32_t blocks = 1u << DPA_GSI_LOG_SQ, pi = g->sq_pi;
	uint8_t *wqe = g->q->sq + (size_t)(pi & (blocks - 1)) * DPA_WQEBB;

	if (pi + DPA_GSI_WQE - __atomic_load_n(&g->q->dbrec.sq_ci, __ATOMIC_ACQUIRE) > blocks)
		return ENOBUFS;
	dpa_wqe_put_ctrl((struct dpa_wqe_ctrl *)(void *)wqe, DPA_OP_SEND, DPA_WQE_INLINE,
			 DPA_GSI_WQE, 0, pi, 0, 0, DPA_MAD_BYTES, g->sent++);
	memcpy(wqe + sizeof(struct dpa_wqe_ctrl), av, sizeof(*av));
	memcpy(wqe + sizeof(struct dpa_wqe_ctrl) + sizeof(*av), mad, DPA_MAD_BYTES);
	g->sq_pi = pi + DPA_GSI_WQE;
	__atomic_store_n(&g->q->dbrec.sq_pi, g->sq_pi, __ATOMIC_RELEASE);
	__atomic_store_n(&g->info.slot->doorbells, g->info.slot->doorbells + 1, __ATOMIC_RELAXED);
	return 0;
}

/* As the driver rings: dpa_hw_cmd.h. */
static void ring_gsi_sq(struct dpa_hw_gsi *g)
{
	const struct dpa_db db = {.opcode = DPA_OP_DOORBELL, .pi = g->sq_pi};
	uint64_t word;

	if (!__atomic_load_n(g->info.placement, __ATOMIC_RELAXED)) {
		dpa_hw_ring_sq(g->qp);
		dpa_settle_mine(g->hw); /* the caller may sleep next */
		return;
	}
	memcpy(&word, &db, sizeof(word));
	__atomic_store_n(&g->info.slot->word, word, __ATOMIC_RELEASE);
	dpa_hw_kick_sq(g->qp);
}

static int send_mad_to(struct dpa_hw_gsi *g, const struct dpa_gsi_addr *to, uint32_t sgid_index,
		       uint32_t dqpn, const uint8_t *mad)
{
	struct dpa_wqe_av av = {.dqpn = dqpn,
				.qkey = DPA_MAD_QKEY,
				.flow_label = to->flow_label & 0xfffff,
				.sgid_index = (uint8_t)sgid_index,
				.hop_limit = to->hop_limit,
				.traffic_class = to->traffic_class,
				.is_global = 1};
	int rc, cancel;

	memcpy(av.dgid, to->dgid, sizeof(av.dgid));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE,
			       &cancel); /* it may request a route from the kernel */
	pthread_mutex_lock(&g->lock);
	rc = post_mad(g, &av, mad);
	ring_gsi_sq(g);
	pthread_mutex_unlock(&g->lock);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

/* Asks the kernel for a route, at most once a second per entry of the table. 0: there is one. */
static int check_route(struct dpa_hw_gsi *g, const struct dpa_gsi_addr *to)
{
	struct dpa_gsi_route *r = &g->routes[to->dgid[15] % DPA_GSI_ROUTES];
	uint64_t now = dpa_now_ns();
	uint32_t oif, mtu;
	bool known;
	int rc;

	pthread_mutex_lock(&g->lock);
	known = now < r->until && !memcmp(r->sgid, to->sgid, 16) && !memcmp(r->dgid, to->dgid, 16);
	pthread_mutex_unlock(&g->lock);
	if (known)
		return 0;
	rc = dpa_route_lookup(&g->hw->port, to->sgid, to->dgid, &oif, &mtu);
	if (rc == ENETUNREACH || rc == EHOSTUNREACH)
		return rc;
	pthread_mutex_lock(&g->lock);
	memcpy(r->sgid, to->sgid, 16);
	memcpy(r->dgid, to->dgid, 16);
	r->until = now + 1000000000u;
	pthread_mutex_unlock(&g->lock);
	return 0;
}

/*
 * Sends to this process itself, whose driver refuses it. With shm = never the kernel would
 * choose the receiving process, so the packet does not leave this process.
 */
static int send_back(struct dpa_hw_gsi *g, const struct dpa_gsi_addr *to, uint32_t sgid_index,
		     const uint8_t *mad)
{
	uint8_t room[DPA_GSI_FRAME];
	struct dpa_frame f;

	if (g->hw->cfg.near_link == DPA_CFG_NEAR_AUTO)
		return send_mad_to(g, to, sgid_index, g->info.qpn, mad);
	dpa_gsi_frame(to, to->sgid, to->dgid, DPA_GSI_SPORT, mad, room, &f);
	dpa_frame_in(g->hw, NULL, &f, false);
	return 0;
}

static int send_near(struct dpa_hw_gsi *g, const struct dpa_gsi_addr *to,
		     const struct dpa_gsi_key *k, uint32_t sgid_index, const uint8_t *mad)
{
	uint8_t room[DPA_GSI_FRAME];
	struct dpa_board_gsi at;
	struct dpa_frame f;
	uint32_t num;
	int rc;

	switch (dpa_gsi_find(g->hw, k, to->dgid, &at, &num)) {
	case DPA_GSI_PROCESS:
		return send_mad_to(g, to, sgid_index, at.qpn, mad);
	case DPA_GSI_BOARD:
		dpa_gsi_frame(to, to->sgid, to->dgid, DPA_GSI_SPORT, mad, room, &f);
		rc = dpa_gsi_to_boards(g->hw, &f, num);
		if (rc == EAGAIN)
			return rc; /* the board has a process: the MAD must not come back */
		if (rc)
			break;
		if (k->request && dpa_gsi_find(g->hw, k, to->dgid, &at, &num) == DPA_GSI_PROCESS)
			/* it began to listen a moment ago; without room the request is repeated */
			(void)send_mad_to(g, to, sgid_index, at.qpn, mad);
		return 0;
	case DPA_GSI_NOBODY:
		break;
	}
	return send_back(g, to, sgid_index, mad);
}

int dpa_hw_gsi_send(struct dpa_hw_gsi *g, const struct dpa_gsi_addr *to,
		    const uint8_t mad[DPA_MAD_BYTES])
{
	struct dpa_hw_gid gid;
	struct dpa_gsi_key k;
	int index, rc;

	if (!dpa_gsi_alive(g))
		return EIO;
	index = dpa_port_find(g->ctx->port, to->sgid);
	if (index < 0 || dpa_port_gid(g->ctx->port, (uint32_t)index, &gid) ||
	    !dpa_gsi_key(mad, &k) || dpa_gid_is_v4(to->sgid) != dpa_gid_is_v4(to->dgid))
		return EINVAL;
	if (dpa_port_is_own(&g->hw->port, to->dgid))
		return send_near(g, to, &k, (uint32_t)index, mad);
	rc = check_route(g, to);
	return rc ? rc : send_mad_to(g, to, (uint32_t)index, DPA_MAD_QPN, mad);
}

bool dpa_hw_gsi_pass_on(struct dpa_hw_gsi *g, const struct dpa_gsi_addr *from,
			const uint8_t mad[DPA_MAD_BYTES])
{
	uint8_t room[DPA_GSI_FRAME];
	struct dpa_board_gsi at;
	struct dpa_gsi_key k;
	struct dpa_frame f;
	uint32_t num;

	if (!dpa_gsi_alive(g) || !dpa_gsi_key(mad, &k))
		return false;
	dpa_gsi_frame(from, from->dgid, from->sgid, DPA_GSI_SPORT, mad, room, &f);
	switch (dpa_gsi_find(g->hw, &k, from->sgid, &at, &num)) {
	case DPA_GSI_PROCESS:
		return at.qpn != g->info.qpn && dpa_frame_forward(g->hw, &f, at.qpn);
	case DPA_GSI_BOARD:
		return !dpa_gsi_to_boards(g->hw, &f, num);
	case DPA_GSI_NOBODY:
		break;
	}
	return false;
}

/* ---------------------------------------------------------------- receiving */

void dpa_gsi_post_recv(struct dpa_hw_gsi *g, uint32_t i)
{
	struct dpa_rwqe *w =
		(void *)(g->q->rq + (size_t)(g->rq_pi & (DPA_GSI_RECVS - 1)) * dpa_rwqe_stride(1));
	struct dpa_sge *s = (void *)(w + 1);

	*w = (struct dpa_rwqe){.wr_id = i, .nsge = 1};
	*s = (struct dpa_sge){.addr = (uintptr_t)g->q->buf + (uintptr_t)i * DPA_GSI_BUF,
			      .length = DPA_GSI_GRH + DPA_MAD_BYTES,
			      .lkey = g->lkey};
	__atomic_store_n(&g->q->dbrec.rq_pi, ++g->rq_pi, __ATOMIC_RELEASE);
}

/* dgid becomes the address of the sender: dpa_hw_gsi.h. */
static void read_grh(const uint8_t *h, struct dpa_gsi_addr *a)
{
	const uint8_t *ip = h + 20;

	memset(a, 0, sizeof(*a));
	if (h[0] >> 4 == 6) {
		a->traffic_class = (uint8_t)(h[0] << 4 | h[1] >> 4);
		a->flow_label = (uint32_t)(h[1] & 15) << 16 | (uint32_t)h[2] << 8 | h[3];
		a->hop_limit = h[7];
		memcpy(a->dgid, h + 8, 16);
		memcpy(a->sgid, h + 24, 16);
		return;
	}
	a->traffic_class = ip[1];
	a->hop_limit = ip[8];
	a->sgid[10] = a->sgid[11] = a->dgid[10] = a->dgid[11] = 0xff;
	memcpy(a->dgid + 12, ip + 12, 4);
	memcpy(a->sgid + 12, ip + 16, 4);
}

/* Takes the CQE at recv_ci, and posts its receive again. False: it has no MAD. */
static bool take_mad(struct dpa_hw_gsi *g, const struct dpa_cqe *e, struct dpa_gsi_addr *from,
		     uint8_t *mad)
{
	const uint32_t i = (uint32_t)e->wr_id & (DPA_GSI_RECVS - 1);
	const uint8_t *buf = g->q->buf + (size_t)i * DPA_GSI_BUF;
	bool good = e->status == DPA_CQE_OK && e->byte_len == DPA_GSI_GRH + DPA_MAD_BYTES;

	if (good) {
		read_grh(buf, from);
		memcpy(mad, buf + DPA_GSI_GRH, DPA_MAD_BYTES);
	} else {
		dpa_count(g->hw, DPA_CNT_rx_malformed, 1);
	}
	__atomic_store_n(&g->q->recv_ci, ++g->recv_ci, __ATOMIC_RELEASE);
	dpa_gsi_post_recv(g, i);
	return good;
}

bool dpa_hw_gsi_recv(struct dpa_hw_gsi *g, struct dpa_gsi_addr *from, uint8_t mad[DPA_MAD_BYTES])
{
	bool armed = false;

	if (!dpa_gsi_alive(g))
		return false;
	for (;;) {
		const struct dpa_cqe *e = &g->q->recv_cqes[g->recv_ci & (DPA_GSI_RECVS - 1)];

		if (dpa_cqe_valid(e, g->recv_ci, DPA_GSI_LOG_RQ)) {
			if (take_mad(g, e, from, mad))
				return true;
		} else if (armed) {
			return false;
		} else {
			/*
			 * The next check finds what arrived before; a later arrival calls `ready`.
			 */
			dpa_hw_arm_cq(g->recv_cq, false);
			armed = true;
		}
	}
}

/* ----------------------------------------------------- services, ids, orphans */

int dpa_hw_gsi_listen(struct dpa_hw_gsi *g, const struct dpa_gsi_service *s, uint32_t *handle)
{
	int rc = dpa_gsi_alive(g) ? dpa_board_service_add(g->hw->board, s, handle) : EIO;

	return rc == ENOSPC ? ENOMEM : rc;
}

void dpa_hw_gsi_unlisten(struct dpa_hw_gsi *g, uint32_t handle)
{
	if (dpa_gsi_alive(g))
		dpa_board_service_remove(g->hw->board, handle);
}

int dpa_hw_gsi_id_new(struct dpa_hw_gsi *g, uint32_t *local_id)
{
	int rc = dpa_gsi_alive(g) ? dpa_board_cmid_new(g->hw->board, local_id) : EIO;

	return rc == ENOSPC ? ENOMEM : rc;
}

void dpa_hw_gsi_id_set(struct dpa_hw_gsi *g, const struct dpa_gsi_id *id)
{
	if (dpa_gsi_alive(g))
		dpa_board_cmid_set(g->hw->board, id);
}

void dpa_hw_gsi_id_free(struct dpa_hw_gsi *g, uint32_t local_id)
{
	if (dpa_gsi_alive(g))
		dpa_board_cmid_free(g->hw->board, local_id);
}

static bool take_orphan_note(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->gsi.orphans, memory_order_relaxed) &&
	       atomic_exchange_explicit(&hw->gsi.orphans, 0, memory_order_acq_rel);
}

bool dpa_hw_gsi_died(struct dpa_hw_gsi *g)
{
	return dpa_gsi_alive(g) && atomic_load_explicit(&g->hw->gsi.died, memory_order_relaxed) &&
	       atomic_exchange_explicit(&g->hw->gsi.died, 0, memory_order_acq_rel);
}

bool dpa_hw_gsi_orphan(struct dpa_hw_gsi *g, struct dpa_gsi_id *id)
{
	if (!dpa_gsi_alive(g))
		return false;
	if (!g->orphan_at && !take_orphan_note(g->hw)) /* the search reads all ids of the board */
		return false;
	if (dpa_board_cmid_orphan(g->hw->board, &g->orphan_at, id))
		return true;
	g->orphan_at = 0;
	return false;
}

void dpa_hw_gsi_note(struct dpa_hw_gsi *g, const struct dpa_gsi_refusal *r)
{
	if (dpa_gsi_alive(g))
		dpa_board_refused(g->hw->board, r);
}
