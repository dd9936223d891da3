/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_intrin.c - dpaintrin.h: fixed-point numbers against libm, fences by a litmus test, counters.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <dpaintrin.h>
#include <dpa/dpa_image.h>

static uint64_t fake_instructions(void)
{
	return 4711;
}

static uint64_t fake_time(void)
{
	return 815;
}

static const struct dpa_dev_ops fake = {
	.thread_instructions = fake_instructions,
	.thread_time = fake_time,
};
extern const struct dpa_dev_ops *__dpa_ops;
const struct dpa_dev_ops *__dpa_ops = &fake;

static double fixed(int64_t v)
{
	return (double)v / 65536;
}

/* Return a sample: few, but of all sizes and both signs. */
static int sample(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (int)*seed >> (*seed >> 7 & 31);
}

Test(intrin, reciprocal)
{
	uint32_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		int x = sample(&seed);
		double want = x ? 65536.0 * 65536.0 / x : INT32_MAX;

		want = want > INT32_MAX ? INT32_MAX : want < INT32_MIN ? INT32_MIN : want;
		cr_assert(fabs(__dpa_fxp_rcp(x) - want) <= 0.5, "1/%d", x);
	}
	cr_assert_eq(__dpa_fxp_rcp(1 << 16), 1 << 16);
	cr_assert_eq(__dpa_fxp_rcp(-(1 << 17)), -(1 << 15));
	cr_assert_eq(__dpa_fxp_rcp(0), INT32_MAX);
	cr_assert_eq(__dpa_fxp_rcp(1), INT32_MAX);
	cr_assert_eq(__dpa_fxp_rcp(-1), INT32_MIN);
}

Test(intrin, power)
{
	for (int x = -20 * 65536; x < 15 * 65536; x += 7) {
		double want = exp2(fixed(x)) * 65536;

		cr_assert(fabs(__dpa_fxp_pow2(x) - want) <= 1 + want / 65536, "2^%d", x);
	}
	for (int n = -16; n < 15; n++)
		cr_assert_eq(__dpa_fxp_pow2(n * 65536), n < 0 ? 65536 >> -n : 65536 << n);
	cr_assert_eq(__dpa_fxp_pow2(15 << 16), INT32_MAX);
	cr_assert_eq(__dpa_fxp_pow2(INT32_MAX), INT32_MAX);
	cr_assert_eq(__dpa_fxp_pow2(INT32_MIN), 0);
}

Test(intrin, logarithm)
{
	uint32_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		uint32_t x = (uint32_t)sample(&seed);

		if (x)
			cr_assert(fabs(fixed(__dpa_fxp_log2(x)) - log2(x / 65536.0)) <= 1.0 / 65536,
				  "log2 %u", x);
	}
	for (int n = 0; n < 32; n++)
		cr_assert_eq(__dpa_fxp_log2(1u << n), (n - 16) * 65536);
	cr_assert_eq(__dpa_fxp_log2(0), INT32_MIN);
}

Test(intrin, counters)
{
	uint64_t cycles = __dpa_thread_cycles();

	cr_assert_eq(__dpa_thread_inst_ret(), 4711);
	cr_assert_eq(__dpa_thread_time(), 815);
	for (int i = 0; i < 1000; i++)
		__asm__ volatile("");
	cr_assert_gt(__dpa_thread_cycles(), cycles);
}

Test(intrin, versions)
{
	cr_assert_eq(DPA_INTRIN_VERSION_USED, DPA_INTRIN_VERSION(1, 3));
	cr_assert_lt(DPA_INTRIN_VERSION(1, 2), DPA_INTRIN_VERSION(1, 3));
	cr_assert_lt(DPA_INTRIN_VERSION(1, 3), DPA_INTRIN_VERSION(2, 0));
}

/*
 * Each of two threads writes its own word and then reads the other's: with a write-read fence at
 * least one sees the other's write. Each run uses many words, so that both threads sometimes access
 * the same one.
 */
#define WORDS 2000
#define RUNS  200

struct line {
	_Alignas(128) uint64_t word;
};
static struct line lines[2][WORDS];
static uint64_t seen[2][WORDS];
static pthread_barrier_t barrier;
static _Atomic int ready;

static void *side(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (uint64_t run = 1; run <= RUNS; run++) {
		pthread_barrier_wait(&barrier);
		atomic_fetch_add(&ready, 1);
		for (int spin = 0; spin < 100000 && atomic_load(&ready) < (int)run * 2; spin++)
			;
		for (int i = 0; i < WORDS; i++) {
			__atomic_store_n(&lines[me][i].word, run, __ATOMIC_RELAXED);
			__dpa_thread_fence(__DPA_MEMORY, __DPA_W, __DPA_R);
			seen[me][i] = __atomic_load_n(&lines[!me][i].word, __ATOMIC_RELAXED);
		}
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < WORDS && me == 0; i++)
			cr_assert(seen[0][i] == run || seen[1][i] == run,
				  "both read the old value");
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

Test(intrin, write_read_fence)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	cr_assert_not(pthread_create(&t, NULL, side, (void *)1));
	side((void *)0);
	pthread_join(t, NULL);
}
