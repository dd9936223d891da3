/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * arena.c - queue memory in small blocks. The bookkeeping is in ordinary memory, outside of the
 * chunks.
 */
#include <assert.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <dpa_hw.h>
#include "mr/arena.h"

struct dpa_arena_chunk {
	struct dpa_arena_chunk *next, **at; /* in its list: *at is this chunk */
	uint8_t *mem;
	uint32_t size;	/* size of its blocks */
	uint32_t used;	/* number of allocated blocks */
	uint32_t fresh; /* blocks from here on were never allocated: still zero, untouched */
	uint64_t taken[DPA_ARENA_CHUNK / DPA_ARENA_MIN / 64];
};

static_assert(DPA_ARENA_SMALL == DPA_ARENA_MIN << (DPA_ARENA_CLASSES - 1), "classes");

void dpa_arena_init(struct dpa_arena *a, struct dpa_hw_ctx *hw)
{
	memset(a, 0, sizeof(*a));
	pthread_mutex_init(&a->lock, NULL);
	a->hw = hw;
}

static int size_class(size_t size)
{
	return __builtin_ctzll(size) - __builtin_ctz(DPA_ARENA_MIN);
}

static uint32_t chunk_pieces(const struct dpa_arena_chunk *c)
{
	return DPA_ARENA_CHUNK / c->size;
}

static void chunk_unlink(struct dpa_arena_chunk *c)
{
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
}

static void chunk_link(struct dpa_arena_chunk **list, struct dpa_arena_chunk *c)
{
	c->next = *list;
	c->at = list;
	if (*list)
		(*list)->at = &c->next;
	*list = c;
}

/* Compares addresses. The chunk that is searched for is represented by the byte at its mem. */
static int chunk_order(const void *wanted, const void *chunk)
{
	const uint8_t *p = ((const struct dpa_arena_chunk *)wanted)->mem;
	const uint8_t *mem = ((const struct dpa_arena_chunk *)chunk)->mem;

	return p < mem ? -1 : p >= mem + DPA_ARENA_CHUNK;
}

static void chunk_destroy(struct dpa_arena *a, struct dpa_arena_chunk *c)
{
	chunk_unlink(c);
	tdelete(c, &a->by_address, chunk_order);
	dpa_hw_free_queue(a->hw, c->mem, DPA_ARENA_CHUNK);
	free(c);
}

static struct dpa_arena_chunk *chunk_create(struct dpa_arena *a, size_t size)
{
	struct dpa_arena_chunk *c = calloc(1, sizeof(*c));
	void *mem;
	int ret;

	if (!c)
		return NULL;
	ret = dpa_hw_alloc_queue(a->hw, DPA_ARENA_CHUNK, &mem);
	if (ret) {
		free(c);
		errno = ret;
		return NULL;
	}
	c->mem = mem;
	c->size = (uint32_t)size;
	if (!tsearch(c, &a->by_address, chunk_order)) {
		dpa_hw_free_queue(a->hw, mem, DPA_ARENA_CHUNK);
		free(c);
		errno = ENOMEM;
		return NULL;
	}
	chunk_link(&a->room[size_class(size)], c);
	return c;
}

/* Takes the lowest free block, so that pages fill up before others are touched. */
static void *chunk_take(struct dpa_arena *a, struct dpa_arena_chunk *c)
{
	uint32_t i = 0;
	void *p;

	while (c->taken[i / 64] == ~0ull)
		i += 64;
	i += (uint32_t)__builtin_ctzll(~c->taken[i / 64]);
	c->taken[i / 64] |= 1ull << (i % 64);
	p = c->mem + (size_t)i * c->size;
	if (i < c->fresh)
		memset(p, 0, c->size);
	else
		c->fresh = i + 1;
	if (++c->used == chunk_pieces(c)) {
		chunk_unlink(c);
		chunk_link(&a->full, c);
	}
	return p;
}

void *dpa_arena_alloc(struct dpa_arena *a, size_t size)
{
	struct dpa_arena_chunk *c;
	void *p = NULL;
	int ret;

	if (size > DPA_ARENA_SMALL) {
		ret = dpa_hw_alloc_queue(a->hw, size, &p);
		if (ret)
			errno = ret;
		return ret ? NULL : p;
	}
	pthread_mutex_lock(&a->lock);
	c = a->room[size_class(size)];
	if (!c)
		c = chunk_create(a, size);
	if (c)
		p = chunk_take(a, c);
	pthread_mutex_unlock(&a->lock);
	return p;
}

static struct dpa_arena_chunk *chunk_of(struct dpa_arena *a, void *p)
{
	struct dpa_arena_chunk wanted = {.mem = p}, **c;

	c = tfind(&wanted, &a->by_address, chunk_order);
	return c ? *c : NULL;
}

void dpa_arena_free(struct dpa_arena *a, void *p, size_t size)
{
	struct dpa_arena_chunk *c;
	uint32_t i;

	if (!p)
		return;
	if (size > DPA_ARENA_SMALL) {
		dpa_hw_free_queue(a->hw, p, size);
		return;
	}
	pthread_mutex_lock(&a->lock);
	c = chunk_of(a, p);
	assert(c);
	i = (uint32_t)((uint8_t *)p - c->mem) / c->size;
	c->taken[i / 64] &= ~(1ull << (i % 64));
	c->used--;
	chunk_unlink(c);
	chunk_link(&a->room[size_class(size)], c);
	/* One empty chunk of each size is kept. */
	if (!c->used && c->next)
		chunk_destroy(a, c);
	pthread_mutex_unlock(&a->lock);
}

void dpa_arena_fini(struct dpa_arena *a)
{
	for (int i = 0; i < DPA_ARENA_CLASSES; i++) {
		while (a->room[i])
			chunk_destroy(a, a->room[i]);
	}
	while (a->full)
		chunk_destroy(a, a->full);
	pthread_mutex_destroy(&a->lock);
}
