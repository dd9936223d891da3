/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * unsent.c - MADs for which QP1 has no room.
 *
 * A program with a thousand ids on a channel posts two thousand MADs in a row (RTU and DREQ), and its
 * peer may not run meanwhile. A lost REQ or DREQ is repeated after seconds. A lost RTU is repeated
 * only if the peer's REP is, and the peer has no event ESTABLISHED if the DREQ comes first. So MADs
 * wait here, in order, as in Linux (overflow_list of ib_mad). The device sends what it has
 * accepted by itself, but does not report that it has room again: the engine tries each ms.
 *
 * MADs for another user's adapter instance that takes nothing let those for others pass: otherwise
 * that user could delay all connections of this one with a stopped process. Such a user can also make
 * this process answer as often as it likes: so their number is limited, and a send looks at no MAD
 * but its own.
 *
 * A MAD waits for UNSENT_MS and counts as lost then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"

#define UNSENT_MS	2000
#define UNSENT_MAX	32768u
#define UNSENT_INSTANCE 4096u /* of one adapter instance */

struct cma_unsent {
	struct cma_unsent *next;
	uint64_t until; /* ms */
	bool own;	/* to an address of this host */
	struct dpa_gsi_addr to;
	uint8_t mad[DPA_MAD_BYTES];
};

/* Destinations without room since the last round; locked. A MAD that waits is for one of them. */
static struct {
	bool queue;	    /* the send queue: all MADs wait */
	bool instance[256]; /* an adapter instance, by the high byte of its ids */
	bool any;	    /* of these */
} full;

/* Number of MADs that wait, and of those for each adapter instance of this host; locked. */
static uint32_t num_unsent, num_of[256];

/* The high byte of the id that selects the receiver; unused in requests. */
static uint8_t receiver_of(const uint8_t mad[DPA_MAD_BYTES])
{
	const uint16_t attr = (uint16_t)(mad[16] << 8 | mad[17]);

	return mad[attr == DPA_CM_SIDR_REP ? DPA_MAD_HDR : DPA_MAD_HDR + 4];
}

/* own: 1, 0, or -1: to be looked up. */
static bool has_room(const struct dpa_gsi_addr *to, int own, const uint8_t mad[DPA_MAD_BYTES])
{
	const uint8_t instance = receiver_of(mad);

	if (full.queue)
		return false;
	if (full.instance[instance] && (own < 0 ? cma_is_own(to->dgid) : own))
		return false;
	switch (dpa_hw_gsi_send(cma.gsi, to, mad)) {
	case ENOBUFS:
		full.any = full.queue = true;
		return false;
	case EAGAIN:
		full.any = full.instance[instance] = true;
		return false;
	default: /* sent, or lost */
		return true;
	}
}

static void take_out(struct cma_unsent **at)
{
	struct cma_unsent *u = *at;

	*at = u->next;
	if (!u->next)
		cma.unsent_tail = at;
	num_unsent--;
	if (u->own)
		num_of[receiver_of(u->mad)]--;
	free(u);
}

void cma_unsent_round(void)
{
	struct cma_unsent **at = &cma.unsent, *u;
	uint64_t now;

	if (full.any)
		memset(&full, 0, sizeof(full));
	if (!cma.unsent)
		return;
	now = cma_now();
	while ((u = *at) && !full.queue) {
		if (now < u->until && !has_room(&u->to, u->own, u->mad))
			at = &u->next;
		else
			take_out(at);
	}
}

/* Too many, or no memory: the MAD is lost. */
static void put_unsent(const struct dpa_gsi_addr *to, const uint8_t mad[DPA_MAD_BYTES])
{
	const bool own = cma_is_own(to->dgid);
	uint32_t *of = own ? &num_of[receiver_of(mad)] : NULL;
	struct cma_unsent *u;

	if (num_unsent >= UNSENT_MAX || (own && *of >= UNSENT_INSTANCE && !full.queue))
		return;
	u = malloc(sizeof(*u));
	if (!u)
		return;
	u->next = NULL;
	u->own = own;
	u->until = cma_now() + UNSENT_MS;
	u->to = *to;
	memcpy(u->mad, mad, DPA_MAD_BYTES);
	if (!cma.unsent)
		cma_engine_wake(); /* it sleeps until another time */
	*cma.unsent_tail = u;
	cma.unsent_tail = &u->next;
	num_unsent++;
	if (own)
		++*of;
}

void cma_unsent_send(const struct dpa_gsi_addr *to, const uint8_t mad[DPA_MAD_BYTES])
{
	if (!has_room(to, -1, mad))
		put_unsent(to, mad);
}

uint64_t cma_unsent_next(void)
{
	return cma.unsent ? cma_now() + 1 : UINT64_MAX;
}

void cma_unsent_forget(void)
{
	while (cma.unsent)
		take_out(&cma.unsent);
	memset(&full, 0, sizeof(full));
}
