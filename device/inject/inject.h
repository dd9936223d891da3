/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inject.h - the rules of injected failures of this process, and their counts. Each rule counts the
 * calls, completions or events that it matches. It selects by that number alone (n), or by a random
 * number of seed, rule and number (p): the same program with one thread fails at the same places.
 *
 * One table for the process, outside of struct dpa_hw: calls fail also before the device is open.
 * Everything is under one leaf lock; without rules no thread takes it.
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
 * Receives a line about each failure, with the lock held: it calls nothing of this file. Of the
 * device while it is open.
 */
typedef void dpa_inject_report_fn(void *arg, const char *line);
void dpa_inject_bind(dpa_inject_report_fn *report, void *arg);
void dpa_inject_unbind(void);
/* A tool reads `counts` (DPA_INJECT_RULES of them) from now on; NULL: none. */
void dpa_inject_show(struct dpa_inject_count *counts);

/* Replace the rules; counted from 0. False: there is no change. */
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
/* Leave an event of the port or the device to the progress thread. Any thread. */
void dpa_inject_raise(int type, uint64_t ns);
/* Take an event that was left. Returns its type; -1: none. Cheap without one. */
int dpa_inject_raised(uint64_t *ns);
/* The device is gone until then (ns, dpa_now_ns()). Any thread. */
void dpa_inject_leave(uint64_t until);
/* Asynchronous events by time: type of one that is due, or -1. */
int dpa_inject_timed(uint64_t now, uint64_t *ns);
/* ns: when the next of them is due; UINT64_MAX: none. */
uint64_t dpa_inject_due(void);

/*
 * Take the line about the oldest failure that no capture has yet. False: there is none. Cheap
 * without one.
 */
bool dpa_inject_news(char *line, size_t len);

#endif
