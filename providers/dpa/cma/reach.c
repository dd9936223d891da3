/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * reach.c - ends connections to hosts on which no process has UDP port 4791 any more.
 *
 * If the last process of an adapter instance is killed, no process is left that sends DREQ or REJ.
 * But the kernel of that host answers packets to the closed port by ICMP. The engine sends a probe
 * (dpa_hw_gsi_probe()) to each host that a connection waits for.
 *
 * One ICMP message is not enough. If two adapter instances of a host share the port, the second one
 * takes it over up to 2 s after the end of the first. Its connections continue meanwhile. A host
 * counts as gone if it refused probes for RUN_MS. A probe without an answer has no meaning, because
 * kernels limit the rate of ICMP messages. A MAD from the host restarts the count.
 *
 * An adapter instance of another user of this host is asked for by its number, which is in its
 * communication ids (dpa_hw_gsi_there()). The same count serves: when one of its processes dies,
 * another one shows the number up to 2 s later.
 */
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"

#define LOOK_MS	 1000 /* between probes at first, and while the host refuses them */
#define IDLE_MS	 3000 /* between probes otherwise */
#define FIRST	 3    /* number of probes at first */
#define RUN_MS	 4000
#define BREAK_MS 3500 /* without an ICMP message: the count restarts */

static struct cma_peer **peer_bucket(const uint8_t dgid[16])
{
	return &cma.peers[(dgid[15] ^ dgid[14] * 7u ^ dgid[13]) % CMA_PEER_BUCKETS];
}

#define BOARD_OF_ID 0xff000000u

static struct cma_peer *find_cma_peer(const struct dpa_gsi_addr *a, uint32_t board_id)
{
	struct cma_peer *p = *peer_bucket(a->dgid);

	while (p && (p->board_id != board_id || memcmp(p->addr.dgid, a->dgid, 16) ||
		     memcmp(p->addr.sgid, a->sgid, 16)))
		p = p->next;
	return p;
}

/* NULL: no memory: the connection is not watched. */
static struct cma_peer *make_peer(const struct dpa_gsi_addr *a, uint32_t board_id)
{
	struct cma_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->addr = *a;
	p->board_id = board_id;
	p->due = cma_now();
	p->next = *peer_bucket(a->dgid);
	*peer_bucket(a->dgid) = p;
	cma.num_peers++;
	cma_engine_wake();
	return p;
}

static void leave_peer(struct cma_conn *c)
{
	struct cma_peer **at, *p = c->peer;

	*c->reach_prev = c->reach_next;
	if (c->reach_next)
		c->reach_next->reach_prev = c->reach_prev;
	c->peer = NULL;
	if (p->conns)
		return;
	for (at = peer_bucket(p->addr.dgid); *at != p; at = &(*at)->next)
		;
	*at = p->next;
	cma.num_peers--;
	free(p);
}

/*
 * A peer of this adapter instance is not watched: its death is detected otherwise
 * (dpa_hw_gsi_died()). Nor is a peer of this host that has not answered yet: no process takes the
 * request, and it returns.
 */
static void enter_peer(struct cma_conn *c)
{
	const bool own = cma_is_own(c->addr.dgid);
	const uint32_t board_id = own ? c->cm.remote_id & BOARD_OF_ID : 0;
	struct cma_peer *p;

	if (own && (!board_id || board_id == (c->cm.config.local_id & BOARD_OF_ID)))
		return;
	p = find_cma_peer(&c->addr, board_id);
	if (!p)
		p = make_peer(&c->addr, board_id);
	if (!p)
		return;
	c->peer = p;
	c->reach_next = p->conns;
	c->reach_prev = &p->conns;
	if (p->conns)
		p->conns->reach_prev = &c->reach_next;
	p->conns = c;
}

void cma_reach_update(struct cma_conn *c)
{
	const bool waits = dpav_cm_waits(&c->cm);

	if (c->peer && !waits)
		leave_peer(c);
	else if (!c->peer && waits)
		enter_peer(c);
}

void cma_reach_leave(struct cma_conn *c)
{
	if (c->peer)
		leave_peer(c);
}

void cma_reach_forget(void)
{
	for (uint32_t i = 0; i < CMA_PEER_BUCKETS; i++)
		while (cma.peers[i]) {
			struct cma_peer *p = cma.peers[i];

			cma.peers[i] = p->next;
			free(p);
		}
	cma.num_peers = 0;
}

void cma_reach_heard(const uint8_t gid[16])
{
	for (struct cma_peer *p = cma.num_peers ? *peer_bucket(gid) : NULL; p; p = p->next)
		if (!p->board_id && !memcmp(p->addr.dgid, gid, 16))
			p->refused_first = p->refused_last = 0;
}

static void count_refusal(struct cma_peer *p)
{
	p->refused_last = p->sent;
	if (!p->refused_first)
		p->refused_first = p->sent;
}

static void probe_refused(const uint8_t dgid[16], uint64_t nonce)
{
	for (struct cma_peer *p = *peer_bucket(dgid); p; p = p->next) {
		if (!p->nonce || p->nonce != nonce || memcmp(p->addr.dgid, dgid, 16))
			continue;
		p->nonce = 0; /* each counts once */
		count_refusal(p);
	}
}

static void send_probe(struct cma_peer *p)
{
	p->nonce = (uint64_t)cma_random() << 32 | cma_random() | 1;
	(void)dpa_hw_gsi_probe(cma.gsi, &p->addr, p->nonce); /* a failed send gets no answer */
}

/* If there is an answer to this one it is there at once. */
static void ask_for_board(struct cma_peer *p)
{
	if (dpa_hw_gsi_there(cma.gsi, p->board_id))
		p->refused_first = p->refused_last = 0;
	else
		count_refusal(p);
}

static void probe_peer(struct cma_peer *p, uint64_t now)
{
	bool refuses;

	p->sent = now;
	if (p->board_id)
		ask_for_board(p);
	refuses = p->refused_first;
	if (!p->board_id)
		send_probe(p);
	if (p->probes < FIRST)
		p->probes++;
	p->due = now + (p->probes < FIRST || refuses ? LOOK_MS : IDLE_MS);
}

/* A step may free c. The last one frees p. */
static void peer_gone(struct cma_peer *p)
{
	struct dpav_cm_input in = {.kind = DPA_CM_GONE};
	struct cma_conn *c = p->conns, *next;

	for (; c; c = next) {
		next = c->reach_next;
		c->gone = true;
		cma_step(c, &in);
	}
}

static void look_at_peer(struct cma_peer *p, uint64_t now)
{
	if (p->refused_last && now - p->refused_last > BREAK_MS)
		p->refused_first = p->refused_last = 0;
	if (p->refused_first && p->refused_last - p->refused_first >= RUN_MS)
		peer_gone(p);
	else
		probe_peer(p, now);
}

void cma_reach_round(void)
{
	uint64_t now = cma_now(), nonce;
	uint8_t dgid[16];

	if (!cma.num_peers)
		return;
	while (dpa_hw_gsi_refused(cma.gsi, dgid, &nonce))
		probe_refused(dgid, nonce);
	for (uint32_t i = 0; i < CMA_PEER_BUCKETS; i++)
		for (struct cma_peer *p = cma.peers[i], *next; p; p = next) {
			next = p->next;
			if (now >= p->due)
				look_at_peer(p, now);
		}
}

uint64_t cma_reach_next(void)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; cma.num_peers && i < CMA_PEER_BUCKETS; i++)
		for (struct cma_peer *p = cma.peers[i]; p; p = p->next)
			if (p->due < next)
				next = p->due;
	return next;
}
