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
 * that user could delay all connections of this one with a stopped process.
 *
 * A MAD waits no longer than a copy of it may be under way (early.c): it counts as lost then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"

#define UNSENT_MS 2000

struct cma_unsent {
	struct cma_unsent *next;
	uint64_t until; /* ms */
	struct dpa_gsi_addr to;
	uint8_t mad[DPA_MAD_BYTES];
};

/* Destinations without room in the last round; locked. */
static struct {
	bool queue;	    /* all that need the send queue */
	bool instance[256]; /* an adapter instance, by the high byte of its ids */
	bool any;	    /* of these */
} full;

/* The high byte of the id that selects the receiver; unused in requests. */
static uint8_t receiver_of(const uint8_t mad[DPA_MAD_BYTES])
{
	const uint16_t attr = (uint16_t)(mad[16] << 8 | mad[17]);

	return mad[attr == DPA_CM_SIDR_REP ? DPA_MAD_HDR : DPA_MAD_HDR + 4];
}

static bool has_room(const struct dpa_gsi_addr *to, const uint8_t mad[DPA_MAD_BYTES])
{
	const uint8_t instance = receiver_of(mad);

	if (full.queue || (full.instance[instance] && cma_is_own(to->dgid)))
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
		if (now < u->until && !has_room(&u->to, u->mad)) {
			at = &u->next;
			continue;
		}
		*at = u->next;
		if (!u->next)
			cma.unsent_tail = at;
		free(u);
	}
}

/* No memory: the MAD is lost. */
static void put_unsent(const struct dpa_gsi_addr *to, const uint8_t mad[DPA_MAD_BYTES])
{
	struct cma_unsent *u = malloc(sizeof(*u));

	if (!u)
		return;
	u->next = NULL;
	u->until = cma_now() + UNSENT_MS;
	u->to = *to;
	memcpy(u->mad, mad, DPA_MAD_BYTES);
	if (!cma.unsent)
		cma_engine_wake(); /* it sleeps until another time */
	*cma.unsent_tail = u;
	cma.unsent_tail = &u->next;
}

void cma_unsent_send(const struct dpa_gsi_addr *to, const uint8_t mad[DPA_MAD_BYTES])
{
	cma_unsent_round();
	if (!has_room(to, mad))
		put_unsent(to, mad);
}

uint64_t cma_unsent_next(void)
{
	return cma.unsent ? cma_now() + 1 : UINT64_MAX;
}

void cma_unsent_forget(void)
{
	struct cma_unsent *u;

	while ((u = cma.unsent)) {
		cma.unsent = u->next;
		free(u);
	}
	cma.unsent_tail = &cma.unsent;
}
