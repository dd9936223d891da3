/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mr.h - memory regions that end: under hw->ctl. */
#ifndef DPA_CMD_MR_H
#define DPA_CMD_MR_H

#include <stdint.h>

struct dpa_hw;
struct dpa_hw_ctx;

/* When it returns nothing touches the region any more, of this process or a peer. */
void dpa_mr_revoke(struct dpa_hw *hw, uint32_t index);
/* Deregisters what a context that closes left behind. Takes hw->ctl itself. */
void dpa_mr_forget(struct dpa_hw_ctx *ctx);

#endif
