/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * meter.h - figures of QPs, EUs and processes while a tool reads them, for dpactl top and web.
 *
 *   tools                              head.meter_until: a lease
 *   service thread of each process     looks at the lease at its ticks; while it runs: switches the
 *                                      counting on (dpa_meters_set()), and writes each
 *                                      DPA_METER_NS the figures of each QP into its UAR slot, and
 *                                      those of the process and its EUs into its entry
 *
 * A tool whose lease begins wakes all processes, which may not tick for long (dpa_board_wake_all()).
 * Without a lease no figure is counted or written, and no thread wakes. The figures of a process that was killed stay until its entries are used again.
 */
#ifndef DPA_METER_H
#define DPA_METER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <dpa_hw.h>

struct dpa_board;

#define DPA_METER_NS	  250000000u	 /* between two readings */
#define DPA_METER_LEASE	  2000000000u	 /* ns; a tool extends it before it ends */
#define DPA_METER_FARTHER 10000000000ull /* ns; a lease that ends later is a wrong value: none */

/* struct dpa_slot_meter, unpacked. */
struct dpa_meter {
	uint64_t tx_bytes, rx_bytes;
	uint32_t tx_msgs, rx_msgs, again, rnr; /* rnr: 16 bits */
	uint32_t send_psn, una_psn, epsn;
	uint8_t wait;		    /* enum dpa_req_state */
	uint8_t status, vendor_err; /* of the last error completion that is no flush; 0: none */
	uint32_t queued;	    /* blocks of the SQ in use, 65535 at most */
	uint64_t window;	    /* bytes; UINT64_MAX: any */
};

/* A thread of the device, as in meter_own and meter_eu. */
struct dpa_meter_thread {
	bool there;
	uint32_t number; /* of the EU */
	uint32_t busy;	 /* per mille of the time since the reading before */
	uint32_t qps;	 /* of the EU; 2047 at most */
	bool asleep;
	bool waiter; /* meter_own: a thread of the application sleeps until its event comes */
	bool polls;  /* meter_own: a thread of the application polls */
};

/* Write and read the figures of a slot. put: the service thread of its owner, alone. */
void dpa_meter_put(struct dpa_slot_meter *to, const struct dpa_meter *m);
/* False: they are being written, or their writer died in the middle. Any thread or process. */
bool dpa_meter_get(const struct dpa_slot_meter *from, struct dpa_meter *m);

/* The word of a thread, and back. */
uint32_t dpa_meter_pack(const struct dpa_meter_thread *t);
struct dpa_meter_thread dpa_meter_unpack(uint32_t word);

/*
 * Per mille of ns that the thread ran since *before, which becomes its processor time; 0 at the first
 * call, with *before 0. Context: the service thread.
 */
uint32_t dpa_meter_busy(pthread_t thread, uint64_t *before, uint64_t ns);
/* True if a tool reads figures at `now` (CLOCK_MONOTONIC ns). One load. */
bool dpa_meter_wanted(struct dpa_board *b, uint64_t now);
/* For tools: extend the lease to now + DPA_METER_LEASE. The mapping of b must be writable. */
void dpa_meter_want(struct dpa_board *b, uint64_t now);

#endif
