/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* async.c - asynchronous operations: the host's side. */
#include <stdlib.h>
#include "async.h"

doca_error_t doca_dpa_async_ops_create(struct doca_dpa *dpa, unsigned int queue_size,
				       uint64_t user_data, struct doca_dpa_async_ops **async_ops)
{
	struct doca_dpa_async_ops *a;
	uint32_t size = 1;

	if (!dpa_live(dpa) || !async_ops || !queue_size || queue_size > DPA_ASYNC_MAX ||
	    user_data >> DOCA_DPA_COMPLETION_LOG_MAX_USER_DATA)
		return DOCA_ERROR_INVALID_VALUE;
	a = dpa_obj_new(DPA_T_ASYNC_OPS, sizeof(*a));
	if (!a)
		return DOCA_ERROR_NO_MEMORY;
	while (size < queue_size)
		size <<= 1;
	a->queue_size = size;
	a->user_data = (uint32_t)user_data;
	a->dpa = dpa;
	dpa_ctx_hold(dpa);
	a->next = dpa->async_list;
	dpa->async_list = a;
	*async_ops = a;
	return DOCA_SUCCESS;
}

/*
 * Stop: first remove the handle for device code, then wait until no EU is in an op with it, then
 * until no operation is in flight.
 */
static void halt_async(struct doca_dpa_async_ops *a)
{
	if (!a->started)
		return;
	a->started = false;
	dpa_handle_drop(&a->dpa->handles, &a->obj);
	dpa_pool_quiesce();
	dpa_async_end(a);
	dpa_fatal_remove(a->dpa, &a->fatal);
	dpa_pair_destroy(&a->pair);
	a->comp->users--;
	free(a->ring);
	a->ring = NULL;
}

void dpa_async_halt_all(struct doca_dpa *dpa)
{
	for (struct doca_dpa_async_ops *a = dpa->async_list; a; a = a->next)
		halt_async(a);
}

doca_error_t doca_dpa_async_ops_destroy(struct doca_dpa_async_ops *async_ops)
{
	struct doca_dpa_async_ops **p;
	struct doca_dpa *dpa;
	doca_error_t ret;

	if (!dpa_live(async_ops))
		return DOCA_ERROR_INVALID_VALUE;
	dpa = async_ops->dpa;
	ret = dpa->state == DPA_DEAD ? DOCA_ERROR_BAD_STATE : DOCA_SUCCESS;
	halt_async(async_ops);
	for (p = &dpa->async_list; *p != async_ops; p = &(*p)->next)
		;
	*p = async_ops->next;
	dpa_obj_free(async_ops);
	dpa_ctx_release(dpa);
	return ret;
}

doca_error_t doca_dpa_async_ops_get_queue_size(struct doca_dpa_async_ops *async_ops,
					       unsigned int *queue_size)
{
	DPA_RETURN_VALUE(async_ops, queue_size, async_ops->queue_size);
}

doca_error_t doca_dpa_async_ops_get_user_data(struct doca_dpa_async_ops *async_ops,
					      uint64_t *user_data)
{
	DPA_RETURN_VALUE(async_ops, user_data, async_ops->user_data);
}

doca_error_t doca_dpa_async_ops_attach(struct doca_dpa_async_ops *async_ops,
				       struct doca_dpa_completion *dpa_comp)
{
	if (!dpa_live(async_ops) || !dpa_live(dpa_comp) || dpa_comp->dpa != async_ops->dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (async_ops->started || async_ops->dpa->state == DPA_DEAD)
		return DOCA_ERROR_BAD_STATE;
	async_ops->comp = dpa_comp;
	return DOCA_SUCCESS;
}

static void async_to_error(struct dpa_fatal_hook *hook)
{
	struct doca_dpa_async_ops *a = container_of(hook, struct doca_dpa_async_ops, fatal);

	dpa_hwif_fail_qp(a->pair.from);
	dpa_hwif_fail_qp(a->pair.to);
}

doca_error_t doca_dpa_async_ops_start(struct doca_dpa_async_ops *async_ops)
{
	struct doca_dpa_async_ops *a = async_ops;

	if (!dpa_live(a))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(a->dpa) || a->started || !dpa_completion_is_of(a->comp, a->dpa) ||
	    !a->comp->started)
		return DOCA_ERROR_BAD_STATE;
	a->ring = calloc(a->queue_size, sizeof(*a->ring));
	if (!a->ring)
		return DOCA_ERROR_DRIVER;
	if (dpa_pair_create(&a->pair, a->dpa->dev, a->comp->cq, a->queue_size, a->user_data))
		goto err_ring;
	a->head = a->tail = 0;
	a->waiting = a->draining = a->stopping = false;
	if (!dpa_handle_new(&a->dpa->handles, DPA_H_ASYNC_OPS, &a->obj))
		goto err_pair;
	dpa_fatal_add(a->dpa, &a->fatal, async_to_error);
	a->comp->users++;
	a->started = true;
	return DOCA_SUCCESS;

err_pair:
	dpa_pair_destroy(&a->pair);
err_ring:
	free(a->ring);
	a->ring = NULL;
	return DOCA_ERROR_DRIVER;
}

doca_error_t doca_dpa_async_ops_stop(struct doca_dpa_async_ops *async_ops)
{
	if (!dpa_live(async_ops))
		return DOCA_ERROR_INVALID_VALUE;
	if (async_ops->dpa->state == DPA_DEAD || !async_ops->started)
		return DOCA_ERROR_BAD_STATE;
	halt_async(async_ops);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_async_ops_get_dpa_handle(struct doca_dpa_async_ops *async_ops,
					       doca_dpa_dev_async_ops_t *handle)
{
	if (!dpa_live(async_ops) || !handle)
		return DOCA_ERROR_INVALID_VALUE;
	if (!async_ops->started)
		return DOCA_ERROR_BAD_STATE;
	*handle = async_ops->obj.handle;
	return DOCA_SUCCESS;
}
