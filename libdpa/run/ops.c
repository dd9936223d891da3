/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.c - the table of the calls of device code. */
#include <stdio.h>
#include <string.h>
#include "../common/buf/ops.h"
#include "../pcc/ops_pcc.h"
#include "../sync/ops.h"
#include "../exec/ops_exec.h"
#include "counters.h"
#include "../rdma/ops.h"
#include "ops.h"
#include "../hw/qp.h"

static uint64_t op_local_storage(void)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	uint64_t local = dpa_op_thread(eu, run, "doca_dpa_dev_thread_get_local_storage")->local;

	dpal_eu_op_end(eu);
	return local;
}

static void op_end_activation(uint32_t finish)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	dpa_op_thread(eu, run,
		      finish ? "doca_dpa_dev_thread_finish" : "doca_dpa_dev_thread_reschedule");
	dpal_eu_leave(finish ? DPA_EU_FINISHED : DPA_EU_RESCHEDULED);
}

static struct doca_dpa_completion *get_comp(struct dpal_eu *eu, struct dpal_run *run,
					    uint64_t handle)
{
	return container_of(dpa_op_object(eu, run, DPA_H_COMPLETION, handle, "completion context"),
			    struct doca_dpa_completion, obj);
}

/* Report an overrun, once for each start of the completion context. */
static void tell_overrun(struct dpal_eu *eu, struct doca_dpa_completion *c, uint32_t lost)
{
	struct doca_dpa *dpa = eu->run->dpa;
	char text[160];

	if (c->overran)
		return;
	c->overran = true;
	if (dpa->log_level < DOCA_DPA_DEV_LOG_LEVEL_ERROR)
		return;
	snprintf(text, sizeof(text),
		 "%.50s: a completion context of %u elements was full: the oldest %u are lost\n",
		 eu->run->name, c->queue_size, lost);
	dpa_devlog_put(dpa->log, eu->id, DOCA_DPA_DEV_LOG_LEVEL_ERROR, text, strlen(text));
}

/* Return the next element; if it was overwritten, the oldest that is left. */
static const struct dpa_cqe *next_cqe(struct dpal_eu *eu, struct doca_dpa_completion *c)
{
	uint32_t next = atomic_load_explicit(&c->read, memory_order_relaxed), at = next;
	uint32_t mask = (1u << c->view.log_size) - 1;
	const struct dpa_cqe *e = &c->view.buf[at & mask];

	/* the device may overwrite the oldest one, too, before it is taken */
	while (!dpa_cqe_valid(e, at, c->view.log_size)) {
		uint32_t left = dpa_cqe_oldest(c->view.buf, at, c->view.log_size);

		if (left == at)
			return NULL;
		at = left;
		e = &c->view.buf[at & mask];
	}
	if (at != next)
		tell_overrun(eu, c, at - next);
	atomic_store_explicit(&c->read, at + 1, memory_order_release);
	if (e->opcode >= DPA_CQE_RECV)
		dpa_rdma_taken(c, e->wr_id);
	return e;
}

/* Take an element. If there is none, drive the device, as every wait does. */
static int op_get_completion(uint64_t comp, uint64_t *element)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_dpa_completion *c = get_comp(eu, run, comp);
	const struct dpa_cqe *e = next_cqe(eu, c);

	if (!e) {
		dpa_hwif_progress(run->cur->dev->ctx);
		e = next_cqe(eu, c);
	}
	*element = (uintptr_t)e;
	dpal_eu_op_end(eu);
	return e != NULL;
}

/* Acknowledge. A number above that of the taken elements counts as all of them. */
static void op_ack(uint64_t comp, uint64_t n)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_dpa_completion *c = get_comp(eu, run, comp);
	uint32_t taken = atomic_load_explicit(&c->read, memory_order_relaxed) - c->acked;

	c->acked += n < taken ? (uint32_t)n : taken;
	__atomic_store_n(c->view.ci, c->acked, __ATOMIC_RELEASE);
	dpal_eu_op_end(eu);
}

static void op_request_notification(uint64_t comp)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_dpa_completion *c = get_comp(eu, run, comp);

	dpa_source_request(&c->src, run->thread && c->src.act == &run->thread->act);
	dpal_eu_op_end(eu);
}

static void op_thread_notify(uint64_t notification)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct dpa_object *o =
		dpa_op_object(eu, run, DPA_H_NOTIFICATION, notification, "notification completion");

	dpa_act_notify(&container_of(o, struct doca_dpa_notification_completion, obj)->thread->act);
	dpal_eu_op_end(eu);
}

static void op_log(uint32_t level, const char *text, uint64_t len)
{
	struct dpal_eu *eu;
	struct doca_dpa *dpa = dpa_op_begin(&eu)->dpa;

	if (level > DOCA_DPA_DEV_LOG_LEVEL_DISABLE && level <= dpa->log_level)
		dpa_devlog_put(dpa->log, eu->id, level, text, len);
	dpal_eu_op_end(eu);
}

static struct dpa_qp *get_qp(struct dpal_eu *eu, struct dpal_run *run, uint64_t handle)
{
	return container_of(dpa_op_object(eu, run, DPA_H_QP, handle, "exported QP"), struct dpa_qp,
			    obj);
}

static int op_post_send(uint64_t qp, const struct dpa_dev_send_wr *wr)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct dpa_qp *q = get_qp(eu, run, qp);
	int ret = dpa_qp_post_send(&q->queues, wr);

	dpal_eu_op_end(eu);
	return ret;
}

static int op_post_recv(uint64_t qp, uint64_t wr_id, const struct dpa_dev_sge *sge, uint32_t n)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct dpa_qp *q = get_qp(eu, run, qp);
	int ret = dpa_qp_post_recv(&q->queues, wr_id, sge, n);

	dpal_eu_op_end(eu);
	return ret;
}

const struct dpa_dev_ops dpa_ops_table = {
	.size = sizeof(dpa_ops_table),
	.get_local_storage = op_local_storage,
	.end_activation = op_end_activation,
	.get_completion = op_get_completion,
	.completion_ack = op_ack,
	.request_notification = op_request_notification,
	.log = op_log,
	.qp_post_send = op_post_send,
	.qp_post_recv = op_post_recv,
	.thread_notify = op_thread_notify,
	.sync_event_get = dpa_op_sync_event_get,
	.sync_event_update = dpa_op_sync_event_update,
	.sync_event_wait_gt = dpa_op_sync_event_wait_gt,
	.device_set = dpa_op_device_set,
	.thread_rank = dpa_op_thread_rank,
	.num_threads = dpa_op_num_threads,
	.yield = dpa_op_yield,
	.trace = dpa_op_trace,
	.trace_flush = dpa_op_trace_flush,
	.pcc_print = dpa_op_pcc_print,
	.pcc_trace = dpa_op_pcc_trace,
	.pcc_port_bytes = dpa_op_pcc_port_bytes,
	.pcc_probe_header = dpa_op_pcc_probe_header,
	.pcc_probe_dscp = dpa_op_pcc_probe_dscp,
	.thread_instructions = dpa_op_thread_instructions,
	.thread_time = dpa_op_thread_time,
	.rdma_post = dpa_op_rdma_post,
	.rdma_receive = dpa_op_rdma_receive,
	.rdma_snapshot = dpa_op_rdma_snapshot,
	.rdma_receive_ack = dpa_op_rdma_receive_ack,
	.async_copy = dpa_op_async_copy,
	.async_wait = dpa_op_async_wait,
	.async_snapshot = dpa_op_async_snapshot,
	.hash_add = dpa_op_hash_add,
	.hash_remove = dpa_op_hash_remove,
	.hash_find = dpa_op_hash_find,
	.external_ptr = dpa_op_external_ptr,
};
