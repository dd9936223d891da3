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

struct dpa_hw_xrcd {
	uint32_t num; /* never 0, the same in all processes */
	uint32_t at;  /* what the board has of it */
	bool named;
	uint64_t dev, ino;
	uint32_t opens, users;
	struct dpa_hw_xrcd *next;
};

struct dpa_qp_opener {
	struct dpa_hw_ctx *ctx;
	uint64_t user_handle;
	struct dpa_qp_opener *next;
};

/* Under hw->ctl: where the list has the domain; NULL: there is none. */
struct dpa_hw_xrcd **dpa_xrcd_find(struct dpa_hw *hw, uint32_t num);
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

/* Under hw->ctl. Is the QP this context's, or has it opened it? With which handle. */
bool dpa_qp_opened_by(const struct dpa_hw_qp *qp, const struct dpa_hw_ctx *ctx,
		      uint64_t *user_handle);
/* Affiliated events of a shared QP go to all that opened it. Under the QP's lock. */
void dpa_qp_tell_openers(struct dpa_hw_qp *qp, uint32_t type);

/* `how` of a target's board record: access 16 bits, path MTU 3, RNR timer 5, READs and atomics 8 */
#define DPA_HOW_MTU 16
#define DPA_HOW_RNR 19
#define DPA_HOW_RD  24
/* A target was modified, under its lock: what the other processes go by. */
void dpa_xrc_tell(struct dpa_hw_qp *qp, bool connected);
/* A target receives no more, under its lock: branches have no connection from now on. */
void dpa_xrc_untell(struct dpa_hw_qp *qp);

#endif
