/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * bf.c - BlueFlame writes. Blocks are written from the last to the first. So the first word of
 * block 0, which the EU reads, is in general the last to change; the WQE's check detects the other
 * cases. AVX-512 stores 64 bytes at once and leaves the line in the cache, where the EU finds it.
 * If only movdir64b is available a block is atomic but bypasses the cache. Otherwise eight plain
 * stores.
 */
#include "dpa.h"

typedef void bf_fn(void *to, const void *wqe, uint32_t nbb);

/*
 * Loads words of a WQE as they were just stored, one by one: wider loads would wait for the stores.
 */
static inline uint64_t load_bf_word(const uint64_t *w, uint32_t i)
{
	return __atomic_load_n(&w[i], __ATOMIC_RELAXED);
}

static inline uint64_t with_check(uint64_t word3, uint64_t sum)
{
	return (word3 & 0xffffffff00000000ull) | dpa_wqe_mixed(sum);
}

/* Stores word 0 last (release). */
static void bf_copy(void *to, const void *wqe, uint32_t nbb)
{
	uint64_t *t = to;
	const uint64_t *w = wqe;
	uint64_t sum = nbb;

	for (uint32_t i = nbb * 8 - 1; i > 0; i--) {
		const uint64_t v = load_bf_word(w, i);

		sum += dpa_wqe_mix(i, v);
		if (i != 3)
			__atomic_store_n(&t[i], v, __ATOMIC_RELAXED);
	}
	sum += dpa_wqe_mix(0, load_bf_word(w, 0));
	__atomic_store_n(&t[3], with_check(load_bf_word(w, 3), sum), __ATOMIC_RELAXED);
	__atomic_store_n(&t[0], load_bf_word(w, 0), __ATOMIC_RELEASE);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#include <cpuid.h>
#include <immintrin.h>

/* Loads block b in words, and returns their part of the check value. */
static inline __attribute__((always_inline)) uint64_t take_bf_block(uint64_t *v, const uint64_t *w,
								    uint32_t b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 8; i++) {
		v[i] = load_bf_word(w, b * 8 + i);
		sum += dpa_wqe_mix(b * 8 + i, v[i]);
	}
	return sum;
}

__attribute__((target("avx512f"))) static inline void put_avx512(void *to, const uint64_t *v)
{
	_mm512_store_si512(to, _mm512_set_epi64((int64_t)v[7], (int64_t)v[6], (int64_t)v[5],
						(int64_t)v[4], (int64_t)v[3], (int64_t)v[2],
						(int64_t)v[1], (int64_t)v[0]));
}

__attribute__((target("avx512f"))) static void bf_avx512(void *to, const void *wqe, uint32_t nbb)
{
	uint64_t v[8], sum = nbb;
	uint8_t *t = to;

	while (--nbb) {
		sum += take_bf_block(v, wqe, nbb);
		put_avx512(t + nbb * 64, v);
	}
	sum += take_bf_block(v, wqe, 0);
	v[3] = with_check(v[3], sum);
	put_avx512(t, v);
	/* the compiler must not move later stores up; the processor keeps stores in order */
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((target("movdir64b"))) static void bf_movdir64b(void *to, const void *wqe,
							      uint32_t nbb)
{
	uint64_t v[8] __attribute__((aligned(64))), sum = nbb;
	uint8_t *t = to;

	/*
	 * A direct store is weakly ordered: it must come after the doorbell record, and block 0
	 * last.
	 */
	_mm_sfence();
	while (--nbb) {
		sum += take_bf_block(v, wqe, nbb);
		_movdir64b(t + nbb * 64, v);
	}
	sum += take_bf_block(v, wqe, 0);
	v[3] = with_check(v[3], sum);
	_mm_sfence();
	_movdir64b(t, v);
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
