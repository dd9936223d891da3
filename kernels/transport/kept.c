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

/*
 * Memory of a page or more that is given back comes anew page by page, each by a fault: while
 * packets are lost some of it is held ready.
 */
#define SPARE_BYTES (4u << 20) /* of the process */
#define SPARE_MIN   2048u      /* shorter ones are the C library's */
static const uint32_t spare_room[DPA_KEPT_SIZES] = {4096,  8192,  16384,
						    32768, 65536, DPA_PULL_IOV * 4096};

/* A packet, or a run of them that came together. */
struct dpa_kept {
	struct dpa_kept *next;
	uint32_t npkts;
	uint32_t room;				       /* bytes of data */
	struct dpa_slot s __attribute__((aligned(8))); /* as in a lane: numbers of its extension */
	struct dpa_pieces v; /* of a run of packets: what lies behind, as one piece */
	uint8_t data[];
};

static uint32_t bytes_of(uint32_t room)
{
	return (uint32_t)sizeof(struct dpa_kept) + room;
}

/* The list that memory of so much room belongs to; -1: none. */
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

	if (atomic_load_explicit(&hw->kept_bytes, memory_order_relaxed) + bytes_of(room) >
	    KEPT_BYTES)
		return NULL;
	if (list >= 0) {
		dpa_spin_lock(&hw->spare_lock);
		k = hw->spare[list];
		if (k) {
			hw->spare[list] = k->next;
			hw->spare_bytes -= bytes_of(room);
		}
		dpa_spin_unlock(&hw->spare_lock);
	}
	if (!k)
		k = malloc(bytes_of(room));
	if (!k)
		return NULL;
	k->room = room;
	atomic_fetch_add_explicit(&hw->kept_bytes, bytes_of(room), memory_order_relaxed);
	return k;
}

static void kept_free(struct dpa_hw *hw, struct dpa_kept *k)
{
	const uint32_t bytes = bytes_of(k->room);
	int list = spare_list(k->room);

	atomic_fetch_sub_explicit(&hw->kept_bytes, bytes, memory_order_relaxed);
	if (list >= 0) {
		dpa_spin_lock(&hw->spare_lock);
		if (hw->spare_bytes + bytes <= SPARE_BYTES) {
			hw->spare_bytes += bytes;
			k->next = hw->spare[list];
			hw->spare[list] = k;
			k = NULL;
		}
		dpa_spin_unlock(&hw->spare_lock);
	}
	free(k);
}

void dpa_kept_fini(struct dpa_hw *hw)
{
	struct dpa_kept *k;

	for (int i = 0; i < DPA_KEPT_SIZES; i++)
		while ((k = hw->spare[i])) {
			hw->spare[i] = k->next;
			free(k);
		}
	hw->spare_bytes = 0;
}

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
	size_t at = 0;
	struct dpa_kept **p = &qp->kept, *k;

	/* longer than one packet of this path: it shall come again and be judged as it came */
	if (!(s->flags & DPA_PKT_MTU) || s->len > most ||
	    dpa_psn_diff(s->psn, qp->resp.epsn) > KEPT_AHEAD || qp->nkept + npkts > KEPT_QP)
		return false;
	for (; *p && dpa_psn_diff((*p)->s.psn, s->psn) < 0; p = &(*p)->next)
		if (reaches(*p, s->psn, npkts))
			return true;
	if (*p && (*p)->s.psn == s->psn && reaches(*p, s->psn, npkts))
		return true; /* twice */
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
	qp->nkept += npkts;
	return true;
}

static void drop_first(struct dpa_hw_qp *qp)
{
	struct dpa_kept *k = qp->kept;

	qp->kept = k->next;
	qp->nkept -= k->npkts;
	kept_free(qp->hw, k);
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
