/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hash_table.c - hash tables. */
#include "hash_table.h"
#include <stdlib.h>

#define NONE	UINT32_MAX
#define MAX_LOG 28 /* entries: 6 GiB of memory */

static struct dpa_hash_chain *chain_of(const struct doca_dpa_hash_table *t, uint32_t key)
{
	uint64_t h = key * 0x9e3779b97f4a7c15ull;

	return &t->chains[t->log_size ? h >> (64 - t->log_size) : 0];
}

/*
 * Return the word that holds the index of the key's entry, or NONE if there is none. The chain's
 * lock is held.
 */
static uint32_t *find_link(const struct doca_dpa_hash_table *t, struct dpa_hash_chain *c,
			   uint32_t key)
{
	uint32_t *at = &c->first;

	while (*at != NONE && t->entries[*at].key != key)
		at = &t->entries[*at].next;
	return at;
}

static uint32_t take_free(struct doca_dpa_hash_table *t)
{
	uint32_t i;

	dpal_eu_lock(&t->free_lock);
	i = t->free;
	if (i != NONE)
		t->free = t->entries[i].next;
	dpal_eu_unlock(&t->free_lock);
	return i;
}

static void put_free(struct doca_dpa_hash_table *t, uint32_t i)
{
	dpal_eu_lock(&t->free_lock);
	t->entries[i].next = t->free;
	t->free = i;
	dpal_eu_unlock(&t->free_lock);
}

bool dpa_hash_add(struct doca_dpa_hash_table *t, uint32_t key, uint64_t value)
{
	struct dpa_hash_chain *c = chain_of(t, key);
	uint32_t *at, i;

	dpal_eu_lock(&c->lock);
	at = find_link(t, c, key);
	i = *at;
	if (i != NONE) {
		t->entries[i].value = value;
	} else {
		i = take_free(t);
		if (i != NONE) {
			t->entries[i] =
				(struct dpa_hash_entry){.key = key, .value = value, .next = NONE};
			*at = i;
		}
	}
	dpal_eu_unlock(&c->lock);
	return i != NONE;
}

void dpa_hash_remove(struct doca_dpa_hash_table *t, uint32_t key)
{
	struct dpa_hash_chain *c = chain_of(t, key);
	uint32_t *at, i;

	dpal_eu_lock(&c->lock);
	at = find_link(t, c, key);
	i = *at;
	if (i != NONE) {
		*at = t->entries[i].next;
		put_free(t, i);
	}
	dpal_eu_unlock(&c->lock);
}

bool dpa_hash_find(struct doca_dpa_hash_table *t, uint32_t key, uint64_t *value)
{
	struct dpa_hash_chain *c = chain_of(t, key);
	uint32_t i;

	dpal_eu_lock(&c->lock);
	i = *find_link(t, c, key);
	if (i != NONE)
		*value = t->entries[i].value;
	dpal_eu_unlock(&c->lock);
	return i != NONE;
}

/* -------------------------------------------------------------- host's calls */

static bool allocate_table(struct doca_dpa_hash_table *t)
{
	uint32_t n = 1u << t->log_size;

	t->chains = calloc(n, sizeof(*t->chains));
	t->entries = calloc(n, sizeof(*t->entries));
	if (!t->chains || !t->entries)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		t->chains[i].first = NONE;
		t->entries[i].next = i + 1 < n ? i + 1 : NONE;
	}
	return true;
}

static void release_table(struct doca_dpa_hash_table *t)
{
	free(t->chains);
	free(t->entries);
	dpa_obj_free(t);
}

doca_error_t doca_dpa_hash_table_create(struct doca_dpa *dpa, unsigned int num_entries,
					struct doca_dpa_hash_table **ht)
{
	struct doca_dpa_hash_table *t;

	if (!dpa_live(dpa) || !num_entries || num_entries > 1u << MAX_LOG || !ht)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	t = dpa_obj_new(DPA_T_HASH_TABLE, sizeof(*t));
	if (!t)
		return DOCA_ERROR_DRIVER;
	while (1u << t->log_size < num_entries)
		t->log_size++;
	t->dpa = dpa;
	if (!allocate_table(t) ||
	    !dpa_handle_new(dpa_handles_for(dpa, DPA_H_HASH_TABLE), DPA_H_HASH_TABLE, &t->obj)) {
		release_table(t);
		return DOCA_ERROR_DRIVER;
	}
	dpa_ctx_hold(dpa);
	*ht = t;
	return DOCA_SUCCESS;
}

/* Destroy a table, also of a stopped or destroyed context; then returns that error. */
doca_error_t doca_dpa_hash_table_destroy(struct doca_dpa_hash_table *ht)
{
	struct doca_dpa *dpa;
	doca_error_t ret;

	if (!dpa_live(ht))
		return DOCA_ERROR_INVALID_VALUE;
	dpa = ht->dpa;
	ret = dpa->state == DPA_STARTED ? DOCA_SUCCESS : DOCA_ERROR_BAD_STATE;
	dpa_handle_drop(dpa_handles_for(dpa, DPA_H_HASH_TABLE), &ht->obj);
	dpa_pool_quiesce();
	release_table(ht);
	dpa_ctx_release(dpa);
	return ret;
}

doca_error_t doca_dpa_hash_table_get_dpa_handle(struct doca_dpa_hash_table *ht,
						doca_dpa_dev_hash_table_t *ht_handle)
{
	DPA_RETURN_VALUE(ht, ht_handle, ht->obj.handle);
}
