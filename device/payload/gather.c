/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * gather.c - copies between SGEs and packets. Memory that the application named in its own work
 * requests is read and written plainly, except memory of on-demand regions, which may be missing.
 * Such memory, and memory that a packet named, is accessed by dpa_copy_* only. qp->careful: a copy
 * to or from the current SGEs may fault, or they are of the null region.
 */
#include <errno.h>
#include "ctx/mr.h"
#include "ctx/qp.h"
#include "ctx/copy.h"
#include "foreign/foreign.h"
#include "link/kick.h"
#include "payload/payload.h"
#include "direct/share.h"

uint32_t dpa_wqe_sge_off(const struct dpa_hw_qp *qp, uint8_t opcode)
{
	uint32_t off = dpa_wqe_body(qp);

	if (qp->type == DPA_QP_UD)
		return off + (uint32_t)sizeof(struct dpa_wqe_av);
	switch (opcode) {
	case DPA_OP_RDMA_WRITE:
	case DPA_OP_RDMA_WRITE_IMM:
	case DPA_OP_RDMA_READ:
	case DPA_OP_FLUSH:
	case DPA_OP_ATOMIC_WRITE:
		return off + (uint32_t)sizeof(struct dpa_wqe_raddr);
	case DPA_OP_ATOMIC_CS:
	case DPA_OP_ATOMIC_FA:
		return off + (uint32_t)sizeof(struct dpa_wqe_raddr) +
		       (uint32_t)sizeof(struct dpa_wqe_atomic);
	default:
		return off;
	}
}

/* Inline data may wrap around the end of the ring. */
static void gather_inline(struct dpa_hw_qp *qp, uint32_t idx, uint32_t at, uint32_t n, uint8_t *dst)
{
	if (dpa_unlikely(qp->bf) && ((const struct dpa_wqe_ctrl *)qp->bf)->index == idx) {
		memcpy(dst, dpa_wqe_at(qp, idx, at), n);
		return;
	}
	while (n) {
		uint8_t *p = dpa_wqe_at(qp, idx, at);
		uint32_t room = (uint32_t)(qp->sq + (uint64_t)(qp->sq_mask + 1) * 64 - p);
		uint32_t k = n < room ? n : room;

		memcpy(dst, p, k);
		dst += k;
		at += k;
		n -= k;
	}
}

static uint32_t read_sge(struct dpa_hw_qp *qp, uint32_t lkey, uint8_t *dst, uint64_t addr,
			 uint32_t n)
{
	if (dpa_unlikely(dpa_mr_careful(qp->hw, lkey)) && dpa_foreign_of(qp->hw, lkey))
		return DPA_SYN_LOCAL_FAULT; /* an operation that does not support it */
	if (dpa_unlikely(dpa_mr_careful(qp->hw, lkey)))
		return dpa_copy_in(qp->hw, dst, addr, n) ? DPA_SYN_LOCAL_FAULT : 0;
	memcpy(dst, (const void *)(uintptr_t)addr, n);
	return 0;
}

uint32_t dpa_gather(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c, uint32_t off,
		    uint32_t n, uint8_t *dst)
{
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode);

	if (c->flags & DPA_WQE_INLINE) {
		gather_inline(qp, idx, at + off, n, dst);
		return 0;
	}
	/* read by dpa_source_wait() */
	if (dpa_unlikely(qp->slow.foreign) && dpa_gets_copy(&qp->fq->source, idx, off, n, dst))
		return 0;
	for (uint32_t i = 0; n && i < c->nsge; i++, at += sizeof(struct dpa_sge)) {
		struct dpa_sge g = *(const struct dpa_sge *)dpa_wqe_at(qp, idx, at);
		uint64_t addr;
		uint32_t k, syn;

		if (off >= g.length) {
			off -= g.length;
			continue;
		}
		k = g.length - off < n ? g.length - off : n;
		syn = dpa_mr_check(qp->hw, g.lkey, qp->pdn, g.addr + off, k, 0, &addr);
		if (!syn)
			syn = read_sge(qp, g.lkey, dst, addr, k);
		if (syn)
			return syn;
		dst += k;
		n -= k;
		off = 0;
	}
	return n ? DPA_SYN_BAD_WQE : 0;
}

uint32_t dpa_gather_one(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			uint64_t one, uint32_t n, uint8_t *dst)
{
	const struct dpa_sge *g = dpa_wqe_at(qp, idx, dpa_wqe_sge_off(qp, c->opcode));

	if (dpa_unlikely(qp->slow.foreign) && dpa_gets_copy(&qp->fq->source, idx, 0, n, dst))
		return 0;
	return n ? read_sge(qp, g->lkey, dst, one, n) : 0;
}

uint64_t dpa_sges_total(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode);
	uint64_t total = 0;

	for (uint32_t i = 0; i < c->nsge; i++, at += sizeof(struct dpa_sge))
		total += ((const struct dpa_sge *)dpa_wqe_at(qp, idx, at))->length;
	return total;
}

uint32_t dpa_check_sges(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c,
			uint64_t *total, uint64_t *one)
{
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode), syn;
	uint64_t addr;

	if (dpa_likely(c->nsge == 1)) {
		const struct dpa_sge g = *(const struct dpa_sge *)dpa_wqe_at(qp, idx, at);

		*total = g.length;
		return g.length ? dpa_mr_check(qp->hw, g.lkey, qp->pdn, g.addr, g.length, 0, one)
				: 0;
	}
	*total = 0;
	for (uint32_t i = 0; i < c->nsge; i++, at += sizeof(struct dpa_sge)) {
		struct dpa_sge g = *(const struct dpa_sge *)dpa_wqe_at(qp, idx, at);

		*total += g.length;
		if (!g.length)
			continue;
		syn = dpa_mr_check(qp->hw, g.lkey, qp->pdn, g.addr, g.length, 0, &addr);
		if (syn)
			return syn;
	}
	return 0;
}

bool dpa_wqe_careful(const struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c)
{
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode);

	for (uint32_t i = 0; i < c->nsge && i < DPA_MAX_SGE; i++, at += sizeof(struct dpa_sge))
		if (dpa_mr_careful(qp->hw, ((const struct dpa_sge *)dpa_wqe_at(qp, idx, at))->lkey))
			return true;
	return false;
}

/* Records that element `cnt` of the current iovec is of this key. False: no memory. */
static bool note_foreign(struct dpa_hw_qp *qp, uint32_t key, int cnt)
{
	/* tag.c combines its messages from headers and buffers */
	struct dpa_fqp *fq = qp->slow.tags || qp->tag_sq ? NULL : dpa_foreign_use(qp);

	if (fq)
		fq->iov_key[cnt] = key;
	return fq;
}

static void no_foreign(struct dpa_hw_qp *qp)
{
	if (dpa_unlikely(qp->slow.foreign))
		memset(qp->fq->iov_key, 0, sizeof(qp->fq->iov_key));
}

/* Adds the bytes [*off, ...) of one SGE, whose key is of the PD `pdn`, to an iovec. */
static uint32_t iov_add(struct dpa_hw_qp *qp, uint32_t pdn, const struct dpa_sge *g, uint32_t *off,
			uint32_t *n, uint32_t access, struct iovec *iov, int *cnt)
{
	uint64_t addr;
	uint32_t k, syn;

	if (*off >= g->length) {
		*off -= g->length;
		return 0;
	}
	k = g->length - *off < *n ? g->length - *off : *n;
	syn = dpa_mr_check(qp->hw, g->lkey, pdn, g->addr + *off, k, access, &addr);
	if (syn)
		return syn;
	if (dpa_unlikely(dpa_mr_careful(qp->hw, g->lkey))) {
		qp->careful = true;
		if (dpa_foreign_of(qp->hw, g->lkey) && !note_foreign(qp, g->lkey, *cnt))
			return DPA_SYN_LOCAL_FAULT;
	}
	iov[*cnt].iov_base = (void *)(uintptr_t)addr;
	iov[*cnt].iov_len = k;
	(*cnt)++;
	*n -= k;
	*off = 0;
	return 0;
}

uint32_t dpa_wqe_iov(struct dpa_hw_qp *qp, uint32_t idx, const struct dpa_wqe_ctrl *c, uint32_t off,
		     uint32_t n, uint32_t access, struct iovec *iov, int *cnt)
{
	uint32_t at = dpa_wqe_sge_off(qp, c->opcode), syn = 0;
	const uint32_t pdn = access ? dpa_answer_pdn(qp) : qp->pdn;

	*cnt = 0;
	qp->careful = false;
	no_foreign(qp);
	for (uint32_t i = 0; n && !syn && i < c->nsge && i < DPA_MAX_SGE;
	     i++, at += sizeof(struct dpa_sge)) {
		struct dpa_sge g = *(const struct dpa_sge *)dpa_wqe_at(qp, idx, at);

		syn = iov_add(qp, pdn, &g, &off, &n, access, iov, cnt);
	}
	return syn ? syn : n ? DPA_SYN_BAD_WQE : 0;
}

uint32_t dpa_rwqe_iov(struct dpa_hw_qp *qp, const struct dpa_rx_wqe *w, uint32_t off, uint32_t n,
		      struct iovec *iov, int *cnt)
{
	const uint32_t pdn = dpa_recv_pdn(qp);
	uint32_t syn = 0;

	*cnt = 0;
	qp->careful = false;
	no_foreign(qp);
	for (uint32_t i = 0; n && !syn && i < w->nsge; i++)
		syn = iov_add(qp, pdn, &w->sge[i], &off, &n, DPA_ACCESS_LOCAL_WRITE, iov, cnt);
	return syn ? syn : n ? DPA_SYN_RECV_TOO_SMALL : 0;
}

/* Copies segments from the wire to the places given by the SGEs. */
static void copy_pieces(const struct dpa_pieces *v, const struct iovec *iov, int cnt)
{
	uint32_t k = 0;
	size_t at = 0;

	for (int i = 0; i < cnt; i++) {
		uint8_t *dst = iov[i].iov_base;
		size_t left = iov[i].iov_len;

		while (left) {
			size_t n = v->iov[k].iov_len - at < left ? v->iov[k].iov_len - at : left;

			memcpy(dst, (const uint8_t *)v->iov[k].iov_base + at, n);
			dst += n;
			left -= n;
			at += n;
			if (at == v->iov[k].iov_len) {
				k++;
				at = 0;
			}
		}
	}
}

/* Returns the key of element i of the current iovec if its memory cannot be addressed; else 0. */
static uint32_t foreign_key(const struct dpa_hw_qp *qp, int i)
{
	return dpa_unlikely(qp->slow.foreign) ? qp->fq->iov_key[i] : 0;
}

/* Copies one segment of a payload to an SGE that may fault, or discards it. */
static uint32_t write_sge(struct dpa_hw_qp *qp, uint32_t key, void *dst, const uint8_t *src,
			  size_t n)
{
	if (key)
		return dpa_foreign_put(qp, dpa_foreign_of(qp->hw, key), (uintptr_t)dst, src,
				       (uint32_t)n);
	if (dst == qp->hw->mrs.sink)
		return 0;
	return dpa_copy_out(qp->hw, (uintptr_t)dst, src, n) ? DPA_SYN_LOCAL_FAULT : 0;
}

/* Like copy_pieces(), for memory that may fault. `v` NULL: the payload is one segment, at `src`. */
static uint32_t scatter_careful(struct dpa_hw_qp *qp, const struct dpa_pieces *v,
				const uint8_t *src, const struct iovec *iov, int cnt)
{
	uint32_t k = 0, syn = 0;
	size_t at = 0;

	for (int i = 0; i < cnt && !syn; i++) {
		uint8_t *dst = iov[i].iov_base;
		bool nowhere = dst == qp->hw->mrs.sink;
		size_t left = iov[i].iov_len;

		while (left && !syn) {
			size_t room = v ? v->iov[k].iov_len - at : left;
			size_t n = room < left ? room : left;

			syn = write_sge(qp, foreign_key(qp, i), dst,
					v ? (const uint8_t *)v->iov[k].iov_base + at : src + at, n);
			dst += nowhere ? 0 : n;
			left -= n;
			at += n;
			if (v && at == v->iov[k].iov_len) {
				k++;
				at = 0;
			}
		}
	}
	return syn;
}

uint32_t dpa_peek(struct dpa_peer *peer, const struct dpa_slot *s, const uint8_t *payload, void *to,
		  uint32_t n)
{
	const struct iovec dst = {.iov_base = to, .iov_len = n};
	struct iovec src[DPA_PULL_IOV];
	struct dpa_pull p;

	if (s->flags & DPA_PKT_IOV) {
		copy_pieces((const struct dpa_pieces *)payload, &dst, 1);
		return 0;
	}
	if (!(s->flags & DPA_PKT_PULL)) {
		memcpy(to, payload, n);
		return 0;
	}
	memcpy(&p, payload, sizeof(p));
	if (!p.niov || p.niov > DPA_PULL_IOV || !peer->pid)
		return DPA_SYN_LOCAL_FAULT;
	for (uint32_t i = 0; i < p.niov; i++) {
		src[i].iov_base = (void *)(uintptr_t)p.iov[i].addr;
		src[i].iov_len = p.iov[i].len;
	}
	return dpa_copy_pull(peer->pid, &dst, 1, src, (int)p.niov, n) ? DPA_SYN_LOCAL_FAULT : 0;
}

static bool any_foreign(const struct dpa_hw_qp *qp, int cnt)
{
	for (int i = 0; dpa_unlikely(qp->slow.foreign) && i < cnt; i++)
		if (qp->fq->iov_key[i])
			return true;
	return false;
}

/* Sets the purpose of a packet's puts, which determines how a fault of the memory is reported. */
static void puts_of(struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	if (dpa_likely(!qp->slow.foreign))
		return;
	qp->fq->kind = dpa_op_props(s->opcode) & DPA_OPP_RESP ? DPA_PUT_LOCAL : DPA_PUT_RECV;
	qp->fq->psn = s->psn;
}

/* Reads a message into the window first. */
static uint32_t pull_foreign(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			     const uint8_t *payload, const struct iovec *iov, int cnt)
{
	uint8_t *host = dpa_foreign_host(qp, s->len);
	const struct iovec all = {.iov_base = host, .iov_len = s->len};
	uint32_t syn = host ? dpa_pull(qp, peer, s, payload, &all, 1) : DPA_SYN_PULL_REFUSED;

	for (int i = 0; i < cnt && !syn; host += iov[i++].iov_len) {
		const uint32_t key = foreign_key(qp, i), n = (uint32_t)iov[i].iov_len;
		const uint64_t addr = (uintptr_t)iov[i].iov_base;

		syn = key ? dpa_foreign_put_at(qp, dpa_foreign_of(qp->hw, key), addr, host, n)
			  : write_sge(qp, 0, iov[i].iov_base, host, n);
	}
	return syn;
}

uint32_t dpa_scatter(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		     const uint8_t *payload, const struct iovec *iov, int cnt)
{
	puts_of(qp, s);
	if (s->flags & DPA_PKT_PULL && any_foreign(qp, cnt))
		return pull_foreign(qp, peer, s, payload, iov, cnt);
	if (s->flags & DPA_PKT_PULL)
		return dpa_pull(qp, peer, s, payload, iov, cnt);
	if (dpa_unlikely(qp->careful)) {
		bool pieces = s->flags & DPA_PKT_IOV;

		return scatter_careful(qp, pieces ? (const struct dpa_pieces *)payload : NULL,
				       payload, iov, cnt);
	}
	if (s->flags & DPA_PKT_IOV) {
		copy_pieces((const struct dpa_pieces *)payload, iov, cnt);
		return 0;
	}
	for (int i = 0; i < cnt; i++) {
		memcpy(iov[i].iov_base, payload, iov[i].iov_len);
		payload += iov[i].iov_len;
	}
	return 0;
}

uint32_t dpa_scatter_unasked(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload,
			     const struct iovec *iov, int cnt)
{
	qp->careful |= atomic_load_explicit(&qp->home, memory_order_relaxed) != (uintptr_t)&dpa_me;
	return dpa_scatter(qp, NULL, s, payload, iov, cnt);
}

#define PUT_LAST(type, to, from)                                                                   \
	do {                                                                                       \
		type v;                                                                            \
                                                                                                   \
		memcpy(&v, from, sizeof(v));                                                       \
		__atomic_store_n((type *)(void *)(to), v, __ATOMIC_RELAXED);                       \
	} while (0)

/*
 * Copies in order; the last bytes come after all others, by one store if they are an aligned
 * number: a program may poll on them.
 */
static void place_mapped(uint8_t *to, const uint8_t *from, uint32_t n)
{
	const uint32_t last = dpa_last_bytes((uintptr_t)to + n, n);

	memcpy(to, from, n - last);
	dpa_release_fence();
	to += n - last;
	from += n - last;
	switch (last) {
	case 8:
		PUT_LAST(uint64_t, to, from);
		break;
	case 4:
		PUT_LAST(uint32_t, to, from);
		break;
	case 2:
		PUT_LAST(uint16_t, to, from);
		break;
	default:
		PUT_LAST(uint8_t, to, from);
	}
}

/* The same for segments from the wire. */
static void place_pieces(uint8_t *to, const struct dpa_pieces *v)
{
	uint32_t i = 0;

	for (; i + 1 < v->n; to += v->iov[i++].iov_len)
		memcpy(to, v->iov[i].iov_base, v->iov[i].iov_len);
	place_mapped(to, v->iov[i].iov_base, (uint32_t)v->iov[i].iov_len);
}

/* The same to memory that cannot be addressed. */
static uint32_t place_foreign(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
			      const uint8_t *payload, uint64_t addr, uint32_t rkey)
{
	const struct dpa_pieces *v = (const struct dpa_pieces *)payload;
	struct iovec all = {.iov_len = s->len};
	uint32_t syn = 0;

	if (!dpa_foreign_use(qp))
		return DPA_SYN_LOCAL_FAULT;
	all.iov_base = dpa_foreign_host(qp, s->len);
	if (!all.iov_base)
		return DPA_SYN_PULL_REFUSED;
	if (s->flags & DPA_PKT_PULL)
		syn = dpa_pull(qp, peer, s, payload, &all, 1);
	else if (s->flags & DPA_PKT_IOV)
		copy_pieces(v, &all, 1);
	else
		memcpy(all.iov_base, payload, s->len);
	qp->fq->kind = DPA_PUT_WRITE;
	qp->fq->psn = s->psn;
	return syn ? syn
		   : dpa_foreign_put_at(qp, dpa_foreign_of(qp->hw, rkey), addr, all.iov_base,
					s->len);
}

uint32_t dpa_place(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		   const uint8_t *payload, uint64_t addr, uint32_t rkey)
{
	const struct iovec iov = {.iov_base = (void *)(uintptr_t)addr, .iov_len = s->len};
	const struct dpa_pieces *v = (const struct dpa_pieces *)payload;
	struct iovec apart[2];
	uint8_t *at;

	if (!s->len)
		return 0;
	if (dpa_unlikely(qp->hw->nforeign) && dpa_foreign_of(qp->hw, rkey))
		return place_foreign(qp, peer, s, payload, addr, rkey);
	if (s->flags & DPA_PKT_PULL && dpa_op_props(s->opcode) & DPA_OPP_END)
		return dpa_pull(qp, peer, s, payload, apart,
				dpa_last_apart(&iov, 1, addr + s->len, apart));
	if (s->flags & DPA_PKT_PULL)
		return dpa_pull(qp, peer, s, payload, &iov, 1);
	/* The device has shared memory mapped itself, whatever the application does with it. */
	at = dpa_share_of(qp->hw, rkey, addr, s->len);
	if (s->flags & DPA_PKT_IOV) {
		if (!at)
			return dpa_copy_out_v(qp->hw, addr, v->iov, v->n, s->len)
				       ? DPA_SYN_LOCAL_FAULT
				       : 0;
		place_pieces(at, v);
		return 0;
	}
	if (at) {
		place_mapped(at, payload, s->len);
		return 0;
	}
	return dpa_copy_out(qp->hw, addr, payload, s->len) ? DPA_SYN_LOCAL_FAULT : 0;
}
