/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* leave.h - posted WQEs still leave when their QP is destroyed. */
#ifndef DPA_CMD_LEAVE_H
#define DPA_CMD_LEAVE_H

#include <stdbool.h>

struct dpa_hw_ctx;
struct dpa_hw_qp;

/* An unreliable QP is destroyed: send its posted WQEs, within 1 s. Context: no lock held. */
void dpa_qp_leave_out(struct dpa_hw_qp *qp);
/* The same for all QPs of a context that is closed: within 1 s for all together. */
void dpa_qps_leave_out(struct dpa_hw_ctx *ctx);

#endif
