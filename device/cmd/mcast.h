/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mcast.h - multicast groups. */
#ifndef DPA_CMD_MCAST_H
#define DPA_CMD_MCAST_H

struct dpa_hw_qp;

void dpa_mcast_forget(struct dpa_hw_qp *qp);

#endif
