/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Requests that came before one that is missing. A responder may drop them and name the missing one
 * (NAK, PSN sequence error); keeping them as well means that only the missing one has to come
 * again, if the requester tries that (loss.c). They are judged when their turn comes, like any
 * packet.
 */
#include <stdlib.h>
#include "transport.h"

#define KEPT_QP	   DPA_LOSS_PACKETS /* of one QP */
#define KEPT_BYTES (16u << 20)	    /* of the process */
/*
 * So far ahead of what is expected at most: what a requester like ours has out, a READ's PSNs
 * included. Further off lies what a stranger who guesses PSNs would leave for later.
 */
#define KEPT_AHEAD 1024
_Static_assert(KEPT_AHEAD >= DPA_LOSS_PACKETS + DPA_READ_CHUNK / 256, "the requester's window");

/* A packet, or a run of them that came together. */
struct dpa_kept {
	struct dpa_kept *next;
	uint32_t npkts;
	struct dpa_slot s __attribute__((aligned(8))); /* as in a lane: numbers of its extension */
	struct dpa_pieces v; /* of a run of packets: what lies behind, as one piece */
	uint8_t data[];
};

/* What is kept from its PSN on has all of n packets from psn on. */
static bool reaches(const struct dpa_kept *k, uint32_t psn, uint32_t n)
{
	return dpa_psn_diff(dpa_psn_add(k->s.psn, k->npkts), dpa_psn_add(psn, n)) >= 0;
}

bool dpa_keep(struct dpa_hw_qp *qp, const struct dpa_slot *s, const uint8_t *payload)
{
	const struct dpa_pieces *v = (const struct dpa_pieces *)payload;
	uint32_t most = s->flags & DPA_PKT_IOV ? DPA_PULL_IOV * qp->mtu : qp->mtu;
	uint32_t npkts = dpa_npkts(s->len, qp->mtu);
	size_t size = sizeof(struct dpa_kept) + s->len, at = 0;
	struct dpa_kept **p = &qp->kept, *k;

	/* longer than one packet of this path: it shall come again and be judged as it came */
	if (!(s->flags & DPA_PKT_MTU) || s->len > most ||
	    dpa_psn_diff(s->psn, qp->resp.epsn) > KEPT_AHEAD || qp->nkept + npkts > KEPT_QP ||
	    atomic_load_explicit(&qp->hw->kept_bytes, memory_order_relaxed) + size > KEPT_BYTES)
		return false;
	for (; *p && dpa_psn_diff((*p)->s.psn, s->psn) < 0; p = &(*p)->next)
		if (reaches(*p, s->psn, npkts))
			return true;
	if (*p && (*p)->s.psn == s->psn && reaches(*p, s->psn, npkts))
		return true; /* twice */
	k = malloc(size);
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
	qp->nkept += npkts;
	atomic_fetch_add_explicit(&qp->hw->kept_bytes, (uint32_t)size, memory_order_relaxed);
	return true;
}

static void drop_first(struct dpa_hw_qp *qp)
{
	struct dpa_kept *k = qp->kept;

	qp->kept = k->next;
	qp->nkept -= k->npkts;
	atomic_fetch_sub_explicit(&qp->hw->kept_bytes,
				  (uint32_t)(sizeof(struct dpa_kept) + k->s.len),
				  memory_order_relaxed);
	free(k);
}

/* IBA 9.7.4/expected */
/* The one whose turn it is, NULL: not there. It stays until dpa_kept_done(). */
const struct dpa_slot *dpa_kept_next(struct dpa_hw_qp *qp, const uint8_t **payload)
{
	while (qp->kept && dpa_psn_diff(qp->kept->s.psn, qp->resp.epsn) < 0)
		drop_first(qp);
	if (!qp->kept || qp->kept->s.psn != qp->resp.epsn)
		return NULL;
	/* one packet is held to one path MTU, a run was looked at when it came */
	*payload = qp->kept->s.flags & DPA_PKT_IOV ? (const uint8_t *)&qp->kept->v : qp->kept->data;
	return &qp->kept->s;
}

void dpa_kept_done(struct dpa_hw_qp *qp)
{
	drop_first(qp);
}

void dpa_kept_drop(struct dpa_hw_qp *qp)
{
	while (qp->kept)
		drop_first(qp);
}
