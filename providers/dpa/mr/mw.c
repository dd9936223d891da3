/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mw.c - memory windows. A bind is work of a send queue; the user posts the bind of a type 2
 * window.
 */
#include <stdlib.h>
#include "dpa.h"

struct ibv_mw *dpa_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct dpa_mw *mw;
	int ret;

	if (!dpa_alive(pd->context))
		return dpa_null(EIO);
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return dpa_null(EINVAL);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	ret = dpa_hw_alloc_mw(to_dpa_ctx(pd->context)->hw, to_dpa_pd(pd)->pdn, (uint32_t)type,
			      &mw->key);
	if (ret) {
		free(mw);
		return dpa_null(ret);
	}
	mw->mw.context = pd->context;
	mw->mw.pd = pd;
	mw->mw.rkey = mw->mw.handle = mw->key;
	mw->mw.type = type;
	return &mw->mw;
}

int dpa_dealloc_mw(struct ibv_mw *mw)
{
	int ret = 0;

	if (dpa_alive(mw->context))
		ret = dpa_hw_dealloc_mw(to_dpa_ctx(mw->context)->hw, to_dpa_mw(mw)->key);
	if (!ret)
		free(to_dpa_mw(mw));
	return ret;
}

/*
 * Type 1: the verb chooses the new key (IBA 10.6.7.2.3). It posts the work request of a type 2
 * window; the device has the type of the window. The device detects different protection domains,
 * in the order of the queue: MW_BIND_ERR, as adapters do.
 */
int dpa_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct dpa_mw window = *to_dpa_mw(mw);
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {.mw = &window.mw, .bind_info = bind->bind_info},
	};
	struct ibv_send_wr *bad;
	int ret;

	window.mw.type = IBV_MW_TYPE_2;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	ret = dpa_post_send(qp, &wr, &bad);
	if (!ret)
		mw->rkey = window.mw.rkey;
	return ret;
}

static_assert((int)DPA_MW_TYPE_1 == (int)IBV_MW_TYPE_1, "window type");
static_assert((int)DPA_MW_TYPE_2 == (int)IBV_MW_TYPE_2, "window type");
