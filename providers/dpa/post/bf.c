/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * BlueFlame writes. Blocks go from the last to the first, so that the word that the EU watches,
 * the first one of block 0, is as a rule the last to change; the WQE's check catches the rest.
 *
 * AVX-512 stores 64 bytes at once and leaves the line in the cache, where the EU finds it. Where
 * only movdir64b is there, a block is atomic but goes around the cache. Else eight plain stores.
 */
#include <stdlib.h>
#include <string.h>
#include "dpa.h"

typedef void bf_fn(void *to, const void *wqe, uint32_t nbb);

/* Word 0 last (release). */
static void bf_copy(void *to, const void *wqe, uint32_t nbb)
{
	uint64_t *t = to;
	const uint64_t *w = wqe;

	for (uint32_t i = nbb * 8 - 1; i > 0; i--)
		__atomic_store_n(&t[i], w[i], __ATOMIC_RELAXED);
	__atomic_store_n(&t[0], w[0], __ATOMIC_RELEASE);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include <cpuid.h>
#include <immintrin.h>

__attribute__((target("avx512f"))) static void bf_avx512(void *to, const void *wqe, uint32_t nbb)
{
	uint8_t *t = to;
	const uint8_t *w = wqe;

	while (nbb--)
		_mm512_store_si512((void *)(t + nbb * 64), _mm512_load_si512(w + nbb * 64));
	/* the compiler must not move later stores up; the processor keeps stores in order */
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((target("movdir64b"))) static void bf_movdir64b(void *to, const void *wqe,
							      uint32_t nbb)
{
	uint8_t *t = to;
	const uint8_t *w = wqe;

	/* A direct store is weakly ordered: behind the doorbell record, and block 0 last. */
	_mm_sfence();
	while (--nbb)
		_movdir64b(t + nbb * 64, w + nbb * 64);
	_mm_sfence();
	_movdir64b(t, w);
}

static bool has_movdir64b(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 28 & 1);
}

static bf_fn *bf_choose(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		return bf_avx512;
	return has_movdir64b() ? bf_movdir64b : bf_copy;
}
#else
static bf_fn *bf_choose(void)
{
	return bf_copy;
}
#endif

static bf_fn *bf_write_fn = bf_copy;

__attribute__((constructor)) static void bf_init(void)
{
	bf_write_fn = bf_choose();
}

void dpa_bf_write(struct dpa_uar_slot *slot, const void *wqe, uint32_t nbb)
{
	bf_write_fn(slot->bf, wqe, nbb);
}
