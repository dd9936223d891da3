/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt.h - common part of the verbs clients of the integration tests.
 *
 * A case is one function that both sides run, side 0 and side 1, each with its own struct vt. The
 * runner calls every case twice: with the sides in two processes (each opens the device itself) and
 * in two threads of one process (loopback). The sides exchange data over a socket pair. Nothing
 * here depends on the device; the man pages and the InfiniBand specification define the expected
 * results.
 */
#ifndef DPA_TESTS_VT_H
#define DPA_TESTS_VT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

enum { VT_EXIT_SKIP = 77 };
enum vt_modes { VT_PROCS = 1, VT_THREADS = 2, VT_BOTH = 3, VT_SLOW = 4 };

struct vt_addr {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey, qkey;
	uint64_t addr;
};

/* Zero means the default in the comment. */
struct vt_opt {
	enum ibv_qp_type type; /* IBV_QPT_RC */
	uint32_t send_wr;      /* 64 */
	uint32_t recv_wr;      /* 64; ignored with an SRQ */
	uint32_t sge;	       /* 4 */
	uint32_t inl;	       /* 0 */
	uint32_t cqe;	       /* send_wr + recv_wr */
	size_t len;	       /* 64 KiB: of the buffer */
	struct ibv_srq *srq;
	struct ibv_cq *cq; /* one of its own */
	bool sig_all;
	bool no_qp_access; /* qp_access_flags 0 */
	bool event;	   /* the CQ gets a completion channel */
	uint8_t timeout;   /* 14 */
	uint8_t retry_cnt; /* 7 */
	uint8_t rnr_retry; /* 7: for ever */
	bool no_rnr;	   /* rnr_retry 0 */
	uint8_t min_rnr;   /* 1: 10 us */
	uint8_t rd_atomic; /* 4 */
	int mr_access;	   /* local write and everything remote */
	enum ibv_mtu mtu;  /* IBV_MTU_1024 */
};

struct vt {
	int side;
	int sock;
	bool threads;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
	size_t len;
	uint32_t connections; /* so far */
	struct vt_addr me, peer;
	int gid_index;
};

struct vt_case {
	const char *name;
	void (*fn)(struct vt *t);
	int modes; /* enum vt_modes */
	int limit; /* seconds until a hanging case is ended; 0: 60 */
};

extern const char *vt_device;	/* --device; dpa0. "A,B": side 0 opens A, side 1 B */
extern int vt_peer_ended;	/* exit status when the other side has ended; 1 */
extern unsigned int vt_seconds; /* --seconds: duration of cases that support it; 0 */
extern bool vt_slow;		/* --slow: all of a test that otherwise takes a part of it */

/* main() of a client: runs the cases, prints a line each and a tally. */
int vt_main(int argc, char **argv, const struct vt_case *cases, size_t n);
#define VT_MAIN(cases_)                                                                            \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return vt_main(argc, argv, cases_, sizeof(cases_) / sizeof((cases_)[0]));          \
	}

_Noreturn void vt_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void vt_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define CHECK(cond_, ...)                                                                          \
	do {                                                                                       \
		if (!(cond_))                                                                      \
			vt_fail(__FILE__, __LINE__, __VA_ARGS__);                                  \
	} while (0)
#define CHECK_EQ(a_, b_)                                                                           \
	do {                                                                                       \
		long long va_ = (long long)(a_), vb_ = (long long)(b_);                            \
		if (va_ != vb_)                                                                    \
			vt_fail(__FILE__, __LINE__, "%s is %lld, not %s (%lld)", #a_, va_, #b_,    \
				vb_);                                                              \
	} while (0)

/* Opening: device, PD, first usable GID. Then all of it: buffer, MR, CQ, a connected QP. */
void vt_open(struct vt *t);
/* The same with a device of this list, which stays the caller's. */
void vt_open_from(struct vt *t, struct ibv_device **list, int n);
void vt_setup(struct vt *t, const struct vt_opt *o);
/* Do the same, but the QP is not connected yet: vt_connect(t, t->qp, o, &t->peer). */
void vt_prepare(struct vt *t, const struct vt_opt *o);
void vt_close(struct vt *t);
struct ibv_qp *vt_qp_create(struct vt *t, const struct vt_opt *o, struct ibv_cq *cq);
void vt_qp_init(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o);
void vt_qp_rtr(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o, const struct vt_addr *dst);
int vt_qp_try_rts(struct ibv_qp *qp, const struct vt_opt *o, uint32_t psn); /* as the verb */
void vt_qp_rts(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o, uint32_t psn);
/* Both sides call it: exchange addresses and move the QP to RTS. */
void vt_connect(struct vt *t, struct ibv_qp *qp, const struct vt_opt *o, struct vt_addr *peer);
/* Connect two QPs of this process to each other, from PSN 0 on. */
void vt_connect_pair(struct vt *t, struct ibv_qp *a, struct ibv_qp *b, const struct vt_opt *o);
/* vt_connect() again after an error: RESET and connect; t->cq is emptied. Both sides call it. */
void vt_reconnect(struct vt *t, const struct vt_opt *o);
struct ibv_ah *vt_ah(struct vt *t, const struct vt_addr *dst);

/*
 * Beside the device. A peer that ended fails the case. vt_tcp(): the socket to a side on another
 * host; host NULL: that of the server, which waits for the client.
 */
int vt_tcp(const char *host, const char *port);
void vt_put(struct vt *t, const void *data, size_t n);
void vt_get(struct vt *t, void *data, size_t n);
void vt_sync(struct vt *t);

/* Wait for the next completion, with any status; a limit of 30 s ends a hang. */
struct ibv_wc vt_wc(struct vt *t, struct ibv_cq *cq);
/* ... and it must be this one. */
struct ibv_wc vt_wc_is(struct vt *t, uint64_t wr_id, enum ibv_wc_status status);
/* Check that there is none; the device has had its chance, because the peer has reported. */
void vt_wc_none(struct vt *t, struct ibv_cq *cq);

/* Work requests of one SGE in t->buf; returns what the verb returned. */
/* Bytes of the longest datagram: the port's active MTU. */
uint32_t vt_active_mtu(struct vt *t);
struct ibv_send_wr vt_wr(struct vt *t, enum ibv_wr_opcode op, struct ibv_sge *sge, size_t off,
			 size_t roff, uint32_t len);
int vt_send(struct vt *t, enum ibv_wr_opcode op, size_t off, size_t roff, uint32_t len,
	    uint64_t wr_id, unsigned int flags);
int vt_recv(struct vt *t, size_t off, uint32_t len, uint64_t wr_id);
int vt_post(struct ibv_qp *qp, struct ibv_send_wr *wr);

enum ibv_qp_state vt_state(struct ibv_qp *qp);
void vt_fill(void *p, size_t n, uint32_t seed);
/* Return the offset of the first byte that differs from vt_fill(); n if there is none. */
size_t vt_differs(const void *p, size_t n, uint32_t seed);
/* Content of memory before data arrives; vt_is_poison: whether n bytes are unchanged. */
enum { VT_POISON = 0xd7 };
void vt_poison(void *p, size_t n);
bool vt_is_poison(const void *p, size_t n);
void vt_set_seed(uint64_t seed);
/* seed of this run, another each time; printed by the runner; --seed sets it */
uint64_t vt_seed(void);

#endif
