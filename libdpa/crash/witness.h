/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * witness.h - what the other EUs of a context were at when it ended.
 *
 * Who ends the context notes whom it kills; each of those captures itself on its way out of device
 * code, and hands that over before it is done with the context. So nobody looks at a thread that
 * runs. The wait for them has a limit: the files are more important than the last of their pages.
 */
#ifndef DPA_CRASH_WITNESS_H
#define DPA_CRASH_WITNESS_H

#include <pthread.h>
#include <stdbool.h>
#include "crash.h"

struct dpa_eu;

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
	uint64_t *tickets;    /* by the thread's index: whom the end waits for; NULL: nobody */
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
 * Waits for those that are awaited, a while at most, and closes. Who hands over meanwhile does not
 * wait for it. What it returns is the caller's, for dpa_witnesses_free().
 */
struct dpa_witness *dpa_witnesses_take(struct dpa_witnesses *w);
void dpa_witnesses_free(struct dpa_witness *list);
/*
 * The calling EU is done with code of a context that has ended: hands over what it has captured, if
 * anything. After dpa_eu_exit(), then a look at doca_dpa.fatal: the end of the context sets that,
 * then looks at the tickets, so that it waits for nobody who does not come. Again after
 * dpa_eu_gone(): it may have found this EU between its report and there.
 */
void dpa_witnesses_report(struct dpa_witnesses *w, const char *kernel, struct dpa_eu *eu);

#endif
