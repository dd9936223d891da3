/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ring.c - the rings of error records: errors.h. */
#include <string.h>
#include "board/board_priv.h"
#include "errors/errors.h"

#define WRITING UINT64_C(1)
#define TRIES                                                                                      \
	4 /* entries that are looked at: one is being written only by a thread in the middle of it */

union record {
	uint64_t words[DPA_ERROR_WORDS];
	struct dpa_error e;
};
_Static_assert(sizeof(struct dpa_error) == sizeof(uint64_t[DPA_ERROR_WORDS]), "the record");

static uint32_t number_of_seq(uint64_t seq)
{
	return (uint32_t)(seq >> 32);
}

/* The place of a record of that number. */
static uint32_t record_place_of(uint32_t number)
{
	const uint32_t n = number & ~DPA_ERROR_OF_FLUSHES;

	return number & DPA_ERROR_OF_FLUSHES ? DPA_BOARD_ERRORS + n % DPA_BOARD_FLUSHES
					     : n % DPA_BOARD_ERRORS;
}

static uint64_t record_offset_of(uint32_t place)
{
	const uint64_t size = sizeof(struct dpa_board_error);

	return place < DPA_BOARD_ERRORS ? DPA_BOARD_OFF_ERRORS + place * size
					: DPA_BOARD_OFF_FLUSHES + (place - DPA_BOARD_ERRORS) * size;
}

/* NULL: its memory is not there yet. */
static struct dpa_board_error *entry_at(struct dpa_board *b, uint32_t place)
{
	if (!dpa_board_present(b, record_offset_of(place)))
		return NULL;
	return place < DPA_BOARD_ERRORS ? &b->shm->errors[place]
					: &b->shm->flushes[place - DPA_BOARD_ERRORS];
}

/* The entry is this thread's: seq, with WRITING, was stored. `next` is its value afterwards. */
static void fill_record(struct dpa_board_error *r, uint64_t next, const struct dpa_error *e)
{
	union record rec = {.e = *e};

	DPA_BOARD_STEP("error begun");
	for (uint32_t i = 0; i < DPA_ERROR_WORDS; i++) { /* each after the odd number */
		atomic_store_explicit(&r->words[i], rec.words[i], memory_order_release);
		if (i == DPA_ERROR_WORDS / 2)
			DPA_BOARD_STEP("error half written");
	}
	atomic_store_explicit(&r->seq, next, memory_order_release);
}

/* Takes the entry for a record of this number, if it has `was` and no thread writes it. */
static bool take_record_entry(struct dpa_board_error *r, uint64_t was)
{
	return !(was & WRITING) &&
	       atomic_compare_exchange_strong_explicit(&r->seq, &was, was | WRITING,
						       memory_order_acquire, memory_order_relaxed);
}

/* The value of seq behind the next change of a record. */
static uint64_t seq_after_change(uint64_t was, uint32_t number)
{
	return (uint64_t)number << 32 | (uint32_t)((was & ~WRITING) + 2);
}

/* Writes a record once more. False: the entry is another record's. */
static bool replace_record(struct dpa_board *b, uint32_t number, const struct dpa_error *e)
{
	struct dpa_board_error *r = entry_at(b, record_place_of(number));
	uint64_t was = r ? atomic_load_explicit(&r->seq, memory_order_relaxed) : 0;

	if (!r || number_of_seq(was) != number || !take_record_entry(r, was))
		return false;
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&r->flushed[i], (uint64_t)number << 32, memory_order_relaxed);
	fill_record(r, seq_after_change(was, number), e);
	return true;
}

static uint32_t put_new_record(struct dpa_board *b, bool flush, const struct dpa_error *e)
{
	for (int i = 0; i < TRIES; i++) {
		const uint32_t n = atomic_fetch_add_explicit(&b->shm->head.error_next[flush], 1,
							     memory_order_relaxed);
		const uint32_t number =
			(n & ~DPA_ERROR_OF_FLUSHES) | (flush ? DPA_ERROR_OF_FLUSHES : 0);
		struct dpa_board_error *r;
		uint64_t was;

		if (!number) /* 0 means no record */
			continue;
		if (dpa_board_reserve_entry(b, record_offset_of(record_place_of(number)),
					    sizeof(*r)))
			return 0;
		r = entry_at(b, record_place_of(number));
		was = r ? atomic_load_explicit(&r->seq, memory_order_relaxed) : WRITING;
		if (!r || !take_record_entry(r, was))
			continue;
		for (int k = 0; k < 2; k++)
			atomic_store_explicit(&r->flushed[k], (uint64_t)number << 32,
					      memory_order_relaxed);
		fill_record(r, seq_after_change(was, number), e);
		return number;
	}
	return 0;
}

uint32_t dpa_board_error_put(struct dpa_board *b, bool flush, uint32_t number,
			     const struct dpa_error *e)
{
	if (number && replace_record(b, number, e))
		return number;
	return put_new_record(b, flush, e);
}

bool dpa_board_error_flushed(struct dpa_board *b, uint32_t number, bool received)
{
	struct dpa_board_error *r = number ? entry_at(b, record_place_of(number)) : NULL;
	uint64_t was;

	if (!r)
		return false;
	was = atomic_load_explicit(&r->flushed[received], memory_order_relaxed);
	/* only the owner of the QP counts in its record: it fails only where the entry is taken */
	return number_of_seq(was) == number && (uint32_t)was != UINT32_MAX &&
	       atomic_compare_exchange_strong_explicit(&r->flushed[received], &was, was + 1,
						       memory_order_relaxed, memory_order_relaxed);
}

bool dpa_board_error_get(struct dpa_board *b, uint32_t place, struct dpa_error_read *to)
{
	struct dpa_board_error *r = place < DPA_ERROR_PLACES ? entry_at(b, place) : NULL;
	uint64_t seq = r ? atomic_load_explicit(&r->seq, memory_order_acquire) : 0, flushed;
	union record rec;

	if (!number_of_seq(seq) || seq & WRITING || record_place_of(number_of_seq(seq)) != place)
		return false;
	*to = (struct dpa_error_read){.number = number_of_seq(seq), .change = (uint32_t)seq};
	for (int i = 0; i < 2; i++) {
		flushed = atomic_load_explicit(&r->flushed[i], memory_order_acquire);
		to->flushed[i] = number_of_seq(flushed) == to->number ? (uint32_t)flushed : 0;
	}
	for (uint32_t i = 0; i < DPA_ERROR_WORDS; i++) /* acquire: seq is read again after them */
		rec.words[i] = atomic_load_explicit(&r->words[i], memory_order_acquire);
	to->e = rec.e;
	return atomic_load_explicit(&r->seq, memory_order_relaxed) == seq;
}
