/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_domain.h - processes that share an XRC domain: the objects of each, and their start. */
#ifndef DPA_TESTS_VT_DOMAIN_H
#define DPA_TESTS_VT_DOMAIN_H

#include "vt.h"

enum { DOM_LIMIT_S = 60, DOM_COUNTER = 60000 };

/* Addresses and numbers of the other processes. */
struct dom_card {
	uint32_t srqn, rkey, tgt;
	uint64_t addr;
};

struct dom {
	struct vt t;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *tgt, *ini;
	struct dom_card me;
};

/* Another process, in the view of side 0. */
struct dom_other {
	pid_t pid;
	struct vt t; /* its socket */
	struct dom_card c;
};

extern const int dom_access; /* of targets and regions */
extern int dom_file;	     /* of the domain; inherited */

struct ibv_xrcd *dom_open(struct vt *t, int oflags);
void dom_join(struct dom *m, int oflags);
void dom_target(struct dom *m);
void dom_initiator(struct dom *m);
void dom_connect(struct dom *m, struct ibv_qp *qp, uint32_t dest);
void dom_leave(struct dom *m);
void dom_receive(struct dom *m, size_t off, uint32_t len, uint64_t id);
/* Use off here and the same offset there; atomics add 1 to the counter. */
void dom_post(struct dom *m, enum ibv_wr_opcode op, const struct dom_card *c, size_t off,
	      uint32_t len, uint64_t id);
void dom_start(struct dom_other *o, void (*fn)(struct dom *m));
void dom_ended(struct dom_other *o);
void dom_killed(struct dom_other *o);
void dom_new_file(void);
/* Introduce this process; the one with the target gets its initiator. */
void dom_introduce(struct dom *m);
/*
 * Side 0: start a process that makes a domain and a target, and introduces itself; join the domain
 * and connect the initiator to that target.
 */
void dom_meet(struct dom *m, struct dom_other *o, void (*fn)(struct dom *m));

#endif
