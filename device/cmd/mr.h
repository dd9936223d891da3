/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mr.h - revocation of memory regions. */
#ifndef DPA_CMD_MR_H
#define DPA_CMD_MR_H

#include <stdint.h>

struct dpa_hw;
struct dpa_hw_ctx;

/* Context: hw->ctl. On return neither this process nor a peer touches the region any more. */
void dpa_mr_revoke(struct dpa_hw *hw, uint32_t index);
/* Deregister the regions that a closing context has left. Takes hw->ctl. */
void dpa_mr_forget(struct dpa_hw_ctx *ctx);

#endif
