/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow.c - flow rules of this function's raw QPs, and the senders' copy of all rules. The rules are
 * in the board's table. A sender keeps a copy in the order in which rules are tried, and renews it
 * when the board's change count differs. The copy is under `lock`, a leaf. At each use the rule's
 * owner is checked to be alive.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "raw.h"
#include "util/cap.h"
#include "tables/tables.h"

struct dpa_flows {
	dpa_spin_t lock;
	bool filled; /* `gen` is valid for the copy */
	uint32_t gen, n;
	struct dpa_flow_kept rules[DPA_MAX_FLOWS];
};

bool dpa_may_raw(void)
{
	return dpa_has_capability(CAP_NET_RAW);
}

int dpa_flows_init(struct dpa_hw *hw)
{
	int ret = 0;

	pthread_mutex_lock(&hw->ctl);
	if (!hw->flows) {
		hw->flows = calloc(1, sizeof(*hw->flows));
		ret = hw->flows ? 0 : ENOMEM;
	}
	pthread_mutex_unlock(&hw->ctl);
	return ret;
}

void dpa_flows_fini(struct dpa_hw *hw)
{
	free(hw->flows);
	hw->flows = NULL;
}

/* ------------------------------------------------------------------ control */

static struct dpa_flow_rule rule_of(const struct dpa_flow_attr *a)
{
	struct dpa_flow_rule r = {.type = (uint16_t)a->type,
				  .priority = (uint16_t)a->priority,
				  .flags = (uint16_t)a->flags,
				  .nspecs = (uint16_t)a->nspecs,
				  .tag = a->tag,
				  .drop = a->drop};

	memcpy(r.spec, a->spec, a->nspecs * sizeof(r.spec[0]));
	return r;
}

int dpa_hw_create_flow(struct dpa_hw_qp *qp, const struct dpa_flow_attr *attr, uint32_t *handle)
{
	struct dpa_hw *hw = qp->hw;
	struct dpa_flow_rule rule;
	int ret = qp->type == DPA_QP_RAW ? dpa_flow_check(attr) : EINVAL;

	if (!ret && !dpa_may_raw())
		ret = EPERM;
	if (ret)
		return ret;
	rule = rule_of(attr);
	pthread_mutex_lock(&hw->ctl);
	ret = dpa_board_flow_add(hw->board, qp->qpn, &rule, sizeof(rule), handle);
	if (!ret)
		qp->nflows++;
	pthread_mutex_unlock(&hw->ctl);
	if (ret)
		ret = dpa_limit(hw, ret, "all %d flow rules of the adapter instance are in use",
				DPA_MAX_FLOWS);
	return ret;
}

int dpa_hw_destroy_flow(struct dpa_hw_qp *qp, uint32_t handle)
{
	struct dpa_hw *hw = qp->hw;
	int ret;

	pthread_mutex_lock(&hw->ctl);
	ret = dpa_board_flow_remove(hw->board, handle, qp->qpn);
	if (!ret)
		qp->nflows--;
	pthread_mutex_unlock(&hw->ctl);
	return ret == ENOENT ? EINVAL : ret;
}

int dpa_hw_flow_counts(struct dpa_hw_qp *qp, uint32_t handle, uint64_t *packets, uint64_t *bytes)
{
	int ret = dpa_board_flow_counts(qp->hw->board, handle, qp->qpn, packets, bytes);

	return ret == ENOENT ? EINVAL : ret;
}

uint32_t dpa_hw_num_flows(struct dpa_hw_qp *qp)
{
	uint32_t n;

	pthread_mutex_lock(&qp->hw->ctl);
	n = qp->nflows;
	pthread_mutex_unlock(&qp->hw->ctl);
	return n;
}

void dpa_flow_forget(struct dpa_hw_qp *qp)
{
	pthread_mutex_lock(&qp->hw->ctl);
	if (qp->nflows)
		dpa_board_flow_forget(qp->hw->board, qp->qpn);
	qp->nflows = 0;
	pthread_mutex_unlock(&qp->hw->ctl);
}

/* ------------------------------------------------------------------ senders */

/* Reads the count first: a rule that changes meanwhile changes it again. Context: lock. */
static void refresh_flows(struct dpa_board *b, struct dpa_flows *f)
{
	uint32_t gen = dpa_board_flow_gen(b), end;
	uint64_t bytes[DPA_BOARD_FLOW_RULE / 8];
	bool whole = true;

	if (f->filled && f->gen == gen)
		return;
	end = dpa_board_flow_end(b);
	f->n = 0;
	for (uint32_t i = 0; i < end; i++) {
		struct dpa_flow_kept *k = &f->rules[f->n];
		enum dpa_board_flow_look look = dpa_board_flow_get(b, i, bytes, &k->qpn, &k->owner);

		whole &= look != DPA_FLOW_CHANGES;
		if (look != DPA_FLOW_THERE)
			continue;
		k->at = i;
		memcpy(&k->rule, bytes, sizeof(k->rule));
		f->n++;
	}
	dpa_flow_sort(f->rules, f->n);
	f->gen = gen;
	f->filled = whole;
}

struct sent {
	struct dpa_board *board;
	uint32_t bytes;
	bool counted;
};

/* Called once for each rule that matches. */
static bool rule_lives(void *arg, const struct dpa_flow_kept *k)
{
	const struct sent *s = arg;
	uint32_t slot, gen;

	if (!dpa_board_qpn_owner(s->board, k->qpn, &slot, &gen) || dpa_owner(slot, gen) != k->owner)
		return false;
	if (s->counted)
		dpa_board_flow_hit(s->board, k->at, k->qpn, k->owner, s->bytes);
	return true;
}

uint32_t dpa_flow_receivers(struct dpa_hw *hw, const uint8_t *frame, uint32_t n, bool counted,
			    struct dpa_flow_to *to)
{
	struct sent sent = {.board = hw->board, .bytes = n, .counted = counted};
	struct dpa_flows *f = hw->flows;
	struct dpa_layers v;
	uint32_t count;

	dpa_frame_parse(frame, n, &v);
	dpa_spin_lock(&f->lock);
	refresh_flows(hw->board, f);
	count = dpa_flow_choose(f->rules, f->n, &v, frame[0] & 1, rule_lives, &sent, to);
	dpa_spin_unlock(&f->lock);
	return count;
}
