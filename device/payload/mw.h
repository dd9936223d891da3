/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mw.h - memory windows. */
#ifndef DPA_TRANSPORT_MW_H
#define DPA_TRANSPORT_MW_H

#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw.h>

struct dpa_hw;
struct dpa_hw_qp;
struct dpa_mr;

/* Turn an entry into a window that is not bound. Returns its key. Context: hw->ctl. */
uint32_t dpa_mw_begin(struct dpa_hw *hw, struct dpa_mr *mw, uint32_t index, uint32_t type,
		      uint32_t pdn, uint32_t owner);
/* Unbind it for good; the caller waits for its users. False: no such window. Context: hw->ctl. */
bool dpa_mw_end(struct dpa_hw *hw, struct dpa_mr *mw, uint32_t rkey);
/* 0 or an enum dpa_syndrome. Context: the lock of the QP. */

uint32_t dpa_mw_bind(struct dpa_hw_qp *qp, uint32_t old_key, uint32_t new_key, uint64_t va,
		     const struct dpa_wqe_bind *b);
uint32_t dpa_mw_invalidate(struct dpa_hw_qp *qp, uint32_t key);

#endif
