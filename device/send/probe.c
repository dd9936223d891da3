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
 * probe. At most one answer is sent for a probe, 12 bytes longer at most: nothing is
 * amplified. A probe of a flow that an image controls may ask for a program of the other side,
 * which makes the answer (tables/np.c), and have room for data of switches (wire/probe.h).
 */
#include "cc/cc.h"
#include "ctx/schedule.h"
#include "link/kick.h"
#include "link/udp/wire.h"
#include "send/send.h"
#include "tables/pcc.h"
#include "wire/probe.h"

#define NP_LOOK_NS 4000u     /* until the first look for a program's answer */
#define NP_GAP_NS  100000u   /* between two looks at most */
#define NP_END_NS  20000000u /* then the probe is given up */

/* n: bytes of payload, for which *data is the room. */
static struct dpa_ext *begin_notice(struct dpa_hw_qp *qp, struct dpa_tx *tx, uint8_t opcode,
				    uint32_t num, uint32_t n, struct dpa_slot **s, uint8_t **data)
{
	struct dpa_ext *x;

	*s = dpa_pkt_begin(qp, tx, opcode, qp->dest_qpn, num, n, n, data);
	if (!*s)
		return NULL;
	if (!n)
		(*s)->flags |= DPA_PKT_INSLOT;
	x = (struct dpa_ext *)(*s)->ext;
	memset(x, 0, sizeof(*x));
	return x;
}

/* How a probe leaves. */
struct form {
	uint32_t rkey;
	uint32_t n; /* bytes of the payload */
	uint8_t dscp;
	union {
		uint8_t head[DPA_IFA_HEAD];
		uint32_t header[DPA_PCC_HEADER]; /* CCMAD */
	};
};

/* False: not now. */
static bool make_form(struct dpa_hw_qp *qp, struct form *to)
{
	struct dpa_pcc_probes f;

	to->rkey = to->n = 0;
	to->dscp = DPA_PCC_DSCP_NONE;
	if (!dpa_cc_probes(qp, &f))
		return true;
	to->rkey = (f.format & DPA_PROBE_FORMAT) | (f.program ? DPA_PROBE_PROGRAM : 0) |
		   (uint32_t)f.gns << DPA_PROBE_GNS_FROM;
	if (f.format == DPA_PCC_IFA1)
		to->n = dpa_ifa1_begin(to->head, f.marker);
	else if (f.format == DPA_PCC_IFA2)
		to->n = dpa_ifa2_begin(to->head, f.hops);
	else
		to->n = f.header * (uint32_t)sizeof(to->header[0]);
	return f.format != DPA_PCC_CCMAD || dpa_cc_custom(qp, to->header, &to->dscp);
}

/* For struct dpa_ext. */
static uint32_t dscp_field(uint8_t dscp)
{
	return dscp <= DPA_PCC_DSCP_MAX ? dscp + 1u : 0;
}

void dpa_probe_put(struct dpa_hw_qp *qp, struct dpa_tx *tx)
{
	uint32_t num = (qp->probe.num + 1) & DPA_PSN_MASK;
	struct dpa_slot *s;
	struct dpa_ext *x;
	struct form form;
	uint8_t *data;

	if (!make_form(qp, &form))
		return;
	x = begin_notice(qp, tx, DPA_BTH_PROBE, num, form.n, &s, &data);
	if (!x)
		return; /* no room: sent with the next packets */
	qp->probe.num = num;
	qp->probe.at = dpa_now_ns();
	qp->probe.asked = qp->pcc.probes;
	qp->probe.out = true;
	x->va = qp->probe.at;
	x->rkey = form.rkey;
	x->dscp = dscp_field(form.dscp);
	if (form.n)
		memcpy(data, form.head, form.n);
	dpa_lane_publish(tx, s);
}

/*
 * The answer to a probe: its number, and the times when it left and when it came. reply: of a
 * program, NULL: none answers. IBA has no such packet: DPA_BTH_PROBE.
 */
static void send_answer(struct dpa_hw_qp *qp, uint32_t num, uint64_t va, uint64_t came,
			const struct dpa_pcc_reply *reply)
{
	const uint32_t n = reply ? DPA_PCC_ANSWER : 0;
	uint32_t unsent;
	struct dpa_slot *s;
	struct dpa_ext *x;
	struct dpa_tx *tx;
	uint8_t *to;

	if (!dpa_have_tx(qp))
		return;
	tx = qp->tx;
	dpa_spin_lock(&tx->lock);
	x = begin_notice(qp, tx, DPA_BTH_PROBED, num, n, &s, &to);
	if (x) {
		x->va = va;
		x->rkey = reply ? DPA_PROBE_PROGRAM : 0;
		x->dscp = reply ? dscp_field(reply->dscp) : 0;
		x->swap_add = came;
		x->compare = dpa_now_ns();
		if (n)
			memcpy(to, reply->data, n);
		dpa_lane_publish(tx, s);
		if (qp->peer->wire)
			dpa_wire_flush(tx, UINT32_MAX, &unsent);
	}
	dpa_spin_unlock(&tx->lock);
	if (x && !qp->peer->wire)
		dpa_tx_owe_kick(tx, qp->hw);
}

/* ---------------------------------------------------- a program of this side answers */

/* The path of the QP, seen from the other side; false: it has no address. */
static bool probe_path_of(const struct dpa_hw_qp *qp, const struct dpa_slot *s,
			  struct dpa_roce_net *net)
{
	const struct dpa_wqe_av *av = &qp->attr.av;
	struct dpa_hw_gid own;

	if (dpa_port_gid(qp->ctx->port, av->sgid_index, &own))
		return false;
	memset(net, 0, sizeof(*net));
	memcpy(net->src, av->dgid, 16);
	memcpy(net->dst, own.gid, 16);
	net->tclass = av->traffic_class;
	net->hop = av->hop_limit ? av->hop_limit : 64;
	net->flow = av->flow_label & 0xfffff;
	net->sport = s->from > UINT16_MAX || s->from <= DPA_FROM_LANE ? (uint16_t)(0xc000 | s->src)
								      : (uint16_t)s->from;
	return true;
}

/* Dropped: without a program that takes it, and where too many wait. The peer asks again. */
static void ask_program(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;
	struct dpa_probe_shown shown = {
		.format = (enum dpa_pcc_format)(x->rkey & DPA_PROBE_FORMAT),
		.gns = x->rkey >> DPA_PROBE_GNS_FROM & 15,
		.dqpn = qp->qpn,
		.psn = s->psn,
		.sent = x->va,
		.payload = payload,
		.len = s->len,
	};
	struct dpa_pcc_probes kind = {.format = (uint8_t)shown.format, .gns = shown.gns};
	struct dpa_board *b = qp->hw->board;
	struct dpa_pcc_probe probe;
	uint64_t now = dpa_now_ns();

	if (kind.format == DPA_PCC_IFA1)
		kind.marker = dpa_ifa1_marker(payload, s->len);
	if (kind.format >= DPA_PCC_FORMATS || !dpa_board_np_takes(b, &kind) ||
	    !probe_path_of(qp, s, &shown.net) || !dpa_probe_show(&shown, &probe))
		return;
	dpa_np_forget(qp);
	probe.came = (uint32_t)now;
	if (!dpa_board_np_post(b, &probe))
		return;
	qp->np_ask.ring = probe.ring;
	qp->np_ask.serial = probe.serial;
	qp->np_ask.num = s->psn;
	qp->np_ask.va = x->va;
	qp->np_ask.came = now;
	qp->np_ask.look = now + NP_LOOK_NS;
	qp->resp.np_due = true;
	dpa_schedule(qp, qp->np_ask.look);
}

void dpa_np_forget(struct dpa_hw_qp *qp)
{
	if (dpa_likely(!qp->resp.np_due))
		return;
	qp->resp.np_due = false;
	dpa_board_np_drop(qp->hw->board, qp->np_ask.ring, qp->np_ask.serial);
}

void dpa_np_look(struct dpa_hw_qp *qp)
{
	uint64_t now = dpa_now_ns(), waited = now - qp->np_ask.came;
	struct dpa_pcc_reply reply;

	if (dpa_unlikely(qp->state == DPA_QPS_ERR)) {
		dpa_np_forget(qp);
		return;
	}
	switch (dpa_board_np_poll(qp->hw->board, qp->np_ask.ring, qp->np_ask.serial, &reply)) {
	case DPA_NP_WAITS:
		if (waited < NP_END_NS) {
			/* as long again as it has waited: a program that is slow costs little */
			if (now >= qp->np_ask.look)
				qp->np_ask.look = now + (waited < NP_GAP_NS ? waited : NP_GAP_NS);
			dpa_schedule(qp, qp->np_ask.look);
			return;
		}
		dpa_np_forget(qp);
		dpa_board_np_check(qp->hw->board);
		return;
	case DPA_NP_SENDS:
		qp->resp.np_due = false;
		send_answer(qp, qp->np_ask.num, qp->np_ask.va, qp->np_ask.came, &reply);
		return;
	case DPA_NP_NONE:
		qp->resp.np_due = false;
		return;
	}
}

/* ------------------------------------------------------------------------- packets */

static void take_answer(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
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
	ev.program = x->rkey & DPA_PROBE_PROGRAM && s->len >= DPA_PCC_ANSWER;
	if (ev.program)
		memcpy(ev.data, payload, DPA_PCC_ANSWER);
	dpa_cc_event(qp, &ev);
}

void dpa_probe_rx(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

	if (s->opcode == DPA_BTH_PROBE && x->rkey & DPA_PROBE_PROGRAM)
		ask_program(qp, s, payload);
	else if (s->opcode == DPA_BTH_PROBE)
		send_answer(qp, s->psn, x->va, dpa_now_ns(), NULL);
	else if (qp->state == DPA_QPS_RTS || qp->state == DPA_QPS_SQD || qp->state == DPA_QPS_RTR)
		take_answer(qp, s, payload);
}
