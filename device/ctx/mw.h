/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mw.h - memory windows: under the lock of the QP; 0 or an enum dpa_syndrome. */
#ifndef DPA_CTX_MW_H
#define DPA_CTX_MW_H

#include <stdint.h>
#include <dpa_hw.h>

struct dpa_hw_qp;

uint32_t dpa_mw_bind(struct dpa_hw_qp *qp, uint32_t old_key, uint32_t new_key, uint64_t va,
		     const struct dpa_wqe_bind *b);
uint32_t dpa_mw_invalidate(struct dpa_hw_qp *qp, uint32_t key);

#endif
