/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* match.c - finds the communication id of a MAD. */
#include "cm_priv.h"

/*
 * Returns the entry with this local id. peer: only if the peer's id is known; else only if it is
 * not.
 */
static struct dpav_cm_entry *find_local(const struct dpav_cm_index *ix, uint32_t local, bool peer)
{
	const struct dpav_cm_record key = {.local_id = local};
	struct dpav_cm_entry *e = cm_index_find(ix, DPA_CM_LIVE_LOCAL, &key);

	return e && !(e->record.live & DPA_CM_LIVE_ID) == !peer ? e : NULL;
}

static struct dpav_cm_entry *find_both(const struct dpav_cm_index *ix, uint32_t local,
				       uint32_t remote)
{
	struct dpav_cm_entry *e = find_local(ix, local, true);

	return e && e->record.remote_id == remote ? e : NULL;
}

/* REJ or MRA of a REQ: this side has not received the id of the peer yet. */
static struct dpav_cm_entry *find_by_message(const struct dpav_cm_index *ix, uint8_t message,
					     uint32_t local, uint32_t remote)
{
	return message == CM_MSG_REQ ? find_local(ix, local, false) : find_both(ix, local, remote);
}

static enum dpav_cm_verdict entry_found(struct dpav_cm_entry *e, struct dpav_cm_entry **which)
{
	*which = e;
	return e ? DPA_CM_FOUND : DPA_CM_UNKNOWN;
}

/* The order of Linux's cm_match_req(): duplicate, stale, new. */
static enum dpav_cm_verdict classify_req(const struct dpav_cm_index *ix, const struct dpa_mad *m,
					 struct dpav_cm_entry **which)
{
	const struct dpav_cm_record key = {
		.remote_id = m->req.local_id, .ca_guid = m->req.ca_guid, .qpn = m->req.qpn};

	*which = cm_index_find(ix, DPA_CM_LIVE_ID, &key);
	if (*which)
		return DPA_CM_DUPLICATE;
	*which = cm_index_find(ix, DPA_CM_LIVE_QP, &key);
	return *which ? DPA_CM_STALE : DPA_CM_NEW;
}

/* The first REP sets the peer's id: no other connection may have the same id or QP of the peer. */
static enum dpav_cm_verdict classify_rep(const struct dpav_cm_index *ix, const struct dpa_mad *m,
					 struct dpav_cm_entry **which)
{
	struct dpav_cm_record key = {.remote_id = m->rep.local_id, .ca_guid = m->rep.ca_guid};
	struct dpav_cm_entry *own = find_local(ix, m->rep.remote_id, false);

	if (!own)
		return entry_found(find_both(ix, m->rep.remote_id, m->rep.local_id), which);
	if (cm_index_find(ix, DPA_CM_LIVE_ID, &key))
		return entry_found(NULL, which);
	key.qpn = cm_rep_qpn(m, own->record.xrc);
	*which = cm_index_find(ix, DPA_CM_LIVE_QP, &key);
	return *which ? DPA_CM_STALE : entry_found(own, which);
}

/*
 * A REJ "timeout" of a sender that does not have our id: the additional information is its node
 * GUID.
 */
static enum dpav_cm_verdict classify_rej(const struct dpav_cm_index *ix, const struct dpa_mad *m,
					 struct dpav_cm_entry **which)
{
	struct dpav_cm_record key = {.remote_id = m->rej.local_id};

	if (m->rej.reason == DPA_CM_REJ_TIMEOUT && m->rej.info_length >= 8) {
		for (int i = 0; i < 8; i++)
			key.ca_guid = key.ca_guid << 8 | m->rej.info[i];
		return entry_found(cm_index_find(ix, DPA_CM_LIVE_ID, &key), which);
	}
	return entry_found(find_by_message(ix, m->rej.message, m->rej.remote_id, m->rej.local_id),
			   which);
}

static enum dpav_cm_verdict classify_sidr_req(const struct dpav_cm_index *ix,
					      const struct dpa_mad *m, const uint8_t gid[16],
					      struct dpav_cm_entry **which)
{
	struct dpav_cm_record key = {.remote_id = m->sidr_req.request_id};

	memcpy(key.gid, gid, sizeof(key.gid));
	*which = cm_index_find(ix, DPA_CM_LIVE_SIDR, &key);
	return *which ? DPA_CM_DUPLICATE : DPA_CM_NEW;
}

enum dpav_cm_verdict dpav_cm_classify(const struct dpav_cm_index *ix, const struct dpa_mad *m,
				      const uint8_t gid[16], struct dpav_cm_entry **which)
{
	switch (m->attr) {
	case DPA_CM_REQ:
		return classify_req(ix, m, which);
	case DPA_CM_REP:
		return classify_rep(ix, m, which);
	case DPA_CM_REJ:
		return classify_rej(ix, m, which);
	case DPA_CM_SIDR_REQ:
		return classify_sidr_req(ix, m, gid, which);
	case DPA_CM_SIDR_REP:
		return entry_found(find_local(ix, m->sidr_rep.request_id, false), which);
	case DPA_CM_MRA:
		return entry_found(
			find_by_message(ix, m->mra.message, m->mra.remote_id, m->mra.local_id),
			which);
	case DPA_CM_RTU:
	case DPA_CM_DREQ:
	case DPA_CM_DREP: /* all three have the ids in the same place */
		return entry_found(find_both(ix, m->rtu.remote_id, m->rtu.local_id), which);
	default:
		return entry_found(NULL, which);
	}
}

static void refuse_req_or_rep(const struct dpa_mad *m, uint16_t reason, struct dpa_mad *a)
{
	bool rep = m->attr == DPA_CM_REP;

	cm_mad_start(a, DPA_CM_REJ, m->tid);
	a->rej.remote_id = rep ? m->rep.local_id : m->req.local_id;
	a->rej.local_id = rep ? m->rep.remote_id : 0;
	a->rej.message = rep ? CM_MSG_REP : CM_MSG_REQ;
	a->rej.reason = reason;
}

bool dpav_cm_refuse(const struct dpa_mad *m, uint16_t reason, struct dpa_mad *answer)
{
	switch (m->attr) {
	case DPA_CM_REQ:
	case DPA_CM_REP:
		refuse_req_or_rep(m, reason, answer);
		return true;
	case DPA_CM_DREQ:
		cm_mad_start(answer, DPA_CM_DREP, m->tid);
		answer->drep.remote_id = m->dreq.local_id;
		answer->drep.local_id = m->dreq.remote_id;
		return true;
	case DPA_CM_SIDR_REQ:
		cm_mad_start(answer, DPA_CM_SIDR_REP, m->tid);
		answer->sidr_rep.request_id = m->sidr_req.request_id;
		answer->sidr_rep.service_id = m->sidr_req.service_id;
		answer->sidr_rep.status = DPA_CM_SIDR_UNSUPPORTED;
		return true;
	default:
		return false;
	}
}
