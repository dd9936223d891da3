/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * buddy.h - records which blocks of an area are taken. Pure bookkeeping: it never touches the area.
 * An area has 2^n blocks. A chunk is 2^order of them, at a multiple of its size. A free chunk and
 * its buddy, the other half of the chunk of twice the size, are merged as soon as both are free.
 * Taking and giving back take n steps at most. The caller holds a lock around each call.
 */
#ifndef DPA_BUDDY_H
#define DPA_BUDDY_H

#include <stdbool.h>
#include <stdint.h>

#define DPA_BUDDY_ORDERS 24u
#define DPA_BUDDY_NONE	 UINT32_MAX

struct dpa_buddy_node;

struct dpa_buddy {
	uint32_t log_blocks;
	uint32_t taken;			 /* chunks */
	uint32_t head[DPA_BUDDY_ORDERS]; /* first block of a free chunk of that order, or NONE */
	/* one for each block; allocated as blocks are first taken */
	struct dpa_buddy_node *node;
};

/* log_blocks < DPA_BUDDY_ORDERS. 0 or ENOMEM. */
int dpa_buddy_init(struct dpa_buddy *b, uint32_t log_blocks);
void dpa_buddy_fini(struct dpa_buddy *b);
/* Return the first block of a free chunk and mark it taken; NONE: there is none of that order. */
uint32_t dpa_buddy_take(struct dpa_buddy *b, uint32_t order);
/* Give back the chunk that begins at `block`. Returns its order; NONE: no chunk begins there. */
uint32_t dpa_buddy_give(struct dpa_buddy *b, uint32_t block);

#endif
