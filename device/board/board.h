/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * board.h - the software adapter that all processes of one user in one network namespace share.
 *
 * A small file holds the BAR (UAR pages), the UAR free list, the QPN space, the process table and
 * the counters. Owner words (process slot and generation) are the only truth; lists and counts are
 * rebuilt from them when a process died. DESIGN: sections 4 and 5 of the architecture page.
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
 * Of the board file, and of all that processes of a board read and write of each other: the hello,
 * struct dpa_export and struct dpa_door, rings, the words in them. A change of one of these, or of
 * the meaning of a word in it, takes the next number: others are refused, with both versions
 * named.
 */
#define DPA_BOARD_LAYOUT    16
#define DPA_BOARD_PROCS	    4096  /* a process costs a page and a sixteenth of one */
#define DPA_BOARD_QPNS	    65536 /* index part of a QPN; DPA_MAX_QP of them can be in use */
#define DPA_BOARD_UAR_PAGES 2048  /* * DPA_UAR_SLOTS = DPA_MAX_QP slots */
#define DPA_BOARD_COUNTERS  64
#define DPA_BOARD_XRCDS	    4096 /* XRC domains of files, one for each process that has it open */

/* Owner word: 0 is free; else generation (never 0) << 16 | process slot. */
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
enum dpa_board_ask_what { DPA_ASK_FAULT, DPA_ASK_CAPTURE, DPA_ASK_LINK, DPA_ASKS };
#define DPA_BOARD_ASK_TEXT 248
#define DPA_BOARD_ASK_OWN  UINT32_MAX

enum dpa_board_proc_state { DPA_PROC_FREE, DPA_PROC_LIVE, DPA_PROC_REAPING };

/*
 * One process of the board: 256 bytes.
 *
 *   gen, state   written under the board's lock (release) by who takes the slot, leaves it or reaps
 *                it; read by everybody (acquire). gen before LIVE.
 *   asked        written by the owner (release), read by tools (acquire): ask.c.
 *   udp          the owner, and who reaps it: atomic read-modify-write; see steer.c.
 *   gsi          written by the owner (release), read by everybody (acquire); see cm.h.
 *   the rest     for people: written by the owner before LIVE or, the counts, whenever they change;
 *                pid and the counts also by who reaps. Tools copy it once: it may be half new.
 */
struct dpa_board_proc {
	_Atomic uint32_t gen; /* of the process that has or last had the slot; never 0 once used */
	_Atomic uint32_t state; /* enum dpa_board_proc_state */
	uint32_t pid; /* as its own pid namespace calls it: for people, never for liveness */
	uint32_t uid;
	uint64_t start_ns; /* CLOCK_REALTIME */
	char comm[16];
	char lib_version[24];
	uint32_t placement; /* enum dpa_placement: of a QP that it creates */
	uint32_t nqp, ncq, nmr;
	/* generations that it follows (ask.c); DPA_BOARD_ASK_OWN: it has a setting of its own */
	_Atomic uint32_t asked[DPA_ASK_LINK];
	/* steer.c: 0, or of a process that has UDP port 4791 open: DPA_BOARD_UDP, index + 1, round
	 */
	_Atomic uint64_t udp;
	/* its own generation, written by itself at its end (release): it has no more use for the
	 * file, though its byte may be held still */
	_Atomic uint32_t leaving;
	/* counted up by itself (relaxed): it had no descriptor, not even to refuse a connection
	 * with. Read by those that wait for it to accept one (link/sock.c) */
	_Atomic uint32_t no_fds;
	_Atomic uint64_t gsi;	     /* generation << 32 | QPN of its QP1 endpoint; cm.h */
	uint32_t npd, nsrq, nctx;    /* as nqp */
	_Atomic uint32_t asked_link; /* as asked[] */
	uint8_t rsvd[256 - 128];
};

/* Where the process says which generation of a request it follows. */
static inline _Atomic uint32_t *dpa_proc_asked(struct dpa_board_proc *p,
					       enum dpa_board_ask_what what)
{
	return what == DPA_ASK_LINK ? &p->asked_link : &p->asked[what];
}

#define DPA_BOARD_NO_COPY 0x100u
/* Shown to people of a QP (dpactl ps): written by its owner, relaxed; 64 bytes. */
struct dpa_board_qpinfo {
	uint32_t qpn;	   /* full 24 bits, 0: no QP */
	uint8_t type;	   /* enum dpa_qp_type */
	uint8_t sq_psn[3]; /* the send PSN that it was given, low byte first; 0: none yet */
	uint32_t state;	   /* enum dpa_qp_state */
	uint32_t dest_qpn;
	uint32_t placement; /* enum dpa_placement */
	uint32_t uar;	    /* page * DPA_UAR_SLOTS + slot */
	uint32_t send_cqn, recv_cqn;
	uint8_t dgid[16];
	/* 0 none, 1 loopback, 2 shared memory, 3 RoCEv2; | DPA_BOARD_NO_COPY: the kernel does not
	 * let it copy its peer's memory */
	uint32_t link;
	/*
	 * Of an XRC target, what the other processes of its domain go by (transport/xrc_branch.c):
	 * its domain, its attributes packed, and a number that is another with each connection, 0
	 * while it has none to an initiator of this board. Written by its owner under the QP's
	 * lock: conn is 0 (release fence) before state, dest_qpn and dgid become those of another
	 * connection, then conn (release). Read conn (acquire), the others, and conn again
	 * (acquire fence): what lies between is of that connection if both are the same. The
	 * attributes change while conn does not: one relaxed word, there before ibv_modify_qp()
	 * returns, read at each request.
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

/* Shown to people of a CQ: 32 bytes, DPA_BOARD_CQINFO of a process at most, the rest is not
 * shown. */
#define DPA_BOARD_CQINFO 64
struct dpa_board_cqinfo {
	uint32_t cqn; /* 0: none */
	uint32_t depth;
	uint32_t armed;
	uint32_t flags;
	uint64_t cqes; /* produced in all, in steps of some */
	uint64_t rsvd;
};

/* Shown to people of a region: 24 bytes, DPA_BOARD_MRINFO of a process at most. Relaxed. */
#define DPA_BOARD_MRINFO 64
struct dpa_board_mrinfo {
	uint32_t key; /* 0: none. Written last, and first to 0 */
	uint8_t way;  /* enum dpa_mr_way */
	uint8_t why;  /* enum dpa_share_why: no shorter way */
	uint8_t rsvd[2];
	uint64_t addr, length;
};

/*
 * One UAR page's administration: 16*8 + 16*4 + 64 = 256 bytes. A page is full when no owner word is
 * 0: there is no count that could go wrong. Its place in the global list is in board_layout.h.
 */
struct dpa_board_uar {
	/* set under the board's lock (release), cleared by the owner without it (release) */
	_Atomic dpa_owner_t slot_owner[DPA_UAR_SLOTS];
	/* for people: written by the owner, relaxed; 0: no QP yet */
	_Atomic uint32_t slot_qpn[DPA_UAR_SLOTS];
	uint8_t rsvd[64];
};

/* Counters, one array a process; names in dpa_counter_names[] in the same order. */
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
	X(link_waited)
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
 * Which of the board's processes the kernel gives a packet of UDP port 4791: 8 * 4 = 32 bytes, in
 * the head page. See steer.c.
 */
struct dpa_board_steer {
	/* random; written once under the board's lock, [0] last and never 0 */
	_Atomic uint32_t nonce[4];
	_Atomic uint32_t round; /* changes when a socket went: all indices are asked for again */
	_Atomic uint32_t want;	/* changes when the map is out of date */
	_Atomic uint32_t built; /* `want` of the map that the kernel has */
	uint32_t rsvd;
};
#define DPA_BOARD_UDP	     (1ull << 32)
#define DPA_BOARD_QPN_BLOCK  64u /* QPNs are taken in blocks of so many: qpn.c */
#define DPA_BOARD_QPN_BLOCKS (DPA_BOARD_QPNS / DPA_BOARD_QPN_BLOCK)

#define DPA_BOARD_CPUS 256u /* whose pollers are told apart; others share a word */

#define DPA_PCC_BUILTIN_COUNTERS 16u /* of a built-in algorithm of congestion control */

/*
 * The port's congestion control in one word: bits 0..15 slots that are enabled,
 * 16..23 slots of the image that have an algorithm, 24..28 the slot whose counters count plus 1 (0:
 * none), 29..47 a number that is another after each change, 48..63 the number of the image.
 */
#define DPA_BOARD_PCC_POPULATED 16
#define DPA_BOARD_PCC_COUNTING	24
#define DPA_BOARD_PCC_CHANGE	29
#define DPA_BOARD_PCC_IMAGE	48
/* Of a new file: DCQCN acts, and its counters count. */
#define DPA_BOARD_PCC_FRESH                                                                        \
	((UINT64_C(1) << DPA_PCC_SLOT_DCQCN) |                                                     \
	 ((uint64_t)(DPA_PCC_SLOT_DCQCN + 1) << DPA_BOARD_PCC_COUNTING))

#define DPA_BOARD_FLOW_RULE 992 /* bytes of a flow rule */

struct dpa_board_shm; /* the file's layout: board_layout.h */

/* An attachment of this process to a board. */
struct dpa_board {
	struct dpa_board_shm *shm;
	size_t map_len;
	int fd;		    /* of the file: for queries and reservations, holds no lock byte */
	uint32_t slot, gen; /* of this process */
	uint32_t board_num; /* high 8 bits of its QPNs: 1..254 */
	uint32_t uar_pages; /* of this board: 1..DPA_BOARD_UAR_PAGES */
	char id[33];	    /* hex id of the board: part of its processes' socket names */
	char path[256];
	struct dpa_board_proc *self;
	_Atomic uint64_t *counters; /* this process's, DPA_BOARD_COUNTERS of them */
	int num_fd; /* socket that claims board_num in the namespace, -1 if another process holds it
		     */
	/* The rest is device/board's own. */
	uint32_t uid;	/* whose board */
	uint64_t netns; /* inode of its network namespace; 0: not known */
	int lock_fd;	/* holds the lock byte where the mapping alone cannot; normally -1 */
	pid_t pid;	/* of the process that opened it: others may only abandon */
	uint64_t dev;	/* which file: fd may be closed under our feet (closefrom) */
	uint64_t ino;
	uint64_t num_dev, num_ino;  /* of num_fd, likewise; all under num_busy */
	atomic_flag num_busy;	    /* our threads: taken (acquire) by try only, but for fork() */
	bool peek;		    /* read-only, no slot */
	_Atomic uint32_t nuar;	    /* UAR slots held: 0 saves a scan at close */
	_Atomic uint32_t nqpn;	    /* QPNs held */
	_Atomic uint32_t qpn_block; /* where the next QPN is taken; UINT32_MAX: none yet */
	_Atomic uint32_t nxrc;	    /* XRC domains and SRQs that it ever had: 0 saves a scan */
	_Atomic uint32_t next_xsrq; /* where the next XRC SRQ is looked for */
};

struct dpa_board_cfg {
	const char *path;	 /* NULL: the default place for this user and namespace */
	const char *lib_version; /* never NULL; another version on the board: EPROTO */
	uint32_t placement;	 /* enum dpa_placement: what people are shown as this process's */
	uint32_t uar_pages;	 /* of a board that this one creates; 0: DPA_BOARD_UAR_PAGES */
};

/*
 * Attaches this process: creates the file if there is none, refuses a foreign, corrupt or
 * other-version one (EPROTO; err names the file and both versions), reaps processes that died,
 * takes a process slot (ENOSPC if all are taken). Never prints. 0 or errno; err gets one line for
 * the log.
 */
int dpa_board_open(const struct dpa_board_cfg *cfg, struct dpa_board **board, char *err,
		   size_t errlen);
/* Frees what this process owns on the board; the last one out leaves the file clean (removed). */
void dpa_board_close(struct dpa_board *b);
/*
 * The process ends with the board open: the file goes unless somebody else is on it. The board
 * stays usable for other threads, which may be running still; what is owned there is reaped as
 * that of a process which was killed.
 */
void dpa_board_exit(struct dpa_board *b);
/*
 * In a forked child: drops the descriptors without touching the board's contents. The child never
 * has the mapping (MADV_DONTFORK, since the mapping holds the lock byte): it must not touch
 * anything that a board call returned.
 */
void dpa_board_abandon(struct dpa_board *b);
/* Read-only attachment for tools: takes no slot. ENOENT if there is no board. */
int dpa_board_peek(const struct dpa_board_cfg *cfg, struct dpa_board **board, char *err,
		   size_t errlen);
void dpa_board_unpeek(struct dpa_board *b);
/* The default path for this user and network namespace. */
int dpa_board_default_path(char *path, size_t len);

/* Is the process (slot, gen) alive: it holds its lock byte. Never true for a dead one. */
bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen);
/*
 * The listening socket that claims the board's number, and its inode; -1 if another process of the
 * board holds it, -2 if another thread is at it. may_claim: takes it over first if none does. The
 * descriptor stays the board's.
 */
int dpa_board_num_fd(struct dpa_board *b, bool may_claim, uint64_t *ino);
/*
 * True if a process of the namespace has that board number; also if that cannot be told. Any thread;
 * some system calls. For up to 2 s after the death of the process that holds it, a board that has
 * others has none.
 */
bool dpa_board_num_there(uint32_t num);
/*
 * Around fork(): that socket, if there is one, is where dpa_board_abandon() finds it, since nobody
 * is claiming. Under any lock: who claims waits for none.
 */
void dpa_board_num_hold(struct dpa_board *b);
void dpa_board_num_release(struct dpa_board *b);
/*
 * Frees everything that dead processes own: UAR slots, QPNs, process slots; folds their counters
 * into the board's. Returns the number of processes reaped. Called at open, by the parked EU when a
 * peer died, and before ENOMEM or ENOSPC is given out.
 */
int dpa_board_reap(struct dpa_board *b);

/*
 * This process's receiving socket is there (its place in the kernel's group is not known yet), or
 * is gone. The kernel's program is then out of date.
 */
void dpa_board_steer_join(struct dpa_board *b);
void dpa_board_steer_leave(struct dpa_board *b);
/* Begins a new round. */
void dpa_board_steer_again(struct dpa_board *b);
struct dpa_board_steer *dpa_board_steer(struct dpa_board *b);
/* Of that processor: who polled there last. */
_Atomic uint32_t *dpa_board_poller(struct dpa_board *b, uint32_t cpu);
/* Its place, as of a round; false: known, or out of date. Any thread; no lock. */
bool dpa_board_steer_found(struct dpa_board *b, uint32_t round, uint32_t index);
/* Is the place of this process not known in this round? */
bool dpa_board_steer_lost(struct dpa_board *b);
/* Highest number of sockets that there may be: processes that joined and some that are closing. */
uint32_t dpa_board_steer_sockets(struct dpa_board *b);
/* Looks whether the processes that joined next to this one live; true if one was reaped. */
bool dpa_board_steer_watch(struct dpa_board *b);
/*
 * For each block of QPNs the index of its owner's socket plus 1, 0: not known. Held: the steering
 * lock, from begin to end; begin: 0 or errno (EBUSY), *want for end, which says that the kernel has
 * it.
 */
int dpa_board_steer_begin(struct dpa_board *b, uint16_t map[DPA_BOARD_QPN_BLOCKS], uint32_t *want);
void dpa_board_steer_end(struct dpa_board *b, bool done, uint32_t want);

/*
 * The calls from here on return ENOMEM when all of it is taken, and ENOSPC when the file would have
 * to grow for more and cannot: its file system is full.
 *
 * UAR: the patent's global list. Takes the page at the head, moves it to the tail, gives its first
 * free slot; goes on with the next page if it has none; ENOMEM when every slot of the BAR is taken.
 */
int dpa_board_uar_alloc(struct dpa_board *b, uint32_t *page, uint32_t *slot);
void dpa_board_uar_free(struct dpa_board *b, uint32_t page, uint32_t slot);
struct dpa_uar_slot *dpa_board_uar_addr(struct dpa_board *b, uint32_t page, uint32_t slot);
/* NULL if no slot of the page was ever used: its memory does not exist yet. */
struct dpa_board_uar *dpa_board_uar_page(struct dpa_board *b, uint32_t page);

/* QPN: board_num << 16 | index, the index random; a freed one rests (at least 1 s or while others
 * are free) before it is used again. ENOMEM when none is to be had. */
int dpa_board_qpn_alloc(struct dpa_board *b, uint32_t *qpn);
void dpa_board_qpn_free(struct dpa_board *b, uint32_t qpn);
/* Owner of a QPN of this board: false if nobody's or another board's. Lock-free. */
bool dpa_board_qpn_owner(struct dpa_board *b, uint32_t qpn, uint32_t *slot, uint32_t *gen);
/* NULL if that QPN was never used (the file is sparse); never NULL while somebody owns it. */
struct dpa_board_qpinfo *dpa_board_qpinfo(struct dpa_board *b, uint32_t qpn);
/* NULL if neither the slot nor one beside it was ever used: its memory does not exist yet. */
struct dpa_board_proc *dpa_board_proc(struct dpa_board *b, uint32_t slot);
/*
 * The first slot from `slot` on that dpa_board_proc() has; DPA_BOARD_PROCS: none. For loops over
 * all processes, which cost nothing for those that never were.
 */
uint32_t dpa_board_proc_next(struct dpa_board *b, uint32_t slot);
/* DPA_BOARD_CQINFO records of a process; NULL if the slot was never used. */
struct dpa_board_cqinfo *dpa_board_cqinfo(struct dpa_board *b, uint32_t slot);
/* DPA_BOARD_MRINFO records, the same. */
struct dpa_board_mrinfo *dpa_board_mrinfo(struct dpa_board *b, uint32_t slot);
/* Counters of a process (NULL if the slot was never used), and those of processes that ended. */
_Atomic uint64_t *dpa_board_counters(struct dpa_board *b, uint32_t slot);
_Atomic uint64_t *dpa_board_counters_past(struct dpa_board *b);

#endif
