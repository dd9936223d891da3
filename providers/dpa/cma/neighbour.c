/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * neighbour.c - RESOLVE_ADDR of another host whose next hop has no known link address. The kernel's
 * rdma_cm waits for the answer to its ARP request or neighbour solicitation, and reports ADDR_ERROR
 * (-ETIMEDOUT) if none comes within the program's timeout. Here a probe is sent
 * (dpa_hw_gsi_probe()), which makes the kernel look for the address; then the kernel is asked at
 * growing intervals.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"

#define ASK_FIRST 1 /* ms until the kernel is asked again; doubles each time */
#define ASK_MOST  128
#define PROBE_MS  1000 /* a kernel that gave up tries again when a packet is sent */

struct cma_query {
	struct cma_query *next;
	struct cma_id *id;
	struct dpa_gsi_addr addr;
	uint64_t until, due, probe_due; /* ms */
	uint32_t pause;
};

static bool is_neighbour_known(const struct cma_query *q)
{
	return dpa_hw_neighbour(cma.ctx, q->addr.sgid, q->addr.dgid) != EAGAIN;
}

static void probe_neighbour(struct cma_query *q, uint64_t now)
{
	(void)dpa_hw_gsi_probe(cma.gsi, &q->addr, (uint64_t)cma_random() << 32 | 1);
	q->probe_due = now + PROBE_MS;
}

bool cma_neighbour_wait(struct cma_id *id, uint32_t timeout_ms)
{
	struct cma_query *q = calloc(1, sizeof(*q));
	uint64_t now = cma_now();

	if (!q)
		return false;
	q->id = id;
	q->addr.hop_limit = 64;
	cma_addr_gid(&id->src, q->addr.sgid);
	cma_addr_gid(&id->dst, q->addr.dgid);
	if (cma_is_own(q->addr.dgid) || is_neighbour_known(q)) {
		free(q);
		return false;
	}
	q->until = now + timeout_ms;
	q->pause = ASK_FIRST;
	q->due = now + q->pause;
	q->next = cma.queries;
	cma.queries = q;
	id->query = q;
	cma_id_enter(id, CMA_ADDR_QUERY);
	probe_neighbour(q, now);
	cma_engine_wake();
	return true;
}

void cma_neighbour_end(struct cma_id *id)
{
	struct cma_query **at = &cma.queries;

	if (!id->query)
		return;
	while (*at != id->query)
		at = &(*at)->next;
	*at = id->query->next;
	free(id->query);
	id->query = NULL;
	cma_id_enter(id, CMA_BOUND);
}

void cma_neighbour_forget(void)
{
	while (cma.queries)
		cma_neighbour_end(cma.queries->id);
}

/* The id may be resolved again after an error. */
static void answer_query(struct cma_id *id, bool known)
{
	cma_neighbour_end(id);
	if (known)
		cma_id_enter(id, CMA_ADDR_DONE);
	cma_event(id, known ? CMA_ADDR_RESOLVED : CMA_ADDR_ERROR, known ? 0 : -ETIMEDOUT);
}

/* The last request of a round. Ids that wait for the same host share one. */
struct last_asked {
	struct dpa_gsi_addr addr;
	bool asked, known;
};

static bool is_known_now(struct last_asked *last, const struct cma_query *q)
{
	if (!last->asked || memcmp(&last->addr, &q->addr, sizeof(q->addr))) {
		last->known = is_neighbour_known(q);
		last->addr = q->addr;
		last->asked = true;
	}
	return last->known;
}

static void look_at_query(struct cma_query *q, uint64_t now, struct last_asked *last)
{
	bool known = is_known_now(last, q);

	if (known || now >= q->until) {
		answer_query(q->id, known);
		return;
	}
	if (now >= q->probe_due)
		probe_neighbour(q, now);
	q->pause = q->pause < ASK_MOST ? 2 * q->pause : ASK_MOST;
	q->due = now + q->pause < q->until ? now + q->pause : q->until;
}

void cma_neighbour_round(void)
{
	uint64_t now = cma_now();
	struct last_asked last = {.asked = false};

	for (struct cma_query *q = cma.queries, *next; q; q = next) {
		next = q->next;
		if (now >= q->due)
			look_at_query(q, now, &last);
	}
}

uint64_t cma_neighbour_next(void)
{
	uint64_t next = UINT64_MAX;

	for (const struct cma_query *q = cma.queries; q; q = q->next)
		next = q->due < next ? q->due : next;
	return next;
}
