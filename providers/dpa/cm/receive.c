/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* receive.c - received MADs. The caller found this communication id by dpav_cm_classify(). */
#include "cm_priv.h"

static enum dpav_cm_qp qp_of_req(const struct dpa_mad *m)
{
	switch (m->req.transport) {
	case 0:
		return DPA_CM_QP_RC;
	case 1:
		return DPA_CM_QP_UC;
	case 3:
		return m->req.ext_transport == 1 ? DPA_CM_QP_XRC_TGT : DPA_CM_QP_NONE;
	default:
		return DPA_CM_QP_NONE;
	}
}

/* The path back: fields of the REQ, and the address that the MAD came from. */
static void take_path(struct dpav_cm *cm, const struct dpa_mad *m,
		      const struct dpav_cm_path *arrival)
{
	struct dpav_cm_path *p = &cm->path;

	*p = *arrival;
	memcpy(p->sgid, m->req.primary_remote_gid, sizeof(p->sgid));
	memcpy(p->dgid, m->req.primary_local_gid, sizeof(p->dgid));
	p->flow_label = m->req.primary_flow_label;
	p->traffic_class = m->req.primary_traffic_class;
	p->sl = m->req.primary_sl;
	p->pkey = m->req.pkey;
	p->mtu = m->req.path_mtu;
	p->life_time = (uint8_t)(m->req.primary_ack_timeout - !!m->req.primary_ack_timeout);
	cm->ack_timeout = cm_path_timeout(p->life_time);
}

static void report_req(const struct dpav_cm *cm, const struct dpa_mad *m, struct dpav_cm_event *e)
{
	*e = (struct dpav_cm_event){.type = DPA_CM_EV_REQ,
				    .data = m->req.data,
				    .len = sizeof(m->req.data),
				    .service_id = m->req.service_id,
				    .qp = cm->qp,
				    .qpn = m->req.qpn,
				    .qkey = m->req.qkey,
				    .psn = m->req.psn,
				    .responder_resources = cm->responder_resources,
				    .initiator_depth = cm->initiator_depth,
				    .flow_control = m->req.flow_control,
				    .retry_count = m->req.retry_count,
				    .rnr_retry = m->req.rnr_retry,
				    .srq = m->req.srq,
				    .vendor_id = m->req.vendor_id,
				    .attr_mod = m->modifier};
}

/* A REQ or REP came; its sender repeats it after `wait` ms or later. */
static void expect_repetition(struct dpav_cm *cm, uint64_t now, uint32_t wait)
{
	cm->mra_from = now + wait / 2;
}

static void new_req(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	const struct dpa_mad *m = in->mad;

	cm->qp = qp_of_req(m);
	cm->tid = m->tid;
	cm->remote_id = m->req.local_id;
	cm->remote_guid = m->req.ca_guid;
	cm->has_peer = true;
	cm->service_id = m->req.service_id;
	cm->remote_qpn = m->req.qpn;
	cm->sq_psn = m->req.psn;
	cm->initiator_depth = m->req.responder_resources;
	cm->responder_resources = m->req.initiator_depth;
	cm->retry_count = m->req.retry_count;
	cm->rnr_retry = m->req.rnr_retry;
	cm->max_retries = m->req.max_cm_retries;
	cm->answer_wait = dpav_cm_ms(m->req.local_cm_timeout);
	take_path(cm, m, in->arrival);
	expect_repetition(cm, in->now, dpav_cm_ms(m->req.remote_cm_timeout));
	cm->state = DPA_CM_ST_REQ_RCVD;
	report_req(cm, m, &out->event);
}

/*
 * The owner has not answered yet: asks for time. The first REQ or REP gets no MRA, as in Linux. A
 * copy made by the network gets none either: with an MRA the sender would keep waiting if our
 * answer is lost.
 */
static void ask_for_time(struct dpav_cm *cm, uint64_t now, uint8_t message,
			 enum dpav_cm_state state, struct dpav_cm_effects *out)
{
	if (now < cm->mra_from)
		return;
	cm_make_mra(cm, message, &cm->answer);
	cm->state = state;
	cm_send(out, &cm->answer);
}

static void on_req(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	struct dpa_mad m;

	if (cm_in(cm, IN(IDLE)) && in->arrival) {
		new_req(cm, in, out);
	} else if (cm_in(cm, CM_HAS_REQ)) {
		ask_for_time(cm, in->now, CM_MSG_REQ, DPA_CM_ST_MRA_REQ_SENT, out);
	} else if (cm_in(cm, IN(TIMEWAIT)) || (cm->rejected && cm_in(cm, IN(DREQ_SENT)))) {
		cm_make_rej(cm, DPA_CM_REJ_STALE, &m);
		m.tid = in->mad->tid;
		m.rej.message = CM_MSG_REQ;
		cm_send(out, &m);
	}
}

static void report_rep(const struct dpav_cm *cm, const struct dpa_mad *m, struct dpav_cm_event *e)
{
	*e = (struct dpav_cm_event){.type = DPA_CM_EV_REP,
				    .data = m->rep.data,
				    .len = sizeof(m->rep.data),
				    .service_id = cm->service_id,
				    .qp = cm->qp,
				    .qpn = cm->remote_qpn,
				    .qkey = m->rep.qkey,
				    .psn = m->rep.psn,
				    .responder_resources = cm->responder_resources,
				    .initiator_depth = cm->initiator_depth,
				    .flow_control = m->rep.flow_control,
				    .rnr_retry = m->rep.rnr_retry,
				    .srq = m->rep.srq,
				    .vendor_id = (uint32_t)m->rep.vendor_id_high << 16 |
						 (uint32_t)m->rep.vendor_id_mid << 8 |
						 m->rep.vendor_id_low,
				    .attr_mod = m->modifier};
}

static void take_rep(struct dpav_cm *cm, const struct dpav_cm_input *in,
		     struct dpav_cm_effects *out)
{
	const struct dpa_mad *m = in->mad;

	cm->remote_id = m->rep.local_id;
	cm->remote_guid = m->rep.ca_guid;
	cm->has_peer = true;
	cm->remote_qpn = cm_rep_qpn(m, cm->qp == DPA_CM_QP_XRC_INI);
	cm->sq_psn = m->rep.psn;
	cm->initiator_depth = m->rep.responder_resources;
	cm->responder_resources = m->rep.initiator_depth;
	cm->rnr_retry = m->rep.rnr_retry;
	cm->ack_timeout = dpav_cm_ack_timeout(m->rep.target_ack_delay, cm->path.life_time);
	expect_repetition(cm, in->now, dpav_cm_ms(cm->config.cm_timeout));
	cm->state = DPA_CM_ST_REP_RCVD;
	cm->deadline = DPA_CM_NEVER;
	report_rep(cm, m, &out->event);
}

/* The peer sends a REP again if the RTU was lost: send the RTU again. */
static void on_rep(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	if (cm_in(cm, CM_WAITS_REP))
		take_rep(cm, in, out);
	else if (in->mad->rep.local_id != cm->remote_id)
		return;
	else if (cm_in(cm, CM_HAS_REP))
		ask_for_time(cm, in->now, CM_MSG_REP, DPA_CM_ST_MRA_REP_SENT, out);
	else if (cm_in(cm, IN(ESTABLISHED)) && cm->answer.attr == DPA_CM_RTU)
		cm_send(out, &cm->answer);
}

static void on_rtu(struct dpav_cm *cm, const struct dpa_mad *m, struct dpav_cm_effects *out)
{
	if (!cm_in(cm, CM_WAITS_RTU))
		return;
	cm->state = DPA_CM_ST_ESTABLISHED;
	cm->deadline = DPA_CM_NEVER;
	out->event.type = DPA_CM_EV_ESTABLISHED;
	out->event.data = m->rtu.data;
	out->event.len = sizeof(m->rtu.data);
}

/*
 * Each further retransmission waits as long, too (Linux: ib_modify_mad()). Only the first MRA
 * counts.
 */
static void on_mra(struct dpav_cm *cm, const struct dpav_cm_input *in)
{
	const struct dpa_mad *m = in->mad;

	if (cm_in(cm, IN(REQ_SENT)) && m->mra.message == CM_MSG_REQ)
		cm->state = DPA_CM_ST_MRA_REQ_RCVD;
	else if (cm_in(cm, IN(REP_SENT)) && m->mra.message == CM_MSG_REP)
		cm->state = DPA_CM_ST_MRA_REP_RCVD;
	else
		return;
	cm->wait = dpav_cm_ms(m->mra.service_timeout) + dpav_cm_ms(cm->ack_timeout);
	cm->deadline = in->now + cm->wait;
}

static void on_rej(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	const struct dpa_mad *m = in->mad;

	if (cm_in(cm, CM_WAITS_REP | CM_HAS_REQ | CM_WAITS_RTU) &&
	    m->rej.reason != DPA_CM_REJ_STALE)
		cm_close(cm);
	else if (cm_in(cm, CM_WAITS_REP | CM_PEER_KNOWN | IN(DREQ_SENT)))
		cm_enter_timewait(cm, in->now);
	else
		return;
	out->event.type = DPA_CM_EV_REJ;
	out->event.status = m->rej.reason;
	out->event.info = m->rej.info;
	out->event.info_len = cm_info_len(m->rej.info_length);
	out->event.data = m->rej.data;
	out->event.len = sizeof(m->rej.data);
}

/*
 * If two DREQs cross each side answers the other's. The answer is sent at once, because the owner
 * may die at any time, and this host may have no process left then to answer. The owner's call
 * changes the state.
 */
static void on_dreq(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	const struct dpa_mad *m = in->mad;

	if (m->dreq.remote_qpn != cm->local_qpn && cm->local_qpn != CM_QPN_ANY)
		return;
	if (cm_in(cm, IN(TIMEWAIT) | IN(DREQ_RCVD))) {
		cm->tid = m->tid;
		if (cm->answer.attr != DPA_CM_DREP)
			cm_make_drep(cm, in, &cm->answer);
		cm->answer.tid = m->tid;
		cm_send(out, &cm->answer);
	} else if (cm_in(cm, CM_WAITS_RTU | IN(ESTABLISHED) | IN(DREQ_SENT))) {
		cm->tid = m->tid;
		cm->state = DPA_CM_ST_DREQ_RCVD;
		cm->deadline = DPA_CM_NEVER;
		out->event.type = DPA_CM_EV_DREQ;
		out->event.data = m->dreq.data;
		out->event.len = sizeof(m->dreq.data);
		cm_make_drep(cm, in, &cm->answer);
		cm_send(out, &cm->answer);
		if (cm->orphan)
			cm_enter_timewait(cm, in->now);
	}
}

static void on_drep(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	if (!cm_in(cm, CM_DISCONNECTS))
		return;
	cm_enter_timewait(cm, in->now);
	out->event.type = DPA_CM_EV_DREP;
	out->event.data = in->mad->drep.data;
	out->event.len = sizeof(in->mad->drep.data);
}

void cm_receive(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	const struct dpa_mad *m = in->mad;

	switch (m->attr) {
	case DPA_CM_REQ:
		on_req(cm, in, out);
		break;
	case DPA_CM_MRA:
		on_mra(cm, in);
		break;
	case DPA_CM_REJ:
		on_rej(cm, in, out);
		break;
	case DPA_CM_REP:
		on_rep(cm, in, out);
		break;
	case DPA_CM_RTU:
		on_rtu(cm, m, out);
		break;
	case DPA_CM_DREQ:
		on_dreq(cm, in, out);
		break;
	case DPA_CM_DREP:
		on_drep(cm, in, out);
		break;
	case DPA_CM_SIDR_REQ:
		cm_on_sidr_req(cm, in, out);
		break;
	case DPA_CM_SIDR_REP:
		cm_on_sidr_rep(cm, m, out);
		break;
	default:
		break; /* LAP, APR: not on RoCE */
	}
}
