/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* find.c - selects the endpoint that a MAD is for. */
#include <dpa_cm_port.h>
#include <dpa_mad.h>
#include "ctx/hw.h"
#include "gsi/gsi.h"

/* Offsets in the MAD header (IBA 13.4.3), and in the messages behind it (IBA 12.6). */
enum {
	AT_BASE = 0,
	AT_CLASS = 1,
	AT_CLASS_VERSION = 2,
	AT_METHOD = 3,
	AT_ATTR = 16,
	AT_LOCAL_ID = DPA_MAD_HDR,
	AT_REMOTE_ID = DPA_MAD_HDR + 4,
	AT_SERVICE = DPA_MAD_HDR + 8,
	AT_REQ_DATA = DPA_MAD_HDR + 140,
	AT_SIDR_DATA = DPA_MAD_HDR + 16,
	AT_REJ_LENGTH = DPA_MAD_HDR + 9,
	AT_REJ_INFO = DPA_MAD_HDR + 12,
};

/* Services of rdma_cm whose requests have an IP CM header (IBA annex A11). */
#define IP_SERVICES(id) ((id) >> 24 == 1 || (id) >> 16 == 2)

static uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t get_be64(const uint8_t *p)
{
	return (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
}

/* An IPv4 address is in the last 4 bytes of the field; it becomes an IPv4-mapped GID. */
static bool ip_dst(const uint8_t *data, uint8_t gid[16])
{
	struct dpa_cm_ip ip;

	if (!dpa_cm_ip_decode(data, &ip))
		return false;
	memcpy(gid, ip.dst, 16);
	if (ip.ip_version == 4) {
		memset(gid, 0, 10);
		gid[10] = gid[11] = 0xff;
	}
	return true;
}

static void request_key(const uint8_t *mad, struct dpa_gsi_key *k)
{
	k->request = true;
	k->service_id = get_be64(mad + AT_SERVICE);
	k->has_ip = IP_SERVICES(k->service_id) &&
		    ip_dst(mad + (k->attr == DPA_CM_REQ ? AT_REQ_DATA : AT_SIDR_DATA), k->ip_dst);
}

/*
 * The sender of a REJ may have no id of the peer: then the REJ has the GUID of its CA (IBA
 * 12.6.7.2, reason 4).
 */
static void reject_key(const uint8_t *mad, struct dpa_gsi_key *k)
{
	k->from_id = get_be32(mad + AT_LOCAL_ID);
	if (mad[AT_REJ_LENGTH] >> 1 >= 8)
		memcpy(&k->guid, mad + AT_REJ_INFO, 8);
}

bool dpa_gsi_key(const uint8_t *mad, struct dpa_gsi_key *k)
{
	memset(k, 0, sizeof(*k));
	if (mad[AT_BASE] != 1 || mad[AT_CLASS] != 7 || mad[AT_CLASS_VERSION] != 2 ||
	    mad[AT_METHOD] != 3)
		return false;
	k->attr = (uint16_t)(mad[AT_ATTR] << 8 | mad[AT_ATTR + 1]);
	switch (k->attr) {
	case DPA_CM_REQ:
	case DPA_CM_SIDR_REQ:
		request_key(mad, k);
		return true;
	case DPA_CM_SIDR_REP:
		k->to_id = get_be32(mad + AT_LOCAL_ID); /* the receiver chose the request id */
		return true;
	case DPA_CM_REJ:
		reject_key(mad, k);
		k->to_id = get_be32(mad + AT_REMOTE_ID);
		return true;
	case DPA_CM_MRA:
	case DPA_CM_REP:
	case DPA_CM_RTU:
	case DPA_CM_DREQ:
	case DPA_CM_DREP:
		k->to_id = get_be32(mad + AT_REMOTE_ID);
		return true;
	}
	return false;
}

static enum dpa_gsi_whose by_service(struct dpa_hw *hw, const struct dpa_gsi_key *k,
				     const uint8_t dgid[16], struct dpa_board_gsi *g)
{
	if (k->has_ip && dpa_board_service_find(hw->board, k->service_id, k->ip_dst, g))
		return DPA_GSI_PROCESS;
	/* The bytes may be data of the program: a request of AF_IB has no such header. */
	if (dpa_board_service_find(hw->board, k->service_id, dgid, g))
		return DPA_GSI_PROCESS;
	return IP_SERVICES(k->service_id) && dpa_cm_port_listens((uint16_t)(k->service_id >> 16),
								 (uint16_t)k->service_id)
		       ? DPA_GSI_BOARD
		       : DPA_GSI_NOBODY;
}

enum dpa_gsi_whose dpa_gsi_find(struct dpa_hw *hw, const struct dpa_gsi_key *k,
				const uint8_t dgid[16], struct dpa_board_gsi *g, uint32_t *num)
{
	const uint32_t board = k->to_id >> 24;

	*num = 0;
	if (k->request)
		return by_service(hw, k, dgid, g);
	if (!k->to_id)
		return k->from_id && k->guid &&
				       dpa_board_cmid_of_peer(hw->board, k->from_id, k->guid, g)
			       ? DPA_GSI_PROCESS
			       : DPA_GSI_NOBODY;
	if (board == hw->board->board_num)
		return dpa_board_cmid_owner(hw->board, k->to_id, g) ? DPA_GSI_PROCESS
								    : DPA_GSI_NOBODY;
	if (!board || board > 254)
		return DPA_GSI_NOBODY;
	*num = board;
	return DPA_GSI_BOARD;
}
