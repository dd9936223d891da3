/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fuzz_watch.c - a poster that maps the queues of a QP and writes anything there (eu/watch.c and
 * the transport behind it): a GPU's kernel, for example. The other QP and all memory that A's keys
 * do not give must stay as they are.
 *
 * Input: a byte for the QPs (enum fuzz_kind; XRC is not watched and counts as RC), then steps: a
 * byte (enum step and flags), a length, that number of bytes.
 */
#include <stdlib.h>
#include "ctx/qp.h"
#include "eu/watch.h"
#include "qps.h"
#include "transport/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
	POST,	  /* one block: bytes, put right as the flags ask */
	GOOD,	  /* a WRITE of A's; two bytes: one of its own to change, and what to XOR it with */
	WORD,	  /* the producer index: up to 8 bytes, added to the right one */
	RECV,	  /* bytes over the receives and their index */
	DOORBELL, /* bytes over the doorbell record */
	DELIVER,  /* the packets arrive */
	TICK,	  /* the next timer runs */
	STEPS,
};

enum {
	RIGHT_FRAME = 0x08,  /* index and length of the WQE */
	RIGHT_LOCAL = 0x10,  /* its first SGE lies in A's memory */
	RIGHT_REMOTE = 0x20, /* its target lies in B's memory; with RIGHT_LOCAL: its length, too */
	AT_GUARDED = 0x40,   /* with one of the two: memory that may only be read, or has no key */
	RINGS = 0x80,	     /* the right producer index afterwards, and the EU looks */
};

#define SQ_BLOCKS (1u << TH_LOG_SQ)
#define CANARY	  8192u

static uint64_t word __attribute__((aligned(8)));
static uint8_t canary[CANARY]; /* no key is for it */

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

static void post(struct fuzz *f, uint8_t how, const uint8_t *p, size_t n)
{
	uint8_t w[DPA_WQEBB] __attribute__((aligned(16))) = {0};

	memcpy(w, p, n < sizeof(w) ? n : sizeof(w));
	put_right(f, how, w);
	memcpy(block_of(f, f->th->a.pi++), w, sizeof(w));
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
}

static void store_word(struct fuzz *f, const uint8_t *p, size_t n)
{
	uint64_t add = 0;

	memcpy(&add, p, n < sizeof(add) ? n : sizeof(add));
	__atomic_store_n(&word, f->th->a.pi + add, __ATOMIC_RELEASE);
	look(f);
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

static void step(struct fuzz *f, uint8_t how, const uint8_t *p, size_t n)
{
	switch ((how & 7) % STEPS) {
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
	}
	if (how & RINGS)
		ring(f);
	drain(f);
}

/* -------------------------------------------------------------------- whole */

static void reset(struct th_side *s)
{
	const struct dpa_qp_attr a = {.state = DPA_QPS_RESET};

	MUST(!dpa_hw_modify_qp(s->qp, &a, DPA_QPM_STATE));
	s->pi = s->rpi = 0;
	memset(&s->dbrec, 0, sizeof(s->dbrec));
}

static void connect_again(struct th_side *s)
{
	struct dpa_qp_attr a = {.access = TH_ALL,
				.dest_qpn = s->other->qp->qpn,
				.av = {.is_global = 1},
				.port = 1,
				.path_mtu = 3,
				.max_rd_atomic = 4,
				.max_dest_rd_atomic = 4};
	uint32_t mask = DPA_QPM_STATE | DPA_QPM_ACCESS | DPA_QPM_RQ_PSN | DPA_QPM_SQ_PSN |
			DPA_QPM_DEST_QPN | DPA_QPM_AV | DPA_QPM_PORT | DPA_QPM_PATH_MTU |
			DPA_QPM_TIMEOUT | DPA_QPM_RETRY_CNT | DPA_QPM_RNR_RETRY |
			DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_RD_ATOMIC | DPA_QPM_MAX_DEST_RD_ATOMIC;

	memcpy(a.av.dgid, th_gid[0], 16);
	for (a.state = DPA_QPS_INIT; a.state <= DPA_QPS_RTS; a.state++, mask = DPA_QPM_STATE)
		MUST(!dpa_hw_modify_qp(s->qp, &a, mask));
}

/* After a reset nothing of the garbage is left: a WRITE completes. An invalidated key is replaced. */
static void works_again(struct fuzz *f)
{
	struct th_side *a = &f->th->a, *b = &f->th->b;
	struct dpa_cqe e;

	reset(a);
	reset(b);
	drain(f);
	connect_again(a);
	connect_again(b);
	th_fill(b->mem, 5000, 8);
	th_fill(a->mem, 5000, 9);
	th_send(a, DPA_OP_RDMA_WRITE, 0, 5000, 0);
	th_settle(f->th);
	MUST(th_poll(&a->scq, &e) && e.status == DPA_CQE_OK && th_check(b->mem, 5000, 9));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f;
	size_t at = 1;

	if (size < 3)
		return 0;
	fuzz_begin(&f, (data[0] & KIND_TYPE) == KIND_TYPE ? data[0] & ~KIND_TYPE : data[0]);
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
	if (!(f.kind & (KIND_TYPE | KIND_LOSSY | KIND_WIRE)))
		works_again(&f);
	MUST(!dpa_hw_watch_sq(f.th->a.qp, NULL));
	fuzz_end(&f);
	return 0;
}
