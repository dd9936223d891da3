/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dm.h - device memory. Context: hw->ctl. */
#ifndef DPA_CTX_DM_H
#define DPA_CTX_DM_H

#include <stdint.h>
#include <dpa_hw.h>

struct dpa_hw;

/* Convert attr->addr into an address. EINVAL: no such memory, or the range exceeds it. */
int dpa_dm_place(struct dpa_hw_ctx *ctx, struct dpa_mr_attr *attr);
void dpa_dm_ref(struct dpa_hw *hw, uint32_t owner, uint32_t handle, int n);
void dpa_dm_forget(struct dpa_hw_ctx *ctx);

#endif
