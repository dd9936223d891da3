/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * progress.h - the line about a long command, on a terminal: written over twice a second on standard
 * error. Nothing is written where that is no terminal, so that logs and pipes have no such lines.
 */
#ifndef DPACTL_PROGRESS_H
#define DPACTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	uint64_t begun, shown; /* CLOCK_MONOTONIC, ns; shown: 0: never */
	uint32_t len;	       /* of the line that is on the terminal; 0: none */
	bool tty;
};

void progress_begin(struct progress *p);
/* True if a line is due: on a terminal, half a second after the last one. */
bool progress_due(const struct progress *p);
/*
 * Write the line on a terminal, also if none is due: the time since the beginning, and this. It is cut
 * off at the width of the terminal.
 */
void progress_show(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Remove the line: before other output, and at the end. */
void progress_clear(struct progress *p);

#endif
