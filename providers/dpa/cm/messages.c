/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* messages.c - messages of a connection. Values are those that Linux sends on RoCE. */
#include "cm_priv.h"

#define LID_PERMISSIVE 0xffff
#define TRANSPORT_EXT  3 /* REQ.transport: see ext_transport */
#define EXT_XRC	       1

void cm_mad_start(struct dpa_mad *m, uint16_t attr, uint64_t tid)
{
	memset(m, 0, sizeof(*m));
	m->attr = attr;
	m->tid = tid;
}

/*
 * Transaction id of an exchange that this side begins. Answers repeat the TID of the message that
 * they answer.
 */
uint64_t cm_own_tid(const struct dpav_cm *cm)
{
	return (uint64_t)cm->config.tid_high << 32 | cm->config.local_id;
}

static void put_private_data(uint8_t *to, const void *from, size_t len)
{
	if (len)
		memcpy(to, from, len);
}

static uint8_t up_to_7(uint8_t count)
{
	return count < 7 ? count : 7;
}

static void put_req_path(struct dpa_mad *m, const struct dpav_cm *cm)
{
	const struct dpav_cm_path *p = &cm->path;
	bool local = p->hop_limit <= 1;

	m->req.primary_local_lid = local ? 0 : LID_PERMISSIVE;
	m->req.primary_remote_lid = local ? 0 : LID_PERMISSIVE;
	memcpy(m->req.primary_local_gid, p->sgid, sizeof(p->sgid));
	memcpy(m->req.primary_remote_gid, p->dgid, sizeof(p->dgid));
	m->req.primary_flow_label = p->flow_label;
	m->req.primary_traffic_class = p->traffic_class;
	m->req.primary_hop_limit = p->hop_limit;
	m->req.primary_sl = p->sl;
	m->req.primary_subnet_local = local;
	m->req.primary_ack_timeout = dpav_cm_ack_timeout(cm->config.ack_delay, p->life_time);
	m->req.pkey = p->pkey;
	m->req.path_mtu = p->mtu;
}

/* Not sent by an XRC initiator: the fields belong to the target (Linux: cm_format_req()). */
static void put_req_resources(struct dpa_mad *m, const struct dpav_cm_conn *c)
{
	m->req.responder_resources = c->responder_resources;
	m->req.retry_count = up_to_7(c->retry_count);
	m->req.rnr_retry = up_to_7(c->rnr_retry);
	m->req.srq = !!c->srq;
}

void cm_make_req(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m)
{
	const struct dpav_cm_conn *c = in->conn;

	cm_mad_start(m, DPA_CM_REQ, cm->tid);
	m->modifier = c->attr_mod;
	m->req.vendor_id = c->vendor_id;
	m->req.local_id = cm->config.local_id;
	m->req.service_id = in->service_id;
	m->req.ca_guid = cm->config.ca_guid;
	m->req.qpn = c->qpn;
	m->req.initiator_depth = c->initiator_depth;
	m->req.remote_cm_timeout = cm->config.cm_timeout;
	m->req.local_cm_timeout = cm->config.cm_timeout;
	m->req.flow_control = !!c->flow_control;
	m->req.psn = cm->config.psn;
	m->req.max_cm_retries = cm->config.max_retries;
	if (c->qp == DPA_CM_QP_XRC_INI) {
		m->req.transport = TRANSPORT_EXT;
		m->req.ext_transport = EXT_XRC;
	} else {
		m->req.transport = (uint8_t)c->qp;
		put_req_resources(m, c);
	}
	put_req_path(m, cm);
	put_private_data(m->req.data, in->data, in->len);
}

/* An XRC target has its QPN in the EECN field, and always an SRQ (IBA annex A14). */
uint32_t cm_rep_qpn(const struct dpa_mad *m, bool xrc)
{
	return xrc ? m->rep.eecn : m->rep.qpn;
}

static void start_pair(const struct dpav_cm *cm, uint16_t attr, uint64_t tid, struct dpa_mad *m)
{
	cm_mad_start(m, attr, tid);
	m->rtu.local_id =
		cm->config.local_id; /* all messages with both ids have them in the same place */
	m->rtu.remote_id = cm->remote_id;
}

void cm_make_rep(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m)
{
	const struct dpav_cm_conn *c = in->conn;

	start_pair(cm, DPA_CM_REP, cm->tid, m);
	m->modifier = c->attr_mod;
	m->rep.vendor_id_high = (uint8_t)(c->vendor_id >> 16);
	m->rep.vendor_id_mid = (uint8_t)(c->vendor_id >> 8);
	m->rep.vendor_id_low = (uint8_t)c->vendor_id;
	m->rep.psn = cm->config.psn;
	m->rep.responder_resources = c->responder_resources;
	m->rep.target_ack_delay = cm->config.ack_delay;
	m->rep.rnr_retry = up_to_7(c->rnr_retry);
	m->rep.ca_guid = cm->config.ca_guid;
	if (cm->qp == DPA_CM_QP_XRC_TGT) {
		m->rep.eecn = c->qpn;
		m->rep.srq = 1;
	} else {
		m->rep.qpn = c->qpn;
		m->rep.srq = !!c->srq;
		m->rep.initiator_depth = c->initiator_depth;
		m->rep.flow_control = !!c->flow_control;
	}
	put_private_data(m->rep.data, in->data, in->len);
}

void cm_make_rtu(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m)
{
	start_pair(cm, DPA_CM_RTU, cm->tid, m);
	put_private_data(m->rtu.data, in->data, in->len);
}

void cm_make_mra(const struct dpav_cm *cm, uint8_t message, struct dpa_mad *m)
{
	start_pair(cm, DPA_CM_MRA, cm->tid, m);
	m->mra.message = message;
	m->mra.service_timeout = cm->config.mra_timeout;
}

/* Without information and data. The local id is 0 if the peer has not received it. */
void cm_make_rej(const struct dpav_cm *cm, uint16_t reason, struct dpa_mad *m)
{
	start_pair(cm, DPA_CM_REJ, cm->tid, m);
	m->rej.reason = reason;
	m->rej.message = CM_MSG_OTHER;
	if (cm_in(cm, CM_HAS_REQ))
		m->rej.message = CM_MSG_REQ;
	if (cm_in(cm, CM_HAS_REP))
		m->rej.message = CM_MSG_REP;
	if (cm_in(cm, IN(REQ_RCVD)))
		m->rej.local_id = 0;
}

void cm_make_dreq(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m)
{
	start_pair(cm, DPA_CM_DREQ, cm_own_tid(cm), m);
	m->dreq.remote_qpn = cm->remote_qpn;
	put_private_data(m->dreq.data, in->data, in->len);
}

void cm_make_drep(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m)
{
	start_pair(cm, DPA_CM_DREP, cm->tid, m);
	if (in->kind != DPA_CM_MAD)
		put_private_data(m->drep.data, in->data, in->len);
}

void cm_make_sidr_req(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m)
{
	cm_mad_start(m, DPA_CM_SIDR_REQ, cm->tid);
	m->sidr_req.request_id = cm->config.local_id;
	m->sidr_req.pkey = cm->path.pkey;
	m->sidr_req.service_id = in->service_id;
	put_private_data(m->sidr_req.data, in->data, in->len);
}

void cm_make_sidr_rep(const struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpa_mad *m)
{
	const struct dpav_cm_conn *c = in->conn;

	cm_mad_start(m, DPA_CM_SIDR_REP, cm->tid);
	m->sidr_rep.request_id = cm->remote_id;
	m->sidr_rep.service_id = cm->service_id;
	m->sidr_rep.status = in->status;
	m->sidr_rep.qkey = in->qkey;
	if (c) {
		m->modifier = c->attr_mod;
		m->sidr_rep.vendor_id_high = (uint16_t)(c->vendor_id >> 8);
		m->sidr_rep.vendor_id_low = (uint8_t)c->vendor_id;
		m->sidr_rep.qpn = c->qpn;
	}
	m->sidr_rep.info_length = (uint8_t)in->info_len;
	put_private_data(m->sidr_rep.info, in->info, in->info_len);
	put_private_data(m->sidr_rep.data, in->data, in->len);
}
