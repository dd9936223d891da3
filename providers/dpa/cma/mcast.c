/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mcast.c - multicast. RoCE needs no request to a subnet manager: the event has the address handle
 * of the group, and librdmacm attaches the QP, for which the device joins the group.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"
#include "cma/kernel.h"

#define MCAST_QPN 0xffffff

static uint32_t free_mcast_number(void)
{
	struct cma_mc **mcs;
	uint32_t n = cma.num_mcs, i = 0;

	while (i < n && cma.mcs[i])
		i++;
	if (i < n)
		return i + 1;
	mcs = realloc(cma.mcs, (n + 16) * sizeof(struct cma_mc *));
	if (!mcs)
		return 0;
	memset(mcs + n, 0, 16 * sizeof(struct cma_mc *));
	cma.mcs = mcs;
	cma.num_mcs = n + 16;
	return n + 1;
}

static void tell_joined(struct cma_mc *mc, const union cma_addr *group)
{
	struct cma_event *e = cma_event_new(mc->id, CMA_MULTICAST_JOIN, 0);
	struct dpav_cm_path path = {.port = 1,
				    .hop_limit = 64,
				    .sgid_index = (uint8_t)mc->id->sgid_index,
				    .traffic_class = mc->id->tos_set ? mc->id->tos : 0};

	if (!e)
		return;
	cma_addr_gid(group, path.dgid);
	e->mc = mc;
	e->resp.uid = mc->uid;
	e->resp.id = mc->num;
	e->resp.param.ud.qp_num = MCAST_QPN;
	e->resp.param.ud.qkey = CMA_UD_QKEY;
	cma_put_ah(&path, &e->resp.param.ud.ah_attr);
	cma_event_queue(e);
}

struct cma_mc *cma_mc_new(struct cma_id *id, uint64_t uid)
{
	struct cma_mc *mc = calloc(1, sizeof(*mc));

	if (!mc)
		return NULL;
	mc->num = free_mcast_number();
	if (!mc->num) {
		free(mc);
		return NULL;
	}
	mc->id = id;
	mc->uid = uid;
	mc->next = id->mcs;
	id->mcs = mc;
	cma.mcs[mc->num - 1] = mc;
	return mc;
}

static int join_mcast(struct cma_id *id, uint64_t uid, const union cma_addr *group, uint32_t *num)
{
	struct cma_mc *mc;

	if (id->qp_type != IBV_QPT_UD || !id->has_device)
		return EINVAL;
	if (id->state != CMA_BOUND && id->state != CMA_ADDR_DONE)
		return EINVAL;
	if (group->family == AF_INET6)
		return EOPNOTSUPP; /* as in the kernel on RoCEv2, which joins by IGMP only */
	if (group->family != AF_INET || !cma_addr_is_multicast(group))
		return EINVAL;
	mc = cma_mc_new(id, uid);
	if (!mc)
		return ENOMEM;
	*num = mc->num;
	tell_joined(mc, group);
	return 0;
}

int cma_join(struct cma_channel *ch, uint32_t num, uint64_t uid, const union cma_addr *group,
	     uint16_t flags, uint32_t *mc_num)
{
	struct cma_id *id;
	int err;

	if (flags != RDMA_MC_JOIN_FLAG_FULLMEMBER && flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return EINVAL;
	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err)
		err = join_mcast(id, uid, group, mc_num);
	cma_unlock();
	return err;
}

void cma_mc_free(struct cma_mc *mc)
{
	struct cma_mc **p = &mc->id->mcs;

	while (*p != mc)
		p = &(*p)->next;
	*p = mc->next;
	cma_events_drop(mc->id, mc);
	cma.mcs[mc->num - 1] = NULL;
	free(mc);
}

int cma_leave(struct cma_channel *ch, uint32_t num, uint32_t *reported)
{
	struct cma_mc *mc;
	int err = ENOENT;

	cma_lock();
	mc = num && num <= cma.num_mcs ? cma.mcs[num - 1] : NULL;
	if (mc)
		err = mc->id->channel == ch ? 0 : EINVAL;
	if (!err && mc->kernel)
		err = cma_kernel_leave(mc);
	if (!err) {
		*reported = mc->events_reported;
		cma_mc_free(mc);
	}
	cma_unlock();
	return err;
}

void cma_leave_all(struct cma_id *id)
{
	while (id->mcs)
		cma_mc_free(id->mcs);
}
