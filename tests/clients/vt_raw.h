/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_raw.h - raw packet QPs, their frames and flow rules, for cases of clients. */
#ifndef DPA_TESTS_VT_RAW_H
#define DPA_TESTS_VT_RAW_H

#include "vt.h"

/* Receives of RAW_ROOM bytes in t->buf; queues of RAW_DEPTH. */
enum { RAW_ROOM = 2048, RAW_DEPTH = 64 };

struct raw {
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
};

struct raw_rule {
	struct ibv_flow_attr attr;
	uint8_t specs[200]; /* right behind */
};

bool raw_may(void);
/* Build Ethernet, IPv4 from 10.0.0.x, UDP, then the bytes of vt_fill() for `id`. */
uint32_t raw_frame(uint8_t *p, uint8_t to, uint8_t x, uint16_t dport, uint32_t n, unsigned id);
struct ibv_qp *raw_try_qp(struct vt *t, struct ibv_cq *cq, uint32_t flags);
struct raw raw_open(struct vt *t, uint32_t flags);
void raw_close(struct raw *r);
void raw_recv(struct vt *t, struct ibv_qp *qp, uint64_t id);
/*
 * Send n bytes from the buffer's start by a QP that receives none; return the status of its
 * completion.
 */
enum ibv_wc_status raw_send(struct vt *t, struct raw *r, uint32_t n);
void raw_rule_add(struct raw_rule *r, const void *spec, size_t n);
/* Make a rule for the group's address with this last byte. */
struct raw_rule raw_rule_to(uint8_t to, uint16_t priority);
void raw_rule_tag(struct raw_rule *r, uint32_t tag);
struct ibv_flow *raw_flow(struct ibv_qp *qp, struct raw_rule *r);
/* Check that the next completion is receive `id` with a frame of n bytes with that tag. */
void raw_got(struct raw *r, uint64_t id, uint32_t n, uint32_t tag);
void raw_nothing(struct raw *r);

#endif
