/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * board_layout.h - the layout of the board's file. See README.md and board.h.
 *
 * The file is 64 MiB long and sparse. Its memory unit is 4 KiB. The fixed part (head, bit map, UAR
 * list) exists from the start; every other unit is reserved (fallocate) and then marked in
 * `present` before its first access, so that a full file system gives an error and never SIGBUS.
 * A reader could get SIGBUS, too: reading a hole of a tmpfs mapping allocates memory.
 *
 *   0x000000  head         4 KiB   struct dpa_board_head
 *   0x001000  bit map      4 KiB   a bit for each unit
 *   0x020000  UAR list    16 KiB   2048 * 8
 *   0x040000  multicast  128 KiB   4096 * 32
 *   0x060000  flows      512 KiB   512 * 1024
 *   0x100000  injections   1 MiB   256 * 4096: failures that are injected into a process
 *   0x200000  QPNs         1 MiB   65536 * 16
 *   0x300000  UAR pages  512 KiB   2048 * 256: owner words
 *   0x380000  XRC domains 128 KiB  4096 * 32
 *   0x3a0000  XRC SRQs   256 KiB   16384 * 16
 *   0x400000  QP records   4 MiB   65536 * 64
 *   0x800000  BAR          8 MiB   2048 * 4096
 *  0x1000000  processes    1 MiB   4096 * 256
 *  0x1100000  private     16 MiB   4096 * 4096: counters, CQ and MR records of a process
 *  0x2100000  services      1 MiB  16384 * 64: of QP1
 *  0x2200000  ids          16 MiB  65536 * 256: communication ids of QP1
 *  0x3200000  PCC port      8 KiB   struct dpa_board_pcc_port
 *  0x3208000  PCC probes   64 KiB   128 * 512: of the notification point
 *  0x3220000  PCC slots    64 KiB   8 * 8192: of an image
 *  0x3240000  PCC queues   256 KiB  4096 * 64: of the modelled network, by process, while recorded
 *  0x3280000  PCC counters 512 KiB  4096 * 128: of the built-in algorithms, by process
 *  0x3300000  PCC results  512 KiB  65536 * 8: by QPN
 *  0x3380000  PCC ends    512 KiB  4096 * 128: tail and head of a ring, by process
 *  0x3400000  PCC rings     8 MiB  4096 * 2048: events, by process
 *  0x3c00000  PCC flows     4 MiB  65536 * 64: by QPN, while recorded
 *  0x4000000  end
 */
#ifndef DPA_BOARD_LAYOUT_H
#define DPA_BOARD_LAYOUT_H

#include "board.h"
#include "cm.h"
#include "inject/count.h"

#define DPA_BOARD_UNIT 4096u

/*
 * Lock bytes, past the end of the file. They are at the same place in every layout: a library of
 * any version can tell whether a process is attached to a board of any other version.
 */
#define DPA_BOARD_LOCK_ADMIN (1ll << 40)       /* held to attach, detach, remove */
#define DPA_BOARD_LOCK_PROC  ((1ll << 40) + 1) /* + process index: held while the process lives */

/*
 * Identity. Written once by the creator under the admin lock, `magic` last (release). Read by pread
 * by each process that opens the file, before it maps the file. The offsets of the first 128 bytes
 * are the same in all layouts.
 * 8 + 2*4 + 8 + 4*4 + 2*4 + 2*8 + 32 + 16 + 2*4 + 8 = 128
 */
struct dpa_board_ident {
	uint64_t magic; /* DPA_BOARD_MAGIC; 0: creation was not completed */
	uint32_t layout;
	uint32_t hw_version;
	uint64_t file_len;
	uint32_t procs, qpns, uar_pages, counters; /* uar_pages: at most DPA_BOARD_UAR_PAGES */
	uint32_t uid;
	uint32_t board_num; /* 1..254 */
	uint64_t netns;	    /* inode of the network namespace; 0: unknown */
	uint64_t created_ns;
	char lib_version[32];
	uint8_t id[16]; /* random */
	uint32_t mutex_size;
	uint32_t rsvd;
	uint64_t check; /* checksum of the bytes before it: dpa_board_ident_check() */
};

/* Links of a UAR page in the global list, as page indices; DPA_BOARD_UAR_PAGES is the list head. */
struct dpa_board_link {
	uint16_t next; /* the forward chain is the truth: see uar.c */
	uint16_t prev;
	uint32_t rsvd;
};

#define DPA_BOARD_PRESENT_WORDS 512 /* 512 * 64 = 32768 units, 128 MiB */

/* A tool's request to all processes: 4 + 4 + 248 = 256. Valid while gen is even: ask.c. */
struct dpa_board_ask {
	_Atomic uint32_t gen;
	uint32_t rsvd;
	char text[DPA_BOARD_ASK_TEXT];
};

/*
 * Record of a refused rdma_cm connection, for tools: refusal.c. 64 bytes. Written while seq is odd.
 * A writer makes seq odd by CAS; a writer that finds it odd gives up.
 */
#define DPA_BOARD_REFUSALS 8u
struct dpa_board_refusal {
	_Atomic uint64_t seq;
	_Atomic uint64_t words[7];
};

/* The head page. */
struct dpa_board_head {
	struct dpa_board_ident ident;
	/* ---- 128 */
	/*
	 * Robust mutex, shared by the processes of the board. Protects the UAR list, the setting of
	 * slot owner words, the process table and reaping. Never taken on a data path. Held for
	 * microseconds, but its holder may be stopped at any instruction.
	 */
	union {
		pthread_mutex_t lock;
		uint8_t lock_room[64];
	};
	/* ---- 192: written under the lock */
	struct dpa_board_link list; /* head of the global list of UAR pages */
	/*
	 * ---- 200: stale.c; under the admin lock. CLOCK_REALTIME seconds when a process of another
	 * namespace first found that no process is attached; 0: not since the last process attached.
	 * The same place in all layouts.
	 */
	uint64_t left_at;
	uint8_t rsvd[256 - 208];
	/* ---- 256 */
	/*
	 * Robust mutex: held while a process gives the kernel the steering program, which takes
	 * long. Taken by trylock only, so that a stopped holder delays no process. No other lock is
	 * taken inside it.
	 */
	union {
		pthread_mutex_t steer_lock;
		uint8_t steer_lock_room[64];
	};
	uint8_t rsvd3[512 - 320];
	/* ---- 512: as ask */
	struct dpa_board_ask ask_link;
	/* ---- 768 */
	struct dpa_board_ask ask_timeline;
	/* ---- 1024: sums over processes that ended; added to under the lock */
	_Atomic uint64_t counters_past[DPA_BOARD_COUNTERS];
	/* ---- 1536: written under the admin lock */
	struct dpa_board_ask ask[DPA_ASK_LINK];
	/* ---- 2048 */
	struct dpa_board_steer steer;
	/* ---- 2080: one past the highest entry of `mcast` ever used; under the lock (release) */
	_Atomic uint32_t mcast_used;
	/* ---- 2084: the same for `flows`; flow_gen is incremented with each change of a rule */
	_Atomic uint32_t flow_used;
	_Atomic uint32_t flow_gen;
	/*
	 * ---- 2092: number of the newest XRC domain; one past the highest entry of `xrcds` ever
	 * used. Both under the lock
	 */
	uint32_t xrcd_num;
	uint32_t xrcd_used;
	/*
	 * ---- 2100: process index at which the next opener begins its check for dead processes;
	 * under the lock
	 */
	uint32_t reap_at;
	/* ---- 2104: cm.h. One past the highest service ever used; under the lock (release) */
	_Atomic uint32_t services_used;
	/*
	 * Ids: where the next search begins; how many ids it chooses from, 0: the minimum. The
	 * latter only grows (CAS).
	 */
	_Atomic uint32_t cmid_next, cmid_window;
	_Atomic uint32_t cm_died; /* endpoints whose process was reaped; under the lock (release) */
	/* ---- 2120: refusal.c; the number of the next record */
	_Atomic uint32_t refusal_next;
	uint32_t rsvd5;
	struct dpa_board_refusal refusals[DPA_BOARD_REFUSALS];
	/* ---- 2640: meter/meter.h. CLOCK_MONOTONIC ns; CAS (relaxed) by tools, read by processes */
	_Atomic uint64_t meter_until;
	/* ---- 2648: as ask */
	struct dpa_board_ask ask_port;
	uint8_t rsvd2[3072 - 2904];
	/* ---- 3072: last poller of each processor (relaxed); a hint for dpa_shares_cpu() */
	_Atomic uint32_t poller[DPA_BOARD_CPUS];
};

/*
 * Private records of a process: 512 + 2048 + 1536 = 4096. Written by the process (relaxed), read by
 * tools.
 */
struct dpa_board_priv {
	_Atomic uint64_t counters[DPA_BOARD_COUNTERS];
	struct dpa_board_cqinfo cqs[DPA_BOARD_CQINFO];
	struct dpa_board_mrinfo mrs[DPA_BOARD_MRINFO];
};

/* A QP number: 16 bytes. */
struct dpa_board_qpn {
	/*
	 * 0 to owner: CAS by the taker (acq_rel). Owner to 0: store by the owner or the reaper
	 * (release). Read by all (acquire).
	 */
	_Atomic dpa_owner_t owner;
	/*
	 * CLOCK_MONOTONIC ms of the last free (made odd, so never 0); 0: never used. Written before
	 * `owner` is cleared, read after `owner` was found clear.
	 */
	_Atomic uint32_t freed;
	uint32_t rsvd;
};

/*
 * A QP's attachment to a multicast group: 4 + 4 + 8 + 16 = 32 bytes. Written under the board's lock
 * while seq is odd. A reader sees the whole entry or ignores it: mcast.c.
 */
struct dpa_board_mcast {
	_Atomic uint32_t seq;
	_Atomic uint32_t qpn;
	_Atomic dpa_owner_t owner; /* 0: free; not equal to the QPN's owner: stale, so free */
	_Atomic uint64_t gid[2];   /* the bytes of the GID, in memory order */
};

/*
 * A flow rule: 4 + 4 + 8 + 992 + 8 + 8 = 1024 bytes. Written and read like a struct
 * dpa_board_mcast: flow.c. The sender counts matches in packets and bytes (relaxed); the owner
 * reads them (relaxed).
 */
struct dpa_board_flow {
	_Atomic uint32_t seq;
	_Atomic uint32_t qpn;
	_Atomic dpa_owner_t owner;
	_Atomic uint64_t rule[DPA_BOARD_FLOW_RULE / 8];
	_Atomic uint64_t packets, bytes;
};

/* An XRC domain file that a process has open: 8 + 8 + 8 + 4 + 4 = 32. Under the lock: xrc.c */
struct dpa_board_xrcd {
	dpa_owner_t owner; /* 0: free */
	uint64_t dev, ino;
	uint32_t num;
	uint32_t rsvd;
};

/*
 * An XRC SRQ: 8 + 4 + 4 = 16. `owner` is used as in a QPN. The owner writes the numbers before it
 * publishes them (release). Read by all (acquire).
 */
struct dpa_board_xrc_srq {
	_Atomic dpa_owner_t owner;
	_Atomic uint32_t srqn; /* not cleared by free: the next number differs */
	_Atomic uint32_t xrcd;
};

/*
 * A service of QP1: 4 + 4 + 8 + 8 + 8 + 16 + 16 = 64 bytes. Written under the board's lock while
 * seq is odd; cm.h.
 */
struct dpa_board_service {
	_Atomic uint32_t seq;
	_Atomic uint32_t families; /* for an address of all 0: 1 IPv4, 2 IPv6 */
	_Atomic dpa_owner_t owner; /* 0, or a dead process: free */
	_Atomic uint64_t id, mask;
	_Atomic uint64_t addr[2];
	uint8_t rsvd[16];
};

/* A communication id: 8 + 4 + 4 + 2 * 88 + 64 = 256 bytes; see cm.h. */
#define DPA_BOARD_CMID_WORDS (sizeof(struct dpa_gsi_id) / 8)
struct dpa_board_cmid {
	_Atomic uint64_t owner;
	_Atomic uint32_t seq;
	uint32_t rsvd0;
	_Atomic uint64_t copy[2][DPA_BOARD_CMID_WORDS]; /* struct dpa_gsi_id */
	uint8_t rsvd[64];
};

/* ------------------------------------------- congestion control: dpa_hw_pcc.h, tables/pcc.c */

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

/*
 * The failures that are injected into a process: 64 + 256 + 704 + 1024 + 1024 + 1024 = 4096 bytes. A
 * process has a record only while a tool asked for it, or with a setting of its own; see
 * tables/inject.c. The process finds it by `inject` of its entry.
 *
 *   owner    The process. Written under the admin lock, as its `inject`; 0, or a dead one: free.
 *   gen      Of the request: odd while a tool writes `request`, under the admin lock. 0: none yet.
 *   seen     Generation that the process has carried out (release).
 *   now_gen  Odd while the process writes `now`: the rules in force, "" none.
 *   count    Of each rule in force.
 */
#define DPA_BOARD_INJECTS      256u
#define DPA_BOARD_INJECT_RULES 16u
#define DPA_BOARD_INJECT_TEXT  1024u
struct dpa_board_inject {
	_Atomic dpa_owner_t owner;
	_Atomic uint32_t gen, seen, now_gen;
	uint8_t rsvd0[64 - 20];
	/* ---- 64 */
	struct dpa_inject_count count[DPA_BOARD_INJECT_RULES];
	uint8_t rsvd1[1024 - 320];
	/* ---- 1024 */
	char request[DPA_BOARD_INJECT_TEXT];
	char now[DPA_BOARD_INJECT_TEXT];
	uint8_t rsvd2[1024];
};

#define DPA_BOARD_OFF_PRESENT  0x001000u
#define DPA_BOARD_OFF_LINKS    0x020000u
#define DPA_BOARD_OFF_MCAST    0x040000u
#define DPA_BOARD_OFF_FLOWS    0x060000u
#define DPA_BOARD_OFF_INJECTS  0x100000u
#define DPA_BOARD_OFF_QPNS     0x200000u
#define DPA_BOARD_OFF_UARS     0x300000u
#define DPA_BOARD_OFF_XRCDS    0x380000u
#define DPA_BOARD_OFF_XSRQS    0x3a0000u
#define DPA_BOARD_OFF_QPINFO   0x400000u
#define DPA_BOARD_OFF_BAR      0x800000u
#define DPA_BOARD_OFF_PROCS    0x1000000u
#define DPA_BOARD_OFF_PRIV     0x1100000u
#define DPA_BOARD_OFF_SERVICES 0x2100000u
#define DPA_BOARD_OFF_CMIDS    0x2200000u
#define DPA_BOARD_OFF_PCC      0x3200000u
#define DPA_BOARD_OFF_NP_PROBE 0x3208000u
#define DPA_BOARD_OFF_PCC_SLOT 0x3220000u
#define DPA_BOARD_OFF_PCC_HEAD 0x3230000u
#define DPA_BOARD_OFF_PCC_QUE  0x3240000u
#define DPA_BOARD_OFF_PCC_CNT  0x3280000u
#define DPA_BOARD_OFF_PCC_RES  0x3300000u
#define DPA_BOARD_OFF_PCC_ENDS 0x3380000u
#define DPA_BOARD_OFF_PCC_RING 0x3400000u
#define DPA_BOARD_OFF_PCC_FLOW 0x3c00000u
#define DPA_BOARD_FILE_LEN     0x4000000u

/* The whole file. The gaps stay holes. */
struct dpa_board_shm {
	struct dpa_board_head head;
	/*
	 * Set (release, or-in) by the process that reserved a unit. Read (acquire) before the unit
	 * is touched.
	 */
	_Atomic uint64_t present[DPA_BOARD_PRESENT_WORDS];
	uint8_t gap0[DPA_BOARD_OFF_LINKS - 2 * DPA_BOARD_UNIT];
	struct dpa_board_link links[DPA_BOARD_UAR_PAGES];
	uint8_t gap1[DPA_BOARD_OFF_MCAST - DPA_BOARD_OFF_LINKS - DPA_BOARD_UAR_PAGES * 8];
	struct dpa_board_mcast mcast[DPA_MAX_MCAST];
	struct dpa_board_flow flows[DPA_MAX_FLOWS];
	uint8_t gap3[DPA_BOARD_OFF_INJECTS - DPA_BOARD_OFF_FLOWS - DPA_MAX_FLOWS * 1024];
	struct dpa_board_inject injects[DPA_BOARD_INJECTS];
	struct dpa_board_qpn qpns[DPA_BOARD_QPNS];
	struct dpa_board_uar uars[DPA_BOARD_UAR_PAGES];
	struct dpa_board_xrcd xrcds[DPA_BOARD_XRCDS];
	struct dpa_board_xrc_srq xrc_srqs[DPA_MAX_SRQ];
	uint8_t gap2[DPA_BOARD_OFF_QPINFO - DPA_BOARD_OFF_XSRQS - DPA_MAX_SRQ * 16];
	struct dpa_board_qpinfo qpinfo[DPA_BOARD_QPNS];
	struct dpa_uar_slot bar[DPA_BOARD_UAR_PAGES][DPA_UAR_SLOTS];
	struct dpa_board_proc procs[DPA_BOARD_PROCS];
	struct dpa_board_priv priv[DPA_BOARD_PROCS];
	struct dpa_board_service services[DPA_BOARD_SERVICES];
	struct dpa_board_cmid cmids[DPA_BOARD_CMIDS];
	struct dpa_board_pcc_port pcc;
	uint8_t gap4[DPA_BOARD_OFF_NP_PROBE - DPA_BOARD_OFF_PCC - 8192];
	struct dpa_board_np_probe np_probes[DPA_BOARD_NP_PROBES];
	uint8_t gap6[DPA_BOARD_OFF_PCC_SLOT - DPA_BOARD_OFF_NP_PROBE - DPA_BOARD_NP_PROBES * 512];
	struct dpa_board_pcc_slot pcc_slots[DPA_PCC_USER_SLOTS];
	struct dpa_board_pcc_header pcc_headers[DPA_PCC_HEADER_FLOWS];
	struct dpa_board_pcc_queue pcc_queues[DPA_BOARD_PROCS];
	struct dpa_board_pcc_counts pcc_counts[DPA_BOARD_PROCS];
	/*
	 * Written by the owner of the image (dpa_board_pcc_result(), release); read by flows
	 * (acquire).
	 */
	_Atomic uint64_t pcc_results[DPA_BOARD_QPNS];
	struct dpa_board_pcc_ends pcc_ends[DPA_BOARD_PROCS];
	struct dpa_board_pcc_ring pcc_rings[DPA_BOARD_PROCS];
	struct dpa_board_pcc_flow pcc_flows[DPA_BOARD_QPNS];
};

_Static_assert(sizeof(struct dpa_board_ident) == 128, "ident");
_Static_assert(offsetof(struct dpa_board_ident, layout) == 8, "ident");
_Static_assert(offsetof(struct dpa_board_ident, file_len) == 16, "ident");
_Static_assert(offsetof(struct dpa_board_ident, procs) == 24, "ident");
_Static_assert(offsetof(struct dpa_board_ident, uid) == 40, "ident");
_Static_assert(offsetof(struct dpa_board_ident, board_num) == 44, "ident");
_Static_assert(offsetof(struct dpa_board_ident, netns) == 48, "ident");
_Static_assert(offsetof(struct dpa_board_ident, created_ns) == 56, "ident");
_Static_assert(offsetof(struct dpa_board_ident, lib_version) == 64, "ident");
_Static_assert(offsetof(struct dpa_board_ident, id) == 96, "ident");
_Static_assert(offsetof(struct dpa_board_ident, mutex_size) == 112, "ident");
_Static_assert(offsetof(struct dpa_board_ident, check) == 120, "ident");
_Static_assert(sizeof(pthread_mutex_t) <= 64, "room for the lock");
_Static_assert(sizeof(struct dpa_board_link) == 8, "link");
_Static_assert(offsetof(struct dpa_board_head, lock) == 128, "head");
_Static_assert(offsetof(struct dpa_board_head, list) == 192, "head");
_Static_assert(offsetof(struct dpa_board_head, steer_lock) == 256, "head");
_Static_assert(offsetof(struct dpa_board_head, counters_past) == 1024, "head");
_Static_assert(sizeof(struct dpa_board_ask) == 256, "ask");
_Static_assert(offsetof(struct dpa_board_head, ask) == 1536, "head");
_Static_assert(offsetof(struct dpa_board_head, ask_link) == 512, "head");
_Static_assert(offsetof(struct dpa_board_head, ask_timeline) == 768, "head");
_Static_assert(offsetof(struct dpa_board_head, ask_port) == 2648, "head");
_Static_assert(offsetof(struct dpa_board_head, steer) == 2048, "head");
_Static_assert(sizeof(struct dpa_board_steer) == 32, "steer");
_Static_assert(offsetof(struct dpa_board_head, mcast_used) == 2080, "head");
_Static_assert(sizeof(struct dpa_board_mcast) == 32, "mcast");
_Static_assert(offsetof(struct dpa_board_head, flow_used) == 2084, "head");
_Static_assert(sizeof(struct dpa_board_flow) == 1024, "flow");
_Static_assert(offsetof(struct dpa_board_head, xrcd_num) == 2092, "head");
_Static_assert(offsetof(struct dpa_board_head, reap_at) == 2100, "head");
_Static_assert(sizeof(struct dpa_board_xrcd) == 32, "xrcd");
_Static_assert(sizeof(struct dpa_board_xrc_srq) == 16, "xrc_srq");
_Static_assert(sizeof(struct dpa_board_head) == DPA_BOARD_UNIT, "head");
_Static_assert(sizeof(struct dpa_board_proc) == 256, "proc");
_Static_assert(offsetof(struct dpa_board_proc, start_ns) == 16, "proc");
_Static_assert(offsetof(struct dpa_board_proc, comm) == 24, "proc");
_Static_assert(offsetof(struct dpa_board_proc, lib_version) == 40, "proc");
_Static_assert(offsetof(struct dpa_board_proc, placement) == 64, "proc");
_Static_assert(offsetof(struct dpa_board_proc, udp) == 88, "proc");
_Static_assert(offsetof(struct dpa_board_proc, asked) == 80, "proc");
_Static_assert(offsetof(struct dpa_board_proc, no_fds) == 100, "proc");
_Static_assert(offsetof(struct dpa_board_proc, meter_at) == 136, "proc");
_Static_assert(sizeof(struct dpa_board_cqinfo) == 32, "cqinfo");
_Static_assert(sizeof(struct dpa_board_mrinfo) == 24, "mrinfo");
_Static_assert(offsetof(struct dpa_board_priv, cqs) == 512, "priv");
_Static_assert(sizeof(struct dpa_board_priv) == DPA_BOARD_UNIT, "priv");
_Static_assert(sizeof(struct dpa_board_qpn) == 16, "qpn");
_Static_assert(sizeof(struct dpa_board_uar) == 256, "uar");
_Static_assert(offsetof(struct dpa_board_uar, slot_qpn) == 128, "uar");
_Static_assert(sizeof(struct dpa_board_qpinfo) == 64, "qpinfo");
_Static_assert(offsetof(struct dpa_board_qpinfo, dgid) == 32, "qpinfo");
_Static_assert(offsetof(struct dpa_board_qpinfo, link) == 48, "qpinfo");
_Static_assert(offsetof(struct dpa_board_shm, present) == DPA_BOARD_OFF_PRESENT, "file");
_Static_assert(offsetof(struct dpa_board_shm, procs) == DPA_BOARD_OFF_PROCS, "file");
_Static_assert(offsetof(struct dpa_board_shm, links) == DPA_BOARD_OFF_LINKS, "file");
_Static_assert(offsetof(struct dpa_board_shm, mcast) == DPA_BOARD_OFF_MCAST, "file");
_Static_assert(offsetof(struct dpa_board_shm, flows) == DPA_BOARD_OFF_FLOWS, "file");
_Static_assert(offsetof(struct dpa_board_shm, priv) == DPA_BOARD_OFF_PRIV, "file");
_Static_assert(offsetof(struct dpa_board_shm, qpns) == DPA_BOARD_OFF_QPNS, "file");
_Static_assert(offsetof(struct dpa_board_shm, uars) == DPA_BOARD_OFF_UARS, "file");
_Static_assert(offsetof(struct dpa_board_shm, xrcds) == DPA_BOARD_OFF_XRCDS, "file");
_Static_assert(offsetof(struct dpa_board_shm, xrc_srqs) == DPA_BOARD_OFF_XSRQS, "file");
_Static_assert(offsetof(struct dpa_board_shm, qpinfo) == DPA_BOARD_OFF_QPINFO, "file");
_Static_assert(offsetof(struct dpa_board_shm, bar) == DPA_BOARD_OFF_BAR, "file");
_Static_assert(sizeof(struct dpa_gsi_id) == 88, "id");
_Static_assert(sizeof(struct dpa_board_service) == 64, "service");
_Static_assert(sizeof(struct dpa_board_cmid) == 256, "cmid");
_Static_assert(offsetof(struct dpa_board_head, left_at) == 200, "all layouts");
_Static_assert(offsetof(struct dpa_board_head, services_used) == 2104, "head");
_Static_assert(offsetof(struct dpa_board_head, refusals) == 2128, "head");
_Static_assert(offsetof(struct dpa_board_head, meter_until) == 2640, "head");
_Static_assert(offsetof(struct dpa_board_head, poller) == 3072, "head");
_Static_assert(offsetof(struct dpa_board_proc, gsi) == 104, "proc");
_Static_assert(offsetof(struct dpa_board_shm, services) == DPA_BOARD_OFF_SERVICES, "file");
_Static_assert(offsetof(struct dpa_board_shm, cmids) == DPA_BOARD_OFF_CMIDS, "file");
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
_Static_assert(!(DPA_BOARD_PCC_RING & (DPA_BOARD_PCC_RING - 1)), "positions wrap");
_Static_assert(DPA_BOARD_FILE_LEN <= 64 << 20, "docs/troubleshooting.md: ulimit -f");
_Static_assert(sizeof(struct dpa_board_pcc_flow) == 64, "pcc flow");
_Static_assert(sizeof(struct dpa_board_pcc_queue) == 64, "pcc queue");
_Static_assert(offsetof(struct dpa_board_shm, pcc_queues) == DPA_BOARD_OFF_PCC_QUE, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc_flows) == DPA_BOARD_OFF_PCC_FLOW, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc) == DPA_BOARD_OFF_PCC, "file");
_Static_assert(offsetof(struct dpa_board_shm, np_probes) == DPA_BOARD_OFF_NP_PROBE, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc_slots) == DPA_BOARD_OFF_PCC_SLOT, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc_headers) == DPA_BOARD_OFF_PCC_HEAD, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc_counts) == DPA_BOARD_OFF_PCC_CNT, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc_results) == DPA_BOARD_OFF_PCC_RES, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc_ends) == DPA_BOARD_OFF_PCC_ENDS, "file");
_Static_assert(offsetof(struct dpa_board_shm, pcc_rings) == DPA_BOARD_OFF_PCC_RING, "file");
_Static_assert(DPA_BOARD_PROCS == DPA_PCC_RINGS, "a ring for each process");
_Static_assert(sizeof(struct dpa_board_shm) == DPA_BOARD_FILE_LEN, "file");
_Static_assert(DPA_BOARD_FILE_LEN / DPA_BOARD_UNIT <= DPA_BOARD_PRESENT_WORDS * 64, "present");
_Static_assert(DPA_BOARD_PROCS <= 1 << 16, "an owner word");
_Static_assert(DPA_BOARD_UAR_PAGES <= UINT16_MAX, "links");
_Static_assert(DPA_BOARD_UAR_PAGES *DPA_UAR_SLOTS == DPA_MAX_QP, "a slot for each QP");

_Static_assert(offsetof(struct dpa_board_inject, count) == 64, "inject");
_Static_assert(offsetof(struct dpa_board_inject, request) == 1024, "inject");
_Static_assert(sizeof(struct dpa_board_inject) == 4096, "inject");
_Static_assert(offsetof(struct dpa_board_shm, injects) == DPA_BOARD_OFF_INJECTS, "file");
#endif
