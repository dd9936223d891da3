/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* block.c - scheduling of the threads of a block, which take turns. */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "block.h"
#include "indices.h"
#include "kernel.h"
#include "sanitize.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

enum {
	QUANTUM = 128, /* edges of code until the turn of another thread */
	YIELD = 32,    /* turns until the processor is yielded to other threads of the system */
};

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread dim3 blockDim;
__thread dim3 gridDim;
__thread struct worker *gpu_worker __attribute__((tls_model("initial-exec")));
/* Edges left in the turn. Not used on threads that are no CUDA threads. */
static __thread int quantum __attribute__((tls_model("initial-exec")));

/* gcc and clang compile a call at the begin of each basic block (-fsanitize-coverage=trace-pc). */
DPA_GPU_API void __sanitizer_cov_trace_pc(void);

static void to_fiber(struct worker *w, struct thread *t)
{
	w->cur = t;
	threadIdx = t->idx;
	quantum = QUANTUM;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&w->asan, t->stack->low, t->stack->size);
#endif
#ifdef __SANITIZE_THREAD__
	__tsan_switch_to_fiber(t->stack->tsan, 0);
#endif
	dpa_cuda_switch(&w->sp, t->sp);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(w->asan, NULL, NULL);
#endif
	w->cur = NULL;
}

/*
 * Switch to the worker. `fake`: place for the fiber's fake stack; NULL if the fiber does not come
 * back.
 */
static void to_worker(struct worker *w, struct thread *t, void **fake)
{
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(fake, w->stack_low, w->stack_bytes);
#endif
#ifdef __SANITIZE_THREAD__
	__tsan_switch_to_fiber(w->tsan, 0);
#endif
	dpa_cuda_switch(&t->sp, w->sp);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(t->asan, &w->stack_low, &w->stack_bytes);
#endif
}

void block_switch(void)
{
	struct worker *w = gpu_worker;

	to_worker(w, w->cur, &w->cur->asan);
}

void block_abort(void)
{
	struct worker *w = gpu_worker;

	atomic_store_explicit(&w->kernel->abort, true, memory_order_relaxed);
	to_worker(w, w->cur, NULL);
	__builtin_unreachable();
}

static void ring_add(struct block *b, struct thread *t)
{
	b->ring[(b->head + b->ready++) % DPA_GPU_BLOCK_THREADS] = (uint16_t)t->number;
}

static struct thread *ring_take(struct block *b)
{
	struct thread *t = &b->thread[b->ring[b->head]];

	b->head = (b->head + 1) % DPA_GPU_BLOCK_THREADS;
	b->ready--;
	return t;
}

void block_wake(struct block *b, struct thread *t)
{
	t->state = THREAD_READY;
	ring_add(b, t);
}

/* End the turn: switch to the next thread, and from time to time yield to the system. */
static __attribute__((noinline)) void turn_over(void)
{
	struct worker *w = gpu_worker;

	if (!w || !w->cur) {
		quantum = INT_MAX;
		return;
	}
	quantum = QUANTUM;
	if (w->op)
		return;
	if (atomic_load_explicit(&w->kernel->abort, memory_order_relaxed))
		block_abort();
	if (++w->turns % YIELD == 0)
		sched_yield();
	if (w->block.ready || w->block.asleep) {
		block_wake(&w->block, w->cur);
		block_switch();
	}
}

void __sanitizer_cov_trace_pc(void)
{
	if (__builtin_expect(--quantum < 0, 0))
		turn_over();
}

static void fiber_main(void *arg)
{
	struct thread *t = arg;
	struct worker *w = gpu_worker;

#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, &w->stack_low, &w->stack_bytes);
#endif
	w->kernel->body->call(w->kernel->closure);
	t->state = THREAD_DONE;
	to_worker(w, t, NULL);
	__builtin_unreachable();
}

static bool thread_begin(struct thread *t)
{
	t->stack = stack_get();
	if (!t->stack)
		return false;
	t->sp = fiber_prepare(t->stack, fiber_main, t);
	t->state = THREAD_READY;
	return true;
}

static void thread_end(struct block *b, struct thread *t)
{
	stack_put(t->stack);
	t->stack = NULL;
	b->live--;
	block_check_barrier(b);
	warp_check(b, t->number / DPA_GPU_WARP);
}

/* Wake the threads whose time has come; wait for the first one if no other can run. */
static void wake_sleepers(struct block *b)
{
	uint64_t now = gpu_now(), first = UINT64_MAX;

	for (uint32_t i = 0; i < b->num; i++) {
		struct thread *t = &b->thread[i];

		if (t->state != THREAD_ASLEEP)
			continue;
		if (t->wake <= now) {
			b->asleep--;
			block_wake(b, t);
		} else if (t->wake < first) {
			first = t->wake;
		}
	}
	if (!b->ready && b->asleep) {
		uint64_t ns = first - now;
		struct timespec ts = {.tv_nsec = (long)(ns > 1000000 ? 1000000 : ns)};

		nanosleep(&ts, NULL);
	}
}

static void block_init(struct worker *w, uint64_t number)
{
	const struct kernel *k = w->kernel;
	struct block *b = &w->block;

	b->kernel = w->kernel;
	b->num = b->live = k->threads;
	b->arrived = b->count = b->asleep = b->head = b->ready = 0;
	blockDim = k->block;
	gridDim = k->grid;
	blockIdx.x = (unsigned int)(number % k->grid.x);
	blockIdx.y = (unsigned int)(number / k->grid.x % k->grid.y);
	blockIdx.z = (unsigned int)(number / k->grid.x / k->grid.y);
	for (uint32_t i = 0; i < b->num; i++) {
		struct thread *t = &b->thread[i];

		t->number = i;
		t->state = THREAD_NEW;
		t->idx.x = i % k->block.x;
		t->idx.y = i / k->block.x % k->block.y;
		t->idx.z = i / k->block.x / k->block.y;
		ring_add(b, t);
	}
}

/* Free the resources of the threads of an aborted block. Their destructors do not run. */
static void block_drop(struct block *b)
{
	for (uint32_t i = 0; i < b->num; i++)
		if (b->thread[i].stack) {
			stack_put(b->thread[i].stack);
			b->thread[i].stack = NULL;
		}
}

static void run_block_thread(struct worker *w, struct thread *t)
{
	if (t->state == THREAD_NEW && !thread_begin(t)) {
		gpu_fault(cudaErrorLaunchOutOfResources);
		atomic_store_explicit(&w->kernel->abort, true, memory_order_relaxed);
		return;
	}
	to_fiber(w, t);
	if (t->state == THREAD_DONE)
		thread_end(&w->block, t);
}

void block_run(struct worker *w, uint64_t number)
{
	struct block *b = &w->block;

	block_init(w, number);
	while (b->live && !atomic_load_explicit(&w->kernel->abort, memory_order_relaxed)) {
		if (b->asleep)
			wake_sleepers(b);
		if (b->ready) {
			run_block_thread(w, ring_take(b));
		} else if (!b->asleep) {
			/* all wait for each other: on a GPU this block would hang for ever */
			gpu_fault(cudaErrorLaunchTimeout);
			atomic_store_explicit(&w->kernel->abort, true, memory_order_relaxed);
		}
	}
	if (b->live)
		block_drop(b);
}

void block_check_barrier(struct block *b)
{
	if (!b->arrived || b->arrived < b->live)
		return;
	b->barrier_num = b->arrived;
	b->barrier_count = b->count;
	b->arrived = b->count = 0;
	for (uint32_t i = 0; i < b->num; i++)
		if (b->thread[i].state == THREAD_BARRIER)
			block_wake(b, &b->thread[i]);
}

DPA_GPU_API int dpa_cuda_barrier(int kind, int predicate)
{
	struct thread *t = gpu_thread();
	struct block *b;

	if (!t)
		return 0;
	b = &gpu_worker->block;
	b->arrived++;
	b->count += predicate != 0;
	t->state = THREAD_BARRIER;
	block_check_barrier(b);
	block_switch();
	/* No thread passes the next barrier before this thread has read the result of this one. */
	switch (kind) {
	case DPA_CUDA_BARRIER_AND:
		return b->barrier_count == b->barrier_num;
	case DPA_CUDA_BARRIER_OR:
		return b->barrier_count != 0;
	default:
		return (int)b->barrier_count;
	}
}

DPA_GPU_API void dpa_cuda_sleep(unsigned int ns)
{
	struct thread *t = gpu_thread();

	if (!t)
		return;
	t->wake = gpu_now() + ns;
	t->state = THREAD_ASLEEP;
	gpu_worker->block.asleep++;
	block_switch();
}

DPA_GPU_API void *dpa_cuda_dynamic_shared(void)
{
	return gpu_worker ? gpu_worker->shared : NULL;
}
