/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops_exec.h - entries of struct dpa_dev_ops; doca_dpa_dev.h has their contracts. */
#ifndef DPA_OPS_EXEC_H
#define DPA_OPS_EXEC_H

#include "../run/ops.h"

void dpa_op_device_set(uint64_t context);
uint32_t dpa_op_thread_rank(void);
uint32_t dpa_op_num_threads(void);
void dpa_op_yield(void);
void dpa_op_trace(const uint64_t words[5]);
void dpa_op_trace_flush(void);

#endif
