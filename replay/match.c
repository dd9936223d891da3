/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * match.c - compares what the device sent with what was captured of the side that it replaced. The
 * n-th packet of a kind and PSN is compared with the n-th of the other side: headers and lengths,
 * not payloads, nor fields that an implementation is free to choose (AckReq, credits, RNR timer).
 * Plain ACKs: one that the other side left out or combined is no difference if the other side
 * acknowledges the PSN by another packet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"
#include "wire/aeth.h"

enum kind { KIND_ACK, KIND_NAK, KIND_RESP, KIND_ATOMIC, KIND_REQUEST, KIND_OTHER };

struct item {
	uint64_t key;
	size_t at; /* index of the event */
};

struct list {
	struct item *item;
	size_t n;
};

static enum kind packet_kind(const struct dpa_roce_pkt *k)
{
	const uint16_t p = dpa_op_props(k->opcode);

	if (dpa_op_is_notice(k->opcode))
		return KIND_OTHER;
	if (!(p & DPA_OPP_RESP))
		return KIND_REQUEST;
	if (p & DPA_OPP_ATOMIC)
		return KIND_ATOMIC;
	if (p & DPA_OPP_READ)
		return KIND_RESP;
	return (k->syndrome & DPA_AETH_KIND) == DPA_AETH_ACK ? KIND_ACK : KIND_NAK;
}

/* Of a NAK its code; of an RNR NAK not the timer. */
static uint64_t packet_key(const struct dpa_roce_pkt *k)
{
	const enum kind kind = packet_kind(k);
	uint32_t code = 0;

	if (kind == KIND_NAK)
		code = (k->syndrome & DPA_AETH_KIND) == DPA_AETH_RNR ? DPA_AETH_RNR : k->syndrome;
	return (uint64_t)kind << 40 | (uint64_t)code << 32 | k->psn;
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool collect_items(const struct rp *rp, enum dpa_replay_what what, struct list *l)
{
	l->n = 0;
	l->item = malloc((rp->nev + 1) * sizeof(*l->item));
	if (!l->item)
		return false;
	for (size_t i = 0; i < rp->nev; i++)
		if (rp->ev[i].what == what && packet_kind(&rp->ev[i].pkt) != KIND_OTHER)
			l->item[l->n++] = (struct item){packet_key(&rp->ev[i].pkt), i};
	qsort(l->item, l->n, sizeof(*l->item), by_key);
	return true;
}

/* ------------------------------------------------------------------ values */

static void note_difference(struct dpa_replay_event *e, const char *name, uint64_t here,
			    uint64_t there)
{
	size_t n = strlen(e->text);

	e->mark = DPA_REPLAY_DIFFERS;
	snprintf(e->text + n, sizeof(e->text) - n, "%s%s %llu, captured %llu", n ? "; " : "", name,
		 (unsigned long long)here, (unsigned long long)there);
}

static void compare_request(struct dpa_replay_event *e, const struct dpa_roce_pkt *a,
			    const struct dpa_roce_pkt *b)
{
	const uint32_t ext = dpa_roce_ext_of(a->opcode);

	if (ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH) && a->va != b->va)
		note_difference(e, "address", a->va, b->va);
	if (ext & (DPA_ROCE_RETH | DPA_ROCE_ATOMICETH) && a->rkey != b->rkey)
		note_difference(e, "rkey", a->rkey, b->rkey);
	if (ext & DPA_ROCE_RETH && a->dmalen != b->dmalen)
		note_difference(e, "DMA length", a->dmalen, b->dmalen);
	if (ext & DPA_ROCE_ATOMICETH && a->swap_add != b->swap_add)
		note_difference(e, "swap or add", a->swap_add, b->swap_add);
	if (ext & DPA_ROCE_ATOMICETH && a->compare != b->compare)
		note_difference(e, "compare", a->compare, b->compare);
	if (ext & DPA_ROCE_IMMDT && a->imm != b->imm)
		note_difference(e, "immediate", a->imm, b->imm);
}

/* e: here, b: captured. msn: what to add to the MSN here. */
static void compare_packets(struct dpa_replay_event *e, const struct dpa_roce_pkt *b, uint32_t msn)
{
	const struct dpa_roce_pkt *a = &e->pkt;
	const uint32_t ext = dpa_roce_ext_of(a->opcode);

	e->mark = DPA_REPLAY_SAME;
	if (a->opcode != b->opcode) {
		note_difference(e, "opcode", a->opcode, b->opcode);
		return;
	}
	if (a->len != b->len)
		note_difference(e, "length", a->len, b->len);
	if (ext & DPA_ROCE_AETH && dpa_psn_add(a->msn, msn) != b->msn)
		note_difference(e, "MSN", dpa_psn_add(a->msn, msn), b->msn);
	if (ext & DPA_ROCE_ATOMICACKETH && a->orig != b->orig)
		note_difference(e, "original value", a->orig, b->orig);
	if (rp_is_request(a))
		compare_request(e, a, b);
}

/* ------------------------------------------------------------------- pairs */

static void pair_events(struct rp *rp, size_t out, size_t beside, uint32_t msn)
{
	struct dpa_replay_event *a = &rp->ev[out], *b = &rp->ev[beside];

	compare_packets(a, &b->pkt, msn);
	a->other = b->no;
	b->mark = a->mark;
	if (a->mark == DPA_REPLAY_SAME)
		rp->sum.same++;
	else
		rp->sum.differences++;
}

/* The other side has no such packet; an ACK: up to `acked` (a PSN) it has acknowledged. */
static void alone_here(struct rp *rp, size_t at, bool any, uint32_t acked)
{
	struct dpa_replay_event *e = &rp->ev[at];

	if (packet_kind(&e->pkt) == KIND_ACK && any && dpa_psn_diff(acked, e->pkt.psn) >= 0) {
		e->mark = DPA_REPLAY_COVERED;
		rp->sum.covered++;
		return;
	}
	e->mark = DPA_REPLAY_ADDITION;
	rp->sum.differences++;
}

/* The highest PSN that a side has acknowledged, in any way. False: none. */
static bool acked_up_to(const struct rp *rp, const struct list *l, uint32_t *psn)
{
	bool any = false;

	for (size_t i = 0; i < l->n; i++) {
		const struct dpa_roce_pkt *k = &rp->ev[l->item[i].at].pkt;
		const enum kind kind = packet_kind(k);
		/* a NAK acknowledges what is before its PSN */
		const uint32_t at = kind == KIND_NAK ? dpa_psn_add(k->psn, DPA_PSN_MASK) : k->psn;

		if (kind == KIND_REQUEST || (any && dpa_psn_diff(at, *psn) <= 0))
			continue;
		*psn = at;
		any = true;
	}
	return any;
}

/* The captured MSN counts from the begin of the connection, which may be before the capture. */
static uint32_t msn_offset(const struct rp *rp, const struct list *out, const struct list *beside)
{
	size_t i = 0, k = 0;

	while (i < out->n && k < beside->n) {
		const struct item *a = &out->item[i], *b = &beside->item[k];
		const struct dpa_roce_pkt *x = &rp->ev[a->at].pkt, *y = &rp->ev[b->at].pkt;

		if (a->key == b->key && x->opcode == y->opcode &&
		    dpa_roce_ext_of(x->opcode) & DPA_ROCE_AETH)
			return (y->msn - x->msn) & DPA_PSN_MASK;
		if (a->key == b->key)
			k++;
		if (a->key <= b->key)
			i++;
		else
			k++;
	}
	return 0;
}

static void merge_lists(struct rp *rp, const struct list *out, const struct list *beside)
{
	const uint32_t msn = msn_offset(rp, out, beside);
	uint32_t here = 0, there = 0;
	const bool any_here = acked_up_to(rp, out, &here);
	const bool any_there = acked_up_to(rp, beside, &there);
	size_t i = 0, k = 0;

	if (msn)
		rp_note(rp, "the MSN of the capture is that here plus %u", msn);
	while (i < out->n || k < beside->n) {
		const struct item *a = &out->item[i], *b = &beside->item[k];

		if (i < out->n && k < beside->n && a->key == b->key) {
			pair_events(rp, a->at, b->at, msn);
			i++;
			k++;
		} else if (k == beside->n || (i < out->n && a->key < b->key)) {
			alone_here(rp, a->at, any_there, there);
			i++;
		} else {
			alone_here(rp, b->at, any_here, here);
			k++;
		}
	}
}

/* Nothing of the replayed side was captured: there is nothing to compare. */
bool rp_match(struct rp *rp)
{
	struct list out = {0}, beside = {0};
	bool ok = collect_items(rp, DPA_REPLAY_OUT, &out) &&
		  collect_items(rp, DPA_REPLAY_BESIDE, &beside);

	rp->sum.out += ok ? (uint32_t)out.n : 0;
	if (ok && beside.n)
		merge_lists(rp, &out, &beside);
	else if (ok && out.n)
		rp_note(rp, "not compared: the capture has no packet of this side");
	free(out.item);
	free(beside.item);
	return ok;
}
