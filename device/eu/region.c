/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * region.c - rules about memory regions (inject/region.c): those that are registered while the rules
 * are in force, and those that exist when the rules come.
 */
#include "ctx/mr.h"
#include "eu/inject.h"

static bool is_memory(const struct dpa_mr *mr)
{
	return mr->kind == DPA_KIND_MR && !mr->qpn;
}

uint32_t dpa_region_injected(struct dpa_hw *hw, const struct dpa_mr *mr)
{
	const uint32_t i = (uint32_t)(mr - hw->export->mr);

	return is_memory(mr) && dpa_inject_region(i, DPA_MAX_MR, mr->length) ? DPA_ACCESS_INJECTED
									     : 0;
}

static uint32_t of_parent(const struct dpa_hw *hw, const struct dpa_mr *mw)
{
	const uint32_t parent = __atomic_load_n(&mw->parent, __ATOMIC_RELAXED);

	return parent && parent <= DPA_MAX_MR
		       ? __atomic_load_n(&hw->export->mr[parent - 1].access, __ATOMIC_RELAXED) &
				 DPA_ACCESS_INJECTED
		       : 0;
}

/* A window that is bound just now has either value; the next access of its owner reads the other. */
static void set_injected(struct dpa_hw *hw, struct dpa_mr *mr, uint32_t bit)
{
	const uint32_t was = __atomic_load_n(&mr->access, __ATOMIC_RELAXED);

	if ((was & DPA_ACCESS_INJECTED) == bit)
		return;
	if (bit)
		__atomic_fetch_or(&mr->access, bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&mr->access, ~DPA_ACCESS_INJECTED, __ATOMIC_RELAXED);
	dpa_mr_next_gen(hw, mr);
}

/* Peers use no direct path to a process with such rules: their next access is a packet. */
void dpa_regions_follow(struct dpa_hw *hw)
{
	pthread_mutex_lock(&hw->ctl);
	for (uint32_t i = 0; i < hw->mrs.used_max; i++) {
		struct dpa_mr *mr = &hw->export->mr[i];

		if (atomic_load_explicit(&mr->key, memory_order_relaxed) && is_memory(mr))
			set_injected(hw, mr, dpa_region_injected(hw, mr));
	}
	for (uint32_t i = 0; i < hw->mrs.used_max; i++) {
		struct dpa_mr *mr = &hw->export->mr[i];

		if (mr->kind == DPA_KIND_MW1 || mr->kind == DPA_KIND_MW2)
			set_injected(hw, mr, of_parent(hw, mr));
	}
	pthread_mutex_unlock(&hw->ctl);
}
