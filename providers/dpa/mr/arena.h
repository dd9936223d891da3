/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * arena.h - queue memory in small blocks.
 *
 * dpa_hw_alloc_queue() allocates whole pages; an idle QP needs a few hundred bytes. Sizes are
 * powers of two from 64 bytes on. Up to DPA_ARENA_SMALL a block comes from a chunk with blocks of
 * one size only, so that nothing is wasted and blocks are aligned to their size. Larger blocks come
 * from the device directly. Neither needs a descriptor.
 */
#ifndef DPA_ARENA_H
#define DPA_ARENA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct dpa_hw_ctx;
struct dpa_arena_chunk;

#define DPA_ARENA_MIN	  64
#define DPA_ARENA_CHUNK	  65536
#define DPA_ARENA_SMALL	  16384
#define DPA_ARENA_CLASSES 9 /* 64 << 0 .. 64 << 8 */

struct dpa_arena {
	pthread_mutex_t lock;
	struct dpa_hw_ctx *hw;
	struct dpa_arena_chunk *room[DPA_ARENA_CLASSES]; /* lists of chunks with a free block */
	struct dpa_arena_chunk *full;			 /* chunks without, of all sizes */
	void *by_address;				 /* all chunks: a tree of tsearch(3) */
};

void dpa_arena_init(struct dpa_arena *a, struct dpa_hw_ctx *hw);
/* Free all chunks. The owners have freed the large blocks. */
void dpa_arena_fini(struct dpa_arena *a);
/* size: a power of two >= 64. Zeroed. Returns NULL and sets errno on failure. */
void *dpa_arena_alloc(struct dpa_arena *a, size_t size);
void dpa_arena_free(struct dpa_arena *a, void *p, size_t size);

#endif
