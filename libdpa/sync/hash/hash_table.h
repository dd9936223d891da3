/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hash_table.h - tables of device code: maps from 32-bit keys to 64-bit values.
 *
 * Chains of entries from a fixed pool. Ops on EUs change and walk a chain under its own lock; a
 * kill waits for the end of the op.
 */
#ifndef DPA_SYNC_HASH_TABLE_H
#define DPA_SYNC_HASH_TABLE_H

#include <stdint.h>
#include "../../eu/lock.h"
#include "../../host/libdpa.h"

struct dpa_hash_chain {
	struct dpal_eu_lock lock;
	uint32_t first; /* index of the first entry; ~0: none */
};

struct dpa_hash_entry {
	uint64_t value;
	uint32_t key;
	uint32_t next;
};

struct doca_dpa_hash_table {
	struct dpa_object obj;
	struct doca_dpa *dpa;
	uint32_t log_size; /* number of chains and of entries */
	struct dpa_hash_chain *chains;
	struct dpa_hash_entry *entries;
	struct dpal_eu_lock free_lock; /* protects `free`; taken inside a chain's lock */
	uint32_t free;
};

/* Set the value of a key. False: a new key, and no entry is free. */
bool dpa_hash_add(struct doca_dpa_hash_table *t, uint32_t key, uint64_t value);
/* Remove a key. A missing key changes nothing. */
void dpa_hash_remove(struct doca_dpa_hash_table *t, uint32_t key);
bool dpa_hash_find(struct doca_dpa_hash_table *t, uint32_t key, uint64_t *value);

#endif
