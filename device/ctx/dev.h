/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dev.h - the objects of the software adapter, as its own code sees them.
 *
 * One struct dpa_hw a process: the process's function of the board. Objects that the data path
 * finds by number (QPs) live in type-stable memory: never freed while the device is open, checked
 * under their lock after they were found.
 */
#ifndef DPA_DEV_H
#define DPA_DEV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <dpa_hw.h>
#include "board/board.h"
#include "util/clock.h"
#include "util/lock.h"
#include "link/lane.h"
#include "link/stage.h"
#include "link/udp.h"
#include "pcc/pcc.h"
#include "port/port.h"
#include "knobs.h"

#define DPA_PSN_MASK	 0xffffffu
#define DPA_QPN_INDEX	 0xffffu
#define DPA_QPN_MCAST	 0xffffffu /* all QPs of a multicast group */
#define DPA_HOT_LANES	 8
#define DPA_KEPT_SIZES	 6  /* of memory for packets out of order that is held ready */
#define DPA_KEY_TAG_BITS 14 /* of an L_Key or R_Key; the rest is the entry's index */

/* ------------------------------------------------------------- exported page */

/* A memory region; 64 bytes; in the exported memfd, which peers map read-only. */
struct dpa_mr {
	_Atomic uint32_t
		key; /* 0: free. Written last (release) on registration, first on revocation */
	uint32_t access;
	uint64_t iova;
	uint64_t length;
	uint64_t addr;
	uint32_t pdn;
	uint32_t tag; /* of the last key of this entry */
	uint32_t next_free;
	uint32_t owner; /* id of the context, 0: free */
	uint8_t kind;	/* enum dpa_mr_kind */
	uint8_t why;	/* enum dpa_share_why: for people */
	uint8_t rsvd[2];
	uint32_t qpn; /* type 2 window: the QP that bound it; region: handle of its device memory */
	uint32_t parent;      /* bound window: entry of its region, plus 1; 0: not bound */
	_Atomic uint32_t nmw; /* region: windows bound to it */
};

enum dpa_mr_kind { DPA_KIND_MR = 0, DPA_KIND_MW1 = 1, DPA_KIND_MW2 = 2, DPA_KIND_NULL = 3 };

#define DPA_NULL_BYTES (1u << 20) /* of the null region that one look may reach: DPA_PULL_CHUNK */

/*
 * A thread of this process is at work in a peer's memory: 12 + 6 + 22 + 24 bits, the peer (process
 * index, low bits of its generation), the thread's tid, a number that is another one each time; 0:
 * nobody is. Taken by CAS (seq_cst), given back by a store (release), by threads of this process;
 * read by that peer (seq_cst), which waits for it to change. A line each.
 */
struct dpa_hazard {
	_Atomic uint64_t word;
	_Atomic uint32_t turn; /* its last number, for its own process: written by its holder */
	uint8_t pad[52];
};
#define DPA_HAZARDS 63u

/* Whole pages of registered memory in the shared memfd: 4 + 4 + 3*8 = 32. ctx/share.h */
struct dpa_area {
	_Atomic uint32_t serial; /* 0: none */
	uint32_t rsvd;
	uint64_t start, length; /* in the memory of its owner */
	uint64_t off;		/* in the memfd */
};
#define DPA_AREAS 1024u

/* The memfd that peers map read-only: the seals let nobody but its maker write. Sparse. */
struct dpa_export {
	/* written once, before anybody is told of it */
	uint64_t magic;
	uint32_t slot, gen;
	uint8_t pad[4096 - 16];
	/*
	 * Changes (seq_cst) when a QP leaves the working states: what its packets pointed at may be
	 * reused. Who copied from there reads it afterwards (acquire).
	 */
	_Atomic uint32_t qp_epoch[DPA_BOARD_QPNS];
	struct dpa_mr mr[DPA_MAX_MR];
	/*
	 * The direct path, see link/direct.h. A grant: what the QP's peer may do to memory of this
	 * process by itself; 0: nothing. Written (seq_cst) under the QP's lock.
	 */
	_Atomic uint64_t qp_grant[DPA_BOARD_QPNS];
	/* Changes (seq_cst) behind `key` with every revocation of the entry: no key means two
	 * things. */
	_Atomic uint32_t mr_gen[DPA_MAX_MR];
	/* What this process's threads touch of peers' memory at this moment. */
	_Atomic uint32_t hazards_used __attribute__((aligned(DPA_CACHE_LINE))); /* only grows */
	struct dpa_hazard hazard[DPA_HAZARDS] __attribute__((aligned(DPA_CACHE_LINE)));
	/* Of each region: the area that has it, or some of it, plus 1; 0: none. ctx/share.h */
	_Atomic uint32_t mr_area[DPA_MAX_MR];
	/*
	 * The connection that a QP has, which changes (seq_cst, under the QP's lock) when the QP is
	 * set up again and with its first request: what packets have to be, link/direct.h. 0: it
	 * never had one. Read by initiators of direct operations only.
	 */
	_Atomic uint64_t qp_conn[DPA_BOARD_QPNS];
	struct dpa_area area[DPA_AREAS];
};

/*
 * The memfd page that peers write: wake-ups. Each word is a hint that is looked at again: a peer
 * that scribbles here costs us looks in vain, or a sleep until the next tick.
 *
 *   sleep     Written by this process (relaxed), then a full fence and a last look at what peers
 *             set. Peers fence between what they publish and their look at it.
 *   summary   Peers set their slot's bit (seq_cst). This process takes a whole word (seq_cst);
 *             after a full fence it looks at what the peers of its bits sent.
 *   any       A bit for each word of `summary`: peers set it after their bit (seq_cst). This
 *             process takes it (seq_cst) before it takes the words.
 *
 * A peer that finds a bit set leaves it (seq_cst load): the taker sees all that came before.
 */
struct dpa_door {
	_Atomic uint32_t sleep; /* 0; 1, 2: whom to wake, see struct dpa_hw */
	uint8_t pad0[60];
	_Atomic uint64_t any;
	uint8_t pad1[56];
	_Atomic uint64_t summary[DPA_BOARD_PROCS / 64]; /* a bit for each peer's slot */
};

/*
 * The process `slot` has something in a ring to the door's owner. Any process of the board, after a
 * full fence behind what it published.
 */
static inline void dpa_door_set(struct dpa_door *door, uint32_t slot)
{
	_Atomic uint64_t *word = &door->summary[slot / 64];
	uint64_t bit = 1ull << (slot % 64), of_word = 1ull << (slot / 64);

	if (!(atomic_load_explicit(word, memory_order_seq_cst) & bit))
		atomic_fetch_or_explicit(word, bit, memory_order_seq_cst);
	if (!(atomic_load_explicit(&door->any, memory_order_seq_cst) & of_word))
		atomic_fetch_or_explicit(&door->any, of_word, memory_order_seq_cst);
}

_Static_assert(DPA_BOARD_PROCS / 64 <= 64 && sizeof(struct dpa_door) <= 4096, "door");
_Static_assert(sizeof(struct dpa_mr) == 64, "mr");
_Static_assert(sizeof(struct dpa_area) == 32, "area");
_Static_assert(offsetof(struct dpa_export, qp_epoch) == 4096, "export");
_Static_assert(sizeof(struct dpa_hazard) == DPA_CACHE_LINE &&
		       offsetof(struct dpa_export, hazard) % DPA_CACHE_LINE == 0,
	       "hazards");

/* ------------------------------------------------------------------- peers */

enum dpa_peer_state { DPA_PEER_CONNECTING, DPA_PEER_UP, DPA_PEER_DEAD };

/* Another process of the board (or this one: loopback). Type-stable. */
struct dpa_peer {
	struct dpa_hw *hw;
	uint32_t slot, gen;
	_Atomic uint32_t state; /* enum dpa_peer_state; written under hw->peer_lock */
	pid_t pid;		/* in our pid namespace; 0: not visible */
	bool wire;		/* another host: a struct dpa_remote (link/wire.h) */
	bool can_pull;		/* process_vm_readv reaches its memory: tried when its hello came */
	dpa_spin_t look_lock;	/* `export` is not unmapped under who looks for hazards */
	/*
	 * Of each of its hazards the word that was waited for in vain; 0: none. Written and read by
	 * whoever waits, relaxed: who misses one waits for himself
	 */
	_Atomic uint64_t vain[DPA_HAZARDS];
	/* time stamp counter when it was alive last, as far as is known; relaxed */
	_Atomic uint64_t seen_alive;
	dpa_spin_t fd_lock; /* wake_fd and wait_fd are not closed under a waker */
	int pidfd, wake_fd, wait_fd, tx_fd;
	int sock, sock2; /* connections: ours, or the first; and one that crossed it */
	_Atomic uint32_t
		doubtful; /* a connection ended or failed: the service thread asks the board */
	_Atomic uint32_t rx_up; /* its lanes to us are mapped */
	/*
	 * Tries to meet it for which there was no descriptor, here or there. Counted by whoever
	 * tries, compared by each QP that waits for it; relaxed.
	 */
	_Atomic uint32_t no_fds;
	uint32_t no_fds_there; /* no_fds of its board record at our last look; under peer_lock */
	/* ns since when datagrams wait until it is UP; 0: none does. Set once, by the first
	 * (relaxed) */
	_Atomic uint64_t waited;
	/*
	 * How much the peer had taken when the end of a QP waited for it in vain; 0: none did, or
	 * it had taken all.
	 * Written and read by threads that destroy QPs, relaxed: a thread that misses it waits
	 * its own time (ctx/leave.c).
	 */
	_Atomic uint64_t left_at;
	struct dpa_door *door;
	const struct dpa_export *export;
	/* its shared memory, and which areas of it are mapped here; NULL: none was ever
	 * (link/area.c) */
	int share_fd;
	dpa_spin_t map_lock;
	_Atomic(struct dpa_area_map *) maps;
	struct dpa_tx tx[DPA_LANES];
	struct dpa_rx rx[DPA_LANES];
	void *tx_map, *rx_map;
	struct dpa_peer *next; /* all peers ever */
};

/* ---------------------------------------------------------------------- CQ */

struct dpa_hw_cq {
	struct dpa_hw_ctx *ctx;
	dpa_spin_t lock; /* producers, arming, resize */
	uint32_t log_size;
	uint32_t pi;
	struct dpa_cqe *buf;
	const uint32_t *ci;
	uint32_t ci_seen; /* *ci at some time; entries before it are the producer's */
	uint32_t flags;
	uint32_t cqn;
	uint8_t armed; /* 0, 1 any, 2 solicited only */
	bool overrun;
	struct dpa_hw_cq *tap; /* gets a copy of each entry; NULL: none. Set under `lock` */
	uint32_t told, at_arm; /* pi at the last event, and at the last arming */
	uint64_t user_handle;
	dpa_comp_fn *comp;
	void *comp_arg;
	_Atomic uint32_t refs;	       /* QPs */
	struct dpa_board_cqinfo *info; /* may be NULL */
	/* moderate.c */
	uint16_t mod_count, mod_period; /* entries; us */
	uint32_t held;			/* entries that an event waits for */
	uint64_t mod_due;
	struct dpa_hw_cq *mod_next;
} __attribute__((aligned(2 * DPA_CACHE_LINE)));

/* --------------------------------------------------------------------- SRQ */

struct dpa_tags;

struct dpa_hw_srq {
	struct dpa_hw_ctx *ctx;
	dpa_spin_t lock;
	uint32_t pdn, max_sge, log_size, stride, srqn;
	uint32_t ci;
	uint32_t limit;
	uint8_t *buf;
	struct dpa_dbrec *dbrec;
	uint64_t user_handle;
	_Atomic uint32_t refs;
	/* XRC only */
	uint32_t xrcd;
	struct dpa_hw_cq *cq;  /* tag matching, too */
	struct dpa_tags *tags; /* under lock; NULL: no tag matching */
};

/* ---------------------------------------------------------------------- QP */

/* A receive WQE that a message has taken. */
struct dpa_rx_wqe {
	uint64_t wr_id;
	uint32_t nsge;
	struct dpa_sge sge[DPA_MAX_SGE];
};

#define DPA_RD_OWED (2 * DPA_MAX_RD_ATOMIC) /* one half for requests, one for their duplicates */

/* An answer that the responder owes: READ response, atomic response. */
struct dpa_rd_resource {
	uint8_t opcode; /* of the request */
	bool done;	/* all of it sent */
	bool again;	/* of a duplicate */
	uint32_t psn;	/* first of the response */
	uint32_t npkts;
	uint32_t rkey;
	uint64_t va;
	uint32_t len;
	uint32_t off;  /* sent so far */
	uint64_t orig; /* atomic result */
	uint32_t msn;
	uint32_t pdn; /* that the key was checked against */
};

/* A READ, FLUSH or atomic that was carried out, for its duplicates. */
struct dpa_rd_saved {
	union {
		uint64_t orig; /* what an atomic found */
		uint64_t va;   /* READ, FLUSH: the range, with len */
	};
	uint32_t len, rkey;
	uint32_t xrcsrq; /* XRC: the SRQ that it named */
	uint32_t psn;	 /* first of the response */
	uint32_t npkts : 24;
	uint32_t opcode : 8; /* of the request; DPA_LINK_NO_QP: none */
};

#define DPA_SENT_MARKS 8u

/* A mark in what was sent: all below psn; the first of it, behind the mark before, at `at`, ns. */
struct dpa_sent {
	uint64_t at;
	uint32_t psn;
};

/* Requester. States: see device/transport/README.md. */
struct dpa_req {
	/* for each message: 48 bytes */
	uint32_t send_idx;     /* SQ block index of the WQE being sent */
	uint32_t send_off;     /* bytes of it that are sent */
	uint32_t send_psn;     /* PSN of the next packet */
	uint32_t send_wqe_psn; /* first PSN of the WQE at send_idx */
	uint32_t una_idx;      /* oldest WQE not completed */
	uint32_t una_psn;      /* its first PSN */
	uint32_t read_off;     /* bytes of the READ at una_idx that arrived */
	uint32_t max_psn;      /* one past the highest PSN ever sent: below it is retransmission */
	uint32_t acked_psn;    /* one past the highest PSN that the responder is known to have */
	uint32_t send_ssn;     /* messages before the WQE at send_idx (IBA 9.7.7.2) */
	uint8_t retry_left, rnr_left;
	bool wait_timer;   /* RNR or retry timer runs: nothing is sent */
	bool pulled;	   /* what is being sent lies in the application's memory */
	bool fence_sq : 1; /* SQD: nothing new is sent */
	bool ask_due : 1;  /* device/transport/ask.c; in one byte: short SENDs look at both */
	bool credits;	   /* the peer gives them */
	bool heard;	   /* something new was acknowledged */
	bool implied;	   /* a response was missed and is asked for again */
	/* seldom */
	bool timer_is_rnr;
	uint32_t rd_out;   /* READs and atomics sent and not completed */
	uint32_t una_ssn;  /* messages before the WQE at una_idx */
	uint32_t lsn;	   /* the last message that the peer has a receive for */
	uint32_t seen_una; /* by the watchdog at its last look */
	bool seen_stuck;
	bool asked;	   /* an ASK is out (ask.c), */
	uint32_t ask_psn;  /* behind all packets before this one */
	uint32_t mc_at;	   /* UD: to how many of the group the datagram went: mcast_next's index */
	uint64_t ud_since; /* UD: since when the WQE at send_idx waits for a peer; 0: it does not */
	uint64_t timer;	   /* CLOCK_MONOTONIC ns; with wait_timer */
	uint64_t dead_at;  /* something was found outstanding to a peer that ended; 0: not */
	/* links that lose packets (loss.c); ns, 0: not running */
	uint64_t pace_at;  /* UC, UD: nothing leaves before */
	uint64_t ack_at;   /* local ACK timer */
	uint64_t probe_at; /* sooner: asks whether the oldest packet arrived */
	uint64_t rtt_at;   /* when rtt_psn was sent; 0: no sample is being taken */
	uint32_t rtt_psn;
	uint32_t srtt;		       /* smoothed round trip, ns; 0: none yet */
	uint32_t probe_wait;	       /* ns */
	uint32_t told_psn;	       /* up to here congestion control knows of */
	uint32_t unacked;	       /* bytes sent since the last packet that asks for an ACK */
	uint32_t asked_psn;	       /* asks for an ACK, the last that does; una_psn - 1: none */
	bool window_full;	       /* nothing was sent for want of room in it */
	uint8_t probing;	       /* 1: the next packet is the probe; 2: it was sent */
	uint32_t probe_psn, probe_end; /* of the probe, one past it */
	uint32_t probe_back;	       /* where sending goes on behind the probe */
	uint32_t left_psn;	       /* with `left`: what was sent below it is not under way */
	bool left;		       /* something below left_psn is missing still */
	bool gap;		       /* a NAK has come, and no ACK up to gap_psn since */
	uint32_t gap_psn;	       /* what was sent next when it came */
	bool probe_nak;		       /* the probe answers a NAK */
	bool probe_rd;		       /* the probe is a READ or an atomic */
	/* XRC: the WQE that begins the present turn; none has begun */
	uint32_t turn_idx;
	bool turned;
	bool turn_keeps;   /* it is the first, or something of it was acknowledged */
	uint32_t turn_psn; /* una_psn when it began */
	int8_t keeps;	 /* does the peer keep what comes out of order: from 3 on yes, below 1 no */
	uint8_t naks;	 /* answered without trying that again */
	uint8_t backoff; /* doublings of the local ACK timeout */
	uint32_t nsent;	 /* marks made; the newest lies in front of nsent % DPA_SENT_MARKS */
	struct dpa_sent sent[DPA_SENT_MARKS];
};

/* Responder. */
struct dpa_resp {
	/* what each SEND touches: 48 bytes, then the first SGE: a line */
	uint32_t epsn; /* expected PSN */
	uint32_t msn;
	uint8_t last_op; /* kind of the message in progress: device/transport/resp_check.h */
	bool nak_sent;	 /* one NAK a gap */
	bool have_wqe;
	bool ack_owed;
	uint32_t ack_psn;
	uint8_t ack_syndrome;
	uint8_t ud_packet_type;	   /* UD: of the datagram at hand, see ud.c */
	bool patience_spent;	   /* UC, UD: see dpa_rx_must_wait() */
	bool ack_late : 1;	   /* other hosts: the ACK that is owed was put off */
	bool looked_due : 1;	   /* ask.c: the peer is to be told that all was looked at, */
	bool hint_due : 1;	   /* that something was passed over */
	uint32_t off;		   /* bytes of the message received */
	uint32_t rd_head, rd_tail; /* [tail, head) are owed */
	struct dpa_rx_wqe wqe;
	uint64_t wr_va; /* WRITE: target */
	uint32_t wr_rkey, wr_len;
	uint64_t waiting_since;
	struct dpa_rd_resource rd[DPA_RD_OWED];
	struct dpa_rd_saved saved[DPA_MAX_RD_ATOMIC]; /* the last ones that were done */
	uint32_t nsaved;
	/* duplicates: response packets that are paid for; ns: counted up to then. again.c */
	uint64_t again, again_at;
	uint32_t looked;  /* with looked_due: serial of the ASK */
	bool nak_strange; /* nak_sent, for a packet that came from elsewhere: kept.c */
	uint32_t from;	  /* DPA_FROM_* of the last packet off the wire that came in order */
	/* XRC target: the ring whose acks_waiting counts it; NULL: none */
	struct dpa_tx *ack_waits;
	/* of the message at hand, where the SRQ matches tags: device/transport/tag.h */
	struct {
		uint8_t kind; /* enum dpa_tag_kind */
		uint32_t app_ctx;
		uint64_t tag;
		uint8_t head[32];
	} tm;
};

/* What must still be so when the copy begins. */
struct dpa_guard {
	const _Atomic uint64_t *grant;
	uint64_t grant_was;
	const _Atomic uint32_t *gen;
	uint64_t gen_was;
	uint64_t alive; /* time stamp counter: the process, where its pid is used */
	const _Atomic uint64_t *conn;
	uint64_t conn_was;
};

/*
 * The region or window of the peer's, mapped here, that the QP's last direct operation was in: what
 * was read of it is right while its guard holds, which each copy looks at. Under the QP's lock;
 * link/direct.h, device/transport/near.c.
 */
struct dpa_near {
	uint32_t rkey; /* 0: none */
	uint32_t access;
	uint64_t iova, length;
	uint8_t *base;	   /* of iova */
	uint32_t peer_gen; /* of the process that it is good for */
	struct dpa_guard g;
};

/*
 * A QP. With thousands of them each line is a miss of its own, so that what a message touches lies
 * in few: for sending 0, 1, 2; for receiving 0, that of `rq` and that where `resp` begins, a pair.
 */
struct dpa_hw_rss;
struct dpa_flows;

struct dpa_hw_qp {
	/* line 0: what every operation reads or writes */
	dpa_qplock_t lock;
	uint32_t qpn; /* 0: free */
	uint8_t type, state;
	bool sq_sig_all;
	uint8_t pkt_flags; /* that each slot starts with: DPA_PKT_MTU on the wire */
	uint16_t mtu;	   /* bytes */
	uint8_t access;	   /* that of attr, its low 8 bits */
	bool careful;	   /* the SGEs at hand may fault, or are nowhere: see gather.c */
	struct dpa_hw *hw;
	struct dpa_tx *tx; /* connected QPs: the lane to the peer, NULL: none yet */
	struct dpa_peer *peer;
	uint32_t dest_qpn, pdn;
	struct dpa_dbrec *dbrec;
	uint32_t user_index;
	uint16_t index; /* in hw->slab, for good */
	uint8_t lane;
	uint8_t transport; /* of its packets: DPA_BTH_RC, _UC, _UD, _XRC */
	/* line 1: posting; an EU that carries it out writes nothing here */
	uint8_t *sq;
	struct dpa_hw_cq *send_cq;
	struct dpa_uar_slot *slot;
	uint32_t sq_mask; /* blocks - 1 */
	/* to which the same thread posted two and four posts later, in hw->slab: hints */
	_Atomic uint16_t second, fourth;
	_Atomic uintptr_t home; /* thread that posted last, if it polls too: a hint */
	uint64_t user_handle;
	const void *poster; /* two lines of the driver's that posting touches */
	_Atomic uint32_t placement;
	uint8_t direct; /* may go the direct path: link/direct.h */
	/* line 2: the requester */
	/* WQE that came by BlueFlame, for the WQE at req.send_idx */
	const uint8_t *bf __attribute__((aligned(DPA_CACHE_LINE)));
	uint8_t direct_fails;	      /* tries of the direct path in a row that ended so */
	uint8_t atomic_rest;	      /* atomics that are not tried that way */
	uint16_t direct_rest;	      /* messages that are not */
	uint8_t retry_cnt, rnr_retry; /* those of attr */
	bool limited;		      /* by `rate` */
	bool cqe_lost;		      /* a CQ had no room for what it reports: it ends in error */
	struct dpa_req req;
	struct dpa_near near __attribute__((aligned(DPA_CACHE_LINE)));
	/* a pair of lines: the receive queue, the responder */
	struct dpa_hw_cq *recv_cq __attribute__((aligned(2 * DPA_CACHE_LINE)));
	struct dpa_hw_srq *srq;
	uint8_t *rq;
	uint32_t rq_mask; /* WQEs - 1 */
	uint32_t rq_stride, rq_ci, max_recv_sge;
	struct dpa_resp resp __attribute__((aligned(DPA_CACHE_LINE)));
	/* seldom */
	struct dpa_qp_attr attr;
	struct dpa_hw_ctx *ctx;
	uint32_t uar_page, uar_slot;
	struct dpa_board_qpinfo *info;
	bool comm_est, last_wqe_raised;
	/*
	 * Who holds the lock may be at work in a window of type 1. Set (relaxed, then a full fence)
	 * by that thread before it trusts the window's key, cleared (release) by it before it lets
	 * go; read (acquire) by who has unbound one, behind a full fence: mr.c, mw.c, qp.c
	 */
	_Atomic uint32_t in_window;
	bool leaving;		  /* it ends, and has had time to send; under its lock: leave.c */
	struct dpa_peer *held_by; /* UD, raw: the peer that was not ready last; NULL: none */
	bool block_self;	  /* its own multicast datagrams are not for it */
	uint32_t nmcast;	  /* groups that it is attached to, under hw->ctl */
	uint32_t nflows;	  /* rules that name it, under hw->ctl */
	struct dpa_hw_rss *rss;	  /* of a raw QP without queues of its own; else NULL */
	uint8_t *tag_sq;	  /* the SQ of one whose SRQ matches tags; else NULL */
	struct dpa_rate rate;
	uint64_t rate_at;    /* ns: what was sent is paid for until then */
	bool direct_begun;   /* some of that was moved, and it goes by packet all the same */
	uint32_t direct_off; /* bytes of the WQE at req.send_idx that went that way already */
	/*
	 * The peer's connection with which this QP's PSNs are in step, as in qp_conn[] without
	 * DPA_CONN_FRESH; 0: none is known. And one that may be: if something is acknowledged
	 * behind PSN conn_psn while it stands.
	 */
	uint64_t conn_known, conn_maybe;
	uint32_t conn_psn;
	uint32_t no_fds_seen;	      /* no_fds of `meets` when this QP's try began */
	const struct dpa_peer *meets; /* the peer that it tries to meet; NULL */
	uint64_t direct_until;	      /* ns: how long one waits for what is outstanding; 0: none */
	uint32_t xrcd; /* of an XRC target, which has no PD and no queues of its own; else 0 */
	struct dpa_qp_opener *openers; /* of an XRC target: besides its creator */
	bool branch;		       /* of a target of another process: xrc_branch.c */
	bool gsi;		       /* the endpoint of QP1: gsi/gsi.h */
	/* initiator: turns begun; target: the turn at hand; branch: what it went by last */
	uint32_t turn, conn, how;
	uint32_t ask_serial; /* of its last ASK, in all its lives: never 0 (ask.c) */
	/* pending list, under hw->pend_lock */
	bool pending;
	struct dpa_hw_qp *pend_next;
	struct dpa_eu *eu; /* not in a line that this EU writes: posters read it each time */
	/* EU placement: what an EU looks at again and again, in one line */
	struct dpa_hw_qp *eu_next __attribute__((aligned(32)));
	const uint64_t *eu_word; /* of the slot */
	uint64_t eu_seen;	 /* last doorbell word carried out */
	struct dpa_hw_qp *free_next;
	/* links that lose packets */
	struct dpa_pcc_flow pcc;
	struct dpa_np_flow np;
	struct dpa_hw_qp *ack_next; /* owes an ACK, under hw->ack_lock */
	bool ack_listed;
	struct dpa_kept *kept; /* out of order, sorted by PSN: kept.c */
	uint32_t nkept;
	uint16_t id_port; /* UDP port of what came in order last, and how many packets of it */
	uint8_t id_row;	  /* in a row had an IPv4 identification that counts from 0: frame.c */
	bool straight;	  /* UC: the last packet that was taken came by no other process: frame.c */
} __attribute__((aligned(2 * DPA_CACHE_LINE)));

/* Has one peer, that of its attributes. */
static inline bool dpa_connected(const struct dpa_hw_qp *qp)
{
	return qp->type != DPA_QP_UD && qp->type != DPA_QP_RAW;
}

#define DPA_QP_LINE(field) (offsetof(struct dpa_hw_qp, field) / DPA_CACHE_LINE)
_Static_assert(DPA_QP_LINE(lane) == 0 && DPA_QP_LINE(sq) == 1 && DPA_QP_LINE(poster) == 1,
	       "lines 0 and 1");
_Static_assert(DPA_QP_LINE(bf) == 2 && DPA_QP_LINE(req.implied) == 2, "line 2");
_Static_assert(DPA_QP_LINE(resp) == DPA_QP_LINE(max_recv_sge) + 1 &&
		       DPA_QP_LINE(resp.wqe.sge[0].lkey) == DPA_QP_LINE(resp),
	       "the responder's lines");

/* Packets of one lane come for thousands of QPs: what the next one will want of its QP. */
static inline void dpa_qp_expect_rx(const struct dpa_hw_qp *qp)
{
	const uintptr_t at = (uintptr_t)qp; /* may be none */

	__builtin_prefetch(qp);
	__builtin_prefetch((const void *)(at + offsetof(struct dpa_hw_qp, recv_cq)));
	__builtin_prefetch((const void *)(at + offsetof(struct dpa_hw_qp, resp)));
}

/* ---------------------------------------------------------------- function */

struct dpa_hw_ctx {
	struct dpa_hw *hw;
	uint32_t id;	       /* never 0 */
	struct dpa_port *port; /* of its function: &hw->port or one of hw->port.sf[] */
	dpa_event_fn *event;
	void *event_arg;
	struct dpa_hw_ctx *next;
	uint32_t told_state; /* of the port, in its last event; under hw->ctl */
};

struct dpa_hw {
	uint32_t *alive; /* a page that fork wipes */
	pid_t pid;
	struct dpa_board *board;
	struct dpa_config cfg;
	struct dpa_port port;
	dpa_log_fn *log;
	_Atomic uint64_t *cnt; /* this process's counters */

	/* control path: objects, under ctl */
	pthread_mutex_t ctl;
	struct dpa_hw_ctx *ctxs;
	_Atomic uint32_t kept_bytes; /* of packets out of order, all QPs */
	dpa_spin_t spare_lock;	     /* a leaf: memory for them that is held ready (kept.c) */
	struct dpa_kept *spare[DPA_KEPT_SIZES];
	uint32_t spare_bytes;
	uint32_t *pd_refs;  /* 0: free; else users + 1 */
	uint32_t *pd_owner; /* id of the context */
	uint32_t next_ctx_id;
	uint32_t pd_used_max, npd, nqp, ncq, nsrq, nmr, next_cqn, next_srqn, next_lane;
	struct dpa_hw_qp *free_qps;

	struct dpa_hw_qp **slab;     /* every QP structure there ever was; grows under ctl */
	struct dpa_hw_qp *slab_next; /* of a large page, slab_left are free: ctl */
	uint32_t slab_left;
	_Atomic uint64_t gone_doorbells, gone_blueflames; /* of QPs that were destroyed */
	_Atomic uint32_t nslab;
	_Atomic(struct dpa_hw_qp *) *qp_tab; /* by index part of the QPN; type-stable entries */

	struct dpa_export *export;
	int export_fd;
	uint32_t mr_free_head, mr_free_tail, mr_used_max;
	void *null_zeros, *null_sink; /* what a null region is read from, written to */
	uint32_t nwq, next_wqn, nind;
	struct dpa_flows *flows; /* NULL: no raw QP yet */
	struct dpa_hw_dm *dms;
	uint64_t dm_bytes;
	struct dpa_hw_xrcd *xrcds;
	_Atomic(struct dpa_hw_srq *) *xrc_srqs; /* by the low bits of the number */
	_Atomic uint32_t nbranch;		/* written under ctl */
	/*
	 * xrc_branch.c; QPNs, 0: none. wanted: a packet waits for a branch of that target; set by
	 * who drains (a CAS from 0), cleared by the service thread (release). refused: it cannot be
	 * had; written by the service thread, read by who drains (relaxed): a hint.
	 */
	_Atomic uint32_t branch_wanted, branch_refused;
	uint32_t next_dm;
	dpa_spin_t mod_lock, mod_run; /* moderate.c */
	struct dpa_hw_cq *mod_list;
	_Atomic uint64_t mod_due;   /* ns; 0: nothing is held */
	dpa_spin_t mw_lock;	    /* binding and unbinding windows; a leaf */
	uint32_t mw_unbinding;	    /* threads that wait for who is in what they unbound: mw_lock */
	dpa_spin_t atomic_lock;	    /* atomics of this function, one at a time */
	struct dpa_share *share;    /* NULL: registered memory is never shared */
	_Atomic uint32_t no_grants; /* while the process forks: nobody copies here */
	int maps_fd;		    /* /proc/self/maps, -1: not there */
	bool pvm_self;		    /* process_vm_* on ourselves works */
	struct dpa_stage stage;

	/* peers */
	dpa_spin_t peer_lock; /* table and states */
	struct dpa_peer *all_peers;
	struct dpa_door *door;
	int door_fd, wake_fd, wait_fd,
		listen_fd; /* wake_fd: parked EU's; wait_fd: a blocked application's */
	int spare_fd;	   /* given up for a moment to refuse a connection that cannot be had */

	struct dpa_udp udp; /* port 4791 */

	/* QPs whose ACK may wait until their EU has nothing else to do */
	dpa_spin_t ack_lock; /* a leaf */
	struct dpa_hw_qp *ack_list;
	_Atomic uint32_t acks_owed; /* the list is not empty */
	/* lanes of the wire whose slots wait for company */
	dpa_spin_t cork_lock; /* under a lane's lock; a leaf */
	struct dpa_tx *cork_list;
	_Atomic uint32_t corks;		 /* the list is not empty */
	_Atomic(struct dpa_wire *) wire; /* the link to other hosts, NULL: not used yet */

	/* progress */
	/* a line that every look reads and hardly anybody writes */
	_Atomic(struct dpa_rx *) hot[DPA_HOT_LANES] __attribute__((aligned(DPA_CACHE_LINE)));
	/* capture and faults (link/inspect.h): DPA_INSPECT_*, frames held back, the first's time */
	_Atomic uint32_t inspect, inspect_held;
	_Atomic uint64_t inspect_due;
	struct dpa_inspect *insp;
	dpa_spin_t hot_lock __attribute__((aligned(DPA_CACHE_LINE)));
	dpa_spin_t pend_lock;
	struct dpa_hw_qp *pend_head, *pend_tail;
	_Atomic uint32_t npending;
	_Atomic uint64_t next_timer; /* ns; earliest timer of the pending QPs, 0: look now */
	/*
	 * While what is pending cannot go on, pollers still try each time, but sleepers rest until
	 * this time (ns), longer and longer: a stopped peer that keeps a ring full costs nobody a
	 * core.
	 */
	_Atomic uint64_t pend_rest;
	_Atomic uint32_t pend_vain;
	_Atomic uint32_t app_polled; /* set to dpa_here() by polling threads, cleared by the parked
					EU */
	/*
	 * There may be lanes with a kick owed: set (release) by whoever published without kicking
	 * if it is not set, taken (exchange) by whoever settles for all. It stays set while threads
	 * settle for themselves: they would hand its line back and forth.
	 */
	_Atomic uint32_t kicks_owed;
	uint32_t serial; /* of this opening of the device, never 0 */

	/* QP1: gsi/gsi.h */
	dpa_spin_t gsi_lock; /* a leaf, but for `ready` */
	struct dpa_hw_gsi *gsi;
	_Atomic uint32_t gsi_qpn, gsi_look, gsi_orphans;
	uint32_t gsi_seen;

	/* parked EU (service thread) */
	pthread_t service;
	bool service_up;
	int epfd;
	_Atomic uint32_t stop;
	/*
	 * Sleeping. door->sleep is 0, 1 (peers wake the parked EU) or 2 (they wake the application
	 * thread in dpa_hw_wait_fd); always the function of these two, recomputed under sleep_lock.
	 */
	dpa_spin_t sleep_lock;
	dpa_spin_t wait_role;			  /* one waiter at a time is woken by peers */
	_Atomic uint32_t role_beside, role_asked; /* eu/wait.c */
	_Atomic uint32_t service_asleep, waiter;
	_Atomic uint32_t doubts;       /* a peer's life is in doubt: 1 still, 2 newly */
	uint64_t doubt_wait, doubt_at; /* service thread: ns between looks, time of the last */
	uint32_t looks;		       /* service thread: times that watch() looked */
	bool listen_off;	       /* no descriptors to accept with: the listener rests */
	uint64_t last_tick;	       /* service thread: see watchdog in service.c */
	_Atomic uint32_t distrust; /* sleeps during which a polling application is not relied on */
	/* the service thread's own: how many the last time, 0: never, or long ago; and looks since
	 * that found the application polling */
	uint32_t distrust_last, trusted;

	struct dpa_eu *eus;
	uint32_t neus;

	pthread_mutex_t qmem_lock;
	struct dpa_qmem *qmem;

	/*
	 * By process index; those below peers_end are in use or were. Both are written under
	 * peer_lock (release). Last: its pages are there only where a peer is.
	 */
	_Atomic uint32_t peers_end;
	_Atomic(struct dpa_peer *) peers[DPA_BOARD_PROCS];
};

static inline uint32_t dpa_peers_end(struct dpa_hw *hw)
{
	return atomic_load_explicit(&hw->peers_end, memory_order_acquire);
}

/* Under hw->peer_lock. */
static inline void dpa_peers_put(struct dpa_hw *hw, uint32_t slot, struct dpa_peer *p)
{
	if (slot >= atomic_load_explicit(&hw->peers_end, memory_order_relaxed))
		atomic_store_explicit(&hw->peers_end, slot + 1, memory_order_release);
	atomic_store_explicit(&hw->peers[slot], p, memory_order_release);
}

/* What a thread remembers; its address names the thread. */
struct dpa_thread {
	struct {
		const struct dpa_rx *rx; /* compared only */
		uint32_t drains;
		uint32_t skip; /* looks that it is left to its owner */
	} lane[DPA_HOT_LANES];
	const struct dpa_rx *watch; /* drained last, if not left to another; good for watch_of */
	uint32_t watch_of;
	/* to be kicked; good for the opening `serial` */
	struct dpa_tx *owed[DPA_LANES];
	uint32_t nowed; /* more than DPA_LANES: others, too */
	uint32_t serial;
	struct dpa_posting {
		struct dpa_hw_qp *last[4]; /* posted to, the latest at n % 4 */
		uint32_t n;
		uint32_t serial; /* of the opening that they belong to */
	} posting;
	struct dpa_run *run; /* what it collects for a CQ; NULL: nothing */
	bool polls;	     /* has driven progress: what its QPs have to say may come to it */
	bool stands_in;	     /* for others: what it drains is not its own */
	bool in_window;	     /* what the QP says whose lock it holds */
	uint32_t vain;
	uint32_t wire_quiet;  /* looks at the socket in vain */
	uint32_t quiet;	      /* polls in vain since it asked who else polls here, */
	uint32_t patience;    /* so many until it asks again, */
	uint32_t unshared;    /* and answers in a row: nobody */
	uint32_t hazard;      /* which it had last, */
	uint32_t stage;	      /* and which piece of the stage */
	uint32_t tid, tid_of; /* gettid(), asked in the opening of this serial: a child's is new */
	uint64_t now, now_ticks; /* when dpa_now_about() asked the clock last */
};

extern _Thread_local __attribute__((tls_model("initial-exec"))) struct dpa_thread dpa_me;

/* The function of this process, NULL if the device is not open. */
extern struct dpa_hw *dpa_the_hw;

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * dpa_now_ns(), as a thread that asks again and again within a microsecond is told: the last
 * answer, up to DPA_ABOUT_TICKS of the time stamp counter old. For round trips and timers on the
 * data path.
 */
uint64_t dpa_now_about(void);

static inline void dpa_count(struct dpa_hw *hw, enum dpa_counter c, uint64_t n)
{
	/* several threads may lose a count to each other; a lost count is not worth a locked add */
	_Atomic uint64_t *p = &hw->cnt[c];

	atomic_store_explicit(p, atomic_load_explicit(p, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

#include "calls.h"

#endif
