/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* query.c - queries of librdmacm about an id. node_guid 0: the id has no device. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "cma/cma.h"

static bool has_path(const struct cma_id *id)
{
	return id->state == CMA_ROUTE_DONE || id->state == CMA_CONNECT ||
	       id->state == CMA_DISCONNECT;
}

static void put_path_rec(const struct dpav_cm_path *p, struct ib_user_path_rec *rec)
{
	memcpy(rec->dgid, p->dgid, 16);
	memcpy(rec->sgid, p->sgid, 16);
	rec->flow_label = htonl(p->flow_label);
	rec->reversible = 1;
	rec->mtu = p->mtu;
	rec->pkey = htons(p->pkey);
	rec->hop_limit = p->hop_limit;
	rec->traffic_class = p->traffic_class;
	rec->numb_path = 1;
	rec->sl = p->sl;
	rec->mtu_selector = 2; /* exactly */
	rec->rate_selector = 2;
	rec->packet_life_time_selector = 2;
	rec->packet_life_time = p->life_time;
}

int cma_query_route(struct cma_channel *ch, uint32_t num, struct rdma_ucm_query_route_resp *resp)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err) {
		if (id->src.family != CMA_AF_IB)
			memcpy(&resp->src_addr, &id->src, cma_addr_len(&id->src));
		if (id->dst.family != CMA_AF_IB)
			memcpy(&resp->dst_addr, &id->dst, cma_addr_len(&id->dst));
		if (id->has_device) {
			resp->node_guid = cma.node_guid;
			resp->port_num = 1;
			cma_addr_gid(&id->src, resp->ib_route[0].sgid);
			cma_addr_gid(&id->dst, resp->ib_route[0].dgid);
			resp->ib_route[0].pkey = 0xffff;
		}
		if (id->has_device && has_path(id)) {
			resp->num_paths = 1;
			put_path_rec(&id->path, &resp->ib_route[0]);
		}
	}
	cma_unlock();
	return err;
}

/* Option GID: both addresses as struct sockaddr_ib. */
static void as_gid(const union cma_addr *a, uint64_t sid, union cma_addr *ib)
{
	memset(ib, 0, sizeof(*ib));
	ib->ib.family = CMA_AF_IB;
	ib->ib.pkey = 0xffff;
	cma_addr_gid(a, ib->ib.addr);
	ib->ib.sid = htobe64(sid);
	ib->ib.sid_mask = UINT64_MAX;
}

static uint64_t sid_of(const struct cma_id *id, const union cma_addr *a)
{
	return (uint64_t)id->ps << 16 | cma_addr_port(a);
}

int cma_query_addr(struct cma_channel *ch, uint32_t num, bool gid,
		   struct rdma_ucm_query_addr_resp *resp)
{
	union cma_addr src, dst;
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err) {
		src = id->src;
		dst = id->dst;
		if (gid && src.family != CMA_AF_IB) {
			as_gid(&id->src, sid_of(id, &id->src), &src);
			as_gid(&id->dst, sid_of(id, &id->dst), &dst);
		}
		resp->src_size = (uint16_t)cma_addr_len(&src);
		resp->dst_size = (uint16_t)cma_addr_len(&dst);
		memcpy(&resp->src_addr, &src, resp->src_size);
		memcpy(&resp->dst_addr, &dst, resp->dst_size);
		if (id->has_device) {
			resp->node_guid = cma.node_guid;
			resp->port_num = 1;
			resp->pkey = 0xffff;
		}
	}
	cma_unlock();
	return err;
}

/* IBA table 209: a PathRecord in its wire format. */
static void put_record(const struct dpav_cm_path *p, uint8_t *r)
{
	const uint32_t flow = htonl(p->flow_label << 8 | p->hop_limit);
	const uint16_t pkey = htons(p->pkey);

	memcpy(r + 8, p->dgid, 16);
	memcpy(r + 24, p->sgid, 16);
	memcpy(r + 44, &flow, 4);
	r[48] = p->traffic_class;
	r[49] = 0x81; /* reversible, one path */
	memcpy(r + 50, &pkey, 2);
	r[53] = p->sl & 0xf;
	r[54] = (uint8_t)(0x80 | p->mtu);
	r[55] = 0x80;
	r[56] = (uint8_t)(0x80 | p->life_time);
}

int cma_query_path(struct cma_channel *ch, uint32_t num, struct cma_path_resp *resp)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err && id->has_device && has_path(id)) {
		resp->num_paths = 1;
		resp->path.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
		put_record(&id->path, (uint8_t *)resp->path.path_rec);
	}
	cma_unlock();
	return err;
}

int cma_query_unknown(struct cma_channel *ch, uint32_t num)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	cma_unlock();
	return err ? err : ENOSYS;
}
