/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rdma.c - RDMA contexts: create, start, stop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../eu/clock.h"
#include "../eu/pool.h"
#include "rdma.h"

static const struct dpa_rdma_conf defaults = {
	.send_queue_size = DPA_RDMA_DEFAULT_QUEUE,
	.recv_queue_size = DPA_RDMA_DEFAULT_QUEUE,
	.send_list_len = 1,
	.recv_list_len = 1,
	.mtu = DOCA_MTU_SIZE_1K_BYTES,
	.max_connections = 1,
	.timeout_ms = DPA_RDMA_TIMEOUT_MS,
	.rnr_retry = 7,
};

static int make_scratch(struct doca_rdma *r, struct ibv_pd *pd)
{
	size_t size = (size_t)r->conf.max_connections * DPA_RDMA_SCRATCH;

	r->scratch = aligned_alloc(DPA_RDMA_SCRATCH, size);
	if (!r->scratch)
		return ENOMEM;
	memset(r->scratch, 0, size);
	r->scratch_mr = ibv_reg_mr(pd, r->scratch, size, IBV_ACCESS_LOCAL_WRITE);
	return r->scratch_mr ? 0 : errno;
}

/* Return the entries of the receive queue: on the CPU path one receive for each task. */
static uint32_t recv_entries(const struct doca_rdma *r)
{
	uint32_t tasks = r->tasks.conf[RT_RECEIVE].max;

	return dpa_rdma_on_cpu(r) ? (tasks ? tasks : 1) : r->conf.recv_queue_size;
}

static int make_srq(struct doca_rdma *r, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr init = {
		.attr = {.max_wr = recv_entries(r), .max_sge = r->conf.recv_list_len}};

	r->srq = ibv_create_srq(pd, &init);
	return r->srq ? 0 : errno;
}

static void unmake_rdma(struct doca_rdma *r)
{
	dpa_cm_stop(r);
	if (r->conns)
		dpa_rdma_drop_connections(r);
	if (dpa_rdma_on_cpu(r))
		dpa_rdma_tasks_stop(r);
	dpa_gpu_path_unmake(r);
	if (r->srq)
		ibv_destroy_srq(r->srq);
	if (r->scratch_mr)
		ibv_dereg_mr(r->scratch_mr);
	free(r->scratch);
	dpa_wr_indices_free(&r->indices);
	free(r->conns);
	free(r->live);
	if (r->has_hw_thread)
		dpa_hw_thread_give();
	r->has_hw_thread = false;
	r->srq = NULL;
	r->scratch_mr = NULL;
	r->scratch = NULL;
	r->conns = NULL;
	r->live = NULL;
}

/* Create the objects that EUs need besides the QPs. */
static int make_for_dpa(struct doca_rdma *r, struct ibv_pd *pd)
{
	int ret;

	r->has_hw_thread = dpa_hw_thread_take();
	ret = r->has_hw_thread ? make_scratch(r, pd) : ENOSPC;
	if (!ret && !dpa_wr_indices_make(&r->indices, r->conf.recv_queue_size))
		ret = ENOMEM;
	if (!ret)
		ret = dpa_hwif_view_srq(r->srq, &r->recv.view);
	r->recv.pi = 0;
	if (!ret && !dpa_handle_new(&r->ctx.dpa->handles, DPA_H_RDMA, &r->obj))
		ret = ENOSPC;
	return ret;
}

static int make_data_path(struct doca_rdma *r, struct ibv_pd *pd)
{
	if (r->ctx.dpa)
		return make_for_dpa(r, pd);
	return r->ctx.gpu ? dpa_gpu_path_make(r) : dpa_rdma_tasks_start(r);
}

static int make_rdma(struct doca_rdma *r)
{
	struct ibv_pd *pd = dpa_dev_pd(r->ctx.dev);
	int ret;

	if (!pd)
		return errno;
	r->conns = calloc(r->conf.max_connections, sizeof(*r->conns));
	r->live = calloc(r->conf.max_connections, sizeof(*r->live));
	if (!r->conns || !r->live) {
		unmake_rdma(r);
		return ENOMEM;
	}
	ret = make_srq(r, pd);
	if (!ret && r->ctx.pe)
		ret = dpa_cm_start(&r->cm);
	if (!ret)
		ret = make_data_path(r, pd);
	if (ret)
		unmake_rdma(r);
	return ret;
}

/* Take the completion context. The attached one may have been destroyed since. */
static doca_error_t take_completion_context(struct doca_rdma *r)
{
	struct doca_dpa *dpa = r->ctx.dpa;

	if (dpa->dev != r->ctx.dev || !dpa_completion_is_of(r->comp, dpa))
		return DOCA_ERROR_INVALID_VALUE;
	if (!r->comp->started)
		return DOCA_ERROR_INITIALIZATION;
	r->cq = r->comp->cq;
	return DOCA_SUCCESS;
}

/* Make its receives known to the completion context from now on. */
static void take_seat(struct doca_rdma *r)
{
	struct doca_dpa_completion *c = r->comp;

	c->users++;
	r->seat = (uint16_t)(DPA_RDMA_SEAT | c->seats++);
	atomic_store_explicit(&r->next_at_comp,
			      atomic_load_explicit(&c->rdmas, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&c->rdmas, r, memory_order_release);
}

/* Leave the completion context. EUs that use it continue; later ones do not find it. */
static void leave_seat(struct doca_rdma *r)
{
	_Atomic(struct doca_rdma *) *p = &r->comp->rdmas;
	struct doca_rdma *at;

	while ((at = atomic_load_explicit(p, memory_order_relaxed)) != r)
		p = &at->next_at_comp;
	atomic_store_explicit(p, atomic_load_explicit(&r->next_at_comp, memory_order_relaxed),
			      memory_order_seq_cst);
	r->comp->users--;
}

static doca_error_t start_rdma(struct doca_ctx *ctx)
{
	struct doca_rdma *r = dpa_rdma_of_ctx(ctx);
	doca_error_t ret = ctx->dpa ? take_completion_context(r) : DOCA_SUCCESS;

	if (ret)
		return ret;
	if (make_rdma(r))
		return DOCA_ERROR_INITIALIZATION;
	if (ctx->dpa)
		take_seat(r);
	ctx->fd = r->cm.epoll;
	r->dpa = ctx->dpa;
	r->started = true;
	r->owner = getpid();
	return DOCA_SUCCESS;
}

/* Return whether all announced work is done, on every connection. */
static bool all_sent(const struct doca_rdma *r)
{
	for (uint32_t i = 0; i < r->conf.max_connections; i++) {
		const struct doca_rdma_connection *c = r->conns[i];

		if (c && atomic_load_explicit(&c->ready, memory_order_acquire) &&
		    dpa_rdma_has_work(c))
			return false;
	}
	return true;
}

/*
 * Wait for announced work. A program that ends right after its last post expects the adapter to
 * have sent it. Here an EU may still have to do that, so it gets time; not for ever, because the
 * peer may never take it.
 */
static void drain_rdma(const struct doca_rdma *r)
{
	static const struct timespec nap = {.tv_nsec = 20000};
	struct ibv_context *ctx = r->ctx.dev->ctx;
	uint64_t end = dpal_now_ns() + DPA_RDMA_DRAIN_MS * UINT64_C(1000000);

	while (!all_sent(r)) {
		if (dpa_hwif_progress(ctx) <= 0)
			nanosleep(&nap, NULL);
		if (dpal_now_ns() >= end)
			break;
	}
	dpa_hwif_idle(ctx);
}

/*
 * End it: first EUs find no handle; then no EU is in an op with it; then the queues are destroyed.
 */
static void end_rdma(struct doca_rdma *r)
{
	if (r->dpa) {
		dpa_handle_drop(&r->dpa->handles, &r->obj);
		leave_seat(r);
		dpa_pool_quiesce();
	}
	if (!dpa_rdma_on_cpu(r))
		drain_rdma(r);
	r->ending = true;
	unmake_rdma(r);
	r->ending = false;
	r->dpa = NULL;
	r->cq = NULL;
	r->started = false;
	r->ctx.fd = -1;
}

/*
 * Stop. With tasks in flight, or from one of its own callbacks, progress_rdma() finishes the stop.
 */
static doca_error_t stop_rdma(struct doca_ctx *ctx)
{
	struct doca_rdma *r = dpa_rdma_of_ctx(ctx);

	if (r->working || ctx->inflight)
		return DOCA_ERROR_IN_PROGRESS;
	end_rdma(r);
	return DOCA_SUCCESS;
}

/* End the tasks on every connection; no message comes any more afterwards. */
static void end_tasks(struct doca_rdma *r)
{
	for (uint32_t i = 0; i < r->conf.max_connections; i++)
		if (r->conns[i])
			dpa_rdma_tasks_flush(r->conns[i]);
	dpa_rdma_tasks_cancel_receives(r);
}

static bool progress_rdma(struct doca_ctx *ctx)
{
	struct doca_rdma *r = dpa_rdma_of_ctx(ctx);
	bool any;

	r->working = true;
	any = dpa_cm_progress(r);
	if (dpa_rdma_on_cpu(r))
		any |= dpa_rdma_tasks_progress(r);
	if (ctx->state == DOCA_CTX_STATE_STOPPING && ctx->inflight)
		end_tasks(r);
	r->working = false;
	if (ctx->state == DOCA_CTX_STATE_STOPPING) {
		end_rdma(r);
		dpa_core_move(ctx, DOCA_CTX_STATE_IDLE);
		any = true;
	}
	return any;
}

/* Arm it. The descriptors report all later work, but not work that came before. */
static bool arm_rdma(struct doca_ctx *ctx)
{
	struct doca_rdma *r = dpa_rdma_of_ctx(ctx);

	dpa_cm_arm(r);
	return ctx->state == DOCA_CTX_STATE_STOPPING ||
	       (dpa_rdma_on_cpu(r) && dpa_rdma_tasks_arm(r));
}

static const struct dpa_ctx_ops ctx_ops = {
	.start = start_rdma,
	.stop = stop_rdma,
	.progress = progress_rdma,
	.arm = arm_rdma,
	.on_dpa = true,
	.on_gpu = true,
};

doca_error_t doca_rdma_create(struct doca_dev *dev, struct doca_rdma **rdma)
{
	struct doca_rdma *r;

	if (!dpa_live(dev) || !rdma)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dev->info.is_dpa)
		return DOCA_ERROR_INITIALIZATION;
	r = dpa_obj_new(DPA_T_RDMA, sizeof(*r));
	if (!r)
		return DOCA_ERROR_NO_MEMORY;
	dpa_core_init(&r->ctx, &ctx_ops, dev);
	r->conf = defaults;
	r->refs = 1;
	r->cm.epoll = r->cm.timer = -1;
	dpa_dev_use(dev, 1);
	*rdma = r;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_destroy(struct doca_rdma *rdma)
{
	struct doca_dev *dev;

	if (!dpa_live(rdma))
		return DOCA_ERROR_INVALID_VALUE;
	dev = rdma->ctx.dev;
	if (dpa_core_fini(&rdma->ctx))
		return DOCA_ERROR_BAD_STATE;
	dpa_dev_use(dev, -1);
	dpa_obj_remove(rdma, DPA_T_RDMA);
	dpa_rdma_release(rdma);
	return DOCA_SUCCESS;
}

void dpa_rdma_hold(struct doca_rdma *rdma)
{
	rdma->refs++;
}

void dpa_rdma_release(struct doca_rdma *rdma)
{
	if (!--rdma->refs)
		dpa_obj_free(rdma);
}

struct doca_ctx *doca_rdma_as_ctx(struct doca_rdma *rdma)
{
	return dpa_live(rdma) ? &rdma->ctx : NULL;
}

doca_error_t doca_rdma_dpa_completion_attach(struct doca_rdma *rdma,
					     struct doca_dpa_completion *dpa_comp)
{
	if (!dpa_live(rdma) || !dpa_live(dpa_comp))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_core_idle(&rdma->ctx))
		return DOCA_ERROR_BAD_STATE;
	rdma->comp = dpa_comp;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_get_dpa_handle(struct doca_rdma *rdma, doca_dpa_dev_rdma_t *dpa_rdma)
{
	if (!dpa_live(rdma) || !dpa_rdma)
		return DOCA_ERROR_INVALID_VALUE;
	if (!rdma->dpa)
		return DOCA_ERROR_BAD_STATE;
	*dpa_rdma = rdma->obj.handle;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_get_gpu_handle(struct doca_rdma *rdma, struct doca_gpu_dev_rdma **gpu_rdma)
{
	if (!dpa_live(rdma) || !gpu_rdma)
		return DOCA_ERROR_INVALID_VALUE;
	if (!rdma->gpu)
		return DOCA_ERROR_BAD_STATE;
	*gpu_rdma = (struct doca_gpu_dev_rdma *)(uintptr_t)rdma->gpu->obj->gpu;
	return DOCA_SUCCESS;
}
