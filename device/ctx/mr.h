/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mr.h - keys of memory regions and windows, and the accesses that they allow. */
#ifndef DPA_CTX_MR_H
#define DPA_CTX_MR_H

#include <stdbool.h>
#include <stdint.h>
#include "ctx/export.h"
#include "ctx/hw.h"

struct dpa_hw_qp;

/*
 * In the rights of an entry: an injected failure may apply to each access (inject/region.c), and
 * plain copies are not allowed. No user's flag has this bit.
 */
#define DPA_ACCESS_INJECTED (1u << 30)

int dpa_mr_init(struct dpa_hw *hw);
/*
 * Check a local SGE or a remote access: key, PD, bounds, access bits. Returns 0 and the local
 * address, or an enum dpa_syndrome (BAD_LKEY, LKEY_BOUNDS, LKEY_ACCESS; the caller maps it to the
 * remote one). The address is valid until the caller releases its QP lock: dereg waits for that.
 */
uint32_t dpa_mr_check(struct dpa_hw *hw, uint32_t key, uint32_t pdn, uint64_t iova, uint64_t len,
		      uint32_t access, uint64_t *addr);
/* The same for a key in a packet: regions, and windows that may be used on this QP. */
uint32_t dpa_mr_check_remote(struct dpa_hw_qp *qp, uint32_t key, uint64_t va, uint64_t len,
			     uint32_t access, uint64_t *addr);
/* The same for the whole range of the key. */
uint32_t dpa_mr_check_key(struct dpa_hw_qp *qp, uint32_t key, uint32_t access);
/* ns that an access by this key takes, by an injected failure; 0: no time. */
uint64_t dpa_mr_slow(const struct dpa_hw *hw, uint32_t key);
/* Take a free entry. ENOMEM, with a log message: there is none. Context: hw->ctl. */
int dpa_mr_take(struct dpa_hw *hw, struct dpa_mr **mr, uint32_t *index);
struct dpa_mr *dpa_mr_of(struct dpa_hw *hw, uint32_t key);
/* Withdraw an entry's key. The caller then waits for its users. */
void dpa_mr_withdraw(struct dpa_hw *hw, struct dpa_mr *mr);
uint32_t dpa_mr_new_key(struct dpa_mr *mr, uint32_t index);
/* Free an entry that nothing uses any more. It is reused as late as possible. Context: hw->ctl. */
void dpa_mr_give(struct dpa_hw *hw, uint32_t index);
/* Invalidate all copies that were read of the entry. */
void dpa_mr_next_gen(struct dpa_hw *hw, const struct dpa_mr *mr);
static inline uint32_t dpa_mr_key(uint32_t index, uint32_t tag)
{
	return (index << DPA_KEY_TAG_BITS) | tag;
}

/*
 * True if a copy to or from the memory of an L_Key may fault, or the L_Key is of the null region.
 */
static inline bool dpa_mr_careful(const struct dpa_hw *hw, uint32_t key)
{
	return __atomic_load_n(&hw->export->mr[key >> DPA_KEY_TAG_BITS].access, __ATOMIC_RELAXED) &
	       ((uint32_t)DPA_ACCESS_ON_DEMAND | DPA_ACCESS_INJECTED);
}

/* True if a region contains [at, at + len). *off: offset of its begin. */
static inline bool dpa_mr_holds(uint64_t iova, uint64_t length, uint64_t at, uint64_t len,
				uint64_t *off)
{
	*off = at - iova;
	return (at >= iova) & (*off <= length) & (len <= length - *off);
}

/*
 * Returns the address of `len` bytes of an SGE. NULL: not all of it is there, or a plain copy is
 * not allowed; dpa_mr_check() returns the reason. The checks are those of dpa_mr_check() for a
 * region of addressable memory, and dpa_mr_careful().
 */
DPA_STEP void *dpa_sge_plain(struct dpa_hw *hw, const struct dpa_sge *g, uint32_t len, uint32_t pdn,
			     uint32_t access)
{
	const uint32_t key = g->lkey;
	const struct dpa_mr *mr = &hw->export->mr[key >> DPA_KEY_TAG_BITS];
	const uint64_t at = g->addr, off = at - mr->iova;

	/* The range as in dpa_mr_holds(), by branches: the values stay in registers. */
	if (dpa_unlikely(atomic_load_explicit(&mr->key, memory_order_seq_cst) != key || !key ||
			 mr->pdn != pdn || mr->kind != DPA_KIND_MR || at < mr->iova ||
			 off > mr->length || len > mr->length - off ||
			 (__atomic_load_n(&mr->access, __ATOMIC_RELAXED) &
			  (access | (uint32_t)DPA_ACCESS_ON_DEMAND | DPA_ACCESS_INJECTED)) !=
				 access))
		return NULL;
	return (void *)(uintptr_t)(mr->addr + off);
}

#endif
