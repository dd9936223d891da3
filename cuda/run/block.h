/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * block.h - a block of CUDA threads on a thread of the operating system.
 *
 * The CUDA threads are fibers that take turns: at barriers, at warp operations, and after a number of
 * edges of their code (dpa_cuda_quantum), so that one that spins stops no other one. __shared__
 * variables are thread-local variables of the operating system's thread.
 *
 * All of it is used by that thread only, but for the kernel's words that are named as shared.
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
	/* THREAD_WARP: what the thread waits for, and what comes of it. */
	uint32_t mask;
	uint32_t op;
	int32_t arg, width;
	uint64_t value;
	uint64_t result, result2;
	void *asan; /* AddressSanitizer's fake stack */
};

enum { BARRIER_PLAIN, BARRIER_AND, BARRIER_OR, BARRIER_COUNT };

struct block {
	struct kernel *kernel;
	uint32_t num, live; /* threads; those that have not ended */
	uint32_t arrived;   /* at the barrier */
	uint32_t count;	    /* of those, with a predicate that is true */
	uint32_t barrier_kind;
	uint32_t barrier_num, barrier_count; /* of the last one that was passed */
	uint32_t asleep;
	uint32_t head, ready; /* ring of thread numbers that can run */
	uint16_t ring[DPA_GPU_BLOCK_THREADS];
	struct thread thread[DPA_GPU_BLOCK_THREADS];
};

/* A thread of the operating system that runs blocks. */
struct worker {
	struct worker *next;   /* in the list of idle ones; under gpu.lock */
	struct kernel *kernel; /* its work; under gpu.lock */
	pthread_cond_t wake;
	pthread_t pthread;
	struct block block;
	struct thread *cur; /* the fiber that runs; NULL: none */
	bool op;	    /* in a part of the library that a fault must not leave */
	uint32_t turns;	    /* of the quantum, for sched_yield() */
	void *sp;	    /* of the scheduler while a fiber runs */
	void *shared;	    /* dynamic shared memory */
	size_t shared_size;
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
 * Runs one block of the worker's kernel to its end. Ends early if the kernel is at fault. The caller
 * is the worker's thread; w->kernel is set.
 */
void block_run(struct worker *w, uint64_t number);
/* From a fiber: lets another thread of the block run. The thread's state is set before. */
void block_switch(void);
/* Puts a thread that waited back among those that run. */
void block_wake(struct block *b, struct thread *t);
/* From a fiber or its signal handler: leaves the block for good, after gpu_fault(). */
_Noreturn void block_abort(void);
/* After a thread has ended or waits: passes the barrier if all have arrived. */
void block_check_barrier(struct block *b);
/* After a thread has ended: completes warp operations that waited for it. */
void warp_check(struct block *b, uint32_t warp);

/* Installs the handlers for faults in kernels. Idempotent. */
void fault_install(void);

#endif
