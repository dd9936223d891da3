/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* openers.h - the processes that have a file open, by /proc, for error messages. */
#ifndef DPA_UTIL_OPENERS_H
#define DPA_UTIL_OPENERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return true if the entry `name` of the open folder `dir` (/proc/PID/fd) is the file. */
typedef bool dpa_opener_fn(void *arg, int dir, const char *name);

/*
 * Count the processes with such a descriptor, as far as this user may see them, and stop at `most`.
 * except: a process id that does not count; 0: none. text becomes "NAME (pid N)" of the first one; it
 * is empty if there is none. Any thread; reads the descriptors of all processes.
 */
uint32_t dpa_openers(dpa_opener_fn *is, void *arg, uint32_t except, uint32_t most, char *text,
		     size_t len);

#endif
