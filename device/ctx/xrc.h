/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* xrc.h - XRC domains and SRQs. */
#ifndef DPA_CTX_XRC_H
#define DPA_CTX_XRC_H

#include <stdbool.h>
#include <stdint.h>

struct dpa_hw;
struct dpa_hw_ctx;
struct dpa_hw_qp;
struct dpa_hw_srq;

void dpa_xrcd_free_all(struct dpa_hw *hw);
/* Under hw->ctl: users of a domain come or go. EINVAL: there is none. */
int dpa_xrcd_use(struct dpa_hw *hw, uint32_t num, int n);
/* Under hw->ctl. Gives it its number. ENOMEM. */
int dpa_xrc_srq_add(struct dpa_hw *hw, struct dpa_hw_srq *srq);
/* When it returns no QP uses it. No QP's lock may be held. */
void dpa_xrc_srq_remove(struct dpa_hw *hw, struct dpa_hw_srq *srq);
/* The same of all that the context has left. hw->ctl is not held either. */
void dpa_xrc_srqs_forget(struct dpa_hw_ctx *ctx);
/* Makes a target take receives, CQ and PD of the SRQ that a packet names. False: no such one. */
bool dpa_xrc_bind(struct dpa_hw_qp *qp, uint32_t srqn);

#endif
