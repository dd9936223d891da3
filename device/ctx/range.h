/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* range.h - is a range of addresses mapped? */
#ifndef DPA_CTX_RANGE_H
#define DPA_CTX_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct dpa_hw;

int dpa_range_check(struct dpa_hw *hw, uint64_t addr, uint64_t length, bool write);

#endif
