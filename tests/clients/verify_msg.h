/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verify_msg.h - dpa_verify --kind: messages to a receiver that keeps up, starves, stops or catches
 * up. Every byte of every completion is checked, and every byte around it.
 *
 * A flow is a stream of numbered messages to one receiver. A message's number and flow are its
 * immediate, its tag, or the first bytes of its payload. All else (length, operation, bytes) both
 * sides derive from the seed. Where messages may be lost, those that complete are in order on a
 * connection, and each comes once.
 */
#ifndef DPA_TESTS_VERIFY_MSG_H
#define DPA_TESTS_VERIFY_MSG_H

#include "verify.h"

#include <endian.h>
#include <netinet/in.h>
#include <infiniband/tm_types.h>

enum msg_kind { MSG_RC, MSG_UC, MSG_UD, MSG_XRC, MSG_SRQ, MSG_UDSRQ, MSG_TAG, MSG_KINDS };
extern const char *const msg_kind_name[MSG_KINDS];

/*
 * Posts of a receiver: always; one at a time; always, but stops at times; all at once, when none is
 * left; each of these in turn.
 */
enum msg_manner { MSG_KEEPS, MSG_STARVES, MSG_STOPS, MSG_CATCHES, MSG_TURNS, MSG_MANNERS };
extern const char *const msg_manner_name[MSG_MANNERS];

enum msg_op {
	M_SEND,	     /* with its number in its first bytes, or its tag */
	M_SEND_IMM,  /* with its number as immediate, as all below */
	M_WRITE_IMM, /* to the place of its number */
	M_WRITE,     /* the same without immediate, and an empty SEND after it */
};

enum {
	MSG_GRH = 40,
	MSG_TMH = sizeof(struct ibv_tmh),
	MSG_RVH = sizeof(struct ibv_rvh),
	MSG_HEAD = 8,	  /* bytes of payload that name a message without immediate */
	MSG_RECVS = 32,	  /* of a queue */
	MSG_SOURCES = 16, /* messages of a flow in flight */
	MSG_WRITTEN = 16, /* places of a flow that WRITEs go to */
	MSG_FLOWS = 16,	  /* 8 QPs, XRC: to the peer's SRQ and to the own one */
	MSG_READ_AREA = 8192,
	MSG_POISON = 0xd7, /* content of receives before they are posted */
};
#define MSG_WR_READ  (1ull << 62)
#define MSG_WR_WRITE (1ull << 61) /* its completion is ignored: the SEND after it counts */
#define MSG_WR_FIN   (1ull << 60)
enum { MSG_RNDV = MSG_TMH + MSG_RVH };

struct msg_opt {
	enum msg_kind kind;
	enum msg_manner manner;
	bool on, dm, twice, threads; /* twice: the link may duplicate, reorder */
	const char *xrcd;	     /* file of the XRC domain that both sides open; NULL: none */
	uint64_t count;		     /* messages of a flow; 0: by time */
	uint32_t seconds;
};

/* The seq-th message of a flow. */
struct msg {
	enum msg_op op;
	uint32_t len, first; /* bytes; of the first SGE */
	bool inl, signal, read, rndv;
	uint64_t key;
};

/* A flow that this side sends. */
struct msg_out {
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	uint32_t dqpn, srqn, rkey;
	uint64_t base; /* of the receiver's memory */
	uint32_t seq, done, seen, total;
	bool told, reading;
	uint32_t read_off, read_len;
	bool signalled[MSG_SOURCES], busy[MSG_SOURCES]; /* busy: a rendezvous that has not ended */
};

/* A flow that this side receives. */
struct msg_in {
	uint32_t qpn, src_qpn; /* values that its completions must contain; src_qpn 0: none */
	uint32_t next, seen_told, total, waits;
	uint64_t got;
	bool ended;    /* total is known */
	uint8_t *bits; /* of the numbers that came */
};

/* Receives of a QP or an SRQ. */
struct msg_pool {
	struct ibv_qp *qp;
	struct ibv_srq *srq;
	uint32_t first, n, posted, nfree, free[2 * MSG_RECVS];
	uint32_t waits; /* rounds until it posts */
};

/* A completion of a receive. */
struct msg_wc {
	uint64_t wr_id, tag;
	enum ibv_wc_opcode opcode;
	enum ibv_wc_status status;
	uint32_t byte_len, imm, qp_num, src_qp;
	unsigned int flags;
};

struct msg_end {
	struct ibv_qp *tx, *rx;
};

struct msgs {
	struct verify *v;
	struct vt *t;
	struct msg_opt o;
	uint32_t flows, pools, nrecv; /* nrecv: slots of all pools */
	uint64_t rng;
	struct ibv_cq *scq, *rcq;
	struct ibv_cq_ex *rcq_ex;
	struct ibv_xrcd *xrcd;
	int xrcd_fd;
	struct ibv_srq *srq;
	struct msg_end end[MSG_FLOWS];
	struct msg_out out[MSG_FLOWS];
	struct msg_in in[MSG_FLOWS];
	struct msg_pool pool[MSG_FLOWS];
	struct ibv_dm *dm;
	uint8_t *scratch, *wanted; /* one slot each */
	uint64_t slot_tag[2 * MSG_RECVS];
	bool tagged[2 * MSG_RECVS];
	uint32_t unexpected;
	bool done, peer_done, flushing;
	int stop_fd;
	pid_t stopper;
	uint64_t arrived, sent, bytes;
	struct timespec start;
};

static inline bool msg_reliable(const struct msgs *m)
{
	return m->o.kind != MSG_UC && m->o.kind != MSG_UD && m->o.kind != MSG_UDSRQ;
}

static inline bool msg_datagrams(const struct msgs *m)
{
	return m->o.kind == MSG_UD || m->o.kind == MSG_UDSRQ;
}

/* XRC: the odd flows return to the sender's own SRQ, through the peer's target. */
static inline bool msg_is_own(const struct msgs *m, uint32_t flow)
{
	return m->o.kind == MSG_XRC && flow & 1;
}

static inline uint32_t msg_grh(const struct msgs *m)
{
	return msg_datagrams(m) ? MSG_GRH : 0;
}

/* Return the bytes of a slot without its guard: the longest message with the longest header. */
static inline uint32_t msg_room(const struct msgs *m)
{
	return m->v->max + MSG_GRH;
}

static inline size_t msg_stride(const struct msgs *m)
{
	return ((size_t)msg_room(m) + GUARD + 63) & ~(size_t)63;
}

static inline size_t msg_at_recv(const struct msgs *m, uint32_t slot)
{
	return slot * msg_stride(m);
}

static inline size_t msg_at_written(const struct msgs *m, uint32_t flow, uint32_t seq)
{
	return msg_at_recv(m, m->nrecv) + (flow * MSG_WRITTEN + seq % MSG_WRITTEN) * msg_stride(m);
}

static inline size_t msg_at_source(const struct msgs *m, uint32_t flow, uint32_t seq)
{
	return msg_at_written(m, m->flows, 0) +
	       (flow * (MSG_SOURCES + 1) + seq % MSG_SOURCES) * msg_stride(m);
}

/* Return the place for the data of a READ of the flow. */
static inline size_t msg_at_back(const struct msgs *m, uint32_t flow)
{
	return msg_at_source(m, flow, MSG_SOURCES - 1) + msg_stride(m);
}

static inline size_t msg_at_read(const struct msgs *m)
{
	return msg_at_source(m, m->flows, 0);
}

/* verify_msg_mem.c: messages and their memory, of the host or of the device. */
void msg_memory_make(struct msgs *m);
void msg_memory_free(struct msgs *m);
void msg_put(struct msgs *m, size_t off, const void *from, size_t n);
void msg_get(struct msgs *m, size_t off, void *to, size_t n);
void msg_poison(struct msgs *m, size_t off); /* a whole slot */
bool msg_is_poison(const uint8_t *p, size_t n);
uint64_t msg_draw(struct msgs *m, uint64_t n); /* 0 to n - 1, from the seed */
struct msg msg_program(const struct msgs *m, int side, uint32_t flow, uint32_t seq);
/* Make the payload, with the header of a message without immediate. */
void msg_payload(const struct msgs *m, int side, uint32_t flow, uint32_t seq, const struct msg *p,
		 uint8_t *to);
uint64_t msg_read_key(const struct msgs *m, int side);

/* verify_msg_qp.c: QPs of each kind, connected to the peer's. */
void msg_connect(struct msgs *m);
void msg_disconnect(struct msgs *m);
void msg_to_error(struct msgs *m); /* nothing is written from here on */

/* verify_msg_stop.c */
void msg_stopper_begin(struct msgs *m);
void msg_stopper_end(struct msgs *m);
void msg_stop(struct msgs *m);

/* verify_msg_send.c */
void msg_post_fin(struct msgs *m, uint32_t flow, uint32_t i);
bool msg_send_some(struct msgs *m, uint32_t flow); /* returns whether there was progress */
void msg_sent(struct msgs *m, const struct ibv_wc *wc);
void msg_not_busy_before(struct msgs *m, uint32_t flow, uint32_t seq);
bool msg_out_ended(const struct msgs *m, uint32_t flow);

/* verify_msg_recv.c */
void msg_feed(struct msgs *m, struct msg_pool *p, bool all);
uint32_t msg_take(struct msgs *m); /* polls; returns the number of completions */
bool msg_in_ended(const struct msgs *m, uint32_t flow);
void msg_rests_check(struct msgs *m);

/* verify_msg.c: the complete run of one side. */
void msg_run(struct verify *v, const struct msg_opt *o);

/* verify_options.c: false: invalid options, and a message was printed. */
struct verify_cmd {
	struct verify v;
	struct msg_opt msg;
	const char *port, *host;
	bool error;
};
bool verify_options(struct verify_cmd *cmd, int argc, char **argv);

#endif
