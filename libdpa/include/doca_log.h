/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_log.h - messages of the program and of the library, and their destinations.
 *
 * A source file sets its name by DOCA_LOG_REGISTER(name) and then uses DOCA_LOG_INFO("...") and the
 * like. Messages go to all backends of the program; those of the library (the SDK) to the backends
 * made by the *_sdk calls. Without a backend nothing is printed. A line reads
 *
 *   [hh:mm:ss:uuuuuu][thread id][DOCA][INF][file:line][function] message
 *
 * Levels: a smaller number is more severe. A backend takes the messages from its upper limit (the
 * more severe end) to its lower limit. Backends live as long as the process. Everything here is
 * thread-safe.
 */
#ifndef DOCA_LOG_H_
#define DOCA_LOG_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum doca_log_level {
	DOCA_LOG_LEVEL_DISABLE = 10, /* as a limit: nothing */
	DOCA_LOG_LEVEL_CRIT = 20,
	DOCA_LOG_LEVEL_ERROR = 30,
	DOCA_LOG_LEVEL_WARNING = 40,
	DOCA_LOG_LEVEL_INFO = 50,
	DOCA_LOG_LEVEL_DEBUG = 60,
	DOCA_LOG_LEVEL_TRACE = 70,
};

struct doca_log_backend;

/* Receives the content of a buffer: text with a terminating zero. It may not log. */
typedef void (*log_flush_callback)(char *buf);

/* ----------------------------------------------------------------- limits */

/*
 * Set the least severe level that a backend takes; by default the global lower limit.
 * @level: enum doca_log_level
 * INVALID_VALUE: NULL, no such level, or an SDK backend.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_set_level_lower_limit(struct doca_log_backend *backend, uint32_t level);

/*
 * Set the most severe level that a backend takes; by default the global upper limit. Errors: as
 * above.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_set_level_upper_limit(struct doca_log_backend *backend, uint32_t upper_limit);

/*
 * Fix the lower limit of a backend at its present level: later settings of it and the global limit
 * do not change it. INVALID_VALUE: NULL or an SDK backend.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_set_level_lower_limit_strict(struct doca_log_backend *backend);

/*
 * Fix the upper limit of a backend at its present level in the same way. INVALID_VALUE: NULL or an
 * SDK backend.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_set_level_upper_limit_strict(struct doca_log_backend *backend);

/*
 * Set the lower limit of all backends of the program, later ones too. INVALID_VALUE: no such level.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_level_set_global_lower_limit(uint32_t level);

/*
 * Set the upper limit of all backends of the program, later ones too. INVALID_VALUE: no such level.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_level_set_global_upper_limit(uint32_t upper_limit);

/* Return the limit; DOCA_LOG_LEVEL_INFO unless set. */
DOCA_EXPERIMENTAL uint32_t doca_log_level_get_global_lower_limit(void);

/* Return the limit; DOCA_LOG_LEVEL_CRIT unless set. */
DOCA_EXPERIMENTAL uint32_t doca_log_level_get_global_upper_limit(void);

/*
 * Set the least severe level that an SDK backend takes. INVALID_VALUE: NULL, no such level, or no
 * SDK backend.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend *backend,
							      uint32_t level);

/* Set the level of all SDK backends, later ones too. INVALID_VALUE: no such level. */
DOCA_EXPERIMENTAL doca_error_t doca_log_level_set_global_sdk_limit(uint32_t level);

/* Return the limit; DOCA_LOG_LEVEL_INFO unless set. */
DOCA_EXPERIMENTAL uint32_t doca_log_level_get_global_sdk_limit(void);

/* --------------------------------------------------------------- backends */

/*
 * Create a backend of the program that writes lines to a stream, and flushes it after each.
 * @fptr:    must stay open as long as messages are logged
 * @backend: receives it; the library keeps it
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_file(FILE *fptr,
								 struct doca_log_backend **backend);

/*
 * Create a backend that writes to a file descriptor. INVALID_VALUE: NULL, or fd is not open;
 * NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_fd(int fd,
							       struct doca_log_backend **backend);

/*
 * Create a backend that collects lines in memory. When a line does not fit any more, handler gets
 * the content, and the buffer starts empty again. A line longer than the whole buffer is truncated.
 * @capacity: bytes at buf, at least 2
 * INVALID_VALUE: NULL or capacity too small; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_buf(char *buf, size_t capacity,
								log_flush_callback handler,
								struct doca_log_backend **backend);

/*
 * Create a backend that writes to syslog, without time and thread.
 * @name: the tag of the entries; copied
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_create_with_syslog(const char *name, struct doca_log_backend **backend);

/* Create the same four kinds of backends for messages of the library. */
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_create_with_file_sdk(FILE *fptr, struct doca_log_backend **backend);
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_create_with_fd_sdk(int fd, struct doca_log_backend **backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_buf_sdk(
	char *buf, size_t capacity, log_flush_callback handler, struct doca_log_backend **backend);
DOCA_EXPERIMENTAL doca_error_t
doca_log_backend_create_with_syslog_sdk(const char *name, struct doca_log_backend **backend);

/*
 * Create two backends of the program: standard output takes INFO and less severe, standard error
 * WARNING and more severe, within the global limits. ALREADY_EXIST: called before; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_standard(void);

/* ---------------------------------------------------------------- logging */

/*
 * Register a source of messages.
 * @source: receives its number for doca_log()
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log_register_source(const char *source_name, int *source);

/* Remove a source; its number is free again. INVALID_VALUE: not the number of a source. */
DOCA_EXPERIMENTAL doca_error_t doca_log_unregister_source(int source);

/*
 * Log a message; a message that no backend takes is dropped at almost no cost.
 * @level:  enum doca_log_level, not DOCA_LOG_LEVEL_DISABLE
 * @source: of doca_log_register_source()
 * @format: as of printf(); without newline at the end
 * INVALID_VALUE: NULL, no such level or source; NO_MEMORY; IO_FAILED: a backend could not write it.
 */
DOCA_EXPERIMENTAL doca_error_t doca_log(uint32_t level, int source, const char *fname, int line,
					const char *func, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* Name the source of a file's messages, e.g. DOCA_LOG_REGISTER(MY_APP::MAIN); once per file. */
#define DOCA_LOG_REGISTER(SOURCE)                                                                  \
	static int log_source;                                                                     \
	static void __attribute__((constructor(101))) doca_log_register_log_source(void)           \
	{                                                                                          \
		doca_log_register_source(#SOURCE, &log_source);                                    \
	}

#define DOCA_LOG(level, ...)                                                                       \
	doca_log((level), log_source, __FILE__, __LINE__, __func__, __VA_ARGS__)

#define DOCA_LOG_CRIT(...) DOCA_LOG(DOCA_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_LOG_ERR(...)  DOCA_LOG(DOCA_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_LOG_WARN(...) DOCA_LOG(DOCA_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_LOG_INFO(...) DOCA_LOG(DOCA_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_LOG_DBG(...)  DOCA_LOG(DOCA_LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Not compiled in unless the file defines DOCA_LOGGING_ALLOW_TRACE. */
#ifdef DOCA_LOGGING_ALLOW_TRACE
#define DOCA_LOG_TRC(...) DOCA_LOG(DOCA_LOG_LEVEL_TRACE, __VA_ARGS__)
#else
#define DOCA_LOG_TRC(...)                                                                          \
	do {                                                                                       \
	} while (0)
#endif

#ifdef __cplusplus
}
#endif

#endif /* DOCA_LOG_H_ */
