/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mr.h - keys of memory regions and windows, and what they allow. */
#ifndef DPA_CTX_MR_H
#define DPA_CTX_MR_H

#include <stdbool.h>
#include <stdint.h>
#include "ctx/export.h"
#include "ctx/hw.h"

struct dpa_hw_qp;

int dpa_mr_init(struct dpa_hw *hw);
/*
 * Checks a local SGE or a remote access: key, PD, bounds, access bits. Returns 0 and the local
 * address, or an enum dpa_syndrome (BAD_LKEY, LKEY_BOUNDS, LKEY_ACCESS; the caller maps to the
 * remote ones). The address is good until the caller lets go of its QP lock: dereg waits for that.
 */
uint32_t dpa_mr_check(struct dpa_hw *hw, uint32_t key, uint32_t pdn, uint64_t iova, uint64_t len,
		      uint32_t access, uint64_t *addr);
/* The same for a key that a packet names: regions, and windows that may be used on this QP. */
uint32_t dpa_mr_check_remote(struct dpa_hw_qp *qp, uint32_t key, uint64_t va, uint64_t len,
			     uint32_t access, uint64_t *addr);
/* The same for the whole of what the key names. */
uint32_t dpa_mr_check_key(struct dpa_hw_qp *qp, uint32_t key, uint32_t access);
/* A free entry; ENOMEM and a line in the log if there is none. Under hw->ctl. */
int dpa_mr_take(struct dpa_hw *hw, struct dpa_mr **mr, uint32_t *index);
struct dpa_mr *dpa_mr_of(struct dpa_hw *hw, uint32_t key);
/* Takes an entry's key away; who used it is to be waited for. */
void dpa_mr_withdraw(struct dpa_hw *hw, struct dpa_mr *mr);
uint32_t dpa_mr_new_key(struct dpa_mr *mr, uint32_t index);
/* An entry that nothing uses any more: it rests. Under hw->ctl. */
void dpa_mr_give(struct dpa_hw *hw, uint32_t index);
/* Makes out of date what was read of the entry. */
void dpa_mr_next_gen(struct dpa_hw *hw, const struct dpa_mr *mr);
static inline uint32_t dpa_mr_key(uint32_t index, uint32_t tag)
{
	return (index << DPA_KEY_TAG_BITS) | tag;
}

/* The memory of an L_Key must be copied to or from with care: it may fault, or is the null region.
 */
static inline bool dpa_mr_careful(const struct dpa_hw *hw, uint32_t key)
{
	return __atomic_load_n(&hw->export->mr[key >> DPA_KEY_TAG_BITS].access, __ATOMIC_RELAXED) &
	       DPA_ACCESS_ON_DEMAND;
}

/* The same of `len` bytes of an SGE. NULL: they are not all there, or not to be copied plainly. */
DPA_STEP void *dpa_sge_plain(struct dpa_hw *hw, const struct dpa_sge *g, uint32_t len, uint32_t pdn,
			     uint32_t access)
{
	uint64_t addr;

	if (dpa_mr_check(hw, g->lkey, pdn, g->addr, len, access, &addr) ||
	    dpa_mr_careful(hw, g->lkey))
		return NULL;
	return (void *)(uintptr_t)addr;
}

/* Does a region hold [at, at + len)? *off: how far in it that begins. */
static inline bool dpa_mr_holds(uint64_t iova, uint64_t length, uint64_t at, uint64_t len,
				uint64_t *off)
{
	*off = at - iova;
	return (at >= iova) & (*off <= length) & (len <= length - *off);
}

#endif
