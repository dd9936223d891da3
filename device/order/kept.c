/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kept.c - the out-of-order queue: requests that came before a missing one.
 *
 * A responder may drop them and name the missing one (NAK, PSN sequence error). If it also keeps
 * them, only the missing one must be sent again, if the requester tries that (loss.c). They are
 * checked when their turn comes, like any packet.
 *
 * A responder without a queue executes one PSN of 2^24. One with a queue executes each of
 * KEPT_AHEAD PSNs sooner or later, and the real packet of that PSN then counts as a duplicate.
 * Forgery must not become easier by this: a packet is kept only if it comes from the UDP port of
 * the last packet that came in order. (The address is the path's anyway.) Another user of the
 * peer's host cannot use a port to which a socket is bound. And if two copies of a packet differ
 * neither is kept: the NAK requests everything that is not kept, and it is checked in its turn.
 */
#include <stdlib.h>
#include <string.h>
#include "ctx/qp.h"
#include "order/order.h"

#define KEPT_QP	   DPA_LOSS_PACKETS /* packets of one QP */
#define KEPT_BYTES (16u << 20)	    /* bytes of the process */
/*
 * Maximum distance from the expected PSN: what a requester like ours has outstanding, including a
 * READ's PSNs. Packets farther away could come from an attacker that guesses PSNs.
 */
#define KEPT_AHEAD 1024
_Static_assert(KEPT_AHEAD >= DPA_LOSS_PACKETS + DPA_READ_CHUNK / 256, "the requester's window");

/*
 * Memory of a page or more that is freed returns page by page, with a fault for each page: while
 * packets are lost some of it is kept for reuse.
 */
#define SPARE_BYTES (4u << 20) /* of the process */
#define SPARE_MIN   2048u      /* the C library handles shorter blocks */
static const uint32_t spare_room[DPA_KEPT_SIZES] = {4096,  8192,  16384,
						    32768, 65536, DPA_PULL_IOV * 4096};

/* A packet, or consecutive packets that came together. */
struct dpa_kept {
	struct dpa_kept *next;
	uint32_t npkts;
	uint32_t room; /* bytes of room in data */
	/* as in a ring: values of its extended headers */
	struct dpa_slot s __attribute__((aligned(8)));
	struct dpa_pieces v; /* consecutive packets: the payload behind, as one segment */
	uint8_t data[];
};

static uint32_t kept_size(uint32_t room)
{
	return (uint32_t)sizeof(struct dpa_kept) + room;
}

/* Returns the list for memory of this size; -1: none. */
static int spare_list(uint32_t room)
{
	if (room < SPARE_MIN)
		return -1;
	for (int i = 0; i < DPA_KEPT_SIZES; i++)
		if (room <= spare_room[i])
			return i;
	return -1;
}

static struct dpa_kept *kept_new(struct dpa_hw *hw, uint32_t len)
{
	int list = spare_list(len);
	uint32_t room = list < 0 ? len : spare_room[list];
	struct dpa_kept *k = NULL;

	if (atomic_load_explicit(&hw->kept.bytes, memory_order_relaxed) + kept_size(room) >
	    KEPT_BYTES)
		return NULL;
	if (list >= 0) {
		dpa_spin_lock(&hw->kept.lock);
		k = hw->kept.spare[list];
		if (k) {
			hw->kept.spare[list] = k->next;
			hw->kept.spare_bytes -= kept_size(room);
		}
		dpa_spin_unlock(&hw->kept.lock);
	}
	if (!k)
		k = malloc(kept_size(room));
	if (!k)
		return NULL;
	k->room = room;
	atomic_fetch_add_explicit(&hw->kept.bytes, kept_size(room), memory_order_relaxed);
	return k;
}

static void kept_free(struct dpa_hw *hw, struct dpa_kept *k)
{
	const uint32_t bytes = kept_size(k->room);
	int list = spare_list(k->room);

	atomic_fetch_sub_explicit(&hw->kept.bytes, bytes, memory_order_relaxed);
	if (list >= 0) {
		dpa_spin_lock(&hw->kept.lock);
		if (hw->kept.spare_bytes + bytes <= SPARE_BYTES) {
			hw->kept.spare_bytes += bytes;
			k->next = hw->kept.spare[list];
			hw->kept.spare[list] = k;
			k = NULL;
		}
		dpa_spin_unlock(&hw->kept.lock);
	}
	free(k);
}

void dpa_kept_fini(struct dpa_hw *hw)
{
	struct dpa_kept *k;

	for (int i = 0; i < DPA_KEPT_SIZES; i++)
		while ((k = hw->kept.spare[i])) {
			hw->kept.spare[i] = k->next;
			free(k);
		}
	hw->kept.spare_bytes = 0;
}

/*
 * True if [off, off + n) of the payload of a packet, or of consecutive packets, equals these bytes.
 */
static bool same_bytes(const struct dpa_slot *s, const uint8_t *payload, uint32_t off,
		       const uint8_t *bytes, uint32_t n)
{
	const struct dpa_pieces *v = (const struct dpa_pieces *)payload;

	if (!(s->flags & DPA_PKT_IOV))
		return !memcmp(payload + off, bytes, n);
	for (uint32_t i = 0; i < v->n && n; i++) {
		uint32_t len = (uint32_t)v->iov[i].iov_len, k;

		if (off >= len) {
			off -= len;
			continue;
		}
		k = len - off < n ? len - off : n;
		if (memcmp((const uint8_t *)v->iov[i].iov_base + off, bytes, k))
			return false;
		off = 0;
		bytes += k;
		n -= k;
	}
	return !n;
}

static uint32_t imm_of(const struct dpa_slot *s)
{
	const struct dpa_ext *x = (const struct dpa_ext *)s->ext;

	return dpa_op_props(s->opcode) & DPA_OPP_RETH ? x->imm_after_reth : x->imm;
}

/* True if the packet at PSN `psn` of an entry is the first one of its message; the last one. */
static bool starts_at(const struct dpa_slot *s, uint32_t psn)
{
	return psn == s->psn && (dpa_op_props(s->opcode) & DPA_OPP_START);
}

static bool ends_at(const struct dpa_slot *s, uint32_t mtu, uint32_t psn)
{
	return psn == dpa_psn_add(s->psn, dpa_npkts(s->len, mtu) - 1) &&
	       (dpa_op_props(s->opcode) & DPA_OPP_END);
}

/* True if two first packets of a message have the same headers before the payload. */
static bool same_start(const struct dpa_slot *a, const struct dpa_slot *b)
{
	const struct dpa_ext *x = (const struct dpa_ext *)a->ext, *y = (const void *)b->ext;

	if (x->xrcsrq != y->xrcsrq)
		return false;
	return !(dpa_op_props(a->opcode) & DPA_OPP_RETH) ||
	       (x->va == y->va && x->rkey == y->rkey && x->dmalen == y->dmalen);
}

/* The same for two last packets. */
static bool same_end(const struct dpa_slot *a, const struct dpa_slot *b)
{
	const uint16_t with = DPA_OPP_IMM | DPA_OPP_INV, p = dpa_op_props(a->opcode) & with;

	return p == (dpa_op_props(b->opcode) & with) && !((a->flags ^ b->flags) & DPA_PKT_SE) &&
	       (!p || imm_of(a) == imm_of(b));
}

/*
 * True if two copies are equal in the packets of PSNs [from, to), which both have. A retransmission
 * may have been combined in another way.
 */
static bool same_packets(const struct dpa_hw_qp *qp, const struct dpa_kept *k,
			 const struct dpa_slot *s, const uint8_t *payload, uint32_t from,
			 uint32_t to)
{
	const uint16_t kind = DPA_OPP_SEND | DPA_OPP_WRITE;
	const uint16_t p = dpa_op_props(k->s.opcode) & kind, q = dpa_op_props(s->opcode) & kind;
	const uint32_t last = dpa_psn_add(to, DPA_PSN_MASK), mtu = qp->mtu;
	const uint32_t of_k = ((from - k->s.psn) & DPA_PSN_MASK) * mtu;
	const uint32_t of_s = ((from - s->psn) & DPA_PSN_MASK) * mtu;
	const uint32_t n = ((to - from) & DPA_PSN_MASK) * mtu;
	const uint32_t in_k = k->s.len - of_k < n ? k->s.len - of_k : n;
	const uint32_t in_s = s->len - of_s < n ? s->len - of_s : n;
	const bool starts = starts_at(s, from), ends = ends_at(s, mtu, last);

	/* entries of single packets have one form only */
	if (!p && (k->s.opcode != s->opcode || memcmp(k->s.ext, s->ext, sizeof(s->ext))))
		return false;
	if (p != q || in_k != in_s || starts != starts_at(&k->s, from) ||
	    ends != ends_at(&k->s, mtu, last) || (starts && !same_start(&k->s, s)) ||
	    (ends && !same_end(&k->s, s)))
		return false;
	return same_bytes(s, payload, of_s, k->data + of_k, in_k);
}

static void drop_one(struct dpa_hw_qp *qp, struct dpa_kept **p)
{
	struct dpa_kept *k = *p;

	*p = k->next;
	qp->ooo.n -= k->npkts;
	qp->slow.keeps = qp->ooo.list != NULL;
	kept_free(qp->hw, k);
}

enum copies { NO_COPY, SAME_COPY, OTHER_COPY };

/*
 * Compares packets with the packets that are kept for their PSNs. NO_COPY: they belong at *at.
 * SAME_COPY: all of them are kept. OTHER_COPY: they differ, and the kept copy was dropped.
 */
static enum copies compare_kept(struct dpa_hw_qp *qp, const struct dpa_slot *s,
				const uint8_t *payload, struct dpa_kept ***at)
{
	const uint32_t end = dpa_psn_add(s->psn, dpa_npkts(s->len, qp->mtu));
	enum copies found = NO_COPY;
	struct dpa_kept **p = &qp->ooo.list;

	*at = p;
	while (*p && dpa_psn_diff((*p)->s.psn, end) < 0) {
		const uint32_t from = (*p)->s.psn, to = dpa_psn_add(from, (*p)->npkts);
		const bool all = dpa_psn_diff(from, s->psn) <= 0 && dpa_psn_diff(to, end) >= 0;

		if (dpa_psn_diff(to, s->psn) > 0 &&
		    !same_packets(qp, *p, s, payload,
				  dpa_psn_diff(from, s->psn) > 0 ? from : s->psn,
				  dpa_psn_diff(to, end) < 0 ? to : end)) {
			found = OTHER_COPY;
			drop_one(qp, p);
			continue;
		}
		if (all && found == NO_COPY)
			found = SAME_COPY;
		p = &(*p)->next;
		if (dpa_psn_diff(from, s->psn) < 0)
			*at = p;
	}
	return found;
}

/* Before anything came in order there is one source, too: that of the first packet. */
static bool from_source(const struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	const uint32_t known = qp->resp.from  ? qp->resp.from
			       : qp->ooo.list ? qp->ooo.list->s.from
					      : s->from;

	return s->from != DPA_FROM_UNKNOWN && s->from == known;
}

bool dpa_kept_strange(const struct dpa_hw_qp *qp, const struct dpa_slot *s)
{
	return (s->flags & DPA_PKT_MTU) && !from_source(qp, s);
}

void dpa_kept_renew(struct dpa_hw_qp *qp, uint32_t from)
{
	if (from == DPA_FROM_UNKNOWN)
		return;
	/* packets that were kept before anything came in order are of that source */
	if (qp->resp.from == DPA_FROM_UNKNOWN && qp->ooo.list && qp->ooo.list->s.from != from) {
		dpa_count(qp->hw, DPA_CNT_ahead_from_elsewhere, qp->ooo.n);
		dpa_kept_drop(qp);
	}
	qp->resp.from = from;
}

bool dpa_keep(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const struct dpa_pieces *v = (const struct dpa_pieces *)payload;
	uint32_t most = s->flags & DPA_PKT_IOV ? DPA_PULL_IOV * qp->mtu : qp->mtu;
	uint32_t npkts = dpa_npkts(s->len, qp->mtu);
	size_t at = 0;
	struct dpa_kept **p, *k;
	enum copies found;

	/*
	 * A packet that exceeds the path MTU: it must come again in its turn, so that it is checked
	 * as it came.
	 */
	if (!(s->flags & DPA_PKT_MTU) || s->len > most ||
	    dpa_psn_diff(s->psn, qp->resp.epsn) > KEPT_AHEAD)
		return false;
	if (!from_source(qp, s)) {
		dpa_count(qp->hw, DPA_CNT_ahead_from_elsewhere, npkts);
		return false;
	}
	found = compare_kept(qp, s, payload, &p);
	dpa_count(qp->hw, DPA_CNT_ahead_copies_differ, found == OTHER_COPY);
	if (found != NO_COPY || qp->ooo.n + npkts > KEPT_QP)
		return found == SAME_COPY;
	k = kept_new(qp->hw, s->len);
	if (!k)
		return false;
	k->npkts = npkts;
	memcpy(&k->s, s, sizeof(*s));
	k->v.n = 1;
	k->v.iov[0].iov_base = k->data;
	k->v.iov[0].iov_len = s->len;
	if (!(s->flags & DPA_PKT_IOV))
		memcpy(k->data, payload, s->len);
	for (uint32_t i = 0; (s->flags & DPA_PKT_IOV) && i < v->n; at += v->iov[i++].iov_len)
		memcpy(k->data + at, v->iov[i].iov_base, v->iov[i].iov_len);
	k->next = *p;
	*p = k;
	qp->ooo.n += npkts;
	qp->slow.keeps = true;
	return true;
}

/* IBA 9.7.4 (expected) */
/* Returns the packet whose turn it is; NULL: not there. It stays until dpa_kept_done(). */
const struct dpa_slot *dpa_kept_next(struct dpa_hw_qp *qp, const uint8_t **payload)
{
	while (qp->ooo.list && dpa_psn_diff(qp->ooo.list->s.psn, qp->resp.epsn) < 0)
		drop_one(qp, &qp->ooo.list);
	if (!qp->ooo.list || qp->ooo.list->s.psn != qp->resp.epsn)
		return NULL;
	qp->ooo.list->s.from = DPA_FROM_UNKNOWN; /* it did not come in order */
	/*
	 * a single packet is checked against the path MTU later, a combined one was checked on
	 * arrival
	 */
	*payload = qp->ooo.list->s.flags & DPA_PKT_IOV ? (const uint8_t *)&qp->ooo.list->v
						       : qp->ooo.list->data;
	return &qp->ooo.list->s;
}

void dpa_kept_done(struct dpa_hw_qp *qp)
{
	drop_one(qp, &qp->ooo.list);
}

void dpa_kept_drop(struct dpa_hw_qp *qp)
{
	while (qp->ooo.list)
		drop_one(qp, &qp->ooo.list);
}
