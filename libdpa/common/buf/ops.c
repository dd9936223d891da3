/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.c - pointers for device code. The lock of the table of keys is held only during the look-up.
 */
#include "../../run/ops.h"
#include "../mmap.h"
#include "ops.h"

uint64_t dpa_op_external_ptr(uint32_t mmap, uint64_t addr, uint64_t len)
{
	struct dpal_eu *eu;
	struct dpal_run *run = dpa_op_begin(&eu);
	struct dpa_mmap_key key;

	if (!dpa_mmap_lookup(run->cur->dev, mmap, &key))
		dpa_op_mistake(eu, "an external pointer with a handle that is no local map's");
	/* at least the first byte at the pointer must exist, if no length is given */
	if (!dpa_mmap_holds(&key, addr, len ? len : 1))
		dpa_op_mistake(eu, "an external pointer beyond its map");
	dpal_eu_op_end(eu);
	return addr;
}
