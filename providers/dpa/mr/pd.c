/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pd.c - protection domains, thread domains, and parent domains, which join one of each and may
 * have an allocator for queues of their objects. `refs` counts uses that the library does not see:
 * parent domains of a PD or TD, address handles, and queues in memory of a parent domain's
 * allocator. The device counts everything else by PD number.
 */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

static struct dpa_pd *pd_new(struct ibv_context *context, uint32_t pdn)
{
	struct dpa_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->pdn = pdn;
	pd->pd.context = context;
	pd->pd.handle = pdn;
	return pd;
}

struct ibv_pd *dpa_alloc_pd(struct ibv_context *context)
{
	struct dpa_pd *pd;
	int ret;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	pd = pd_new(context, 0);
	if (!pd)
		return NULL;
	ret = dpa_hw_alloc_pd(to_dpa_ctx(context)->hw, &pd->pdn);
	if (ret) {
		free(pd);
		return dpa_null(ret);
	}
	pd->pd.handle = pd->pdn;
	return &pd->pd;
}

static uint32_t refs_of(_Atomic uint32_t *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire);
}

static int dealloc_parent(struct dpa_pd *pd)
{
	atomic_fetch_sub_explicit(&pd->of->refs, 1, memory_order_release);
	if (pd->td)
		atomic_fetch_sub_explicit(&pd->td->refs, 1, memory_order_release);
	free(pd);
	return 0;
}

int dpa_dealloc_pd(struct ibv_pd *ibpd)
{
	struct dpa_pd *pd = to_dpa_pd(ibpd);
	int ret = 0;

	if (refs_of(&pd->refs))
		return EBUSY;
	if (pd->of)
		return dealloc_parent(pd);
	if (dpa_alive(ibpd->context))
		ret = dpa_hw_dealloc_pd(to_dpa_ctx(ibpd->context)->hw, pd->pdn);
	if (!ret)
		free(pd);
	return ret;
}

struct ibv_pd *dpa_import_pd(struct ibv_context *context, uint32_t handle)
{
	struct dpa_pd *pd;
	int ret;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	ret = dpa_hw_find_pd(to_dpa_ctx(context)->hw, handle);
	if (ret)
		return dpa_null(ret);
	pd = pd_new(context, handle);
	return pd ? &pd->pd : NULL;
}

void dpa_unimport_pd(struct ibv_pd *pd)
{
	free(to_dpa_pd(pd));
}

/* ------------------------------------------------------------ thread domains */

struct ibv_td *dpa_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct dpa_td *td;

	if (attr->comp_mask)
		return dpa_null(EINVAL);
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = context;
	return &td->td;
}

int dpa_dealloc_td(struct ibv_td *ibtd)
{
	struct dpa_td *td = (struct dpa_td *)ibtd;

	if (refs_of(&td->refs))
		return EBUSY;
	free(td);
	return 0;
}

/* ------------------------------------------------------------ parent domains */

/* IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC of newer headers (rdma-core 64 on) */
#define ALLOW_CC_UNPROTECTED_ALLOC (1u << 2)

static int parent_check(struct ibv_context *context, const struct ibv_parent_domain_init_attr *a)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

	/* memory that a confidential guest shares: never needed here, and not available */
	if (a->comp_mask & ALLOW_CC_UNPROTECTED_ALLOC)
		return EOPNOTSUPP;
	if ((a->comp_mask & ~known) || !a->pd || a->pd->context != context ||
	    (a->td && a->td->context != context))
		return EINVAL;
	/* a parent domain has no parent domain */
	if (to_dpa_pd(a->pd)->of)
		return EINVAL;
	if ((a->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) && (!a->alloc || !a->free))
		return EINVAL;
	return dpa_alive(context) ? 0 : EIO;
}

struct ibv_pd *dpa_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr)
{
	int ret = parent_check(context, attr);
	struct dpa_pd *pd;

	if (ret)
		return dpa_null(ret);
	pd = pd_new(context, to_dpa_pd(attr->pd)->pdn);
	if (!pd)
		return NULL;
	pd->of = to_dpa_pd(attr->pd);
	pd->td = (struct dpa_td *)attr->td;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	atomic_fetch_add_explicit(&pd->of->refs, 1, memory_order_relaxed);
	if (pd->td)
		atomic_fetch_add_explicit(&pd->td->refs, 1, memory_order_relaxed);
	return &pd->pd;
}

/* -------------------------------------------------------------- queue memory */

/* Uses the parent domain's allocator. 0 with NULL: it wants the default. */
static int custom_alloc(struct dpa_pd *pd, size_t bytes, enum dpadv_resource what, void **p)
{
	*p = pd->alloc(&pd->pd, pd->pd_context, bytes,
		       bytes < DPA_QUEUE_ALIGN ? bytes : DPA_QUEUE_ALIGN,
		       DPADV_RESOURCE_TYPE(what));
	if (*p == IBV_ALLOCATOR_USE_DEFAULT) {
		*p = NULL;
		return 0;
	}
	if (!*p)
		return ENOMEM;
	memset(*p, 0, bytes); /* the device requires new memory to be zero */
	return 0;
}

int dpav_mem_alloc(struct dpa_context *ctx, struct dpa_pd *pd, size_t bytes,
		   enum dpadv_resource what, struct dpav_mem *m)
{
	int ret = 0;

	*m = (struct dpav_mem){.bytes = bytes, .what = what};
	if (pd && pd->alloc)
		ret = custom_alloc(pd, bytes, what, &m->p);
	if (ret)
		return ret;
	if (m->p) {
		m->pd = pd;
		atomic_fetch_add_explicit(&pd->refs, 1, memory_order_relaxed);
		return 0;
	}
	m->p = dpa_arena_alloc(&ctx->arena, bytes);
	return m->p ? 0 : errno;
}

void dpav_mem_free(struct dpa_context *ctx, struct dpav_mem *m)
{
	struct dpa_pd *pd = m->pd;

	if (!m->p)
		return;
	if (pd) {
		pd->free(&pd->pd, pd->pd_context, m->p, DPADV_RESOURCE_TYPE(m->what));
		atomic_fetch_sub_explicit(&pd->refs, 1, memory_order_release);
	} else {
		dpa_arena_free(&ctx->arena, m->p, m->bytes);
	}
	m->p = NULL;
}
