/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.h - a QP: what its requester and responder know, and its life. */
#ifndef DPA_CTX_QP_H
#define DPA_CTX_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <dpa_hw.h>
#include "board/board.h"
#include "pcc/dcqcn.h"
#include "pcc/rtt.h"
#include "util/lock.h"

#define DPA_LANES     4u /* ways of a QP's packets to a process: a QP uses one */
/* All XRC QPs use this one: an ACK of a target is in front of what the program sends behind it. */
#define DPA_XRC_LANE  (DPA_LANES - 1)
#define DPA_BTH_RAW   0xe0u /* transport of raw packets; no wire has it */
#define DPA_PSN_MASK  0xffffffu
#define DPA_QPN_INDEX 0xffffu
#define DPA_QPN_MCAST 0xffffffu /* all QPs of a multicast group */

struct dpa_hw;
struct dpa_hw_ctx;
struct dpa_hw_cq;
struct dpa_hw_srq;
struct dpa_peer;
struct dpa_tx;
struct dpa_eu;
struct dpa_kept;
struct dpa_qp_opener;
struct dpa_qp_ops;
struct dpa_watch;
struct dpa_fqp;

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

#define DPA_XMIT_MARKS 8u

/*
 * A mark in what was sent (RFC 8985, 5.2): all below end_psn; the first of it, behind the mark
 * before, at xmit_ts, ns.
 */
struct dpa_xmit {
	uint64_t xmit_ts;
	uint32_t end_psn;
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
	bool pulled;  /* what is being sent lies in the application's memory */
	bool credits; /* the peer gives them */
	bool heard;   /* something new was acknowledged */
	bool implied; /* a response was missed and is asked for again */
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
	uint64_t timer;	   /* CLOCK_MONOTONIC ns; with slow.wait_timer */
	uint64_t dead_at;  /* something was found outstanding to a peer that ended; 0: not */
	/* links that lose packets (loss.c); ns, 0: not running */
	uint64_t pace_at;     /* UC, UD: nothing leaves before */
	uint64_t ack_at;      /* local ACK timer */
	uint64_t pto_at;      /* sooner: the probe timer (RFC 8985, 7.2) */
	uint64_t rtt_xmit_ts; /* when rtt_psn was sent; 0: no sample is being taken */
	uint32_t rtt_psn;
	uint32_t srtt;		       /* smoothed round trip, ns; 0: none yet */
	uint32_t pto;		       /* probe timeout, ns; 0: to be calculated */
	uint32_t reported_psn;	       /* up to here congestion control was told */
	uint32_t unacked;	       /* bytes sent since the last packet that asks for an ACK */
	uint32_t asked_psn;	       /* asks for an ACK, the last that does; una_psn - 1: none */
	bool window_full;	       /* nothing was sent for want of room in it */
	uint8_t probing;	       /* 1: the next packet is the probe; 2: it was sent */
	uint32_t probe_psn, probe_end; /* of the probe; one past it: TLP.end_seq */
	uint32_t probe_back;	       /* where sending goes on behind the probe */
	uint32_t sacked_psn;	       /* with `sacked`: what was sent below it is not in flight */
	bool sacked;		       /* something below sacked_psn is missing still */
	bool recovery;		       /* a NAK has come, and no ACK up to recovery_psn since */
	uint32_t recovery_psn;	       /* send_psn when it came: RecoveryPoint (RFC 6675) */
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
	uint32_t nxmit;	 /* marks made; the newest lies in front of nxmit % DPA_XMIT_MARKS */
	struct dpa_xmit xmit[DPA_XMIT_MARKS];
};

/* Responder. */
struct dpa_resp {
	/* what each SEND touches: 48 bytes, then the first SGE: a line */
	uint32_t epsn; /* expected PSN */
	uint32_t msn;
	uint8_t last_op; /* kind of the message in progress: device/order/resp_check.h */
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
	/* of the message at hand, where the SRQ matches tags: device/recv/tag.h */
	struct {
		uint8_t kind; /* enum dpa_tag_kind */
		uint32_t app_ctx;
		uint64_t tag;
		uint8_t head[32];
	} tm;
};

/* The conditions that must hold when the copy begins. */
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
 * direct/direct.h, device/direct/near.c.
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
 * Why a QP may not take the fast paths (short SENDs, receives and ACKs over shared memory,
 * operations in cached mapped memory). word 0: it may. Plain, under the QP's lock: the holder that
 * changes the input of a bit writes the bit, the fast paths read the word. Two inputs that other
 * threads and processes write are not here but read each time: the state of the peer and `lossy` of
 * its ring (dpa_link_is_plain()).
 */
union dpa_slow {
	uint16_t word;
	struct {
		bool not_rts : 1;    /* dpa_qp_set_state() */
		bool wire : 1;	     /* dpa_qp_set_flags(): the peer is on another host */
		bool limited : 1;    /* by `rate` */
		bool fence_sq : 1;   /* SQD: nothing new is sent */
		bool wait_timer : 1; /* RNR or retry timer runs: nothing is sent */
		bool ask_due : 1;    /* device/transport/ask.c */
		bool cqe_lost : 1;   /* a CQ had no room for what it reports: it ends in error */
		bool tags : 1;	     /* its SRQ matches tags */
		bool keeps : 1;	     /* packets out of order: kept.c */
		bool foreign : 1; /* it used memory that cannot be addressed: foreign/foreign.h */
		/*
		 * The process captures, or its links are made bad. dpa_grant() copies it from
		 * hw->inspect (relaxed). A change stores hw->inspect first and then calls dpa_grant()
		 * for every QP under its lock, so no QP misses it.
		 */
		bool inspected : 1;
	};
};
_Static_assert(sizeof(union dpa_slow) == 2, "one word");

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
	union dpa_slow slow;
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
	uint8_t direct; /* may go the direct path: direct/direct.h */
	uint16_t index; /* in hw->slab, for good */
	/* line 2: the requester */
	/* WQE that came by BlueFlame, for the WQE at req.send_idx */
	const uint8_t *bf __attribute__((aligned(DPA_CACHE_LINE)));
	uint8_t direct_fails;	      /* tries of the direct path in a row that ended so */
	uint8_t atomic_rest;	      /* atomics that are not tried that way */
	uint16_t direct_rest;	      /* messages that are not */
	uint8_t retry_cnt, rnr_retry; /* those of attr */
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
	const struct dpa_qp_ops *ops;
	uint32_t uar_page, uar_slot;
	struct dpa_board_qpinfo *info;
	bool comm_est, last_wqe_raised;
	/*
	 * Not 0: the holder of the lock may be at work in a window of type 1. It sets the word
	 * (relaxed, then a full fence) before it uses the key of the window, and clears it (release)
	 * before it unlocks. A thread that has unbound a window reads it (acquire) behind a full
	 * fence: mr.c, mw.c, qp.c.
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
	const uint64_t *eu_word; /* of the slot, or that of `watch` */
	uint64_t eu_seen;	 /* last doorbell word carried out */
	struct dpa_fqp *fq;	 /* with slow.foreign: foreign/foreign.h */
	bool eu_watched;	 /* eu_word is that of `watch`, which lasts meanwhile: eu->lock */
	struct dpa_watch *watch; /* NULL: the SQ is not watched: eu/watch.c */
	struct dpa_hw_qp *free_next;
	/* links that lose packets */
	struct dpa_pcc_flow pcc;
	/* which algorithm that is: cc/cc.h */
	struct {
		const _Atomic uint64_t *source; /* the port's word; set at RTS */
		uint64_t word;			/* the one that the flow follows */
		_Atomic uint32_t *counts;	/* where it counts; NULL: nowhere */
		int8_t slot;			/* -1: none */
		struct dpa_pcc_split split;
		union { /* parameters of what is built in, unless they are the defaults */
			struct dpa_pcc_dcqcn_param dcqcn;
			struct dpa_pcc_rtt_param rtt;
		} param;
	} cc;
	struct dpa_np_flow np;
	/* the probe of the round trip that is under way: transport/probe.c */
	struct {
		uint64_t at;   /* ns when it left */
		uint32_t num;  /* PSN of its packet; counts up */
		uint8_t asked; /* pcc.probes, when it left */
		bool out;
	} probe;
	struct dpa_hw_qp *ack_next; /* owes an ACK, under hw->ack_lock */
	bool ack_listed;
	struct dpa_kept *kept; /* out of order, sorted by PSN: kept.c */
	uint32_t nkept;
	uint16_t id_port; /* UDP port of what came in order last, and how many packets of it */
	uint8_t id_row;	  /* in a row had an IPv4 identification that counts from 0: frame.c */
	bool straight;	  /* UC: the last packet that was taken came by no other process: frame.c */
} __attribute__((aligned(2 * DPA_CACHE_LINE)));

/* The flags that each of its packets starts with; under its lock. */
static inline void dpa_qp_set_flags(struct dpa_hw_qp *qp, uint8_t flags)
{
	qp->pkt_flags = flags;
	qp->slow.wire = flags != 0;
}

/*
 * The next receive WQE of the QP's own queue; NULL: none. rq_pi: acquire, pairs with the poster's
 * release behind the WQE.
 */
static inline const struct dpa_rwqe *dpa_rq_head(const struct dpa_hw_qp *qp)
{
	if (!qp->rq || __atomic_load_n(&qp->dbrec->rq_pi, __ATOMIC_ACQUIRE) == qp->rq_ci)
		return NULL;
	return (const void *)(qp->rq + (size_t)(qp->rq_ci & qp->rq_mask) * qp->rq_stride);
}

/* Copies a receive WQE of a queue whose WQEs have max_sge SGEs. */
static inline void dpa_rwqe_read(struct dpa_rx_wqe *w, const struct dpa_rwqe *r, uint32_t max_sge)
{
	const uint32_t nsge = __atomic_load_n(&r->nsge, __ATOMIC_RELAXED); /* once */

	w->wr_id = r->wr_id;
	w->nsge = nsge <= max_sge ? nsge : max_sge;
	memcpy(w->sge, r + 1, w->nsge * sizeof(w->sge[0]));
}

/* It was read, and is the poster's again. rq_ci: release, behind the reads. */
static inline void dpa_rq_take(struct dpa_hw_qp *qp)
{
	__atomic_store_n(&qp->dbrec->rq_ci, ++qp->rq_ci, __ATOMIC_RELEASE);
}

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

/* Under hw->ctl: a QP structure, taken and given back; under its lock: made what `a` says. */
struct dpa_hw_qp *dpa_qp_take(struct dpa_hw *hw);
void dpa_qp_give(struct dpa_hw_qp *qp);
void dpa_qp_init(struct dpa_hw_qp *qp, struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a);
/* cc.source of a QP that follows no algorithm of the port: always 0. */
extern const _Atomic uint64_t dpa_cc_unled;
void dpa_qp_event(struct dpa_hw_qp *qp, uint32_t type);
/* To the error state, with everything flushed; under the QP's lock. */
void dpa_qp_to_error(struct dpa_hw_qp *qp);
/* Reports a receive that ends with an error. */
void dpa_qp_recv_ends(struct dpa_hw_qp *qp, uint64_t wr_id, uint8_t status, uint32_t syndrome);
void dpa_qp_flush_rq(struct dpa_hw_qp *qp);
void dpa_qp_leave(struct dpa_hw_qp *qp); /* unlocks, carrying out what was noted */
/* Completions of one QP that go to their CQ together, while it is locked; the stack of who drains.
 */
#define DPA_RUN 16u
struct dpa_run {
	struct dpa_hw_qp *qp; /* locked; NULL: none, nothing is collected */
	struct dpa_hw_cq *cq;
	uint32_t n;
	struct dpa_cqe e[DPA_RUN];
};
/* Reports the completions that were collected. */
void dpa_run_flush(struct dpa_run *r);
void dpa_hw_free_qps(struct dpa_hw *hw); /* their memory, at the last close */
void dpa_qp_set_state(struct dpa_hw_qp *qp, uint32_t state);

#endif
