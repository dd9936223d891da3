/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * harness.h - two QPs of one function in plain memory. Their rings lead back to the function
 * itself, but no packet moves by itself: the test takes each packet from the ring of the sending QP
 * and gives it to the other one, later, twice or never. Time advances only by the test.
 */
#ifndef DPA_TEST_TRANSPORT_HARNESS_H
#define DPA_TEST_TRANSPORT_HARNESS_H

#include <stdio.h>
#include <string.h>
#include "board/board.h"
#include "board/error_record.h"
#include "ctx/cq.h"
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "transport/transport.h"
#include "order/resp_check.h"

#define TH_LOG_SQ 8u /* blocks */
#define TH_LOG_RQ 6u
#define TH_LOG_CQ 10u
#define TH_MEM	  (4u << 20)
#define TH_ALL                                                                                     \
	(DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_READ |               \
	 DPA_ACCESS_REMOTE_ATOMIC)

/* In a test of one thread, ThreadSanitizer finds nothing and takes ten times as long. */
#ifdef DPA_TSAN
#define TH_FEWER(n) ((n) / 8)
#else
#define TH_FEWER(n) (n)
#endif

/* A packet from the ring, with the payload that it carried. */
struct th_pkt {
	struct dpa_slot s;
	uint32_t bytes; /* of data: payload in the form of the link */
	uint8_t data[DPA_LANE_MTU] __attribute__((aligned(16)));
};

struct th_cq {
	struct dpa_hw_cq *cq;
	struct dpa_cqe buf[1u << TH_LOG_CQ] __attribute__((aligned(64)));
	uint32_t ci;
};

/* wirelike.c: an entry that is being cut into packets */
struct th_cut {
	struct dpa_slot s;
	uint32_t n, nth; /* number of packets; number taken */
	uint8_t data[65536];
};

struct th_side {
	struct th *th;
	struct th_side *other;
	struct dpa_hw_qp *qp;
	struct th_cq scq, rcq;
	struct dpa_dbrec dbrec __attribute__((aligned(64)));
	uint8_t *sq, *rq;
	uint32_t pi, rpi;
	uint8_t *mem; /* TH_MEM bytes, registered with every access as key */
	uint32_t key;
	uint64_t next_wr;
	struct th_cut cut;
	uint16_t from; /* UDP port that its packets from the wire come from; changed by tests */
};

struct th_opt {
	uint32_t type;	 /* enum dpa_qp_type; 0: RC */
	uint32_t mtu;	 /* path MTU code, 0: 1024 bytes */
	uint32_t mtu_b;	 /* path MTU code of B, 0: as A's */
	uint32_t psn;	 /* first PSN of both directions */
	uint32_t skew;	 /* B expects A's first PSN plus this */
	uint32_t index;	 /* first SQ index */
	uint32_t access; /* of the QPs; 0: all; TH_NO_ACCESS: none */
	uint8_t retry, rnr_retry, timeout, min_rnr, rd, dest_rd;
	bool pull, own_srq;
	bool direct;	    /* allow the direct path; with pull */
	bool lossy;	    /* the rings report that packets may be lost */
	bool wire;	    /* the QPs treat each other as QPs of another host; lossy, too */
	bool b_rtr;	    /* B stays in RTR */
	uint8_t congestion; /* index into dpa_pcc_algos */
};
#define TH_NO_ACCESS DPA_ACCESS_LOCAL_WRITE

struct th {
	struct dpa_hw *hw;
	struct dpa_hw_ctx ctx;
	struct dpa_peer *peer;
	struct dpa_lane_shm *lanes;
	struct dpa_board board;
	struct dpa_board_proc self;
	struct dpa_door door;
	_Atomic uint64_t counters[DPA_BOARD_COUNTERS];
	uint32_t pdn;
	bool wire;
	struct th_side a, b;
	uint32_t events[64]; /* asynchronous events by type */
};

/* A work request; members that are not named are 0. */
struct th_wr {
	uint8_t op, flags;
	uint32_t nsge;
	struct dpa_sge sge[4];
	const void *inl; /* with inl_len: DPA_WQE_INLINE */
	uint32_t inl_len;
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	uint32_t flush, length; /* FLUSH */
	uint32_t imm;
	uint64_t wr_id; /* 0: the next number of this side */
	const struct dpa_wqe_av *av;
};

extern uint64_t th_now;		/* result of dpa_now_ns() */
extern uint64_t th_now_step;	/* advance of th_now by each call of it; 0 */
extern bool th_nobody;		/* no QPN has an owner */
extern int th_nobody_errno;	/* the error that the board returns for it: ENOENT */
extern bool th_dead;		/* the board reports every process as dead */
extern uint32_t th_members[4];	/* QPNs of every multicast group, up to the first 0 */
extern uint32_t th_udp_looks;	/* calls of dpa_udp_rx() */
extern uint32_t th_udp_packets; /* number that each of them returns */
extern uint32_t th_fwd_looks;	/* calls of dpa_fwd_rx() */
extern uint32_t th_port_mtu;	/* the port's active MTU, a code; of each test 5: 4096 bytes */
extern uint8_t th_gid[2][16];	/* the port's table */
/* The board: owner of the QPNs, and the record of every QP (NULL: none has one). */
extern struct th_owned {
	uint32_t qpn, slot, gen;
} th_owned[4];
extern struct dpa_board_qpinfo *th_info;
/* Regions as the device shows them to tools. */
extern struct dpa_board_mrinfo th_mrinfo[DPA_BOARD_MRINFO];
extern struct th_xrc_srq {
	uint32_t srqn, xrcd;
} th_xrc_srq;		       /* the XRC SRQ of this process; srqn 0: none */
extern void (*th_looks)(void); /* called when a QP looks for its peer; NULL */
/* The action of the other side, which polls, when it is asked to check its rings. */
extern void (*th_polls)(struct dpa_tx *lanes);
extern char th_logged[256];	  /* the last line for the log that is no error's */
extern char th_logged_error[256]; /* the last one of an error */
/* Records of errors by their number, from 1 on, modulo TH_ERRORS. */
#define TH_ERRORS 64u
extern struct th_error {
	struct dpa_error e;
	bool flush;
	uint32_t flushed[2];
} th_errors[TH_ERRORS];
extern uint32_t th_num_errors;
void th_log(int level, const char *text);
extern int th_qpn_err; /* error of the board for QPNs and UAR slots; 0: each request succeeds */
extern int th_uar_err;

/* Create two QPs in RTS, connected to each other (UD: unconnected). Ends the test on failure. */
struct th *th_new(const struct th_opt *opt);
void th_free(struct th *th);

/* Post; false: no room. Nothing is sent before th_ring(). */
bool th_post(struct th_side *s, const struct th_wr *wr);
void th_ring(struct th_side *s);
/* Post one SGE of this side's memory at off. */
void th_send(struct th_side *s, uint8_t op, uint32_t off, uint32_t len, uint32_t roff);
bool th_recv(struct th_side *s, uint64_t wr_id, uint32_t off, uint32_t len);
bool th_recv_sges(struct th_side *s, uint64_t wr_id, const struct dpa_sge *sge, uint32_t n);

/* Take the next packet that s sent; false: none. */
bool th_take(struct th_side *s, struct th_pkt *p);
/* Do the same, including the messages of device/transport/ask.c, which th_take() skips. */
bool th_take_any(struct th_side *s, struct th_pkt *p);
uint32_t th_drop_all(struct th_side *s); /* returns the number */
/* Give a packet to s; th_flush() sends the pending answers. */
void th_give(struct th_side *s, const struct th_pkt *p);
void th_flush(struct th_side *s);
/* Deliver all packets that s sent to the other side as one batch. Returns the number of packets. */
uint32_t th_deliver(struct th_side *s);
/* Deliver in both directions until no packet moves. */
void th_settle(struct th *th);
/* Advance time to the next timer and run it. False: no timer is set. */
bool th_tick(struct th *th);
void th_lost(struct th_side *s);
/* Advance time to `when` (ns), with every timer that runs on the way. */
void th_until(struct th *th, uint64_t when);

/* wirelike.c */
void th_wire_hold(struct th_cut *w, const struct th_pkt *p, uint32_t mtu);
void th_wire_next(struct th_cut *w, uint32_t mtu, struct th_pkt *p);

bool th_poll(struct th_cq *cq, struct dpa_cqe *e);
uint64_t th_count(struct th *th, enum dpa_counter c);

/* Forge a packet that no QP sent: from s's QP to the other one. */
void th_forge(struct th_side *from, struct th_pkt *p, uint8_t opcode, uint32_t psn, uint32_t len);
struct dpa_ext *th_ext(struct th_pkt *p);

/* Return numbers determined by a seed. */
uint32_t th_rand(uint64_t *seed);
/* Fill in the pattern of a message: n bytes determined by id. */
void th_fill(uint8_t *p, uint32_t n, uint64_t id);
bool th_check(const uint8_t *p, uint32_t n, uint64_t id);

#endif
