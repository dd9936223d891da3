/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "../eu/clock.h"
#include "../run/fault.h"
#include "../eu/futex.h"
#include "../eu/pool.h"
#include "../eu/thread.h"
#include "watchdog.h"

#define LOOKS	    8 /* checks in the time that code may take */
#define LOOK_MS_MIN 20
#define LOOK_MS_MAX 1000
#define PARK_LOOKS  2 /* checks that find no device code */

/* The watchdog's record of a thread of the pool. Written and read by the watchdog only. */
struct seen {
	uint64_t ticket;
	uint64_t used_ns; /* time of its first check of the ticket */
};

static struct {
	pthread_t thread;
	bool running;
	uint32_t seconds;
	char text[64];	       /* constant while it runs */
	_Atomic uint32_t stop; /* futex */
	bool found;	       /* this check found device code */
	struct seen seen[DPA_EU_THREADS];
} dog;

_Atomic uint32_t dpa_watchdog_parked;

void dpa_watchdog_wake(void)
{
	if (atomic_exchange_explicit(&dpa_watchdog_parked, 0, memory_order_seq_cst))
		dpa_futex_wake(&dpa_watchdog_parked, 1);
}

void dpa_watchdog_waited(struct dpal_eu *eu, uint64_t since)
{
	atomic_store_explicit(&eu->waited_ns,
			      atomic_load_explicit(&eu->waited_ns, memory_order_relaxed) +
				      dpal_now_ns() - since,
			      memory_order_relaxed);
}

static uint64_t used_ns(struct dpal_eu *eu)
{
	struct timespec ts;
	clockid_t clock;

	if (pthread_getcpuclockid(eu->thread, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec +
	       atomic_load_explicit(&eu->waited_ns, memory_order_relaxed);
}

/* Return whether a debugger is attached: breakpoints may take any time. */
static bool is_debugged(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	int tracer = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	return tracer != 0;
}

static void look_at_eu(struct dpal_eu *eu, void *arg)
{
	uint64_t ticket = atomic_load_explicit(&eu->ticket, memory_order_seq_cst);
	struct seen *s = &dog.seen[eu->index];

	if (ticket % 2 == 0)
		return;
	dog.found = true;
	if (s->ticket != ticket) {
		s->ticket = ticket;
		s->used_ns = used_ns(eu);
		return;
	}
	if (used_ns(eu) - s->used_ns < dog.seconds * 1000000000ull)
		return;
	if (is_debugged()) {
		s->used_ns = used_ns(eu);
		return;
	}
	/* first the reason, then the kill; each check repeats it until the code has ended */
	atomic_store_explicit(&eu->overrun, ticket, memory_order_seq_cst);
	atomic_store_explicit(&eu->kill, ticket, memory_order_seq_cst);
	pthread_kill(eu->thread, dpa_fault_kill_signal());
}

static void look_at_eus(void)
{
	dog.found = false;
	dpa_pool_each(look_at_eu, NULL);
}

/* Publish the sleep, check once more, then sleep. */
static void park_eus(void)
{
	atomic_store_explicit(&dpa_watchdog_parked, 1, memory_order_seq_cst);
	look_at_eus();
	if (dog.found || atomic_load_explicit(&dog.stop, memory_order_seq_cst)) {
		atomic_store_explicit(&dpa_watchdog_parked, 0, memory_order_seq_cst);
		return;
	}
	while (atomic_load_explicit(&dpa_watchdog_parked, memory_order_seq_cst))
		dpa_futex_wait(&dpa_watchdog_parked, 1, -1);
}

static void *watch_thread(void *arg)
{
	uint32_t ms = dog.seconds * 1000 / LOOKS, idle = 0;

	ms = ms < LOOK_MS_MIN ? LOOK_MS_MIN : ms > LOOK_MS_MAX ? LOOK_MS_MAX : ms;
	while (!atomic_load_explicit(&dog.stop, memory_order_seq_cst)) {
		if (idle >= PARK_LOOKS) {
			park_eus();
			idle = 0;
		}
		dpa_futex_wait(&dog.stop, 0, (int)ms);
		look_at_eus();
		idle = dog.found ? 0 : idle + 1;
	}
	return NULL;
}

int dpa_watchdog_start(uint32_t seconds)
{
	int ret;

	if (!seconds || dog.running)
		return 0;
	memset(dog.seen, 0, sizeof(dog.seen));
	dog.seconds = seconds;
	snprintf(dog.text, sizeof(dog.text), "more than %u s at a time", seconds);
	atomic_store_explicit(&dog.stop, 0, memory_order_relaxed);
	atomic_store_explicit(&dpa_watchdog_parked, 0, memory_order_relaxed);
	ret = dpa_start_thread(&dog.thread, "dpa-watchdog", watch_thread, NULL);
	dog.running = !ret;
	return ret;
}

void dpa_watchdog_stop(void)
{
	if (!dog.running)
		return;
	atomic_store_explicit(&dog.stop, 1, memory_order_seq_cst);
	dpa_futex_wake(&dog.stop, 1);
	dpa_watchdog_wake();
	pthread_join(dog.thread, NULL);
	dog.running = false;
}

void dpa_watchdog_forget(void)
{
	dog.running = false;
	atomic_store_explicit(&dpa_watchdog_parked, 0, memory_order_relaxed);
}

bool dpa_watchdog_hit(struct dpal_eu *eu)
{
	if (atomic_load_explicit(&eu->overrun, memory_order_seq_cst) !=
	    atomic_load_explicit(&eu->ticket, memory_order_relaxed))
		return false;
	eu->fault_text = dog.text;
	return true;
}
