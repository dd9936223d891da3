/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * devlog.h - messages of device code on their way to the standard output.
 *
 * The image formats the message into bytes (so that a bad pointer faults there), the EU puts them
 * into the context's buffer, a thread of the context writes them. An EU waits for nothing but room
 * in the buffer, and not long.
 */
#ifndef DPA_EU_DEVLOG_H
#define DPA_EU_DEVLOG_H

#include <stdint.h>

struct dpa_devlog;

/* Starts the writer. NULL: errno says why. */
struct dpa_devlog *dpa_devlog_create(void);
/* Writes what is left, ends the writer. No EU may log any more. */
void dpa_devlog_destroy(struct dpa_devlog *log);
/* Blocks until everything that was logged before the call is written. */
void dpa_devlog_drain(struct dpa_devlog *log);
/* One message: prefix with the EU's number and the level's tag, then the text. Any thread. */
void dpa_devlog_put(struct dpa_devlog *log, int eu, uint32_t level, const char *text, uint64_t len);

#endif
