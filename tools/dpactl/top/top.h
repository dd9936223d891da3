/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* top.h - dpactl top: in a terminal, or as text. */
#ifndef DPACTL_TOP_H
#define DPACTL_TOP_H

#include <signal.h>
#include "table.h"

struct top {
	struct live live;
	struct table_how how;
	uint64_t delay; /* ns between two readings */
};

/* Set by SIGINT and SIGTERM. */
extern volatile sig_atomic_t top_stop;

/* screen.c: until q, Ctrl-C or the end of the terminal. Returns the exit status. */
int top_screen(struct top *t);

#endif
