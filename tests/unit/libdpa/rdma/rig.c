/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"
#include "../open_dev.h"

extern struct doca_dpa_app *rdma_test_app;
extern doca_dpa_func_t serve;

struct doca_dev *open_dpa0(void)
{
	return open_dev("dpa0"); /* found with dpa-run */
}

void rig_open(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->dev = open_dpa0();
	OK(doca_dpa_create(r->dev, &r->dpa));
	OK(doca_dpa_set_app(r->dpa, rdma_test_app));
	OK(doca_dpa_set_log_level(r->dpa, DOCA_DPA_DEV_LOG_LEVEL_DISABLE));
	OK(doca_dpa_start(r->dpa));
}

/* The thread's first and only activation: a receive that is flushed. */
static void trigger(struct rig *r)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	OK(dpa_dev_get_ibv_context(r->dev, &ctx));
	OK(dpa_completion_get_ibv_cq(r->ctl, &a.send_cq));
	a.recv_cq = a.send_cq;
	pd = ibv_alloc_pd(ctx);
	qp = ibv_create_qp(pd, &a);
	cr_assert(qp);
	cr_assert_eq(
		ibv_modify_qp(qp, &init,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	cr_assert_eq(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	cr_assert_eq(ibv_post_recv(qp, &wr, &bad), 0);
	rig_do(r, (struct cmd){.op = CMD_ACK});
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	ibv_dealloc_pd(pd);
}

static void make_thread(struct rig *r)
{
	uint64_t at;

	OK(doca_dpa_mem_alloc(r->dpa, sizeof(struct board), &at));
	OK(doca_dpa_memset(r->dpa, at, 0, sizeof(struct board)));
	r->board = (struct board *)(uintptr_t)at;
	OK(doca_dpa_thread_create(r->dpa, &r->thread));
	OK(doca_dpa_thread_set_func_arg(r->thread, &serve, at));
	OK(doca_dpa_thread_start(r->thread));
	OK(doca_dpa_completion_create(r->dpa, 4, &r->ctl));
	OK(doca_dpa_completion_set_thread(r->ctl, r->thread));
	OK(doca_dpa_completion_start(r->ctl));
	OK(doca_dpa_completion_create(r->dpa, 256, &r->comp));
	OK(doca_dpa_completion_start(r->comp));
	OK(doca_dpa_completion_get_dpa_handle(r->comp, &r->board->comp));
	OK(doca_dpa_completion_get_dpa_handle(r->ctl, &r->board->ctl));
	OK(doca_sync_event_create(&r->seq));
	OK(doca_sync_event_add_publisher_location_cpu(r->seq, r->dev));
	OK(doca_sync_event_add_subscriber_location_dpa(r->seq, r->dpa));
	OK(doca_sync_event_start(r->seq));
	OK(doca_sync_event_get_dpa_handle(r->seq, r->dpa, &r->board->seq));
	OK(doca_sync_event_create(&r->done));
	OK(doca_sync_event_add_publisher_location_dpa(r->done, r->dpa));
	OK(doca_sync_event_add_subscriber_location_cpu(r->done, r->dev));
	OK(doca_sync_event_start(r->done));
	OK(doca_sync_event_get_dpa_handle(r->done, r->dpa, &r->board->done));
	OK(doca_dpa_thread_run(r->thread));
	trigger(r);
}

static void make_memory(struct rig *r)
{
	r->mem = aligned_alloc(4096, RIG_MEM);
	r->mem2 = aligned_alloc(4096, RIG_MEM);
	memset(r->mem, 0, RIG_MEM);
	memset(r->mem2, 0, RIG_MEM);
	OK(doca_mmap_create(&r->map));
	OK(doca_mmap_set_permissions(
		r->map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
				DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	OK(doca_mmap_set_memrange(r->map, r->mem, RIG_MEM));
	OK(doca_mmap_add_dev(r->map, r->dev));
	OK(doca_mmap_start(r->map));
	OK(doca_mmap_dev_get_dpa_handle(r->map, r->dev, &r->key));
	r->ctx2 = NULL;
	OK(dpa_dev_get_ibv_context(r->dev, &r->ctx2));
	r->ctx2 = ibv_open_device(r->ctx2->device);
	cr_assert(r->ctx2);
	r->pd2 = ibv_alloc_pd(r->ctx2);
	r->mr2 = ibv_reg_mr(r->pd2, r->mem2, RIG_MEM,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	cr_assert(r->mr2);
}

void rig_make(struct rig *r)
{
	rig_open(r);
	make_thread(r);
	make_memory(r);
	OK(doca_rdma_create(r->dev, &r->rdma));
	r->ctx = doca_rdma_as_ctx(r->rdma);
	OK(doca_ctx_set_datapath_on_dpa(r->ctx, r->dpa));
	OK(doca_rdma_set_permissions(r->rdma, DOCA_ACCESS_FLAG_RDMA_READ |
						      DOCA_ACCESS_FLAG_RDMA_WRITE |
						      DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	OK(doca_rdma_set_send_queue_size(r->rdma, RIG_QUEUE));
	OK(doca_rdma_set_recv_queue_size(r->rdma, RIG_QUEUE));
	OK(doca_rdma_set_max_num_connections(r->rdma, RIG_CONNS));
	OK(doca_rdma_dpa_completion_attach(r->rdma, r->comp));
}

void rig_start(struct rig *r)
{
	OK(doca_ctx_start(r->ctx));
	OK(doca_rdma_get_dpa_handle(r->rdma, &r->handle));
	for (int i = 0; i < RIG_CONNS; i++)
		rig_connect(r, i);
}

void rig_up(struct rig *r)
{
	rig_make(r);
	rig_start(r);
}

void rig_down(struct rig *r)
{
	enum doca_ctx_states state;

	if (r->thread && !r->foul)
		rig_do(r, (struct cmd){.op = CMD_FINISH});
	OK(doca_ctx_get_state(r->ctx, &state));
	if (state != DOCA_CTX_STATE_IDLE)
		OK(doca_ctx_stop(r->ctx));
	OK(doca_rdma_destroy(r->rdma));
	for (int i = 0; i < RIG_CONNS; i++)
		peer_destroy(&r->peer[i]);
	ibv_dereg_mr(r->mr2);
	cr_assert_eq(ibv_dealloc_pd(r->pd2), 0);
	ibv_close_device(r->ctx2);
	OK(doca_mmap_destroy(r->map));
	OK(doca_dpa_completion_destroy(r->comp));
	OK(doca_dpa_completion_destroy(r->ctl));
	OK(doca_dpa_thread_destroy(r->thread));
	OK(doca_sync_event_destroy(r->seq));
	OK(doca_sync_event_destroy(r->done));
	OK(doca_dpa_destroy(r->dpa));
	OK(doca_dev_close(r->dev));
	free(r->mem);
	free(r->mem2);
}

/* ----------------------------------------------------------------- the peers */

void peer_make(struct rig *r, struct peer *p, struct dpa_rdma_details *d)
{
	struct ibv_qp_init_attr a = {.qp_type = IBV_QPT_RC,
				     .cap = {.max_send_wr = 64,
					     .max_recv_wr = 64,
					     .max_send_sge = 1,
					     .max_recv_sge = 1}};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = 1,
				   .qp_access_flags = IBV_ACCESS_REMOTE_READ |
						      IBV_ACCESS_REMOTE_WRITE |
						      IBV_ACCESS_REMOTE_ATOMIC};
	union ibv_gid gid;

	p->cq = ibv_create_cq(r->ctx2, 256, NULL, NULL, 0);
	a.send_cq = a.recv_cq = p->cq;
	p->qp = ibv_create_qp(r->pd2, &a);
	cr_assert(p->qp);
	cr_assert_eq(
		ibv_modify_qp(p->qp, &init,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	cr_assert_eq(ibv_query_gid(r->ctx2, 1, 0, &gid), 0);
	*d = (struct dpa_rdma_details){.magic = htonl(DPA_RDMA_DETAILS_MAGIC),
				       .version = htons(DPA_RDMA_DETAILS_VERSION),
				       .size = htons(sizeof(*d)),
				       .qpn = htonl(p->qp->qp_num),
				       .psn = htonl(4711),
				       .mtu = IBV_MTU_1024,
				       .rd_atomic = 16,
				       .num_gids = 1};
	memcpy(d->gids[0], gid.raw, 16);
}

void peer_join(struct peer *p, const struct dpa_rdma_details *d)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = d->mtu,
		.dest_qp_num = ntohl(d->qpn),
		.rq_psn = ntohl(d->psn),
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .timeout = 16,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .sq_psn = 4711,
				  .max_rd_atomic = d->rd_atomic};

	memcpy(rtr.ah_attr.grh.dgid.raw, d->gids[0], 16);
	cr_assert_eq(ibv_modify_qp(p->qp, &rtr,
				   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					   IBV_QP_MIN_RNR_TIMER),
		     0);
	cr_assert_eq(ibv_modify_qp(p->qp, &rts,
				   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC),
		     0);
}

void peer_destroy(struct peer *p)
{
	if (!p->qp)
		return;
	cr_assert_eq(ibv_destroy_qp(p->qp), 0);
	cr_assert_eq(ibv_destroy_cq(p->cq), 0);
	p->qp = NULL;
}

void rig_connect(struct rig *r, int i)
{
	struct dpa_rdma_details theirs;
	const void *ours;
	size_t size;

	OK(doca_rdma_export(r->rdma, &ours, &size, &r->conn[i]));
	cr_assert_eq(size, sizeof(theirs));
	peer_make(r, &r->peer[i], &theirs);
	peer_join(&r->peer[i], ours);
	OK(doca_rdma_connect(r->rdma, &theirs, sizeof(theirs), r->conn[i]));
}

void peer_recv(struct rig *r, int i, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)r->mem2 + offset, length, r->mr2->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	cr_assert_eq(ibv_post_recv(r->peer[i].qp, &wr, &bad), 0);
}

struct ibv_wc peer_wc(struct rig *r, int i)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(r->peer[i].cq, 1, &wc))
		sched_yield();
	return wc;
}

bool peer_no_wc(struct rig *r, int i)
{
	struct ibv_wc wc;

	for (int k = 0; k < 2000; k++)
		if (ibv_poll_cq(r->peer[i].cq, 1, &wc))
			return false;
	return true;
}

void peer_send(struct rig *r, int i, enum ibv_wr_opcode op, uint64_t offset, uint32_t length,
	       uint32_t imm)
{
	struct ibv_sge sge = {(uintptr_t)r->mem2 + offset, length, r->mr2->lkey};
	struct ibv_send_wr wr = {.wr_id = offset,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl(imm)},
			   *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)r->mem + offset;
	wr.wr.rdma.rkey = r->key;
	cr_assert_eq(ibv_post_send(r->peer[i].qp, &wr, &bad), 0);
}

/* ------------------------------------------------------------- the DPA thread */

void rig_begin(struct rig *r, struct cmd c)
{
	r->board->cmd = c;
	OK(doca_sync_event_update_set(r->seq, ++r->commands));
}

void rig_wait(struct rig *r)
{
	uint64_t done = 0;

	for (;; sched_yield()) {
		OK(doca_sync_event_get(r->done, &done));
		if (done == r->commands)
			break;
	}
}

bool rig_wait_or_fault(struct rig *r)
{
	uint64_t done = 0;

	for (;; sched_yield()) {
		OK(doca_sync_event_get(r->done, &done));
		if (done == r->commands)
			return true;
		r->foul = doca_dpa_peek_at_last_error(r->dpa) != DOCA_SUCCESS;
		if (r->foul)
			return false;
	}
}

void rig_do(struct rig *r, struct cmd c)
{
	rig_begin(r, c);
	rig_wait(r);
}

struct element rig_element(struct rig *r)
{
	do
		rig_do(r, (struct cmd){.op = CMD_POLL});
	while (!r->board->e.found);
	return r->board->e;
}

bool rig_no_element(struct rig *r)
{
	for (int i = 0; i < 200; i++) {
		rig_do(r, (struct cmd){.op = CMD_POLL});
		if (r->board->e.found)
			return false;
	}
	return true;
}
