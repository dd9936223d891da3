/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* record.h - records the timelines of processes: trace.c. */
#ifndef DPACTL_TRACE_RECORD_H
#define DPACTL_TRACE_RECORD_H

#include "store.h"

struct ctl;

/*
 * Record into s, which is new, until c->program ends, c->count events are there, ns have passed (0:
 * no limit) or a signal comes. The events are sorted. Returns the exit status of the program; ends
 * the process on errors.
 */
int trace_record(struct ctl *c, struct store *s, uint64_t ns);

#endif
