/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* replay.c - the flows of a file, one after another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "priv.h"
#include "wire/aeth.h"

#define BUFFER	  (UINT64_C(1) << 20) /* bytes of a receive, at least */
#define RNR_TIMER 12u		      /* 0.64 ms, if the capture has no RNR NAK */

static uint32_t mtu_code(uint32_t mtu)
{
	return (uint32_t)__builtin_ctz(mtu) - 7;
}

static uint32_t type_of(uint8_t transport)
{
	return transport == DPA_BTH_UC	 ? DPA_QP_UC
	       : transport == DPA_BTH_UD ? DPA_QP_UD
					 : DPA_QP_RC;
}

/* A packet of the flow's requests, or of its answers; NULL: none. */
static const struct rp_pkt *some_packet(const struct rp *rp, uint32_t s)
{
	for (uint32_t i = 0; i < rp->npkt && s != RP_NONE; i++)
		if (rp->pkt[i].flow == s)
			return &rp->pkt[i];
	return NULL;
}

/* The first request that begins a message. */
static const struct rp_pkt *first_request(const struct rp *rp)
{
	for (uint32_t i = 0; i < rp->npkt; i++)
		if (rp->pkt[i].flow == rp->s && rp->pkt[i].verdict == DPA_ROCE_OK &&
		    rp->pkt[i].icrc && rp_is_request(&rp->pkt[i].k) &&
		    dpa_op_props(rp->pkt[i].k.opcode) & DPA_OPP_START)
			return &rp->pkt[i];
	return NULL;
}

static uint8_t captured_rnr(const struct rp *rp)
{
	for (uint32_t i = 0; i < rp->npkt && rp->t != RP_NONE; i++) {
		const struct rp_pkt *p = &rp->pkt[i];

		if (p->flow == rp->t && p->verdict == DPA_ROCE_OK &&
		    (p->k.opcode & 0x1f) == DPA_BTH_ACK &&
		    (p->k.syndrome & DPA_AETH_KIND) == DPA_AETH_RNR)
			return p->k.syndrome & 0x1f;
	}
	return RNR_TIMER;
}

/* The path of the replayed side's packets: as it was captured, else the other direction's reversed. */
static void set_net(const struct rp *rp, uint32_t from, uint32_t to, struct dpa_roce_net *net)
{
	const struct rp_pkt *p = some_packet(rp, from);

	if (p) {
		*net = p->net;
		net->tclass &= 0xfc; /* without ECN's bits, which the network may have changed */
		net->ip_id = 0;
		return;
	}
	p = some_packet(rp, to);
	*net = p->net;
	memcpy(net->src, p->net.dst, 16);
	memcpy(net->dst, p->net.src, 16);
	net->tclass = 0;
	net->ip_id = 0;
}

static uint32_t peer_qpn(const struct rp *rp, bool *known)
{
	const struct rp_stream *s = &rp->stream[rp->s];

	*known = rp->t != RP_NONE || s->own_qpn;
	if (s->own_qpn)
		return s->own_qpn;
	return rp->t != RP_NONE ? rp->stream[rp->t].dqpn : 2;
}

/* Path, numbers and attributes of the QP. psn: of the first request. */
static void set_alone_options(struct rp *rp, struct alone_opt *a, uint32_t psn,
			      const struct rp_pkt *req)
{
	const bool responds = rp->role == DPA_REPLAY_RESPONDER;
	const struct rp_stream *s = &rp->stream[rp->s];
	const struct dpa_replay_opt *o = rp->o;
	bool known;
	uint32_t peer = peer_qpn(rp, &known);

	*a = (struct alone_opt){.type = type_of(s->transport),
				.qpn = responds ? s->dqpn : peer,
				.dest = responds ? peer : s->dqpn,
				.mtu = mtu_code(rp_mtu(rp, rp->s)),
				.rq_psn = psn,
				.sq_psn = psn,
				.qkey = req->k.qkey,
				.timeout = o->timeout,
				.retry = o->retry,
				.rnr_retry = o->rnr_retry,
				.min_rnr = o->min_rnr ? o->min_rnr : captured_rnr(rp),
				.rd = o->rd,
				.dcqcn = o->dcqcn,
				.sent = rp_sent,
				.arg = rp};
	if (responds)
		set_net(rp, rp->t, rp->s, &a->net);
	else
		set_net(rp, rp->s, rp->t, &a->net);
}

static void flow_event(struct rp *rp, const struct alone_opt *a, uint32_t psn)
{
	struct dpa_replay_event *e = rp_event(rp, DPA_REPLAY_FLOW);
	const struct rp_stream *s = &rp->stream[rp->s];

	if (!e)
		return;
	e->flow.role = rp->role;
	e->flow.transport = s->transport;
	memcpy(e->flow.local, a->net.src, 16);
	memcpy(e->flow.peer, a->net.dst, 16);
	e->flow.qpn = a->qpn;
	e->flow.dest = a->dest;
	e->flow.mtu = rp_mtu(rp, rp->s);
	e->flow.psn = psn;
	e->flow.cm = s->cm;
	peer_qpn(rp, &e->flow.dest_known);
}

/* The longest message of the flow that needs a receive. */
static uint64_t longest_send(const struct rp *rp)
{
	uint64_t most = BUFFER, len = 0;

	for (uint32_t i = 0; i < rp->npkt; i++) {
		const struct rp_pkt *p = &rp->pkt[i];

		if (p->flow != rp->s || p->verdict != DPA_ROCE_OK ||
		    !(dpa_op_props(p->k.opcode) & DPA_OPP_SEND))
			continue;
		if (dpa_op_props(p->k.opcode) & DPA_OPP_START)
			len = 40; /* the GRH of a datagram */
		len += p->k.len;
		most = len > most ? len : most;
	}
	return most < DPA_MAX_MSG ? most : DPA_MAX_MSG;
}

static bool make_buffer(struct rp *rp, uint64_t len)
{
	rp->buflen = len > BUFFER ? len : BUFFER;
	rp->buf = mmap(NULL, rp->buflen, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (rp->buf == MAP_FAILED) {
		rp->buf = NULL;
		return false;
	}
	return !alone_register(&rp->alone, rp->buf, (uintptr_t)rp->buf, rp->buflen, 0, &rp->bufkey);
}

static void emit_events(struct rp *rp, dpa_replay_fn *fn, void *arg)
{
	for (size_t i = 0; i < rp->nev; i++) {
		rp->sum.in += rp->ev[i].what == DPA_REPLAY_IN;
		fn(arg, &rp->ev[i]);
	}
}

/* The QP is open. False: no memory. */
static bool work_flow(struct rp *rp, struct work *w)
{
	bool ok = make_buffer(rp, w ? rp_work_longest(w) : longest_send(rp));

	if (ok && !w)
		ok = rp_regions_make(rp);
	if (ok && w)
		rp_requester(rp, w);
	else if (ok)
		rp_responder(rp);
	if (rp_halted(rp))
		rp_note(rp, "ended early");
	return ok && rp_match(rp);
}

static bool open_flow(struct rp *rp, struct work *w, const struct rp_pkt *req)
{
	const struct rp_stream *s = &rp->stream[rp->s];
	const uint32_t psn = w ? rp_work_psn(w) : s->cm ? s->first : req->k.psn;
	struct alone_opt a;
	bool ok;

	set_alone_options(rp, &a, psn, req);
	flow_event(rp, &a, psn);
	if (alone_open(&rp->alone, &a))
		return false;
	ok = work_flow(rp, w);
	alone_close(&rp->alone);
	rp_regions_free(rp);
	if (rp->buf)
		munmap(rp->buf, rp->buflen);
	rp->buf = NULL;
	return ok;
}

static bool run_flow(struct rp *rp, uint32_t s, enum dpa_replay_role role, dpa_replay_fn *fn,
		     void *arg)
{
	struct work *w = NULL;
	const struct rp_pkt *req;
	bool ok;

	rp->s = s;
	rp->t = rp->stream[s].pair;
	rp->role = role;
	rp->nev = 0;
	rp->sent_any = false;
	rp->recv_id = 0;
	rp->alone.now = ALONE_START;
	req = first_request(rp);
	if (!req)
		return true;
	if (role == DPA_REPLAY_REQUESTER) {
		w = rp_work_make(rp);
		if (!w)
			return false;
	}
	ok = open_flow(rp, w, req);
	rp_work_free(w);
	rp->sum.flows++;
	emit_events(rp, fn, arg);
	return ok;
}

/* NULL: the stream is replayed to a QP in this role, or is the answers of another one. */
static const char *role_excuse(struct rp *rp, uint32_t s, enum dpa_replay_role role)
{
	const struct rp_stream *x = &rp->stream[s];
	const char *why = rp_excuse(rp, s);

	if (why || !x->any)
		return why;
	rp->s = s;
	if (!x->nreq)
		return x->pair == RP_NONE ? "answers to no captured request" : NULL;
	if (!first_request(rp))
		return "no request that begins a message";
	if (role == DPA_REPLAY_REQUESTER && x->transport != DPA_BTH_RC)
		return x->transport == DPA_BTH_UC ? "UC as requester" : "UD as requester";
	return NULL;
}

/* Streams that are not replayed: their number of packets and the reason. */
static void note_excuse(struct rp *rp, uint32_t s, const char *why, dpa_replay_fn *fn, void *arg)
{
	struct dpa_replay_event e = {.what = DPA_REPLAY_NOTE};
	uint32_t n = 0;

	for (uint32_t i = 0; i < rp->npkt; i++)
		n += rp->pkt[i].flow == s;
	snprintf(e.text, sizeof(e.text), "not replayed: %u packets to QP 0x%06x: %s", n,
		 rp->stream[s].dqpn, why);
	fn(arg, &e);
}

/* One stream, in the roles that are wanted; the same reason against both is named once. */
static bool run_stream(struct rp *rp, uint32_t s, dpa_replay_fn *fn, void *arg)
{
	const char *named = NULL;

	for (int role = DPA_REPLAY_RESPONDER; role <= DPA_REPLAY_REQUESTER; role++) {
		const char *why = role_excuse(rp, s, role);

		if (!(rp->o->role & role))
			continue;
		if (why && rp->stream[s].any && why != named)
			note_excuse(rp, s, why, fn, arg);
		named = why;
		if (!why && !run_flow(rp, s, role, fn, arg))
			return false;
	}
	return true;
}

static void note_many(struct rp *rp, dpa_replay_fn *fn, void *arg)
{
	struct dpa_replay_event e = {.what = DPA_REPLAY_NOTE};

	snprintf(e.text, sizeof(e.text), "not replayed: %u packets of more than %u streams",
		 rp->unsorted, rp->nstream);
	fn(arg, &e);
	rp->sum.early++;
}

static bool run_all(struct rp *rp, dpa_replay_fn *fn, void *arg)
{
	if (rp->unsorted)
		note_many(rp, fn, arg);
	for (uint32_t s = 0; s < rp->nstream && !rp_stopped(rp); s++) {
		if (rp_selected(rp, s) && !run_stream(rp, s, fn, arg)) {
			snprintf(rp->err, rp->errlen, "no memory to replay QP 0x%06x",
				 rp->stream[s].dqpn);
			return false;
		}
	}
	return true;
}

void rp_close(struct rp *rp)
{
	for (uint32_t i = 0; i < rp->npkt; i++)
		free(rp->pkt[i].own);
	free(rp->pkt);
	free(rp->stream);
	free(rp->region);
	free(rp->ev);
	free(rp);
}

struct rp *rp_open(const uint8_t *file, size_t n, const struct dpa_replay_opt *o, char *err,
		   size_t errlen)
{
	struct rp *rp = NULL;

	if (posix_memalign((void **)&rp, DPA_CACHE_LINE, sizeof(*rp))) {
		snprintf(err, errlen, "no memory");
		return NULL;
	}
	memset(rp, 0, sizeof(*rp));
	rp->o = o;
	rp->err = err;
	rp->errlen = errlen;
	if (rp_load(rp, file, n)) {
		if (rp_streams(rp))
			return rp;
		snprintf(err, errlen, "no memory for its packets");
	}
	rp_close(rp);
	return NULL;
}

bool dpa_replay_run(const uint8_t *file, size_t n, const struct dpa_replay_opt *o,
		    dpa_replay_fn *fn, void *arg, struct dpa_replay_sum *sum, char *err,
		    size_t errlen)
{
	struct rp *rp = rp_open(file, n, o, err, errlen);
	bool ok;

	if (!rp)
		return false;
	ok = run_all(rp, fn, arg);
	rp->sum.stopped = rp_halted(rp);
	*sum = rp->sum;
	ok = ok && !rp->damaged;
	rp_close(rp);
	return ok;
}
