/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* store.h - the events of a recording, of all processes and threads, in the order of time. */
#ifndef DPACTL_TRACE_STORE_H
#define DPACTL_TRACE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ring.h"

#define TRACE_PROCS 256u /* of a recording, those that have ended included */

/* An event of a thread. */
struct trace_rec {
	struct trace_event e;
	uint32_t tid;
	uint16_t proc; /* in store.proc */
};

struct trace_thread {
	uint32_t proc, tid;
	char name[16];
};

struct trace_proc {
	uint32_t pid, board;
	char comm[16];
	/* of the recorder */
	int fd;			   /* -1: it has hung up: what is in its rings still counts */
	struct dpa_trace_shm *shm; /* NULL: no hello yet, or its rings were read to the end */
	uint64_t tail[DPA_TRACE_RINGS];
	uint32_t tid[DPA_TRACE_RINGS];
	uint64_t skipped0; /* skipped before the recording */
};

struct store {
	struct trace_rec *rec;
	size_t n, room, max; /* max: events that are kept */
	struct trace_proc proc[TRACE_PROCS];
	uint32_t procs, missed; /* missed: processes that found no room */
	bool has_clock;		/* a process said hello: they have the same clock */
	uint32_t clock;		/* enum dpa_trace_clock */
	struct trace_thread *thread;
	size_t threads;
	uint64_t lost, skipped, beyond; /* beyond: more than max */
	uint32_t ringless;		/* threads without a ring */
	/* Two readings of both clocks: the first, and the last. */
	struct {
		uint64_t ticks, ns;
	} first, last;
};

void store_init(struct store *s, size_t max);
/* Take what a process recorded since the last call. */
void store_drain(struct store *s, uint32_t proc);
/* Read both clocks: at the begin and at the end. */
void store_clock(struct store *s, bool first);
/* Sort the events, after the last of them. */
void store_sort(struct store *s);
/* The time of an event in ns of CLOCK_MONOTONIC. */
uint64_t store_ns(const struct store *s, uint64_t ticks);
/* Remember a thread's name. Ends the process without memory. */
void store_thread(struct store *s, uint32_t proc, uint32_t tid, const char name[16]);
void store_free(struct store *s);

#endif
