/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * early.c - MADs that wait.
 *
 * A request without a listener is held for 250 ms, and checked again when a listener is added. Some
 * programs connect a second time as soon as the first connection is established, while their peer
 * is still about to listen (perftest's -R -c UD). With several runnable threads on a core the peer
 * needs tens of milliseconds for this. A request for which the listener's backlog has no room waits
 * as long: otherwise a program that connects 2,000 times at once would wait for the retransmission,
 * 6 s.
 *
 * There may be copies of a request: its sender sends it again when a process of its host died
 * (cma_requests_again()), and networks make copies. If one of them is refused, its sender has given
 * up, and no other copy may reach a later listener. The refusal is recorded for the life time of a
 * copy, twice the packet life time, and copies get the same answer. The sender repeats a request
 * later than that.
 *
 * A DREQ is held, too, for 50 ms at most, while the program has not polled all completions of that
 * QP. A program that finds its CQ empty and then DISCONNECTED at its channel destroys the QP, and
 * loses completions that came in between. On hardware a DREQ takes longer than such a program needs
 * for a round; here a thread that does not run for a moment would miss them.
 */
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"

#define EARLY_LOOK 5
#define DREQ_MS	   50
#define DREQ_LOOK  1
#define EARLY_MAX  4096u /* as many as QP1 receives */
#define COPY_MS	   2148u /* 2 * 4.096 us * 2^18, the life time of paths here and in Linux */
#define REFUSALS   256u

/* A request that was refused. */
static struct refusal {
	uint64_t until; /* ms; 0: none */
	uint64_t tid;
	uint32_t id; /* the sender's communication or request id */
	uint16_t attr, reason;
	uint8_t gid[16]; /* GID of the sender */
} refusals[REFUSALS];

static uint16_t mad_attr(const uint8_t mad[DPA_MAD_BYTES])
{
	return (uint16_t)(mad[16] << 8 | mad[17]);
}

void cma_early_keep(const struct dpa_gsi_addr *from, const uint8_t mad[DPA_MAD_BYTES])
{
	struct cma_early *e = cma.num_early < EARLY_MAX ? malloc(sizeof(*e)) : NULL;

	if (!e) {
		(void)cma_receive(from, mad, true);
		return;
	}
	e->next = NULL;
	e->dreq = mad_attr(mad) == DPA_CM_DREQ;
	e->full = cma.full;
	e->until = cma_now() + (e->dreq ? DREQ_MS : CMA_EARLY_MS);
	e->look = cma_now() + (e->dreq ? DREQ_LOOK : EARLY_LOOK);
	e->from = *from;
	memcpy(e->mad, mad, DPA_MAD_BYTES);
	*cma.early_tail = e;
	cma.early_tail = &e->next;
	cma.num_early++;
}

static bool dreq_is_due(uint64_t now)
{
	const struct cma_early *e = cma.early;

	while (e && (!e->dreq || now < e->look))
		e = e->next;
	return e;
}

/* True: it continues to wait. */
static bool try_early(struct cma_early *e, bool last, bool all)
{
	cma.full = 0;
	if (cma_receive(&e->from, e->mad, last))
		return false;
	e->full = cma.full;
	return all || e->dreq || !dpa_hw_gsi_pass_on(cma.gsi, &e->from, e->mad);
}

void cma_early_look(bool all)
{
	uint64_t now = cma_now();
	struct cma_early *list = cma.early, *e;
	uint32_t full = 0;

	if (dreq_is_due(now)) {
		dpa_hw_gsi_take_in(cma.gsi);
		cma.taken_in = true;
	}
	cma.early = NULL;
	cma.early_tail = &cma.early;
	while ((e = list)) {
		/* If one request finds no room, those of the same listener are not tried. */
		bool last = now >= e->until, waits = e->full && e->full == full;

		list = e->next;
		e->next = NULL;
		if (last || (!waits && (all || now >= e->look))) {
			waits = try_early(e, last, all);
			full = e->full ? e->full : full;
			if (!waits) {
				free(e);
				cma.num_early--;
				continue;
			}
		}
		if (now >= e->look)
			e->look = now + (e->dreq ? DREQ_LOOK : EARLY_LOOK);
		*cma.early_tail = e;
		cma.early_tail = &e->next;
	}
	cma.taken_in = false;
}

static bool is_req_of(const struct cma_early *e, const struct dpa_gsi_addr *from, uint32_t id)
{
	struct dpa_mad m;

	return mad_attr(e->mad) == DPA_CM_REQ && !memcmp(e->from.dgid, from->dgid, 16) &&
	       dpa_mad_decode(e->mad, DPA_MAD_BYTES, &m) == DPA_MAD_OK && m.req.local_id == id;
}

void cma_early_withdraw(const struct dpa_gsi_addr *from, uint32_t id)
{
	struct cma_early **at = &cma.early, *e;

	while ((e = *at)) {
		if (is_req_of(e, from, id)) {
			*at = e->next;
			free(e);
			cma.num_early--;
		} else {
			at = &e->next;
		}
	}
	cma.early_tail = at;
}

uint64_t cma_early_next(void)
{
	uint64_t next = UINT64_MAX;

	for (const struct cma_early *e = cma.early; e; e = e->next)
		next = e->look < next ? e->look : next;
	return next;
}

void cma_early_forget(void)
{
	while (cma.early) {
		struct cma_early *e = cma.early;

		cma.early = e->next;
		free(e);
	}
	cma.early_tail = &cma.early;
	cma.num_early = 0;
}

/* ---------------------------------------------------------------- refusals */

static uint32_t mad_request_id(const struct dpa_mad *request)
{
	return request->attr == DPA_CM_REQ ? request->req.local_id : request->sidr_req.request_id;
}

/*
 * Consecutive ids of one sender use different entries. Of two ids with one entry the later one
 * stays.
 */
static struct refusal *refusal_place(const struct dpa_mad *request)
{
	return &refusals[(request->tid ^ request->tid >> 32) % REFUSALS];
}

void cma_refusal_put(const struct dpa_gsi_addr *from, const struct dpa_mad *request,
		     uint16_t reason)
{
	struct refusal *r = refusal_place(request);

	*r = (struct refusal){.until = cma_now() + COPY_MS,
			      .tid = request->tid,
			      .id = mad_request_id(request),
			      .attr = request->attr,
			      .reason = reason};
	memcpy(r->gid, from->dgid, sizeof(r->gid));
}

bool cma_refusal_find(const struct dpa_gsi_addr *from, const struct dpa_mad *request,
		      uint16_t *reason)
{
	const struct refusal *r = refusal_place(request);

	if (r->tid != request->tid || r->attr != request->attr ||
	    r->id != mad_request_id(request) || memcmp(r->gid, from->dgid, sizeof(r->gid)) ||
	    cma_now() >= r->until)
		return false;
	*reason = r->reason;
	return true;
}
