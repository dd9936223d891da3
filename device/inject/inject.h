/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.h - the rules of injected failures of this process, and their counts. Each rule counts the
 * calls, completions or events that it matches. It selects by that number alone (n), or by a random
 * number of seed, rule and number (p): the same program with one thread fails at the same places.
 *
 * One table for the process, outside of struct dpa_hw: calls fail also before the device is open.
 * Everything is under one lock; without rules no thread takes it. A failure is reported under it: to the
 * log, to the timeline and to a capture, whose locks are the last ones (they call nothing of this file).
 */
#ifndef DPA_INJECT_H
#define DPA_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa_hw_inject.h>
#include "inject/count.h"
#include "injects.h"

/* A completion: what rules select it by. Values of enum ibv_wc_opcode. */
struct dpa_inject_cqe {
	uint32_t qpn;
	uint8_t opcode;
};

/*
 * Receives a line about each failure, and what has failed, with the lock held: it calls nothing of
 * this file. Of the device while it is open. First it gets the last failures from before, which the
 * log has already.
 */
struct dpa_inject_query;
typedef void dpa_inject_report_fn(void *arg, const char *line, const struct dpa_inject_query *q);
void dpa_inject_bind(dpa_inject_report_fn *report, void *arg);
void dpa_inject_unbind(void);
/* A tool reads `counts` (DPA_INJECT_RULES of them) from now on; NULL: none. */
void dpa_inject_show(struct dpa_inject_count *counts);

/* Replace the rules; counted from 0. Events that the old ones left to the progress thread are dropped. */
void dpa_inject_set(const struct dpa_inject_spec *spec);
/* Copy the rules. */
void dpa_inject_get(struct dpa_inject_spec *spec);
/* In a forked child: no rules, and no lock is held. */
void dpa_inject_forked(void);

/* The n-th completion. Returns the status that it shall end with (enum ibv_wc_status), or 0. */
int dpa_inject_wc(const struct dpa_inject_cqe *c);
/* True: the CQ shall overrun with this completion. */
bool dpa_inject_overrun(const struct dpa_inject_cqe *c);
/* Type of the asynchronous event that this completion causes; -1: none. *ns: how long it lasts. */
int dpa_inject_event(const struct dpa_inject_cqe *c, uint64_t *ns);
/* A completion event: 0, or enum dpa_inject_comp; *ns: how late. */
int dpa_inject_comp(uint64_t *ns);
/*
 * A new request of a peer, which is in order: `opcode` is that of its completion at the peer. Each
 * function asks for rules of its own kind; call them once for each request.
 */
/* ns: how late the answer leaves; 0: not late. */
uint64_t dpa_inject_slow(const struct dpa_inject_cqe *request);
/* True: it finds no receive. */
bool dpa_inject_rnr(const struct dpa_inject_cqe *request);
/*
 * True: the device stops before it. `stopped` is set, and dpa_inject_raised() has DPA_INJECT_STOPPED
 * afterwards, both before other rules come.
 */
bool dpa_inject_stops(const struct dpa_inject_cqe *request, _Atomic bool *stopped);

/*
 * A region is registered, or rules came; `bytes` long. True: a rule selects it, and its accesses ask
 * below. Otherwise it has no mark any more. region: below `most`. Context: one thread at a time.
 */
bool dpa_inject_region(uint32_t region, uint32_t most, uint64_t bytes);
/* An access. True: the device cannot access it. Any thread. */
bool dpa_inject_region_faults(uint32_t region);
/* ns that an access takes. Any thread. */
uint64_t dpa_inject_region_slow(uint32_t region);

/* Count a match of a line that has no more than its number. True: it shall fail; *ns: for how long. */
bool dpa_inject_point(uint32_t line, uint64_t *ns);

/*
 * Leave an event of the port or the device to the progress thread. One that lasts is never lost: if one
 * waits already, the longer time counts. Any thread.
 */
void dpa_inject_raise(int type, uint64_t ns);
/* Take an event that was left. Returns its type; -1: none. Cheap without one. */
int dpa_inject_raised(uint64_t *ns);
/* The device is gone until then (ns, dpa_now_ns()). Any thread. */
void dpa_inject_leave(uint64_t until);
/* Asynchronous events by time: type of one that is due, or -1. */
int dpa_inject_timed(uint64_t now, uint64_t *ns);
/* ns: when the next of them is due; UINT64_MAX: none. */
uint64_t dpa_inject_due(void);

#endif
