/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * streams.c - sorts packets by addresses and destination QPN, and finds which stream has the answers
 * to which. A packet of a connection does not name its sender's QPN: messages of the communication
 * manager do, else the PSNs of the answers show it. A QP that is connected anew, with other PSNs, gets
 * other streams.
 */
#include <dpa_mad.h>
#include <stdlib.h>
#include <string.h>
#include "priv.h"
#include "wire/aeth.h"

#define MOST_STREAMS 4096u
#define NEAR	     0x10000 /* an answer is at most so many PSNs away from the latest request */

static bool same_stream(const struct rp_stream *s, const struct rp_pkt *p)
{
	return !s->old && s->dqpn == p->k.dqpn && !memcmp(s->src, p->net.src, 16) &&
	       !memcmp(s->dst, p->net.dst, 16);
}

static bool is_far(bool known, uint32_t psn, uint32_t last)
{
	return known && abs(dpa_psn_diff(psn, last)) >= NEAR;
}

/* The QP was connected anew: its PSNs, or those of the answers to it, begin elsewhere. */
static bool begins_anew(const struct rp_stream *s, const struct rp_pkt *p)
{
	const uint8_t transport = p->k.opcode & DPA_BTH_TRANSPORT;

	if (p->verdict != DPA_ROCE_OK || !p->icrc ||
	    (transport != DPA_BTH_RC && transport != DPA_BTH_UC))
		return false;
	if (rp_is_answer(&p->k))
		return is_far(s->nresp, p->k.psn, s->answer);
	return rp_is_request(&p->k) && dpa_op_props(p->k.opcode) & DPA_OPP_START &&
	       is_far(s->has_psn, p->k.psn, s->last);
}

static bool is_reverse(const struct rp_stream *a, const struct rp_stream *b)
{
	return !memcmp(a->src, b->dst, 16) && !memcmp(a->dst, b->src, 16);
}

static struct rp_stream *add_stream(struct rp *rp)
{
	struct rp_stream *all = rp->stream;

	if (rp->nstream == rp->rstream) {
		rp->rstream = rp->rstream ? 2 * rp->rstream : 16;
		all = realloc(all, rp->rstream * sizeof(*all));
		if (!all)
			return NULL;
		rp->stream = all;
	}
	all = memset(&all[rp->nstream++], 0, sizeof(*all));
	all->pair = RP_NONE;
	return all;
}

/* The stream that has the packets of these addresses and this QPN now; NULL: none. */
static struct rp_stream *current_stream(struct rp *rp, const struct rp_pkt *p, uint32_t hint)
{
	if (hint < rp->nstream && same_stream(&rp->stream[hint], p))
		return &rp->stream[hint];
	for (uint32_t i = 0; i < rp->nstream; i++)
		if (same_stream(&rp->stream[i], p))
			return &rp->stream[i];
	return NULL;
}

/* NULL: no memory, or there are too many (*many). */
static struct rp_stream *stream_of(struct rp *rp, const struct rp_pkt *p, uint32_t hint, bool *many)
{
	struct rp_stream *s = current_stream(rp, p, hint);

	if (s && !begins_anew(s, p))
		return s;
	if (s)
		s->old = true;
	*many = rp->nstream == MOST_STREAMS;
	s = *many ? NULL : add_stream(rp);
	if (!s)
		return NULL;
	memcpy(s->src, p->net.src, 16);
	memcpy(s->dst, p->net.dst, 16);
	s->dqpn = p->k.dqpn;
	return s;
}

static void note_packet(struct rp_stream *s, const struct rp_pkt *p)
{
	const struct dpa_roce_pkt *k = &p->k;

	if (dpa_op_is_notice(k->opcode))
		return;
	if (!s->any)
		s->transport = k->opcode & DPA_BTH_TRANSPORT;
	s->any = true;
	if (k->len > s->payload)
		s->payload = k->len;
	if (!(dpa_op_props(k->opcode) & DPA_OPP_END) && k->len > s->whole)
		s->whole = k->len;
	if (rp_is_answer(k)) {
		s->nresp++;
		s->answer = k->psn;
	}
	if (!rp_is_request(k))
		return;
	s->nreq++;
	if (!s->has_psn)
		s->first = s->last = k->psn;
	else if (dpa_psn_diff(k->psn, s->last) > 0)
		s->last = k->psn;
	s->has_psn = true;
}

static bool sort_packets(struct rp *rp)
{
	uint32_t hint = 0;

	for (uint32_t i = 0; i < rp->npkt && !rp_halted(rp); i++) {
		struct rp_pkt *p = &rp->pkt[i];
		bool many = false;
		struct rp_stream *s = stream_of(rp, p, hint, &many);

		if (!s && !many)
			return false;
		if (!s) {
			rp->unsorted++;
			continue;
		}
		hint = p->flow = (uint32_t)(s - rp->stream);
		if (p->verdict == DPA_ROCE_OK && p->icrc)
			note_packet(s, p);
	}
	return true;
}

/* --------------------------------------------- messages of the communication manager */

static bool is_cm(const struct rp_pkt *p, uint16_t attr, struct dpa_mad *m)
{
	return p->verdict == DPA_ROCE_OK && !p->cut && p->k.dqpn == DPA_MAD_QPN &&
	       dpa_roce_ext_of(p->k.opcode) & DPA_ROCE_DETH &&
	       dpa_mad_decode(p->k.payload, p->k.len, m) == DPA_MAD_OK && m->attr == attr;
}

/* The stream to a QPN that can begin with that PSN. */
static uint32_t find_stream_to(const struct rp *rp, const uint8_t *src, const uint8_t *dst,
			       uint32_t dqpn, uint32_t psn)
{
	for (uint32_t i = 0; i < rp->nstream; i++) {
		const struct rp_stream *s = &rp->stream[i];
		const int32_t ahead = dpa_psn_diff(s->first, psn);

		if (s->dqpn == dqpn && !s->cm && !memcmp(s->src, src, 16) &&
		    !memcmp(s->dst, dst, 16) && (!s->has_psn || (ahead >= 0 && ahead < NEAR)))
			return i;
	}
	return RP_NONE;
}

static void set_cm(struct rp *rp, uint32_t s, uint32_t t, uint32_t own, uint32_t psn, uint32_t mtu)
{
	struct rp_stream *x = s == RP_NONE ? NULL : &rp->stream[s];

	if (!x)
		return;
	x->cm = true;
	x->pair = t;
	x->own_qpn = own;
	x->mtu = mtu >= 1 && mtu <= 5 ? 128u << mtu : 0;
	x->first = psn; /* the capture may begin behind the first packets */
}

static void connect_by(struct rp *rp, struct rp_pkt *from, struct rp_pkt *to,
		       const struct dpa_mad *req, const struct dpa_mad *rep)
{
	/* Each message has the PSN at which its receiver begins to send. */
	uint32_t s = find_stream_to(rp, from->net.src, from->net.dst, rep->rep.qpn, rep->rep.psn);
	uint32_t t = find_stream_to(rp, from->net.dst, from->net.src, req->req.qpn, req->req.psn);

	from->made = to->made = s != RP_NONE ? s : t;
	set_cm(rp, s, t, req->req.qpn, rep->rep.psn, req->req.path_mtu);
	set_cm(rp, t, s, rep->rep.qpn, req->req.psn, req->req.path_mtu);
}

static void read_cm(struct rp *rp)
{
	struct dpa_mad req, rep;

	for (uint32_t i = 0; i < rp->npkt && !rp_halted(rp); i++) {
		struct rp_pkt *p = &rp->pkt[i];

		if (!is_cm(p, DPA_CM_REQ, &req))
			continue;
		for (uint32_t j = i + 1; j < rp->npkt && !rp_halted(rp); j++)
			if (is_cm(&rp->pkt[j], DPA_CM_REP, &rep) &&
			    rep.rep.remote_id == req.req.local_id &&
			    !memcmp(rp->pkt[j].net.src, p->net.dst, 16)) {
				connect_by(rp, p, &rp->pkt[j], &req, &rep);
				break;
			}
	}
}

/* -------------------------------------------------------------------- pairs by PSN */

/* The stream whose latest request an answer is nearest to. */
static uint32_t nearest_stream(const struct rp *rp, const struct rp_pkt *p, const uint32_t *latest,
			       const bool *seen)
{
	const struct rp_stream *t = &rp->stream[p->flow];
	uint32_t best = RP_NONE, at = NEAR;

	for (uint32_t i = 0; i < rp->nstream; i++) {
		const struct rp_stream *s = &rp->stream[i];
		int32_t d;

		/* Both ends may have the same address. */
		if (!seen[i] || s->cm || s == t || !is_reverse(s, t) ||
		    s->transport != t->transport)
			continue;
		d = dpa_psn_diff(latest[i], p->k.psn);
		if (abs(d) < (int32_t)at) {
			at = (uint32_t)abs(d);
			best = i;
		}
	}
	return best;
}

/* Each answer is a vote for the stream that it answers. */
static void count_votes(const struct rp *rp, uint32_t *votes, uint32_t *latest, bool *seen)
{
	for (uint32_t i = 0; i < rp->npkt && !rp_halted(rp); i++) {
		const struct rp_pkt *p = &rp->pkt[i];
		uint32_t s;

		if (p->flow == RP_NONE || p->verdict != DPA_ROCE_OK || !p->icrc)
			continue;
		if (rp_is_request(&p->k)) {
			latest[p->flow] = p->k.psn;
			seen[p->flow] = true;
			continue;
		}
		if (!rp_is_answer(&p->k) || rp->stream[p->flow].cm)
			continue;
		s = nearest_stream(rp, p, latest, seen);
		if (s == RP_NONE)
			continue;
		/* The majority (Boyer and Moore): one candidate and its lead. */
		if (rp->stream[s].pair == p->flow)
			votes[s]++;
		else if (votes[s])
			votes[s]--;
		else {
			rp->stream[s].pair = p->flow;
			votes[s] = 1;
		}
	}
}

/* A stream that nothing answers: its sender's other stream, if there is one only. */
static void pair_left(struct rp *rp, uint32_t s)
{
	uint32_t other = RP_NONE;

	for (uint32_t i = 0; i < rp->nstream; i++) {
		if (i == s || !is_reverse(&rp->stream[s], &rp->stream[i]) ||
		    rp->stream[i].transport != rp->stream[s].transport ||
		    rp->stream[i].dqpn <= DPA_MAD_QPN)
			continue;
		if (other != RP_NONE)
			return;
		other = i;
	}
	rp->stream[s].pair = other;
}

/* A request and its answer: the other direction of a pair is the same pair. */
static void pair_backwards(struct rp *rp)
{
	for (uint32_t i = 0; i < rp->nstream; i++) {
		const uint32_t t = rp->stream[i].pair;

		if (t != RP_NONE && rp->stream[t].pair == RP_NONE)
			rp->stream[t].pair = i;
	}
}

uint32_t rp_request_before(const struct rp *rp, uint32_t s, uint32_t before, uint32_t psn)
{
	while (before--)
		if (rp->pkt[before].flow == s && rp->pkt[before].k.psn == psn &&
		    rp_is_request(&rp->pkt[before].k))
			return before;
	return RP_NONE;
}

/* Requests that the capture shows refused. */
static void mark_refused(struct rp *rp)
{
	for (uint32_t i = 0; i < rp->npkt && !rp_halted(rp); i++) {
		const struct rp_pkt *p = &rp->pkt[i];
		uint32_t s, r;

		if (p->flow == RP_NONE || p->verdict != DPA_ROCE_OK ||
		    (p->k.opcode & 0x1f) != DPA_BTH_ACK ||
		    (p->k.syndrome & DPA_AETH_KIND) == DPA_AETH_ACK)
			continue;
		s = rp->stream[p->flow].pair;
		r = s == RP_NONE ? RP_NONE : rp_request_before(rp, s, i, p->k.psn);
		if (r == RP_NONE)
			continue;
		rp->pkt[r].rnr |= (p->k.syndrome & DPA_AETH_KIND) == DPA_AETH_RNR;
		rp->pkt[r].refused |= p->k.syndrome == (DPA_AETH_NAK | DPA_NAK_REM_ACCESS);
	}
}

bool rp_streams(struct rp *rp)
{
	uint32_t *votes, *latest;
	bool *seen;

	if (!sort_packets(rp))
		return false;
	read_cm(rp);
	votes = calloc(rp->nstream + 1, sizeof(*votes));
	latest = calloc(rp->nstream + 1, sizeof(*latest));
	seen = calloc(rp->nstream + 1, sizeof(*seen));
	if (votes && latest && seen)
		count_votes(rp, votes, latest, seen);
	free(votes);
	free(latest);
	free(seen);
	if (!votes || !latest || !seen)
		return false;
	pair_backwards(rp);
	for (uint32_t i = 0; i < rp->nstream; i++)
		if (rp->stream[i].pair == RP_NONE)
			pair_left(rp, i);
	mark_refused(rp);
	return true;
}

/* The smallest path MTU that packets of n bytes fit. */
static uint32_t mtu_for(uint32_t n)
{
	uint32_t mtu = 256;

	while (mtu < n && mtu < DPA_ROCE_MAX_MTU)
		mtu *= 2;
	return mtu;
}

uint32_t rp_mtu(const struct rp *rp, uint32_t s)
{
	const struct rp_stream *x = &rp->stream[s],
			       *y = x->pair == RP_NONE ? x : &rp->stream[x->pair];
	uint32_t whole, most;

	whole = x->whole > y->whole ? x->whole : y->whole;
	most = x->payload > y->payload ? x->payload : y->payload;
	if (rp->o->mtu)
		return rp->o->mtu;
	if (x->mtu)
		return x->mtu;
	if (whole)
		return mtu_for(whole);
	if (x->transport == DPA_BTH_UD)
		return DPA_ROCE_MAX_MTU;
	return most > 1024 ? mtu_for(most) : 1024;
}

bool rp_selected(const struct rp *rp, uint32_t s)
{
	const struct rp_stream *x = &rp->stream[s];

	/* A QP that was connected anew has several streams. */
	return !rp->o->qpn || x->dqpn == rp->o->qpn ||
	       (x->pair != RP_NONE && rp->stream[x->pair].dqpn == rp->o->qpn);
}

const char *rp_excuse(const struct rp *rp, uint32_t s)
{
	const struct rp_stream *x = &rp->stream[s];

	if (x->dqpn == DPA_MAD_QPN)
		return "messages of the communication manager";
	if (x->dqpn == DPA_QPN_MCAST)
		return "datagrams to a multicast group";
	switch (x->transport) {
	case DPA_BTH_RC:
	case DPA_BTH_UC:
	case DPA_BTH_UD:
		return NULL;
	case DPA_BTH_XRC:
		return "XRC";
	default:
		return "an unknown transport";
	}
}
