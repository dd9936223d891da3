/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Protection domains and memory regions. */
#include <stdlib.h>
#include "dpa.h"

struct ibv_pd *dpa_alloc_pd(struct ibv_context *context)
{
	struct dpa_pd *pd;
	int ret;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ret = dpa_hw_alloc_pd(to_dpa_ctx(context)->hw, &pd->pdn);
	if (ret) {
		free(pd);
		return dpa_null(ret);
	}
	pd->pd.context = context;
	pd->pd.handle = pd->pdn;
	return &pd->pd;
}

int dpa_dealloc_pd(struct ibv_pd *ibpd)
{
	struct dpa_pd *pd = to_dpa_pd(ibpd);
	int ret = 0;

	if (dpa_alive(ibpd->context))
		ret = dpa_hw_dealloc_pd(to_dpa_ctx(ibpd->context)->hw, pd->pdn);
	if (!ret)
		free(pd);
	return ret;
}

/*
 * A zero based region is one whose iova is 0: the device needs no flag for it. On-demand paging is
 * not there. Optional bits that the device does not know may be ignored, by their definition.
 */
static int mr_access(int access, uint32_t *hw_access)
{
	const uint32_t known = DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_WRITE |
			       DPA_ACCESS_REMOTE_READ | DPA_ACCESS_REMOTE_ATOMIC |
			       DPA_ACCESS_MW_BIND | DPA_ACCESS_HUGETLB |
			       DPA_ACCESS_RELAXED_ORDERING;
	uint32_t a = (uint32_t)access & ~(uint32_t)IBV_ACCESS_ZERO_BASED;

	if (a & IBV_ACCESS_ON_DEMAND)
		return EOPNOTSUPP;
	a &= known | ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE;
	if (a & ~known)
		return EINVAL;
	if (a & (DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_ATOMIC) &&
	    !(a & DPA_ACCESS_LOCAL_WRITE))
		return EINVAL;
	*hw_access = a;
	return 0;
}

static int mr_attr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access,
		   struct dpa_mr_attr *attr)
{
	*attr = (struct dpa_mr_attr){
		.pdn = pd ? to_dpa_pd(pd)->pdn : 0,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
	};
	return mr_access(access, &attr->access);
}

struct ibv_mr *dpa_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct dpa_mr_attr attr;
	struct dpa_mr *mr;
	uint32_t key;
	int ret;

	if (!dpa_alive(pd->context))
		return dpa_null(EIO);
	ret = mr_attr(pd, addr, length, iova, access, &attr);
	if (ret)
		return dpa_null(ret);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	ret = dpa_hw_reg_mr(to_dpa_ctx(pd->context)->hw, &attr, &key);
	if (ret) {
		free(mr);
		return dpa_null(ret);
	}
	mr->vmr.mr_type = IBV_MR_TYPE_MR;
	mr->vmr.access = access;
	mr->vmr.ibv_mr.context = pd->context;
	mr->vmr.ibv_mr.pd = pd;
	mr->vmr.ibv_mr.addr = addr;
	mr->vmr.ibv_mr.length = length;
	mr->vmr.ibv_mr.handle = key;
	mr->vmr.ibv_mr.lkey = key;
	mr->vmr.ibv_mr.rkey = key;
	return &mr->vmr.ibv_mr;
}

int dpa_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct ibv_mr *mr = &vmr->ibv_mr;
	int new_access = flags & IBV_REREG_MR_CHANGE_ACCESS ? access : vmr->access;
	struct dpa_mr_attr attr;
	uint32_t key = mr->lkey;
	int ret;

	if (!dpa_alive(mr->context))
		return EIO;
	if (!flags || ((flags & IBV_REREG_MR_CHANGE_PD) && !pd))
		return EINVAL;
	/* whether the iova is 0 is part of the translation */
	if ((new_access ^ vmr->access) & IBV_ACCESS_ZERO_BASED &&
	    !(flags & IBV_REREG_MR_CHANGE_TRANSLATION))
		return EINVAL;
	ret = mr_attr(flags & IBV_REREG_MR_CHANGE_PD ? pd : NULL, addr, length, (uintptr_t)addr,
		      new_access, &attr);
	if (ret)
		return ret;
	ret = dpa_hw_rereg_mr(to_dpa_ctx(mr->context)->hw, &key, (uint32_t)flags, &attr);
	if (ret)
		return ret;
	mr->handle = key;
	mr->lkey = key;
	mr->rkey = key;
	vmr->access = new_access;
	return 0;
}

int dpa_dereg_mr(struct verbs_mr *vmr)
{
	struct ibv_mr *mr = &vmr->ibv_mr;
	int ret = 0;

	if (dpa_alive(mr->context))
		ret = dpa_hw_dereg_mr(to_dpa_ctx(mr->context)->hw, mr->lkey);
	if (!ret)
		free(vmr);
	return ret;
}

#define SAME(a, b) static_assert((int)(a) == (int)(b), #a)
SAME(DPA_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(DPA_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
SAME(DPA_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
SAME(DPA_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(DPA_ACCESS_MW_BIND, IBV_ACCESS_MW_BIND);
SAME(DPA_ACCESS_ZERO_BASED, IBV_ACCESS_ZERO_BASED);
SAME(DPA_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
SAME(DPA_ACCESS_HUGETLB, IBV_ACCESS_HUGETLB);
SAME(DPA_ACCESS_RELAXED_ORDERING, IBV_ACCESS_RELAXED_ORDERING);
SAME(DPA_REREG_TRANSLATION, IBV_REREG_MR_CHANGE_TRANSLATION);
SAME(DPA_REREG_PD, IBV_REREG_MR_CHANGE_PD);
SAME(DPA_REREG_ACCESS, IBV_REREG_MR_CHANGE_ACCESS);
