/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * xrc_branch.h - replicas of XRC targets in other processes, and the ownership epochs (turns) of
 * their initiators.
 */
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
/*
 * Return the replica of another process's target; create it if there is none. EINVAL, ENOMEM.
 * Context: hw->ctl.
 */
int dpa_branch_get(struct dpa_hw_ctx *ctx, uint32_t xrcd, uint32_t qpn, struct dpa_hw_qp **out);
/* Free a replica that no program has open. Context: hw->ctl. */
void dpa_branch_free(struct dpa_hw_qp *qp);
/* The QPN belongs to this process now: remove its replica. Context: hw->ctl. */
void dpa_branch_evict(struct dpa_hw *hw, uint32_t qpn);
/* Free the replicas of the domain that no program has open. Context: hw->ctl. */
void dpa_branches_end(struct dpa_hw *hw, uint32_t xrcd);
/* The same for a context that was taken off the list. Context: hw->ctl. */
void dpa_branches_forget(struct dpa_hw_ctx *ctx);
/* Service thread: create the replica that packets wait for; free those whose target is gone. */
void dpa_branches_tick(struct dpa_hw *hw, bool sweep);
/* Copy the target's attributes into a. Context: the replica's lock. */
void dpa_branch_attr(struct dpa_hw_qp *qp, struct dpa_qp_attr *a);
/* True if a packet for a QP of another process must wait until its replica exists. */
bool dpa_branch_held(struct dpa_hw *hw, const struct dpa_slot *s);
/*
 * Take in a request from a peer's ring for a target. False: the target is gone, or the request
 * begins an epoch and is not of the target's initiator. Context: the target's lock.
 */
bool dpa_branch_rx(struct dpa_hw_qp *qp, const struct dpa_peer *p, const struct dpa_slot *s);
/*
 * Direct an initiator's next message to its process. False: not now (scheduled), or never (error
 * raised).
 */
bool dpa_turn_begin(struct dpa_hw_qp *qp);
/*
 * True if the message at idx is for the process of the current epoch. Else the QP is scheduled if
 * needed.
 */
bool dpa_turn_is(struct dpa_hw_qp *qp, uint32_t idx);
/*
 * The number for packets of the message at idx: that of the epoch if the message begins it, else 0.
 */
static inline uint32_t dpa_turn_number(const struct dpa_hw_qp *qp, uint32_t idx)
{
	const struct dpa_req *r = &qp->req;

	if (!r->turned || idx != r->turn_idx || idx != r->una_idx || r->send_off)
		return 0;
	return qp->xrc.turn | (r->turn_keeps ? DPA_TURN_KEEPS : 0);
}
/*
 * The process of the epoch died while nothing was outstanding to it, and it was not the target's
 * process: end the epoch.
 */
bool dpa_turn_ends(struct dpa_hw_qp *qp);
/* Return the peer of a connected QP of this board. NULL and errno on failure. */
struct dpa_peer *dpa_near_peer(struct dpa_hw_qp *qp);

#endif
