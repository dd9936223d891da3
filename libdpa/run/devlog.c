/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* devlog.c - the log of device code. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <doca_dpa.h>
#include "../eu/clock.h"
#include "../eu/thread.h"
#include "devlog.h"

#define LOG_BYTES   (64 * 1024)
#define LOG_MESSAGE 1024
#define LOG_WAIT_MS 200 /* ms to wait for room before a message is counted as lost */

struct dpa_devlog {
	pthread_mutex_t lock;
	pthread_cond_t more, room; /* more: for the writer; room: for EUs and drain */
	/*
	 * Bytes put, to be written and written; index modulo LOG_BYTES. Changed under the lock; a
	 * thread that only checks for data reads `due` and `out` without it.
	 */
	uint64_t in;
	_Atomic uint64_t due, out;
	uint64_t lost; /* messages */
	bool end, lazy;
	FILE *file;
	pthread_t writer;
	char buf[LOG_BYTES];
};

/* Write by stdio, so that the output keeps its order with that of the host program. */
static void write_out(struct dpa_devlog *log, const char *p, size_t n)
{
	fwrite(p, 1, n, log->file);
	fflush(log->file);
}

/* Write some. The lock is held; it is released while writing. */
static void write_some(struct dpa_devlog *log)
{
	uint64_t out = log->out, at = out % LOG_BYTES, n = log->due - out, lost = log->lost;
	char note[80];

	if (n > LOG_BYTES - at)
		n = LOG_BYTES - at;
	log->lost = 0;
	pthread_mutex_unlock(&log->lock);
	if (n)
		write_out(log, log->buf + at, n);
	if (lost) {
		int k = snprintf(note, sizeof(note), "[DOCA][DPA DEVICE] %llu messages lost\n",
				 (unsigned long long)lost);

		write_out(log, note, (size_t)k);
	}
	pthread_mutex_lock(&log->lock);
	log->out = out + n;
	pthread_cond_broadcast(&log->room);
}

static void *devlog_writer(void *arg)
{
	struct dpa_devlog *log = arg;

	pthread_mutex_lock(&log->lock);
	while (!log->end || log->due != log->out || log->lost) {
		if (log->due != log->out || log->lost)
			write_some(log);
		else
			pthread_cond_wait(&log->more, &log->lock);
	}
	pthread_mutex_unlock(&log->lock);
	return NULL;
}

struct dpa_devlog *dpa_devlog_create(FILE *out, bool lazy)
{
	struct dpa_devlog *log = calloc(1, sizeof(*log));
	pthread_condattr_t attr;
	int ret;

	if (!log)
		return NULL;
	log->file = out ? out : stdout;
	log->lazy = lazy;
	pthread_mutex_init(&log->lock, NULL);
	pthread_cond_init(&log->more, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&log->room, &attr);
	pthread_condattr_destroy(&attr);
	ret = dpa_start_thread(&log->writer, "dpa-log", devlog_writer, log);
	if (ret) {
		free(log);
		errno = ret;
		return NULL;
	}
	return log;
}

void dpa_devlog_destroy(struct dpa_devlog *log)
{
	if (!log)
		return;
	pthread_mutex_lock(&log->lock);
	log->end = true;
	log->due = log->in;
	pthread_cond_signal(&log->more);
	pthread_mutex_unlock(&log->lock);
	pthread_join(log->writer, NULL);
	pthread_cond_destroy(&log->more);
	pthread_cond_destroy(&log->room);
	pthread_mutex_destroy(&log->lock);
	free(log);
}

void dpa_devlog_flush(struct dpa_devlog *log)
{
	pthread_mutex_lock(&log->lock);
	log->due = log->in;
	pthread_cond_signal(&log->more);
	pthread_mutex_unlock(&log->lock);
}

void dpa_devlog_drain(struct dpa_devlog *log)
{
	uint64_t upto = atomic_load_explicit(&log->due, memory_order_acquire);

	if (atomic_load_explicit(&log->out, memory_order_acquire) >= upto)
		return;
	pthread_mutex_lock(&log->lock);
	while (log->out < upto)
		pthread_cond_wait(&log->room, &log->lock);
	pthread_mutex_unlock(&log->lock);
}

static bool wait_for_room(struct dpa_devlog *log, uint64_t n)
{
	const struct timespec end = dpal_deadline(LOG_WAIT_MS);

	while (LOG_BYTES - (log->in - log->out) < n)
		if (pthread_cond_timedwait(&log->room, &log->lock, &end) == ETIMEDOUT)
			return LOG_BYTES - (log->in - log->out) >= n;
	return true;
}

static void devlog_put_bytes(struct dpa_devlog *log, const char *p, uint64_t n)
{
	uint64_t at, first;

	pthread_mutex_lock(&log->lock);
	if (wait_for_room(log, n)) {
		at = log->in % LOG_BYTES;
		first = n < LOG_BYTES - at ? n : LOG_BYTES - at;
		memcpy(log->buf + at, p, first);
		memcpy(log->buf, p + first, n - first);
		log->in += n;
	} else {
		log->lost++;
	}
	if (!log->lazy || log->in - log->out >= LOG_BYTES / 2) {
		log->due = log->in;
		pthread_cond_signal(&log->more);
	}
	pthread_mutex_unlock(&log->lock);
}

static const char *devlog_tag(uint32_t level)
{
	if (level <= DOCA_DPA_DEV_LOG_LEVEL_CRIT)
		return "CRT";
	if (level <= DOCA_DPA_DEV_LOG_LEVEL_ERROR)
		return "ERR";
	if (level <= DOCA_DPA_DEV_LOG_LEVEL_WARNING)
		return "WRN";
	return level <= DOCA_DPA_DEV_LOG_LEVEL_INFO ? "INF" : "DBG";
}

void dpa_devlog_put(struct dpa_devlog *log, int eu, uint32_t level, const char *text, uint64_t len)
{
	char line[LOG_MESSAGE + 64];
	int n = snprintf(line, sizeof(line), "/%3d/[DOCA][DPA DEVICE][%s] ", eu, devlog_tag(level));

	if (len > LOG_MESSAGE)
		len = LOG_MESSAGE;
	memcpy(line + n, text, len);
	devlog_put_bytes(log, line, (uint64_t)n + len);
}

void dpa_devlog_put_text(struct dpa_devlog *log, const char *text, uint64_t len)
{
	if (len)
		devlog_put_bytes(log, text, len < LOG_MESSAGE ? len : LOG_MESSAGE);
}

void dpa_devlog_put_trace(struct dpa_devlog *log, int eu, const uint64_t words[5])
{
	char line[128];
	int n = snprintf(line, sizeof(line),
			 "/%3d/[DOCA][DPA TRACE] 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx\n", eu,
			 (unsigned long long)words[0], (unsigned long long)words[1],
			 (unsigned long long)words[2], (unsigned long long)words[3],
			 (unsigned long long)words[4]);

	devlog_put_bytes(log, line, (uint64_t)n);
}
