/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hold.c - a context is freed when it is destroyed and no object of it is left. */
#include "libdpa.h"

/* Bury a dead extended context without children: its memory is freed with that of its base. */
static void bury_extended(struct doca_dpa *dpa)
{
	struct doca_dpa *base = dpa->base;

	dpa->gone = base->gone;
	base->gone = dpa;
	dpa_ctx_release(base);
}

void dpa_ctx_put(struct doca_dpa *dpa)
{
	if (dpa->state != DPA_DEAD || dpa->threads || dpa->completions || dpa->notifications ||
	    dpa->holds)
		return;
	if (dpa->base) {
		bury_extended(dpa);
		return;
	}
	dpa_fatal_fini(dpa);
	pthread_mutex_destroy(&dpa->mem_lock);
	for (struct doca_dpa *e = dpa->gone, *next; e; e = next) {
		next = e->gone;
		dpa_obj_free(e);
	}
	dpa_obj_free(dpa);
}

void dpa_ctx_hold(struct doca_dpa *dpa)
{
	dpa->holds++;
}

void dpa_ctx_release(struct doca_dpa *dpa)
{
	dpa->holds--;
	dpa_ctx_put(dpa);
}
