/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* buddy.c - a buddy allocator of block numbers. */
#include <errno.h>
#include <stdlib.h>
#include "util/buddy.h"

enum node_state { NODE_INSIDE, NODE_FREE, NODE_TAKEN }; /* INSIDE: no chunk begins here */

struct dpa_buddy_node {
	uint32_t next, prev; /* FREE: links in the list of its order */
	uint8_t order;
	uint8_t state;
};

int dpa_buddy_init(struct dpa_buddy *b, uint32_t log_blocks)
{
	if (log_blocks >= DPA_BUDDY_ORDERS)
		return ENOMEM;
	/* For a large area these pages come zeroed from the kernel, at first touch. */
	b->node = calloc((size_t)1 << log_blocks, sizeof(*b->node));
	if (!b->node)
		return ENOMEM;
	b->log_blocks = log_blocks;
	b->taken = 0;
	for (uint32_t i = 0; i < DPA_BUDDY_ORDERS; i++)
		b->head[i] = DPA_BUDDY_NONE;
	b->head[log_blocks] = 0;
	b->node[0] = (struct dpa_buddy_node){.next = DPA_BUDDY_NONE,
					     .prev = DPA_BUDDY_NONE,
					     .order = (uint8_t)log_blocks,
					     .state = NODE_FREE};
	return 0;
}

void dpa_buddy_fini(struct dpa_buddy *b)
{
	free(b->node);
	b->node = NULL;
}

static void push_block(struct dpa_buddy *b, uint32_t block, uint32_t order)
{
	uint32_t next = b->head[order];

	b->node[block] = (struct dpa_buddy_node){
		.next = next, .prev = DPA_BUDDY_NONE, .order = (uint8_t)order, .state = NODE_FREE};
	if (next != DPA_BUDDY_NONE)
		b->node[next].prev = block;
	b->head[order] = block;
}

static void unlink_free(struct dpa_buddy *b, uint32_t block)
{
	struct dpa_buddy_node *n = &b->node[block];

	if (n->prev != DPA_BUDDY_NONE)
		b->node[n->prev].next = n->next;
	else
		b->head[n->order] = n->next;
	if (n->next != DPA_BUDDY_NONE)
		b->node[n->next].prev = n->prev;
	n->state = NODE_INSIDE;
}

uint32_t dpa_buddy_take(struct dpa_buddy *b, uint32_t order)
{
	uint32_t from = order, block;

	while (from <= b->log_blocks && b->head[from] == DPA_BUDDY_NONE)
		from++;
	if (from > b->log_blocks)
		return DPA_BUDDY_NONE;
	block = b->head[from];
	unlink_free(b, block);
	while (from > order) {
		from--;
		push_block(b, block + (1u << from), from);
	}
	b->node[block].order = (uint8_t)order;
	b->node[block].state = NODE_TAKEN;
	b->taken++;
	return block;
}

uint32_t dpa_buddy_give(struct dpa_buddy *b, uint32_t block)
{
	uint32_t given, order;

	if (block >= 1u << b->log_blocks || b->node[block].state != NODE_TAKEN)
		return DPA_BUDDY_NONE;
	given = order = b->node[block].order;
	b->node[block].state = NODE_INSIDE;
	b->taken--;
	for (; order < b->log_blocks; order++) {
		uint32_t buddy = block ^ (1u << order);

		if (b->node[buddy].state != NODE_FREE || b->node[buddy].order != order)
			break;
		unlink_free(b, buddy);
		block &= ~(1u << order);
	}
	push_block(b, block, order);
	return given;
}
