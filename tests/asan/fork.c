/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fork.c - in every unit test built with AddressSanitizer: a fork waits until the other threads
 * sleep. The sanitizer of gcc 12 does not take its allocator's locks around a fork, as a libc's
 * malloc does: a child of a fork while another thread allocates, as each does when it starts and
 * ends, waits for ever on its first allocation.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOKS	 3    /* this number of checks in a row must find it so */
#define LIMIT_MS 1000 /* a thread that never sleeps: then fork anyway */

static bool at_rest(int tid)
{
	char name[64], stat[256], *end;
	ssize_t len;
	int fd;

	snprintf(name, sizeof(name), "/proc/self/task/%d/stat", tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* gone */
	len = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (len <= 0)
		return true;
	stat[len] = 0;
	end = strrchr(stat, ')'); /* the name ends there; then the state */
	return end && end[1] && end[2] != 'R' && end[2] != 'D';
}

static bool all_at_rest(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	bool rest = true;

	if (!d)
		return true;
	while (rest && (e = readdir(d)))
		rest = atoi(e->d_name) <= 0 || atoi(e->d_name) == gettid() ||
		       at_rest(atoi(e->d_name));
	closedir(d);
	return rest;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void before_fork(void)
{
	long end = now_ms() + LIMIT_MS;

	for (int looks = 0; looks < LOOKS && now_ms() < end; sched_yield())
		looks = all_at_rest() ? looks + 1 : 0;
}

__attribute__((constructor)) static void asan_watch_forks(void)
{
	pthread_atfork(before_fork, NULL, NULL);
}
