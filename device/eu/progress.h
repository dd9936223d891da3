/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* progress.h - progress: packets and scheduled QPs, by any thread that calls. */
#ifndef DPA_EU_PROGRESS_H
#define DPA_EU_PROGRESS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "ctx/qp.h"
#include "ctx/thread.h"

int dpa_progress_once(struct dpa_hw *hw);
/* The kernel reported the calling thread's socket as readable: its next check is not skipped. */
void dpa_wire_is_there(void);
uint64_t dpa_timer_left(struct dpa_hw *hw); /* ns until the next timer, UINT64_MAX: none */
bool dpa_anything(struct dpa_hw *hw);
/* The same, but a timer gets a short grace period: a polling thread is never late. */
bool dpa_left_lying(struct dpa_hw *hw);

#endif
