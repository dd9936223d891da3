/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz_watch.c - a poster that maps the queues of a QP and writes anything there (eu/watch.c and
 * the transport behind it): a GPU's kernel, for example. The other QP and all memory that A's keys
 * do not give must stay as they are, and the poster gets an error completion.
 *
 * Input: a byte for the QPs (enum fuzz_kind; XRC is not watched and counts as RC; GPU: as a kernel
 * of GPUNetIO has them, gpu_queues.h), then steps: a byte (enum step and flags), a length, that
 * number of bytes.
 */
#include <stdlib.h>
#include "ctx/qp.h"
#include "eu/watch.h"
#include "gpu_queues.h"
#include "qps.h"
#include "transport/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
	POST,	  /* one block: bytes, put right as the flags ask */
	GOOD,	  /* a WRITE of A's; two bytes: one of its own to change, and what to XOR it with */
	WORD,	  /* the producer index: up to 8 bytes, added to the right one */
	RECV,	  /* bytes over the receives and their index, or over what the flags name */
	DOORBELL, /* bytes over the doorbell record */
	DELIVER,  /* the packets arrive */
	TICK,	  /* the next timer runs */
	PEER,	  /* a message of B's: a byte for its kind, two for its length */
};

enum { GPU = 1 << 7 }; /* of the byte for the QPs; with RC */

enum {
	RIGHT_FRAME = 0x08,  /* index and length of the WQE */
	RIGHT_LOCAL = 0x10,  /* its first SGE lies in A's memory */
	RIGHT_REMOTE = 0x20, /* its target lies in B's memory; with RIGHT_LOCAL: its length, too */
	AT_GUARDED = 0x40,   /* with one of the two: memory that may only be read, or has no key */
	RINGS = 0x80,	     /* the right producer index afterwards, and the EU looks */
	/* RECV, GPU: where the bytes go; the first one names the place */
	AT_SEND_CQ = 0x08,
	AT_RECV_CQ = 0x10,
	AT_RECORD = 0x20, /* doorbell record of the SRQ */
};

#define SQ_BLOCKS (1u << TH_LOG_SQ)
#define CANARY	  8192u

static uint64_t word __attribute__((aligned(8)));
static uint8_t canary[CANARY]; /* no key is for it */
static struct gpu_queues gpu;

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

static void look(struct fuzz *f)
{
	struct dpa_hw_qp *qp = f->th->a.qp;

	dpa_qplock_lock(&qp->lock);
	dpa_watch_take(qp);
	dpa_requester_run(qp);
	dpa_qp_leave(qp);
}

static void drain(struct fuzz *f)
{
	struct dpa_cqe e;

	if (gpu.m) {
		gpu_queues_drain(&gpu, f);
		gpu_queues_check(&gpu);
	}
	while (th_poll(&f->th->b.scq, &e))
		MUST(e.qpn == f->th->b.qp->qpn);
	while (th_poll(&f->th->a.scq, &e))
		MUST(e.qpn == f->th->a.qp->qpn);
	while (th_poll(&f->th->a.rcq, &e))
		;
	while (th_poll(&f->th->b.rcq, &e))
		MUST(e.wr_id < f->recvs);
}

static void ring(struct fuzz *f)
{
	__atomic_store_n(&word, (uint64_t)f->th->a.pi, __ATOMIC_RELEASE);
	look(f);
}

static uint8_t *block_of(struct fuzz *f, uint32_t idx)
{
	return f->th->a.sq + (size_t)(idx & (SQ_BLOCKS - 1)) * DPA_WQEBB;
}

/* ------------------------------------------------------------------ posting */

/* An address that A may not write to: outside of the region, or within it and only to be read. */
static uint64_t forbidden(struct fuzz *f, uint64_t addr, uint32_t *key)
{
	*key = addr & 1 ? f->guard_key : f->th->a.key;
	return (uintptr_t)canary + addr % CANARY;
}

static void put_right(struct fuzz *f, uint8_t how, uint8_t *w)
{
	const uint32_t body = dpa_wqe_body(f->th->a.qp);
	struct dpa_wqe_ctrl *c = (void *)w;
	struct dpa_wqe_raddr *r = (void *)(w + body);
	const uint32_t at = dpa_wqe_sge_off(f->th->a.qp, c->opcode);
	struct dpa_sge *g = (void *)(w + at);

	if (how & RIGHT_FRAME) {
		c->index = f->th->a.pi;
		c->nbb = 1;
	}
	if (how & RIGHT_LOCAL && at + sizeof(*g) <= DPA_WQEBB) {
		c->flags &= (uint8_t)~DPA_WQE_INLINE;
		c->nsge = 1;
		g->length %= 70000;
		g->lkey = f->th->a.key;
		g->addr = (uintptr_t)f->th->a.mem + g->addr % (TH_MEM - 70000);
		if (how & AT_GUARDED)
			g->addr = forbidden(f, g->addr, &g->lkey);
		if (how & RIGHT_REMOTE)
			c->length = g->length;
	}
	if (how & RIGHT_REMOTE && at > body) {
		r->addr = (uintptr_t)f->th->b.mem + r->addr % (TH_MEM - 70000);
		r->rkey = f->th->b.key;
		if (how & AT_GUARDED)
			r->addr = forbidden(f, r->addr, &r->rkey);
	}
}

/* The poster wrote what the SQ has now. */
static void posted(void)
{
	if (gpu.m)
		gpu_queues_write(&gpu, gpu.m->sq, sizeof(gpu.m->sq), 0, gpu.m->sq, 0);
}

static void post(struct fuzz *f, uint8_t how, const uint8_t *p, size_t n)
{
	uint8_t w[DPA_WQEBB] __attribute__((aligned(16))) = {0};

	memcpy(w, p, n < sizeof(w) ? n : sizeof(w));
	put_right(f, how, w);
	memcpy(block_of(f, f->th->a.pi++), w, sizeof(w));
	posted();
}

static void post_good(struct fuzz *f, const uint8_t *p, size_t n)
{
	struct th_side *a = &f->th->a;
	const uint32_t at = a->pi, off = n * 4096, pi = a->dbrec.sq_pi;
	struct th_wr wr = {.op = f->kind & KIND_TYPE ? DPA_OP_SEND : DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)a->mem + off, 3000, a->key}},
			   .raddr = (uintptr_t)f->th->b.mem + off,
			   .rkey = f->th->b.key};

	if (a->pi - a->dbrec.sq_ci >= SQ_BLOCKS || !th_post(a, &wr))
		return;
	__atomic_store_n(&a->dbrec.sq_pi, pi, __ATOMIC_RELAXED); /* the device's */
	if (n >= 2)
		block_of(f, at)[p[0] % DPA_WQEBB] ^= p[1];
	posted();
}

static void store_word(struct fuzz *f, const uint8_t *p, size_t n)
{
	uint64_t add = 0;

	memcpy(&add, p, n < sizeof(add) ? n : sizeof(add));
	__atomic_store_n(&word, f->th->a.pi + add, __ATOMIC_RELEASE);
	look(f);
}

/* The index in the record of the SRQ moves by the first byte. */
static void write_gpu(uint8_t how, const uint8_t *p, size_t n)
{
	struct gpu_memory *m = gpu.m;

	if (!n)
		return;
	if (how & AT_SEND_CQ)
		gpu_queues_write(&gpu, (uint8_t *)m->scq, sizeof(m->scq), p[0] * 61u, p, n);
	else if (how & AT_RECV_CQ)
		gpu_queues_write(&gpu, (uint8_t *)m->rcq, sizeof(m->rcq), p[0] * 61u, p, n);
	else if (how & AT_RECORD)
		gpu_queues_write(&gpu, (uint8_t *)&m->srq_rec, sizeof(m->srq_rec), p[0], p, n);
	else
		gpu_queues_write(&gpu, m->srq, sizeof(m->srq), p[0] * 5u, p, n);
	__atomic_store_n(&m->srq_rec.rq_pi, m->srq_rec.rq_pi + (p[0] & 7), __ATOMIC_RELEASE);
}

static void write_receives(struct fuzz *f, const uint8_t *p, size_t n)
{
	struct th_side *a = &f->th->a;
	const size_t room = (size_t)dpa_rwqe_stride(4) << TH_LOG_RQ;

	for (size_t i = 0; i < n; i++)
		a->rq[(i * 5 + p[0]) % room] = p[i];
	if (n)
		__atomic_store_n(&a->dbrec.rq_pi, a->dbrec.rq_pi + p[0], __ATOMIC_RELEASE);
	dpa_hw_ring_rq(a->qp);
}

static void write_doorbell_record(struct fuzz *f, const uint8_t *p, size_t n)
{
	memcpy(&f->th->a.dbrec, p, n < sizeof(f->th->a.dbrec) ? n : sizeof(f->th->a.dbrec));
	dpa_hw_ring_sq(f->th->a.qp);
	dpa_hw_ring_rq(f->th->a.qp);
}

/* A receive of A's memory: a message of B's takes it, or what the poster wrote over it. */
static void message_of_peer(struct fuzz *f, uint8_t how, const uint8_t *p, size_t n)
{
	static const uint8_t ops[] = {DPA_OP_SEND, DPA_OP_SEND_IMM, DPA_OP_RDMA_WRITE_IMM,
				      DPA_OP_RDMA_WRITE, DPA_OP_RDMA_READ};
	struct th_side *b = &f->th->b;
	struct th_wr wr = {.flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)b->mem, 0, b->key}},
			   .raddr = (uintptr_t)f->th->a.mem,
			   .rkey = f->th->a.key};

	if (n < 3 || f->kind & KIND_TYPE)
		return;
	wr.op = ops[p[0] % sizeof(ops)];
	wr.sge[0].length = (uint32_t)(p[1] | p[2] << 8) % 20000;
	if (gpu.m && how & RIGHT_FRAME)
		gpu_queues_recv(&gpu, f, 1, wr.sge[0].length);
	if (th_post(b, &wr))
		th_ring(b);
}

static void step(struct fuzz *f, uint8_t how, const uint8_t *p, size_t n)
{
	switch (how & 7) {
	case POST:
		post(f, how, p, n);
		break;
	case GOOD:
		post_good(f, p, n);
		break;
	case WORD:
		store_word(f, p, n);
		break;
	case RECV:
		if (gpu.m)
			write_gpu(how, p, n);
		else
			write_receives(f, p, n);
		break;
	case DOORBELL:
		write_doorbell_record(f, p, n);
		break;
	case DELIVER:
		th_settle(f->th);
		break;
	case TICK:
		th_tick(f->th);
		break;
	case PEER:
		message_of_peer(f, how, p, n);
		break;
	}
	if (how & RINGS)
		ring(f);
	drain(f);
}

/* -------------------------------------------------------------------- whole */

static uint8_t last_status(const struct dpa_hw_cq *cq)
{
	return cq->buf[(cq->pi - 1) & ((1u << GPU_LOG_CQ) - 1)].status;
}

/* After a reset nothing of the garbage is left: a WRITE completes. An invalidated key is replaced. */
static void works_again(struct fuzz *f)
{
	struct th_side *a = &f->th->a, *b = &f->th->b;
	struct dpa_cqe e;

	fuzz_reset(a);
	fuzz_reset(b);
	drain(f);
	fuzz_connect(f, a);
	fuzz_connect(f, b);
	th_fill(b->mem, 5000, 8);
	th_fill(a->mem, 5000, 9);
	th_send(a, DPA_OP_RDMA_WRITE, 0, 5000, 0);
	posted();
	th_settle(f->th);
	if (gpu.m)
		MUST(gpu.scq->pi == gpu.scq_ci + 1 && last_status(gpu.scq) == DPA_CQE_OK);
	else
		MUST(th_poll(&a->scq, &e) && e.status == DPA_CQE_OK);
	MUST(th_check(b->mem, 5000, 9));
	drain(f);
}

/* So does a receive, behind those that the poster spoiled. */
static void receives_again(struct fuzz *f)
{
	struct th_side *a = &f->th->a, *b = &f->th->b;
	struct dpa_cqe e;

	th_fill(a->mem, 3000, 5);
	th_fill(b->mem, 3000, 6);
	gpu_queues_recv(&gpu, f, 77, 3000);
	th_send(b, DPA_OP_SEND, 0, 3000, 0);
	th_settle(f->th);
	MUST(gpu.rcq->pi == gpu.rcq_ci + 1 && last_status(gpu.rcq) == DPA_CQE_OK);
	MUST(th_poll(&b->scq, &e) && e.status == DPA_CQE_OK && th_check(a->mem, 3000, 6));
	drain(f);
}

/* A's WQEs end: those that the poster has shown are done, or an error reports them. */
static void ends(struct fuzz *f)
{
	const struct dpa_hw_qp *qp = f->th->a.qp;

	if (qp->state == DPA_QPS_ERR)
		MUST(gpu.failed || f->th->events[DPA_EVENT_QP_FATAL & 63] ||
		     f->th->events[DPA_EVENT_QP_ACCESS_ERR & 63] ||
		     f->th->events[DPA_EVENT_QP_REQ_ERR & 63]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f;
	size_t at = 1;

	if (size < 3)
		return 0;
	fuzz_begin(&f, (data[0] & KIND_TYPE) == KIND_TYPE ? data[0] & ~KIND_TYPE : data[0]);
	gpu.m = NULL;
	if (f.kind & GPU && !(f.kind & KIND_TYPE))
		gpu_queues_make(&gpu, &f);
	th_fill(canary, sizeof(canary), 2);
	for (uint32_t i = 0; i < 8; i++)
		fuzz_more(&f, 1); /* a receive */
	word = f.th->a.pi;
	MUST(!dpa_hw_watch_sq(f.th->a.qp, &word));
	while (size - at >= 2) {
		const uint8_t how = data[at];
		size_t n = data[at + 1];

		at += 2;
		if (n > size - at)
			n = size - at;
		step(&f, how, data + at, n);
		at += n;
	}
	th_settle(f.th);
	drain(&f);
	MUST(th_check(canary, sizeof(canary), 2));
	if (gpu.m)
		ends(&f);
	if (!(f.kind & (KIND_TYPE | KIND_LOSSY | KIND_WIRE))) {
		works_again(&f);
		if (gpu.m)
			receives_again(&f);
	}
	MUST(!dpa_hw_watch_sq(f.th->a.qp, NULL));
	if (gpu.m)
		gpu_queues_free(&gpu, &f);
	fuzz_end(&f);
	return 0;
}
