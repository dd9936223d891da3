/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * log.c - log messages of the device. They go to the file of the setting log_file, and to
 * libibverbs's log if VERBS_LOG_LEVEL requests it; by default nowhere. Only what the user must correct
 * before the device can be opened goes to standard error, too, once in a process: the program itself
 * says only that it cannot open the device.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "dpa.h"

static char log_file[256];
static _Atomic int log_level;

/* Called before the device is opened; the settings of the last open apply. */
void dpa_log_setup(const char *file, int level)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	if (strcmp(log_file, file))
		snprintf(log_file, sizeof(log_file), "%s", file);
	atomic_store_explicit(&log_level, file[0] ? level : 0, memory_order_release);
	pthread_mutex_unlock(&lock);
}

static uint32_t verbs_level(int level)
{
	switch (level) {
	case DPA_LOG_USER:
	case DPA_LOG_ERR:
		return VERBS_LOG_ERR;
	case DPA_LOG_WARN:
		return VERBS_LOG_WARN;
	case DPA_LOG_INFO:
		return VERBS_LOG_INFO;
	default:
		return VERBS_LOG_DEBUG;
	}
}

static const char *level_name(int level)
{
	static const char *const name[] = {"error", "error", "error", "warn", "info", "debug"};

	return level >= 0 && level < 6 ? name[level] : "debug";
}

/* One write() for each line, so that lines of processes do not mix. */
static void file_line(int level, const char *text)
{
	char line[1024];
	struct timespec t;
	int fd, n;

	clock_gettime(CLOCK_REALTIME, &t);
	n = snprintf(line, sizeof(line), "%lld.%06ld [%d] %s: %s\n", (long long)t.tv_sec,
		     t.tv_nsec / 1000, (int)getpid(), level_name(level), text);
	if (n >= (int)sizeof(line)) {
		n = (int)sizeof(line);
		line[n - 1] = '\n';
	}
	fd = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (write(fd, line, (size_t)n) < 0) {
		/* there is no place to report it */
	}
	close(fd);
}

static void to_user(const char *text)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		fprintf(stderr, "dpa0: %s\n", text);
}

void dpa_log_line(int level, const char *text)
{
	int saved = errno;

	if (level == DPA_LOG_USER)
		to_user(text);

	__verbs_log(NULL, verbs_level(level), "dpa0: %s\n", text);
	if (level <= atomic_load_explicit(&log_level, memory_order_acquire))
		file_line(level, text);
	errno = saved;
}
