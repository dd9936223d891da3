/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.h - shared by the codec's files: the table of opcodes. */
#ifndef DPA_ROCE_OPS_H
#define DPA_ROCE_OPS_H

#include "roce.h"
#include "words.h"

struct dpa_roce_op {
	uint16_t ext; /* enum dpa_roce_ext; 0: unknown */
	uint8_t hdr;  /* bytes of BTH and extended headers */
	const char *name;
};

extern const struct dpa_roce_op dpa_roce_ops[256];

#define DPA_ROCE_CNP_RESERVED 16

#endif
