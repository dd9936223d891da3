/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* event.c - events of the protocol, as events of librdmacm (cma.c: cma_ib_handler()). */
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"

/* Copies only the bytes that the peer may have written; the rest stays 0. */
static void put_event_data(uint8_t *to, uint8_t *to_len, const struct dpav_cm_event *ev,
			   size_t skip)
{
	size_t len = ev->len > skip ? ev->len - skip : 0;

	if (len)
		memcpy(to, ev->data + skip, len);
	*to_len = (uint8_t)len;
}

static void put_conn(struct cma_event *e, const struct dpav_cm_event *ev, size_t skip)
{
	struct rdma_ucm_conn_param *p = &e->resp.param.conn;

	p->qp_num = ev->qpn;
	p->srq = ev->srq;
	p->responder_resources = ev->responder_resources;
	p->initiator_depth = ev->initiator_depth;
	p->flow_control = ev->flow_control;
	p->retry_count = ev->retry_count;
	p->rnr_retry_count = ev->rnr_retry;
	put_event_data(p->private_data, &p->private_data_len, ev, skip);
	e->resp.ece.vendor_id = ev->vendor_id;
	e->resp.ece.attr_mod = ev->attr_mod;
}

void cma_put_ah(const struct dpav_cm_path *path, struct ib_uverbs_ah_attr *ah)
{
	memcpy(ah->grh.dgid, path->dgid, 16);
	ah->grh.flow_label = path->flow_label;
	ah->grh.sgid_index = path->sgid_index;
	ah->grh.hop_limit = path->hop_limit;
	ah->grh.traffic_class = path->traffic_class;
	ah->sl = path->sl;
	ah->is_global = 1;
	ah->port_num = path->port;
}

static void put_ud(struct cma_event *e, const struct cma_id *id, const struct dpav_cm_event *ev,
		   size_t skip)
{
	struct rdma_ucm_ud_param *p = &e->resp.param.ud;

	if (ev->type == DPA_CM_EV_SIDR_REP && !ev->status) {
		p->qp_num = ev->qpn;
		p->qkey = ev->qkey;
		cma_put_ah(&id->path, &p->ah_attr);
	}
	put_event_data(p->private_data, &p->private_data_len, ev, skip);
	e->resp.ece.vendor_id = ev->vendor_id;
	e->resp.ece.attr_mod = ev->attr_mod;
}

static void tell_id(struct cma_id *id, enum cma_event_type type, const struct dpav_cm_event *ev)
{
	struct cma_event *e = cma_event_new(id, type, ev->status);

	if (!e)
		return;
	if (id->qp_type == IBV_QPT_UD)
		put_ud(e, id, ev, 0);
	else
		put_conn(e, ev, 0);
	cma_event_queue(e);
}

/* Uses the listener's uid and the new id's number: the program does not have the new id yet. */
static void tell_request(struct cma_id *id, const struct dpav_cm_event *ev)
{
	size_t skip = id->listener->src.family == CMA_AF_IB ? 0 : DPA_CM_IP_BYTES;
	struct cma_event *e = cma_event_new(id->listener, CMA_CONNECT_REQUEST, 0);

	if (!e)
		return;
	e->request = id;
	e->resp.id = id->id;
	if (id->qp_type == IBV_QPT_UD) {
		put_ud(e, id, ev, skip);
	} else {
		put_conn(e, ev, skip);
		id->path = id->conn->cm.path;
	}
	id->told = true;
	cma_event_queue(e);
}

static void id_disconnected(struct cma_id *id, const struct dpav_cm_event *ev)
{
	cma_id_enter(id, CMA_DISCONNECT);
	cma_event(id, CMA_DISCONNECTED, ev->status);
}

/*
 * Linux drops an event that does not fit the id's state: cma_ib_handler(), cma_sidr_rep_handler().
 */
static bool is_due(const struct cma_id *id, const struct dpav_cm_event *ev)
{
	return id->state == (ev->type == DPA_CM_EV_TIMEWAIT_EXIT ? CMA_DISCONNECT : CMA_CONNECT);
}

void cma_on_event(struct cma_conn *c, const struct dpav_cm_event *ev)
{
	struct cma_id *id = c->id;

	if (!id || !is_due(id, ev))
		return;
	switch (ev->type) {
	case DPA_CM_EV_REQ:
	case DPA_CM_EV_SIDR_REQ:
		tell_request(id, ev);
		break;
	case DPA_CM_EV_REP: /* librdmacm turns it into ESTABLISHED if the id has a QP */
		if (cma_asked(CMA_CONNECT_ERROR)) /* as if that QP could not be changed to RTR */
			cma_event(id, CMA_CONNECT_ERROR, -1);
		else
			tell_id(id, CMA_CONNECT_RESPONSE, ev);
		break;
	case DPA_CM_EV_ESTABLISHED: /* without the RTU's data, as in Linux */
		cma_event(id, CMA_ESTABLISHED, 0);
		break;
	case DPA_CM_EV_REJ:
		cma_note(c, DPA_GSI_GOT_REJ, ev->status);
		tell_id(id, CMA_REJECTED, ev);
		break;
	case DPA_CM_EV_UNREACHABLE:
		cma_note(c, c->gone ? DPA_GSI_NO_PORT : DPA_GSI_NO_ANSWER, 0);
		tell_id(id, CMA_UNREACHABLE, ev);
		break;
	case DPA_CM_EV_DREQ:
	case DPA_CM_EV_DREP:
	case DPA_CM_EV_DREQ_TIMEOUT:
		id_disconnected(id, ev);
		break;
	case DPA_CM_EV_TIMEWAIT_EXIT:
		tell_id(id, CMA_TIMEWAIT_EXIT, ev);
		break;
	case DPA_CM_EV_SIDR_REP:
		if (ev->status)
			cma_note(c, DPA_GSI_GOT_REJ, ev->status);
		tell_id(id, ev->status ? CMA_UNREACHABLE : CMA_ESTABLISHED, ev);
		break;
	default:
		break;
	}
}
