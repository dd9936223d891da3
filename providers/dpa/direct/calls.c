/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* calls.c - the calls of dpadv.h: each goes to the provider that libibverbs has loaded. */
#include <errno.h>
#include "find.h"
#include "../discovery/discovery.h"

/* A caller with an object got it from a provider: only the first call searches for the provider. */
static const struct dpadv_table *provider_table(struct ibv_context *context)
{
	const struct dpadv_table *t = dpadv_found();

	return t || !context ? t : dpadv_find(context->device);
}

bool dpadv_is_supported(struct ibv_device *device)
{
	return dpadv_find(device);
}

int dpadv_query_function(struct ibv_device *device, struct dpadv_function *fn)
{
	const struct dpadv_table *t = dpadv_find(device);

	return t ? t->query_function(device, fn) : EINVAL;
}

/* Returns the context of the first object that obj_type names. */
static struct ibv_context *context_of(const struct dpadv_obj *obj, uint64_t type)
{
	if (type & DPADV_OBJ_QP)
		return obj->qp.in ? obj->qp.in->context : NULL;
	if (type & DPADV_OBJ_CQ)
		return obj->cq.in ? obj->cq.in->context : NULL;
	if (type & DPADV_OBJ_SRQ)
		return obj->srq.in ? obj->srq.in->context : NULL;
	if (type & DPADV_OBJ_PD)
		return obj->pd.in ? obj->pd.in->context : NULL;
	if (type & DPADV_OBJ_MR)
		return obj->mr.in ? obj->mr.in->context : NULL;
	return NULL;
}

int dpadv_init_obj(struct dpadv_obj *obj, uint64_t obj_type)
{
	const struct dpadv_table *t = provider_table(context_of(obj, obj_type));

	return t ? t->init_obj(obj, obj_type) : EINVAL;
}

struct ibv_cq *dpadv_create_cq(struct ibv_context *context, struct dpadv_cq_init_attr *attr)
{
	const struct dpadv_table *t = provider_table(context);

	if (!t) {
		errno = EINVAL;
		return NULL;
	}
	return t->create_cq(context, attr);
}

struct ibv_qp *dpadv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
			       const struct dpadv_qp_init_attr *dv)
{
	const struct dpadv_table *t = provider_table(pd->context);

	if (!t) {
		errno = EINVAL;
		return NULL;
	}
	return t->create_qp(pd, attr, dv);
}

int dpadv_set_placement(struct ibv_qp *qp, enum dpa_placement placement, int eu)
{
	const struct dpadv_table *t = provider_table(qp->context);

	return t ? t->set_placement(qp, placement, eu) : EINVAL;
}

int dpadv_watch_sq(struct ibv_qp *qp, const uint64_t *word)
{
	const struct dpadv_table *t = provider_table(qp->context);

	return t ? t->watch_sq(qp, word) : EINVAL;
}

struct ibv_mr *dpadv_reg_foreign_mr(struct ibv_pd *pd, const struct dpadv_foreign_mr *mr)
{
	const struct dpadv_table *t = provider_table(pd->context);

	if (!t) {
		errno = EINVAL;
		return NULL;
	}
	return t->reg_foreign_mr(pd, mr);
}

int dpadv_progress(struct ibv_context *context)
{
	const struct dpadv_table *t = provider_table(context);

	return t ? t->progress(context) : -EINVAL;
}

void dpadv_idle(struct ibv_context *context)
{
	const struct dpadv_table *t = provider_table(context);

	if (t)
		t->idle(context);
}

int dpadv_wait_fd(struct ibv_context *context, int fd, int timeout_ms)
{
	const struct dpadv_table *t = provider_table(context);

	return t ? t->wait_fd(context, fd, timeout_ms) : EINVAL;
}

uint32_t dpadv_num_eus(struct ibv_context *context)
{
	const struct dpadv_table *t = provider_table(context);

	return t ? t->num_eus(context) : 0;
}

int dpadv_query_board(struct ibv_context *context, struct dpadv_board *board)
{
	const struct dpadv_table *t = provider_table(context);

	return t ? t->query_board(context, board) : EINVAL;
}

const struct dpa_pcc_ops *dpadv_query_pcc(struct ibv_context *context, void **port)
{
	const struct dpadv_table *t = provider_table(context);

	return t ? t->query_pcc(context, port) : NULL;
}

/* dpadv_init_obj() returned the pointer: so the provider is known. */
void dpadv_ring_sq(struct dpa_hw_qp *qp)
{
	dpadv_found()->ring_sq(qp);
}

void dpadv_kick_sq(struct dpa_hw_qp *qp)
{
	dpadv_found()->kick_sq(qp);
}

void dpadv_ring_rq(struct dpa_hw_qp *qp)
{
	dpadv_found()->ring_rq(qp);
}

void dpadv_arm_cq(struct dpa_hw_cq *cq, bool solicited_only)
{
	dpadv_found()->arm_cq(cq, solicited_only);
}

bool dpadv_may_read(struct dpa_hw_qp *qp, uint32_t lkey, uint64_t addr, uint64_t length)
{
	return dpadv_found()->may_read(qp, lkey, addr, length);
}

DPADV_API const struct dpa_trace_ops *dpadv_trace_points(void)
{
	const struct dpadv_table *t = dpadv_found();

	return t ? t->trace_points : NULL;
}

DPADV_API const struct dpa_inject_ops *dpadv_inject_points(void)
{
	const struct dpadv_table *t = dpadv_found();

	return t && t->size >= offsetof(struct dpadv_table, inject_points) + sizeof(void *)
		       ? t->inject_points
		       : NULL;
}

DPADV_API int dpadv_port_file(unsigned function, const char *name, char *text, size_t len)
{
	const struct dpadv_table *t = dpadv_any();

	if (!t) {
		errno = ENOENT;
		return -1;
	}
	return t->port_file(function, name, text, len);
}
