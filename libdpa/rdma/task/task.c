/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* task.c - tasks of the CPU: life cycle, and the CQ that reports their ends. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <time.h>
#include "../../eu/clock.h"
#include "../rdma.h"

#define ROUNDS 4 /* polls with a full array of completions, in one progress */

static struct dpa_rdma_task *rdma_task_of(struct doca_task *task)
{
	return container_of(task, struct dpa_rdma_task, task);
}

/* ---------------------------------------------------------- life cycle of one */

doca_error_t dpa_rdma_task_set_conf(struct doca_rdma *rdma, enum dpa_rdma_kind kind,
				    dpa_rdma_task_fn *done, dpa_rdma_task_fn *failed, uint32_t num)
{
	if (!dpa_live(rdma) || !done || !failed || !num || (kind == RT_RECEIVE && num > DPA_MAX_WR))
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_core_idle(&rdma->ctx))
		return DOCA_ERROR_BAD_STATE;
	rdma->tasks.conf[kind].done = done;
	rdma->tasks.conf[kind].failed = failed;
	rdma->tasks.conf[kind].max = num;
	return DOCA_SUCCESS;
}

static void link_first(struct dpa_rdma_task **list, struct dpa_rdma_task *t)
{
	t->prev = list;
	t->next = *list;
	if (t->next)
		t->next->prev = &t->next;
	*list = t;
}

static void link_last(struct dpa_rdma_task *t)
{
	struct doca_rdma_connection *c = t->conn;

	t->prev = c->sent_end;
	t->next = NULL;
	*c->sent_end = t;
	c->sent_end = &t->next;
}

static void unlink_task(struct dpa_rdma_task *t)
{
	*t->prev = t->next;
	if (t->next)
		t->next->prev = t->prev;
	t->prev = NULL;
}

static doca_error_t submit_rdma_task(struct doca_task *task, uint32_t flags)
{
	struct dpa_rdma_task *t = rdma_task_of(task);
	struct doca_rdma *r = t->rdma;
	doca_error_t ret;

	if (task->ctx->inflight > r->tasks.room)
		return DOCA_ERROR_AGAIN;
	ret = dpa_rdma_post(t, !(flags & DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS));
	if (ret)
		return ret;
	if (t->kind == RT_RECEIVE)
		link_first(&r->tasks.receives, t);
	else
		link_last(t);
	return DOCA_SUCCESS;
}

static void call_rdma_task_back(struct doca_task *task)
{
	struct dpa_rdma_task *t = rdma_task_of(task);
	struct dpa_rdma_tasks *all = &t->rdma->tasks;

	(task->status ? all->conf[t->kind].failed : all->conf[t->kind].done)(t, task->user_data,
									     task->ctx->user_data);
}

static void retire_rdma_task(struct doca_task *task)
{
	struct dpa_rdma_task *t = rdma_task_of(task);

	t->rdma->tasks.conf[t->kind].used--;
}

static void free_rdma_task(struct doca_task *task)
{
	struct dpa_rdma_task *t = rdma_task_of(task);
	struct doca_rdma *r = t->rdma;

	dpa_obj_free(t);
	dpa_rdma_release(r);
}

static const struct dpa_task_ops task_ops = {
	.submit = submit_rdma_task,
	.completed = call_rdma_task_back,
	.retire = retire_rdma_task,
	.free = free_rdma_task,
};

doca_error_t dpa_rdma_task_new(struct doca_rdma *rdma, enum dpa_rdma_kind kind,
			       struct doca_rdma_connection *conn, union doca_data user_data,
			       struct dpa_rdma_task **out)
{
	struct dpa_rdma_task *t;

	if (!dpa_live(rdma) || !rdma->started || !dpa_rdma_on_cpu(rdma))
		return DOCA_ERROR_INVALID_VALUE;
	if (kind != RT_RECEIVE && (!dpa_live(conn) || conn->rdma != rdma))
		return DOCA_ERROR_INVALID_VALUE;
	if (rdma->tasks.conf[kind].used >= rdma->tasks.conf[kind].max)
		return DOCA_ERROR_NO_MEMORY;
	t = dpa_obj_new(DPA_T_RDMA_TASK, sizeof(*t));
	if (!t)
		return DOCA_ERROR_NO_MEMORY;
	dpa_task_init(&t->task, &rdma->ctx, &task_ops, user_data);
	t->rdma = rdma;
	t->kind = kind;
	t->conn = conn;
	dpa_rdma_hold(rdma);
	rdma->tasks.conf[kind].used++;
	*out = t;
	return DOCA_SUCCESS;
}

/* ----------------------------------------------------------------- their ends */

static doca_error_t from_status(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return DOCA_SUCCESS;
	case IBV_WC_WR_FLUSH_ERR:
		return DOCA_ERROR_SHUTDOWN;
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return DOCA_ERROR_TIME_OUT;
	case IBV_WC_REM_ACCESS_ERR:
		return DOCA_ERROR_NOT_PERMITTED;
	case IBV_WC_LOC_LEN_ERR:
		return DOCA_ERROR_TOO_BIG;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
		return DOCA_ERROR_INVALID_VALUE;
	default:
		return DOCA_ERROR_IO_FAILED;
	}
}

static void end_rdma_task(struct dpa_rdma_task *t, doca_error_t status)
{
	unlink_task(t);
	if (!status && t->kind != RT_RECEIVE)
		dpa_rdma_filled(t, t->len);
	dpa_task_complete(&t->task, status);
}

/*
 * End the tasks from the connection's first one up to t. Those before t have succeeded, or they
 * would have been reported themselves.
 */
static void end_up_to(struct doca_rdma_connection *c, struct dpa_rdma_task *t, doca_error_t status)
{
	while (c->sent) {
		struct dpa_rdma_task *first = c->sent;

		if (&first->next == c->sent_end)
			c->sent_end = &c->sent;
		end_rdma_task(first, first == t ? status : DOCA_SUCCESS);
		if (first == t)
			break;
	}
}

static struct doca_rdma_connection *by_qpn(const struct doca_rdma *r, uint32_t qpn)
{
	for (uint32_t i = 0; i < r->conf.max_connections; i++) {
		struct doca_rdma_connection *c = r->conns[i];

		if (c && c->qp->qp_num == qpn)
			return c;
	}
	return NULL;
}

static void task_received(struct dpa_rdma_task *t, const struct ibv_wc *wc)
{
	bool write = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;

	t->from = by_qpn(t->rdma, wc->qp_num);
	t->result_imm = wc->wc_flags & IBV_WC_WITH_IMM ? wc->imm_data : 0;
	t->opcode = write			     ? DOCA_RDMA_OPCODE_RECV_WRITE_WITH_IMM
		    : wc->wc_flags & IBV_WC_WITH_IMM ? DOCA_RDMA_OPCODE_RECV_SEND_WITH_IMM
						     : DOCA_RDMA_OPCODE_RECV_SEND;
	if (write)
		t->len = wc->byte_len;
	else
		dpa_rdma_filled(t, wc->byte_len);
}

static void task_ended(const struct ibv_wc *wc)
{
	struct dpa_rdma_task *t = (struct dpa_rdma_task *)(uintptr_t)wc->wr_id;
	doca_error_t status = from_status(wc->status);

	if (t->kind != RT_RECEIVE) {
		end_up_to(t->conn, t, status);
		return;
	}
	if (!status)
		task_received(t, wc);
	end_rdma_task(t, status);
}

/* Take completions; those that arm_rdma() has taken come first. */
static int take_completions(struct doca_rdma *r, struct ibv_wc wc[16])
{
	int n = r->tasks.num_wc;

	if (!n)
		return ibv_poll_cq(r->cq, 16, wc);
	for (int i = 0; i < n; i++)
		wc[i] = r->tasks.wc[i];
	r->tasks.num_wc = 0;
	return n;
}

static bool look_at_cq(struct doca_rdma *r)
{
	struct ibv_wc wc[16];
	bool any = false;
	int n = 16;

	for (int round = 0; round < ROUNDS && n == 16; round++) {
		n = take_completions(r, wc);
		for (int i = 0; i < n; i++)
			task_ended(&wc[i]);
		any |= n > 0;
	}
	return any;
}

bool dpa_rdma_tasks_progress(struct doca_rdma *r)
{
	struct ibv_cq *cq;
	void *arg;

	if (r->tasks.armed) {
		r->tasks.armed = false;
		while (!ibv_get_cq_event(r->tasks.channel, &cq, &arg))
			ibv_ack_cq_events(cq, 1);
	}
	return look_at_cq(r);
}

bool dpa_rdma_tasks_arm(struct doca_rdma *r)
{
	r->tasks.armed = true;
	if (ibv_req_notify_cq(r->cq, 0))
		return true;
	if (!r->tasks.num_wc)
		r->tasks.num_wc = ibv_poll_cq(r->cq, 16, r->tasks.wc);
	if (r->tasks.num_wc < 0)
		r->tasks.num_wc = 0;
	return r->tasks.num_wc > 0;
}

/* ------------------------------------------------------------- of the context */

static int64_t task_now_ms(void)
{
	return (int64_t)(dpal_now_ns() / 1000000);
}

/* Work until the SQ is empty and all ends are reported. */
static void work_off_tasks(struct doca_rdma_connection *c, int ms)
{
	int64_t limit = task_now_ms() + ms;
	bool busy;

	do {
		busy = dpa_rdma_has_work(c);
		dpa_hwif_progress(c->rdma->ctx.dev->ctx);
		busy |= look_at_cq(c->rdma);
	} while (c->sent && busy && task_now_ms() < limit);
}

/* Drain, with a bound: tasks that callbacks submit may end at once, too. */
void dpa_rdma_tasks_drain(struct doca_rdma *r)
{
	for (uint32_t n = 0; n <= r->tasks.room / 16 && look_at_cq(r); n++)
		;
}

/*
 * Flush. A peer that has just gone may have executed everything: wait for its last answers, unless
 * this side stops. After that each task that was not carried out has a CQE; a task without one was
 * carried out and requested no report. No message comes any more; those that came are reported now,
 * because their CQEs would go with the QP.
 */
void dpa_rdma_tasks_flush(struct doca_rdma_connection *c)
{
	/* callbacks can submit no more */
	atomic_store_explicit(&c->ready, 0, memory_order_relaxed);
	if (c->rdma->ctx.state != DOCA_CTX_STATE_STOPPING)
		work_off_tasks(c, DPA_RDMA_DRAIN_MS);
	dpa_rdma_fail_connection(c);
	work_off_tasks(c, DPA_RDMA_FLUSH_MS);
	if (c->sent)
		end_up_to(c, NULL, DOCA_SUCCESS);
	dpa_rdma_tasks_drain(c->rdma);
}

void dpa_rdma_tasks_cancel_receives(struct doca_rdma *r)
{
	while (look_at_cq(r))
		;
	while (r->tasks.receives)
		end_rdma_task(r->tasks.receives, DOCA_ERROR_SHUTDOWN);
}

int dpa_rdma_tasks_start(struct doca_rdma *r)
{
	uint64_t entries = (uint64_t)r->conf.max_connections * r->conf.send_queue_size +
			   r->conf.recv_queue_size;
	struct dpa_rdma_tasks *all = &r->tasks;
	struct epoll_event ev = {.events = EPOLLIN};
	struct ibv_context *ctx = r->ctx.dev->ctx;
	int ret;

	if (entries > DPA_MAX_CQE)
		entries = DPA_MAX_CQE;
	all->room = (uint32_t)entries;
	all->num_wc = 0;
	all->armed = false;
	all->channel = ibv_create_comp_channel(ctx);
	if (!all->channel)
		return errno;
	r->cq = ibv_create_cq(ctx, (int)entries, NULL, all->channel, 0);
	if (r->cq && !fcntl(all->channel->fd, F_SETFL, O_NONBLOCK) &&
	    !epoll_ctl(r->cm.epoll, EPOLL_CTL_ADD, all->channel->fd, &ev))
		return 0;
	ret = errno;
	dpa_rdma_tasks_stop(r);
	return ret;
}

void dpa_rdma_tasks_stop(struct doca_rdma *r)
{
	if (r->cq)
		ibv_destroy_cq(r->cq);
	if (r->tasks.channel)
		ibv_destroy_comp_channel(r->tasks.channel);
	r->cq = NULL;
	r->tasks.channel = NULL;
}
