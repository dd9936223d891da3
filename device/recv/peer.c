/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * peer.c - see peer.h. The responder of a slow device works as usual, but its answers leave late:
 * TIME after the first request that they answer.
 */
#include "ctx/hw.h"
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "ctx/schedule.h"
#include "inject/inject.h"
#include "link/peer.h"
#include "recv/peer.h"
#include "util/sys.h"
#include "wire/opcode.h"

/* Opcode of the completion that the requester gets. */
static uint8_t opcode_of(const struct dpa_slot *s)
{
	const uint16_t p = dpa_op_props(s->opcode);

	if (p & DPA_OPP_READ)
		return DPA_CQE_RDMA_READ;
	if (p & DPA_OPP_FLUSH)
		return DPA_CQE_FLUSH;
	if (p & DPA_OPP_AWRITE)
		return DPA_CQE_ATOMIC_WRITE;
	if (p & DPA_OPP_ATOMIC)
		return (s->opcode & (uint8_t)~DPA_BTH_TRANSPORT) == DPA_BTH_COMPARE_SWAP
			       ? DPA_CQE_COMP_SWAP
			       : DPA_CQE_FETCH_ADD;
	return p & DPA_OPP_WRITE ? DPA_CQE_RDMA_WRITE : DPA_CQE_SEND;
}

static struct dpa_inject_cqe request_of(const struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	return (struct dpa_inject_cqe){.qpn = qp->qpn, .opcode = opcode_of(s)};
}

#define NAP_NS 1000000ull

/*
 * The thread waits, with the QP's lock, as one that copies to a page which the system must bring in.
 * It may be the program's: no cancellation point. The rules may go meanwhile.
 */
static void wait_for_pages(const struct dpa_hw *hw, uint64_t ns)
{
	uint64_t now, end = ns ? dpa_now_ns() + ns : 0;

	while (ns && (now = dpa_now_ns()) < end && dpa_hw_injecting(DPA_INJECT_MR) &&
	       !atomic_load_explicit(&hw->stop, memory_order_relaxed)) {
		const uint64_t nap = end - now < NAP_NS ? end - now : NAP_NS;

		dpa_sys_nap(nap);
	}
}

void dpa_receive_pages(struct dpa_hw_qp *qp)
{
	const struct dpa_rx_wqe *w = &qp->resp.wqe;
	uint64_t most = 0;

	if (!dpa_hw_injecting(DPA_INJECT_MR))
		return;
	for (uint32_t i = 0; i < w->nsge; i++) {
		const uint64_t ns = dpa_mr_slow(qp->hw, w->sge[i].lkey);

		most = ns > most ? ns : most;
	}
	wait_for_pages(qp->hw, most);
}

/* Memory that a request names. */
static void touch_target(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const uint16_t p = dpa_op_props(s->opcode);

	if (dpa_hw_injecting(DPA_INJECT_MR) && p & (DPA_OPP_RETH | DPA_OPP_ATOMIC))
		wait_for_pages(qp->hw, dpa_mr_slow(qp->hw, ((const struct dpa_ext *)s->ext)->rkey));
}

bool dpa_peer_injected(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_inject_cqe c = request_of(qp, s);
	uint64_t late;

	if (qp->gsi)
		return false;
	if (dpa_inject_stops(&c, &qp->hw->stopped)) {
		dpa_wake_self(qp->hw); /* it has the time when the device goes on */
		return true;
	}
	late = dpa_inject_slow(&c);
	if (late && !qp->resp.late_until)
		qp->resp.late_until = dpa_now_ns() + late;
	touch_target(qp, s);
	return false;
}

bool dpa_peer_has_no_receive(const struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_inject_cqe c = request_of(qp, s);

	return !qp->gsi && dpa_inject_rnr(&c);
}

bool dpa_answer_waits(struct dpa_hw_qp *qp)
{
	if (atomic_load_explicit(&qp->hw->stopped, memory_order_relaxed))
		return true;
	if (!qp->resp.late_until)
		return false;
	if (dpa_now_ns() >= qp->resp.late_until) {
		qp->resp.late_until = 0;
		return false;
	}
	dpa_schedule(qp, qp->resp.late_until);
	return true;
}
