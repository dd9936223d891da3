/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_arena.c - queue memory in small allocations. */
#include <criterion/criterion.h>
#include "dpa.h"
#include "fake_hw.h"

static struct dpa_arena *open_arena(struct ibv_context **ctx)
{
	*ctx = fake_open();
	cr_assert(*ctx);
	return &to_dpa_ctx(*ctx)->arena;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

Test(arena, pieces_are_aligned_to_their_size_and_zero)
{
	struct ibv_context *ctx;
	struct dpa_arena *a = open_arena(&ctx);

	for (size_t size = 64; size <= 262144; size *= 2) {
		uint8_t *p = dpa_arena_alloc(a, size);

		cr_assert(p);
		cr_assert_eq((uintptr_t)p & ((size < 4096 ? size : 4096) - 1), 0);
		cr_assert(all_zero(p, size));
		memset(p, 0xaa, size);
		dpa_arena_free(a, p, size);
		p = dpa_arena_alloc(a, size);
		cr_assert(all_zero(p, size), "a piece of %zu that is used again", size);
		dpa_arena_free(a, p, size);
	}
	ibv_close_device(ctx);
	cr_assert_eq(fake.queue_bytes, 0);
}

Test(arena, pieces_do_not_overlap_whatever_the_order)
{
	enum { N = 3000 };
	static uint32_t *p[N];
	struct ibv_context *ctx;
	struct dpa_arena *a = open_arena(&ctx);
	unsigned int seed = 7;

	for (int round = 0; round < 20000; round++) {
		uint32_t i = (uint32_t)rand_r(&seed) % N;

		if (!p[i]) {
			p[i] = dpa_arena_alloc(a, 128);
			cr_assert_eq(p[i][0], 0);
			p[i][0] = p[i][31] = i + 1;
		} else {
			cr_assert_eq(p[i][0], i + 1);
			cr_assert_eq(p[i][31], i + 1);
			dpa_arena_free(a, p[i], 128);
			p[i] = NULL;
		}
	}
	for (int i = 0; i < N; i++)
		dpa_arena_free(a, p[i], 128);
	cr_assert_leq(fake.queue_bytes, DPA_ARENA_CHUNK, "empty chunks go back but for one");
	ibv_close_device(ctx);
}

/* Full chunks are in one list, of all sizes: each allocation returns to its own chunk. */
Test(arena, full_chunks_of_all_sizes_give_back_in_any_order)
{
	enum { N = 5000 };
	static uint8_t *p[N];
	struct ibv_context *ctx;
	struct dpa_arena *a = open_arena(&ctx);

	for (uint32_t i = 0; i < N; i++) {
		p[i] = dpa_arena_alloc(a, 64u << (i % 7));
		cr_assert(p[i]);
		memset(p[i], (int)(i % 251), 64u << (i % 7));
	}
	for (uint32_t k = 0; k < N; k++) {
		uint32_t i = k * 1237 % N; /* coprime: each one once */

		cr_assert_eq(p[i][0], i % 251);
		cr_assert_eq(p[i][(64u << (i % 7)) - 1], i % 251);
		dpa_arena_free(a, p[i], 64u << (i % 7));
	}
	cr_assert(fake.queue_bytes <= 7 * DPA_ARENA_CHUNK, "one empty chunk a size stays");
	ibv_close_device(ctx);
	cr_assert_eq(fake.queue_bytes, 0);
}

Test(arena, many_small_queues_share_pages)
{
	struct ibv_context *ctx;
	struct dpa_arena *a = open_arena(&ctx);
	void *first = dpa_arena_alloc(a, 128);

	for (int i = 1; i < 32; i++)
		cr_assert_eq((uintptr_t)dpa_arena_alloc(a, 128) & ~(uintptr_t)4095,
			     (uintptr_t)first & ~(uintptr_t)4095);
	ibv_close_device(ctx);
}

Test(arena, no_memory_is_an_errno)
{
	struct ibv_context *ctx;
	struct dpa_arena *a = open_arena(&ctx);

	fake_fail_alloc_queue = ENOMEM;
	cr_assert_null(dpa_arena_alloc(a, 64));
	cr_assert_eq(errno, ENOMEM);
	fake_fail_alloc_queue = ENOSPC;
	cr_assert_null(dpa_arena_alloc(a, 1 << 20));
	cr_assert_eq(errno, ENOSPC);
	ibv_close_device(ctx);
}
