/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.h - the call of device code that doca_dpa_dev_buf.h needs. */
#ifndef DPA_COMMON_BUF_OPS_H
#define DPA_COMMON_BUF_OPS_H

#include <stdint.h>

uint64_t dpa_op_external_ptr(uint32_t mmap, uint64_t addr, uint64_t len);

#endif
