/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * layout.h - the memory in which a process records its timeline: a sealed memfd of one head page
 * and a ring for each thread. The process passes the memfd to a tool; a ring stays readable after
 * the process was killed.
 *
 *   word        written by                          read by
 *   head.used   the process, under its lock         the tool (acquire): rings below it exist
 *               (release), after the ring's tid
 *   ring.tid    the process, under the same lock    the tool (relaxed), for display
 *   ring.head   the thread of the ring (release),   the tool (acquire)
 *               after the event's words
 *   ring.lost   the thread of the ring (relaxed)    the tool and the process (relaxed)
 *   ring.tail   the tool (release); before the      the thread of the ring (relaxed), to count
 *               memory is passed on, the process    what is lost
 *   event words the thread of the ring (release)    the tool (acquire)
 *
 * A ring has one writer. It never waits: it overwrites its oldest event. Event i is in place i %
 * DPA_TRACE_EVENTS. The tool reads head, the events, then head again: event i is whole if i >
 * head - DPA_TRACE_EVENTS by the second reading. For each word of a later event in its place the
 * writer had stored a head of i + DPA_TRACE_EVENTS before; release and acquire make the tool's
 * second reading find at least that.
 */
#ifndef DPA_TRACE_LAYOUT_H
#define DPA_TRACE_LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define DPA_TRACE_MAGIC	 UINT64_C(0x3143525441504444)
#define DPA_TRACE_RINGS	 64u	/* threads that record at the same time */
#define DPA_TRACE_EVENTS 65536u /* of a ring: a power of 2 */
#define DPA_TRACE_PAGE	 4096u

/* Clocks of the timeline. Both are the same for all processes of a host. */
enum dpa_trace_clock {
	DPA_TRACE_CLOCK_NS,    /* CLOCK_MONOTONIC */
	DPA_TRACE_CLOCK_TICKS, /* the processor's counter: constant rate, never stops */
};

/* The first message to the tool: 8 + 4 * 4 + 16 = 40 bytes, with the memfd. */
struct dpa_trace_hello {
	uint64_t magic;
	uint32_t bytes; /* sizeof(struct dpa_trace_shm) */
	uint32_t clock; /* enum dpa_trace_clock */
	uint32_t pid;	/* as the process calls itself */
	uint32_t board; /* number of its adapter instance: high 8 bits of its QPNs */
	char comm[16];
};

/* An event: 4 * 8 = 32 bytes: the time, and struct dpa_trace_words. */
struct dpa_trace_event_shm {
	_Atomic uint64_t w[4];
};

/* 64 + 64 + 3968 + 65536 * 32 bytes */
struct dpa_trace_ring {
	_Atomic uint64_t head;
	_Atomic uint64_t lost;	  /* overwritten before the tool had read them */
	_Atomic uint64_t skipped; /* not recorded, to limit the cost */
	_Atomic uint32_t tid;
	uint8_t rsvd0[64 - 28];
	/* ---- 64 */
	_Atomic uint64_t tail;
	uint8_t rsvd1[DPA_TRACE_PAGE - 72];
	/* ---- 4096 */
	struct dpa_trace_event_shm event[DPA_TRACE_EVENTS];
};

struct dpa_trace_shm {
	_Atomic uint32_t used;
	_Atomic uint32_t ringless; /* threads that found no ring; written like `used` (relaxed) */
	uint8_t rsvd[DPA_TRACE_PAGE - 8];
	struct dpa_trace_ring ring[DPA_TRACE_RINGS];
};

_Static_assert(sizeof(struct dpa_trace_hello) == 40, "hello");
_Static_assert(sizeof(struct dpa_trace_event_shm) == 32, "event");
_Static_assert(offsetof(struct dpa_trace_ring, tail) == 64, "ring");
_Static_assert(offsetof(struct dpa_trace_ring, event) == DPA_TRACE_PAGE, "ring");
_Static_assert(offsetof(struct dpa_trace_shm, ring) == DPA_TRACE_PAGE, "memory");

#endif
