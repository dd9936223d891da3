/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow.c - flow rules of the raw packet QPs of the adapter instance: one table, like the port of an
 * adapter. Owner words are used as in mcast.c: the entries of a dead process need no cleanup.
 * Written under the board's lock while seq is odd, read by senders without the lock. flow_gen is
 * incremented after each change, so that a reader that sees the new count finds the change.
 */
#include <errno.h>
#include <string.h>
#include "board/board_priv.h"
#include "tables/tables.h"

#define WORDS (DPA_BOARD_FLOW_RULE / 8)

_Static_assert(sizeof(((struct dpa_board_shm *)0)->flows) == DPA_MAX_FLOWS * 1024, "flows");

static uint64_t flow_entry_off(uint32_t i)
{
	return DPA_BOARD_OFF_FLOWS + (uint64_t)i * sizeof(struct dpa_board_flow);
}

uint32_t dpa_board_flow_end(struct dpa_board *b)
{
	uint32_t n = atomic_load_explicit(&b->shm->head.flow_used, memory_order_acquire);

	return n < DPA_MAX_FLOWS ? n : DPA_MAX_FLOWS;
}

uint32_t dpa_board_flow_gen(struct dpa_board *b)
{
	return atomic_load_explicit(&b->shm->head.flow_gen, memory_order_acquire);
}

enum dpa_board_flow_look dpa_board_flow_get(struct dpa_board *b, uint32_t at, void *rule,
					    uint32_t *qpn, dpa_owner_t *owner)
{
	struct dpa_board_flow *f = &b->shm->flows[at];
	uint32_t seq;
	uint8_t *to = rule;

	if (!dpa_board_present(b, flow_entry_off(at)))
		return DPA_FLOW_NONE;
	/* Each load is an acquire, so that the second load of seq comes last. */
	seq = atomic_load_explicit(&f->seq, memory_order_acquire);
	*qpn = atomic_load_explicit(&f->qpn, memory_order_acquire);
	*owner = atomic_load_explicit(&f->owner, memory_order_acquire);
	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t w = atomic_load_explicit(&f->rule[i], memory_order_acquire);

		memcpy(to + 8 * i, &w, 8);
	}
	if (!(seq & 1) && atomic_load_explicit(&f->seq, memory_order_relaxed) != seq)
		return DPA_FLOW_CHANGES;
	if (!dpa_board_entry_held(b, *qpn,
				  *owner)) /* Nor later if seq is odd: its writer may have died. */
		return DPA_FLOW_NONE;
	return seq & 1 ? DPA_FLOW_CHANGES : DPA_FLOW_THERE;
}

/* If a writer died seq is odd: the next writer continues from it. Context: the board's lock. */
static void put_flow(struct dpa_board *b, uint32_t at, const uint64_t rule[WORDS], uint32_t qpn,
		     dpa_owner_t owner)
{
	struct dpa_board_flow *f = &b->shm->flows[at];
	uint32_t odd = atomic_load_explicit(&f->seq, memory_order_relaxed) | 1;

	atomic_store_explicit(&f->seq, odd, memory_order_relaxed);
	DPA_BOARD_STEP("flow-odd");
	/* Each after the odd number. */
	atomic_store_explicit(&f->qpn, qpn, memory_order_release);
	for (uint32_t i = 0; rule && i < WORDS; i++)
		atomic_store_explicit(&f->rule[i], rule[i], memory_order_release);
	if (rule) {
		atomic_store_explicit(&f->packets, 0, memory_order_release);
		atomic_store_explicit(&f->bytes, 0, memory_order_release);
	}
	atomic_store_explicit(&f->owner, owner, memory_order_release);
	atomic_store_explicit(&f->seq, odd + 1, memory_order_release);
	atomic_fetch_add_explicit(&b->shm->head.flow_gen, 1, memory_order_release);
}

/* Context: the board's lock. */
static bool is_flow_of_qp(struct dpa_board *b, uint32_t at, uint32_t qpn)
{
	struct dpa_board_flow *f = &b->shm->flows[at];

	return dpa_board_present(b, flow_entry_off(at)) &&
	       atomic_load_explicit(&f->qpn, memory_order_relaxed) == qpn &&
	       atomic_load_explicit(&f->owner, memory_order_relaxed) == dpa_board_me(b);
}

/* Returns the first free entry, or the end. */
static uint32_t flow_gap(struct dpa_board *b)
{
	uint32_t n = dpa_board_flow_end(b);

	for (uint32_t i = 0; i < n; i++) {
		struct dpa_board_flow *f = &b->shm->flows[i];

		if (!dpa_board_present(b, flow_entry_off(i)) ||
		    !dpa_board_entry_held(b, atomic_load_explicit(&f->qpn, memory_order_relaxed),
					  atomic_load_explicit(&f->owner, memory_order_relaxed)))
			return i;
	}
	return n;
}

int dpa_board_flow_add(struct dpa_board *b, uint32_t qpn, const void *rule, size_t len,
		       uint32_t *at)
{
	uint64_t words[WORDS] = {0};
	uint32_t i;
	int rc;

	if (len > sizeof(words))
		return EINVAL;
	memcpy(words, rule, len);
	rc = dpa_board_lock(b);
	if (rc)
		return rc;
	i = flow_gap(b);
	rc = i < DPA_MAX_FLOWS
		     ? dpa_board_reserve_entry(b, flow_entry_off(i), sizeof(struct dpa_board_flow))
		     : ENOMEM;
	if (!rc) {
		if (i >= dpa_board_flow_end(b))
			atomic_store_explicit(&b->shm->head.flow_used, i + 1, memory_order_release);
		put_flow(b, i, words, qpn, dpa_board_me(b));
		*at = i;
	}
	dpa_board_unlock(b);
	return rc;
}

int dpa_board_flow_remove(struct dpa_board *b, uint32_t at, uint32_t qpn)
{
	int rc = dpa_board_lock(b);

	if (rc)
		return rc;
	if (at < dpa_board_flow_end(b) && is_flow_of_qp(b, at, qpn))
		put_flow(b, at, NULL, 0, 0);
	else
		rc = ENOENT;
	dpa_board_unlock(b);
	return rc;
}

void dpa_board_flow_forget(struct dpa_board *b, uint32_t qpn)
{
	if (dpa_board_lock(b))
		return; /* they become stale once the QPN is free */
	for (uint32_t i = 0, n = dpa_board_flow_end(b); i < n; i++)
		if (is_flow_of_qp(b, i, qpn))
			put_flow(b, i, NULL, 0, 0);
	dpa_board_unlock(b);
}

/* A sender with an old copy of the rules counts for a rule only if it still exists. */
void dpa_board_flow_hit(struct dpa_board *b, uint32_t at, uint32_t qpn, dpa_owner_t owner,
			uint32_t n)
{
	struct dpa_board_flow *f = &b->shm->flows[at];

	if (atomic_load_explicit(&f->owner, memory_order_relaxed) != owner ||
	    atomic_load_explicit(&f->qpn, memory_order_relaxed) != qpn)
		return;
	atomic_fetch_add_explicit(&f->packets, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&f->bytes, n, memory_order_relaxed);
}

int dpa_board_flow_counts(struct dpa_board *b, uint32_t at, uint32_t qpn, uint64_t *packets,
			  uint64_t *bytes)
{
	struct dpa_board_flow *f;

	if (at >= dpa_board_flow_end(b) || !is_flow_of_qp(b, at, qpn))
		return ENOENT;
	f = &b->shm->flows[at];
	*packets = atomic_load_explicit(&f->packets, memory_order_relaxed);
	*bytes = atomic_load_explicit(&f->bytes, memory_order_relaxed);
	return 0;
}
