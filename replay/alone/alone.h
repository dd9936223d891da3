/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * alone.h - the device's transport alone: one QP, whose peer is a path to another host, in virtual
 * time. The board, the port, the sockets and the clock are stand-ins (alone.c, absent.c); the rest,
 * from a datagram that arrives to a datagram that leaves, is the device itself.
 * One at a time in a process, used by one thread.
 */
#ifndef DPA_REPLAY_ALONE_H
#define DPA_REPLAY_ALONE_H

#include <stdbool.h>
#include <stdint.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/frame.h"
#include "link/peer.h"
#include "link/udp/wire.h"

#define ALONE_START  UINT64_C(1000000000)
#define ALONE_SQ_LOG 10u /* blocks */
#define ALONE_RQ_LOG 10u
#define ALONE_CQ_LOG 12u

struct alone_opt {
	uint32_t type;		 /* enum dpa_qp_type */
	uint32_t qpn, dest;	 /* QPNs: its own one, the peer's */
	struct dpa_roce_net net; /* from the QP to its peer; sport: of its packets */
	uint32_t mtu;		 /* code, 1 to 5 */
	uint32_t rq_psn, sq_psn, qkey;
	uint8_t timeout, retry, rnr_retry, min_rnr, rd;
	bool dcqcn; /* with congestion control */
	/* Called for each packet that leaves. */
	void (*sent)(void *arg, const struct dpa_frame *f);
	void *arg;
};

struct alone_cq {
	struct dpa_hw_cq *cq;
	struct dpa_cqe *buf;
	uint32_t ci;
};

struct alone {
	struct dpa_hw *hw;
	struct dpa_hw_ctx ctx;
	struct dpa_board board;
	struct dpa_board_proc self;
	struct dpa_door *door;
	_Atomic uint64_t counters[DPA_BOARD_COUNTERS];
	struct dpa_remote *remote;
	struct dpa_wire *wire;
	struct dpa_wire_from from;
	struct dpa_hw_qp *qp;
	struct alone_cq scq, rcq;
	struct dpa_dbrec *dbrec;
	uint8_t *sq, *rq;
	uint32_t pi, rpi;    /* producer indices: blocks, receives */
	uint64_t now;	     /* ns; ALONE_START at first */
	uint32_t events[64]; /* asynchronous events by type */
	struct alone_opt opt;
};

/* 0, or an errno: nothing is left. The QP is in RTS. */
int alone_open(struct alone *a, const struct alone_opt *o);
void alone_close(struct alone *a);
/* When the next timer is due (ns, a->now); UINT64_MAX: none. */
uint64_t alone_next(const struct alone *a);
/* Advance time to `when`, unless it is past, and run the timers that are due. */
void alone_step(struct alone *a, uint64_t when);
/* A datagram arrives. room: 64 bytes in front of f->p may be overwritten. */
void alone_arrives(struct alone *a, const struct dpa_frame *f);
bool alone_poll(struct alone_cq *cq, struct dpa_cqe *e);
/* Register memory; *key: of no meaning outside. */
int alone_register(struct alone *a, void *mem, uint64_t iova, uint64_t len, uint32_t access,
		   uint32_t *key);
/* Post a receive of one SGE. False: no room. */
bool alone_receive(struct alone *a, uint64_t wr_id, const struct dpa_sge *sge);
uint32_t alone_receives(const struct alone *a); /* posted and not taken */

struct alone_wr {
	uint8_t op;
	struct dpa_sge sge; /* length 0: none */
	uint32_t imm, rkey;
	uint64_t raddr, swap_add, compare, wr_id;
};
/* Post a send and ring the doorbell. False: no room. */
bool alone_post(struct alone *a, const struct alone_wr *wr);

#endif
