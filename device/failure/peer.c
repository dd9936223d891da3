/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* peer.c - the process at the other end when an error happens: it may be another one, or none, later. */
#include <string.h>
#include "ctx/hw.h"
#include "ctx/wqe.h"
#include "failure/failure.h"
#include "link/frame.h"
#include "link/peer.h"

/*
 * Copies what the process table has of a process. The entry may be taken by another process meanwhile:
 * its generation is read again behind the copy. False: it is another's.
 */
static bool copy_process(struct dpa_board *b, uint32_t slot, uint32_t gen,
			 struct dpa_error_peer *to)
{
	struct dpa_board_proc *p = dpa_board_proc(b, slot);

	if (!p || atomic_load_explicit(&p->gen, memory_order_acquire) != gen)
		return false;
	memcpy(to->comm, p->comm, sizeof(to->comm));
	to->comm[sizeof(to->comm) - 1] = '\0';
	to->uid = p->uid;
	to->pid = dpa_proc_pid(p); /* 0 once it is reaped */
	dpa_acquire_fence();
	if (atomic_load_explicit(&p->gen, memory_order_relaxed) == gen)
		return true;
	memset(to->comm, 0, sizeof(to->comm));
	to->uid = to->pid = 0;
	return false;
}

/* True if it lives. A flush is no failure, and often of many QPs: then the process table is enough. */
static bool is_peer_alive(struct dpa_board *b, uint32_t slot, uint32_t gen, bool flush)
{
	const struct dpa_board_proc *p = flush ? dpa_board_proc(b, slot) : NULL;

	if (!flush)
		return dpa_board_alive(b, slot, gen);
	return p && atomic_load_explicit(&p->gen, memory_order_relaxed) == gen &&
	       atomic_load_explicit(&p->state, memory_order_relaxed) == DPA_PROC_LIVE;
}

static void set_process(struct dpa_hw_qp *qp, uint32_t slot, uint32_t gen, bool flush,
			struct dpa_error_peer *to)
{
	struct dpa_board *b = qp->hw->board;
	uint32_t its_slot, its_gen;

	copy_process(b, slot, gen, to);
	if (!is_peer_alive(b, slot, gen, flush))
		to->state = DPA_ERROR_PEER_ENDED;
	else if (dpa_board_qpn_owner(b, to->qpn, &its_slot, &its_gen) && its_slot == slot &&
		 its_gen == gen)
		to->state = DPA_ERROR_PEER_LIVES;
	else
		to->state = DPA_ERROR_PEER_NO_QP;
}

static void set_owner(struct dpa_hw_qp *qp, bool flush, struct dpa_error_peer *to)
{
	uint32_t slot, gen;

	if (dpa_board_qpn_owner(qp->hw->board, to->qpn, &slot, &gen))
		set_process(qp, slot, gen, flush, to);
	else
		to->state = DPA_ERROR_PEER_NO_QP; /* pid 0: no process has it */
}

/* True if the address and the QPN are of this adapter instance, whichever link leads there. */
static bool is_here(struct dpa_hw_qp *qp, const struct dpa_wqe_av *av, uint32_t qpn)
{
	return qpn >> 16 == qp->hw->board->board_num &&
	       (!av->is_global || dpa_port_is_own(&qp->hw->port, av->dgid));
}

static void datagram_peer(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, bool flush,
			  struct dpa_error_peer *to)
{
	struct dpa_wqe_av av;

	if (!c || c->nbb < 2)
		return;
	memcpy(&av, dpa_wqe_at(qp, c->index, 32), 32);
	memcpy((uint8_t *)&av + 32, dpa_wqe_at(qp, c->index, 64), 16);
	to->qpn = av.dqpn;
	if (av.is_global)
		memcpy(to->gid, av.dgid, sizeof(to->gid));
	if (av.dqpn == DPA_QPN_MCAST)
		return;
	if (is_here(qp, &av, av.dqpn))
		set_owner(qp, flush, to);
	else
		to->state = DPA_ERROR_PEER_ELSEWHERE;
}

/* The process that it was connected with, also if its QP number is another one's by now. */
static void connected_peer(struct dpa_hw_qp *qp, bool flush, struct dpa_error_peer *to)
{
	const struct dpa_peer *p = qp->peer;

	to->qpn = qp->dest_qpn;
	memcpy(to->gid, qp->attr.av.dgid, sizeof(to->gid));
	if (!qp->dest_qpn)
		return;
	if (p && !p->wire) {
		set_process(qp, p->slot, p->gen, flush, to);
		if (!to->pid)
			to->pid = (uint32_t)p->pid;
	} else if (is_here(qp, &qp->attr.av, qp->dest_qpn)) {
		set_owner(qp, flush, to);
	} else {
		to->state = DPA_ERROR_PEER_ELSEWHERE;
	}
}

void dpa_failure_peer(struct dpa_hw_qp *qp, const struct dpa_wqe_ctrl *c, bool flush,
		      struct dpa_error_peer *to)
{
	if (qp->type == DPA_QP_RAW)
		return;
	if (qp->type == DPA_QP_UD)
		datagram_peer(qp, c, flush, to);
	else
		connected_peer(qp, flush, to);
	for (int i = 0; i < (int)sizeof(to->comm) && to->comm[i]; i++)
		if (to->comm[i] < ' ' || to->comm[i] > '~')
			to->comm[i] = '?';
}
