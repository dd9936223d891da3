/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_fields.c - contents of the messages, events and records: values of Linux on RoCE. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "util.h"

Test(cm_fields, request)
{
	struct dpav_cm_conn conn = test_conn;
	struct dpav_cm_input in = test_input(DPA_CM_CONNECT);
	struct dpav_cm cm;
	struct dpa_mad m;

	conn.retry_count = conn.rnr_retry = 200;
	conn.vendor_id = 0x123456;
	conn.attr_mod = 0xabcd;
	in.conn = &conn;
	in.data = "hello";
	in.len = 5;
	dpav_cm_init(&cm, &test_config);
	m = test_step(&cm, &in).mad;
	cr_assert(m.attr == DPA_CM_REQ && m.tid == OWN_TID && m.modifier == 0xabcd);
	cr_assert(m.req.local_id == ID && m.req.ca_guid == GUID && m.req.service_id == SERVICE);
	cr_assert(m.req.qpn == QPN && m.req.psn == 0xabc && m.req.vendor_id == 0x123456);
	cr_assert(m.req.transport == 0 && m.req.responder_resources == 5);
	cr_assert(m.req.initiator_depth == 6 && m.req.flow_control == 1 && m.req.srq == 0);
	cr_assert(m.req.retry_count == 7 && m.req.rnr_retry == 7);
	cr_assert(m.req.local_cm_timeout == 20 && m.req.remote_cm_timeout == 20);
	cr_assert(m.req.max_cm_retries == 15 && m.req.pkey == 0xffff && m.req.path_mtu == 3);
	cr_assert(m.req.primary_local_lid == 0xffff && m.req.primary_remote_lid == 0xffff);
	cr_assert(m.req.primary_subnet_local == 0 && m.req.primary_ack_timeout == 19);
	cr_assert(m.req.primary_flow_label == 0x12345 && m.req.primary_traffic_class == 0x20);
	cr_assert(m.req.primary_hop_limit == 64 && m.req.primary_rate == 0);
	cr_assert_eq(memcmp(m.req.primary_local_gid, test_path.sgid, 16), 0);
	cr_assert_eq(memcmp(m.req.primary_remote_gid, test_path.dgid, 16), 0);
	cr_assert(memcmp(m.req.data, "hello", 6) == 0 && m.req.data[91] == 0);
}

Test(cm_fields, request_within_the_subnet)
{
	struct dpav_cm_path path = test_path;
	struct dpav_cm_input in = test_input(DPA_CM_CONNECT);
	struct dpav_cm cm;
	struct dpa_mad m;

	path.hop_limit = 1;
	in.path = &path;
	dpav_cm_init(&cm, &test_config);
	m = test_step(&cm, &in).mad;
	cr_assert(m.req.primary_subnet_local == 1 && m.req.primary_local_lid == 0);
}

Test(cm_fields, request_received)
{
	struct dpa_mad m = test_mad(DPA_CM_REQ);
	struct dpav_cm_input in = test_receive(&m);
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	dpav_cm_init(&cm, &test_config);
	out = test_step(&cm, &in);
	cr_assert(out.event.data == m.req.data && out.event.len == 92);
	cr_assert(out.event.qpn == PEER_QPN && out.event.psn == 0xdef);
	cr_assert(out.event.service_id == SERVICE && out.event.qp == DPA_CM_QP_RC);
	/* exchanged: the peer's initiator depth is 4, its responder resources 3 */
	cr_assert(out.event.responder_resources == 4 && out.event.initiator_depth == 3);
	cr_assert(out.event.retry_count == 2 && out.event.rnr_retry == 1);
	cr_assert(out.record_changed);
	cr_assert_eq(out.record.live, DPA_CM_LIVE_LOCAL | DPA_CM_LIVE_ID | DPA_CM_LIVE_QP);
	cr_assert(out.record.local_id == ID && out.record.remote_id == PEER_ID);
	cr_assert(out.record.ca_guid == PEER_GUID && out.record.qpn == PEER_QPN);
}

Test(cm_fields, reply)
{
	struct dpav_cm_conn conn = test_conn;
	struct dpav_cm_input in = test_input(DPA_CM_ACCEPT);
	struct dpav_cm cm;
	struct dpa_mad m;

	conn.vendor_id = 0x123456;
	in.conn = &conn;
	in.data = "yes";
	in.len = 3;
	test_reach(&cm, P_REQ_RCVD);
	m = test_step(&cm, &in).mad;
	cr_assert(m.tid == PEER_TID && m.rep.local_id == ID && m.rep.remote_id == PEER_ID);
	cr_assert(m.rep.qpn == QPN && m.rep.eecn == 0 && m.rep.psn == 0xabc);
	cr_assert(m.rep.ca_guid == GUID && m.rep.rnr_retry == 6 && m.rep.flow_control == 1);
	cr_assert(m.rep.responder_resources == 5 && m.rep.initiator_depth == 6);
	cr_assert(m.rep.vendor_id_high == 0x12 && m.rep.vendor_id_mid == 0x34);
	cr_assert(m.rep.vendor_id_low == 0x56 && memcmp(m.rep.data, "yes", 4) == 0);
}

Test(cm_fields, reply_received)
{
	struct dpa_mad m = test_mad(DPA_CM_REP);
	struct dpav_cm_input in = test_receive(&m);
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	m.rep.vendor_id_high = 0x12;
	m.rep.vendor_id_low = 0x56;
	test_reach(&cm, P_REQ_SENT);
	cr_assert_eq(dpav_cm_record(&cm).live, DPA_CM_LIVE_LOCAL);
	out = test_step(&cm, &in);
	cr_assert(out.event.data == m.rep.data && out.event.len == 196);
	cr_assert(out.event.qpn == PEER_QPN && out.event.vendor_id == 0x120056);
	cr_assert(out.event.responder_resources == 4 && out.event.initiator_depth == 3);
	cr_assert(out.record_changed && out.record.remote_id == PEER_ID);
	cr_assert_eq(out.record.live, DPA_CM_LIVE_LOCAL | DPA_CM_LIVE_ID | DPA_CM_LIVE_QP);
}

/* IBA annex A14: the target's QPN is in the place of an EECN. */
Test(cm_fields, xrc)
{
	struct dpa_mad req = test_mad(DPA_CM_REQ), rep = test_mad(DPA_CM_REP), m;
	struct dpav_cm_conn conn = test_conn;
	struct dpav_cm_input in = test_receive(&req), connect = test_input(DPA_CM_CONNECT);
	struct dpav_cm cm;

	req.req.transport = 3;
	req.req.ext_transport = 1;
	dpav_cm_init(&cm, &test_config);
	cr_assert_eq(test_step(&cm, &in).event.qp, DPA_CM_QP_XRC_TGT);
	m = test_call(&cm, DPA_CM_ACCEPT).mad;
	cr_assert(m.rep.eecn == QPN && m.rep.qpn == 0 && m.rep.srq == 1);
	test_get(&cm, DPA_CM_RTU);
	cr_assert(!test_call(&cm, DPA_CM_DESTROY).send && cm.state == DPA_CM_ST_CLOSED);

	conn.qp = DPA_CM_QP_XRC_INI;
	connect.conn = &conn;
	dpav_cm_init(&cm, &test_config);
	m = test_step(&cm, &connect).mad;
	cr_assert(m.req.transport == 3 && m.req.ext_transport == 1 && m.req.qpn == QPN);
	cr_assert(m.req.retry_count == 0 && m.req.responder_resources == 0);
	rep.rep.eecn = 0x333;
	rep.rep.qpn = 0;
	in = test_receive(&rep);
	cr_assert_eq(test_step(&cm, &in).event.qpn, 0x333);
}

Test(cm_fields, transport_that_there_is_not)
{
	struct dpa_mad m = test_mad(DPA_CM_REQ);
	struct dpav_cm_input in = test_receive(&m), accept = test_input(DPA_CM_ACCEPT);
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	m.req.transport = 2;
	dpav_cm_init(&cm, &test_config);
	cr_assert_eq(test_step(&cm, &in).event.qp, DPA_CM_QP_NONE);
	cr_assert_eq(dpav_cm_step(&cm, &accept, &out), EINVAL);
}

/* REJ: local id and message by state (Linux: cm_format_rej()). */
Test(cm_fields, reject)
{
	static const struct {
		enum place p;
		uint32_t local, remote;
		uint8_t message;
	} t[] = {{P_REQ_RCVD, 0, PEER_ID, 0},  {P_MRA_REQ_SENT, ID, PEER_ID, 0},
		 {P_REP_RCVD, ID, PEER_ID, 1}, {P_MRA_REP_SENT, ID, PEER_ID, 1},
		 {P_REP_SENT, ID, PEER_ID, 2}, {P_MRA_REP_RCVD, ID, PEER_ID, 2},
		 {P_REQ_SENT, ID, 0, 2}};
	struct dpav_cm cm;

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct dpav_cm_input in = test_input(DPA_CM_REJECT);
		struct dpa_mad m;

		in.info = "info";
		in.info_len = 4;
		in.data = "no";
		in.len = 2;
		test_reach(&cm, t[i].p);
		m = test_step(&cm, &in).mad;
		cr_assert(m.rej.local_id == t[i].local && m.rej.remote_id == t[i].remote);
		cr_assert(m.rej.message == t[i].message && m.rej.reason == 28);
		cr_assert(m.rej.info_length == 4 && memcmp(m.rej.info, "info", 4) == 0);
		cr_assert_eq(memcmp(m.rej.data, "no", 3), 0);
	}
}

Test(cm_fields, reject_received)
{
	struct dpa_mad m = test_mad(DPA_CM_REJ);
	struct dpav_cm_input in = test_receive(&m);
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	m.rej.reason = 8;
	m.rej.info_length = 3;
	test_reach(&cm, P_REQ_SENT);
	out = test_step(&cm, &in);
	cr_assert(out.event.status == 8 && out.event.info == m.rej.info);
	cr_assert(out.event.info_len == 3 && out.event.data == m.rej.data);
	cr_assert(out.event.len == 148 && out.record.live == 0 && out.record_changed);
}

/* REJ 4 with the node GUID: the peer may not know this side's id yet. */
Test(cm_fields, destroy_while_connecting)
{
	static const uint8_t guid[8] = {2, 0, 0, 0, 0, 0, 0, 1};
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	test_reach(&cm, P_REQ_SENT);
	out = test_call(&cm, DPA_CM_DESTROY);
	cr_assert(out.mad.rej.reason == 4 && out.mad.rej.local_id == ID && out.done);
	cr_assert(out.mad.rej.info_length == 8 && memcmp(out.mad.rej.info, guid, 8) == 0);
	test_reach(&cm, P_REQ_RCVD);
	cr_assert_eq(test_call(&cm, DPA_CM_DESTROY).mad.rej.reason, 28);
}

/* The answer to a late REQ is for an id that the peer does not have yet: it rejects the REQ. */
Test(cm_fields, late_request)
{
	struct dpav_cm cm;
	struct dpa_mad m;

	test_reach(&cm, P_DREQ_RCVD);
	test_call(&cm, DPA_CM_DISCONNECT);
	cr_assert_eq(dpav_cm_record(&cm).live, DPA_CM_LIVE_LOCAL | DPA_CM_LIVE_ID);
	m = test_get(&cm, DPA_CM_REQ).mad;
	cr_assert(m.rej.reason == 10 && m.rej.message == 0 && m.rej.remote_id == PEER_ID);
	cr_assert_eq(m.tid, PEER_TID);
}

Test(cm_fields, mra)
{
	struct dpav_cm cm;
	struct dpa_mad m;

	test_reach(&cm, P_REQ_RCVD);
	m = test_get_again(&cm, DPA_CM_REQ).mad;
	cr_assert(m.mra.message == 0 && m.mra.service_timeout == 24 && m.tid == PEER_TID);
	cr_assert(m.mra.local_id == ID && m.mra.remote_id == PEER_ID);
	test_reach(&cm, P_REP_RCVD);
	cr_assert_eq(test_get_again(&cm, DPA_CM_REP).mad.mra.message, 1);
}

/* The RTU, with its private data, for each repeated REP. */
Test(cm_fields, rtu_again)
{
	struct dpav_cm_input in = test_input(DPA_CM_CONFIRM);
	struct dpav_cm cm;
	struct dpa_mad m;

	in.data = "go";
	in.len = 2;
	test_reach(&cm, P_REP_RCVD);
	m = test_step(&cm, &in).mad;
	cr_assert(m.rtu.local_id == ID && m.rtu.remote_id == PEER_ID && m.rtu.data[1] == 'o');
	for (int i = 0; i < 3; i++) {
		struct dpav_cm_effects out = test_get(&cm, DPA_CM_REP);

		cr_assert(out.send && memcmp(&out.mad, &m, sizeof(m)) == 0);
	}
}

Test(cm_fields, disconnect)
{
	struct dpav_cm_input in = test_input(DPA_CM_DISCONNECT);
	struct dpav_cm cm;
	struct dpa_mad m;

	in.data = "bye";
	in.len = 3;
	test_reach(&cm, P_PASSIVE);
	m = test_step(&cm, &in).mad;
	cr_assert(m.tid == OWN_TID && m.dreq.remote_qpn == PEER_QPN && m.dreq.data[0] == 'b');
	cr_assert(m.dreq.local_id == ID && m.dreq.remote_id == PEER_ID);
	test_reach(&cm, P_DREQ_RCVD);
	m = test_step(&cm, &in).mad;
	cr_assert(m.attr == DPA_CM_DREP && m.tid == PEER_TID && m.drep.data[0] == 'b');
	/* again, to a repeated DREQ: with its data */
	m = test_get(&cm, DPA_CM_DREQ).mad;
	cr_assert(m.attr == DPA_CM_DREP && m.drep.data[0] == 'b');
}

/* Without an owner the answer is sent at once, and no event is reported. */
Test(cm_fields, disconnects_that_cross_without_an_owner)
{
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	test_reach(&cm, P_DREQ_SENT);
	test_call(&cm, DPA_CM_DESTROY);
	out = test_get(&cm, DPA_CM_DREQ);
	cr_assert(out.mad.attr == DPA_CM_DREP && out.event.type == DPA_CM_EV_NONE && !out.done);
	cr_assert_eq(cm.state, DPA_CM_ST_TIMEWAIT);
}

Test(cm_fields, sidr)
{
	struct dpav_cm_input in = test_input(DPA_CM_SIDR_ANSWER);
	struct dpav_cm_effects out;
	struct dpav_cm cm;
	struct dpa_mad m;

	dpav_cm_init(&cm, &test_config);
	m = test_call(&cm, DPA_CM_RESOLVE).mad;
	cr_assert(m.sidr_req.request_id == ID && m.sidr_req.service_id == SERVICE);
	cr_assert(m.sidr_req.pkey == 0xffff && m.tid == OWN_TID);
	out = test_get(&cm, DPA_CM_SIDR_REP);
	cr_assert(out.event.status == 0 && out.event.qpn == PEER_QPN && out.event.qkey == 0x77);
	cr_assert_eq(out.event.len, 136);

	test_reach(&cm, P_SIDR_REQ_RCVD);
	cr_assert_eq(dpav_cm_record(&cm).live, DPA_CM_LIVE_SIDR);
	cr_assert_eq(memcmp(dpav_cm_record(&cm).gid, test_path.dgid, 16), 0);
	in.qkey = 0x01234567;
	m = test_step(&cm, &in).mad;
	cr_assert(m.sidr_rep.request_id == PEER_ID && m.sidr_rep.qpn == QPN && m.tid == PEER_TID);
	cr_assert(m.sidr_rep.qkey == 0x01234567 && m.sidr_rep.service_id == SERVICE);
	test_reach(&cm, P_SIDR_REQ_RCVD);
	m = test_call(&cm, DPA_CM_DESTROY).mad;
	cr_assert(m.sidr_rep.status == 2 && m.sidr_rep.qpn == 0);
}

/* One byte more than the field holds; a number with more bits. */
Test(cm_fields, too_much)
{
	static const struct {
		enum place p;
		enum dpav_cm_input_kind kind;
		size_t len;
	} t[] = {{P_IDLE, DPA_CM_CONNECT, 92},		{P_IDLE, DPA_CM_RESOLVE, 216},
		 {P_REQ_RCVD, DPA_CM_ACCEPT, 196},	{P_REP_RCVD, DPA_CM_CONFIRM, 224},
		 {P_REQ_RCVD, DPA_CM_REJECT, 148},	{P_ACTIVE, DPA_CM_DISCONNECT, 220},
		 {P_DREQ_RCVD, DPA_CM_DISCONNECT, 224}, {P_SIDR_REQ_RCVD, DPA_CM_SIDR_ANSWER, 136}};
	static const uint8_t bytes[256];
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct dpav_cm_input in = test_input(t[i].kind);

		in.data = bytes;
		in.len = t[i].len + 1;
		test_reach(&cm, t[i].p);
		cr_assert_eq(dpav_cm_step(&cm, &in, &out), EINVAL, "%d", t[i].kind);
		in.len = t[i].len;
		cr_assert_eq(dpav_cm_step(&cm, &in, &out), 0, "%d", t[i].kind);
		cr_assert(out.send);
	}
}

Test(cm_fields, numbers_that_are_too_large)
{
	struct dpav_cm_input in = test_input(DPA_CM_CONNECT);
	struct dpav_cm_effects out;
	struct dpav_cm cm;

	for (int i = 0; i < 6; i++) {
		struct dpav_cm_conn conn = test_conn;
		struct dpav_cm_path path = test_path;

		conn.qpn = i == 0 ? 1u << 24 : QPN;
		conn.vendor_id = i == 1 ? 1u << 24 : 0;
		path.flow_label = i == 2 ? 1u << 20 : 0;
		path.sl = i == 3 ? 16 : 0;
		path.mtu = i == 4 ? 6 : 3;
		path.life_time = i == 5 ? 32 : 18;
		in.conn = &conn;
		in.path = &path;
		dpav_cm_init(&cm, &test_config);
		cr_assert_eq(dpav_cm_step(&cm, &in, &out), EINVAL, "%d", i);
	}
}
