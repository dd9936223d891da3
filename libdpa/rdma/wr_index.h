/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wr_index.h - the indices of an RDMA context's receives. The index of a posted receive differs
 * from that of all others that are posted, in progress or unread. It is free again when
 * get_completion() has returned its element. The index that was freed first is taken first, so a
 * full queue uses them in order; at the start 0, 1, 2.
 *
 * A program that posts without reading may have no free index while the queue has room. Then it
 * gets the index that was taken longest ago, whose old element must not free it any more: hence the
 * `turn`.
 *
 * Context: the caller holds the context's recv_lock, or no other thread uses it.
 */
#ifndef DPA_RDMA_WR_INDEX_H
#define DPA_RDMA_WR_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct dpa_wr_place {
	uint16_t next, prev; /* of its list */
	uint16_t turn;	     /* incremented each time it is taken from an owner */
	bool out;
};

struct dpa_wr_indices {
	uint32_t size;		     /* indices; the heads of the lists follow them */
	struct dpa_wr_place *places; /* size + 2 */
};

/* Create the indices, all free. False: no memory. */
bool dpa_wr_indices_make(struct dpa_wr_indices *w, uint32_t size);
void dpa_wr_indices_free(struct dpa_wr_indices *w);

/* Take an index for a receive that is posted now. The element must carry `turn`. */
uint16_t dpa_wr_index_take(struct dpa_wr_indices *w, uint16_t *turn);
/*
 * Return an index: its element was read. If `turn` is not the present one, the index has another
 * owner and stays.
 */
void dpa_wr_index_give(struct dpa_wr_indices *w, uint32_t index, uint16_t turn);

#endif
