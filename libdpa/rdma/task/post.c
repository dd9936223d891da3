/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * post.c - conversion of tasks to work requests. Data are read from a buf's data, and written
 * behind them, up to the end of the buf; the bufs of a list follow each other.
 */
#include <errno.h>
#include "../../common/buf/buf.h"
#include "../../sync/sync_event.h"
#include "../rdma.h"

#define WORD sizeof(uint64_t)

struct list {
	struct ibv_sge sge[DPA_MAX_SGE];
	int num;
	uint64_t bytes;
};

/* Initialise a list, except the array, which is large. */
static void list_begin(struct list *l)
{
	l->num = 0;
	l->bytes = 0;
}

static size_t task_buf_room(const struct doca_buf *b)
{
	return b->len - (size_t)(b->data - b->head) - b->data_len;
}

static doca_error_t add_sge(struct list *l, int max, const struct dpa_buf_data *d, void *addr,
			    size_t len)
{
	if (d->key->remote || l->num == max || len > DPA_MAX_MSG - l->bytes)
		return DOCA_ERROR_INVALID_VALUE;
	if (len)
		l->sge[l->num++] = (struct ibv_sge){
			.addr = (uintptr_t)addr, .length = (uint32_t)len, .lkey = d->key->key};
	l->bytes += len;
	return DOCA_SUCCESS;
}

/* Gather the data of a buf. NULL is an empty message. */
static doca_error_t gather_buf(const struct doca_rdma *r, const struct doca_buf *b, struct list *l)
{
	struct dpa_buf_data d;

	for (; b; b = b->next)
		if (dpa_buf_data(b, r->ctx.dev, &d) ||
		    add_sge(l, (int)r->conf.send_list_len, &d, d.addr, d.len))
			return DOCA_ERROR_INVALID_VALUE;
	return DOCA_SUCCESS;
}

/* Scatter into room for `want` bytes, or into all there is (~0). */
static doca_error_t scatter_buf(const struct doca_rdma *r, const struct doca_buf *b, uint32_t max,
				uint64_t want, struct list *l)
{
	struct dpa_buf_data d;

	for (; b && l->bytes < want; b = b->next) {
		size_t n;

		if (dpa_buf_data(b, r->ctx.dev, &d))
			return DOCA_ERROR_INVALID_VALUE;
		n = task_buf_room(b) < want - l->bytes ? task_buf_room(b)
						       : (size_t)(want - l->bytes);
		if (add_sge(l, (int)max, &d, b->data + b->data_len, n))
			return DOCA_ERROR_INVALID_VALUE;
	}
	return want == UINT64_MAX || l->bytes == want ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

/* Use eight bytes at a buf's data. */
static doca_error_t word_buf(const struct doca_rdma *r, const struct doca_buf *b, struct list *l)
{
	struct dpa_buf_data d;

	if (dpa_buf_data(b, r->ctx.dev, &d) || b->data_len + task_buf_room(b) < WORD)
		return DOCA_ERROR_INVALID_VALUE;
	return add_sge(l, 1, &d, b->data, WORD);
}

/*
 * Get the address and key of a peer's buf: of an imported map, or of a map of this process, for a
 * connection within it.
 */
static doca_error_t remote_buf(const struct doca_rdma *r, const struct doca_buf *b, uint64_t *addr,
			       uint32_t *rkey)
{
	struct dpa_buf_data d;

	if (dpa_buf_data(b, r->ctx.dev, &d) || d.key->pci)
		return DOCA_ERROR_INVALID_VALUE;
	*addr = (uintptr_t)d.addr;
	*rkey = d.key->key;
	return DOCA_SUCCESS;
}

/* Set the destination of a write: behind the data of the peer's buf, where it must fit. */
static doca_error_t put_destination(const struct dpa_rdma_task *t, uint64_t bytes,
				    struct ibv_send_wr *wr)
{
	doca_error_t ret = remote_buf(t->rdma, t->dst, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);

	if (ret || bytes > task_buf_room(t->dst))
		return DOCA_ERROR_INVALID_VALUE;
	wr->wr.rdma.remote_addr += t->dst->data_len;
	return DOCA_SUCCESS;
}

static doca_error_t put_source(const struct dpa_rdma_task *t, struct list *l,
			       struct ibv_send_wr *wr)
{
	doca_error_t ret = remote_buf(t->rdma, t->src, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);

	if (ret)
		return ret;
	return scatter_buf(t->rdma, t->dst, t->rdma->conf.send_list_len, t->src->data_len, l);
}

static doca_error_t put_atomic_wr(struct dpa_rdma_task *t, struct list *l, struct ibv_send_wr *wr)
{
	doca_error_t ret;

	if (t->kind == RT_EVENT_ADD)
		ret = dpa_se_remote_word(t->event, &wr->wr.atomic.remote_addr, &wr->wr.atomic.rkey);
	else
		ret = remote_buf(t->rdma, t->dst, &wr->wr.atomic.remote_addr, &wr->wr.atomic.rkey);
	if (ret || wr->wr.atomic.remote_addr % WORD)
		return DOCA_ERROR_INVALID_VALUE;
	wr->wr.atomic.compare_add = t->kind == RT_CMP_SWP ? t->compare : t->value;
	wr->wr.atomic.swap = t->value;
	return word_buf(t->rdma, t->result, l);
}

static doca_error_t event_word(struct dpa_rdma_task *t, struct list *l, struct ibv_send_wr *wr)
{
	doca_error_t ret =
		dpa_se_remote_word(t->event, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);

	if (ret)
		return ret;
	if (t->kind == RT_EVENT_GET)
		return word_buf(t->rdma, t->dst, l);
	ret = gather_buf(t->rdma, t->src, l);
	return ret || l->bytes != WORD ? DOCA_ERROR_INVALID_VALUE : DOCA_SUCCESS;
}

static const enum ibv_wr_opcode opcodes[RT_KINDS] = {
	[RT_SEND] = IBV_WR_SEND,
	[RT_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
	[RT_READ] = IBV_WR_RDMA_READ,
	[RT_WRITE] = IBV_WR_RDMA_WRITE,
	[RT_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
	[RT_CMP_SWP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	[RT_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	[RT_EVENT_GET] = IBV_WR_RDMA_READ,
	[RT_EVENT_SET] = IBV_WR_RDMA_WRITE,
	[RT_EVENT_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static doca_error_t describe_wr(struct dpa_rdma_task *t, struct list *l, struct ibv_send_wr *wr)
{
	doca_error_t ret = DOCA_SUCCESS;

	switch (t->kind) {
	case RT_READ:
		return put_source(t, l, wr);
	case RT_EVENT_GET:
	case RT_EVENT_SET:
		return event_word(t, l, wr);
	case RT_CMP_SWP:
	case RT_FETCH_ADD:
	case RT_EVENT_ADD:
		return put_atomic_wr(t, l, wr);
	default:
		ret = gather_buf(t->rdma, t->src, l);
		if (!ret && (t->kind == RT_WRITE || t->kind == RT_WRITE_IMM))
			ret = put_destination(t, l->bytes, wr);
		return ret;
	}
}

static doca_error_t post_error(int err)
{
	return err == ENOMEM ? DOCA_ERROR_AGAIN : DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t post_receive_task(struct dpa_rdma_task *t)
{
	struct list l;
	struct ibv_recv_wr wr = {.wr_id = (uintptr_t)t, .sg_list = l.sge}, *bad;
	doca_error_t ret;
	int err;

	list_begin(&l);
	ret = scatter_buf(t->rdma, t->dst, t->rdma->conf.recv_list_len, UINT64_MAX, &l);
	if (ret)
		return ret;
	wr.num_sge = l.num;
	err = ibv_post_srq_recv(t->rdma->srq, &wr, &bad);
	return err ? post_error(err) : DOCA_SUCCESS;
}

/*
 * Begin a work request. It is not zeroed as a whole: that would take longer than all other stores
 * to it.
 */
static void begin_wr(const struct dpa_rdma_task *t, struct list *l, bool report,
		     struct ibv_send_wr *wr)
{
	wr->wr_id = (uintptr_t)t;
	wr->next = NULL;
	wr->sg_list = l->sge;
	wr->opcode = opcodes[t->kind];
	wr->send_flags = report ? IBV_SEND_SIGNALED : 0;
	wr->imm_data = t->imm;
}

doca_error_t dpa_rdma_post(struct dpa_rdma_task *t, bool report)
{
	struct ibv_send_wr wr, *bad;
	struct list l;
	doca_error_t ret;
	int err;

	if (t->kind == RT_RECEIVE)
		return post_receive_task(t);
	if (!dpa_live(t->conn) || t->conn->rdma != t->rdma ||
	    !atomic_load_explicit(&t->conn->ready, memory_order_relaxed))
		return DOCA_ERROR_NOT_CONNECTED;
	list_begin(&l);
	begin_wr(t, &l, report, &wr);
	ret = describe_wr(t, &l, &wr);
	if (ret)
		return ret;
	t->len = (uint32_t)l.bytes;
	wr.num_sge = l.num;
	err = ibv_post_send(t->conn->qp, &wr, &bad);
	return err ? post_error(err) : DOCA_SUCCESS;
}

/* Append as far as there is room. Changes that the user has made meanwhile stay. */
static void append_data(struct doca_buf *b, uint32_t len)
{
	for (; b && dpa_buf_live(b) && len; b = b->next) {
		uint32_t n = task_buf_room(b) < len ? (uint32_t)task_buf_room(b) : len;

		b->data_len += n;
		len -= n;
	}
}

static void hold_word(struct doca_buf *b)
{
	if (dpa_buf_live(b) && b->data_len < WORD && b->data_len + task_buf_room(b) >= WORD)
		b->data_len = WORD;
}

void dpa_rdma_filled(struct dpa_rdma_task *t, uint32_t len)
{
	t->len = len;
	switch (t->kind) {
	case RT_RECEIVE:
	case RT_READ:
		append_data(t->dst, len);
		break;
	case RT_EVENT_GET:
		hold_word(t->dst);
		break;
	case RT_CMP_SWP:
	case RT_FETCH_ADD:
	case RT_EVENT_ADD:
		hold_word(t->result);
		break;
	default:
		break;
	}
}
