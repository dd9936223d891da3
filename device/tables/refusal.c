/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * refusal.c - the last refused rdma_cm connections, for tools. A ring without a lock: if two
 * writers use one entry at the same time one of the two records stays; a writer that dies leaves
 * its entry unreadable.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "board/board_priv.h"
#include "tables/tables.h"

union record {
	uint64_t words[7];
	struct dpa_board_refused r;
};
_Static_assert(sizeof(struct dpa_board_refused) == sizeof(uint64_t[7]), "the record");

void dpa_board_refused(struct dpa_board *b, const struct dpa_gsi_refusal *r)
{
	struct dpa_board_head *h = &b->shm->head;
	uint32_t n = atomic_fetch_add_explicit(&h->refusal_next, 1, memory_order_relaxed);
	struct dpa_board_refusal *e = &h->refusals[n % DPA_BOARD_REFUSALS];
	uint64_t seq = atomic_load_explicit(&e->seq, memory_order_relaxed);
	union record rec = {
		.r = {.time = (uint64_t)time(NULL), .pid = (uint32_t)getpid(), .what = *r}};

	snprintf(rec.r.comm, sizeof(rec.r.comm), "%s", program_invocation_short_name);
	if (seq & 1 || !atomic_compare_exchange_strong_explicit(
			       &e->seq, &seq, seq + 1, memory_order_acquire, memory_order_relaxed))
		return;
	for (int i = 0; i < 7; i++) /* each after the odd number */
		atomic_store_explicit(&e->words[i], rec.words[i], memory_order_release);
	atomic_store_explicit(&e->seq, seq + 2, memory_order_release);
}

bool dpa_board_refused_get(struct dpa_board *b, uint32_t nth, struct dpa_board_refused *r)
{
	struct dpa_board_head *h = &b->shm->head;
	uint32_t n = atomic_load_explicit(&h->refusal_next, memory_order_relaxed) - 1 - nth;
	struct dpa_board_refusal *e = &h->refusals[n % DPA_BOARD_REFUSALS];
	uint64_t seq = atomic_load_explicit(&e->seq, memory_order_acquire);
	union record rec;

	if (nth >= DPA_BOARD_REFUSALS || !seq || seq & 1)
		return false;
	for (int i = 0; i < 7; i++) /* acquire: the second look at seq comes last */
		rec.words[i] = atomic_load_explicit(&e->words[i], memory_order_acquire);
	*r = rec.r;
	return atomic_load_explicit(&e->seq, memory_order_relaxed) == seq;
}
