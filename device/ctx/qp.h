/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* qp.h - a QP: the state of its requester and responder, and its life. */
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
#include "util/count.h"
#include "util/lock.h"

#define DPA_LANES     4u /* rings from a process to another; a QP uses one of them */
/*
 * All XRC QPs use this ring: so an ACK of a target precedes messages that the program sends after
 * it.
 */
#define DPA_XRC_LANE  (DPA_LANES - 1)
#define DPA_BTH_RAW   0xe0u /* transport of raw packets; never on a wire */
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
struct dpa_slot;

#define DPA_QP_ERRORS 4u /* records of its errors that a QP has: the first, and the last ones */

/* A receive WQE that a message has taken. */
struct dpa_rx_wqe {
	uint64_t wr_id;
	uint32_t nsge;
	struct dpa_sge sge[DPA_MAX_SGE];
};

#define DPA_RD_OWED (2 * DPA_MAX_RD_ATOMIC) /* one half for requests, one for duplicates */

/* A pending answer of the responder: READ response, atomic response. */
struct dpa_rd_resource {
	uint8_t opcode; /* of the request */
	bool done;	/* sent completely */
	bool again;	/* of a duplicate */
	uint32_t psn;	/* first PSN of the response */
	uint32_t npkts;
	uint32_t rkey;
	uint64_t va;
	uint32_t len;
	uint32_t off;  /* bytes sent so far */
	uint64_t orig; /* result of an atomic */
	uint32_t msn;
	uint32_t pdn; /* PD that the key was checked against */
};

/* A READ, FLUSH or atomic that was carried out; kept for its duplicates. */
struct dpa_rd_saved {
	union {
		uint64_t orig; /* old value of an atomic */
		uint64_t va;   /* READ, FLUSH: the range, with len */
	};
	uint32_t len, rkey;
	uint32_t xrcsrq; /* XRC: the SRQ that it named */
	uint32_t psn;	 /* first PSN of the response */
	uint32_t npkts : 24;
	uint32_t opcode : 8; /* opcode of the request; DPA_LINK_NO_QP: none */
};

/*
 * Figures for tools: meter/meter.h. The counts of messages and bytes run while dpa_meters_are_on().
 * Written under the QP's lock, read by the service thread without it: all relaxed.
 */
struct dpa_qp_meter {
	_Atomic uint64_t tx_bytes, rx_bytes;
	_Atomic uint32_t tx_msgs, rx_msgs;
	_Atomic uint32_t again, rnr;
	_Atomic uint32_t
		error; /* of the last error completion: status | vendor error << 8; 0: none */
};

#define DPA_XMIT_MARKS 8u

/*
 * A mark for packets that were sent (RFC 8985, 5.2): all below end_psn and behind the mark before;
 * the first of them was sent at xmit_ts, ns.
 */
struct dpa_xmit {
	uint64_t xmit_ts;
	uint32_t end_psn;
};

/* Requester. For its states see device/transport/README.md. */
struct dpa_req {
	/* for each message: 48 bytes */
	uint32_t send_idx;     /* SQ block index of the WQE being sent */
	uint32_t send_off;     /* bytes of it that were sent */
	uint32_t send_psn;     /* PSN of the next packet */
	uint32_t send_wqe_psn; /* first PSN of the WQE at send_idx */
	uint32_t una_idx;      /* oldest WQE not completed */
	uint32_t una_psn;      /* its first PSN */
	uint32_t read_off;     /* bytes of the READ at una_idx that arrived */
	/* one past the highest PSN ever sent; packets below it are retransmissions */
	uint32_t max_psn;
	/* one past the highest PSN that the responder is known to have received */
	uint32_t acked_psn;
	uint32_t send_ssn; /* messages before the WQE at send_idx (IBA 9.7.7.2) */
	uint8_t retry_left, rnr_left;
	bool pulled;  /* the payload being sent is in the application's memory */
	bool credits; /* the peer sends credits */
	bool heard;   /* a new acknowledgement has arrived */
	bool implied; /* a missing response was requested again */
	/* Rarely used. */
	bool timer_is_rnr;
	bool timer_is_room; /* the peer reports room before (ask.c) */
	uint32_t rd_out;    /* READs and atomics sent and not completed */
	uint32_t una_ssn;   /* messages before the WQE at una_idx */
	uint32_t lsn;	    /* the last message that the peer has a receive for */
	uint32_t seen_una;  /* recorded by the watchdog at its last check */
	bool seen_stuck;
	bool asked;	  /* an ASK was sent (ask.c), */
	uint32_t ask_psn; /* after all packets before this PSN */
	/* UD: position in the group to which the datagram was sent: index of mcast_next */
	uint32_t mc_at;
	/* UD: time since which the WQE at send_idx waits for a peer; 0: it does not wait */
	uint64_t ud_since;
	uint64_t timer;	  /* CLOCK_MONOTONIC ns; with slow.wait_timer */
	uint64_t dead_at; /* since when something is outstanding to a peer that ended; 0: not */
	/* Links that lose packets (loss.c); ns, 0: not running. */
	uint64_t pace_at;     /* UC, UD: nothing is sent before */
	uint64_t ack_at;      /* local ACK timer */
	uint64_t pto_at;      /* earlier: the probe timer (RFC 8985, 7.2) */
	uint64_t rtt_xmit_ts; /* time when rtt_psn was sent; 0: no sample is being taken */
	uint32_t rtt_psn;
	uint32_t srtt;	       /* smoothed round trip, ns; 0: none yet */
	uint32_t pto;	       /* probe timeout, ns; 0: to be calculated */
	uint32_t reported_psn; /* PSN up to which congestion control has received reports */
	uint32_t unacked;      /* bytes sent since the last packet that asks for an ACK */
	/* PSN of the last packet that asks for an ACK; una_psn - 1: none */
	uint32_t asked_psn;
	bool window_full;	       /* nothing was sent because it had no room */
	uint8_t probing;	       /* 1: the next packet is the probe; 2: it was sent */
	uint32_t probe_psn, probe_end; /* PSN of the probe; one past it: TLP.end_seq */
	uint32_t probe_back;	       /* PSN at which sending continues after the probe */
	uint32_t sacked_psn;	       /* with `sacked`: packets below it are not in flight */
	bool sacked;		       /* a packet below sacked_psn is still missing */
	bool recovery;		       /* a NAK arrived; no ACK up to recovery_psn since */
	/* value of send_psn at that time: RecoveryPoint (RFC 6675) */
	uint32_t recovery_psn;
	bool probe_nak; /* the probe answers a NAK */
	bool probe_rd;	/* the probe is a READ or an atomic */
	/* XRC: the WQE that begins the current ownership epoch; turned: one has begun. */
	uint32_t turn_idx;
	bool turned;
	bool turn_keeps;   /* it is the first one, or a part of it was acknowledged */
	uint32_t turn_psn; /* value of una_psn when it began */
	/* does the peer keep packets that arrive out of order: yes from 3 on, no below 1 */
	int8_t keeps;
	uint8_t naks;	 /* NAKs answered without trying that again */
	uint8_t backoff; /* doublings of the local ACK timeout */
	uint32_t nxmit;	 /* count of marks; the newest is before nxmit % DPA_XMIT_MARKS */
	struct dpa_xmit xmit[DPA_XMIT_MARKS];
	/*
	 * Injected failures (send/inject.c). asked: idx is the last WQE that was looked up; status:
	 * enum ibv_wc_status that it ends with, 0: none. touched: the same for slow pages of its
	 * memory; it is sent at `until` (ns).
	 */
	struct {
		uint32_t idx, touched_idx;
		bool asked, touched;
		uint8_t status;
		uint64_t until;
	} inject;
};

/* Responder. */
struct dpa_resp {
	/* Used by each SEND: 48 bytes, then the first SGE: one cache line. */
	uint32_t epsn; /* expected PSN */
	uint32_t msn;
	uint8_t last_op; /* type of the current message: device/order/resp_check.h */
	bool nak_sent;	 /* one NAK for each hole */
	bool have_wqe;
	bool ack_owed;
	uint32_t ack_psn;
	uint8_t ack_syndrome;
	uint8_t ud_packet_type;	   /* UD: kind of the current datagram, see ud.c */
	bool patience_spent;	   /* UC, UD: see dpa_rx_must_wait() */
	bool ack_late : 1;	   /* other hosts: the pending ACK was delayed */
	bool np_due : 1;	   /* probe.c: a probe waits for its answer */
	bool looked_due : 1;	   /* ask.c: to report to the peer: everything was processed, */
	bool hint_due : 1;	   /* a request was dropped, */
	bool full_due : 1;	   /* there is no room for the request of epsn, */
	bool room_due : 1;	   /* there is room again */
	bool refused : 1;	   /* the request of epsn had no room: it comes again, */
	bool room_awaited : 1;	   /* its requester waits for the report of room */
	uint32_t off;		   /* bytes of the message received */
	uint32_t rd_head, rd_tail; /* entries [tail, head) are pending */
	struct dpa_rx_wqe wqe;
	uint64_t wr_va; /* WRITE: target */
	uint32_t wr_rkey, wr_len;
	uint64_t waiting_since;
	struct dpa_rd_resource rd[DPA_RD_OWED];
	struct dpa_rd_saved saved[DPA_MAX_RD_ATOMIC]; /* the last ones that were carried out */
	uint32_t nsaved;
	/* Duplicates: budget of response packets; ns: time up to which it was counted. again.c */
	uint64_t again, again_at;
	uint32_t looked;     /* with looked_due: serial number of the ASK */
	bool nak_strange;    /* nak_sent was set for a packet of another sender: kept.c */
	uint32_t from;	     /* DPA_FROM_* of the last packet from the wire that came in order */
	uint64_t late_until; /* ns: answers leave then (docs/inject.md); 0: at once */
	/* XRC target: the ring whose acks_waiting counts it; NULL: none. */
	struct dpa_tx *ack_waits;
	/* The current message, if the SRQ matches tags: device/recv/tag.h. */
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
	/* time stamp counter: when the process was last found alive, if its pid is used */
	uint64_t alive;
	const _Atomic uint64_t *conn;
	uint64_t conn_was;
};

/*
 * The peer's region or window, mapped here, that the QP's last direct operation used. The cached
 * values are valid while the guard holds, which each copy checks. Under the QP's lock;
 * direct/direct.h, device/direct/near.c.
 */
struct dpa_near {
	uint32_t rkey; /* 0: none */
	uint32_t access;
	uint64_t iova, length;
	uint8_t *base;	   /* mapped address of iova */
	uint32_t peer_gen; /* process generation for which it is valid */
	struct dpa_guard g;
};

/*
 * Reasons why a QP may not take the fast paths (short SENDs, receives and ACKs over shared memory,
 * operations in cached mapped memory). word 0: it may. Plain, under the QP's lock: a thread that
 * changes the input of a bit holds the lock and writes the bit; the fast paths read the word. Two
 * inputs that other threads and processes write are not included but read each time: the state of
 * the peer and `lossy` of its ring (dpa_link_is_plain()).
 */
union dpa_slow {
	uint16_t word;
	struct {
		bool not_rts : 1;    /* dpa_qp_set_state() */
		bool wire : 1;	     /* dpa_qp_set_flags(): the peer is on another host */
		bool limited : 1;    /* by the setting `rate` */
		bool fence_sq : 1;   /* SQD: no new packets are sent */
		bool wait_timer : 1; /* the RNR or retry timer runs: nothing is sent */
		bool ask_due : 1;    /* device/transport/ask.c */
		bool cqe_lost : 1;   /* a CQ had no room for its completion: it ends in error */
		bool tags : 1;	     /* its SRQ matches tags */
		bool keeps : 1;	     /* it has out-of-order packets: kept.c */
		bool foreign : 1; /* it used memory that cannot be addressed: foreign/foreign.h */
		/*
		 * The process captures, failures are injected into it, or faults or a network apply to its links. dpa_grant()
		 * copies it from hw->inspect (relaxed). A change stores hw->inspect first and then
		 * calls dpa_grant() for every QP under its lock, so no QP misses it.
		 */
		bool inspected : 1;
	};
};
_Static_assert(sizeof(union dpa_slow) == 2, "one word");

/*
 * A QP. With thousands of QPs each cache line is a miss, so the fields that a message touches are
 * in few lines: for sending 0, 1, 2; for receiving 0, the line of `rq` and the line where `resp`
 * begins, which are a pair.
 */
struct dpa_hw_rss;
struct dpa_flows;

struct dpa_hw_qp {
	/* Line 0: read or written by every operation. */
	dpa_qplock_t lock;
	uint32_t qpn; /* 0: free */
	uint8_t type, state;
	bool sq_sig_all;
	uint8_t pkt_flags; /* initial flags of each of its entries: DPA_PKT_MTU on the wire */
	uint16_t mtu;	   /* bytes */
	uint8_t access;	   /* the low 8 bits of attr.access */
	/* a copy to or from the current SGEs may fault, or they have no memory: see gather.c */
	bool careful;
	struct dpa_hw *hw;
	struct dpa_tx *tx; /* connected QPs: the ring to the peer; NULL: none yet */
	struct dpa_peer *peer;
	uint32_t dest_qpn, pdn;
	struct dpa_dbrec *dbrec;
	uint32_t user_index;
	union dpa_slow slow;
	uint8_t lane;
	uint8_t transport; /* transport of its packets: DPA_BTH_RC, _UC, _UD, _XRC */
	/* Line 1: posting. An EU that carries out the QP writes nothing here. */
	uint8_t *sq;
	struct dpa_hw_cq *send_cq;
	struct dpa_uar_slot *slot;
	uint32_t sq_mask; /* blocks - 1 */
	/* The QPs to which the same thread posted two and four posts later, in hw->qps.slab: hints. */
	_Atomic uint16_t second, fourth;
	_Atomic uintptr_t home; /* the thread that posted last, if it polls, too: a hint */
	uint64_t user_handle;
	const void *poster; /* two cache lines of the driver that posting touches */
	_Atomic uint32_t placement;
	uint8_t direct; /* may use the direct path: direct/direct.h */
	uint16_t index; /* its permanent place in hw->qps.slab */
	/* Line 2: the requester. */
	/* A WQE that came by BlueFlame, for the WQE at req.send_idx. */
	const uint8_t *bf __attribute__((aligned(DPA_CACHE_LINE)));
	/* The direct path: consecutive tries that failed; atomics and messages that skip it. */
	struct {
		uint8_t fails, atomics;
		uint16_t messages;
	} skip;
	uint8_t retry_cnt, rnr_retry; /* the values of attr */
	struct dpa_req req;
	struct dpa_near near __attribute__((aligned(DPA_CACHE_LINE)));
	/* A pair of lines: the receive queue, the responder. */
	struct dpa_hw_cq *recv_cq __attribute__((aligned(2 * DPA_CACHE_LINE)));
	struct dpa_hw_srq *srq;
	uint8_t *rq;
	uint32_t rq_mask; /* WQEs - 1 */
	uint32_t rq_stride, rq_ci, max_recv_sge;
	struct dpa_resp resp __attribute__((aligned(DPA_CACHE_LINE)));
	/* Rarely used. */
	struct dpa_qp_attr attr;
	struct dpa_hw_ctx *ctx;
	const struct dpa_qp_ops *ops;
	struct {
		uint32_t page, slot;
	} uar;
	struct dpa_board_qpinfo *info;
	bool comm_est, last_wqe_raised;
	/*
	 * Not 0: the holder of the lock may use a window of type 1. It sets the word (relaxed, then
	 * a full fence) before it uses the key of the window, and clears it (release) before it
	 * unlocks. A thread that has unbound a window reads it (acquire) behind a full fence: mr.c,
	 * mw.c, qp.c.
	 */
	_Atomic uint32_t in_window;
	/* it is being destroyed and has had time to send; under its lock: leave.c */
	bool leaving;
	struct {
		struct dpa_peer
			*held_by; /* UD, raw: the last peer that was not ready; NULL: none */
		bool block_self;  /* it does not receive its own multicast datagrams */
	} ud;
	uint32_t nmcast;	/* groups that it is attached to; under hw->ctl */
	uint32_t nflows;	/* flow rules that name it; under hw->ctl */
	struct dpa_hw_rss *rss; /* for a raw QP without queues of its own; else NULL */
	uint8_t *tag_sq;	/* send queue of a QP whose SRQ matches tags; else NULL */
	struct dpa_rate rate;
	uint64_t rate_at; /* ns: time until which sent bytes are charged */
	/* The WQE at req.send_idx, if the direct path moved a part of it. */
	struct {
		bool begun;	/* the rest goes by packet */
		uint32_t off;	/* bytes that were moved directly */
		uint64_t until; /* ns: end of a wait for outstanding packets; 0: none */
	} part;
	/*
	 * known: the peer's connection with which this QP's PSNs are in step, as in qp_conn[]
	 * without DPA_CONN_FRESH; 0: none. maybe: a connection that becomes known if a packet
	 * behind PSN psn is acknowledged while it lasts.
	 */
	struct {
		uint64_t known, maybe;
		uint32_t psn;
	} step;
	struct {
		const struct dpa_peer *peer; /* the peer that it is connecting to; NULL */
		uint32_t no_fds_seen;	     /* its no_fds when this QP's attempt began */
	} meet;
	/* domain of an XRC target, which has no PD and no queues of its own; else 0 */
	uint32_t xrcd;
	struct {
		struct dpa_qp_opener
			*openers; /* programs that opened a target, besides its creator */
		bool branch;	  /* replica of another process's target: xrc_branch.c */
		/*
		 * Initiator: ownership epochs begun. Target: the current epoch. Replica: the values
		 * that it last took over.
		 */
		uint32_t turn, conn, how;
	} xrc;
	bool gsi;	     /* the endpoint of QP1: gsi/gsi.h */
	uint32_t traced;     /* SQ index up to which the timeline has the pick-up of WQEs */
	uint32_t ask_serial; /* serial number of its last ASK, over all its uses: never 0 (ask.c) */
	/* List of scheduled QPs, under hw->pend.lock. */
	struct {
		bool on;
		struct dpa_hw_qp *next;
	} pend;
	/* not in a cache line that this EU writes, because posters read it each time */
	struct dpa_eu *eu;
	/* EU placement: the words that an EU reads repeatedly, in one cache line. */
	struct {
		struct dpa_hw_qp *next;
		const uint64_t *word; /* doorbell word of the slot, or of `watch` */
		uint64_t seen;	      /* last doorbell word carried out */
		/* word is that of `watch`, which stays valid meanwhile: eu->lock */
		bool watched;
	} poll __attribute__((aligned(32)));
	struct dpa_fqp *fq;	 /* with slow.foreign: foreign/foreign.h */
	struct dpa_watch *watch; /* NULL: the SQ is not watched: eu/watch.c */
	struct dpa_hw_qp *free_next;
	/* Links that lose packets. */
	struct dpa_pcc_flow pcc;
	/* The algorithm of the flow: cc/cc.h. */
	struct {
		const _Atomic uint64_t *source;	   /* the port's word; set at RTR, UD: RTS */
		uint64_t word;			   /* the one that the flow follows */
		_Atomic uint32_t *counts;	   /* its counters; NULL: none */
		struct dpa_board_pcc_flow *record; /* NULL: flows are not recorded */
		int8_t slot;			   /* -1: none */
		struct dpa_pcc_split split;
		union { /* Parameters of a built-in algorithm, unless they are the defaults. */
			struct dpa_pcc_dcqcn_param dcqcn;
			struct dpa_pcc_rtt_param rtt;
		} param;
	} cc;
	struct dpa_np_flow np;
	/* The outstanding round-trip probe: send/probe.c. */
	struct {
		uint64_t at;   /* ns: time when it was sent */
		uint32_t num;  /* PSN of its packet; incremented */
		uint8_t asked; /* value of pcc.probes when it was sent */
		bool out;
	} probe;
	/* the peer's probe that waits for this side's program (resp.np_due): transport/probe.c */
	struct {
		uint32_t ring, num;
		uint64_t serial, va, came, look; /* va: of the probe; ns */
	} np_ask;
	/* It has an ACK pending: list under hw->acks.lock. */
	struct {
		struct dpa_hw_qp *next;
		bool listed;
	} late;
	/* Out-of-order queue, sorted by PSN: kept.c. */
	struct {
		struct dpa_kept *list;
		uint32_t n;
	} ooo;
	struct dpa_qp_meter meter;
	/*
	 * Records of its errors, by number, 0: none (errors/errors.h). at: of the first and the last
	 * ones; flush: of flushes without an error before; now: the one that flushes count in, none
	 * after the QP has left its error state; n: errors so far. The last two are of the error that
	 * is being reported: it is injected; the packet that a receive failed with, NULL: unknown.
	 */
	struct {
		uint32_t at[DPA_QP_ERRORS], flush, now, n;
		bool injected;
		const struct dpa_slot *packet;
	} errors;
	/* The packets from the wire that came in order last. */
	struct {
		uint16_t port; /* their UDP port */
		uint8_t row; /* how many in a row had an IPv4 identification that counts from 0: frame.c */
		bool straight; /* UC: the last one came by no other process: frame.c */
	} id;
} __attribute__((aligned(2 * DPA_CACHE_LINE)));

/*
 * A WQE completes, as dpa_wqe_done() has it: the timeline's point, and the meter.
 * Context: the QP's lock; the same for the next two.
 */
void dpa_qp_note_done(struct dpa_hw_qp *qp, uint32_t psns, const struct dpa_cqe *e)
	__attribute__((cold));
/* The meter: messages and bytes arrived. */
void dpa_qp_meter_rx(struct dpa_hw_qp *qp, uint32_t msgs, uint64_t bytes) __attribute__((cold));
/* The meter: an error completion that is no flush. */
void dpa_qp_meter_error(struct dpa_hw_qp *qp, uint8_t status, uint32_t syndrome)
	__attribute__((cold));

/* Sets the initial flags of its packets. Context: its lock. */
static inline void dpa_qp_set_flags(struct dpa_hw_qp *qp, uint8_t flags)
{
	qp->pkt_flags = flags;
	qp->slow.wire = flags != 0;
}

/*
 * Returns the next receive WQE of the QP's own queue; NULL: none. rq_pi: acquire, pairs with the
 * poster's release behind the WQE.
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
	const uint32_t nsge = __atomic_load_n(&r->nsge, __ATOMIC_RELAXED); /* read once */

	w->wr_id = r->wr_id;
	w->nsge = nsge <= max_sge ? nsge : max_sge;
	memcpy(w->sge, r + 1, w->nsge * sizeof(w->sge[0]));
}

/* The WQE was read and belongs to the poster again. rq_ci: release, after the reads. */
static inline void dpa_rq_take(struct dpa_hw_qp *qp)
{
	__atomic_store_n(&qp->dbrec->rq_ci, ++qp->rq_ci, __ATOMIC_RELEASE);
}

/* True if it has one peer, that of its attributes. */
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

/*
 * The packets of one ring come for thousands of QPs: prefetches what the next packet needs of its
 * QP.
 */
static inline void dpa_qp_expect_rx(const struct dpa_hw_qp *qp)
{
	const uintptr_t at = (uintptr_t)qp; /* may be NULL */

	__builtin_prefetch(qp);
	__builtin_prefetch((const void *)(at + offsetof(struct dpa_hw_qp, recv_cq)));
	__builtin_prefetch((const void *)(at + offsetof(struct dpa_hw_qp, resp)));
}

/*
 * Take a QP structure, and give it back (context: hw->ctl); initialise it as `a` requires (context:
 * its lock).
 */
struct dpa_hw_qp *dpa_qp_take(struct dpa_hw *hw);
void dpa_qp_give(struct dpa_hw_qp *qp);
void dpa_qp_init(struct dpa_hw_qp *qp, struct dpa_hw_ctx *ctx, const struct dpa_qp_attr_create *a);
/* cc.source of a QP that follows no algorithm of the port: always 0. */
extern const _Atomic uint64_t dpa_cc_unled;
void dpa_qp_event(struct dpa_hw_qp *qp, uint32_t type);
/* Go to the error state and flush everything. Context: the QP's lock. */
void dpa_qp_to_error(struct dpa_hw_qp *qp);
/* Report a receive that ends with an error. */
void dpa_qp_recv_ends(struct dpa_hw_qp *qp, uint64_t wr_id, uint8_t status, uint32_t syndrome);
void dpa_qp_flush_rq(struct dpa_hw_qp *qp);
void dpa_qp_leave(struct dpa_hw_qp *qp); /* unlocks, and handles notes left meanwhile */
/*
 * Completions of one QP that go to their CQ together while it is locked; on the stack of the
 * draining thread.
 */
#define DPA_RUN 16u
struct dpa_run {
	struct dpa_hw_qp *qp; /* locked; NULL: none, nothing is collected */
	struct dpa_hw_cq *cq;
	uint32_t n;
	struct dpa_cqe e[DPA_RUN];
};
/* Report the collected completions. */
void dpa_run_flush(struct dpa_run *r);
void dpa_hw_free_qps(struct dpa_hw *hw); /* frees their memory, at the last close */
void dpa_qp_set_state(struct dpa_hw_qp *qp, uint32_t state);

#endif
