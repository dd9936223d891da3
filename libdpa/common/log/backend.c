/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* backend.c - backends: destinations of lines, and their limits. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include "log.h"

struct doca_log_backend {
	struct doca_log_backend *next;
	bool sdk;
	/* Limits as set; the strict calls fix them by marks. SDK: lower only. */
	uint32_t lower, upper, lower_mark, upper_mark;
	bool (*write)(struct doca_log_backend *b, const struct dpal_log_line *line);
	FILE *file;
	int fd;
	char *name; /* syslog */
	char *buf;
	size_t capacity, used;
	log_flush_callback flush;
};

static struct {
	pthread_mutex_t lock;
	struct doca_log_backend *list;
	/* for new backends, and for those that exist when it is set */
	uint32_t lower, upper, sdk;
	bool standard;
} logs = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.lower = DOCA_LOG_LEVEL_INFO,
	.upper = DOCA_LOG_LEVEL_CRIT,
	.sdk = DOCA_LOG_LEVEL_INFO,
};

/*
 * The least severe level that any backend takes, by kind: [0] the program's, [1] the library's.
 * Written under the lock, read without it: a reader that is late by one message does no harm.
 */
static _Atomic uint32_t widest[2];

static uint32_t lower_of(const struct doca_log_backend *b)
{
	return b->lower < b->lower_mark ? b->lower : b->lower_mark;
}

static uint32_t upper_of(const struct doca_log_backend *b)
{
	return b->upper > b->upper_mark ? b->upper : b->upper_mark;
}

/* The lock is held. */
static void limits_changed(void)
{
	uint32_t w[2] = {0, 0};

	for (const struct doca_log_backend *b = logs.list; b; b = b->next)
		if (lower_of(b) > w[b->sdk])
			w[b->sdk] = lower_of(b);
	atomic_store_explicit(&widest[0], w[0], memory_order_relaxed);
	atomic_store_explicit(&widest[1], w[1], memory_order_relaxed);
}

bool dpal_log_is_level(uint32_t level)
{
	return level % 10 == 0 && level >= DOCA_LOG_LEVEL_DISABLE && level <= DOCA_LOG_LEVEL_TRACE;
}

bool dpal_log_wanted(bool sdk, uint32_t level)
{
	return level <= atomic_load_explicit(&widest[sdk], memory_order_relaxed);
}

bool dpal_log_write(bool sdk, const struct dpal_log_line *line)
{
	bool ok = true;

	pthread_mutex_lock(&logs.lock);
	for (struct doca_log_backend *b = logs.list; b; b = b->next)
		if (b->sdk == sdk && line->level <= lower_of(b) && line->level >= upper_of(b))
			ok &= b->write(b, line);
	pthread_mutex_unlock(&logs.lock);
	return ok;
}

/* ------------------------------------------------------------- destination */

static bool write_stream(struct doca_log_backend *b, const struct dpal_log_line *line)
{
	return fwrite(line->text, 1, line->len, b->file) == line->len && !fflush(b->file);
}

static bool write_fd(struct doca_log_backend *b, const struct dpal_log_line *line)
{
	for (size_t done = 0; done < line->len;) {
		ssize_t n = write(b->fd, line->text + done, line->len - done);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool write_buf(struct doca_log_backend *b, const struct dpal_log_line *line)
{
	size_t n = line->len < b->capacity ? line->len : b->capacity - 1;

	if (b->used && n >= b->capacity - b->used) {
		b->flush(b->buf);
		b->used = 0;
	}
	memcpy(b->buf + b->used, line->text, n);
	b->used += n;
	b->buf[b->used] = 0;
	return true;
}

/* syslog has one name for the process: set again for each line. */
static bool write_syslog(struct doca_log_backend *b, const struct dpal_log_line *line)
{
	static const int priority[] = {LOG_CRIT, LOG_ERR,   LOG_WARNING,
				       LOG_INFO, LOG_DEBUG, LOG_DEBUG};

	openlog(b->name, LOG_PID, LOG_USER);
	syslog(priority[line->level / 10 - 2], "%s", line->message);
	return true;
}

/* ------------------------------------------------------------------ making */

static doca_error_t add_backend(const struct doca_log_backend *init, bool sdk,
				struct doca_log_backend **backend)
{
	struct doca_log_backend *b = malloc(sizeof(*b));
	struct doca_log_backend **p;

	if (!b)
		return DOCA_ERROR_NO_MEMORY;
	*b = *init;
	b->sdk = sdk;
	pthread_mutex_lock(&logs.lock);
	b->lower = sdk ? logs.sdk : logs.lower;
	b->upper = sdk ? DOCA_LOG_LEVEL_CRIT : logs.upper;
	b->lower_mark = DOCA_LOG_LEVEL_TRACE;
	b->upper_mark = DOCA_LOG_LEVEL_DISABLE;
	for (p = &logs.list; *p; p = &(*p)->next)
		;
	*p = b;
	limits_changed();
	pthread_mutex_unlock(&logs.lock);
	*backend = b;
	return DOCA_SUCCESS;
}

static doca_error_t add_file(FILE *f, bool sdk, struct doca_log_backend **backend)
{
	struct doca_log_backend b = {.write = write_stream, .file = f};

	return f && backend ? add_backend(&b, sdk, backend) : DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t add_fd(int fd, bool sdk, struct doca_log_backend **backend)
{
	struct doca_log_backend b = {.write = write_fd, .fd = fd};

	if (!backend || fcntl(fd, F_GETFD) < 0)
		return DOCA_ERROR_INVALID_VALUE;
	return add_backend(&b, sdk, backend);
}

static doca_error_t add_buf(char *buf, size_t capacity, log_flush_callback handler, bool sdk,
			    struct doca_log_backend **backend)
{
	struct doca_log_backend b = {
		.write = write_buf, .buf = buf, .capacity = capacity, .flush = handler};

	if (!buf || capacity < 2 || !handler || !backend)
		return DOCA_ERROR_INVALID_VALUE;
	buf[0] = 0;
	return add_backend(&b, sdk, backend);
}

static doca_error_t add_syslog(const char *name, bool sdk, struct doca_log_backend **backend)
{
	struct doca_log_backend b = {.write = write_syslog};
	doca_error_t ret;

	if (!name || !backend)
		return DOCA_ERROR_INVALID_VALUE;
	b.name = strdup(name);
	ret = b.name ? add_backend(&b, sdk, backend) : DOCA_ERROR_NO_MEMORY;
	if (ret)
		free(b.name);
	return ret;
}

doca_error_t doca_log_backend_create_with_file(FILE *fptr, struct doca_log_backend **backend)
{
	return add_file(fptr, false, backend);
}

doca_error_t doca_log_backend_create_with_fd(int fd, struct doca_log_backend **backend)
{
	return add_fd(fd, false, backend);
}

doca_error_t doca_log_backend_create_with_buf(char *buf, size_t capacity,
					      log_flush_callback handler,
					      struct doca_log_backend **backend)
{
	return add_buf(buf, capacity, handler, false, backend);
}

doca_error_t doca_log_backend_create_with_syslog(const char *name,
						 struct doca_log_backend **backend)
{
	return add_syslog(name, false, backend);
}

doca_error_t doca_log_backend_create_with_file_sdk(FILE *fptr, struct doca_log_backend **backend)
{
	return add_file(fptr, true, backend);
}

doca_error_t doca_log_backend_create_with_fd_sdk(int fd, struct doca_log_backend **backend)
{
	return add_fd(fd, true, backend);
}

doca_error_t doca_log_backend_create_with_buf_sdk(char *buf, size_t capacity,
						  log_flush_callback handler,
						  struct doca_log_backend **backend)
{
	return add_buf(buf, capacity, handler, true, backend);
}

doca_error_t doca_log_backend_create_with_syslog_sdk(const char *name,
						     struct doca_log_backend **backend)
{
	return add_syslog(name, true, backend);
}

doca_error_t doca_log_backend_create_standard(void)
{
	struct doca_log_backend *out, *err;
	doca_error_t ret;
	bool again;

	pthread_mutex_lock(&logs.lock);
	again = logs.standard;
	logs.standard = true;
	pthread_mutex_unlock(&logs.lock);
	if (again)
		return DOCA_ERROR_ALREADY_EXIST;
	ret = add_file(stderr, false, &err);
	if (!ret)
		ret = add_file(stdout, false, &out);
	if (ret)
		return ret;
	pthread_mutex_lock(&logs.lock);
	err->lower_mark = DOCA_LOG_LEVEL_WARNING;
	out->upper_mark = DOCA_LOG_LEVEL_INFO;
	limits_changed();
	pthread_mutex_unlock(&logs.lock);
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------ limits */

enum what { LOWER, UPPER, LOWER_MARK, UPPER_MARK };

static void set_level(struct doca_log_backend *b, enum what what, uint32_t level)
{
	switch (what) {
	case LOWER:
		b->lower = level;
		break;
	case UPPER:
		b->upper = level;
		break;
	case LOWER_MARK:
		b->lower_mark = lower_of(b);
		break;
	case UPPER_MARK:
		b->upper_mark = upper_of(b);
		break;
	}
	limits_changed();
}

static doca_error_t set_one(struct doca_log_backend *b, bool sdk, enum what what, uint32_t level)
{
	struct doca_log_backend *is;

	if (!b || !dpal_log_is_level(level))
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&logs.lock);
	for (is = logs.list; is && is != b; is = is->next) /* backends are never destroyed */
		;
	if (is && is->sdk == sdk)
		set_level(is, what, level);
	else
		is = NULL;
	pthread_mutex_unlock(&logs.lock);
	return is ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

static doca_error_t set_all(uint32_t *global, bool sdk, enum what what, uint32_t level)
{
	if (!dpal_log_is_level(level))
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&logs.lock);
	*global = level;
	for (struct doca_log_backend *b = logs.list; b; b = b->next)
		if (b->sdk == sdk)
			set_level(b, what, level);
	pthread_mutex_unlock(&logs.lock);
	return DOCA_SUCCESS;
}

static uint32_t get_level(const uint32_t *global)
{
	uint32_t level;

	pthread_mutex_lock(&logs.lock);
	level = *global;
	pthread_mutex_unlock(&logs.lock);
	return level;
}

doca_error_t doca_log_backend_set_level_lower_limit(struct doca_log_backend *backend,
						    uint32_t level)
{
	return set_one(backend, false, LOWER, level);
}

doca_error_t doca_log_backend_set_level_upper_limit(struct doca_log_backend *backend,
						    uint32_t upper_limit)
{
	return set_one(backend, false, UPPER, upper_limit);
}

doca_error_t doca_log_backend_set_level_lower_limit_strict(struct doca_log_backend *backend)
{
	return set_one(backend, false, LOWER_MARK, DOCA_LOG_LEVEL_DISABLE);
}

doca_error_t doca_log_backend_set_level_upper_limit_strict(struct doca_log_backend *backend)
{
	return set_one(backend, false, UPPER_MARK, DOCA_LOG_LEVEL_DISABLE);
}

doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend *backend, uint32_t level)
{
	return set_one(backend, true, LOWER, level);
}

doca_error_t doca_log_level_set_global_lower_limit(uint32_t level)
{
	return set_all(&logs.lower, false, LOWER, level);
}

doca_error_t doca_log_level_set_global_upper_limit(uint32_t upper_limit)
{
	return set_all(&logs.upper, false, UPPER, upper_limit);
}

doca_error_t doca_log_level_set_global_sdk_limit(uint32_t level)
{
	return set_all(&logs.sdk, true, LOWER, level);
}

uint32_t doca_log_level_get_global_lower_limit(void)
{
	return get_level(&logs.lower);
}

uint32_t doca_log_level_get_global_upper_limit(void)
{
	return get_level(&logs.upper);
}

uint32_t doca_log_level_get_global_sdk_limit(void)
{
	return get_level(&logs.sdk);
}
