/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* run.h - device code in its context: an activation of a thread, a thread of a launch, an RPC. */
#ifndef DPA_RUN_RUN_H
#define DPA_RUN_RUN_H

#include <stdatomic.h>
#include <stdint.h>
#include "../eu/pool.h"

struct doca_dpa;
struct doca_dpa_thread;

enum dpal_run_kind { DPA_RUN_THREAD, DPA_RUN_KERNEL, DPA_RUN_RPC };

/*
 * The code that runs on an EU, for its ops: dpal_eu_self->run. Filled in by the thread that starts
 * the code, then used only by the code's thread; invalid when the code has ended.
 */
struct dpal_run {
	enum dpal_run_kind kind;
	struct doca_dpa *dpa;		/* owner of its program: log, statics, fatal state */
	struct doca_dpa *cur;		/* the context of its handles: set by device_set() */
	struct doca_dpa_thread *thread; /* DPA_RUN_THREAD */
	const char *name;		/* of the entry */
	uint32_t rank, num_threads;	/* in its launch or group; otherwise 0 of 1 */
	/*
	 * A word of the owner: code that waits for its EU does not begin once it has one of these bits.
	 * The EU reads it each millisecond (relaxed). NULL: nothing halts the code.
	 */
	const _Atomic uint32_t *halt;
	uint32_t halt_bits;
};

/*
 * Run code on the calling thread of the pool. A fault puts run->dpa in the fatal state, once, and
 * ends all its other code. In that state no code is started: DPA_EU_KILLED.
 */
enum dpal_eu_end dpal_run_code(struct dpal_run *run, void (*code)(void *arg), void *arg);

#endif
