/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* sidr.c - MADs of service id resolution (SIDR): one request, one answer, no connection. */
#include "cm_priv.h"

/* A duplicate is ignored until the owner has answered. After the answer it is a new request. */
void cm_on_sidr_req(struct dpav_cm *cm, const struct dpav_cm_input *in, struct dpav_cm_effects *out)
{
	const struct dpa_mad *m = in->mad;

	if (!cm_in(cm, IN(IDLE)) || !in->arrival)
		return;
	cm->qp = DPA_CM_QP_UD;
	cm->tid = m->tid;
	cm->path = *in->arrival;
	cm->path.pkey = m->sidr_req.pkey;
	cm->remote_id = m->sidr_req.request_id;
	cm->service_id = m->sidr_req.service_id;
	cm->state = DPA_CM_ST_SIDR_REQ_RCVD;
	out->event = (struct dpav_cm_event){.type = DPA_CM_EV_SIDR_REQ,
					    .data = m->sidr_req.data,
					    .len = sizeof(m->sidr_req.data),
					    .service_id = m->sidr_req.service_id,
					    .qp = DPA_CM_QP_UD};
}

void cm_on_sidr_rep(struct dpav_cm *cm, const struct dpa_mad *m, struct dpav_cm_effects *out)
{
	if (!cm_in(cm, IN(SIDR_REQ_SENT)))
		return;
	cm_close(cm);
	out->event = (struct dpav_cm_event){.type = DPA_CM_EV_SIDR_REP,
					    .status = m->sidr_rep.status,
					    .data = m->sidr_rep.data,
					    .len = sizeof(m->sidr_rep.data),
					    .info = m->sidr_rep.info,
					    .info_len = cm_info_len(m->sidr_rep.info_length),
					    .service_id = m->sidr_rep.service_id,
					    .qp = DPA_CM_QP_UD,
					    .qpn = m->sidr_rep.qpn,
					    .qkey = m->sidr_rep.qkey,
					    .vendor_id = (uint32_t)m->sidr_rep.vendor_id_high << 8 |
							 m->sidr_rep.vendor_id_low,
					    .attr_mod = m->modifier};
}
