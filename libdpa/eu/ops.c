/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The calls of device code. Each runs on an EU between op_begin and op_end: a fault here would be
 * the library's own, so nothing here follows a pointer of the user's: what the thunks of the image
 * pass lies on the EU's stack.
 */
#include <string.h>
#include "../host/libdpa.h"
#include "ops.h"
#include "pool.h"
#include "qp.h"

static struct doca_dpa_thread *current_thread(struct dpa_eu *eu)
{
	struct dpa_act *act = atomic_load_explicit(&eu->act, memory_order_relaxed);

	return container_of(act, struct doca_dpa_thread, act);
}

/* Ends the activation and the context. */
static _Noreturn void mistake(struct dpa_eu *eu, const char *text)
{
	eu->fault_text = text;
	dpa_eu_leave(DPA_EU_FAULTED);
}

/* Nothing of a context in the fatal state goes on. */
static struct doca_dpa_thread *begin(struct dpa_eu **eu)
{
	struct doca_dpa_thread *t;

	*eu = dpa_eu_op_begin();
	t = current_thread(*eu);
	if (__builtin_expect(atomic_load_explicit(&t->dpa->fatal, memory_order_relaxed), 0))
		dpa_eu_leave(DPA_EU_KILLED);
	return t;
}

static uint64_t op_local_storage(void)
{
	return current_thread(dpa_eu_self)->local;
}

static void op_end_activation(uint32_t finish)
{
	dpa_eu_leave(finish ? DPA_EU_FINISHED : DPA_EU_RESCHEDULED);
}

static struct doca_dpa_completion *get_comp(struct dpa_eu *eu, struct doca_dpa_thread *t,
					    uint64_t handle)
{
	struct dpa_object *o = dpa_handle_get(&t->dpa->handles, DPA_H_COMPLETION, handle);

	if (!o)
		mistake(eu, "a handle that is no completion context's");
	return container_of(o, struct doca_dpa_completion, obj);
}

static const struct dpa_cqe *next_cqe(struct doca_dpa_completion *c)
{
	uint32_t at = atomic_load_explicit(&c->read, memory_order_relaxed);
	const struct dpa_cqe *e = &c->view.buf[at & ((1u << c->view.log_size) - 1)];

	if (__atomic_load_n(&e->owner, __ATOMIC_ACQUIRE) != dpa_cqe_owner(at, c->view.log_size))
		return NULL;
	atomic_store_explicit(&c->read, at + 1, memory_order_release);
	return e;
}

/* Finding nothing drives the device, as every wait does. */
static int op_get_completion(uint64_t comp, uint64_t *element)
{
	struct dpa_eu *eu;
	struct doca_dpa_thread *t = begin(&eu);
	struct doca_dpa_completion *c = get_comp(eu, t, comp);
	const struct dpa_cqe *e = next_cqe(c);

	if (!e) {
		dpa_hwif_progress(t->dpa->dev->ctx);
		e = next_cqe(c);
	}
	*element = (uintptr_t)e;
	dpa_eu_op_end(eu);
	return e != NULL;
}

/* More than was taken counts as all that was taken. */
static void op_ack(uint64_t comp, uint64_t n)
{
	struct dpa_eu *eu;
	struct doca_dpa_thread *t = begin(&eu);
	struct doca_dpa_completion *c = get_comp(eu, t, comp);
	uint32_t taken = atomic_load_explicit(&c->read, memory_order_relaxed) - c->acked;

	c->acked += n < taken ? (uint32_t)n : taken;
	__atomic_store_n(c->view.ci, c->acked, __ATOMIC_RELEASE);
	dpa_eu_op_end(eu);
}

static void op_request_notification(uint64_t comp)
{
	struct dpa_eu *eu;
	struct doca_dpa_thread *t = begin(&eu);
	struct doca_dpa_completion *c = get_comp(eu, t, comp);

	dpa_source_request(&c->src, c->src.act == &t->act);
	dpa_eu_op_end(eu);
}

static void op_thread_notify(uint64_t notification)
{
	struct dpa_eu *eu;
	struct doca_dpa_thread *t = begin(&eu);
	struct dpa_object *o = dpa_handle_get(&t->dpa->handles, DPA_H_NOTIFICATION, notification);

	if (!o)
		mistake(eu, "a handle that is no notification completion's");
	dpa_act_notify(&container_of(o, struct doca_dpa_notification_completion, obj)->thread->act);
	dpa_eu_op_end(eu);
}

static void op_log(uint32_t level, const char *text, uint64_t len)
{
	struct dpa_eu *eu;
	struct doca_dpa *dpa = begin(&eu)->dpa;

	if (level > DOCA_DPA_DEV_LOG_LEVEL_DISABLE && level <= dpa->log_level)
		dpa_devlog_put(dpa->log, eu->id, level, text, len);
	dpa_eu_op_end(eu);
}

static struct dpa_qp *get_qp(struct dpa_eu *eu, struct doca_dpa_thread *t, uint64_t handle)
{
	struct dpa_object *o = dpa_handle_get(&t->dpa->handles, DPA_H_QP, handle);

	if (!o)
		mistake(eu, "a handle that is no exported QP's");
	return container_of(o, struct dpa_qp, obj);
}

static int op_post_send(uint64_t qp, const struct dpa_dev_send_wr *wr)
{
	struct dpa_eu *eu;
	struct doca_dpa_thread *t = begin(&eu);
	struct dpa_qp *q = get_qp(eu, t, qp);
	int ret = dpa_qp_post_send(&q->queues, wr);

	dpa_eu_op_end(eu);
	return ret;
}

static int op_post_recv(uint64_t qp, uint64_t wr_id, const struct dpa_dev_sge *sge, uint32_t n)
{
	struct dpa_eu *eu;
	struct doca_dpa_thread *t = begin(&eu);
	struct dpa_qp *q = get_qp(eu, t, qp);
	int ret = dpa_qp_post_recv(&q->queues, wr_id, sge, n);

	dpa_eu_op_end(eu);
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
};
