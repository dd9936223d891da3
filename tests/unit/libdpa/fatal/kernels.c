/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - device code that faults. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_sync_event.h>
#include <dpa/dpa_dev_native.h>
#include "fatal_kernels.h"

#define ADD(field)    __atomic_fetch_add(&(field), 1, __ATOMIC_ACQ_REL)
#define SAY(field, v) __atomic_store_n(&(field), (uint64_t)(v), __ATOMIC_RELEASE)

static struct fatal_shared *at(uint64_t arg)
{
	return (struct fatal_shared *)(uintptr_t)arg;
}

uint64_t counter = 0x1234567890;

__attribute__((noinline)) static uint64_t innermost(volatile uint64_t *where, uint64_t value)
{
	*where = value; /* the line that faults */
	return value + 1;
}

__attribute__((noinline)) static uint64_t middle(uint64_t depth, volatile uint64_t *where)
{
	return innermost(where, depth * 2) + 1;
}

__dpa_global__ void bad_write(uint64_t arg)
{
	ADD(at(arg)->begun);
	counter = middle(21, (uint64_t *)(uintptr_t)at(arg)->address);
	ADD(at(arg)->survived);
}

__dpa_global__ void divide_by_zero(uint64_t arg)
{
	volatile int zero = 0;

	ADD(at(arg)->begun);
	zero = 100 / zero;
	ADD(at(arg)->survived);
}

__dpa_global__ void trap(uint64_t arg)
{
	ADD(at(arg)->begun);
	__builtin_trap();
}

__dpa_global__ void jump_nowhere(uint64_t arg)
{
	void (*volatile fn)(void) = (void (*)(void))(uintptr_t)at(arg)->address;

	ADD(at(arg)->begun);
	fn();
	ADD(at(arg)->survived);
}

__attribute__((noinline)) static uint64_t deep(volatile uint64_t *p)
{
	volatile uint64_t frame[16];

	frame[0] = *p + 1;
	return deep(frame) + frame[0];
}

/* The called function is code of the host outside libdpa, which no kernel should call. */
__dpa_global__ void call_outside(uint64_t arg)
{
	uint64_t (*volatile fn)(uint64_t, uint64_t, uint64_t) =
		(uint64_t(*)(uint64_t, uint64_t, uint64_t))(uintptr_t)at(arg)->address;

	ADD(at(arg)->begun);
	counter = fn(8, 0, 10);
	ADD(at(arg)->survived);
}

__dpa_global__ void overflow(uint64_t arg)
{
	volatile uint64_t v = arg;

	ADD(at(arg)->begun);
	SAY(at(arg)->survived, deep(&v));
}

/* Every frame calls the library: most likely the stack ends inside of it. */
__attribute__((noinline)) static uint64_t deep_calls(uint64_t comp, volatile uint64_t *p)
{
	volatile uint64_t frame[4];

	doca_dpa_dev_completion_ack(comp, 0);
	frame[0] = *p + 1;
	return deep_calls(comp, frame) + frame[0];
}

__dpa_global__ void overflow_in_calls(uint64_t arg)
{
	volatile uint64_t v = arg;

	ADD(at(arg)->begun);
	SAY(at(arg)->survived, deep_calls(at(arg)->comp, &v));
}

/* A frame of that many bytes, of which only the far end is written. */
__attribute__((noinline)) static char far_end(uint64_t size)
{
	volatile char frame[size];

	frame[0] = (char)size;
	return frame[0];
}

__dpa_global__ void overflow_by_one_frame(uint64_t arg)
{
	ADD(at(arg)->begun);
	far_end(at(arg)->address);
	ADD(at(arg)->survived);
}

__dpa_global__ void bad_handle(uint64_t arg)
{
	ADD(at(arg)->begun);
	doca_dpa_dev_completion_ack(at(arg)->comp + 1, 1);
	ADD(at(arg)->survived);
}

__dpa_global__ void spoil_stack(uint64_t arg)
{
	ADD(at(arg)->begun);
#if defined(__x86_64__)
	__asm__ volatile("mov $64, %%rsp\n\tpush %%rax" : : : "memory");
#else
	__builtin_trap();
#endif
	ADD(at(arg)->survived);
}

__attribute__((noinline)) static void around(volatile uint64_t *n)
{
	for (;;)
		(*n)++;
}

__dpa_global__ void loop(uint64_t arg)
{
	ADD(at(arg)->begun);
	around(&at(arg)->rounds);
}

__dpa_global__ void loop_of_calls(uint64_t arg)
{
	doca_dpa_dev_completion_element_t e;

	ADD(at(arg)->begun);
	for (;;)
		doca_dpa_dev_get_completion(at(arg)->comp, &e);
}

/* Asleep, not spinning: that counts as run time, too. */
__dpa_global__ void wait_for_ever(uint64_t arg)
{
	ADD(at(arg)->begun);
	doca_dpa_dev_sync_event_wait_gt(at(arg)->event, 0, ~0ull);
	ADD(at(arg)->survived);
}

__dpa_global__ void work(uint64_t arg)
{
	doca_dpa_dev_completion_element_t e;

	while (doca_dpa_dev_get_completion(at(arg)->comp, &e))
		doca_dpa_dev_completion_ack(at(arg)->comp, 1);
	doca_dpa_dev_completion_request_notification(at(arg)->comp);
	for (volatile uint64_t i = 0; i < at(arg)->address; i++) /* so long */
		;
	ADD(at(arg)->begun);
	doca_dpa_dev_thread_reschedule();
}
