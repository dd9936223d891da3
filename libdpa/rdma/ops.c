/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.c - posting from device code. An op does not wait for a full queue: it drives the device a
 * little and returns "again", so that the code can be killed, and the context stopped, meanwhile. A
 * doorbell that was held back is rung before a thread waits for its work.
 */
#include "../run/ops.h"
#include "../sync/sync_event.h"
#include "ops.h"
#include "rdma.h"

/* enum doca_dpa_dev_submit_flag, which only device code can include */
#define FLAG_FLUSH	      (1u << 0)
#define FLAG_OPTIMIZE_REPORTS (1u << 1)
#define ALL_FLAGS	      (FLAG_FLUSH | FLAG_OPTIMIZE_REPORTS)

/*
 * Look up the context. NULL: it existed when the caller began to wait, and was stopped since. The
 * post is dropped, like those in its queues.
 */
static struct doca_rdma *get_rdma(struct dpal_eu *eu, struct dpal_run *run, uint64_t handle,
				  bool again)
{
	struct dpa_object *o;

	if (again && !dpa_handle_get(&run->cur->handles, DPA_H_RDMA, handle))
		return NULL;
	o = dpa_op_object(eu, run, DPA_H_RDMA, handle, "started RDMA context");
	return container_of(o, struct doca_rdma, obj);
}

static struct doca_rdma_connection *get_conn(struct dpal_eu *eu, struct doca_rdma *r, uint32_t id)
{
	struct doca_rdma_connection *c = NULL;

	if (id < r->conf.max_connections)
		c = atomic_load_explicit(&r->live[id], memory_order_seq_cst);
	if (!c)
		dpa_op_mistake(eu, "a connection id that is not connected");
	return c;
}

static uint32_t sge_length(uint64_t length)
{
	return length < UINT32_MAX ? (uint32_t)length
				   : UINT32_MAX; /* too long: the device reports it */
}

/* Fill in the work request, except its number. */
static void make_wr(const struct doca_rdma_connection *c, const struct dpa_dev_rdma_wr *in,
		    struct dpa_sge *sge, struct dpa_qp_wr *w)
{
	const struct doca_rdma *r = c->rdma;

	*w = (struct dpa_qp_wr){.opcode = (uint8_t)in->op,
				.imm = in->imm,
				.rkey = in->remote_key,
				.remote = in->remote,
				.swap_add = in->value};
	if (!(in->flags & FLAG_OPTIMIZE_REPORTS))
		w->flags |= DPA_WQE_SIGNALED;
	if (in->data) {
		w->flags |= DPA_WQE_INLINE;
		w->data = in->data;
		w->length = (uint32_t)in->length;
		return;
	}
	*sge = (struct dpa_sge){
		.addr = in->local, .length = sge_length(in->length), .lkey = in->local_key};
	if (in->op == DPA_OP_ATOMIC_FA)
		*sge = (struct dpa_sge){.addr = (uintptr_t)r->scratch +
						(uint64_t)c->id * DPA_RDMA_SCRATCH,
					.length = 8,
					.lkey = r->scratch_mr->lkey};
	w->sge = sge;
	w->nsge = sge->length != 0;
}

/*
 * Put a work request. If the queue is full, WQEs that were held back are announced, so that room
 * appears. True: ring the doorbell.
 */
static bool put_wr(struct doca_rdma_connection *c, struct dpa_qp_wr *w, bool flush, bool *full)
{
	bool ring;

	dpal_eu_lock(&c->lock);
	w->wr_id = c->posted & (c->rdma->conf.send_queue_size - 1);
	*full = !dpa_qp_put(&c->queues, w);
	if (!*full) {
		c->posted++;
		c->held = true;
	}
	ring = c->held && (*full || flush);
	if (ring) {
		c->held = false;
		dpa_qp_doorbell(&c->queues);
	}
	dpal_eu_unlock(&c->lock);
	return ring;
}

static bool is_valid_rdma_wr(const struct dpa_dev_rdma_wr *wr)
{
	return (wr->op <= DPA_OP_RDMA_READ || wr->op == DPA_OP_ATOMIC_FA) &&
	       !(wr->flags & ~(uint32_t)ALL_FLAGS) &&
	       !(wr->data && wr->length > DPA_DEV_RDMA_INLINE);
}

/* Post. True: the queue is full. */
static bool post_rdma(struct dpal_eu *eu, struct dpal_run *run, struct doca_rdma_connection *c,
		      const struct dpa_dev_rdma_wr *wr)
{
	struct dpa_sge sge;
	struct dpa_qp_wr w;
	bool full;

	make_wr(c, wr, &sge, &w);
	if (wr->event)
		dpa_se_remote_where(dpa_op_object(eu, run, DPA_H_SYNC_EVENT_REMOTE, wr->event,
						  "sync event of a peer"),
				    &w.remote, &w.rkey);
	if (put_wr(c, &w, wr->flags & FLAG_FLUSH, &full))
		dpa_hwif_ring_sq(&c->queues.view);
	return full;
}

int dpa_op_rdma_post(uint64_t rdma, uint32_t connection, const struct dpa_dev_rdma_wr *wr)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_rdma *r = get_rdma(eu, run, rdma, wr->again);
	bool full = false;

	if (!is_valid_rdma_wr(wr))
		dpa_op_mistake(eu, "submit flags that are unknown");
	if (r) {
		full = post_rdma(eu, run, get_conn(eu, r, connection), wr);
		if (full && !dpa_hwif_progress(r->ctx.dev->ctx))
			sched_yield();
	}
	dpal_eu_op_end(eu);
	return full;
}

/* Put a receive. False: the queue is full. */
static bool put_receive(struct doca_rdma *r, const struct dpa_sge *sge)
{
	uint16_t index, turn;
	bool full;

	dpal_eu_lock(&r->recv_lock);
	full = dpa_srq_full(&r->recv);
	if (!full) {
		index = dpa_wr_index_take(&r->indices, &turn);
		dpa_srq_post(&r->recv, dpa_rdma_recv_id(r->seat, turn, index), sge,
			     sge->length != 0);
	}
	dpal_eu_unlock(&r->recv_lock);
	return !full;
}

int dpa_op_rdma_receive(uint64_t rdma, uint32_t again, uint32_t key, uint64_t addr, uint64_t length)
{
	struct dpa_sge sge = {.addr = addr, .length = sge_length(length), .lkey = key};
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_rdma *r = get_rdma(eu, run, rdma, again);
	bool full = false;

	if (r) {
		full = !put_receive(r, &sge);
		if (full && !dpa_hwif_progress(r->ctx.dev->ctx))
			sched_yield();
	}
	dpal_eu_op_end(eu);
	return full;
}

int dpa_op_rdma_snapshot(uint64_t rdma, uint32_t connection, uint32_t key, uint64_t addr,
			 uint64_t length)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct doca_rdma *r = get_rdma(eu, run, rdma, false);
	struct doca_rdma_connection *c = get_conn(eu, r, connection);
	bool yes = length <= DPA_DEV_RDMA_INLINE &&
		   dpa_hwif_may_read(&c->queues.view, key, addr, length);

	dpal_eu_op_end(eu);
	return yes;
}

void dpa_rdma_taken(struct doca_dpa_completion *comp, uint64_t wr_id)
{
	/* seq_cst after in_op, as in dpa_handle_get() */
	struct doca_rdma *r = atomic_load_explicit(&comp->rdmas, memory_order_seq_cst);

	while (r && r->seat != wr_id >> 48)
		r = atomic_load_explicit(&r->next_at_comp, memory_order_seq_cst);
	if (!r)
		/* it was stopped since, or the element is not of an RDMA context's receive */
		return;
	dpal_eu_lock(&r->recv_lock);
	dpa_wr_index_give(&r->indices, (uint32_t)wr_id, (uint16_t)(wr_id >> 32));
	dpal_eu_unlock(&r->recv_lock);
}

/* Do nothing: the device itself shows which receives it has taken. */
void dpa_op_rdma_receive_ack(uint64_t rdma, uint32_t n)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	get_rdma(eu, run, rdma, false);
	dpal_eu_op_end(eu);
}

_Static_assert((int)DPA_DEV_RDMA_OP_READ == (int)DPA_OP_RDMA_READ &&
		       (int)DPA_DEV_RDMA_OP_FETCH_ADD == (int)DPA_OP_ATOMIC_FA,
	       "opcodes of device code are those of WQEs");
