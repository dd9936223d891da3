/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* moderate.h - CQ events that are held back until more entries come. */
#ifndef DPA_CTX_MODERATE_H
#define DPA_CTX_MODERATE_H

#include <stdbool.h>
#include "ctx/hw.h"

struct dpa_hw_cq;

/* True if the event of this entry waits. For a CQ with mod_count > 1. Context: the CQ's lock. */
bool dpa_cq_hold(struct dpa_hw_cq *cq);
/* Its event comes after ns, also if no entry is left then: an injected failure. Context: the same. */
void dpa_cq_late(struct dpa_hw_cq *cq, uint64_t ns);
int dpa_moderation_run(struct dpa_hw *hw);
void dpa_moderation_forget(struct dpa_hw_cq *cq);
static inline int dpa_moderation_due(struct dpa_hw *hw)
{
	if (dpa_likely(!atomic_load_explicit(&hw->mod.due, memory_order_relaxed)))
		return 0;
	return dpa_moderation_run(hw);
}

#endif
