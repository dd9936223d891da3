/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * witness.h - the state of the other EUs of a context when it ended (thread snapshots).
 *
 * The thread that ends the context records the EUs that it kills. Each of those takes a snapshot of
 * itself on its way out of device code, and hands it over before it leaves the context. So no
 * thread reads the state of a running thread. The wait for them is limited: the files matter more
 * than a complete set of snapshots.
 */
#ifndef DPA_CRASH_WITNESS_H
#define DPA_CRASH_WITNESS_H

#include <pthread.h>
#include <stdbool.h>
#include "crash.h"

struct dpal_eu;

struct dpa_witness {
	struct dpa_witness *next;
	struct dpa_crash crash; /* with its own copy of the stack */
	const char *kernel;	/* name of the entry */
	int eu;
};

/* Snapshots of a context. All of it is under the lock. */
struct dpa_witnesses {
	pthread_mutex_t lock;
	pthread_cond_t fewer; /* awaited is 0 */
	uint64_t *tickets;    /* by thread index: EUs for which the end waits; NULL: none */
	uint32_t awaited;
	bool closed;		  /* the files are being written: later snapshots are dropped */
	struct dpa_witness *list; /* snapshots handed over */
};

void dpa_witnesses_init(struct dpa_witnesses *w);
void dpa_witnesses_fini(struct dpa_witnesses *w);
/* Open it for a context that is started. */
void dpa_witnesses_open(struct dpa_witnesses *w);
/* Expect a snapshot of every EU of the owner except the calling one. Call it before the kill. */
void dpa_witnesses_expect(struct dpa_witnesses *w, const void *owner);
/*
 * Wait a limited time for the expected snapshots, and close. An EU that hands over meanwhile does
 * not wait for this call. The caller owns the result and frees it by dpa_witnesses_free().
 */
struct dpa_witness *dpa_witnesses_take(struct dpa_witnesses *w);
void dpa_witnesses_free(struct dpa_witness *list);
/*
 * Hand over the captured state, if any: the calling EU has left code of a context that has ended.
 * Call it after dpal_eu_exit(), then check doca_dpa.fatal: the end of the context sets that flag,
 * then reads the tickets, so it waits for no EU that does not report. Call it again after
 * dpal_eu_gone(): the end of the context may have found this EU between its report and that point.
 */
void dpa_witnesses_report(struct dpa_witnesses *w, const char *kernel, struct dpal_eu *eu);

#endif
