/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mad.c - MADs that QP1 receives. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "cma/cma.h"

#define REJ_INVALID_ID	6  /* IBA table 111: communication id */
#define REJ_INVALID_GID 12 /* primary remote port GID */

static bool is_req(const struct dpa_mad *m)
{
	return m->attr == DPA_CM_REQ;
}

static void note_request(const struct dpa_gsi_addr *from, const struct dpa_mad *m,
			 enum dpa_gsi_why why, uint16_t reason)
{
	struct dpa_gsi_refusal r = {
		.service_id = is_req(m) ? m->req.service_id : m->sidr_req.service_id,
		.why = (uint8_t)why,
		.sidr = !is_req(m),
		.reason = is_req(m) ? reason : DPA_CM_SIDR_UNSUPPORTED,
	};

	memcpy(r.peer, from->dgid, sizeof(r.peer));
	dpa_hw_gsi_note(cma.gsi, &r);
}

void cma_send_mad(const struct dpa_gsi_addr *to, const struct dpa_mad *m)
{
	uint8_t buf[DPA_MAD_BYTES];

	if (!dpa_mad_encode(m, buf))
		return;
	if (dpa_trace_is_on())
		cma_trace_sent(m);
	cma_unsent_send(to, buf);
}

static void refuse_mad(const struct dpa_gsi_addr *from, const struct dpa_mad *m, uint16_t reason)
{
	struct dpa_mad answer;

	if (dpav_cm_refuse(m, reason, &answer))
		cma_send_mad(from, &answer);
}

/* Handles a REQ or SIDR_REQ that no id here accepts. Copies of it are refused, too. */
static void refuse_request(const struct dpa_gsi_addr *from, const struct dpa_mad *m,
			   uint16_t reason)
{
	refuse_mad(from, m, reason);
	note_request(from, m, DPA_GSI_SENT_REJ, reason);
	cma_refusal_put(from, m, reason);
}

/* The addresses of a request's id: those of the IP CM header; without one its GIDs. */
static void take_addresses(struct cma_id *id, const struct cma_id *listener,
			   const struct dpa_cm_ip *ip, const struct dpav_cm_path *way)
{
	uint8_t gid[16];

	if (!ip) {
		cma_addr_of_gid(&id->src, way->sgid, cma_addr_port(&listener->src));
		cma_addr_of_gid(&id->dst, way->dgid, 0);
		return;
	}
	for (int k = 0; k < 2; k++) {
		const uint8_t *a = k ? ip->src : ip->dst;

		memcpy(gid, a, 16);
		if (ip->ip_version == 4)
			memset(gid + 10, 0xff, 2);
		cma_addr_of_gid(k ? &id->dst : &id->src, gid,
				k ? ip->sport : cma_addr_port(&listener->src));
	}
}

static bool type_fits_listener(const struct cma_id *listener, const struct dpa_mad *m)
{
	if (!is_req(m))
		return listener->qp_type == IBV_QPT_UD;
	switch (m->req.transport) {
	case 0:
		return listener->qp_type == IBV_QPT_RC;
	case 1:
		return listener->qp_type == IBV_QPT_UC;
	case 3:
		return m->req.ext_transport == 1 && listener->qp_type == IBV_QPT_XRC_RECV;
	default:
		return false;
	}
}

/* Finds the path back. False: it was sent to no address of ours. */
static bool way_back(const struct dpa_gsi_addr *from, const struct dpa_mad *m,
		     struct dpav_cm_path *way)
{
	struct dpa_hw_route r;

	memset(way, 0, sizeof(*way));
	memcpy(way->sgid, is_req(m) ? m->req.primary_remote_gid : from->sgid, 16);
	memcpy(way->dgid, is_req(m) ? m->req.primary_local_gid : from->dgid, 16);
	if (dpa_hw_route(cma.ctx, way->sgid, way->sgid, &r))
		return false;
	way->sgid_index = (uint8_t)r.sgid_index;
	way->port = 1;
	way->hop_limit = 64;
	way->pkey = 0xffff;
	way->mtu = r.mtu;
	return true;
}

/* Creates an id and its connection. NULL: no memory; the request counts as lost. */
static struct cma_id *request_id(struct cma_id *listener, const struct dpa_gsi_addr *from)
{
	struct cma_id *id = cma_id_new(listener->channel);

	if (!id)
		return NULL;
	id->ps = listener->ps;
	id->qp_type = listener->qp_type;
	cma_id_enter(id, CMA_CONNECT);
	id->has_device = true;
	id->conn = cma_conn_new(id);
	if (!id->conn) {
		cma_id_destroy(id);
		return NULL;
	}
	id->conn->addr = *from;
	id->listener = listener;
	return id;
}

/* False: the listener's backlog is full, and the request may wait. */
static bool take_listener_request(struct cma_id *listener, const struct dpa_gsi_addr *from,
				  const struct dpa_mad *m, const struct dpa_cm_ip *ip, bool last)
{
	struct dpav_cm_input in = {.kind = DPA_CM_MAD, .mad = m};
	struct dpav_cm_path way;
	struct cma_id *id;

	if (!way_back(from, m, &way)) {
		refuse_request(from, m, REJ_INVALID_GID);
		return true;
	}
	if (!type_fits_listener(listener, m)) {
		refuse_request(from, m, DPA_CM_REJ_CONSUMER);
		return true;
	}
	if (!listener->backlog) {
		if (last) /* the peer repeats it */
			note_request(from, m, DPA_GSI_BACKLOG, 0);
		cma.full = listener->id;
		return last;
	}
	id = request_id(listener, from);
	if (!id)
		return true;
	take_addresses(id, listener, ip, &way);
	id->sgid_index = way.sgid_index;
	id->path = way;
	in.arrival = &way;
	cma_step(id->conn, &in);
	id->listener = NULL;
	if (id->told)
		listener->backlog--;
	else
		cma_id_destroy(id);
	return true;
}

static struct cma_id *listener_for(const struct dpa_mad *m, struct dpa_cm_ip *ip, bool *has_ip)
{
	const uint8_t *data = is_req(m) ? m->req.data : m->sidr_req.data;

	*has_ip = dpa_cm_ip_decode(data, ip);
	return cma_listener_of(is_req(m) ? m->req.service_id : m->sidr_req.service_id,
			       *has_ip ? ip : NULL);
}

/*
 * An RTU of our own came back: its peer died between the REP and now, and the message about that
 * came before that REP. It is handled like the peer's DREQ.
 */
static void on_returned_rtu(const struct dpa_gsi_addr *from, const struct dpa_mad *rtu)
{
	struct dpa_mad dreq = {.attr = DPA_CM_DREQ, .tid = rtu->tid};
	struct dpav_cm_input in = {.kind = DPA_CM_MAD, .mad = &dreq};
	struct dpav_cm_entry *e = NULL;

	dreq.dreq.local_id = rtu->rtu.remote_id;
	dreq.dreq.remote_id = rtu->rtu.local_id;
	if (dpav_cm_classify(&cma.index, &dreq, from->dgid, &e) != DPA_CM_FOUND)
		return; /* from another host */
	dreq.dreq.remote_qpn = ((struct cma_conn *)e)->cm.local_qpn;
	cma_step((struct cma_conn *)e, &in);
}

/*
 * A MAD for no id here. A MAD that no process of this host accepts returns to its sender and is
 * answered here, too. A REP of another host is ignored, as by the kernel: its sender repeats it and
 * gives up.
 */
static void answer_unknown_id(const struct dpa_gsi_addr *from, const struct dpa_mad *m)
{
	if (m->attr == DPA_CM_DREQ)
		refuse_mad(from, m, 0);
	else if (m->attr == DPA_CM_REJ && m->rej.reason == DPA_CM_REJ_TIMEOUT)
		cma_early_withdraw(from, m->rej.local_id);
	else if (!cma_is_own(from->dgid) || !cma_is_own(from->sgid))
		return;
	else if (m->attr == DPA_CM_REP)
		refuse_mad(from, m, REJ_INVALID_ID);
	else if (m->attr == DPA_CM_RTU)
		on_returned_rtu(from, m);
}

/* Takes in the data ahead of a DREQ. False: not now; the DREQ waits for its next check. */
static bool take_in_data(void)
{
	if (cma.taken_in)
		return true;
	if (!cma.take_ins)
		return false;
	cma.take_ins--;
	dpa_hw_gsi_take_in(cma.gsi);
	return true;
}

/* The QP is the one that CONNECT or ACCEPT named. */
static bool has_unread_data(const struct cma_conn *c)
{
	return c->id && c->id->state == CMA_CONNECT &&
	       (!take_in_data() || dpa_hw_gsi_unread(cma.gsi, c->cm.local_qpn));
}

/* True if this process sent it. The high half of the transaction id is random. */
static bool is_of_this_process(const struct dpa_gsi_addr *from, const struct dpa_mad *m)
{
	return m->tid >> 32 == cma.tid_high && cma_is_own(from->dgid);
}

/* The connection of this process that waits for the answer to its request. NULL: none. */
static const struct cma_conn *sender_of(const struct dpa_gsi_addr *from, const struct dpa_mad *m)
{
	const struct dpa_mad *sent;
	struct dpav_cm_entry *e = NULL;
	struct dpa_mad answer;

	if (!dpav_cm_refuse(m, DPA_CM_REJ_SERVICE_ID, &answer) ||
	    dpav_cm_classify(&cma.index, &answer, from->sgid, &e) != DPA_CM_FOUND)
		return NULL;
	sent = dpav_cm_unanswered(&((const struct cma_conn *)e)->cm);
	return sent && sent->tid == m->tid ? (const struct cma_conn *)e : NULL;
}

/*
 * True for a request of this process that was first sent as long ago as a request is held for a
 * listener: it is not held any more.
 */
static bool was_held(const struct cma_conn *sender)
{
	return sender && cma_now() - sender->asked >= CMA_EARLY_MS;
}

/* False: it waits for a listener or for room in its backlog. */
static bool new_request(const struct dpa_gsi_addr *from, const struct dpa_mad *m,
			const uint8_t mad[DPA_MAD_BYTES], bool last)
{
	const bool own = is_of_this_process(from, m);
	const struct cma_conn *sender = own ? sender_of(from, m) : NULL;
	struct cma_id *listener;
	struct dpa_cm_ip ip;
	uint16_t reason;
	bool has_ip;

	if (own && !sender)
		return true; /* another process refused a copy of it, or its id is gone */
	if (cma_refusal_find(from, m, &reason)) {
		refuse_mad(from, m, reason);
		return true;
	}
	listener = listener_for(m, &ip, &has_ip);
	if (listener)
		return take_listener_request(listener, from, m, has_ip ? &ip : NULL, last);
	last = last || was_held(sender);
	if (last && !dpa_hw_gsi_pass_on(cma.gsi, from, mad))
		refuse_request(from, m, DPA_CM_REJ_SERVICE_ID);
	return last;
}

bool cma_receive(const struct dpa_gsi_addr *from, const uint8_t mad[DPA_MAD_BYTES], bool last)
{
	struct dpav_cm_input in = {.kind = DPA_CM_MAD};
	struct dpav_cm_entry *e = NULL;
	struct dpa_mad m;

	if (dpa_mad_decode(mad, DPA_MAD_BYTES, &m) != DPA_MAD_OK)
		return true;
	in.mad = &m;
	cma_reach_heard(from->dgid);
	switch (dpav_cm_classify(&cma.index, &m, from->dgid, &e)) {
	case DPA_CM_NEW:
		return new_request(from, &m, mad, last);
	case DPA_CM_FOUND:
		if (m.attr == DPA_CM_DREQ && !last && has_unread_data((struct cma_conn *)e))
			return false;
		__attribute__((fallthrough));
	case DPA_CM_DUPLICATE:
		cma_step((struct cma_conn *)e, &in);
		break;
	case DPA_CM_STALE:
		if (m.attr == DPA_CM_REQ)
			note_request(from, &m, DPA_GSI_SENT_REJ, DPA_CM_REJ_STALE);
		refuse_mad(from, &m, DPA_CM_REJ_STALE);
		cma_step((struct cma_conn *)e, &(struct dpav_cm_input){.kind = DPA_CM_DISCONNECT});
		break;
	case DPA_CM_UNKNOWN:
		answer_unknown_id(from, &m);
		break;
	}
	return true;
}
