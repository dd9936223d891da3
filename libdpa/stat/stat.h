/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stat.h - statistics of DPA threads, launches and RPCs: data of dpactl dpa, dpa-ps and
 * dpa-statistics. Each run costs two reads of the clock and some additions; processor counters only
 * while a tool collects.
 */
#ifndef DPA_STAT_STAT_H
#define DPA_STAT_STAT_H

#include <stdint.h>
#include "layout.h"

struct doca_dpa;
struct dpal_eu;
struct dpal_run;

/*
 * Open and close the file with the pool, before and after its threads. Without a file (no adapter
 * state, no space) the process continues and is not shown.
 */
void dpa_stat_open(const char *board, const char *device, uint32_t num_eus, uint32_t max_run_time);
void dpa_stat_close(void);
/* Remove the file if the process ends without closing it. Called automatically. */
void dpa_stat_exit(void);
/* Forget it in a forked child: the file belongs to the parent. */
void dpa_stat_forget(void);

/* Return the number of a context, which is never used again. */
uint32_t dpa_stat_context(void);
/* Allocate an entry; NULL: none is free, or there is no file. Any thread. */
struct dpa_stat_task *dpa_stat_new(enum dpa_stat_kind kind, uint32_t context, const char *name);
/* Free an entry. NULL is allowed. */
void dpa_stat_free(struct dpa_stat_task *t);

/*
 * The entries of a context's kernels and RPCs, by name: created at their first run, freed with the
 * context. Names are constant strings of the application: their addresses are compared.
 */
#define DPA_STAT_KERNELS 64
struct dpa_stat_kernels {
	struct {
		_Atomic(const char *) name;
		_Atomic(struct dpa_stat_task *) task;
	} at[DPA_STAT_KERNELS];
};
struct dpa_stat_task *dpa_stat_kernel(struct dpa_stat_kernels *k, enum dpa_stat_kind kind,
				      uint32_t context, const char *name);
void dpa_stat_kernels_free(struct dpa_stat_kernels *k);

/* Begin and end of a run, on the EU's thread. task may be NULL. */
struct dpa_stat_run {
	struct dpa_stat_task *task;
	uint64_t since_ns, cycles, instructions;
	int eu;
	uint32_t counting;
};
void dpa_stat_begin(struct dpa_stat_run *r, struct dpa_stat_task *task, int eu);
void dpa_stat_end(struct dpa_stat_run *r);
/* Record why its context ended. */
void dpa_stat_fail(struct dpa_stat_task *task, const char *reason);

/* perf.c: get user cycles and instructions of the calling thread. 0: not available. */
uint32_t dpa_stat_counters(uint64_t *cycles, uint64_t *instructions);
void dpa_stat_counters_close(void);

#endif
