/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ah.c - address handles: an address vector in the device's form, ready to be copied into a WQE. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

/* True if a port of this context can send to the LID (link_layer = infiniband). */
static bool takes_lid(struct ibv_context *context, uint16_t dlid)
{
	struct dpa_hw_port_attr p;

	return dlid && !dpa_hw_query_port(to_dpa_ctx(context)->hw, &p) && p.lid;
}

/* RoCE has only GIDs as addresses (IBA annex A17): without a LID a global route is needed. */
int dpa_av_from_attr(struct ibv_context *context, const struct ibv_ah_attr *attr,
		     struct dpa_wqe_av *av)
{
	struct dpa_hw_gid gid;

	if (attr->port_num != 1)
		return EINVAL;
	memset(av, 0, sizeof(*av));
	if (!attr->is_global) {
		if (!takes_lid(context, attr->dlid))
			return EINVAL;
		av->sl = attr->sl;
		av->dlid = attr->dlid;
		av->static_rate = attr->static_rate;
		return 0;
	}
	if (dpa_hw_query_gid(to_dpa_ctx(context)->hw, attr->grh.sgid_index, &gid))
		return EINVAL;
	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
	av->flow_label = attr->grh.flow_label & 0xfffff;
	av->sgid_index = attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->traffic_class = attr->grh.traffic_class;
	av->sl = attr->sl;
	av->dlid = attr->dlid;
	av->static_rate = attr->static_rate;
	av->is_global = 1;
	return 0;
}

void dpa_av_to_attr(const struct dpa_wqe_av *av, struct ibv_ah_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->grh.dgid.raw, av->dgid, sizeof(av->dgid));
	attr->grh.flow_label = av->flow_label;
	attr->grh.sgid_index = av->sgid_index;
	attr->grh.hop_limit = av->hop_limit;
	attr->grh.traffic_class = av->traffic_class;
	attr->sl = av->sl;
	attr->dlid = av->dlid;
	attr->static_rate = av->static_rate;
	attr->is_global = av->is_global;
	attr->port_num = 1;
}

static void log_full(uint32_t limit)
{
	char text[64];

	snprintf(text, sizeof(text), "all %u address handles of this context are in use", limit);
	dpa_log_line(DPA_LOG_ERR, text);
}

struct ibv_ah *dpa_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct dpa_context *ctx = to_dpa_ctx(pd->context);
	struct dpa_ah *ah;
	int ret;

	if (!dpa_alive(pd->context))
		return dpa_null(EIO);
	if (atomic_fetch_add_explicit(&ctx->num_ah, 1, memory_order_relaxed) >= ctx->dev.max_ah) {
		log_full(ctx->dev.max_ah);
		ret = ENOMEM;
		goto err_count;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah) {
		ret = ENOMEM;
		goto err_count;
	}
	ret = dpa_av_from_attr(pd->context, attr, &ah->av);
	if (ret)
		goto err_attr;
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->of = to_dpa_pd(pd);
	atomic_fetch_add_explicit(&ah->of->refs, 1, memory_order_relaxed);
	return &ah->ah;

err_attr:
	free(ah);
err_count:
	atomic_fetch_sub_explicit(&ctx->num_ah, 1, memory_order_relaxed);
	return dpa_null(ret);
}

int dpa_destroy_ah(struct ibv_ah *ah)
{
	atomic_fetch_sub_explicit(&to_dpa_ctx(ah->context)->num_ah, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&to_dpa_ah(ah)->of->refs, 1, memory_order_release);
	free(to_dpa_ah(ah));
	return 0;
}
