/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * devlog.h - messages and traces of device code on their way to a file or the standard output.
 *
 * The image formats a message into bytes (so that a bad pointer faults there), the EU puts them
 * into the context's buffer, a thread of the context writes them. An EU waits only for room in the
 * buffer, for a short time.
 */
#ifndef DPA_RUN_DEVLOG_H
#define DPA_RUN_DEVLOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dpa_devlog;

/*
 * Start the writer. NULL: see errno.
 * @out:  owned by the caller, NULL: standard output
 * @lazy: messages are written when the buffer is half full, or by flush
 */
struct dpa_devlog *dpa_devlog_create(FILE *out, bool lazy);
/* Write the rest and end the writer. No EU may log any more. NULL is allowed. */
void dpa_devlog_destroy(struct dpa_devlog *log);
/* Let the writer of a lazy log write now. Any thread; does not wait. */
void dpa_devlog_flush(struct dpa_devlog *log);
/*
 * Block until all that was logged (in a lazy log: flushed) before the call is written. Costs almost
 * nothing if there is nothing to write.
 */
void dpa_devlog_drain(struct dpa_devlog *log);
/* Log one message: prefix with the EU's number and the level's tag, then the text. Any thread. */
void dpa_devlog_put(struct dpa_devlog *log, int eu, uint32_t level, const char *text, uint64_t len);
/* Log the text unchanged. Any thread. */
void dpa_devlog_put_text(struct dpa_devlog *log, const char *text, uint64_t len);
/* Log one line of a trace: the EU's number and the five words. Any thread. */
void dpa_devlog_put_trace(struct dpa_devlog *log, int eu, const uint64_t words[5]);

#endif
