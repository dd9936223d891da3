/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * path.c - RDMA contexts whose data path is a kernel: its view of the queues (dpa/dpa_gpu.h).
 *
 *   GPU memory     struct doca_gpu_dev_rdma, its receive queue, the connections: written here by
 *                  copies of the driver, which do not wait for kernels
 *   host memory    SQ, CQs, receive queue, doorbell records: the provider's, registered with CUDA;
 *                  doorbell word and places for payloads: of each connection
 *
 * A connection that ends while kernels run leaves its queues to the path: the QP is in the error
 * state, its memory stays registered until the context stops.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include "../rdma/rdma.h"
#include "gpu.h"

#define STAGES	  1024u /* places for payloads of up to DPA_GPU_STAGE bytes */
#define WORD_PAGE 4096u /* of the doorbell word, in front of the places */

/* ----------------------------------------------------------------------- pinning */

/* Pin a range. 0 or errno; sets *pinned on success. */
static int pin_gpu_range(struct doca_gpu *gpu, const void *addr, size_t length, bool *pinned)
{
	int ret;

	if (dpa_gpu_enter(gpu->dev))
		return EIO;
	ret = dpa_gpu_pin(gpu->dev->cuda, addr, length);
	dpa_gpu_leave(gpu->dev);
	*pinned = !ret;
	return ret;
}

static void unpin_gpu_range(struct doca_gpu *gpu, const void *addr, size_t length, bool *pinned)
{
	const bool entered = *pinned && !dpa_gpu_enter(gpu->dev);

	if (*pinned)
		dpa_gpu_unpin(gpu->dev->cuda, addr, length);
	if (entered)
		dpa_gpu_leave(gpu->dev);
	*pinned = false;
}

static size_t cq_view_bytes(const struct dpa_cq_view *v)
{
	return sizeof(struct dpa_cqe) << v->log_size;
}

/* ----------------------------------------------------------------------- context */

static uint64_t conns_of(const struct dpa_gpu_path *p)
{
	return p->obj->gpu + sizeof(struct doca_gpu_dev_rdma);
}

static void describe_path(const struct doca_rdma *r, struct doca_gpu_dev_rdma *d)
{
	const struct dpa_gpu_path *p = r->gpu;

	*d = (struct doca_gpu_dev_rdma){
		.magic = DPA_GPU_MAGIC,
		.num_conns = r->conf.max_connections,
		.conns = conns_of(p),
		.recv = {.rq = (uintptr_t)p->srq.buf,
			 .dbrec = (uintptr_t)p->srq.dbrec,
			 .cq = (uintptr_t)p->recv_view.buf,
			 .stride = p->srq.stride,
			 .log_rq = p->srq.log_size,
			 .log_cq = p->recv_view.log_size,
			 .state = DPA_GPU_LIVE},
	};
}

/* Write the object for kernels; no connection is live. */
static int show_path(struct doca_rdma *r)
{
	const size_t conns = r->conf.max_connections * sizeof(struct dpa_gpu_conn);
	struct doca_gpu_dev_rdma *d = calloc(1, sizeof(*d) + conns);
	int ret;

	if (!d)
		return ENOMEM;
	describe_path(r, d);
	ret = dpa_gpu_write(r->gpu->gpu->dev, r->gpu->obj->gpu, d, sizeof(*d) + conns);
	free(d);
	return ret;
}

static int make_recv(struct doca_rdma *r)
{
	struct dpa_gpu_path *p = r->gpu;
	int ret = dpa_hwif_view_srq(r->srq, &p->srq);

	if (!ret)
		ret = dpa_hwif_create_cq(r->ctx.dev->ctx, 1u << p->srq.log_size, NULL, NULL,
					 &p->recv_cq, &p->recv_view);
	if (!ret)
		ret = pin_gpu_range(p->gpu, p->srq.buf, (size_t)p->srq.stride << p->srq.log_size,
				    &p->pinned_srq);
	if (!ret)
		ret = pin_gpu_range(p->gpu, p->srq.dbrec, sizeof(*p->srq.dbrec), &p->pinned_db);
	if (!ret)
		ret = pin_gpu_range(p->gpu, p->recv_view.buf, cq_view_bytes(&p->recv_view),
				    &p->pinned_cq);
	return ret;
}

int dpa_gpu_path_make(struct doca_rdma *r)
{
	struct dpa_gpu_path *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return ENOMEM;
	p->gpu = r->ctx.gpu;
	r->gpu = p;
	p->obj = dpa_gpu_obj_new(p->gpu,
				 sizeof(struct doca_gpu_dev_rdma) +
					 r->conf.max_connections * sizeof(struct dpa_gpu_conn));
	ret = p->obj ? make_recv(r) : ENOMEM;
	return ret ? ret : show_path(r);
}

/* End the path. Kernels that still use it get errors, not results. */
static void end_path(struct dpa_gpu_path *p)
{
	const uint32_t ended = DPA_GPU_ENDED;

	dpa_gpu_write(p->gpu->dev,
		      p->obj->gpu + offsetof(struct doca_gpu_dev_rdma, recv) +
			      offsetof(struct doca_gpu_dev_rdma_r, state),
		      &ended, sizeof(ended));
}

/* Free all parts of a link and its QP; the watch of the doorbell word ends with the QP. */
static void free_link(struct dpa_gpu_path *p, struct dpa_gpu_link *l)
{
	unpin_gpu_range(p->gpu, l->qpv.sq, (size_t)DPA_WQEBB << l->qpv.log_sq, &l->pinned_sq);
	unpin_gpu_range(p->gpu, l->qpv.dbrec, sizeof(*l->qpv.dbrec), &l->pinned_db);
	if (l->qp)
		ibv_destroy_qp(l->qp);
	unpin_gpu_range(p->gpu, l->view.buf, cq_view_bytes(&l->view), &l->pinned_cq);
	if (l->cq)
		dpa_hwif_destroy_cq(l->cq);
	if (l->mr)
		ibv_dereg_mr(l->mr);
	if (l->mem)
		dpa_gpu_mem_free(p->gpu, l->mem);
	free(l);
}

void dpa_gpu_path_unmake(struct doca_rdma *r)
{
	struct dpa_gpu_path *p = r->gpu;
	struct dpa_gpu_link *l;

	if (!p)
		return;
	if (p->obj)
		end_path(p);
	while ((l = p->ended)) {
		p->ended = l->next;
		free_link(p, l);
	}
	unpin_gpu_range(p->gpu, p->recv_view.buf, cq_view_bytes(&p->recv_view), &p->pinned_cq);
	unpin_gpu_range(p->gpu, p->srq.dbrec, sizeof(*p->srq.dbrec), &p->pinned_db);
	unpin_gpu_range(p->gpu, p->srq.buf, (size_t)p->srq.stride << p->srq.log_size,
			&p->pinned_srq);
	if (r->srq)
		ibv_destroy_srq(r->srq);
	r->srq = NULL;
	if (p->recv_cq)
		dpa_hwif_destroy_cq(p->recv_cq);
	if (p->obj)
		dpa_gpu_obj_free(p->gpu, p->obj);
	free(p);
	r->gpu = NULL;
}

/* -------------------------------------------------------------------- connections */

int dpa_gpu_link_make(struct doca_rdma_connection *c)
{
	struct dpa_gpu_link *l = calloc(1, sizeof(*l));
	struct doca_rdma *r = c->rdma;

	if (!l)
		return ENOMEM;
	c->gpu = l;
	/* a WQE may take two blocks of the SQ, and each block can be one WQE here */
	return dpa_hwif_create_cq(r->ctx.dev->ctx, 2 * r->conf.send_queue_size, NULL, NULL, &l->cq,
				  &l->view);
}

static size_t small_bytes(const struct dpa_gpu_link *l)
{
	return (size_t)DPA_GPU_SMALL << l->qpv.log_sq;
}

static uint32_t log_stages(const struct dpa_gpu_link *l)
{
	uint32_t log = 0;

	while (log < l->qpv.log_sq && 1u << log < STAGES)
		log++;
	return log;
}

/* Allocate the doorbell word, then places of DPA_GPU_SMALL bytes, then those of DPA_GPU_STAGE. */
static int make_places(struct doca_gpu *gpu, struct dpa_gpu_link *l, struct ibv_pd *pd)
{
	const size_t size = WORD_PAGE + small_bytes(l) + ((size_t)DPA_GPU_STAGE << log_stages(l));

	l->mem = dpa_gpu_mem_new(gpu, size, 0, DOCA_GPU_MEM_TYPE_CPU_GPU);
	if (!l->mem)
		return ENOMEM;
	l->mr = ibv_reg_mr(pd, (uint8_t *)l->mem->map + WORD_PAGE, size - WORD_PAGE, 0);
	return l->mr ? 0 : errno;
}

int dpa_gpu_link_bind(struct doca_rdma_connection *c)
{
	struct doca_gpu *gpu = c->rdma->gpu->gpu;
	struct dpa_gpu_link *l = c->gpu;
	int ret;

	l->qpv = c->queues.view;
	if (l->view.log_size < l->qpv.log_sq)
		return EINVAL;
	ret = pin_gpu_range(gpu, l->view.buf, cq_view_bytes(&l->view), &l->pinned_cq);
	if (!ret)
		ret = pin_gpu_range(gpu, l->qpv.sq, (size_t)DPA_WQEBB << l->qpv.log_sq,
				    &l->pinned_sq);
	if (!ret)
		ret = pin_gpu_range(gpu, l->qpv.dbrec, sizeof(*l->qpv.dbrec), &l->pinned_db);
	if (!ret)
		ret = make_places(gpu, l, c->rdma->srq->pd);
	return ret;
}

static uint64_t conn_at(const struct doca_rdma_connection *c)
{
	return conns_of(c->rdma->gpu) + c->id * sizeof(struct dpa_gpu_conn);
}

static int set_state(struct doca_rdma_connection *c, uint32_t state)
{
	return dpa_gpu_write(c->rdma->gpu->gpu->dev,
			     conn_at(c) + offsetof(struct dpa_gpu_conn, state), &state,
			     sizeof(state));
}

int dpa_gpu_link_show(struct doca_rdma_connection *c)
{
	struct dpa_gpu_link *l = c->gpu;
	const uint64_t map = (uintptr_t)l->mem->map;
	struct dpa_gpu_conn g = {
		.sq = (uintptr_t)l->qpv.sq,
		.cq = (uintptr_t)l->view.buf,
		.word = map,
		.dbrec = (uintptr_t)l->qpv.dbrec,
		.small = map + WORD_PAGE,
		.stage = map + WORD_PAGE + small_bytes(l),
		.mem_key = l->mr->lkey,
		.log_sq = l->qpv.log_sq,
		.log_cq = l->view.log_size,
		.log_stage = log_stages(l),
		.qpn = l->qpv.qpn,
	};
	int ret = dpa_hwif_watch_sq(c->qp, (const uint64_t *)l->mem->map);

	l->watched = !ret;
	if (!ret)
		ret = dpa_gpu_write(c->rdma->gpu->gpu->dev, conn_at(c), &g, sizeof(g));
	return ret ? ret : set_state(c, DPA_GPU_LIVE);
}

/* Free the link. The QP keeps the queues until CUDA has unregistered them. */
void dpa_gpu_link_unmake(struct doca_rdma_connection *c)
{
	if (!c->gpu)
		return;
	c->gpu->qp = c->qp;
	free_link(c->rdma->gpu, c->gpu);
	c->qp = NULL;
	c->gpu = NULL;
}

void dpa_gpu_link_end(struct doca_rdma_connection *c)
{
	struct dpa_gpu_path *p = c->rdma->gpu;
	struct dpa_gpu_link *l = c->gpu;

	dpa_hwif_fail_qp(c->qp);
	set_state(c, DPA_GPU_ENDED);
	l->qp = c->qp;
	l->next = p->ended;
	p->ended = l;
	c->qp = NULL;
	c->gpu = NULL;
}
