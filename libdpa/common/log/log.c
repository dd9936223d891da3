/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* log.c - sources, and the formatting of messages as lines. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "log.h"

/* Names by number; a free number has NULL. */
static struct {
	pthread_mutex_t lock;
	char **names;
	int num;
} sources = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Return a free number, or -1. The lock is held. */
static int free_number(void)
{
	char **names;

	for (int i = 0; i < sources.num; i++)
		if (!sources.names[i])
			return i;
	names = realloc(sources.names, (size_t)(sources.num + 1) * sizeof(*names));
	if (!names)
		return -1;
	sources.names = names;
	names[sources.num] = NULL;
	return sources.num++;
}

doca_error_t doca_log_register_source(const char *source_name, int *source)
{
	char *name;
	int n = -1;

	if (!source_name || !source)
		return DOCA_ERROR_INVALID_VALUE;
	name = strdup(source_name);
	if (!name)
		return DOCA_ERROR_NO_MEMORY;
	pthread_mutex_lock(&sources.lock);
	n = free_number();
	if (n >= 0)
		sources.names[n] = name;
	pthread_mutex_unlock(&sources.lock);
	if (n < 0) {
		free(name);
		return DOCA_ERROR_NO_MEMORY;
	}
	*source = n;
	return DOCA_SUCCESS;
}

doca_error_t doca_log_unregister_source(int source)
{
	doca_error_t ret = DOCA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&sources.lock);
	if (source >= 0 && source < sources.num && sources.names[source]) {
		free(sources.names[source]);
		sources.names[source] = NULL;
		ret = DOCA_SUCCESS;
	}
	pthread_mutex_unlock(&sources.lock);
	return ret;
}

static bool is_source(int source)
{
	bool ret;

	pthread_mutex_lock(&sources.lock);
	ret = source >= 0 && source < sources.num && sources.names[source];
	pthread_mutex_unlock(&sources.lock);
	return ret;
}

/* -------------------------------------------------------------------- lines */

static const char *level_tag(uint32_t level)
{
	static const char *const tags[] = {"CRT", "ERR", "WRN", "INF", "DBG", "TRC"};

	return tags[level / 10 - 2];
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct where {
	uint32_t level;
	const char *file, *func;
	int line;
};

/* Write the part in front of the message; `*rest` is the offset behind time and thread. */
static int put_prefix(char *out, size_t size, const struct where *w, int *rest)
{
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	*rest = snprintf(out, size, "[%02d:%02d:%02d:%06ld][%d]", tm.tm_hour, tm.tm_min, tm.tm_sec,
			 now.tv_nsec / 1000, (int)gettid());
	return *rest + snprintf(out + *rest, size - (size_t)*rest, "[DOCA][%s][%.80s:%d][%.80s] ",
				level_tag(w->level), base_name(w->file), w->line, w->func);
}

static doca_error_t put_line(bool sdk, const struct where *w, const char *format, va_list ap)
{
	char head[256];
	struct dpal_log_line line = {.level = w->level};
	char *text, *message;
	int n, rest, len;
	bool ok;

	len = vasprintf(&message, format, ap);
	if (len < 0)
		return DOCA_ERROR_NO_MEMORY;
	n = put_prefix(head, sizeof(head), w, &rest);
	text = malloc((size_t)(n + len) + 2);
	if (!text) {
		free(message);
		return DOCA_ERROR_NO_MEMORY;
	}
	memcpy(text, head, (size_t)n);
	memcpy(text + n, message, (size_t)len);
	text[n + len] = '\n';
	text[n + len + 1] = 0;
	line.text = text;
	line.len = (size_t)(n + len) + 1;
	line.message = text + rest;
	ok = dpal_log_write(sdk, &line);
	free(text);
	free(message);
	return ok ? DOCA_SUCCESS : DOCA_ERROR_IO_FAILED;
}

doca_error_t doca_log(uint32_t level, int source, const char *fname, int line, const char *func,
		      const char *format, ...)
{
	struct where w = {.level = level, .file = fname, .func = func, .line = line};
	doca_error_t ret;
	va_list ap;

	if (!fname || !func || !format || !dpal_log_is_level(level) ||
	    level == DOCA_LOG_LEVEL_DISABLE)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpal_log_wanted(false, level))
		return DOCA_SUCCESS;
	if (!is_source(source))
		return DOCA_ERROR_INVALID_VALUE;
	va_start(ap, format);
	ret = put_line(false, &w, format, ap);
	va_end(ap);
	return ret;
}

void dpal_log(uint32_t level, const char *file, int line, const char *func, const char *format, ...)
{
	struct where w = {.level = level, .file = file, .func = func, .line = line};
	va_list ap;

	if (!dpal_log_wanted(true, level))
		return;
	va_start(ap, format);
	put_line(true, &w, format, ap);
	va_end(ap);
}
