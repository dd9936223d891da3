/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wr_index.h - the indices of an RDMA context's receives. One that is posted has an index that no
 * other one has which is posted, under way or unread: it is free again when get_completion() has
 * given its element. First freed, first given, as the queue goes round; from the start 0, 1, 2.
 *
 * A program that posts without reading may have none left while the queue has room. It gets the
 * index that was given longest ago, whose element then frees nothing any more: hence the `turn`.
 *
 * Context: the caller has the context's recv_lock, or is alone with it.
 */
#ifndef DPA_RDMA_WR_INDEX_H
#define DPA_RDMA_WR_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct dpa_wr_place {
	uint16_t next, prev; /* of its list */
	uint16_t turn;	     /* one more each time that it is taken from an owner */
	bool out;
};

struct dpa_wr_indices {
	uint32_t size;		     /* indices; behind them the heads of the lists */
	struct dpa_wr_place *places; /* size + 2 */
};

/* All of `size` are free. False: no memory. */
bool dpa_wr_indices_make(struct dpa_wr_indices *w, uint32_t size);
void dpa_wr_indices_free(struct dpa_wr_indices *w);

/* For a receive that is posted now. `turn` goes with it. */
uint16_t dpa_wr_index_take(struct dpa_wr_indices *w, uint16_t *turn);
/* Its element was read. Another turn than the present one: the index has another owner. */
void dpa_wr_index_give(struct dpa_wr_indices *w, uint32_t index, uint16_t turn);

#endif
