/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fiber.h - a separate stack for each CUDA thread, and the switch between two of them. */
#ifndef DPA_CUDA_RUN_FIBER_H
#define DPA_CUDA_RUN_FIBER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A stack with a guard below it. Owner: the list of free ones, or the thread of the block that took
 * it. `next` belongs to the list.
 */
struct stack {
	struct stack *next;
	char *low; /* lowest usable address */
	size_t size;
	void *tsan;
};

struct stack *stack_get(void); /* Get a stack. NULL: out of memory. */
void stack_put(struct stack *stack);
/* True if addr lies in the guard below the stack. Signal handlers may call it. */
bool stack_guard_hit(const struct stack *stack, const void *addr);
/* Set the bytes of stacks that are taken from now on; they have at least `size`. */
void stack_set_size(size_t size);
size_t stack_size(void);

/* Save the caller's registers, stores its stack pointer in *from and continue at `to`. */
void dpa_cuda_switch(void **from, void *to);
/* Prepare the stack so that a switch to the result calls entry(arg), which must not return. */
void *fiber_prepare(struct stack *stack, void (*entry)(void *), void *arg);

#endif
