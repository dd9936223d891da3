/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hash_table.c - hash tables of device code. */
#include <doca_dpa_dev.h>
#include <dpa/dpa_image.h>

extern const struct dpa_dev_ops *__dpa_ops;

void doca_dpa_dev_hash_table_add(doca_dpa_dev_hash_table_t ht_handle, uint32_t key, uint64_t value)
{
	__dpa_ops->hash_add(ht_handle, key, value);
}

void doca_dpa_dev_hash_table_remove(doca_dpa_dev_hash_table_t ht_handle, uint32_t key)
{
	__dpa_ops->hash_remove(ht_handle, key);
}

int doca_dpa_dev_hash_table_find(doca_dpa_dev_hash_table_t ht_handle, uint32_t key, uint64_t *value)
{
	uint64_t v;
	int found = __dpa_ops->hash_find(ht_handle, key, &v);

	if (found)
		*value = v;
	return found;
}
