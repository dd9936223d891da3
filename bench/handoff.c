/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * handoff - H: the time of one cache line from one core to the other.
 *
 * Two processes on two cores; each spins on a word of its own line that the other writes. No data
 * can move between two processes faster. Prints p50 and p90 of one way, in ns, of batches of 100
 * round trips (the clock is too coarse for one), and the cycles of the time stamp counter in a
 * nanosecond (perftest reports cycles).
 */
#include "hist.h"
#include "timing.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { BATCHES = 5000, BATCH = 100 };

struct lines {
	_Alignas(
		128) _Atomic uint64_t ping; /* written by the parent (release), read by the child */
	/* written by the child (release), read by the parent */
	_Alignas(128) _Atomic uint64_t pong;
};

static inline void relax_core(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Return the ticks of the processor's constant-rate counter. */
static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t n;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
	return n;
#else
	return bench_now_ns();
#endif
}

static void wait_for(_Atomic uint64_t *word, uint64_t value)
{
	while (atomic_load_explicit(word, memory_order_acquire) != value)
		relax_core();
}

static _Noreturn void run_child(struct lines *l)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(0, 1);
	for (uint64_t i = 1; i <= (uint64_t)BATCHES * BATCH; i++) {
		wait_for(&l->ping, i);
		atomic_store_explicit(&l->pong, i, memory_order_release);
	}
	_exit(0);
}

int main(void)
{
	static struct hist h;
	struct lines *l =
		mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t i = 0, ns, cycles;
	pid_t pid;

	if (l == MAP_FAILED || sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "handoff: needs two cores\n");
		return 1;
	}
	hist_init(&h);
	pid = fork();
	if (pid == 0)
		run_child(l);
	bench_pin(0, 0);
	ns = bench_now_ns();
	cycles = ticks_now();
	for (int b = 0; b < BATCHES; b++) {
		uint64_t start = bench_now_ns();

		for (int k = 0; k < BATCH; k++) {
			atomic_store_explicit(&l->ping, ++i, memory_order_release);
			wait_for(&l->pong, i);
		}
		/* in hundredths of a nanosecond, one way */
		hist_add(&h, (bench_now_ns() - start) * 100 / (2 * BATCH));
	}
	cycles = ticks_now() - cycles;
	ns = bench_now_ns() - ns;
	waitpid(pid, NULL, 0);
	printf("%.2f %.2f %.4f\n", (double)hist_percentile(&h, 50) / 100,
	       (double)hist_percentile(&h, 90) / 100, (double)cycles / (double)ns);
	return 0;
}
