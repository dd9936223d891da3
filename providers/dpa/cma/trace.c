/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* trace.c - points of the timeline: states of ids and communication ids, events, MADs. */
#include "cma/cma.h"

static uint32_t conn_number(const struct cma_conn *c)
{
	return c ? c->cm.config.local_id : 0;
}

void cma_trace_id(const struct cma_id *id, uint8_t state)
{
	dpa_trace_event(DPA_TRACE_CM, DPA_TRACE_CM_ID, state, id->id, 0, conn_number(id->conn), 0);
}

void cma_trace_conn(const struct cma_conn *c, uint8_t state)
{
	dpa_trace_event(DPA_TRACE_CM, DPA_TRACE_CM_CONN, state, conn_number(c), c->cm.remote_id,
			c->id ? c->id->id : 0, 0);
}

void cma_trace_event(const struct cma_event *ev)
{
	const struct cma_id *id = ev->request ? ev->request : ev->id;

	dpa_trace_event(DPA_TRACE_CM, DPA_TRACE_CM_EVENT, (uint8_t)ev->resp.event, id->id,
			(uint32_t)ev->resp.status, conn_number(id->conn), 0);
}

/* The communication ids that a message has: of its sender, of its receiver. 0: not in it. */
struct mad_ids {
	uint32_t sender, receiver;
};

static struct mad_ids ids_of(const struct dpa_mad *m)
{
	switch (m->attr) {
	case DPA_CM_REQ:
		return (struct mad_ids){m->req.local_id, 0};
	case DPA_CM_SIDR_REQ:
		return (struct mad_ids){m->sidr_req.request_id, 0};
	case DPA_CM_SIDR_REP:
		return (struct mad_ids){0, m->sidr_rep.request_id};
	default: /* MRA, REJ, REP, RTU, DREQ, DREP: at the same place */
		return (struct mad_ids){m->rep.local_id, m->rep.remote_id};
	}
}

void cma_trace_sent(const struct dpa_mad *m)
{
	const struct mad_ids ids = ids_of(m);

	dpa_trace_event(DPA_TRACE_MAD, DPA_TRACE_SENT, (uint8_t)m->attr, ids.sender, ids.receiver,
			0, m->tid);
}

void cma_trace_received(const uint8_t mad[DPA_MAD_BYTES])
{
	struct mad_ids ids;
	struct dpa_mad m;

	if (dpa_mad_decode(mad, DPA_MAD_BYTES, &m) != DPA_MAD_OK)
		return;
	ids = ids_of(&m);
	dpa_trace_event(DPA_TRACE_MAD, DPA_TRACE_RECEIVED, (uint8_t)m.attr, ids.receiver,
			ids.sender, 0, m.tid);
}
