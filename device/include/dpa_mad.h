/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_mad.h - messages of the communication manager (IBA chapter 12): 256 bytes to a struct, and
 * back. Pure functions: they keep nothing, and any thread may call them.
 */
#ifndef DPA_MAD_H
#define DPA_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_MAD_BYTES 256
#define DPA_MAD_HDR   24 /* MAD header (IBA 13.4.3) */

enum dpa_cm_attr { /* AttributeID, IBA table 108 */
		   DPA_CM_REQ = 0x10,
		   DPA_CM_MRA,
		   DPA_CM_REJ,
		   DPA_CM_REP,
		   DPA_CM_RTU,
		   DPA_CM_DREQ,
		   DPA_CM_DREP,
		   DPA_CM_SIDR_REQ,
		   DPA_CM_SIDR_REP,
};

enum dpa_mad_verdict {
	DPA_MAD_OK,
	DPA_MAD_SIZE,	 /* not 256 bytes */
	DPA_MAD_VERSION, /* of the MAD header or the class */
	DPA_MAD_CLASS,	 /* not of the class communication management */
	DPA_MAD_METHOD,	 /* not ComMgtSend */
	DPA_MAD_ATTR,	 /* LAP, APR, or an unknown one */
	DPA_MAD_INFO,	 /* the information does not fit its field */
};

/*
 * The fields of a message `m`. U(m, bits of its type, name, byte after the header, bit from the
 * top, bits) is a number, B(m, name, byte, length) an array of bytes.
 */
#define DPA_CM_PATH_FIELDS(U, B, m, p, at)                                                         \
	U(m, 16, p##_local_lid, (at), 0, 16)                                                       \
	U(m, 16, p##_remote_lid, (at) + 2, 0, 16)                                                  \
	B(m, p##_local_gid, (at) + 4, 16)                                                          \
	B(m, p##_remote_gid, (at) + 20, 16)                                                        \
	U(m, 32, p##_flow_label, (at) + 36, 0, 20)                                                 \
	U(m, 8, p##_rate, (at) + 39, 2, 6)                                                         \
	U(m, 8, p##_traffic_class, (at) + 40, 0, 8)                                                \
	U(m, 8, p##_hop_limit, (at) + 41, 0, 8)                                                    \
	U(m, 8, p##_sl, (at) + 42, 0, 4)                                                           \
	U(m, 8, p##_subnet_local, (at) + 42, 4, 1)                                                 \
	U(m, 8, p##_ack_timeout, (at) + 43, 0, 5)

#define DPA_CM_REQ_FIELDS(U, B, m)                                                                 \
	U(m, 32, local_id, 0, 0, 32)                                                               \
	U(m, 32, vendor_id, 5, 0, 24)                                                              \
	U(m, 64, service_id, 8, 0, 64)                                                             \
	U(m, 64, ca_guid, 16, 0, 64)                                                               \
	U(m, 32, qkey, 28, 0, 32)                                                                  \
	U(m, 32, qpn, 32, 0, 24)                                                                   \
	U(m, 8, responder_resources, 35, 0, 8)                                                     \
	U(m, 32, eecn, 36, 0, 24)                                                                  \
	U(m, 8, initiator_depth, 39, 0, 8)                                                         \
	U(m, 32, remote_eecn, 40, 0, 24)                                                           \
	U(m, 8, remote_cm_timeout, 43, 0, 5)                                                       \
	U(m, 8, transport, 43, 5, 2)                                                               \
	U(m, 8, flow_control, 43, 7, 1)                                                            \
	U(m, 32, psn, 44, 0, 24)                                                                   \
	U(m, 8, local_cm_timeout, 47, 0, 5)                                                        \
	U(m, 8, retry_count, 47, 5, 3)                                                             \
	U(m, 16, pkey, 48, 0, 16)                                                                  \
	U(m, 8, path_mtu, 50, 0, 4)                                                                \
	U(m, 8, rdc, 50, 4, 1)                                                                     \
	U(m, 8, rnr_retry, 50, 5, 3)                                                               \
	U(m, 8, max_cm_retries, 51, 0, 4)                                                          \
	U(m, 8, srq, 51, 4, 1)                                                                     \
	U(m, 8, ext_transport, 51, 5, 3)                                                           \
	DPA_CM_PATH_FIELDS(U, B, m, primary, 52)                                                   \
	DPA_CM_PATH_FIELDS(U, B, m, alternate, 96)                                                 \
	B(m, data, 140, 92)

#define DPA_CM_IDS(U, m) U(m, 32, local_id, 0, 0, 32) U(m, 32, remote_id, 4, 0, 32)

#define DPA_CM_MRA_FIELDS(U, B, m)                                                                 \
	DPA_CM_IDS(U, m)                                                                           \
	U(m, 8, message, 8, 0, 2) U(m, 8, service_timeout, 9, 0, 5) B(m, data, 10, 222)

#define DPA_CM_REJ_FIELDS(U, B, m)                                                                 \
	DPA_CM_IDS(U, m)                                                                           \
	U(m, 8, message, 8, 0, 2)                                                                  \
	U(m, 8, info_length, 9, 0, 7)                                                              \
	U(m, 16, reason, 10, 0, 16)                                                                \
	B(m, info, 12, 72)                                                                         \
	B(m, data, 84, 148)

#define DPA_CM_REP_FIELDS(U, B, m)                                                                 \
	DPA_CM_IDS(U, m)                                                                           \
	U(m, 32, qkey, 8, 0, 32)                                                                   \
	U(m, 32, qpn, 12, 0, 24)                                                                   \
	U(m, 8, vendor_id_high, 15, 0, 8)                                                          \
	U(m, 32, eecn, 16, 0, 24)                                                                  \
	U(m, 8, vendor_id_mid, 19, 0, 8)                                                           \
	U(m, 32, psn, 20, 0, 24)                                                                   \
	U(m, 8, vendor_id_low, 23, 0, 8)                                                           \
	U(m, 8, responder_resources, 24, 0, 8)                                                     \
	U(m, 8, initiator_depth, 25, 0, 8)                                                         \
	U(m, 8, target_ack_delay, 26, 0, 5)                                                        \
	U(m, 8, failover, 26, 5, 2)                                                                \
	U(m, 8, flow_control, 26, 7, 1)                                                            \
	U(m, 8, rnr_retry, 27, 0, 3)                                                               \
	U(m, 8, srq, 27, 3, 1)                                                                     \
	U(m, 64, ca_guid, 28, 0, 64)                                                               \
	B(m, data, 36, 196)

#define DPA_CM_RTU_FIELDS(U, B, m) DPA_CM_IDS(U, m) B(m, data, 8, 224)
#define DPA_CM_DREQ_FIELDS(U, B, m)                                                                \
	DPA_CM_IDS(U, m) U(m, 32, remote_qpn, 8, 0, 24) B(m, data, 12, 220)
#define DPA_CM_DREP_FIELDS(U, B, m) DPA_CM_IDS(U, m) B(m, data, 8, 224)

#define DPA_CM_SIDR_REQ_FIELDS(U, B, m)                                                            \
	U(m, 32, request_id, 0, 0, 32)                                                             \
	U(m, 16, pkey, 4, 0, 16)                                                                   \
	U(m, 64, service_id, 8, 0, 64)                                                             \
	B(m, data, 16, 216)

#define DPA_CM_SIDR_REP_FIELDS(U, B, m)                                                            \
	U(m, 32, request_id, 0, 0, 32)                                                             \
	U(m, 8, status, 4, 0, 8)                                                                   \
	U(m, 8, info_length, 5, 0, 8)                                                              \
	U(m, 16, vendor_id_high, 6, 0, 16)                                                         \
	U(m, 32, qpn, 8, 0, 24)                                                                    \
	U(m, 8, vendor_id_low, 11, 0, 8)                                                           \
	U(m, 64, service_id, 12, 0, 64)                                                            \
	U(m, 32, qkey, 20, 0, 32)                                                                  \
	B(m, info, 24, 72)                                                                         \
	B(m, data, 96, 136)

/* clang-format off */
#define DPA_CM_U(m, type, name, byte, bit, bits) uint##type##_t name;
#define DPA_CM_B(m, name, byte, len) uint8_t name[len];
/* Numbers in host order. */
struct dpa_mad {
	/* attr: enum dpa_cm_attr, selects the valid member */
	uint16_t status, class_specific, attr;
	uint32_t modifier;
	uint64_t tid;
	union {
		struct { DPA_CM_REQ_FIELDS(DPA_CM_U, DPA_CM_B, req) } req;
		struct { DPA_CM_MRA_FIELDS(DPA_CM_U, DPA_CM_B, mra) } mra;
		struct { DPA_CM_REJ_FIELDS(DPA_CM_U, DPA_CM_B, rej) } rej;
		struct { DPA_CM_REP_FIELDS(DPA_CM_U, DPA_CM_B, rep) } rep;
		struct { DPA_CM_RTU_FIELDS(DPA_CM_U, DPA_CM_B, rtu) } rtu;
		struct { DPA_CM_DREQ_FIELDS(DPA_CM_U, DPA_CM_B, dreq) } dreq;
		struct { DPA_CM_DREP_FIELDS(DPA_CM_U, DPA_CM_B, drep) } drep;
		struct { DPA_CM_SIDR_REQ_FIELDS(DPA_CM_U, DPA_CM_B, sidr_req) } sidr_req;
		struct { DPA_CM_SIDR_REP_FIELDS(DPA_CM_U, DPA_CM_B, sidr_rep) } sidr_rep;
	};
};
#undef DPA_CM_U
#undef DPA_CM_B
/* clang-format on */

/*
 * Call fn(arg, name, number) for each number among the message's fields, in the order on the wire;
 * arrays are left out. m->attr must be one of enum dpa_cm_attr; otherwise there is none.
 */
typedef void dpa_mad_field_fn(void *arg, const char *name, uint64_t v);
void dpa_mad_each(const struct dpa_mad *m, dpa_mad_field_fn *fn, void *arg);
/* Return "REQ", "SIDR_REP", ...; "?" for an unknown number. */
const char *dpa_mad_attr_name(uint16_t attr);
/* Return the reason why a message was refused; never NULL. */
const char *dpa_mad_verdict_name(enum dpa_mad_verdict v);

/*
 * Reserved bits are ignored. *m is set completely if the verdict is DPA_MAD_OK; otherwise it is
 * cleared.
 */
enum dpa_mad_verdict dpa_mad_decode(const uint8_t *p, size_t n, struct dpa_mad *m);

/*
 * Write all of p, reserved bits as 0. False, and p all 0: a number is too large for its field, or
 * decode would refuse the result.
 */
bool dpa_mad_encode(const struct dpa_mad *m, uint8_t p[DPA_MAD_BYTES]);

#define DPA_MAD_QPN  1u /* QP1, and the Q_Key of its datagrams (IBA 10.2.5) */
#define DPA_MAD_QKEY 0x80010000u

/* the first bytes of the private data of REQ and SIDR_REQ (IBA annex A11) */
#define DPA_CM_IP_BYTES 36

struct dpa_cm_ip {
	uint8_t ip_version; /* 4 or 6 */
	uint16_t sport;	    /* port of the active side, host order */
	uint8_t src[16];    /* an IPv4 address is the last 4 bytes, the rest is 0 */
	uint8_t dst[16];
};

/* False, and *ip all 0: not version 0 of the header, or neither IPv4 nor IPv6. */
bool dpa_cm_ip_decode(const uint8_t p[DPA_CM_IP_BYTES], struct dpa_cm_ip *ip);

/* False, and p all 0: neither IPv4 nor IPv6. */
bool dpa_cm_ip_encode(const struct dpa_cm_ip *ip, uint8_t p[DPA_CM_IP_BYTES]);

#endif
