/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* work.h - one work item for an EU: an activation, a thread of a launched kernel, an RPC. */
#ifndef DPA_EU_WORK_H
#define DPA_EU_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_EU_ANY (-1)

struct dpa_work {
	struct dpa_work *next; /* in a queue of the pool, under its lock */
	/*
	 * Runs on a thread that holds an EU. It may free the work as the last thing it does; the
	 * pool touches it afterwards only if execute() itself has dispatched it again.
	 */
	void (*execute)(struct dpa_work *work);
	const uint64_t *eus; /* bits of the EUs that relaxed work may have, NULL: any */
	int32_t pin;	     /* the EU that it must have; DPA_EU_ANY: any free one */
	bool urgent;	     /* shares an EU when none is free, never waits */
	bool awaited;	     /* a thread may be waiting for its end */
	int32_t eu;	     /* EU assigned to it: written by the dispatcher, then by its thread */
	_Atomic int32_t last_eu, last_thread; /* hints: where it ran last, -1: nowhere */
};

static inline void dpa_work_init(struct dpa_work *w, void (*execute)(struct dpa_work *work))
{
	w->next = NULL;
	w->execute = execute;
	w->eus = NULL;
	w->pin = DPA_EU_ANY;
	w->urgent = false;
	w->awaited = false;
	w->eu = DPA_EU_ANY;
	atomic_init(&w->last_eu, -1);
	atomic_init(&w->last_thread, -1);
}

#endif
