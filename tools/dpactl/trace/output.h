/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* output.h - a recording as Chrome trace events (JSON), and as an HTML page with them in it. */
#ifndef DPACTL_TRACE_OUTPUT_H
#define DPACTL_TRACE_OUTPUT_H

#include <stdio.h>
#include "wqes.h"

/* The events of a recording: {"traceEvents": [...], ...}. s is sorted. */
void trace_json(FILE *out, const struct store *s, const struct wqes *w);
/* One page that needs no network. */
void trace_page(FILE *out, const struct store *s, const struct wqes *w);

/* The median of each stage of the WQEs of one opcode. */
struct stage_sum {
	uint8_t opcode;
	uint32_t n;		      /* WQEs that succeeded */
	uint32_t count[WQE_MOMENTS];  /* WQEs that have the stage that ends with this moment */
	uint64_t median[WQE_MOMENTS]; /* ns */
};
/* Returns the number of opcodes, at most max. Ends the process without memory. */
uint32_t stage_sums(const struct store *s, const struct wqes *w, struct stage_sum *sum,
		    uint32_t max);
/* The moment before m that this WQE has; WQE_MOMENTS: none, or it lies later. */
enum wqe_moment wqe_before(const struct wqe *w, enum wqe_moment m);

#endif
