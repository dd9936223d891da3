/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* kernels.c - RPCs and kernels that fault in every way. */
#include <assert.h>
#include <stdlib.h>
#include <doca_dpa_dev.h>
#include "kinds.h"

static uint64_t deep(volatile uint64_t *p)
{
	volatile uint64_t frame[32];

	frame[0] = *p + 1;
	return deep(frame) + frame[0];
}

__attribute__((noinline)) static void write_to(volatile uint64_t *where)
{
	*where = 1;
}

__dpa_rpc__ uint64_t go_wrong(uint64_t kind)
{
	volatile uint64_t v = 0;

	switch (kind) {
	case KIND_POINTER:
		write_to((uint64_t *)8);
		break;
	case KIND_DIVISION:
		v = 100 / v;
		break;
	case KIND_TRAP:
		__builtin_trap();
	case KIND_ABORT:
		abort();
	case KIND_ASSERT:
		assert(v == 1);
		break;
	case KIND_STACK:
		return deep(&v);
	case KIND_LOOP:
		for (;;)
			v++;
	default:
		break;
	}
	return kind + 1;
}

__dpa_global__ void spin(uint64_t address)
{
	__atomic_store_n((uint64_t *)address, 1, __ATOMIC_RELEASE);
	for (;;)
		__asm__ volatile("");
}
