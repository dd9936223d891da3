/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verify.h - common part of dpa_verify: the program that both sides derive from the seed, the state
 * of a connection, and the layout of the buffer.
 */
#ifndef DPA_TESTS_VERIFY_H
#define DPA_TESTS_VERIFY_H

#include "vt.h"

#include <time.h>

enum {
	WINDOW = 16,   /* operations of a QP in flight */
	MAX_QPS = 256, /* of a process */
	GUARD = 64,    /* bytes behind each place that must not be written */
	READ_AREA = 1 << 20,
	BATCH = 16,
};
#define WR_RECV	  (1ull << 63)
#define WR_CREDIT (1ull << 62)

enum kind { K_SEND, K_WRITE, K_WRITE_IMM, K_READ, K_FETCH_ADD, K_CMP_SWAP, K_COUNT, KINDS };
extern const char *const kind_name[];

/* The seq-th operation of a side on a QP: both sides derive the same from the seed. */
struct op {
	enum kind kind;
	bool last;
	uint32_t len;
	uint64_t key; /* of the bytes, or the operand */
};

/* One side's program on a QP, computed by the side itself and by its peer. */
struct program {
	uint64_t base, bytes, share;
	uint64_t seq;	 /* of the next operation */
	uint64_t length; /* number of operations; UINT64_MAX until the last one was reached */
};

/* Contents of a QP's own words at the peer: [0] is added to, [1] swapped. */
struct words {
	uint64_t add, swap;
};

struct conn {
	struct ibv_qp *qp;
	uint32_t index, peer_qpn, peer_psn, psn;
	struct program mine, theirs;
	struct op ops[WINDOW];
	bool signalled[WINDOW];
	struct words expect; /* our words at the peer, after the posted operations */
	uint64_t old[WINDOW];
	uint64_t done;	 /* of ours that are complete */
	uint64_t credit; /* the last credit sent to the peer */
	bool credit_busy;
	uint64_t credit_seen;
};

struct tally {
	uint64_t ops[KINDS], bytes[KINDS];
};

struct verify {
	struct vt t;
	uint32_t qps, max, recvs, inl;
	uint64_t total, seed;
	uint8_t timeout, retry_cnt, rnr_retry, rd_atomic;
	enum ibv_mtu mtu;
	int gid_index, ib_port;
	long stuck;
	struct conn *c;
	uint8_t *ref;	 /* expected content of the peer's read area */
	uint64_t counts; /* of ours on the common counter, posted */
	uint8_t *seen;	 /* a bit for each of its results */
	uint64_t seen_len;
	struct tally tally;
	uint32_t hint; /* QP of the last completion */
	struct timespec start;
};

/* For each QP: sources or results, places that the peer writes, receives. Then the common part. */
enum place { AT_LOCAL, AT_WRITTEN, AT_RECEIVED, PLACES };

static inline size_t slot_size(const struct verify *v)
{
	return ((size_t)v->max + GUARD + 63) & ~(size_t)63;
}

static inline size_t at(const struct verify *v, uint32_t qp, enum place place, uint64_t i)
{
	return ((size_t)(qp * PLACES + place) * WINDOW + i % WINDOW) * slot_size(v);
}

static inline size_t at_words(const struct verify *v, uint32_t qp)
{
	return at(v, v->qps, 0, 0) + (size_t)qp * 64;
}

/* The peer writes here how many of our operations it has checked. */
static inline size_t at_credit(const struct verify *v, uint32_t qp)
{
	return at_words(v, v->qps) + (size_t)qp * 64;
}

static inline size_t at_credit_out(const struct verify *v, uint32_t qp)
{
	return at_credit(v, qp) + 32;
}

static inline size_t at_count(const struct verify *v)
{
	return at_credit(v, v->qps);
}

static inline size_t at_read(const struct verify *v)
{
	return at_count(v) + 64;
}

static inline uint64_t load64(const struct verify *v, size_t off)
{
	return __atomic_load_n((uint64_t *)(void *)(v->t.buf + off), __ATOMIC_ACQUIRE);
}

/* verify_program.c: operations and their bytes. */
uint64_t mix(uint64_t x);
void fill(uint8_t *p, size_t n, uint64_t key);
/* Return the offset of the first byte that differs from fill(); n if there is none. */
size_t differs(const uint8_t *p, size_t n, uint64_t key);
void program_init(struct program *p, const struct verify *v, int side, uint32_t qp);
struct op program_next(struct program *p, uint32_t max);

/* verify_ops.c: the operations of a connection, and the checks of arriving data. */
void recv_post(struct verify *v, struct conn *c, uint64_t i);
bool may_post(struct verify *v, struct conn *c);
void op_post(struct verify *v, struct conn *c);
void credit_post(struct verify *v, struct conn *c);
void op_completed(struct verify *v, const struct ibv_wc *wc);
void arrived(struct verify *v, struct conn *c, const struct ibv_wc *wc);
bool conn_finished(const struct conn *c);

#endif
