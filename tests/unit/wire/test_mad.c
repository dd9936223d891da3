/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_mad.c - expected numbers of REQ, REP, REJ and DREQ are those that tshark 4.0 shows for the
 * same bytes, except flow label and rate: their places are those of Linux' ibta_vol1_c12.h (tshark
 * reads other bytes). tests/integration/decode/test_decode runs tshark itself.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <dpa_mad.h>

static void ramp(uint8_t p[DPA_MAD_BYTES], uint8_t attr)
{
	for (int i = 0; i < DPA_MAD_BYTES; i++)
		p[i] = (uint8_t)(i * 37 + 11);
	p[0] = 1;
	p[1] = 7;
	p[2] = 2;
	p[3] = 3;
	p[16] = 0;
	p[17] = attr;
	if (attr == DPA_CM_REJ)
		p[33] = 0x20;
	if (attr == DPA_CM_SIDR_REP)
		p[29] = 0x20;
}

static void decode(uint8_t attr, struct dpa_mad *m)
{
	uint8_t p[DPA_MAD_BYTES];

	ramp(p, attr);
	cr_assert_eq(dpa_mad_decode(p, sizeof(p), m), DPA_MAD_OK);
	cr_assert_eq(m->attr, attr);
}

Test(mad, request)
{
	struct dpa_mad m;

	decode(DPA_CM_REQ, &m);
	cr_assert_eq(m.status, 0x9fc4);
	cr_assert_eq(m.class_specific, 0xe90e);
	cr_assert_eq(m.tid, 0x33587da2c7ec1136);
	cr_assert_eq(m.modifier, 0xef14395e);
	cr_assert_eq(m.req.local_id, 0x83a8cdf2);
	cr_assert_eq(m.req.service_id, 0xabd0f51a3f6489ae);
	cr_assert_eq(m.req.ca_guid, 0xd3f81d42678cb1d6);
	cr_assert_eq(m.req.qkey, 0x8fb4d9fe);
	cr_assert_eq(m.req.qpn, 0x23486d);
	cr_assert_eq(m.req.responder_resources, 0x92);
	cr_assert_eq(m.req.eecn, 0xb7dc01);
	cr_assert_eq(m.req.initiator_depth, 0x26);
	cr_assert_eq(m.req.remote_eecn, 0x4b7095);
	cr_assert_eq(m.req.remote_cm_timeout, 0x17);
	cr_assert_eq(m.req.transport, 1);
	cr_assert_eq(m.req.flow_control, 0);
	cr_assert_eq(m.req.psn, 0xdf0429);
	cr_assert_eq(m.req.local_cm_timeout, 9);
	cr_assert_eq(m.req.retry_count, 6);
	cr_assert_eq(m.req.pkey, 0x7398);
	cr_assert_eq(m.req.path_mtu, 0xb);
	cr_assert_eq(m.req.rdc, 1);
	cr_assert_eq(m.req.rnr_retry, 5);
	cr_assert_eq(m.req.max_cm_retries, 0xe);
	cr_assert_eq(m.req.srq, 0);
	cr_assert_eq(m.req.ext_transport, 2);
}

Test(mad, paths)
{
	static const uint8_t gid[] = {0xf7, 0x1c, 0x41, 0x66, 0x8b, 0xb0, 0xd5, 0xfa,
				      0x1f, 0x44, 0x69, 0x8e, 0xb3, 0xd8, 0xfd, 0x22};
	struct dpa_mad m;

	decode(DPA_CM_REQ, &m);
	cr_assert_eq(m.req.primary_local_lid, 1836);
	cr_assert_eq(m.req.primary_remote_lid, 20854);
	cr_assert_eq(m.req.primary_flow_label, 0x3b608);
	cr_assert_eq(m.req.primary_rate, 0x2a);
	cr_assert_eq(m.req.primary_traffic_class, 0xcf);
	cr_assert_eq(m.req.primary_hop_limit, 0xf4);
	cr_assert_eq(m.req.primary_sl, 1);
	cr_assert_eq(m.req.primary_subnet_local, 1);
	cr_assert_eq(m.req.primary_ack_timeout, 7);
	cr_assert_eq(m.req.alternate_local_lid, 25480);
	cr_assert_eq(m.req.alternate_remote_lid, 44498);
	cr_assert_eq(memcmp(m.req.alternate_local_gid, gid, 16), 0);
	cr_assert_eq(m.req.alternate_traffic_class, 0x2b);
	cr_assert_eq(m.req.alternate_hop_limit, 0x50);
	cr_assert_eq(m.req.alternate_sl, 7);
	cr_assert_eq(m.req.alternate_subnet_local, 0);
	cr_assert_eq(m.req.alternate_ack_timeout, 0x13);
}

Test(mad, answers)
{
	struct dpa_mad m;

	decode(DPA_CM_REP, &m);
	cr_assert_eq(m.rep.local_id, 0x83a8cdf2);
	cr_assert_eq(m.rep.remote_id, 0x173c6186);
	cr_assert_eq(m.rep.qkey, 0xabd0f51a);
	cr_assert_eq(m.rep.qpn, 0x3f6489);
	cr_assert_eq(m.rep.eecn, 0xd3f81d);
	cr_assert_eq(m.rep.psn, 0x678cb1);
	cr_assert_eq(m.rep.responder_resources, 0xfb);
	cr_assert_eq(m.rep.initiator_depth, 0x20);
	cr_assert_eq(m.rep.target_ack_delay, 8);
	cr_assert_eq(m.rep.failover, 2);
	cr_assert_eq(m.rep.flow_control, 1);
	cr_assert_eq(m.rep.rnr_retry, 3);
	cr_assert_eq(m.rep.srq, 0);
	cr_assert_eq(m.rep.ca_guid, 0x8fb4d9fe23486d92);
	decode(DPA_CM_REJ, &m);
	cr_assert_eq(m.rej.message, 2);
	cr_assert_eq(m.rej.info_length, 0x10);
	cr_assert_eq(m.rej.reason, 0xf51a);
	decode(DPA_CM_DREQ, &m);
	cr_assert_eq(m.dreq.remote_qpn, 0xabd0f5);
}

/* Fields that tshark does not show: their places are those of rdma-core's and Linux' CM
 * (ibta_vol1_c12.h). */
Test(mad, by_the_specification)
{
	struct dpa_mad m;

	decode(DPA_CM_MRA, &m);
	cr_assert_eq(m.mra.message, 2);
	cr_assert_eq(m.mra.service_timeout, 0x1a);
	decode(DPA_CM_REP, &m);
	cr_assert_eq(m.rep.vendor_id_high, 0xae);
	cr_assert_eq(m.rep.vendor_id_mid, 0x42);
	cr_assert_eq(m.rep.vendor_id_low, 0xd6);
	decode(DPA_CM_SIDR_REQ, &m);
	cr_assert_eq(m.sidr_req.pkey, 0x173c);
	cr_assert_eq(m.sidr_req.service_id, 0xabd0f51a3f6489ae);
	decode(DPA_CM_SIDR_REP, &m);
	cr_assert_eq(m.sidr_rep.status, 0x17);
	cr_assert_eq(m.sidr_rep.vendor_id_high, 0x6186);
	cr_assert_eq(m.sidr_rep.qpn, 0xabd0f5);
	cr_assert_eq(m.sidr_rep.vendor_id_low, 0x1a);
	cr_assert_eq(m.sidr_rep.service_id, 0x3f6489aed3f81d42);
	cr_assert_eq(m.sidr_rep.qkey, 0x678cb1d6);
}

/* All bits that are set in a decoded message are encoded again; the others are reserved. */
Test(mad, back_and_forth)
{
	for (uint8_t attr = DPA_CM_REQ; attr <= DPA_CM_SIDR_REP; attr++) {
		uint8_t p[DPA_MAD_BYTES], q[DPA_MAD_BYTES];
		struct dpa_mad m, again;

		ramp(p, attr);
		decode(attr, &m);
		cr_assert(dpa_mad_encode(&m, q));
		cr_assert_eq(dpa_mad_decode(q, sizeof(q), &again), DPA_MAD_OK);
		cr_assert_eq(memcmp(&m, &again, sizeof(m)), 0, "attribute %#x", attr);
		for (int i = 0; i < DPA_MAD_BYTES; i++)
			cr_assert_eq(q[i] & ~p[i], 0, "attribute %#x, byte %d", attr, i);
		cr_assert_eq(memcmp(p + 232, q + 232, 24), 0, "attribute %#x", attr);
	}
}

static enum dpa_mad_verdict with(int at, uint8_t byte, uint8_t attr)
{
	uint8_t p[DPA_MAD_BYTES];
	struct dpa_mad m;

	ramp(p, attr);
	p[at] = byte;
	return dpa_mad_decode(p, sizeof(p), &m);
}

Test(mad, refusals)
{
	uint8_t p[DPA_MAD_BYTES];
	struct dpa_mad m;

	ramp(p, DPA_CM_REQ);
	cr_assert_eq(dpa_mad_decode(p, 255, &m), DPA_MAD_SIZE);
	cr_assert_eq(dpa_mad_decode(NULL, 0, &m), DPA_MAD_SIZE);
	cr_assert_eq(with(0, 2, DPA_CM_REQ), DPA_MAD_VERSION);
	cr_assert_eq(with(1, 3, DPA_CM_REQ), DPA_MAD_CLASS);
	cr_assert_eq(with(2, 1, DPA_CM_REQ), DPA_MAD_VERSION);
	cr_assert_eq(with(3, 1, DPA_CM_REQ), DPA_MAD_METHOD);
	cr_assert_eq(with(17, 0x0f, DPA_CM_REQ), DPA_MAD_ATTR);
	cr_assert_eq(with(17, 0x19, DPA_CM_REQ), DPA_MAD_ATTR);
	cr_assert_eq(with(16, 1, DPA_CM_REQ), DPA_MAD_ATTR);
	cr_assert_eq(with(33, 72 << 1, DPA_CM_REJ), DPA_MAD_OK);
	cr_assert_eq(with(33, 73 << 1, DPA_CM_REJ), DPA_MAD_INFO);
	cr_assert_eq(with(29, 72, DPA_CM_SIDR_REP), DPA_MAD_OK);
	cr_assert_eq(with(29, 73, DPA_CM_SIDR_REP), DPA_MAD_INFO);
}

Test(mad, too_large)
{
	uint8_t p[DPA_MAD_BYTES];
	struct dpa_mad m = {.attr = DPA_CM_DREQ, .dreq.remote_qpn = 0xffffff};

	cr_assert(dpa_mad_encode(&m, p));
	cr_assert_eq(memcmp(p + 32, "\xff\xff\xff", 4), 0);
	m.dreq.remote_qpn++;
	cr_assert_not(dpa_mad_encode(&m, p));
	cr_assert_eq(p[0], 0);
	m.attr = 0x19;
	cr_assert_not(dpa_mad_encode(&m, p));
}

Test(mad, ip_header)
{
	uint8_t p[DPA_CM_IP_BYTES] = {0, 0x40, 0x12, 0x34}, q[DPA_CM_IP_BYTES];
	struct dpa_cm_ip ip;

	memcpy(p + 16, "\x0a\x01\x01\x01", 4);
	memcpy(p + 32, "\x0a\x02\x02\x02", 4);
	cr_assert(dpa_cm_ip_decode(p, &ip));
	cr_assert_eq(ip.ip_version, 4);
	cr_assert_eq(ip.sport, 0x1234);
	cr_assert_eq(memcmp(ip.src + 12, p + 16, 4), 0);
	cr_assert_eq(memcmp(ip.dst + 12, p + 32, 4), 0);
	cr_assert(dpa_cm_ip_encode(&ip, q));
	cr_assert_eq(memcmp(p, q, sizeof(p)), 0);
	p[1] = 0x50;
	cr_assert_not(dpa_cm_ip_decode(p, &ip));
	p[0] = 1;
	p[1] = 0x60;
	cr_assert_not(dpa_cm_ip_decode(p, &ip));
}
