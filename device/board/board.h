/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * board.h - the software adapter that all processes of one user in one network namespace share. The
 * board is the shared file with the adapter's state.
 *
 * The file holds the BAR (UAR pages), the UAR free list, the QPN space, the process table and the
 * counters. Owner words (process index and generation) are the only truth. Lists and counts are
 * rebuilt from them after a process died. Design: sections 4 and 5 of the architecture page.
 */
#ifndef DPA_BOARD_H
#define DPA_BOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <pthread.h>
#include <dpa_hw.h>
#include <dpa_hw_pcc.h>

#define DPA_BOARD_MAGIC	    0x3144524f42415044ull /* "DPABORD1" */
/*
 * Version of the board file and of everything else that processes of a board exchange: the hello,
 * struct dpa_export and struct dpa_door, rings, and the words in them. Changing one of these, or
 * the meaning of a word, takes the next number. Processes with another number are refused; the
 * message names both versions.
 */
#define DPA_BOARD_LAYOUT    25
#define DPA_BOARD_PROCS	    4096  /* a process costs 4 KiB + 256 bytes */
#define DPA_BOARD_QPNS	    65536 /* index part of a QPN; at most DPA_MAX_QP are in use */
#define DPA_BOARD_UAR_PAGES 2048  /* * DPA_UAR_SLOTS = DPA_MAX_QP slots */
#define DPA_BOARD_COUNTERS  64
#define DPA_BOARD_XRCDS	    4096 /* one for each process and open XRC domain file */

/* Owner word: 0: free; else generation (never 0) << 16 | process index. */
typedef uint64_t dpa_owner_t;

static inline dpa_owner_t dpa_owner(uint32_t slot, uint32_t gen)
{
	return ((uint64_t)gen << 16) | slot;
}

static inline uint32_t dpa_owner_slot(dpa_owner_t o)
{
	return (uint32_t)(o & 0xffff);
}

static inline uint32_t dpa_owner_gen(dpa_owner_t o)
{
	return (uint32_t)(o >> 16);
}

/* Requests of tools to all processes of the board: ask.c. */
enum dpa_board_ask_what {
	DPA_ASK_FAULT,
	DPA_ASK_CAPTURE,
	DPA_ASK_LINK,
	DPA_ASK_PORT,	  /* DPA_BOARD_PORT_DOWN, or "" */
	DPA_ASK_TIMELINE, /* "WORD@TOOL" as the setting `timeline`, or "" */
	DPA_ASKS
};
#define DPA_BOARD_ASK_TEXT  248
#define DPA_BOARD_ASK_OWN   UINT32_MAX
#define DPA_BOARD_PORT_DOWN "down"

#define DPA_BOARD_METER_EUS 16 /* EUs of a process that tools see */

enum dpa_board_proc_state { DPA_PROC_FREE, DPA_PROC_LIVE, DPA_PROC_REAPING };

/*
 * One process of the board: 256 bytes.
 *
 *   gen, state   Written under the board's lock (release) by the process that takes or leaves the
 *                entry, or that reaps it. Read by all (acquire). gen is written before the rest of
 *                the entry, LIVE behind it: a copy of the rest reads gen before and after.
 *   asked        Written by the owner (release), read by tools (acquire): ask.c.
 *   udp          Changed by the owner and by its reaper, by atomic read-modify-write; see steer.c.
 *   gsi          Written by the owner (release), read by all (acquire); see cm.h.
 *   the rest     For display only. Written by the owner before LIVE, the counts at each change.
 *                pid (relaxed) and the counts are also written by a reaper. Tools copy the entry
 *                once: the copy may be half new.
 */
struct dpa_board_proc {
	_Atomic uint32_t gen;	/* of the current or last process; never 0 once used */
	_Atomic uint32_t state; /* enum dpa_board_proc_state */
	_Atomic uint32_t pid;	/* in its own pid namespace; for display, never for liveness */
	uint32_t uid;
	uint64_t start_ns; /* CLOCK_REALTIME */
	char comm[16];
	char lib_version[24];
	uint32_t placement; /* enum dpa_placement: default of its QPs */
	uint32_t nqp, ncq, nmr;
	/*
	 * generation of each request that it has carried out (ask.c); DPA_BOARD_ASK_OWN: the
	 * process has a setting of its own
	 */
	_Atomic uint32_t asked[DPA_ASK_LINK];
	/* steer.c: DPA_BOARD_UDP, index + 1 and round if it has UDP port 4791 open; else 0 */
	_Atomic uint64_t udp;
	/*
	 * Its own generation once it ends, written by itself (release). It does not use the file
	 * any more, although its lock byte may still be held.
	 */
	_Atomic uint32_t leaving;
	/*
	 * Incremented by itself (relaxed) when it has no file descriptor left, not even to refuse a
	 * connection with. Read by processes that wait for it to accept one (link/sock.c).
	 */
	_Atomic uint32_t no_fds;
	_Atomic uint64_t gsi;	     /* generation << 32 | QPN of its QP1 endpoint; cm.h */
	uint32_t npd, nsrq, nctx;    /* like nqp */
	_Atomic uint32_t asked_link; /* like asked[] */
	_Atomic uint32_t asked_timeline;
	/* tables/inject.c: index of its record + 1, 0: none; written under the admin lock (release) */
	_Atomic uint32_t inject;
	/*
	 * meter/meter.h. CLOCK_MONOTONIC ns of the last figures, 0: none (release, after them); its
	 * progress thread; its EUs. Written by itself (relaxed), read by tools.
	 */
	_Atomic uint64_t meter_at;
	_Atomic uint32_t meter_own, meter_eu[DPA_BOARD_METER_EUS];
	_Atomic uint32_t asked_port; /* like asked[] */
	uint8_t rsvd[256 - 216];
};

static inline uint32_t dpa_proc_pid(const struct dpa_board_proc *p)
{
	return atomic_load_explicit(&p->pid, memory_order_relaxed);
}

/* The word that records which generation of a request the process has carried out. */
static inline _Atomic uint32_t *dpa_proc_asked(struct dpa_board_proc *p,
					       enum dpa_board_ask_what what)
{
	switch (what) {
	case DPA_ASK_LINK:
		return &p->asked_link;
	case DPA_ASK_PORT:
		return &p->asked_port;
	case DPA_ASK_TIMELINE:
		return &p->asked_timeline;
	default:
		return &p->asked[what];
	}
}

#define DPA_BOARD_NO_COPY 0x100u
/* A QP's record for display (dpactl ps): 64 bytes. Written by its owner (relaxed). */
struct dpa_board_qpinfo {
	uint32_t qpn;	   /* full 24 bits, 0: no QP */
	uint8_t type;	   /* enum dpa_qp_type */
	uint8_t sq_psn[3]; /* its first send PSN, low byte first; 0: not set yet */
	uint32_t state;	   /* enum dpa_qp_state */
	uint32_t dest_qpn;
	uint32_t placement; /* enum dpa_placement */
	uint32_t uar;	    /* page * DPA_UAR_SLOTS + slot */
	uint32_t send_cqn, recv_cqn;
	uint8_t dgid[16];
	/*
	 * 0 none, 1 loopback, 2 shared memory, 3 RoCEv2; | DPA_BOARD_NO_COPY: the kernel does not
	 * let it copy its peer's memory
	 */
	uint32_t link;
	/*
	 * For an XRC target QP: the words that the other processes of its XRC domain use
	 * (transport/xrc_branch.c): its domain; its attributes, packed; a connection number that
	 * changes with each connection, 0 while it is connected to no initiator of this board.
	 *
	 * Written by the owner under the QP's lock: conn = 0 (release fence), then state, dest_qpn
	 * and dgid of the new connection, then conn (release). A reader reads conn (acquire), the
	 * others, and conn again (acquire fence). The values belong to that connection if both
	 * reads of conn are equal. The attributes may change while conn does not: they are one
	 * relaxed word, written before ibv_modify_qp() returns and read at each request.
	 */
	uint32_t xrcd, how, conn;
};

static inline void dpa_board_set_psn(struct dpa_board_qpinfo *q, uint32_t psn)
{
	for (int i = 0; i < 3; i++)
		q->sq_psn[i] = (uint8_t)(psn >> 8 * i);
}

static inline uint32_t dpa_board_psn(const struct dpa_board_qpinfo *q)
{
	return q->sq_psn[0] | (uint32_t)q->sq_psn[1] << 8 | (uint32_t)q->sq_psn[2] << 16;
}

/* A CQ's record for display: 32 bytes. A process shows DPA_BOARD_CQINFO CQs at most. */
#define DPA_BOARD_CQINFO 64
struct dpa_board_cqinfo {
	uint32_t cqn; /* 0: none */
	uint32_t depth;
	uint32_t armed;
	uint32_t flags;
	uint64_t cqes; /* total produced; updated every few CQEs */
	uint64_t rsvd;
};

/*
 * A memory region's record for display: 24 bytes. A process shows DPA_BOARD_MRINFO regions at most.
 *
 * word   written by the process, in one store: under hw->ctl, after addr and length (seq_cst; key 0:
 *        release); without a lock, by compare-and-swap of the same key, when peers lose the mapped way
 *        (seq_cst). Read by tools (acquire).
 * addr, length   written under hw->ctl while key is 0 (relaxed).
 */
#define DPA_BOARD_MRINFO 64
struct dpa_board_mrinfo {
	union {
		struct {
			uint32_t key; /* 0: none */
			uint8_t way;  /* enum dpa_mr_way */
			uint8_t why;  /* enum dpa_share_why: why there is no faster way */
			uint8_t rsvd[2];
		};
		uint64_t word;
	};
	uint64_t addr, length;
};

/*
 * Administration of one UAR page: 16*8 + 16*4 + 64 = 256 bytes. A page is full when no owner word
 * is 0; there is no counter that could be wrong. Its place in the global list is in board_layout.h.
 */
struct dpa_board_uar {
	/* Set under the board's lock (release). Cleared by the owner without the lock (release). */
	_Atomic dpa_owner_t slot_owner[DPA_UAR_SLOTS];
	/* For display: written by the owner (relaxed). 0: no QP yet. */
	_Atomic uint32_t slot_qpn[DPA_UAR_SLOTS];
	uint8_t rsvd[64];
};

/* Counters, one array for each process. dpa_counter_names[] has the same order. */
/* clang-format off */
#define DPA_COUNTERS(X)                                                                            \
	X(tx_packets)                                                                              \
	X(tx_bytes)                                                                                \
	X(rx_packets)                                                                              \
	X(rx_bytes)                                                                                \
	X(tx_sends)                                                                                \
	X(tx_writes)                                                                               \
	X(tx_reads)                                                                                \
	X(tx_atomics)                                                                              \
	X(rx_sends)                                                                                \
	X(rx_write_requests)                                                                       \
	X(rx_read_requests)                                                                        \
	X(rx_atomic_requests)                                                                      \
	X(duplicate_request)                                                                       \
	X(implied_nak_seq_err)                                                                     \
	X(local_ack_timeout_err)                                                                   \
	X(out_of_sequence)                                                                         \
	X(packet_seq_err)                                                                          \
	X(rnr_nak_retry_err)                                                                       \
	X(rnr_nak_sent)                                                                            \
	X(req_cqe_error)                                                                           \
	X(req_cqe_flush_error)                                                                     \
	X(req_remote_access_errors)                                                                \
	X(req_remote_invalid_request)                                                              \
	X(resp_cqe_error)                                                                          \
	X(resp_cqe_flush_error)                                                                    \
	X(resp_local_length_error)                                                                 \
	X(resp_remote_access_errors)                                                               \
	X(rx_dropped)                                                                              \
	X(rx_malformed)                                                                            \
	X(doorbells)                                                                               \
	X(blueflames)                                                                              \
	X(wakeups_sent)                                                                            \
	X(eu_wakeups)                                                                              \
	X(pull_bytes)                                                                              \
	X(ring_full)                                                                               \
	X(peers_died)                                                                              \
	X(rx_icrc_encapsulated)                                                                    \
	X(tx_dropped)                                                                              \
	X(np_ecn_marked_roce_packets)                                                              \
	X(np_cnp_sent)                                                                             \
	X(rp_cnp_handled)                                                                          \
	X(rp_cnp_ignored)                                                                          \
	X(fault_dropped)                                                                           \
	X(fault_duplicated)                                                                        \
	X(fault_reordered)                                                                         \
	X(fault_delayed)                                                                           \
	X(fault_corrupted)                                                                         \
	X(fault_truncated)                                                                         \
	X(fault_overflow)                                                                          \
	X(capture_packets)                                                                         \
	X(capture_lost)                                                                            \
	X(rx_forwarded)                                                                            \
	X(direct_ops)                                                                              \
	X(direct_bytes)                                                                            \
	X(mapped_ops)                                                                              \
	X(pull_brought)                                                                            \
	X(ahead_from_elsewhere)                                                                    \
	X(ahead_copies_differ)                                                                     \
	X(duplicate_read_refused)                                                                  \
	X(duplicate_read_limited)                                                                  \
	X(link_dropped)                                                                            \
	X(link_marked)                                                                             \
	X(link_waited)                                                                             \
	X(timeline_dropped)
/* clang-format on */

enum dpa_counter {
#define X(n) DPA_CNT_##n,
	DPA_COUNTERS(X)
#undef X
		DPA_CNT_NUM
};
extern const char *const dpa_counter_names[DPA_CNT_NUM];
_Static_assert(DPA_CNT_NUM <= DPA_BOARD_COUNTERS, "room for counters");

/*
 * Map from QPN blocks to the sockets of UDP port 4791, as the kernel has it: 8 * 4 = 32 bytes, in
 * the head page. See steer.c.
 */
struct dpa_board_steer {
	/* random; written once under the board's lock, [0] last and never 0 */
	_Atomic uint32_t nonce[4];
	/* changes when a socket was closed: each process finds its index again */
	_Atomic uint32_t round;
	_Atomic uint32_t want;	/* changes when the map is out of date */
	_Atomic uint32_t built; /* value of `want` when the kernel got its map */
	uint32_t rsvd;
};
#define DPA_BOARD_UDP	     (1ull << 32)
#define DPA_BOARD_QPN_BLOCK  64u /* a process takes QPNs in blocks of this size: qpn.c */
#define DPA_BOARD_QPN_BLOCKS (DPA_BOARD_QPNS / DPA_BOARD_QPN_BLOCK)

#define DPA_BOARD_CPUS 256u /* processors with a word of their own; the others share one */

#define DPA_PCC_BUILTIN_COUNTERS 16u /* of one built-in congestion control algorithm */

/*
 * State of the port's congestion control in one word: bits 0..15 enabled slots; 16..23 slots of the
 * image that have an algorithm; 24..28 the slot whose counters count, plus 1 (0: none); 29 flows are
 * recorded; 30..47 a number that changes with each update; 48..63 the number of the image.
 */
#define DPA_BOARD_PCC_POPULATED 16
#define DPA_BOARD_PCC_COUNTING	24
#define DPA_BOARD_PCC_RECORD	29
#define DPA_BOARD_PCC_CHANGE	30
#define DPA_BOARD_PCC_IMAGE	48
/* State in a new file: DCQCN is enabled, and its counters count. */
#define DPA_BOARD_PCC_FRESH                                                                        \
	((UINT64_C(1) << DPA_PCC_SLOT_DCQCN) |                                                     \
	 ((uint64_t)(DPA_PCC_SLOT_DCQCN + 1) << DPA_BOARD_PCC_COUNTING))

#define DPA_BOARD_FLOW_RULE 992 /* bytes of a flow rule */

struct dpa_board_shm; /* layout of the file: board_layout.h */

/* Attachment of this process to a board. */
struct dpa_board {
	struct dpa_board_shm *shm;
	size_t map_len;
	int fd;		    /* for queries and reservations; holds no lock byte */
	uint32_t slot, gen; /* of this process */
	uint32_t board_num; /* high 8 bits of the QPNs: 1..254 */
	uint32_t uar_pages; /* of this board: 1..DPA_BOARD_UAR_PAGES */
	char id[33];	    /* hex id of the board: part of the socket names of its processes */
	char path[256];
	struct dpa_board_proc *self;
	_Atomic uint64_t *counters; /* of this process: DPA_BOARD_COUNTERS words */
	/* socket that claims board_num in the namespace; -1: another process holds it */
	int num_fd;
	/* The rest is private to device/board. */
	uint32_t uid;	/* user of the board */
	uint64_t netns; /* inode of its network namespace; 0: unknown */
	int lock_fd;	/* holds the lock byte if the mapping alone does not; normally -1 */
	pid_t pid;	/* of the process that opened it; any other may only abandon it */
	uint64_t dev;	/* of the file: detects that the application closed fd (closefrom) */
	uint64_t ino;
	uint64_t num_dev, num_ino;  /* the same for num_fd; all under num_busy */
	atomic_flag num_busy;	    /* taken (acquire) by try; only fork() waits for it */
	bool peek;		    /* read-only, no process index */
	_Atomic uint32_t nuar;	    /* UAR slots held: 0 saves a scan at close */
	_Atomic uint32_t nqpn;	    /* QPNs held */
	_Atomic uint32_t qpn_block; /* block that the next QPN comes from; UINT32_MAX: none yet */
	_Atomic uint32_t nxrc;	    /* XRC domains and SRQs ever created: 0 saves a scan */
	_Atomic uint32_t next_xsrq; /* where the search for a free XRC SRQ begins */
};

struct dpa_board_cfg {
	const char *path;	 /* NULL: the default path of this user and namespace */
	const char *lib_version; /* never NULL; EPROTO if the board has another version */
	uint32_t placement;	 /* enum dpa_placement: the placement shown for this process */
	/* UAR pages of a board that this call creates; 0: DPA_BOARD_UAR_PAGES */
	uint32_t uar_pages;
};

/*
 * Attach this process: create the file if there is none, reap processes that died, take a process
 * index. Never prints.
 * cfg: what to open. *board: set on success; release it with dpa_board_close(). err: gets one line
 * of errlen bytes at most for the log.
 * Returns 0 or an errno. EPROTO: the file is foreign, corrupt or of another version; err names the
 * file and both versions. ENOSPC: all process indices are taken.
 */
int dpa_board_open(const struct dpa_board_cfg *cfg, struct dpa_board **board, char *err,
		   size_t errlen);
/* Free what this process owns on the board, then detach. The last process removes the file. */
void dpa_board_close(struct dpa_board *b);
/*
 * Leave the board at the end of the process. Removes the file unless another process is attached.
 * The board stays usable for other threads, which may still run. Their objects are reaped as if the
 * process had been killed.
 */
void dpa_board_exit(struct dpa_board *b);
/*
 * In a forked child: close the descriptors and leave the board's contents as they are. The child
 * does not have the mapping (MADV_DONTFORK, because the mapping holds the lock byte): it must not
 * touch anything that a board call returned.
 */
void dpa_board_abandon(struct dpa_board *b);
/* Attach read-only, for tools: takes no process index. ENOENT: there is no board. */
int dpa_board_peek(const struct dpa_board_cfg *cfg, struct dpa_board **board, char *err,
		   size_t errlen);
void dpa_board_unpeek(struct dpa_board *b);
/* Write the default path for this user and network namespace. */
int dpa_board_default_path(char *path, size_t len);

/*
 * True if the process (slot, gen) is alive, that is, holds its lock byte. Never true for a dead
 * one.
 */
bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen);
/*
 * Return the listening socket that claims the board's number, and its inode. -1: another process of
 * the board holds it. -2: another thread uses it. may_claim: take the number over first if no
 * process holds it. The board keeps ownership of the descriptor.
 */
int dpa_board_num_fd(struct dpa_board *b, bool may_claim, uint64_t *ino);
/*
 * True if a process of the namespace has that board number, or if this cannot be found out. Any
 * thread; makes some system calls. False for up to 2 s after the process that holds the number
 * died, although the board has other processes.
 */
bool dpa_board_num_there(uint32_t num);
/*
 * Before fork(): wait until no thread claims the socket, so that dpa_board_abandon() finds it in
 * the child. May be called under any lock: a thread that claims the socket waits for no lock.
 */
void dpa_board_num_hold(struct dpa_board *b);
void dpa_board_num_release(struct dpa_board *b);
/*
 * Free everything that dead processes own (UAR slots, QPNs, process indices) and add their counters
 * to the board's. Returns the number of processes reaped. Called at open, by the progress thread
 * when a peer died, and before ENOMEM or ENOSPC is returned.
 */
int dpa_board_reap(struct dpa_board *b);

/*
 * Record that this process's receiving socket exists (its index in the kernel's group is not known
 * yet), or that it is closed. The kernel's program is out of date after that.
 */
void dpa_board_steer_join(struct dpa_board *b);
void dpa_board_steer_leave(struct dpa_board *b);
/* Begin a new round. */
void dpa_board_steer_again(struct dpa_board *b);
struct dpa_board_steer *dpa_board_steer(struct dpa_board *b);
/* The word that holds the last poller on a processor. */
_Atomic uint32_t *dpa_board_poller(struct dpa_board *b, uint32_t cpu);
/*
 * Record the socket index of this process in a round. Returns false if the index is known already
 * or the round is over. Any thread; no lock.
 */
bool dpa_board_steer_found(struct dpa_board *b, uint32_t round, uint32_t index);
/* True if the socket index of this process is not known in this round. */
bool dpa_board_steer_lost(struct dpa_board *b);
/* Upper bound of the number of sockets: processes that joined, and some that are closing. */
uint32_t dpa_board_steer_sockets(struct dpa_board *b);
/* Check that the processes that joined next to this one live. Returns true if one was reaped. */
bool dpa_board_steer_watch(struct dpa_board *b);
/*
 * Begin and end an update of the kernel's map. map: for each block of QPNs the socket index of its
 * owner plus 1; 0: unknown. The steering lock is held from begin to end. dpa_board_steer_begin()
 * returns 0 or an errno (EBUSY: another thread has the lock) and sets *want, the argument of
 * dpa_board_steer_end(). dpa_board_steer_end() records that the kernel has this map.
 */
int dpa_board_steer_begin(struct dpa_board *b, uint16_t map[DPA_BOARD_QPN_BLOCKS], uint32_t *want);
void dpa_board_steer_end(struct dpa_board *b, bool done, uint32_t want);

/*
 * The calls from here on return ENOMEM when all entries are taken, and ENOSPC when the file must
 * grow and cannot: its file system is full.
 *
 * UAR: the global list of the patent. Take the page at the head, move it to the tail, and return
 * its first free slot. If the page has none, go on with the next page. ENOMEM: every slot of the
 * BAR is taken.
 */
int dpa_board_uar_alloc(struct dpa_board *b, uint32_t *page, uint32_t *slot);
void dpa_board_uar_free(struct dpa_board *b, uint32_t page, uint32_t slot);
struct dpa_uar_slot *dpa_board_uar_addr(struct dpa_board *b, uint32_t page, uint32_t slot);
/* NULL if no slot of the page was ever used: the page has no memory yet. */
struct dpa_board_uar *dpa_board_uar_page(struct dpa_board *b, uint32_t page);

/*
 * QPN: board_num << 16 | index, with a random index. A freed QPN is quarantined: for at least 1 s,
 * or longer while others are free. ENOMEM: none is free.
 */
int dpa_board_qpn_alloc(struct dpa_board *b, uint32_t *qpn);
void dpa_board_qpn_free(struct dpa_board *b, uint32_t qpn);
/* Find the owner of a QPN. False: the QPN is free, or of another board. Lock-free. */
bool dpa_board_qpn_owner(struct dpa_board *b, uint32_t qpn, uint32_t *slot, uint32_t *gen);
/* NULL if that QPN was never used (the file is sparse); never NULL while the QPN has an owner. */
struct dpa_board_qpinfo *dpa_board_qpinfo(struct dpa_board *b, uint32_t qpn);
/* NULL if neither this entry nor one in the same 4 KiB was ever used: it has no memory yet. */
struct dpa_board_proc *dpa_board_proc(struct dpa_board *b, uint32_t slot);
/*
 * Return the first process index from `slot` on for which dpa_board_proc() is not NULL;
 * DPA_BOARD_PROCS: none. For loops over all processes: entries that were never used cost nothing.
 */
uint32_t dpa_board_proc_next(struct dpa_board *b, uint32_t slot);
/* Find the live process at the highest index below this one's, or below the end. False: there is none. */
bool dpa_board_proc_before(struct dpa_board *b, uint32_t *slot, uint32_t *gen);
/* The DPA_BOARD_CQINFO CQ records of a process; NULL if the entry was never used. */
struct dpa_board_cqinfo *dpa_board_cqinfo(struct dpa_board *b, uint32_t slot);
/* The DPA_BOARD_MRINFO region records of a process; NULL likewise. */
struct dpa_board_mrinfo *dpa_board_mrinfo(struct dpa_board *b, uint32_t slot);
/* Counters of a process (NULL if the entry was never used), and the sum of processes that ended. */
_Atomic uint64_t *dpa_board_counters(struct dpa_board *b, uint32_t slot);
_Atomic uint64_t *dpa_board_counters_past(struct dpa_board *b);

#endif
