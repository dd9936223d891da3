/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* counters.c - counters of dpaintrin.h. */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../eu/clock.h"
#include "counters.h"
#include "ops.h"

/* The thread's perf descriptor plus 1, so that 0 is "not opened yet"; -1: there is none. */
static __thread int counter;
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;

static void close_counter(void *fd)
{
	close((int)(intptr_t)fd - 1);
}

static void make_key(void)
{
	have_key = !pthread_key_create(&at_exit, close_counter);
}

static int open_cycles(void)
{
	struct perf_event_attr a;
	int fd;

	pthread_once(&once, make_key);
	if (!have_key)
		return -1;
	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_HARDWARE;
	a.config = PERF_COUNT_HW_INSTRUCTIONS;
	a.exclude_kernel = 1;
	a.exclude_hv = 1;
	fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (pthread_setspecific(at_exit, (void *)(intptr_t)(fd + 1))) {
		close(fd);
		return -1;
	}
	return fd + 1;
}

uint64_t dpa_op_thread_instructions(void)
{
	uint64_t n = 0;
	struct dpal_eu *eu;
	int saved = errno;

	dpa_op_begin(&eu);
	if (!counter)
		counter = open_cycles();
	if (counter > 0 && read(counter - 1, &n, sizeof(n)) != sizeof(n))
		n = 0;
	errno = saved;
	dpal_eu_op_end(eu);
	return n;
}

uint64_t dpa_op_thread_time(void)
{
	struct dpal_eu *eu;
	uint64_t ns;

	dpa_op_begin(&eu);
	ns = dpal_now_ns();
	dpal_eu_op_end(eu);
	return ns / 1000;
}
