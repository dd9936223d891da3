/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hash_table.h - tables of device code: a 32-bit key stands for a 64-bit value.
 *
 * Chains of entries out of a fixed pool; a chain is changed and walked under its own lock, by ops
 * on EUs, which are not ended meanwhile.
 */
#ifndef DPA_SYNC_HASH_TABLE_H
#define DPA_SYNC_HASH_TABLE_H

#include <stdint.h>
#include "../../eu/lock.h"
#include "../../host/libdpa.h"

struct dpa_hash_chain {
	struct dpal_eu_lock lock;
	uint32_t first; /* of the entries; ~0: none */
};

struct dpa_hash_entry {
	uint64_t value;
	uint32_t key;
	uint32_t next;
};

struct doca_dpa_hash_table {
	struct dpa_object obj;
	struct doca_dpa *dpa;
	uint32_t log_size; /* chains and entries */
	struct dpa_hash_chain *chains;
	struct dpa_hash_entry *entries;
	struct dpal_eu_lock free_lock; /* of `free`; taken inside a chain's lock */
	uint32_t free;
};

/* A key that is there gets the new value. False: a new key, and no entry is free. */
bool dpa_hash_add(struct doca_dpa_hash_table *t, uint32_t key, uint64_t value);
/* A key that is not there: nothing. */
void dpa_hash_remove(struct doca_dpa_hash_table *t, uint32_t key);
bool dpa_hash_find(struct doca_dpa_hash_table *t, uint32_t key, uint64_t *value);

#endif
