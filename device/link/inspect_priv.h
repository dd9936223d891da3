/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inspect_priv.h - what inspect.c (frames) and inspect_ask.c (requests) share. */
#ifndef DPA_INSPECT_PRIV_H
#define DPA_INSPECT_PRIV_H

#include <pthread.h>
#include "board/board_layout.h"
#include "inspect/capture.h"
#include "link/inspect.h"

/* the requests that are followed here: DPA_ASK_TIMELINE is not */
#define ASKS (DPA_ASK_PORT + 1)

struct dpa_inspect {
	dpa_spin_t lock; /* protects fault and model */
	struct dpa_fault fault;
	struct dpa_model model;
	struct dpa_board_pcc_queue *queue; /* its record; NULL: not yet */
	dpa_spin_t
		arrivals; /* one thread at a time lets frames of the model arrive, in their order */
	dpa_spin_t words; /* bits of the rings */
	pthread_mutex_t follow;	  /* protects the following */
	bool own[ASKS];		  /* a setting of this process for faults or a network */
	bool rule_down, all_down; /* the port was taken down: by a rule; by dpactl port */
	_Atomic uint32_t seen[ASKS];
	struct dpa_capture *capture;
	uint64_t checked; /* time of the last check of the tool */
};

static inline bool faults_on(const struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->inspect, memory_order_relaxed) & DPA_INSPECT_FAULT;
}

static inline bool is_captured(const struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->inspect, memory_order_relaxed) & DPA_INSPECT_CAPTURE;
}

static inline bool is_modelled(const struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->inspect, memory_order_relaxed) & DPA_INSPECT_MODEL;
}

/*
 * Record when the next frame that is held back or late is due. True if it is sooner than before. Context:
 * in->lock.
 */
bool dpa_inspect_new_due(struct dpa_hw *hw, struct dpa_fault *q);

#endif
