/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * witness.h - the state of the other EUs of a context when it ended (thread snapshots).
 *
 * The thread that ends the context records the EUs that it kills. Each of those takes a snapshot of
 * itself on its way out of device code, and hands it over before it leaves the context. So no
 * thread reads the state of one that runs. The wait for them has a limit: the files are more
 * important than the last of their pages.
 */
#ifndef DPA_CRASH_WITNESS_H
#define DPA_CRASH_WITNESS_H

#include <pthread.h>
#include <stdbool.h>
#include "crash.h"

struct dpal_eu;

struct dpa_witness {
	struct dpa_witness *next;
	struct dpa_crash crash; /* with a copy of the stack of its own */
	const char *kernel;	/* name of the entry */
	int eu;
};

/* Of a context. All of it is under the lock. */
struct dpa_witnesses {
	pthread_mutex_t lock;
	pthread_cond_t fewer; /* awaited is 0 */
	uint64_t *tickets;    /* by the thread's index: EUs that the end waits for; NULL: none */
	uint32_t awaited;
	bool closed;		  /* the files are being written: too late */
	struct dpa_witness *list; /* handed over */
};

void dpa_witnesses_init(struct dpa_witnesses *w);
void dpa_witnesses_fini(struct dpa_witnesses *w);
/* For a context that is started. */
void dpa_witnesses_open(struct dpa_witnesses *w);
/* Before the kill: everything of the owner but the calling EU is awaited. */
void dpa_witnesses_expect(struct dpa_witnesses *w, const void *owner);
/*
 * Waits for the snapshots that are awaited, a while at most, and closes. An EU that hands over
 * meanwhile does not wait for it. The caller owns the result and frees it by dpa_witnesses_free().
 */
struct dpa_witness *dpa_witnesses_take(struct dpa_witnesses *w);
void dpa_witnesses_free(struct dpa_witness *list);
/*
 * The calling EU is done with code of a context that has ended: hands over what it has captured, if
 * anything. After dpal_eu_exit(), then a look at doca_dpa.fatal: the end of the context sets that,
 * then looks at the tickets, so that it waits for no EU that does not come. Again after
 * dpal_eu_gone(): it may have found this EU between its report and there.
 */
void dpa_witnesses_report(struct dpa_witnesses *w, const char *kernel, struct dpal_eu *eu);

#endif
