/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * warp.c - operations of a warp (CUDA C++ Programming Guide: warp vote, match, reduce and shuffle
 * functions).
 *
 * The threads of a mask meet: the last one to arrive computes the results of all. Threads that have
 * ended, and those beyond the end of a block's last warp, count as not in the mask.
 */
#include "block.h"
#include "kernel.h"

struct group {
	struct thread *lane[DPA_GPU_WARP]; /* NULL: not in the group */
	uint32_t members;
};

static struct thread *lane_of(struct block *b, uint32_t warp, uint32_t lane)
{
	uint32_t number = warp * DPA_GPU_WARP + lane;

	return number < b->num && b->thread[number].state != THREAD_DONE ? &b->thread[number]
									 : NULL;
}

/* Return whether all threads of the mask wait with this mask. */
static bool group_complete(struct block *b, uint32_t warp, uint32_t mask, struct group *g)
{
	g->members = 0;
	for (uint32_t lane = 0; lane < DPA_GPU_WARP; lane++) {
		struct thread *t = mask >> lane & 1 ? lane_of(b, warp, lane) : NULL;

		if (t && (t->state != THREAD_WARP || t->mask != mask))
			return false;
		g->lane[lane] = t;
		if (t)
			g->members |= 1u << lane;
	}
	return g->members != 0;
}

/* Return the number of the thread whose value a shuffle gives to `lane`; `lane` if there is none. */
static uint32_t shuffle_from(const struct thread *t, uint32_t lane)
{
	uint32_t width = (uint32_t)t->width, first = lane & ~(width - 1), from;

	switch (t->op) {
	case DPA_CUDA_WARP_SHFL:
		return first + ((uint32_t)t->arg & (width - 1));
	case DPA_CUDA_WARP_SHFL_UP:
		from = lane - (uint32_t)t->arg;
		return lane < (uint32_t)t->arg || from < first ? lane : from;
	case DPA_CUDA_WARP_SHFL_DOWN:
		from = lane + (uint32_t)t->arg;
		return from >= first + width ? lane : from;
	default: /* groups after the own one cannot be read */
		from = lane ^ (uint32_t)t->arg;
		return from >= first + width || from >= DPA_GPU_WARP ? lane : from;
	}
}

static void shuffle_values(const struct group *g)
{
	for (uint32_t lane = 0; lane < DPA_GPU_WARP; lane++) {
		struct thread *t = g->lane[lane];
		uint32_t from;

		if (!t)
			continue;
		from = shuffle_from(t, lane);
		t->result = g->lane[from] ? g->lane[from]->value : t->value;
	}
}

static void match_any(const struct group *g)
{
	for (uint32_t lane = 0; lane < DPA_GPU_WARP; lane++) {
		uint32_t same = 0;

		if (!g->lane[lane])
			continue;
		for (uint32_t other = 0; other < DPA_GPU_WARP; other++)
			if (g->lane[other] && g->lane[other]->value == g->lane[lane]->value)
				same |= 1u << other;
		g->lane[lane]->result = same;
	}
}

static uint64_t reduce_two(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case DPA_CUDA_WARP_ADD:
		return (uint32_t)(a + b);
	case DPA_CUDA_WARP_MIN:
		return a < b ? a : b;
	case DPA_CUDA_WARP_MAX:
		return a > b ? a : b;
	case DPA_CUDA_WARP_MIN_SIGNED:
		return (int32_t)a < (int32_t)b ? a : b;
	case DPA_CUDA_WARP_MAX_SIGNED:
		return (int32_t)a > (int32_t)b ? a : b;
	case DPA_CUDA_WARP_AND:
		return a & b;
	case DPA_CUDA_WARP_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

/* Compute the result that is common to all threads of the group. */
static uint64_t common_result(const struct group *g, uint32_t op, uint64_t *second)
{
	uint32_t first = (uint32_t)__builtin_ctz(g->members), truth = 0;
	uint64_t sum = g->lane[first]->value;
	bool same = true;

	for (uint32_t lane = first; lane < DPA_GPU_WARP; lane++) {
		if (!g->lane[lane])
			continue;
		if (g->lane[lane]->value)
			truth |= 1u << lane;
		same &= g->lane[lane]->value == g->lane[first]->value;
		if (op >= DPA_CUDA_WARP_ADD && lane > first)
			sum = reduce_two(op, (uint32_t)sum, (uint32_t)g->lane[lane]->value);
	}
	*second = same;
	switch (op) {
	case DPA_CUDA_WARP_BALLOT:
		return truth;
	case DPA_CUDA_WARP_ALL:
		return truth == g->members;
	case DPA_CUDA_WARP_ANY:
		return truth != 0;
	case DPA_CUDA_WARP_UNI:
		return !truth || truth == g->members;
	case DPA_CUDA_WARP_MATCH_ALL:
		return same ? g->members : 0;
	default:
		return sum;
	}
}

static void group_finish(struct block *b, struct group *g)
{
	struct thread *first = g->lane[__builtin_ctz(g->members)];
	uint64_t result, second = 0;

	if (first->op >= DPA_CUDA_WARP_SHFL && first->op <= DPA_CUDA_WARP_SHFL_XOR) {
		shuffle_values(g);
	} else if (first->op == DPA_CUDA_WARP_MATCH_ANY) {
		match_any(g);
	} else if (first->op != DPA_CUDA_WARP_SYNC) {
		result = common_result(g, first->op, &second);
		for (uint32_t lane = 0; lane < DPA_GPU_WARP; lane++)
			if (g->lane[lane]) {
				g->lane[lane]->result = result;
				g->lane[lane]->result2 = second;
			}
	}
	for (uint32_t lane = 0; lane < DPA_GPU_WARP; lane++)
		if (g->lane[lane])
			block_wake(b, g->lane[lane]);
}

void warp_check(struct block *b, uint32_t warp)
{
	struct group g;

	for (uint32_t lane = 0; lane < DPA_GPU_WARP; lane++) {
		struct thread *t = lane_of(b, warp, lane);

		if (t && t->state == THREAD_WARP && group_complete(b, warp, t->mask, &g))
			group_finish(b, &g);
	}
}

DPA_GPU_API struct dpa_cuda_pair dpa_cuda_warp(int op, uint32_t mask, uint64_t value, int arg,
					       int width)
{
	struct thread *t = gpu_thread();
	struct block *b;
	struct group g;

	if (!t)
		return (struct dpa_cuda_pair){value, 0};
	b = &gpu_worker->block;
	if (!(mask >> t->number % DPA_GPU_WARP & 1) || width < 1 || width > DPA_GPU_WARP ||
	    width & (width - 1)) {
		/* The caller must be in its mask: otherwise the guide leaves the behaviour open. */
		gpu_fault(cudaErrorIllegalInstruction);
		block_abort();
	}
	t->op = (uint32_t)op;
	t->mask = mask;
	t->value = value;
	t->arg = arg;
	t->width = width;
	t->state = THREAD_WARP;
	if (group_complete(b, t->number / DPA_GPU_WARP, mask, &g))
		group_finish(b, &g);
	block_switch();
	return (struct dpa_cuda_pair){t->result, t->result2};
}

DPA_GPU_API uint32_t dpa_cuda_lane(void)
{
	const struct thread *t = gpu_thread();

	return t ? t->number % DPA_GPU_WARP : 0;
}
