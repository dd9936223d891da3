/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* completion.c - completion contexts: a CQ of the provider that device code reads. */
#include <errno.h>
#include <stdlib.h>
#include "../eu/pool.h"
#include "libdpa.h"

static struct doca_dpa_completion *of_src(struct dpa_source *src)
{
	return container_of(src, struct doca_dpa_completion, src);
}

/*
 * Return whether there are unread elements: compares with elements taken, not acknowledged. Any
 * thread.
 */
static bool has_unread_elements(struct dpa_source *src)
{
	struct doca_dpa_completion *c = of_src(src);
	uint32_t at = atomic_load_explicit(&c->read, memory_order_acquire);

	/* overwritten elements count as well: the reader continues with the remaining ones */
	return dpa_cqe_ahead(c->view.buf, at, c->view.log_size) != DPA_CQE_NONE;
}

static void arm_source(struct dpa_source *src)
{
	dpa_hwif_arm_cq(&of_src(src)->view);
}

/* The dpa_comp_fn; runs under locks of the device. */
static void on_cqe(void *arg)
{
	dpa_source_event(&((struct doca_dpa_completion *)arg)->src);
}

doca_error_t doca_dpa_completion_create(struct doca_dpa *dpa, unsigned int queue_size,
					struct doca_dpa_completion **dpa_comp)
{
	struct doca_dpa_completion *c;
	uint32_t size = 1;

	if (!dpa_live(dpa) || !dpa_comp || !queue_size || queue_size > DPA_MAX_CQE)
		return DOCA_ERROR_INVALID_VALUE;
	c = dpa_obj_new(DPA_T_COMPLETION, sizeof(*c));
	if (!c)
		return DOCA_ERROR_NO_MEMORY;
	while (size < queue_size)
		size <<= 1;
	c->queue_size = size;
	c->dpa = dpa;
	c->src.unread = has_unread_elements;
	c->src.arm = arm_source;
	c->next = dpa->comp_list;
	dpa->comp_list = c;
	dpa->completions++;
	*dpa_comp = c;
	return DOCA_SUCCESS;
}

static doca_error_t completion_error(int err)
{
	if (err == EBUSY)
		return DOCA_ERROR_IN_USE;
	return err == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
}

/*
 * Stop it: first remove the handle for device code, then wait until no EU uses it in an op or a
 * walk, then destroy the CQ. If a QP still uses the CQ all is restored.
 */
doca_error_t dpa_completion_halt(struct doca_dpa_completion *c)
{
	int ret;

	if (!c->started)
		return DOCA_SUCCESS;
	if (c->users)
		return DOCA_ERROR_IN_USE;
	dpa_handle_drop(&c->dpa->handles, &c->obj);
	dpa_pool_quiesce();
	if (c->src.act && !dpa_ctx_foreign(c->dpa))
		dpa_act_detach(c->src.act, &c->src);
	ret = dpa_hwif_destroy_cq(c->cq);
	if (ret) {
		dpa_handle_restore(&c->dpa->handles, &c->obj);
		if (c->src.act)
			dpa_act_attach(c->src.act, &c->src);
		return completion_error(ret);
	}
	c->src.act = NULL;
	c->cq = NULL;
	c->started = false;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_completion_destroy(struct doca_dpa_completion *dpa_comp)
{
	struct doca_dpa_completion **p;
	doca_error_t ret;
	struct doca_dpa *dpa;

	if (!dpa_live(dpa_comp))
		return DOCA_ERROR_INVALID_VALUE;
	dpa = dpa_comp->dpa;
	ret = dpa_completion_halt(dpa_comp);
	if (ret)
		return ret;
	if (dpa->state == DPA_DEAD)
		ret = DOCA_ERROR_BAD_STATE;
	for (p = &dpa->comp_list; *p != dpa_comp; p = &(*p)->next)
		;
	*p = dpa_comp->next;
	if (dpa_comp->thread)
		dpa_thread_release(dpa_comp->thread);
	dpa_obj_free(dpa_comp);
	dpa->completions--;
	dpa_ctx_put(dpa);
	return ret;
}

doca_error_t doca_dpa_completion_get_queue_size(struct doca_dpa_completion *dpa_comp,
						unsigned int *queue_size)
{
	DPA_RETURN_VALUE(dpa_comp, queue_size, dpa_comp->queue_size);
}

doca_error_t doca_dpa_completion_set_thread(struct doca_dpa_completion *dpa_comp,
					    struct doca_dpa_thread *dpa_thread)
{
	if (!dpa_live(dpa_comp) || !dpa_live(dpa_thread) || dpa_comp->dpa != dpa_thread->dpa)
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_comp->started || dpa_comp->dpa->state == DPA_DEAD)
		return DOCA_ERROR_BAD_STATE;
	dpa_thread_hold(dpa_thread);
	if (dpa_comp->thread)
		dpa_thread_release(dpa_comp->thread);
	dpa_comp->thread = dpa_thread;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_completion_get_thread(struct doca_dpa_completion *dpa_comp,
					    struct doca_dpa_thread **dpa_thread)
{
	DPA_RETURN_VALUE(dpa_comp, dpa_thread, dpa_comp->thread);
}

doca_error_t doca_dpa_completion_start(struct doca_dpa_completion *dpa_comp)
{
	struct doca_dpa_completion *c = dpa_comp;
	int ret;

	if (!dpa_live(c))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(c->dpa) || c->started || (c->thread && !c->thread->started))
		return DOCA_ERROR_BAD_STATE;
	atomic_store_explicit(&c->read, 0, memory_order_relaxed);
	atomic_store_explicit(&c->src.armed, 0, memory_order_relaxed);
	atomic_store_explicit(&c->src.fired, 0, memory_order_relaxed);
	c->acked = 0;
	c->overran = false;
	ret = dpa_hwif_create_cq(c->dpa->dev->ctx, c->queue_size, on_cqe, c, &c->cq, &c->view);
	if (ret)
		return completion_error(ret);
	if (!dpa_handle_new(&c->dpa->handles, DPA_H_COMPLETION, &c->obj)) {
		dpa_hwif_destroy_cq(c->cq);
		return DOCA_ERROR_DRIVER;
	}
	c->started = true;
	if (c->thread)
		dpa_act_attach(&c->thread->act, &c->src);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_completion_stop(struct doca_dpa_completion *dpa_comp)
{
	if (!dpa_live(dpa_comp))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_comp->dpa->state == DPA_DEAD || !dpa_comp->started)
		return DOCA_ERROR_BAD_STATE;
	return dpa_completion_halt(dpa_comp);
}

doca_error_t doca_dpa_completion_get_dpa_handle(struct doca_dpa_completion *dpa_comp,
						doca_dpa_dev_completion_t *handle)
{
	if (!dpa_live(dpa_comp) || !handle)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_comp->started)
		return DOCA_ERROR_BAD_STATE;
	*handle = dpa_comp->obj.handle;
	return DOCA_SUCCESS;
}

doca_error_t dpa_completion_get_ibv_cq(struct doca_dpa_completion *dpa_comp, struct ibv_cq **cq)
{
	if (!dpa_live(dpa_comp) || !cq)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_comp->started)
		return DOCA_ERROR_BAD_STATE;
	*cq = dpa_comp->cq;
	return DOCA_SUCCESS;
}
