/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gid.c - choice of the addresses of a connection. Programs request a GID index that is often
 * hard-coded. If that is the loopback address, or of another family than the peer's, the two sides
 * choose another pair, by the same rule on the same two lists.
 */
#include <errno.h>
#include <string.h>
#include "rdma.h"

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t v6_loopback[16] = {[15] = 1};
static const uint8_t no_gid[16];

static bool is_v4_mapped(const uint8_t *g)
{
	return !memcmp(g, v4_prefix, sizeof(v4_prefix));
}

static bool is_loopback_gid(const uint8_t *g)
{
	return is_v4_mapped(g) ? g[12] == 127 : !memcmp(g, v6_loopback, 16);
}

static bool is_link_local_gid(const uint8_t *g)
{
	return g[0] == 0xfe && (g[1] & 0xc0) == 0x80;
}

/* Return whether one can send to the other, as far as the addresses show. */
static bool gids_match(const uint8_t *a, const uint8_t *b, bool same_host)
{
	if (is_v4_mapped(a) != is_v4_mapped(b))
		return false;
	if (is_loopback_gid(a) || is_loopback_gid(b))
		return is_loopback_gid(a) && is_loopback_gid(b) && same_host;
	return is_link_local_gid(a) == is_link_local_gid(b);
}

static bool get_gid(struct ibv_context *ctx, uint32_t index, uint8_t gid[16])
{
	union ibv_gid g;

	if (ibv_query_gid(ctx, 1, (int)index, &g) || !memcmp(g.raw, no_gid, 16))
		return false;
	memcpy(gid, g.raw, 16);
	return true;
}

static int table_len(struct ibv_context *ctx)
{
	struct ibv_port_attr port;

	return ibv_query_port(ctx, 1, &port) ? 0 : port.gid_tbl_len;
}

int dpa_rdma_gid_index(struct ibv_context *ctx, const uint8_t gid[16])
{
	uint8_t g[16];
	int len = table_len(ctx);

	for (int i = 0; i < len; i++)
		if (get_gid(ctx, (uint32_t)i, g) && !memcmp(g, gid, 16))
			return i;
	return -1;
}

int dpa_rdma_own_gids(struct ibv_context *ctx, uint32_t wish, struct dpa_rdma_details *own)
{
	uint32_t n = 0, len = (uint32_t)table_len(ctx);
	struct ibv_device_attr attr;

	if (get_gid(ctx, wish, own->gids[0]))
		n = 1;
	for (uint32_t i = 0; i < len && n < DPA_RDMA_DETAILS_GIDS; i++)
		if (!(n && i == wish) && get_gid(ctx, i, own->gids[n]))
			n++;
	own->num_gids = (uint8_t)n;
	own->node_guid = ibv_query_device(ctx, &attr) ? 0 : attr.sys_image_guid;
	return n ? 0 : ENODATA;
}

/* Return the order of the two lists, which is the same on both sides. */
static bool is_first_details(const struct dpa_rdma_details *a, const struct dpa_rdma_details *b)
{
	int d = memcmp(&a->node_guid, &b->node_guid, sizeof(a->node_guid));

	if (!d)
		d = memcmp(&a->qpn, &b->qpn, sizeof(a->qpn));
	return d <= 0;
}

void dpa_rdma_choose_gids(const struct dpa_rdma_details *own, const struct dpa_rdma_details *peer,
			  uint32_t *own_gid, uint32_t *peer_gid)
{
	bool same = own->node_guid && own->node_guid == peer->node_guid;
	bool first = is_first_details(own, peer);
	const struct dpa_rdma_details *a = first ? own : peer, *b = first ? peer : own;

	*own_gid = *peer_gid = 0;
	/* a peer without this library uses gids[0] */
	if (!own->node_guid || !peer->node_guid || gids_match(a->gids[0], b->gids[0], same))
		return;
	for (uint32_t i = 0; i < a->num_gids; i++)
		for (uint32_t j = 0; j < b->num_gids; j++)
			if (gids_match(a->gids[i], b->gids[j], same)) {
				*own_gid = first ? i : j;
				*peer_gid = first ? j : i;
				return;
			}
}
