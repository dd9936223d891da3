/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * board_layout_pcc.h - congestion control in the board's file: dpa_hw_pcc.h, tables/pcc.c. A part of
 * board_layout.h, which has the places.
 */
#ifndef DPA_BOARD_LAYOUT_PCC_H
#define DPA_BOARD_LAYOUT_PCC_H

#include "board.h"

/* Parameter values of a built-in algorithm that were set: 8 + 38 * 4 + 96 = 256 bytes. */
struct dpa_board_pcc_builtin {
	_Atomic uint64_t set; /* bit n: value[n] counts, else the default. Written last (release) */
	_Atomic uint32_t value[DPA_PCC_PARAMS];
	uint8_t rsvd[96];
};

/*
 * Request to an image to set a parameter. One word, so that parts of two requests never mix. Bits
 * 0..1 state, 2..4 slot, 5..10 parameter, 11..31 serial number, 32..63 the value, or the errno in
 * state ANSWERED.
 * Each change is a CAS (acq_rel). FREE -> POSTED by the caller, with the next serial number. POSTED
 * -> ANSWERED by the image's process. To FREE by the caller. A caller that finds the word in use
 * for one second takes it over.
 */
enum { DPA_PCC_REQ_FREE, DPA_PCC_REQ_POSTED, DPA_PCC_REQ_ANSWERED };
#define DPA_BOARD_PCC_REQ_STATE	 UINT64_C(3)
#define DPA_BOARD_PCC_REQ_SLOT	 2
#define DPA_BOARD_PCC_REQ_ID	 5
#define DPA_BOARD_PCC_REQ_SERIAL 11
#define DPA_BOARD_PCC_REQ_VALUE	 32

/*
 * A count of an ended process while it is added to `past`. Bit 63 is set meanwhile. Bits 49..62 a
 * number that changes with each store, 37..48 process index, 32..36 16 * algorithm + counter, 0..31
 * the new value of `past`.
 * Under the board's lock: stored (seq_cst) before `past`; bit 63 is cleared once the live word is
 * 0. After a kill in between the next owner of the lock completes the step. Until then readers
 * compute the same sum from this word (tables/pcc.c).
 */
#define DPA_BOARD_PCC_FOLD	  (UINT64_C(1) << 63)
#define DPA_BOARD_PCC_FOLD_CHANGE 49
#define DPA_BOARD_PCC_FOLD_PROC	  37
#define DPA_BOARD_PCC_FOLD_WHICH  32

/*
 * A program on the port, of one of the two roles: 640 bytes.
 *
 *   word     RP: state of congestion control in one word (board.h). Changed by CAS (acq_rel) by
 *            any process, read by each flow (acquire). NP: DPA_BOARD_NP_*. Stored (release) by the
 *            owner; set to 0 by CAS also by a process that found it dead.
 *   owner    The process with the image; 0: none. CAS (acq_rel) by it; set to 0 also by a process
 *            that found it dead.
 *   disabled Bits of events that the image does not want. Written by the owner before `word`.
 *   bell     Futex. Incremented (seq_cst) by a thread that has news for the owner.
 *   asleep   1 while the owner sleeps on the bell. Written by the owner (seq_cst).
 *   summary, pending
 *            Bits of rings that have events, of NP probes. Set by producers (seq_cst), taken by
 *            the owner (seq_cst).
 */
struct dpa_board_pcc_side {
	_Atomic uint64_t word;
	_Atomic dpa_owner_t owner;
	_Atomic uint32_t disabled;
	uint8_t rsvd0[64 - 20];
	/* ---- 64 */
	_Atomic uint32_t bell, asleep;
	_Atomic uint64_t summary;
	uint8_t rsvd1[128 - 80];
	/* ---- 128 */
	_Atomic uint64_t pending[DPA_BOARD_PROCS / 64];
};

/*
 * `probes` of the port, how the probes of the image look: bits 0..1 enum dpa_pcc_format, 2 a program
 * of the other side answers, 4..7 GNS, 8..15 hop limit, 16..19 words of the custom header, 48..63 the
 * number of the image.
 * np.word: bit 0 there is a program, 1..2 the format that it takes, 4..7 mask and 8..11 value of the
 * GNS that it ignores.
 */
#define DPA_BOARD_PROBES_PROGRAM  (UINT64_C(1) << 2)
#define DPA_BOARD_PROBES_GNS	  4
#define DPA_BOARD_PROBES_HOPS	  8
#define DPA_BOARD_PROBES_HEADER	  16
#define DPA_BOARD_NP_THERE	  UINT64_C(1)
#define DPA_BOARD_NP_FORMAT	  1
#define DPA_BOARD_NP_IGNORE_MASK  4
#define DPA_BOARD_NP_IGNORE_VALUE 8

/*
 * The port: 8192 bytes.
 *
 *   probes, marker, np_marker: by the owner, before `word`; read by each flow (acquire)
 *   record_until
 *            CLOCK_MONOTONIC, ns: flows are recorded until then. Extended (CAS, relaxed) by a
 *            recorder before it sets the bit in `word`. A flow that finds it past clears the bit.
 *   count_fold, count_sum
 *            A counter of a process that ended, on its way to head.counters_past: bit 63 of
 *            count_fold while it is, 16..47 process index, 0..15 counter; count_sum: what the past
 *            is then. Under the board's lock (seq_cst): count_sum, count_fold, the live word to 0,
 *            the past, count_fold to 0. After a kill in between the next owner of the lock
 *            completes it; a reader sees the count then, or not yet.
 *   base     Values of the counters when they were last cleared (relaxed).
 */
struct dpa_board_pcc_port {
	struct dpa_board_pcc_side rp;
	/* ---- 640 */
	_Atomic uint64_t req, fold;
	_Atomic uint64_t record_until;
	_Atomic uint64_t count_fold, count_sum; /* counters of processes, not of this port */
	_Atomic uint64_t probes, marker;
	uint8_t rsvd2[768 - 696];
	/* ---- 768: DPA_PCC_SLOT_RTT, DPA_PCC_SLOT_DCQCN */
	struct dpa_board_pcc_builtin builtin[DPA_PCC_SLOTS - DPA_PCC_SLOT_RTT];
	/* ---- 1280: built-in algorithms, sums over processes that ended; under the board's lock */
	_Atomic uint32_t past[DPA_PCC_SLOTS - DPA_PCC_SLOT_RTT][DPA_PCC_BUILTIN_COUNTERS];
	uint8_t rsvd3[2048 - 1408];
	/* ---- 2048 */
	_Atomic uint32_t base[DPA_PCC_SLOTS][DPA_PCC_COUNTERS + 1];
	/* ---- 6144 */
	struct dpa_board_pcc_side np;
	_Atomic uint64_t np_marker;
	uint8_t rsvd4[8192 - 6792];
};

/*
 * A probe on its way to the program of the notification point and back: 8 + 8 + 16 + 32 + 448
 * = 512 bytes. `owner` is the process whose QP it came to, 0: free; CAS (acq_rel) by it, also in
 * place of a dead one. `state` has a number of the probe above two bits:
 *
 *   FREE --owner: packet is there--> POSTED --program: answer is there--> ANSWERED or REFUSED
 *     ^                                |                                         |
 *     +------- owner: no answer came --+--------------- owner: has read it ------+
 *
 * Each by CAS or store (release), read (acquire). A probe that was given up has another number: an
 * answer that comes late does not count. Words of packet and answer are relaxed. A word of an answer
 * has four of its bytes below, the last one its DSCP, and the low half of `state` without the state
 * above: one that a former owner of the port writes late makes an answer that is refused, not another
 * one.
 */
#define DPA_BOARD_NP_PROBES 128u
enum { DPA_NP_FREE, DPA_NP_POSTED, DPA_NP_ANSWERED, DPA_NP_REFUSED };
struct dpa_board_np_probe {
	_Atomic dpa_owner_t owner;
	_Atomic uint64_t state;
	_Atomic uint32_t size, l4, payload; /* bytes; where the parts begin */
	_Atomic uint32_t came;		    /* ns */
	_Atomic uint64_t answer[DPA_PCC_ANSWER / 4 + 1];
	_Atomic uint64_t packet[DPA_PCC_PROBE_BYTES / 8];
};

/*
 * The custom header of a flow's probes: 8 + 15 * 8 = 128 bytes, in one of DPA_BOARD_PCC_HEADER_LOOKS
 * entries behind that of its QPN. state: bits 0..31 the flow as in its reports, 32..47 a number, 48..63
 * the image. Taken by CAS (acq_rel) by the owner of the image, from a flow that is none any more;
 * later changes by store (release). Then the words (relaxed): bits 0..31 the word, 32..63 the upper half
 * of `state`. A flow (acquire) that finds other upper halves sends no probe yet.
 */
#define DPA_BOARD_PCC_HEADER_LOOKS 8u
struct dpa_board_pcc_header {
	_Atomic uint64_t state;
	_Atomic uint64_t word[DPA_PCC_HEADER];
};

/*
 * A slot of an image: 148 + 3 * 152 + 40 + 152 + 40 * 64 + 256 + 64 * 64 + 484 = 8192 bytes. The
 * owner writes `values` and `counters` at any time, the rest only while the slot is not populated.
 * A reader compares the image's number before and after.
 */
struct dpa_board_pcc_slot {
	uint32_t id, major, minor;
	uint32_t nparams, ncounters;
	char text[DPA_PCC_ALGO_TEXT];
	uint32_t def[DPA_PCC_PARAMS], min[DPA_PCC_PARAMS], max[DPA_PCC_PARAMS];
	uint8_t may_set[DPA_PCC_PARAMS + 2];
	/* Written by device code of the owner, read by all (relaxed). */
	uint32_t values[DPA_PCC_PARAMS];
	char ptext[DPA_PCC_PARAMS + 2][DPA_PCC_TEXT];
	uint32_t counters[DPA_PCC_COUNTERS + 1];
	char ctext[DPA_PCC_COUNTERS + 1][DPA_PCC_TEXT];
	uint8_t rsvd[484];
};

/* Counters of the built-in algorithms: 128 bytes. Written by the process (relaxed). */
struct dpa_board_pcc_counts {
	_Atomic uint32_t n[DPA_PCC_SLOTS - DPA_PCC_SLOT_RTT][DPA_PCC_BUILTIN_COUNTERS];
};

/*
 * Event ring of a process's flows: 64 + 64 bytes of positions, and 64 * 32 = 2048 bytes of entries.
 * Positions and `seq` are modulo 2^32, which the length divides. The entry of position p has seq ==
 * p - p % 64 while it is free for p, and one more while it is filled.
 * A producer (a thread of the process) takes `tail` by CAS, fills the entry and stores seq
 * (release). The owner of the image reads seq (acquire), stores seq of the next lap (release), then
 * head.
 * If the owner dies between the two, seq is ahead of head, by any number of laps: the next owner
 * continues behind that entry. If the process dies in the middle of an event, its successor fills
 * what it left (dpa_board_pcc_ring_open()).
 */
#define DPA_BOARD_PCC_RING 64u
struct dpa_board_pcc_event {
	_Atomic uint32_t seq;
	uint32_t flow, kind, sn, time, word[3];
};
struct dpa_board_pcc_ends {
	_Atomic uint32_t tail;
	uint8_t rsvd0[60];
	_Atomic uint32_t head;
	uint8_t rsvd1[60];
};
struct dpa_board_pcc_ring {
	struct dpa_board_pcc_event event[DPA_BOARD_PCC_RING];
};

/*
 * A flow while flows are recorded: 4 * 8 + 8 * 4 = 64 bytes. Written (relaxed) under the lock of its
 * QP: `owner` when the recording of the flow begins, and `begun` is counted up before that. All are
 * sums but rate, window and rtt_max. A recorder takes rtt_max, which becomes 0.
 */
struct dpa_board_pcc_flow {
	_Atomic dpa_owner_t owner;
	_Atomic uint64_t bytes;	  /* that left, with repetitions */
	_Atomic uint64_t rate;	  /* bytes/s that the algorithm allows; DPA_PCC_NO_LIMIT: any */
	_Atomic uint64_t rtt_sum; /* ns */
	_Atomic uint32_t rtt_num, rtt_max;
	_Atomic uint32_t window; /* bytes */
	_Atomic uint32_t acks, cnps, losses;
	_Atomic uint32_t marked; /* packets that came with a mark: of the receiver's QP */
	_Atomic uint32_t begun;
};

/*
 * The queues of the modelled network in front of a process, while flows are recorded: 64 bytes.
 * Bytes that arriving packets met. Written (relaxed) under the lock of its model; a recorder takes
 * `max`, which becomes 0.
 */
struct dpa_board_pcc_queue {
	_Atomic dpa_owner_t owner;
	_Atomic uint64_t sum, num, max;
	uint64_t rsvd[4];
};

_Static_assert(sizeof(struct dpa_board_pcc_builtin) == 256, "builtin");
_Static_assert(offsetof(struct dpa_board_pcc_side, bell) == 64, "pcc side");
_Static_assert(offsetof(struct dpa_board_pcc_side, pending) == 128, "pcc side");
_Static_assert(sizeof(struct dpa_board_pcc_side) == 640, "pcc side");
_Static_assert(offsetof(struct dpa_board_pcc_port, req) == 640, "pcc");
_Static_assert(offsetof(struct dpa_board_pcc_port, builtin) == 768, "pcc");
_Static_assert(offsetof(struct dpa_board_pcc_port, past) == 1280, "pcc");
_Static_assert(offsetof(struct dpa_board_pcc_port, base) == 2048, "pcc");
_Static_assert(offsetof(struct dpa_board_pcc_port, np) == 6144, "pcc");
_Static_assert(sizeof(struct dpa_board_pcc_port) == 8192, "pcc");
_Static_assert(sizeof(struct dpa_board_np_probe) == 512, "np probe");
_Static_assert(sizeof(struct dpa_board_pcc_header) == 128, "pcc header");
_Static_assert(offsetof(struct dpa_board_pcc_slot, values) == 644, "pcc slot");
_Static_assert(sizeof(struct dpa_board_pcc_slot) == 8192, "pcc slot");
_Static_assert(sizeof(struct dpa_board_pcc_counts) == 128, "pcc counts");
_Static_assert(sizeof(struct dpa_board_pcc_event) == 32, "pcc event");
_Static_assert(sizeof(struct dpa_board_pcc_ends) == 128, "pcc ends");
_Static_assert(sizeof(struct dpa_board_pcc_ring) == 2048, "pcc ring");
_Static_assert(sizeof(struct dpa_board_pcc_flow) == 64, "pcc flow");
_Static_assert(sizeof(struct dpa_board_pcc_queue) == 64, "pcc queue");
_Static_assert(!(DPA_BOARD_PCC_RING & (DPA_BOARD_PCC_RING - 1)), "positions wrap");
#endif
