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
 *   0x0e0000  errors     128 KiB   512 * 256: error completions
 *   0x100000  injections   1 MiB   256 * 4096: failures that are injected into a process
 *   0x200000  QPNs         1 MiB   65536 * 16
 *   0x300000  UAR pages  512 KiB   2048 * 256: owner words
 *   0x380000  XRC domains 128 KiB  4096 * 32
 *   0x3a0000  XRC SRQs   256 KiB   16384 * 16
 *   0x3e0000  flushes     64 KiB   256 * 256: of QPs without an error before
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
#include "board_layout_pcc.h"
#include "cm.h"
#include "error_record.h"
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
	/* ---- 2904: errors/ring.c; records ever begun, of errors and of flushes (relaxed) */
	_Atomic uint32_t error_next[2];
	uint8_t rsvd2[3072 - 2912];
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
#define DPA_BOARD_OFF_ERRORS   0x0e0000u
#define DPA_BOARD_OFF_INJECTS  0x100000u
#define DPA_BOARD_OFF_QPNS     0x200000u
#define DPA_BOARD_OFF_UARS     0x300000u
#define DPA_BOARD_OFF_XRCDS    0x380000u
#define DPA_BOARD_OFF_XSRQS    0x3a0000u
#define DPA_BOARD_OFF_FLUSHES  0x3e0000u
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
	struct dpa_board_error errors[DPA_BOARD_ERRORS];
	struct dpa_board_inject injects[DPA_BOARD_INJECTS];
	struct dpa_board_qpn qpns[DPA_BOARD_QPNS];
	struct dpa_board_uar uars[DPA_BOARD_UAR_PAGES];
	struct dpa_board_xrcd xrcds[DPA_BOARD_XRCDS];
	struct dpa_board_xrc_srq xrc_srqs[DPA_MAX_SRQ];
	struct dpa_board_error flushes[DPA_BOARD_FLUSHES];
	uint8_t gap2[DPA_BOARD_OFF_QPINFO - DPA_BOARD_OFF_FLUSHES - DPA_BOARD_FLUSHES * 256];
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
_Static_assert(offsetof(struct dpa_board_shm, errors) == DPA_BOARD_OFF_ERRORS, "file");
_Static_assert(offsetof(struct dpa_board_shm, flushes) == DPA_BOARD_OFF_FLUSHES, "file");
_Static_assert(offsetof(struct dpa_board_head, error_next) == 2904, "head");
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
_Static_assert(DPA_BOARD_FILE_LEN <= 64 << 20, "docs/troubleshooting.md: ulimit -f");
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
