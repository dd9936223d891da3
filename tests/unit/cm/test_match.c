/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_match.c - classification of a MAD, and the answer to one that matches no connection. */
#include <criterion/criterion.h>
#include <string.h>
#include "util.h"

#define ALL (DPA_CM_LIVE_LOCAL | DPA_CM_LIVE_ID | DPA_CM_LIVE_QP)

static const uint8_t gid[16] = {1}, other_gid[16] = {2};
static const struct dpav_cm_record connected = {
	.live = ALL, .local_id = ID, .remote_id = PEER_ID, .ca_guid = PEER_GUID, .qpn = PEER_QPN};
static const struct dpav_cm_record alone = {.live = DPA_CM_LIVE_LOCAL, .local_id = ID};

/* Look m up among n records; *which: the number of the record, 99: none. */
static enum dpav_cm_verdict look(const struct dpav_cm_record *r, size_t n, const struct dpa_mad *m,
				 size_t *which)
{
	struct dpav_cm_entry e[2] = {0}, *found = e;
	struct dpav_cm_index ix;
	enum dpav_cm_verdict v;

	cr_assert_eq(dpav_cm_index_init(&ix), 0);
	for (size_t i = 0; i < n; i++)
		dpav_cm_index_put(&ix, &e[i], &r[i]);
	v = dpav_cm_classify(&ix, m, gid, &found);
	*which = found ? (size_t)(found - e) : 99;
	dpav_cm_index_fini(&ix);
	return v;
}

static void expect(const struct dpav_cm_record *r, struct dpa_mad m, enum dpav_cm_verdict v)
{
	bool of_an_entry = v == DPA_CM_FOUND || v == DPA_CM_DUPLICATE || v == DPA_CM_STALE;
	size_t which;

	cr_assert_eq(look(r, 1, &m, &which), v, "attribute %#x", m.attr);
	cr_assert_eq(which, of_an_entry ? 0 : 99);
}

Test(cm_match, request)
{
	struct dpav_cm_record r = connected;
	struct dpa_mad m = test_mad(DPA_CM_REQ);

	expect(&alone, m, DPA_CM_NEW);
	/* it is a duplicate with any service and QPN */
	m.req.service_id++;
	expect(&r, m, DPA_CM_DUPLICATE);
	m.req.qpn++;
	expect(&r, m, DPA_CM_DUPLICATE);
	r.live &= ~(uint32_t)DPA_CM_LIVE_QP; /* in timewait, too */
	expect(&r, m, DPA_CM_DUPLICATE);
	m = test_mad(DPA_CM_REQ);
	m.req.ca_guid++; /* another host may use the same numbers */
	expect(&connected, m, DPA_CM_NEW);
}

Test(cm_match, stale_request)
{
	struct dpav_cm_record r = connected;
	struct dpa_mad m = test_mad(DPA_CM_REQ);

	m.req.local_id++;
	expect(&r, m, DPA_CM_STALE);
	r.live &= ~(uint32_t)DPA_CM_LIVE_QP; /* in timewait the QP may connect again */
	expect(&r, m, DPA_CM_NEW);
	m.req.qpn++;
	expect(&connected, m, DPA_CM_NEW);
}

Test(cm_match, by_both_ids)
{
	static const enum dpa_cm_attr attrs[] = {DPA_CM_RTU, DPA_CM_DREQ, DPA_CM_DREP};

	for (size_t i = 0; i < 3; i++) {
		struct dpa_mad m = test_mad(attrs[i]);

		expect(&connected, m, DPA_CM_FOUND);
		expect(&alone, m, DPA_CM_UNKNOWN);
		m.rtu.local_id++;
		expect(&connected, m, DPA_CM_UNKNOWN);
		m = test_mad(attrs[i]);
		m.rtu.remote_id++;
		expect(&connected, m, DPA_CM_UNKNOWN);
	}
}

Test(cm_match, reply)
{
	struct dpav_cm_record two[2] = {alone, connected};
	struct dpa_mad m = test_mad(DPA_CM_REP);
	size_t which;

	expect(&alone, m, DPA_CM_FOUND);
	expect(&connected, m, DPA_CM_FOUND); /* again */
	m.rep.local_id++;
	expect(&connected, m, DPA_CM_UNKNOWN);
	/* (CA GUID, QPN) belongs to another connection: that one is stale */
	two[1].local_id = ID + 1;
	cr_assert_eq(look(two, 2, &m, &which), DPA_CM_STALE);
	cr_assert_eq(which, 1);
	/* (CA GUID, id) does: dropped */
	m.rep.local_id--;
	cr_assert_eq(look(two, 2, &m, &which), DPA_CM_UNKNOWN);
	m.rep.remote_id = 7;
	expect(&connected, m, DPA_CM_UNKNOWN);
}

/* The peer's QPN is at another place. */
Test(cm_match, reply_of_an_xrc_target)
{
	struct dpav_cm_record two[2] = {alone, connected};
	struct dpa_mad m = test_mad(DPA_CM_REP);
	size_t which;

	two[0].xrc = true;
	two[1].local_id = ID + 1;
	m.rep.local_id++;
	cr_assert_eq(look(two, 2, &m, &which), DPA_CM_FOUND);
	m.rep.eecn = PEER_QPN;
	cr_assert_eq(look(two, 2, &m, &which), DPA_CM_STALE);
}

Test(cm_match, rejection)
{
	struct dpa_mad m = test_mad(DPA_CM_REJ);

	m.rej.message = 0; /* of the REQ: the sender may not have sent its id */
	m.rej.local_id = 0;
	expect(&alone, m, DPA_CM_FOUND);
	expect(&connected, m, DPA_CM_UNKNOWN);
	m = test_mad(DPA_CM_REJ);
	m.rej.message = 2;
	expect(&connected, m, DPA_CM_FOUND);
	m.rej.local_id++;
	expect(&connected, m, DPA_CM_UNKNOWN);
}

/* Found by the node GUID in the information; the sender does not have our id. */
Test(cm_match, rejection_for_a_timeout)
{
	struct dpa_mad m = test_mad(DPA_CM_REJ);

	m.rej.message = 2;
	m.rej.remote_id = 0;
	m.rej.reason = DPA_CM_REJ_TIMEOUT;
	expect(&connected, m, DPA_CM_UNKNOWN);
	m.rej.info_length = 8;
	m.rej.info[0] = 2;
	m.rej.info[7] = 2;
	expect(&connected, m, DPA_CM_FOUND);
	m.rej.info[7] = 3;
	expect(&connected, m, DPA_CM_UNKNOWN);
	m.rej.info_length = 0; /* of a sender that has it: by the ids */
	m.rej.remote_id = ID;
	expect(&connected, m, DPA_CM_FOUND);
}

Test(cm_match, mra)
{
	struct dpa_mad m = test_mad(DPA_CM_MRA);

	expect(&alone, m, DPA_CM_FOUND);
	expect(&connected, m, DPA_CM_UNKNOWN);
	m.mra.message = 1;
	expect(&alone, m, DPA_CM_UNKNOWN);
	expect(&connected, m, DPA_CM_FOUND);
}

Test(cm_match, sidr)
{
	struct dpav_cm_record r = {.live = DPA_CM_LIVE_SIDR, .local_id = 7, .remote_id = PEER_ID};
	struct dpa_mad m = test_mad(DPA_CM_SIDR_REQ);

	memcpy(r.gid, gid, 16);
	expect(&r, m, DPA_CM_DUPLICATE);
	memcpy(r.gid, other_gid, 16);
	expect(&r, m, DPA_CM_NEW);
	m = test_mad(DPA_CM_SIDR_REP);
	expect(&alone, m, DPA_CM_FOUND);
	m.sidr_rep.request_id++;
	expect(&alone, m, DPA_CM_UNKNOWN);
}

/* 0 is an id and a QPN like any other: 0 does not mean unknown. */
Test(cm_match, zeros)
{
	struct dpa_mad req = test_mad(DPA_CM_REQ), rtu = test_mad(DPA_CM_RTU);
	struct dpav_cm_input in = test_receive(&req);
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	req.req.local_id = req.req.qpn = 0;
	req.req.ca_guid = 0;
	dpav_cm_init(&cm, &test_config);
	out = test_step(&cm, &in);
	expect(&out.record, req, DPA_CM_DUPLICATE);
	out = test_call(&cm, DPA_CM_ACCEPT);
	cr_assert(out.mad.rep.remote_id == 0 && out.mad.rep.local_id == ID);
	rtu.rtu.local_id = 0;
	expect(&out.record, rtu, DPA_CM_FOUND);
	req.req.local_id = 1; /* a second connection without a QP: as in Linux */
	expect(&out.record, req, DPA_CM_STALE);
	expect(&alone, rtu, DPA_CM_UNKNOWN);
}

Test(cm_match, refusals)
{
	struct dpa_mad m = test_mad(DPA_CM_REQ), a;

	cr_assert(dpav_cm_refuse(&m, 8, &a));
	cr_assert(a.attr == DPA_CM_REJ && a.tid == PEER_TID && a.rej.reason == 8);
	cr_assert(a.rej.local_id == 0 && a.rej.remote_id == PEER_ID && a.rej.message == 0);
	m = test_mad(DPA_CM_REP);
	cr_assert(dpav_cm_refuse(&m, 10, &a));
	cr_assert(a.rej.local_id == ID && a.rej.remote_id == PEER_ID && a.rej.message == 1);
	m = test_mad(DPA_CM_DREQ);
	cr_assert(dpav_cm_refuse(&m, 0, &a));
	cr_assert(a.attr == DPA_CM_DREP && a.drep.local_id == ID && a.drep.remote_id == PEER_ID);
	m = test_mad(DPA_CM_SIDR_REQ);
	cr_assert(dpav_cm_refuse(&m, 8, &a));
	cr_assert(a.attr == DPA_CM_SIDR_REP && a.sidr_rep.status == 1);
	cr_assert(a.sidr_rep.request_id == PEER_ID && a.sidr_rep.service_id == SERVICE);
	m = test_mad(DPA_CM_RTU);
	cr_assert(!dpav_cm_refuse(&m, 6, &a));
}
