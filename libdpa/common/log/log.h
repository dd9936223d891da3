/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * log.h - messages of the library itself, and backends between log.c and backend.c.
 *
 * The lock covers the list of backends, their limits and their output, so that lines do not mix.
 */
#ifndef DPA_COMMON_LOG_H
#define DPA_COMMON_LOG_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <stdbool.h>
#include <doca_log.h>

/*
 * Send a message to the SDK backends: DPA_LOG(DOCA_LOG_LEVEL_ERROR, "cannot do %s", what). Nothing
 * is printed unless the program has created one. Do not call it from signal handlers or under locks
 * of the device.
 */
#define DPA_LOG(level, ...) dpal_log((level), __FILE__, __LINE__, __func__, __VA_ARGS__)
void dpal_log(uint32_t level, const char *file, int line, const char *func, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* ------------------------------------------------------------------ backends */

struct dpal_log_line {
	uint32_t level;
	const char *text; /* the whole line with its newline */
	size_t len;
	const char *message; /* the part behind time and thread, for syslog */
};

/* Return whether it is a level: DOCA_LOG_LEVEL_* are ten apart. */
bool dpal_log_is_level(uint32_t level);
/* Return whether any backend of the kind takes the level. */
bool dpal_log_wanted(bool sdk, uint32_t level);
/* Write the line to all backends that take it. False: a write failed. */
bool dpal_log_write(bool sdk, const struct dpal_log_line *line);

#endif
