/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * put.c - bytes on their way into memory that cannot be addressed, and the CQEs that are
 * held until they are in place.
 *
 *   put[tail, head): queued, the oldest first; dpa-foreign copies some of them at a time. Each has
 *   its bytes in the window `in`. cqe[]: reported after put number `at`.
 *
 * Two puts may be copied in any order, with two exceptions. A put of 8 bytes or less may be a flag
 * that a program polls. A later put that overlaps an earlier one must win. In both cases the later
 * put is copied after all earlier ones. A put that the next one overwrites completely is not
 * copied.
 */
#include <stdlib.h>
#include <string.h>
#include "ctx/cq.h"
#include "foreign/foreign.h"
#include "ctx/ops.h"
#include "ctx/schedule.h"
#include "wire/aeth.h"

#define FLAG_BYTES 8u
#define NEAR	   16u /* earlier puts that a put is compared with */

static struct dpa_put *put_of(struct dpa_fqp *fq, uint32_t n)
{
	return &fq->put[n & (DPA_FOREIGN_PUTS - 1)];
}

bool dpa_foreign_fits(const struct dpa_hw_qp *qp, uint32_t puts, uint32_t len)
{
	const struct dpa_fqp *fq = qp->fq;

	return fq->put_head - fq->put_tail + puts < DPA_FOREIGN_PUTS &&
	       dpa_window_room(&fq->in, len + puts * DPA_CACHE_LINE);
}

bool dpa_foreign_room(const struct dpa_hw_qp *qp, uint32_t len)
{
	return !qp->fq->leaving && dpa_foreign_fits(qp, DPA_COPY_PIECES, len);
}

bool dpa_foreign_roomy(const struct dpa_hw_qp *qp)
{
	const struct dpa_fqp *fq = qp->fq;

	return !fq->leaving && fq->put_head - fq->put_tail <= DPA_FOREIGN_PUTS / 2 &&
	       fq->in.head - fq->in.tail <= DPA_FOREIGN_WINDOW / 2;
}

uint8_t *dpa_foreign_host(struct dpa_hw_qp *qp, uint32_t n)
{
	return dpa_window_take(&qp->fq->in, n);
}

static struct dpa_put *queue_put(struct dpa_hw_qp *qp, struct dpa_foreign *f, uint64_t addr,
				 uint8_t *host, uint32_t n)
{
	struct dpa_fqp *fq = qp->fq;
	struct dpa_put *p;

	if (fq->put_head - fq->put_tail == DPA_FOREIGN_PUTS)
		return NULL;
	p = put_of(fq, fq->put_head++);
	*p = (struct dpa_put){.f = f,
			      .addr = addr,
			      .host = host,
			      .len = n,
			      .psn = fq->psn,
			      .end = fq->in.head,
			      .kind = fq->kind};
	atomic_fetch_add_explicit(&f->busy, 1, memory_order_relaxed);
	fq->held = true;
	dpa_foreign_queue(fq);
	return p;
}

uint32_t dpa_foreign_put_at(struct dpa_hw_qp *qp, struct dpa_foreign *f, uint64_t addr,
			    uint8_t *host, uint32_t n)
{
	return queue_put(qp, f, addr, host, n) ? 0 : DPA_SYN_PULL_REFUSED;
}

uint32_t dpa_foreign_put(struct dpa_hw_qp *qp, struct dpa_foreign *f, uint64_t addr,
			 const uint8_t *from, uint32_t n)
{
	uint8_t *host = dpa_foreign_host(qp, n);

	if (!host)
		return DPA_SYN_PULL_REFUSED;
	memcpy(host, from, n);
	return dpa_foreign_put_at(qp, f, addr, host, n);
}

uint32_t dpa_foreign_atomic(struct dpa_hw_qp *qp, struct dpa_foreign *f,
			    const struct dpa_fatomic *a)
{
	struct dpa_fqp *fq = dpa_foreign_use(qp);
	struct dpa_put *p;

	if (!fq)
		return DPA_SYN_LOCAL_FAULT;
	fq->kind = DPA_PUT_ATOMIC;
	fq->psn = a->psn;
	p = queue_put(qp, f, a->addr, NULL, sizeof(uint64_t));
	if (!p)
		return DPA_SYN_LOCAL_FAULT;
	p->a = *a;
	return 0;
}

/* ------------------------------------------------------------------------ held */

static bool cqe_room(struct dpa_fqp *fq, uint32_t n)
{
	uint32_t room = fq->cqe_room ? fq->cqe_room : 64;
	struct dpa_fheld *more;

	if (fq->ncqe + n <= fq->cqe_room)
		return true;
	/* so that each entry moves once on average, at most */
	if (fq->cqe_first > fq->cqe_room / 2) {
		fq->ncqe -= fq->cqe_first;
		memmove(fq->cqe, fq->cqe + fq->cqe_first, fq->ncqe * sizeof(*fq->cqe));
		fq->cqe_first = 0;
		if (fq->ncqe + n <= fq->cqe_room)
			return true;
	}
	while (room < fq->ncqe + n)
		room *= 2;
	more = realloc(fq->cqe, room * sizeof(*more));
	if (!more)
		return false;
	fq->cqe = more;
	fq->cqe_room = room;
	return true;
}

bool dpa_foreign_hold(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		      uint32_t n)
{
	struct dpa_fqp *fq = qp->fq;

	if (!fq->held)
		return false;
	if (!cqe_room(fq, n)) {
		qp->slow.cqe_lost = true;
		dpa_schedule(qp, 0);
		return true;
	}
	for (uint32_t i = 0; i < n; i++)
		fq->cqe[fq->ncqe++] = (struct dpa_fheld){.cq = cq, .at = fq->put_head, .e = cqe[i]};
	return true;
}

/* Reports the CQEs that waited for the puts before `tail`, which are done. */
static void report_held(struct dpa_fqp *fq)
{
	while (fq->cqe_first != fq->ncqe &&
	       (int32_t)(fq->cqe[fq->cqe_first].at - fq->put_tail) <= 0) {
		const struct dpa_fheld *h = &fq->cqe[fq->cqe_first++];

		dpa_qp_report_now(fq->qp, h->cq, &h->e, 1);
	}
	if (fq->cqe_first == fq->ncqe)
		fq->cqe_first = fq->ncqe = 0;
}

/* ---------------------------------------------------------------------- copies */

static bool puts_overlap(const struct dpa_put *a, const struct dpa_put *b)
{
	return a->f == b->f && a->addr < b->addr + b->len && b->addr < a->addr + a->len;
}

static bool covers_put(const struct dpa_put *a, const struct dpa_put *b)
{
	return a->addr <= b->addr && b->addr + b->len <= a->addr + a->len;
}

/* Orders put n relative to the puts [first, n), which may be copied in any order. */
static void order_put(struct dpa_fqp *fq, uint32_t *first, uint32_t n, uint64_t *low,
		      uint64_t *high)
{
	struct dpa_put *p = put_of(fq, n);
	uint32_t near = 0;

	p->behind = n != *first && p->len <= FLAG_BYTES;
	if (!p->behind && p->addr < *high && *low < p->addr + p->len) {
		for (uint32_t i = n; i != *first && !p->behind; i--) {
			struct dpa_put *q = put_of(fq, i - 1);

			if (++near > NEAR)
				p->behind = true;
			else if (!q->dead && puts_overlap(p, q)) {
				q->dead = covers_put(p, q) && !q->behind;
				p->behind = !q->dead;
			}
		}
	}
	if (p->behind || n == *first) {
		*first = n;
		*low = p->addr;
		*high = p->addr + p->len;
		return;
	}
	*low = p->addr < *low ? p->addr : *low;
	*high = p->addr + p->len > *high ? p->addr + p->len : *high;
}

struct dpa_put *dpa_foreign_next_atomic(struct dpa_fqp *fq)
{
	struct dpa_put *p = put_of(fq, fq->put_tail);

	return fq->put_head != fq->put_tail && p->kind == DPA_PUT_ATOMIC ? p : NULL;
}

/* Puts that are overwritten have no copy. */
uint32_t dpa_foreign_puts_begin(struct dpa_fqp *fq, struct dpa_fwork *w, uint32_t most,
				uint32_t *copies)
{
	uint32_t first = fq->put_tail, n = first, k = 0;
	uint64_t low = 0, high = 0;

	for (; n != fq->put_head && n - fq->put_tail < most; n++) {
		struct dpa_put *p = put_of(fq, n);

		if (p->kind == DPA_PUT_ATOMIC)
			break;
		p->dead = false;
		order_put(fq, &first, n, &low, &high);
	}
	for (uint32_t i = fq->put_tail; i != n; i++) {
		const struct dpa_put *p = put_of(fq, i);

		if (p->dead)
			continue;
		w[k++] = (struct dpa_fwork){
			.c = {.foreign = p->addr,
			      .host = p->host,
			      .length = p->len,
			      .flags = DPA_FOREIGN_TO | (p->behind ? DPA_FOREIGN_BEHIND : 0)},
			.f = p->f,
			.n = i};
	}
	*copies = k;
	return n - fq->put_tail;
}

/* ----------------------------------------------------------------------- done */

/* True if e is the CQE of the receive or request of the failed put p. */
static bool reports_put(const struct dpa_put *p, const struct dpa_cqe *e)
{
	if (p->kind == DPA_PUT_RECV)
		return e->opcode >= DPA_CQE_RECV;
	return p->kind == DPA_PUT_LOCAL && e->opcode < DPA_CQE_RECV;
}

/*
 * Ends the CQEs behind the put. The first one of its queue reports the error, although the failed
 * request may be an earlier unsignaled one. False: there is no such CQE.
 */
static bool end_held(struct dpa_fqp *fq, const struct dpa_put *p)
{
	bool reported = false;

	for (uint32_t i = fq->cqe_first; i != fq->ncqe; i++) {
		struct dpa_cqe *e = &fq->cqe[i].e;

		if ((int32_t)(fq->cqe[i].at - fq->put_tail) <= 0 || e->status)
			continue;
		e->status = DPA_CQE_WR_FLUSH_ERR;
		e->vendor_err = DPA_SYN_FLUSHED;
		if (!reported && reports_put(p, e)) {
			e->status = DPA_CQE_LOC_PROT_ERR;
			e->vendor_err = DPA_SYN_LOCAL_FAULT;
			reported = true;
		}
		fq->qp->ops->failed(fq->qp, e);
	}
	return reported;
}

/* The remaining held CQEs end with it; IBA 9.9, class A of the responder, class B of a request. */
static void put_failed(struct dpa_fqp *fq, const struct dpa_put *p)
{
	struct dpa_hw_qp *qp = fq->qp;
	struct dpa_resp *r = &qp->resp;

	fq->told = end_held(fq, p);
	/* more packets of the message are expected */
	if (p->kind == DPA_PUT_RECV && !fq->told && r->have_wqe) {
		r->have_wqe = false;
		dpa_qp_recv_ends(qp, r->wqe.wr_id, DPA_CQE_LOC_PROT_ERR, DPA_SYN_LOCAL_FAULT);
	}
	if (p->kind == DPA_PUT_LOCAL || qp->type != DPA_QP_RC)
		return;
	while (r->rd_head != r->rd_tail &&
	       (int32_t)((r->rd[(r->rd_head - 1) % DPA_RD_OWED].psn - p->psn) << 8) >= 0)
		r->rd_head--;
	r->ack_owed = true;
	r->ack_psn = p->psn;
	r->ack_syndrome =
		DPA_AETH_NAK | (p->kind == DPA_PUT_RECV ? DPA_NAK_REM_OP : DPA_NAK_REM_ACCESS);
}

/* The first copy that failed; NULL: none did. */
static const struct dpa_fwork *first_bad(const struct dpa_fwork *w, uint32_t n, const uint64_t *bad)
{
	for (uint32_t i = 0; i < n; i++)
		if (!w[i].get && bad[i / 64] >> i % 64 & 1)
			return &w[i];
	return NULL;
}

static void drop_puts(struct dpa_fqp *fq, uint32_t end)
{
	for (; fq->put_tail != end; fq->put_tail++) {
		const struct dpa_put *p = put_of(fq, fq->put_tail);

		fq->in.tail = p->end;
		atomic_fetch_sub_explicit(&p->f->busy, 1, memory_order_release);
	}
}

/* So that a sender with a full queue that waits for ACKs need not wait for the last put. */
static void set_acked_part(struct dpa_fqp *fq)
{
	fq->part = false;
	for (uint32_t n = fq->put_tail; n != fq->put_head && !fq->part; n++) {
		const struct dpa_put *p = put_of(fq, n);

		fq->part = p->kind != DPA_PUT_LOCAL;
		fq->acked = (p->psn - 1) & DPA_PSN_MASK;
	}
}

/*
 * No held CQE can report it: the READ expects more responses, or has no CQE. The oldest WQE fails;
 * if there is none, an event reports it.
 */
static void request_failed(struct dpa_hw_qp *qp)
{
	const struct dpa_req *r = &qp->req;

	if ((int32_t)((r->max_psn - r->una_psn) << 8) > 0) {
		qp->ops->fail(qp, DPA_CQE_LOC_PROT_ERR, DPA_SYN_LOCAL_FAULT);
		return;
	}
	dpa_qp_to_error(qp);
	dpa_qp_event(qp, DPA_EVENT_QP_FATAL);
}

void dpa_foreign_puts_end(struct dpa_fqp *fq, uint32_t n, const struct dpa_fwork *w, uint32_t nw,
			  const uint64_t *bad)
{
	const struct dpa_fwork *failed = first_bad(w, nw, bad);
	struct dpa_hw_qp *qp = fq->qp;
	struct dpa_put p = {0};

	if (!failed) {
		drop_puts(fq, fq->put_tail + n);
		report_held(fq);
	} else {
		p = *put_of(fq, failed->n);
		drop_puts(fq, failed->n);
		report_held(fq);
		put_failed(fq, &p);
		drop_puts(fq, fq->put_head); /* the others are not copied */
		report_held(fq);
	}
	fq->held = fq->put_head != fq->put_tail;
	set_acked_part(fq);
	if (failed && p.kind == DPA_PUT_LOCAL && !fq->told)
		request_failed(qp);
	if (failed && (p.kind == DPA_PUT_LOCAL || qp->type != DPA_QP_RC))
		dpa_qp_to_error(qp);
}
