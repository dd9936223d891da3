/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* record.h - records the timelines of processes: trace.c. */
#ifndef DPACTL_TRACE_RECORD_H
#define DPACTL_TRACE_RECORD_H

#include "store.h"

struct ctl;

/*
 * Record into s, which is new, until c->program ends, c->count events are there, ns have passed (0:
 * no limit) or a signal comes. The events are sorted. Returns NULL and sets c->status to the exit
 * status of the program; or the reason why the processes cannot be asked to record: s is empty then.
 * Ends the process on other errors.
 */
const char *trace_record(struct ctl *c, struct store *s, uint64_t ns);

#endif
