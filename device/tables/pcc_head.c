/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcc_head.c - custom headers of the CCMAD probes of an image's flows: struct dpa_board_pcc_header
 * (board_layout.h).
 */
#include <errno.h>
#include "board/board_priv.h"
#include "tables/pcc.h"
#include "tables/pcc_priv.h"

#define LOOKS DPA_BOARD_PCC_HEADER_LOOKS

static struct dpa_board_pcc_header *header_entry_of(struct dpa_board *b, uint32_t flow,
						    uint32_t look)
{
	return &b->shm->pcc_headers[(flow + look) % DPA_PCC_HEADER_FLOWS];
}

/* Is it the state of an entry of this flow? The number of the change is any. */
static bool is_state_of_flow(uint64_t state, uint32_t number, uint32_t flow)
{
	return state >> 48 == number && (uint32_t)state == flow;
}

/* The flow of an entry is one of the image, and its QPN has an owner. */
static bool is_header_used(struct dpa_board *b, uint64_t state, uint32_t number)
{
	const struct dpa_board_qpn *q = &b->shm->qpns[state & (DPA_BOARD_QPNS - 1)];

	return state >> 48 == number && atomic_load_explicit(&q->owner, memory_order_acquire);
}

static uint64_t next_state(uint64_t state, uint32_t number, uint32_t flow)
{
	return (uint64_t)number << 48 | ((state >> 32) + 1) % 65536 << 32 | flow;
}

static struct dpa_board_pcc_header *find_header(struct dpa_board *b, uint32_t number, uint32_t flow,
						uint64_t *state)
{
	for (uint32_t i = 0; i < LOOKS; i++) {
		struct dpa_board_pcc_header *e = header_entry_of(b, flow, i);

		*state = atomic_load_explicit(&e->state, memory_order_acquire);
		if (is_state_of_flow(*state, number, flow))
			return e;
	}
	return NULL;
}

/* An entry that no flow has any more. */
static struct dpa_board_pcc_header *take_header(struct dpa_board *b, uint32_t number, uint32_t flow,
						uint64_t *state)
{
	for (uint32_t i = 0; i < LOOKS; i++) {
		struct dpa_board_pcc_header *e = header_entry_of(b, flow, i);
		uint64_t s = atomic_load_explicit(&e->state, memory_order_acquire);

		*state = next_state(s, number, flow);
		if (!is_header_used(b, s, number) &&
		    atomic_compare_exchange_strong_explicit(
			    &e->state, &s, *state, memory_order_acq_rel, memory_order_relaxed))
			return e;
	}
	return NULL;
}

int dpa_pcc_header_set(struct dpa_board *b, uint32_t number, uint32_t flow, const uint32_t *words,
		       uint32_t n)
{
	struct dpa_board_pcc_header *e;
	uint64_t state;

	if (dpa_board_reserve(b, DPA_BOARD_OFF_PCC_HEAD, sizeof(b->shm->pcc_headers)))
		return ENOSPC;
	e = find_header(b, number, flow, &state);
	if (e) {
		state = next_state(state, number, flow);
		atomic_store_explicit(&e->state, state, memory_order_release);
	} else {
		e = take_header(b, number, flow, &state);
	}
	if (!e)
		return ENOSPC;
	for (uint32_t i = 0; i < DPA_PCC_HEADER; i++) {
		DPA_BOARD_STEP("pcc-header");
		atomic_store_explicit(&e->word[i], state >> 32 << 32 | (i < n ? words[i] : 0),
				      memory_order_release);
	}
	return 0;
}

bool dpa_board_pcc_header(struct dpa_board *b, uint32_t number, uint32_t flow,
			  uint32_t words[DPA_PCC_HEADER])
{
	struct dpa_board_pcc_header *e = NULL;
	uint64_t state = 0;

	if (dpa_board_present(b, DPA_BOARD_OFF_PCC_HEAD + sizeof(b->shm->pcc_headers) - 1))
		e = find_header(b, number, flow, &state);
	for (uint32_t i = 0; i < DPA_PCC_HEADER; i++) {
		uint64_t w = e ? atomic_load_explicit(&e->word[i], memory_order_acquire) : 0;

		if (e && w >> 32 != state >> 32)
			return false;
		words[i] = (uint32_t)w;
	}
	return true;
}
