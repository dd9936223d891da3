/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops_hash.c - hash tables in device code: the rules of ../../run/ops.h. */
#include "../../run/ops.h"
#include "hash_table.h"
#include "../ops.h"

static struct doca_dpa_hash_table *hash_table_of(struct dpal_eu *eu, struct dpal_run *run,
						 uint64_t handle)
{
	return container_of(dpa_op_object(eu, run, DPA_H_HASH_TABLE, handle, "hash table"),
			    struct doca_dpa_hash_table, obj);
}

void dpa_op_hash_add(uint64_t ht, uint32_t key, uint64_t value)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	if (!dpa_hash_add(hash_table_of(eu, run, ht), key, value))
		dpa_op_mistake(eu, "a hash table that is full");
	dpal_eu_op_end(eu);
}

void dpa_op_hash_remove(uint64_t ht, uint32_t key)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);

	dpa_hash_remove(hash_table_of(eu, run, ht), key);
	dpal_eu_op_end(eu);
}

int dpa_op_hash_find(uint64_t ht, uint32_t key, uint64_t *value)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	bool found = dpa_hash_find(hash_table_of(eu, run, ht), key, value);

	dpal_eu_op_end(eu);
	return found;
}
