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
	uint32_t at;  /* index of its board entry */
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

/* Return the list link that points to the domain; NULL: there is none. Context: hw->ctl. */
struct dpa_hw_xrcd **dpa_xrcd_find(struct dpa_hw *hw, uint32_t num);
void dpa_xrcd_free_all(struct dpa_hw *hw);
/*
 * Add n users to a domain (n may be negative). EINVAL: there is no such domain. Context: hw->ctl.
 */
int dpa_xrcd_use(struct dpa_hw *hw, uint32_t num, int n);
/* Give the SRQ its number. ENOMEM. Context: hw->ctl. */
int dpa_xrc_srq_add(struct dpa_hw *hw, struct dpa_hw_srq *srq);
/* Remove the SRQ. On return no QP uses it. Context: no QP's lock held. */
void dpa_xrc_srq_remove(struct dpa_hw *hw, struct dpa_hw_srq *srq);
/* The same for all SRQs that the context has left. Context: hw->ctl is not held either. */
void dpa_xrc_srqs_forget(struct dpa_hw_ctx *ctx);
/* Make a target use receives, CQ and PD of the SRQ that a packet names. False: there is none. */
bool dpa_xrc_bind(struct dpa_hw_qp *qp, uint32_t srqn);

/*
 * True if the QP belongs to this context or was opened by it; returns its handle. Context: hw->ctl.
 */
bool dpa_qp_opened_by(const struct dpa_hw_qp *qp, const struct dpa_hw_ctx *ctx,
		      uint64_t *user_handle);
/* Report affiliated events of a shared QP to all that opened it. Context: the QP's lock. */
void dpa_qp_tell_openers(struct dpa_hw_qp *qp, uint32_t type);

/*
 * `how` of a target's board record: access 16 bits, path MTU 3, RNR timer 5, READs and atomics 8.
 */
#define DPA_HOW_MTU 16
#define DPA_HOW_RNR 19
#define DPA_HOW_RD  24
/* Publish the attributes of a target that was modified, for other processes. Context: its lock. */
void dpa_xrc_tell(struct dpa_hw_qp *qp, bool connected);
/*
 * Unpublish a target that receives no more: its replicas have no connection from now on. Context:
 * its lock.
 */
void dpa_xrc_untell(struct dpa_hw_qp *qp);

#endif
