/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* schedule.h - QPs that have work to do later. */
#ifndef DPA_CTX_SCHEDULE_H
#define DPA_CTX_SCHEDULE_H

#include <stdint.h>

struct dpa_hw;
struct dpa_hw_qp;

/*
 * Schedule a QP: progress runs it again at `when` (ns, dpa_now_ns()), or as soon as possible (0).
 * Context: any thread, with or without the lock of the QP.
 */
void dpa_schedule(struct dpa_hw_qp *qp, uint64_t when);
/* Remove a QP from the list. */
void dpa_unschedule(struct dpa_hw_qp *qp);
/* Wake the service thread. Context: any lock may be held; no cancellation point. */
void dpa_wake_self(struct dpa_hw *hw);

#endif
