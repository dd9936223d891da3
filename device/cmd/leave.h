/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* leave.h - what was posted to a QP that ends still leaves. */
#ifndef DPA_CMD_LEAVE_H
#define DPA_CMD_LEAVE_H

#include <stdbool.h>

struct dpa_hw_ctx;
struct dpa_hw_qp;

/* An unreliable QP ends: what was posted to it leaves, within a second. No lock is held. */
void dpa_qp_leave_out(struct dpa_hw_qp *qp);
/* The same of all QPs of a context that is closed: within a second all together. */
void dpa_qps_leave_out(struct dpa_hw_ctx *ctx);

#endif
