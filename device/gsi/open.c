/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* open.c - opens and closes the endpoint of this process. */
#include <errno.h>
#include <stdlib.h>
#include "ctx/schedule.h"
#include "ctx/hw.h"
#include "gsi/endpoint.h"
#include "tables/tables.h"

/* Serialises open and close. Lock order: before the lock of dpa_hw_open(). */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

void dpa_gsi_child_open(void)
{
	pthread_mutex_init(&open_lock, NULL);
}

/* Context: the lock of the recv CQ; a thread that carries out packets. */
static void on_recv_cqe(void *arg)
{
	const struct dpa_hw_gsi *g = arg;

	g->ready(g->arg);
}

static int make_cqs(struct dpa_hw_gsi *g)
{
	struct dpa_cq_attr send = {.buf = g->q->send_cqes,
				   .ci = &g->q->send_ci,
				   .log_size = DPA_GSI_LOG_SCQ,
				   .flags = DPA_CQ_IGNORE_OVERRUN};
	struct dpa_cq_attr recv = {.buf = g->q->recv_cqes,
				   .ci = &g->q->recv_ci,
				   .log_size = DPA_GSI_LOG_RQ,
				   .comp = on_recv_cqe,
				   .comp_arg = g};
	uint32_t cqn;
	int rc = dpa_hw_create_cq(g->ctx, &send, &g->send_cq, &cqn);

	return rc ? rc : dpa_hw_create_cq(g->ctx, &recv, &g->recv_cq, &cqn);
}

static int register_bufs(struct dpa_hw_gsi *g)
{
	struct dpa_mr_attr a = {.type = DPA_MR_MEMORY,
				.access = DPA_ACCESS_LOCAL_WRITE,
				.addr = (uintptr_t)g->q->buf,
				.length = sizeof(g->q->buf),
				.iova = (uintptr_t)g->q->buf};
	int rc = dpa_hw_alloc_pd(g->ctx, &g->pdn);

	if (rc) {
		g->pdn = 0;
		return rc;
	}
	a.pdn = g->pdn;
	return dpa_hw_reg_mr(g->ctx, &a, &g->lkey);
}

static int make_gsi_qp(struct dpa_hw_gsi *g)
{
	struct dpa_qp_attr_create a = {.type = DPA_QP_UD,
				       .pdn = g->pdn,
				       .send_cq = g->send_cq,
				       .recv_cq = g->recv_cq,
				       .sq = g->q->sq,
				       .rq = g->q->rq,
				       .log_sq = DPA_GSI_LOG_SQ,
				       .log_rq = DPA_GSI_LOG_RQ,
				       .max_recv_sge = 1,
				       .block_self_mcast = true,
				       .dbrec = &g->q->dbrec};
	int rc = dpa_hw_create_qp(g->ctx, &a, &g->qp, &g->info);

	if (rc)
		return rc;
	g->qp->gsi = true;
	if (g->qp->info) /* dpactl shows it */
		__atomic_store_n(&g->qp->info->type, DPA_QP_GSI, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < DPA_GSI_RECVS; i++)
		dpa_gsi_post_recv(g, i);
	return 0;
}

static int to_state(struct dpa_hw_gsi *g, uint32_t state, uint32_t mask)
{
	struct dpa_qp_attr a = {.state = state, .port = 1, .qkey = DPA_MAD_QKEY};

	return dpa_hw_modify_qp(g->qp, &a, DPA_QPM_STATE | mask);
}

static int start_gsi(struct dpa_hw_gsi *g)
{
	int rc = to_state(g, DPA_QPS_INIT, DPA_QPM_PKEY_INDEX | DPA_QPM_PORT | DPA_QPM_QKEY);

	if (!rc)
		rc = to_state(g, DPA_QPS_RTR, 0);
	return rc ? rc : to_state(g, DPA_QPS_RTS, DPA_QPM_SQ_PSN);
}

static int fill_rq(struct dpa_hw_gsi *g)
{
	void *mem = NULL;
	int rc = dpa_hw_alloc_queue(g->ctx, sizeof(*g->q), &mem);

	if (rc)
		return rc;
	g->q = mem;
	rc = register_bufs(g);
	if (!rc)
		rc = make_cqs(g);
	if (!rc)
		rc = make_gsi_qp(g);
	return rc ? rc : start_gsi(g);
}

/* Releases what fill_rq() made, in reverse order. */
static void unmake_gsi(struct dpa_hw_gsi *g)
{
	if (g->qp)
		dpa_hw_destroy_qp(g->qp);
	if (g->recv_cq)
		dpa_hw_destroy_cq(g->recv_cq);
	if (g->send_cq)
		dpa_hw_destroy_cq(g->send_cq);
	if (g->lkey)
		dpa_hw_dereg_mr(g->ctx, g->lkey);
	if (g->pdn)
		dpa_hw_dealloc_pd(g->ctx, g->pdn);
	if (g->q)
		dpa_hw_free_queue(g->ctx, g->q, sizeof(*g->q));
	dpa_hw_close(g->ctx);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static int make_gsi(struct dpa_hw_ctx *of, struct dpa_hw_gsi **out)
{
	struct dpa_hw_open_attr a = {
		.hw_version = DPA_HW_VERSION, .function = of->port->function, .log = of->hw->log};
	struct dpa_hw_gsi *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return ENOMEM;
	rc = dpa_hw_open(&a, &g->ctx);
	if (rc) {
		free(g);
		return rc;
	}
	g->hw = g->ctx->hw;
	pthread_mutex_init(&g->lock, NULL);
	rc = fill_rq(g);
	if (rc)
		unmake_gsi(g);
	else
		*out = g;
	return rc;
}

/* From now on MADs arrive, and peers find the endpoint. */
static void publish_gsi(struct dpa_hw *hw, struct dpa_hw_gsi *g)
{
	uint32_t slot, gen;

	dpa_spin_lock(&hw->gsi.lock);
	hw->gsi.end = g;
	dpa_spin_unlock(&hw->gsi.lock);
	dpa_hw_arm_cq(g->recv_cq, false);
	atomic_store_explicit(&hw->gsi.qpn, g->info.qpn, memory_order_release);
	dpa_board_gsi_set(hw->board, g->info.qpn);
	/*
	 * Processes that died earlier may have left ids: the service thread calls `ready` for them.
	 */
	atomic_store_explicit(&hw->gsi.look, 1, memory_order_release);
	dpa_wake_self(hw);
	if (dpa_board_proc_before(hw->board, &slot, &gen)) /* it watches this one from now on */
		dpa_board_wake(hw->board, slot, gen);
}

int dpa_hw_gsi_open(struct dpa_hw_ctx *ctx, dpa_gsi_fn *ready, void *arg, struct dpa_hw_gsi **gsi)
{
	struct dpa_hw *hw = ctx->hw;
	struct dpa_hw_gsi *g = NULL;
	int rc;

	if (!dpa_lives(hw))
		return EIO;
	pthread_mutex_lock(&open_lock);
	rc = hw->gsi.end ? EBUSY : make_gsi(ctx, &g);
	if (!rc) {
		g->ready = ready;
		g->arg = arg;
		publish_gsi(hw, g);
		*gsi = g;
	}
	pthread_mutex_unlock(&open_lock);
	return rc;
}

void dpa_hw_gsi_close(struct dpa_hw_gsi *g)
{
	struct dpa_hw *hw = g->hw;

	if (!dpa_gsi_alive(
		    g)) { /* it belongs to the parent: free the memory of this process only */
		dpa_hw_close(g->ctx);
		free(g);
		return;
	}
	pthread_mutex_lock(&open_lock);
	atomic_store_explicit(&hw->gsi.qpn, 0, memory_order_release);
	dpa_spin_lock(&hw->gsi.lock);
	hw->gsi.end = NULL;
	dpa_spin_unlock(&hw->gsi.lock);
	dpa_board_cm_end(hw->board);
	unmake_gsi(g);
	pthread_mutex_unlock(&open_lock);
}
