/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * calls.c - calls of the owner. Each checks all values first: after an error nothing has changed.
 */
#include "cm_priv.h"

#define FIELD(member) sizeof(((struct dpa_mad *)0)->member)

static bool data_fits(const struct dpav_cm_input *in, size_t len, size_t info_len)
{
	return in->len <= len && (!in->len || in->data) && in->info_len <= info_len &&
	       (!in->info_len || in->info);
}

static bool conn_fits(const struct dpav_cm_conn *c)
{
	return c && c->qpn <= CM_QPN_MAX && c->vendor_id <= CM_QPN_MAX;
}

static bool path_fits(const struct dpav_cm_path *p)
{
	return p && p->flow_label < 1u << 20 && p->sl < 16 && p->mtu >= IBV_MTU_256 &&
	       p->mtu <= IBV_MTU_4096 && p->life_time < 32;
}

static int call_connect(struct dpav_cm *cm, const struct dpav_cm_input *in,
			struct dpav_cm_effects *out)
{
	const struct dpav_cm_conn *c = in->conn;

	if (!cm_in(cm, IN(IDLE)) || !conn_fits(c) || !path_fits(in->path) ||
	    c->qp > DPA_CM_QP_XRC_INI || !data_fits(in, FIELD(req.data), 0))
		return EINVAL;
	cm->qp = c->qp;
	cm->path = *in->path;
	cm->service_id = in->service_id;
	cm->tid = cm_own_tid(cm);
	cm->local_qpn = c->qpn;
	cm->responder_resources = c->responder_resources;
	cm->initiator_depth = c->initiator_depth;
	cm->retry_count = c->retry_count < 7 ? c->retry_count : 7;
	cm->ack_timeout = cm_path_timeout(cm->path.life_time);
	cm->max_retries = cm->config.max_retries;
	cm->answer_wait = dpav_cm_req_wait(cm->path.life_time, cm->config.cm_timeout);
	cm_make_req(cm, in, &cm->msg);
	cm->state = DPA_CM_ST_REQ_SENT;
	cm_send_repeated(cm, in->now, cm->answer_wait, out);
	return 0;
}

static int call_resolve(struct dpav_cm *cm, const struct dpav_cm_input *in,
			struct dpav_cm_effects *out)
{
	if (!cm_in(cm, IN(IDLE)) || !path_fits(in->path) || !data_fits(in, FIELD(sidr_req.data), 0))
		return EINVAL;
	cm->qp = DPA_CM_QP_UD;
	cm->path = *in->path;
	cm->service_id = in->service_id;
	cm->tid = cm_own_tid(cm);
	cm->max_retries = cm->config.max_retries;
	cm_make_sidr_req(cm, in, &cm->msg);
	cm->state = DPA_CM_ST_SIDR_REQ_SENT;
	cm_send_repeated(cm, in->now, dpav_cm_ms(cm->config.cm_timeout), out);
	return 0;
}

static int call_accept(struct dpav_cm *cm, const struct dpav_cm_input *in,
		       struct dpav_cm_effects *out)
{
	const struct dpav_cm_conn *c = in->conn;

	if (!cm_in(cm, CM_HAS_REQ) || cm->qp == DPA_CM_QP_NONE || !conn_fits(c) ||
	    !data_fits(in, FIELD(rep.data), 0))
		return EINVAL;
	cm->local_qpn = c->qpn;
	cm->responder_resources = c->responder_resources;
	cm->initiator_depth = c->initiator_depth;
	cm_make_rep(cm, in, &cm->msg);
	cm->state = DPA_CM_ST_REP_SENT;
	cm_send_repeated(cm, in->now, cm->answer_wait, out);
	return 0;
}

static int call_confirm(struct dpav_cm *cm, const struct dpav_cm_input *in,
			struct dpav_cm_effects *out)
{
	if (!cm_in(cm, CM_HAS_REP) || !data_fits(in, FIELD(rtu.data), 0))
		return EINVAL;
	cm_make_rtu(cm, in, &cm->answer);
	cm->state = DPA_CM_ST_ESTABLISHED;
	cm_send(out, &cm->answer);
	return 0;
}

/* After a REP the QP of the peer may be ready to send: packets may be in flight. */
static int call_reject(struct dpav_cm *cm, const struct dpav_cm_input *in,
		       struct dpav_cm_effects *out)
{
	struct dpa_mad m;

	if (!cm_in(cm, CM_WAITS_REP | CM_HAS_REQ | CM_HAS_REP | CM_WAITS_RTU) ||
	    !data_fits(in, FIELD(rej.data), FIELD(rej.info)))
		return EINVAL;
	cm_make_rej(cm, in->reason, &m);
	m.rej.info_length = (uint8_t)in->info_len;
	if (in->info_len)
		memcpy(m.rej.info, in->info, in->info_len);
	if (in->len)
		memcpy(m.rej.data, in->data, in->len);
	cm_send(out, &m);
	if (cm_in(cm, CM_WAITS_RTU))
		cm_enter_timewait(cm, in->now);
	else
		cm_close(cm);
	return 0;
}

static int call_notify(struct dpav_cm *cm, struct dpav_cm_effects *out)
{
	if (cm_in(cm, IN(ESTABLISHED)))
		return EISCONN;
	if (!cm_in(cm, CM_WAITS_RTU))
		return EINVAL;
	cm->state = DPA_CM_ST_ESTABLISHED;
	cm->deadline = DPA_CM_NEVER;
	out->event.type = DPA_CM_EV_ESTABLISHED;
	return 0;
}

/* Returns 0 if it is not connected, as rdma_disconnect() does. */
static int call_disconnect(struct dpav_cm *cm, const struct dpav_cm_input *in,
			   struct dpav_cm_effects *out)
{
	bool asked = cm_in(cm, IN(DREQ_RCVD));

	if (!data_fits(in, asked ? FIELD(drep.data) : FIELD(dreq.data), 0))
		return EINVAL;
	if (asked) {
		cm_answer_dreq(cm, in, out);
	} else if (cm_in(cm, IN(ESTABLISHED))) {
		cm_make_dreq(cm, in, &cm->msg);
		cm->state = DPA_CM_ST_DREQ_SENT;
		cm_send_repeated(cm, in->now, cm->answer_wait, out);
	}
	return 0;
}

static int call_sidr_answer(struct dpav_cm *cm, const struct dpav_cm_input *in,
			    struct dpav_cm_effects *out)
{
	struct dpa_mad m;

	if (!cm_in(cm, IN(SIDR_REQ_RCVD)) || (in->conn && !conn_fits(in->conn)) ||
	    (in->status == DPA_CM_SIDR_VALID && !in->conn) ||
	    !data_fits(in, FIELD(sidr_rep.data), FIELD(sidr_rep.info)))
		return EINVAL;
	cm_make_sidr_rep(cm, in, &m);
	cm_send(out, &m);
	cm_close(cm);
	return 0;
}

int cm_call(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	switch (in->kind) {
	case DPA_CM_CONNECT:
		return call_connect(cm, in, out);
	case DPA_CM_RESOLVE:
		return call_resolve(cm, in, out);
	case DPA_CM_ACCEPT:
		return call_accept(cm, in, out);
	case DPA_CM_CONFIRM:
		return call_confirm(cm, in, out);
	case DPA_CM_REJECT:
		return call_reject(cm, in, out);
	case DPA_CM_NOTIFY:
		return call_notify(cm, out);
	case DPA_CM_DISCONNECT:
		return call_disconnect(cm, in, out);
	case DPA_CM_SIDR_ANSWER:
		return call_sidr_answer(cm, in, out);
	default:
		return EINVAL;
	}
}
