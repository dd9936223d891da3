/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.c - assignment of blocks to threads of the operating system, as many as a GPU of this size
 * would hold.
 *
 * A thread that gets a block starts the thread of the next one before it begins. So all blocks that
 * can be resident are resident, and a short kernel needs few threads. After its block it takes the
 * next one of the same kernel.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "block.h"
#include "kernel.h"
#include "memory.h"
#include "sanitize.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

enum { ALTSTACK = 64 * 1024 };

/* all under gpu.lock */
static struct worker *idle;
static struct kernel *pending; /* kernels with blocks to place, oldest first */
static uint32_t resident_blocks, resident_threads;

static void pending_add(struct kernel *k)
{
	struct kernel **at = &pending;

	while (*at)
		at = &(*at)->next;
	k->next = NULL;
	*at = k;
}

static void pending_remove(struct kernel *k)
{
	for (struct kernel **at = &pending; *at; at = &(*at)->next)
		if (*at == k) {
			*at = k->next;
			return;
		}
}

/* Take the next block of the kernel; gpu.lock is held. False if there is none. */
static bool take_kernel_block(struct kernel *k, uint64_t *number)
{
	if (atomic_load_explicit(&k->abort, memory_order_relaxed) && k->placed < k->num_blocks) {
		k->placed = k->num_blocks;
		pending_remove(k);
	}
	if (k->placed == k->num_blocks)
		return false;
	*number = k->placed++;
	if (k->placed == k->num_blocks)
		pending_remove(k);
	return true;
}

static void place_kernel(void);

static void release_worker(struct worker *w, struct kernel *k)
{
	resident_blocks--;
	resident_threads -= k->threads;
	w->kernel = NULL;
	w->next = idle;
	idle = w;
	if (!--k->workers && k->placed == k->num_blocks)
		pthread_cond_broadcast(&gpu.cond);
	place_kernel();
}

static bool worker_init(struct worker *w)
{
	stack_t ss = {.ss_size = ALTSTACK};

	w->shared = mmap(NULL, DPA_GPU_SHARED_OPTIN, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	w->altstack = ss.ss_sp = mmap(NULL, ALTSTACK, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->shared == MAP_FAILED || w->altstack == MAP_FAILED)
		return false;
	sigaltstack(&ss, NULL);
#ifdef __SANITIZE_THREAD__
	w->tsan = __tsan_get_current_fiber();
#endif
	gpu_worker = w;
	return true;
}

static void run_blocks(struct worker *w, struct kernel *k)
{
	uint64_t number;

	while (take_kernel_block(k, &number)) {
		place_kernel();
		pthread_mutex_unlock(&gpu.lock);
		memory_open();
		block_run(w, number);
		pthread_mutex_lock(&gpu.lock);
	}
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	bool usable = worker_init(w);

	pthread_mutex_lock(&gpu.lock);
	for (;;) {
		struct kernel *k;

		while (!w->kernel)
			pthread_cond_wait(&w->wake, &gpu.lock);
		k = w->kernel;
		if (!usable) {
			gpu_fault(cudaErrorLaunchOutOfResources);
			atomic_store_explicit(&k->abort, true, memory_order_relaxed);
		}
		run_blocks(w, k);
		release_worker(w, k);
	}
	return NULL;
}

/* Create a worker; gpu.lock is held. It receives only signals of faults in kernels. */
static struct worker *worker_new(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	struct worker *w = calloc(1, sizeof(*w));
	sigset_t mask, old;
	int ret;

	if (!w)
		return NULL;
	pthread_cond_init(&w->wake, NULL);
	sigfillset(&mask);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&mask, faults[i]);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	ret = pthread_create(&w->pthread, NULL, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret) {
		free(w);
		return NULL;
	}
	pthread_detach(w->pthread);
	return w;
}

static bool kernel_fits(const struct kernel *k)
{
	return resident_blocks < DPA_GPU_BLOCKS && resident_threads + k->threads <= DPA_GPU_THREADS;
}

/* Give a worker to the oldest kernel with blocks to place that fits; gpu.lock is held. */
static void place_kernel(void)
{
	struct kernel *k = pending;
	struct worker *w = idle;

	while (k && !kernel_fits(k))
		k = k->next;
	if (!k)
		return;
	if (w)
		idle = w->next;
	else
		w = worker_new();
	if (!w) {
		/* Existing workers continue; a kernel without a worker cannot begin. */
		if (!resident_blocks) {
			gpu_fault(cudaErrorLaunchOutOfResources);
			k->placed = k->num_blocks;
			pending_remove(k);
			pthread_cond_broadcast(&gpu.cond);
		}
		return;
	}
	resident_blocks++;
	resident_threads += k->threads;
	k->workers++;
	w->kernel = k;
	pthread_cond_signal(&w->wake);
}

void kernel_run(struct kernel *k)
{
	memory_kernel_begin();
	pthread_mutex_lock(&gpu.lock);
	pending_add(k);
	place_kernel();
	while (k->workers || k->placed < k->num_blocks)
		pthread_cond_wait(&gpu.cond, &gpu.lock);
	pthread_mutex_unlock(&gpu.lock);
	memory_kernel_end();
	if (atomic_load_explicit(&k->printed, memory_order_relaxed))
		fflush(stdout);
}

void kernel_free(struct kernel *k)
{
	k->body->destroy(k->closure);
	free(k->closure);
	free(k);
}
