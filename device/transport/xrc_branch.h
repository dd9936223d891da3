/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* xrc_branch.h - XRC targets of another process, and the turns of their initiators. */
#ifndef DPA_TRANSPORT_XRC_BRANCH_H
#define DPA_TRANSPORT_XRC_BRANCH_H

#include <stdbool.h>
#include <stdint.h>
#include "ctx/qp.h"
#include "link/lane.h"

struct dpa_hw;
struct dpa_hw_ctx;
struct dpa_peer;

struct dpa_qp_opener;
/* Under hw->ctl. The branch of another process's target, made if need be. EINVAL, ENOMEM. */
int dpa_branch_get(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, struct dpa_hw_qp **out);
/* Under hw->ctl; nobody has it open. */
void dpa_branch_free(struct dpa_hw_qp *qp);
/* Under hw->ctl: the QPN is one of this process now. */
void dpa_branch_evict(struct dpa_hw *hw, uint32_t qpn);
/* Under hw->ctl: those of the domain that nobody has open. */
void dpa_branches_end(struct dpa_hw *hw, uint32_t xrcd);
/* Under hw->ctl: the same of a context that was taken off the list. */
void dpa_branches_forget(struct dpa_hw_ctx *ctx);
/* Service thread: makes what packets wait for; lets go of those whose target is gone. */
void dpa_branches_tick(struct dpa_hw *hw, bool sweep);
/* The attributes of a branch are its target's; its lock is held. */
void dpa_branch_attr(struct dpa_hw_qp *qp, struct dpa_qp_attr *a);
/* A packet for a QP that is not of this process: must it wait until its branch is there? */
bool dpa_branch_held(struct dpa_hw *hw, const struct dpa_slot *s);
/* A request off a peer's lane for a target, under its lock. False: it is nobody's any more, or it
 * would begin a turn and is not of the target's initiator. */
bool dpa_branch_rx(struct dpa_hw_qp *qp, const struct dpa_peer *p, const struct dpa_slot *s);
/* An initiator's next message: to its process. False: not now (pended), or never (error raised). */
bool dpa_turn_begin(struct dpa_hw_qp *qp);
/* Is the message at idx for the process that the initiator's turn is? Else pended if need be. */
bool dpa_turn_is(struct dpa_hw_qp *qp, uint32_t idx);
/* In what is sent of the message at idx: the turn if it begins one, else 0. */
static inline uint32_t dpa_turn_number(const struct dpa_hw_qp *qp, uint32_t idx)
{
	const struct dpa_req *r = &qp->req;

	if (!r->turned || idx != r->turn_idx || idx != r->una_idx || r->send_off)
		return 0;
	return qp->turn | (r->turn_keeps ? DPA_TURN_KEEPS : 0);
}
/* The packets that were sent are lost: begin the turn again. */
void dpa_turn_again(struct dpa_hw_qp *qp);
/* The process that the turn was is dead, nothing was under way to it, and it was not the target's.
 */
bool dpa_turn_ends(struct dpa_hw_qp *qp);
/* The peer of a connected QP of this board. NULL with errno. */
struct dpa_peer *dpa_near_peer(struct dpa_hw_qp *qp);

#endif
