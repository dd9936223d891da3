/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "util.h"

const struct dpav_cm_config test_config = {.local_id = ID,
					   .tid_high = 0x66,
					   .psn = 0xabc,
					   .ca_guid = GUID,
					   .cm_timeout = DPA_CM_TIMEOUT,
					   .max_retries = DPA_CM_RETRIES,
					   .mra_timeout = DPA_CM_MRA_TIMEOUT};
const struct dpav_cm_path test_path = {.sgid = {[10] = 0xff, 0xff, 10, 0, 0, 1},
				       .dgid = {[10] = 0xff, 0xff, 10, 0, 0, 2},
				       .flow_label = 0x12345,
				       .pkey = 0xffff,
				       .port = 1,
				       .sgid_index = 3,
				       .hop_limit = 64,
				       .traffic_class = 0x20,
				       .mtu = IBV_MTU_1024,
				       .life_time = 18};
const struct dpav_cm_conn test_conn = {.qp = DPA_CM_QP_RC,
				       .qpn = QPN,
				       .responder_resources = 5,
				       .initiator_depth = 6,
				       .flow_control = 1,
				       .retry_count = 7,
				       .rnr_retry = 6};
const char *const test_place_names[PLACES] = {
	"IDLE",		"REQ_SENT", "MRA_REQ_RCVD",  "REP_RCVD",      "MRA_REP_SENT", "REQ_RCVD",
	"MRA_REQ_SENT", "REP_SENT", "MRA_REP_RCVD",  "ACTIVE",	      "PASSIVE",      "DREQ_SENT",
	"DREQ_RCVD",	"TIMEWAIT", "SIDR_REQ_SENT", "SIDR_REQ_RCVD", "CLOSED"};

static void fill_req(struct dpa_mad *m)
{
	m->req.local_id = PEER_ID;
	m->req.service_id = SERVICE;
	m->req.ca_guid = PEER_GUID;
	m->req.qpn = PEER_QPN;
	m->req.psn = 0xdef;
	m->req.responder_resources = 3;
	m->req.initiator_depth = 4;
	m->req.local_cm_timeout = m->req.remote_cm_timeout = 20;
	m->req.max_cm_retries = 15;
	m->req.retry_count = 2;
	m->req.rnr_retry = 1;
	m->req.pkey = 0xffff;
	m->req.path_mtu = IBV_MTU_2048;
	m->req.primary_ack_timeout = 19;
	memcpy(m->req.primary_local_gid, test_path.dgid, 16);
	memcpy(m->req.primary_remote_gid, test_path.sgid, 16);
	m->req.primary_flow_label = 0x54321;
	m->req.primary_hop_limit = 64;
	m->req.primary_traffic_class = 0x40;
	m->req.data[0] = 0x51;
}

static void fill_rep(struct dpa_mad *m)
{
	m->rep.qpn = PEER_QPN;
	m->rep.psn = 0xdef;
	m->rep.responder_resources = 3;
	m->rep.initiator_depth = 4;
	m->rep.rnr_retry = 1;
	m->rep.ca_guid = PEER_GUID;
	m->rep.data[0] = 0x52;
}

struct dpa_mad test_mad(enum dpa_cm_attr attr)
{
	struct dpa_mad m;

	memset(&m, 0, sizeof(m));
	m.attr = (uint16_t)attr;
	m.tid = PEER_TID;
	if (attr == DPA_CM_REQ) {
		fill_req(&m);
	} else if (attr == DPA_CM_SIDR_REQ) {
		m.sidr_req.request_id = PEER_ID;
		m.sidr_req.service_id = SERVICE;
		m.sidr_req.pkey = 0xffff;
	} else if (attr == DPA_CM_SIDR_REP) {
		m.sidr_rep.request_id = ID;
		m.sidr_rep.service_id = SERVICE;
		m.sidr_rep.qpn = PEER_QPN;
		m.sidr_rep.qkey = 0x77;
	} else {
		m.rtu.local_id = PEER_ID;
		m.rtu.remote_id = ID;
	}
	if (attr == DPA_CM_REP)
		fill_rep(&m);
	if (attr == DPA_CM_DREQ)
		m.dreq.remote_qpn = QPN;
	if (attr == DPA_CM_REJ)
		m.rej.reason = DPA_CM_REJ_CONSUMER;
	if (attr == DPA_CM_MRA)
		m.mra.service_timeout = 24;
	return m;
}

struct dpav_cm_input test_input(enum dpav_cm_input_kind kind)
{
	return (struct dpav_cm_input){.kind = kind,
				      .now = NOW,
				      .service_id = SERVICE,
				      .path = &test_path,
				      .conn = &test_conn,
				      .reason = DPA_CM_REJ_CONSUMER,
				      .arrival = &test_path};
}

struct dpav_cm_input test_receive(const struct dpa_mad *m)
{
	struct dpav_cm_input in = test_input(DPA_CM_MAD);

	in.mad = m;
	return in;
}

struct dpav_cm_effects test_step(struct dpav_cm *cm, const struct dpav_cm_input *in)
{
	struct dpav_cm_effects out;

	cr_assert_eq(dpav_cm_step(cm, in, &out), 0);
	return out;
}

static struct dpav_cm_effects get_at(struct dpav_cm *cm, enum dpa_cm_attr attr, uint64_t now)
{
	struct dpa_mad m = test_mad(attr);
	struct dpav_cm_input in = test_receive(&m);
	struct dpav_cm_effects out;

	in.now = now;
	if (attr == DPA_CM_MRA && cm->state == DPA_CM_ST_REP_SENT)
		m.mra.message = 1;
	out = test_step(cm, &in);
	out.event.data = out.event.info = NULL; /* they pointed into m */
	return out;
}

struct dpav_cm_effects test_get(struct dpav_cm *cm, enum dpa_cm_attr attr)
{
	return get_at(cm, attr, NOW);
}

struct dpav_cm_effects test_get_again(struct dpav_cm *cm, enum dpa_cm_attr attr)
{
	return get_at(cm, attr, NOW + AGAIN);
}

struct dpav_cm_effects test_call(struct dpav_cm *cm, enum dpav_cm_input_kind kind)
{
	struct dpav_cm_input in = test_input(kind);

	return test_step(cm, &in);
}

static void reach_active(struct dpav_cm *cm, enum place p)
{
	test_call(cm, DPA_CM_CONNECT);
	if (p == P_REQ_SENT)
		return;
	if (p == P_MRA_REQ_RCVD) {
		test_get(cm, DPA_CM_MRA);
		return;
	}
	if (p == P_CLOSED) {
		test_call(cm, DPA_CM_REJECT);
		return;
	}
	test_get(cm, DPA_CM_REP);
	if (p == P_MRA_REP_SENT)
		test_get_again(cm, DPA_CM_REP);
	if (p == P_REP_RCVD || p == P_MRA_REP_SENT)
		return;
	test_call(cm, DPA_CM_CONFIRM);
	if (p != P_ACTIVE)
		test_call(cm, DPA_CM_DISCONNECT);
	if (p == P_TIMEWAIT)
		test_get(cm, DPA_CM_DREP);
}

static void reach_passive(struct dpav_cm *cm, enum place p)
{
	test_get(cm, DPA_CM_REQ);
	if (p == P_MRA_REQ_SENT)
		test_get_again(cm, DPA_CM_REQ);
	if (p == P_REQ_RCVD || p == P_MRA_REQ_SENT)
		return;
	test_call(cm, DPA_CM_ACCEPT);
	if (p == P_MRA_REP_RCVD)
		test_get(cm, DPA_CM_MRA);
	if (p == P_REP_SENT || p == P_MRA_REP_RCVD)
		return;
	test_get(cm, DPA_CM_RTU);
	if (p == P_DREQ_RCVD)
		test_get(cm, DPA_CM_DREQ);
}

void test_reach(struct dpav_cm *cm, enum place p)
{
	dpav_cm_init(cm, &test_config);
	switch (p) {
	case P_IDLE:
		break;
	case P_SIDR_REQ_SENT:
		test_call(cm, DPA_CM_RESOLVE);
		break;
	case P_SIDR_REQ_RCVD:
		test_get(cm, DPA_CM_SIDR_REQ);
		break;
	case P_REQ_RCVD:
	case P_MRA_REQ_SENT:
	case P_REP_SENT:
	case P_MRA_REP_RCVD:
	case P_PASSIVE:
	case P_DREQ_RCVD:
		reach_passive(cm, p);
		break;
	default:
		reach_active(cm, p);
	}
}

uint64_t test_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint64_t test_seed(uint64_t otherwise)
{
	const char *s = getenv("DPA_TEST_SEED");

	return s ? strtoull(s, NULL, 0) : otherwise;
}
