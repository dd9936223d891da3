/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* count.h - what one rule of injected failures has done. Part of the layout of the adapter state. */
#ifndef DPA_INJECT_COUNT_H
#define DPA_INJECT_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

/* 8 + 8 = 16 bytes. Written by the process under the lock of its rules (relaxed), read by tools. */
struct dpa_inject_count {
	_Atomic uint64_t seen;	/* calls, completions or events that it matched */
	_Atomic uint64_t fired; /* of these, those that failed */
};
_Static_assert(sizeof(struct dpa_inject_count) == 16, "count");

#endif
