/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops_pcc.h - the calls of congestion control programs. */
#ifndef DPA_PCC_OPS_PCC_H
#define DPA_PCC_OPS_PCC_H

#include <stdint.h>

void dpa_op_pcc_print(const char *text, uint64_t len);
void dpa_op_pcc_trace(uint32_t format, const uint64_t words[5]);
void dpa_op_pcc_port_bytes(uint64_t bytes[2]);
int dpa_op_pcc_probe_header(uint32_t flow, const uint32_t *words, uint32_t n);
int dpa_op_pcc_probe_dscp(uint32_t flow, uint32_t dscp);

#endif
