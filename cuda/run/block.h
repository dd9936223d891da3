/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * block.h - a block of CUDA threads on a thread of the operating system.
 *
 * The CUDA threads are fibers that take turns: at barriers, at warp operations, and after a number
 * of edges of their code (dpa_cuda_quantum), so a spinning thread does not block others. __shared__
 * variables are thread-local variables of the operating system's thread.
 *
 * Only that thread uses all of it, except words of the kernel that are marked as shared.
 */
#ifndef DPA_CUDA_RUN_BLOCK_H
#define DPA_CUDA_RUN_BLOCK_H

#include <signal.h>

#include "fiber.h"
#include "gpu.h"

struct kernel;

enum thread_state {
	THREAD_NEW,
	THREAD_READY,
	THREAD_BARRIER, /* in __syncthreads() */
	THREAD_WARP,	/* in a warp operation */
	THREAD_ASLEEP,	/* in __nanosleep() */
	THREAD_DONE,
};

struct thread {
	void *sp;
	struct stack *stack; /* NULL before it begins and after it ended */
	uint3 idx;
	uint32_t number; /* in its block: x first */
	enum thread_state state;
	uint64_t wake; /* THREAD_ASLEEP: until then (gpu_now()) */
	/* THREAD_WARP: the condition of the wait, and its result. */
	uint32_t mask;
	uint32_t op;
	int32_t arg, width;
	uint64_t value;
	uint64_t result, result2;
	void *asan; /* AddressSanitizer's fake stack */
};

struct block {
	struct kernel *kernel;
	uint32_t num, live;		     /* threads; those that have not ended */
	uint32_t arrived;		     /* at the barrier */
	uint32_t count;			     /* those of them with a true predicate */
	uint32_t barrier_num, barrier_count; /* of the last barrier that was passed */
	uint32_t asleep;
	uint32_t head, ready; /* ring of thread numbers that can run */
	uint16_t ring[DPA_GPU_BLOCK_THREADS];
	struct thread thread[DPA_GPU_BLOCK_THREADS];
};

/* A thread of the operating system that runs blocks. */
struct worker {
	struct worker *next;   /* list of idle workers; under gpu.lock */
	struct kernel *kernel; /* its work; under gpu.lock */
	pthread_cond_t wake;
	pthread_t pthread;
	struct block block;
	struct thread *cur; /* the fiber that runs; NULL: none */
	bool op;	    /* in a part of the library that a fault must not leave by a switch */
	uint32_t turns;	    /* number of turns, for sched_yield() */
	void *sp;	    /* of the scheduler while a fiber runs */
	void *shared;	    /* dynamic shared memory */
	void *altstack;
	void *asan;
	const void *stack_low; /* of the operating system's thread, for AddressSanitizer */
	size_t stack_bytes;
	void *tsan;
};

extern __thread struct worker *gpu_worker __attribute__((tls_model("initial-exec")));

/* The calling fiber, or NULL on any other thread. */
static inline struct thread *gpu_thread(void)
{
	return gpu_worker ? gpu_worker->cur : NULL;
}

/*
 * Run one block of the worker's kernel to its end. Ends early if the kernel faults. The caller is
 * the worker's thread; w->kernel is set.
 */
void block_run(struct worker *w, uint64_t number);
/* Let another thread of the block run; called by a fiber, whose state is set before. */
void block_switch(void);
/* Put a waiting thread back among the threads that run. */
void block_wake(struct block *b, struct thread *t);
/* Leave the block for good, after gpu_fault(); called by a fiber or its signal handler. */
_Noreturn void block_abort(void);
/* Pass the barrier if all threads have arrived; called after a thread has ended or waits. */
void block_check_barrier(struct block *b);
/* Complete warp operations that waited for a thread; called after it has ended. */
void warp_check(struct block *b, uint32_t warp);

/* Install the handlers for faults in kernels. Idempotent. */
void fault_install(void);

#endif
