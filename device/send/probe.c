/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * probe.c - measures the round trip when congestion control requests it. A probe packet passes the
 * same queues as the flow's own packets. The peer's notification point answers it at once.
 *
 *   requester                          the other side
 *   wants --PROBE (va: t0)-->          t1: it arrives
 *   RTT   <--PROBED (t0, t1, t2)--     t2: the answer leaves, ahead of other packets
 *
 * Neither is part of the QP's PSNs, and neither is sent again. A probe that is lost, or that the
 * peer cannot answer (an adapter of another vendor, the kernel's rxe), gets no answer; the
 * algorithm requests another one. An answer counts if it has the number and the time of the last
 * probe. At most one answer of the same size is sent for a probe: nothing is amplified.
 */
#include "cc/cc.h"
#include "link/kick.h"
#include "link/udp/wire.h"
#include "send/send.h"

static struct dpa_ext *begin_notice(struct dpa_hw_qp *qp, struct dpa_tx *tx, uint8_t opcode,
				    uint32_t num, struct dpa_slot **s)
{
	uint8_t *data;
	struct dpa_ext *x;

	*s = dpa_pkt_begin(qp, tx, opcode, qp->dest_qpn, num, 0, 0, &data);
	if (!*s)
		return NULL;
	(*s)->flags |= DPA_PKT_INSLOT;
	x = (struct dpa_ext *)(*s)->ext;
	memset(x, 0, sizeof(*x));
	return x;
}

void dpa_probe_put(struct dpa_hw_qp *qp, struct dpa_tx *tx)
{
	uint32_t num = (qp->probe.num + 1) & DPA_PSN_MASK;
	struct dpa_slot *s;
	struct dpa_ext *x = begin_notice(qp, tx, DPA_BTH_PROBE, num, &s);

	if (!x)
		return; /* no room: sent with the next packets */
	qp->probe.num = num;
	qp->probe.at = dpa_now_ns();
	qp->probe.asked = qp->pcc.probes;
	qp->probe.out = true;
	x->va = qp->probe.at;
	dpa_lane_publish(tx, s);
}

/* IBA has no such packet: see DPA_BTH_PROBE. */
static void answer_probe(struct dpa_hw_qp *qp, const struct dpa_slot *probe)
{
	const struct dpa_ext *from = (const struct dpa_ext *)probe->ext;
	uint64_t came = dpa_now_ns();
	uint32_t unsent;
	struct dpa_slot *s;
	struct dpa_ext *x;
	struct dpa_tx *tx;

	if (!dpa_have_tx(qp))
		return;
	tx = qp->tx;
	dpa_spin_lock(&tx->lock);
	x = begin_notice(qp, tx, DPA_BTH_PROBED, probe->psn, &s);
	if (x) {
		x->va = from->va;
		x->swap_add = came;
		x->compare = dpa_now_ns();
		dpa_lane_publish(tx, s);
		if (qp->peer->wire)
			dpa_wire_flush(tx, UINT32_MAX, &unsent);
	}
	dpa_spin_unlock(&tx->lock);
	if (x && !qp->peer->wire)
		dpa_tx_owe_kick(tx, qp->hw);
}

static void take_answer(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_pcc_event ev = {.now = dpa_now_ns(), .type = DPA_PCC_RTT, .psn = s->psn};

	if (!qp->probe.out || s->psn != qp->probe.num || x->va != qp->probe.at)
		return;
	qp->probe.out = false;
	ev.rtt_ns = ev.now > qp->probe.at ? ev.now - qp->probe.at : 1;
	ev.req_sent = (uint32_t)x->va;
	ev.req_recv = (uint32_t)x->swap_add;
	ev.resp_sent = (uint32_t)x->compare;
	dpa_cc_event(qp, &ev);
}

void dpa_probe_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if (s->opcode == DPA_BTH_PROBE)
		answer_probe(qp, s);
	else if (qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD)
		take_answer(qp, s);
}
