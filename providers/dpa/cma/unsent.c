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

static void drop_first(void)
{
	struct cma_unsent *u = cma.unsent;

	cma.unsent = u->next;
	if (!cma.unsent)
		cma.unsent_tail = &cma.unsent;
	free(u);
}

void cma_unsent_round(void)
{
	uint64_t now;

	if (!cma.unsent)
		return;
	now = cma_now();
	while (cma.unsent && (now >= cma.unsent->until ||
			      dpa_hw_gsi_send(cma.gsi, &cma.unsent->to, cma.unsent->mad) != ENOBUFS))
		drop_first();
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
	if (cma.unsent || dpa_hw_gsi_send(cma.gsi, to, mad) == ENOBUFS)
		put_unsent(to, mad);
}

uint64_t cma_unsent_next(void)
{
	return cma.unsent ? cma_now() + 1 : UINT64_MAX;
}

void cma_unsent_forget(void)
{
	while (cma.unsent)
		drop_first();
}
