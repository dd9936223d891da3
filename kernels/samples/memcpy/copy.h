/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* copy.h - data for the copying thread. */
#ifndef DPA_SAMPLE_COPY_H
#define DPA_SAMPLE_COPY_H

#include <stdint.h>

enum { COPY_USER_DATA = 0x5eed };

/* In the DPA's heap. */
struct copy {
	/* set by the host */
	uint64_t dpa, async_ops, comp, event;
	uint64_t in; /* address in the host's memory */
	uint64_t heap, len;
	/* buf arrays of one element: the heap's memory, the host's memory */
	uint64_t heap_buf, out_buf;
	uint32_t in_mmap, heap_mmap;
	/* set by the thread */
	uint64_t step, failed;
};

#endif
