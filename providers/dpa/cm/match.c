/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a MAD is: which communication id it is for, or why it is for none. */
#include "cm_priv.h"

typedef bool match_fn(const struct dpa_cm_record *r, const void *key);

/* The first record of which `match` holds; num_records: none. */
static size_t find(const struct dpa_cm_tables *t, match_fn *match, const void *key)
{
	size_t i;

	for (i = 0; i < t->num_records; i++)
		if (match(&t->records[i], key))
			break;
	return i;
}

struct ids {
	uint32_t local, remote;
	uint64_t ca_guid;
	uint32_t qpn;
	const uint8_t *gid;
};

static bool by_guid_and_id(const struct dpa_cm_record *r, const void *key)
{
	const struct ids *k = key;

	return r->live & DPA_CM_LIVE_ID && r->ca_guid == k->ca_guid && r->remote_id == k->remote;
}

static bool by_guid_and_qpn(const struct dpa_cm_record *r, const void *key)
{
	const struct ids *k = key;

	return r->live & DPA_CM_LIVE_QP && r->ca_guid == k->ca_guid && r->qpn == k->qpn;
}

/* Linux compares the request id alone on RoCE: two hosts with the same one would be one. */
static bool by_sidr(const struct dpa_cm_record *r, const void *key)
{
	const struct ids *k = key;

	return r->live & DPA_CM_LIVE_SIDR && r->remote_id == k->remote &&
	       memcmp(r->gid, k->gid, sizeof(r->gid)) == 0;
}

static bool by_local(const struct dpa_cm_record *r, const void *key)
{
	const struct ids *k = key;

	return r->live & DPA_CM_LIVE_LOCAL && r->local_id == k->local;
}

static bool by_local_alone(const struct dpa_cm_record *r, const void *key)
{
	return by_local(r, key) && !(r->live & DPA_CM_LIVE_ID);
}

static bool by_both(const struct dpa_cm_record *r, const void *key)
{
	const struct ids *k = key;

	return by_local(r, key) && r->live & DPA_CM_LIVE_ID && r->remote_id == k->remote;
}

size_t dpa_cm_find_listener(const struct dpa_cm_tables *t, uint64_t service_id, size_t from)
{
	for (; from < t->num_listeners; from++) {
		const struct dpa_cm_listener *l = &t->listeners[from];

		if (l->mask ? (service_id & l->mask) == (l->service_id & l->mask)
			    : service_id == l->service_id)
			return from;
	}
	return t->num_listeners;
}

static enum dpa_cm_verdict for_listener(const struct dpa_cm_tables *t, uint64_t service_id,
					size_t *which)
{
	size_t i = dpa_cm_find_listener(t, service_id, 0);

	if (i == t->num_listeners)
		return DPA_CM_NO_SERVICE;
	*which = i;
	return DPA_CM_NEW;
}

/* The verdict, if `match` finds one; else UNKNOWN. */
static enum dpa_cm_verdict found(const struct dpa_cm_tables *t, match_fn *match,
				 const struct ids *k, enum dpa_cm_verdict v, size_t *which)
{
	size_t i = find(t, match, k);

	if (i == t->num_records)
		return DPA_CM_UNKNOWN;
	*which = i;
	return v;
}

/* Duplicate before stale before service (IBA 12.9.8.3.1; Linux: cm_match_req()). */
static enum dpa_cm_verdict classify_req(const struct dpa_cm_tables *t, const struct dpa_mad *m,
					size_t *which)
{
	struct ids k = {.remote = m->req.local_id, .ca_guid = m->req.ca_guid, .qpn = m->req.qpn};
	enum dpa_cm_verdict v = found(t, by_guid_and_id, &k, DPA_CM_DUPLICATE, which);

	if (v == DPA_CM_UNKNOWN)
		v = found(t, by_guid_and_qpn, &k, DPA_CM_STALE, which);
	return v == DPA_CM_UNKNOWN ? for_listener(t, m->req.service_id, which) : v;
}

/* The first REP of a connection may show that another one is stale. */
static enum dpa_cm_verdict classify_rep(const struct dpa_cm_tables *t, const struct dpa_mad *m,
					size_t *which)
{
	struct ids k = {
		.local = m->rep.remote_id, .remote = m->rep.local_id, .ca_guid = m->rep.ca_guid};
	size_t own = find(t, by_local_alone, &k), other;

	if (own == t->num_records)
		return found(t, by_both, &k, DPA_CM_FOUND, which);
	if (found(t, by_guid_and_id, &k, DPA_CM_DUPLICATE, &other) == DPA_CM_DUPLICATE)
		return DPA_CM_UNKNOWN;
	k.qpn = cm_rep_qpn(m, t->records[own].xrc);
	*which = own;
	if (found(t, by_guid_and_qpn, &k, DPA_CM_STALE, &other) == DPA_CM_UNKNOWN)
		return DPA_CM_FOUND;
	*which = other;
	return DPA_CM_STALE;
}

/* A REJ "timeout" of a sender that has not learnt our id yet: its node GUID is the information. */
static enum dpa_cm_verdict classify_rej(const struct dpa_cm_tables *t, const struct dpa_mad *m,
					size_t *which)
{
	struct ids k = {.local = m->rej.remote_id, .remote = m->rej.local_id};

	if (m->rej.reason == DPA_CM_REJ_TIMEOUT && m->rej.info_length >= 8) {
		for (int i = 0; i < 8; i++)
			k.ca_guid = k.ca_guid << 8 | m->rej.info[i];
		return found(t, by_guid_and_id, &k, DPA_CM_FOUND, which);
	}
	return found(t, m->rej.message == CM_MSG_REQ ? by_local_alone : by_both, &k, DPA_CM_FOUND,
		     which);
}

static enum dpa_cm_verdict classify_sidr_req(const struct dpa_cm_tables *t, const struct dpa_mad *m,
					     const uint8_t gid[16], size_t *which)
{
	struct ids k = {.remote = m->sidr_req.request_id, .gid = gid};
	enum dpa_cm_verdict v = found(t, by_sidr, &k, DPA_CM_DUPLICATE, which);

	return v == DPA_CM_UNKNOWN ? for_listener(t, m->sidr_req.service_id, which) : v;
}

enum dpa_cm_verdict dpa_cm_classify(const struct dpa_cm_tables *t, const struct dpa_mad *m,
				    const uint8_t gid[16], size_t *which)
{
	struct ids k = {0};

	switch (m->attr) {
	case DPA_CM_REQ:
		return classify_req(t, m, which);
	case DPA_CM_REP:
		return classify_rep(t, m, which);
	case DPA_CM_REJ:
		return classify_rej(t, m, which);
	case DPA_CM_SIDR_REQ:
		return classify_sidr_req(t, m, gid, which);
	case DPA_CM_SIDR_REP:
		k.local = m->sidr_rep.request_id;
		return found(t, by_local_alone, &k, DPA_CM_FOUND, which);
	case DPA_CM_MRA:
		k = (struct ids){.local = m->mra.remote_id, .remote = m->mra.local_id};
		return found(t, m->mra.message == CM_MSG_REQ ? by_local_alone : by_both, &k,
			     DPA_CM_FOUND, which);
	case DPA_CM_RTU:
	case DPA_CM_DREQ:
	case DPA_CM_DREP: /* their ids are in one place */
		k = (struct ids){.local = m->rtu.remote_id, .remote = m->rtu.local_id};
		return found(t, by_both, &k, DPA_CM_FOUND, which);
	default:
		return DPA_CM_UNKNOWN;
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

bool dpa_cm_refuse(const struct dpa_mad *m, uint16_t reason, struct dpa_mad *answer)
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
