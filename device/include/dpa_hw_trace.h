/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_hw_trace.h - points of the timeline, for the driver and the device. docs/timeline.md has the
 * events and their fields.
 *
 * Off, a point costs one load and one predicted branch:
 *
 *	if (dpa_trace_is_on())
 *		dpa_trace_event(DPA_TRACE_STATE, 0, state, qpn, 0, 0, 0);
 *
 * A point in a function that returns before its event is over reads the time first:
 *
 *	uint64_t began = dpa_trace_begin();
 *	...
 *	if (dpa_unlikely(began))
 *		dpa_trace_at(began, ...);
 */
#ifndef DPA_HW_TRACE_H
#define DPA_HW_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Kinds of events. Each has, besides its time: code (8 bits), extra (16), object (32), x and y (32
 * each), z (64). "ticks" are of the clock of the timeline. Fields that are not named are 0. New
 * kinds are added at the end.
 */
enum dpa_trace_kind {
	DPA_TRACE_NONE,
	/* object: thread id; x, y, z: its name, 16 bytes */
	DPA_TRACE_THREAD,
	/*
	 * WQEs were posted. Time: of the call. code: opcode of the first; extra: DPA_TRACE_BLUEFLAME
	 * or 0; object: QPN; x: index of the first block; y: ticks until the doorbell was written;
	 * z: number of blocks << 32 | 0
	 */
	DPA_TRACE_POST,
	/* An EU, or the poster itself, found WQEs. object: QPN; x, y: index of first block and end */
	DPA_TRACE_PICKUP,
	/*
	 * A packet enters a link. code: BTH opcode; extra: QPN of the sender without the adapter
	 * instance's number; object: QPN of the destination; x: PSN; y: payload bytes; z: for an
	 * ACK, its syndrome
	 */
	DPA_TRACE_TX,
	/*
	 * Packets arrived at their QP. Time: of the arrival. code: BTH opcode; extra: QPN of the
	 * sender, as above; object: QPN; x: PSN of the first; y: payload bytes; z: ticks until they
	 * were carried out << 32 | number of packets
	 */
	DPA_TRACE_RX,
	/*
	 * A WQE is complete: acknowledged, carried out or failed. code: opcode; extra: status;
	 * object: QPN; x: index of its first block; y: first PSN; z: bytes << 32 | number of PSNs.
	 * No PSN: it was carried out without a packet
	 */
	DPA_TRACE_DONE,
	/*
	 * A CQE was written. code: opcode; extra: status; object: CQ number; x: index in the CQ; y:
	 * QPN; z: vendor error << 32 | index of the WQE
	 */
	DPA_TRACE_CQE,
	/* CQEs were taken, all up to an index. object: CQ number; x: index behind the last one */
	DPA_TRACE_POLL,
	/* A thread sleeps, and wakes up. code: enum dpa_trace_sleeper; object: EU */
	DPA_TRACE_SLEEP,
	DPA_TRACE_WAKE,
	/*
	 * rdma_cm: a new state, or an event. extra: enum dpa_trace_cm; code: as it says there;
	 * object: number of the id, as librdmacm has it, or the communication id; y: of an id its
	 * communication id or 0, of a communication id the number of the id that owns it or 0; x:
	 * communication id of the peer, or 0; of an event its status
	 */
	DPA_TRACE_CM,
	/*
	 * A fault was injected. code: enum dpa_trace_fault; object: QPN, 0: unknown. Of a packet x:
	 * bits of its faults. Of a rule extra: DPA_TRACE_EARLY or 0, line << 8 | call; x:
	 * number of the match; y: effect; z: ns, the time of the rule (struct dpa_inject_rule)
	 */
	DPA_TRACE_INJECT,
	/*
	 * Device code of the DPA: an event when it has ended, and, where no event is skipped, one
	 * when it begins. Time of both: of its begin. code: enum dpa_trace_run; object: EU; extra: enum dpa_trace_run_end, and
	 * DPA_TRACE_LONG or 0; x: rank; y: ticks, with DPA_TRACE_LONG 65,536 of them, 0 when it
	 * begins; z: the first 8 bytes of its name. DPA_TRACE_LAUNCH is the call of the host:
	 * object: 0; x: number of threads; y: 0
	 */
	DPA_TRACE_DPA,
	/* A QP changed its state. code: new state; object: QPN */
	DPA_TRACE_STATE,
	/* Packets are sent again. object: QPN; x: PSN of the first; y: PSN that was next */
	DPA_TRACE_REWIND,
	/*
	 * A message of the CM. code: enum dpa_cm_attr; extra: enum dpa_trace_mad; object: its
	 * communication id of this side, or 0; x: of the peer, or 0; z: its transaction id
	 */
	DPA_TRACE_MAD,
	DPA_TRACE_KINDS
};

#define DPA_TRACE_BLUEFLAME 1u
/* It failed before the device was open, and is recorded now. */
#define DPA_TRACE_EARLY	    0x8000u

enum dpa_trace_sleeper { DPA_TRACE_EU, DPA_TRACE_PROGRESS, DPA_TRACE_WAITER };
/* Up to DPA_TRACE_PACKET: what happened to a packet, in the order of enum dpa_fault_kind. */
enum dpa_trace_fault { DPA_TRACE_PACKET = 15, DPA_TRACE_VERB, DPA_TRACE_COMPLETION };
enum dpa_trace_run { DPA_TRACE_ACTIVATION, DPA_TRACE_KERNEL, DPA_TRACE_RPC, DPA_TRACE_LAUNCH };
enum dpa_trace_run_end { DPA_TRACE_RETURNED, DPA_TRACE_FAULTED, DPA_TRACE_KILLED, DPA_TRACE_BEGAN };
#define DPA_TRACE_LONG 0x8000u
enum dpa_trace_mad { DPA_TRACE_RECEIVED, DPA_TRACE_SENT };

enum dpa_trace_cm {
	/*
	 * code: state of an id: idle, bound, asking for the neighbour, address resolved, route
	 * resolved, connecting or connected, disconnected, listening
	 */
	DPA_TRACE_CM_ID,
	DPA_TRACE_CM_CONN,  /* code: state of a communication id, as enum ib_cm_state of Linux */
	DPA_TRACE_CM_EVENT, /* code: enum rdma_cm_event_type, queued for the program */
};
/* As code of an id or communication id: it exists no longer. */
#define DPA_TRACE_CM_END 255u

/*
 * 0: off. Else what is recorded: trace/trace.h; and DPA_TRACE_METERS: QPs count their messages for
 * tools (meter/meter.h). Written by the threads that follow requests (atomic read-modify-write,
 * release), read at each point (relaxed).
 */
extern _Atomic uint32_t dpa_trace_gate __attribute__((visibility("hidden")));
#define DPA_TRACE_EVERY	 1u /* no event is skipped */
#define DPA_TRACE_METERS 4u

static inline bool dpa_trace_has(uint32_t bits)
{
	return __builtin_expect(
		(atomic_load_explicit(&dpa_trace_gate, memory_order_relaxed) & bits) != 0, 0);
}

static inline bool dpa_trace_is_on(void)
{
	return dpa_trace_has(~DPA_TRACE_METERS);
}

static inline bool dpa_meters_are_on(void)
{
	return dpa_trace_has(DPA_TRACE_METERS);
}

/* One of them is on: one branch for both, where a message has both. */
static inline bool dpa_trace_or_meters(void)
{
	return dpa_trace_has(~0u);
}

/*
 * Return the time in ticks, for dpa_trace_at(). 0: this event is not recorded. Any thread, any
 * lock; does not block.
 */
uint64_t dpa_trace_now(void) __attribute__((cold));

/* As dpa_trace_now(), for an event that is rare and is never skipped. */
uint64_t dpa_trace_rare(void) __attribute__((cold));

/* Ticks since `began`, at most UINT32_MAX. */
uint32_t dpa_trace_since(uint64_t began) __attribute__((cold));

/* The time of an event that begins; 0: it is not recorded. */
static inline uint64_t dpa_trace_begin(void)
{
	return dpa_trace_is_on() ? dpa_trace_now() : 0;
}

/* The words of an event behind its time. */
struct dpa_trace_words {
	uint64_t w[3];
};

static inline struct dpa_trace_words dpa_trace_words(enum dpa_trace_kind kind, uint16_t extra,
						     uint8_t code, uint32_t object, uint32_t x,
						     uint32_t y, uint64_t z)
{
	return (struct dpa_trace_words){{(uint64_t)object << 32 | (uint64_t)extra << 16 |
						 (uint64_t)code << 8 | (uint64_t)kind,
					 (uint64_t)y << 32 | x, z}};
}

/*
 * Record an event at `at`, the result of dpa_trace_now() on this thread. Never fails: an event
 * that does not fit is counted. Any thread, any lock; does not block.
 */
void dpa_trace_put(uint64_t at, struct dpa_trace_words w) __attribute__((cold));

static inline void dpa_trace_at(uint64_t at, enum dpa_trace_kind kind, uint16_t extra, uint8_t code,
				uint32_t object, uint32_t x, uint32_t y, uint64_t z)
{
	dpa_trace_put(at, dpa_trace_words(kind, extra, code, object, x, y, z));
}

/* Record an event now. */
static inline void dpa_trace_event(enum dpa_trace_kind kind, uint16_t extra, uint8_t code,
				   uint32_t object, uint32_t x, uint32_t y, uint64_t z)
{
	uint64_t now = dpa_trace_now();

	if (now)
		dpa_trace_at(now, kind, extra, code, object, x, y, z);
}

/*
 * The points for a library that is not linked to the device. The calls are those above; *gate is
 * dpa_trace_gate. Valid until the process ends.
 */
struct dpa_trace_ops {
	const _Atomic uint32_t *gate;
	uint64_t (*now)(void);
	uint32_t (*since)(uint64_t began);
	void (*put)(uint64_t at, struct dpa_trace_words w);
};
extern const struct dpa_trace_ops dpa_trace_ops __attribute__((visibility("hidden")));

#endif
