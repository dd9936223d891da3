/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.h - the calls of device code that post to RDMA contexts: entries of the table in run/ops.c.
 */
#ifndef DPA_RDMA_OPS_H
#define DPA_RDMA_OPS_H

#include <stdint.h>

struct doca_dpa_completion;
struct dpa_dev_rdma_wr;

int dpa_op_rdma_post(uint64_t rdma, uint32_t connection, const struct dpa_dev_rdma_wr *wr);
int dpa_op_rdma_receive(uint64_t rdma, uint32_t again, uint32_t key, uint64_t addr,
			uint64_t length);
int dpa_op_rdma_snapshot(uint64_t rdma, uint32_t connection, uint32_t key, uint64_t addr,
			 uint64_t length);

void dpa_op_rdma_receive_ack(uint64_t rdma, uint32_t n);

/* Record that device code has taken the element of a receive. On an EU, in an op. */
void dpa_rdma_taken(struct doca_dpa_completion *comp, uint64_t wr_id);

#endif
