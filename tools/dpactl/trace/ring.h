/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ring.h - reads the events of a thread from its ring (device/trace/layout.h). */
#ifndef DPACTL_TRACE_RING_H
#define DPACTL_TRACE_RING_H

#include <stdint.h>
#include <dpa_hw_trace.h>
#include "trace/layout.h"

/* An event, copied once. */
struct trace_event {
	uint64_t at; /* ticks */
	uint8_t kind, code;
	uint16_t extra;
	uint32_t object, x, y;
	uint64_t z;
};

/* The number of the oldest event that the ring still has. The same readers and writers. */
uint64_t trace_ring_oldest(struct dpa_trace_ring *r);
/*
 * Copy up to max events from event number *tail on. Sets *tail behind the last one, and adds to
 * *lost the events that were overwritten before they were read. Returns the number of events; all
 * of them are whole. Any number of readers, each with its own tail; the writer may be running,
 * stopped or dead. A ring with other content gives events with other content, no fault.
 */
uint32_t trace_ring_read(struct dpa_trace_ring *r, uint64_t *tail, struct trace_event *to,
			 uint32_t max, uint64_t *lost);

#endif
