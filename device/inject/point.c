/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* point.c - points that have nothing but their line: of threads of the device, and of libdpa. */
#include "inject/inject.h"
#include "inject/query.h"

_Static_assert((int)DPA_HW_INJECT_EU == DPA_INJECT_EU && (int)DPA_HW_INJECT_DMA == DPA_INJECT_DMA,
	       "the numbers of lines");

bool dpa_inject_point(uint32_t line, uint64_t *ns)
{
	struct dpa_inject_query q = {.line = (enum dpa_inject_line)line,
				     .effect = DPA_INJECT_ANY,
				     .to = DPA_INJECT_ANY,
				     .op = DPA_INJECT_ANY};

	return dpa_hw_injecting(line) && dpa_inject_select(&q, 0, ns);
}

const struct dpa_inject_ops dpa_inject_ops = {.gate = &dpa_hw_injects, .point = dpa_inject_point};
