/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_initiator.h - initiators that write, read and add in an owner's memory all the time, while the
 * owner revokes that memory, its keys or its QPs: processes, which it may stop and kill, or threads
 * of its own. They communicate over shared memory.
 *
 * Each has a QP that it connects again for each turn that the owner publishes, to the QP that the
 * owner names. No process waits for another: a stopped one joins later.
 */
#ifndef DPA_TESTS_VT_INITIATOR_H
#define DPA_TESTS_VT_INITIATOR_H

#include <stdatomic.h>
#include <sys/types.h>

#include "vt.h"

/* Each uses its own part: concurrent writes by several would be a race of the application. */
enum { VT_INITIATORS = 4, VT_PART = 1 << 16, VT_PIECE = VT_INITIATORS * VT_PART };

/* The longest operations, and a word of a part that is among the last ones of each of them. */
enum { VT_LONG = 1 << 15, VT_TAIL = VT_LONG - 8 };

/*
 * The value that the owner puts where no initiator may read: no initiator writes it, nor adds up to
 * it.
 */
#define VT_SECRET UINT64_MAX

struct vt_slot {
	/* the owner's */
	_Atomic uint64_t there;	     /* turn << 32 | QPN; 0: none yet */
	_Atomic uint32_t rkey;	     /* 0: none, wait */
	_Atomic uint32_t invalidate; /* the key that a SEND must invalidate */
	/* the initiator's */
	union ibv_gid gid;	 /* before `here` */
	_Atomic uint32_t here;	 /* its QPN; 0: it has not begun */
	_Atomic uint32_t failed; /* the turn that ended with an error */
	_Atomic uint64_t done;	 /* completions */
	_Atomic uint64_t direct; /* polls of an operation that found no packet for it */
	_Atomic uint64_t mapped; /* the same of atomics, which need mapped memory for that */
} __attribute__((aligned(128)));

struct vt_target {
	_Atomic uint32_t over;
	_Atomic uint32_t trouble; /* an initiator has failed */
	union ibv_gid gid;	  /* of the owner */
	uint64_t addr;
	struct vt_slot slot[VT_INITIATORS];
};

/* Odd ones are RC, the others UC, for which an ended key is no error: they continue. */
bool vt_is_rc(uint32_t nth);
const struct vt_opt *vt_initiator_opt(uint32_t nth);
/*
 * Return the first PSN of a turn, in both directions: entries of the previous turn in the ring are
 * old.
 */
uint32_t vt_turn_psn(uint32_t turn);
uint64_t vt_draw(uint64_t *x);

/* Work until `over`. */
void vt_initiate(struct vt *t, struct vt_target *to, uint32_t nth);

/* A process that forks initiators, so that they inherit nothing that its parent opens later. */
struct vt_nursery {
	struct vt t; /* the socket to it */
	pid_t pid;
};
void vt_nursery_start(struct vt_nursery *n, struct vt_target *to);
/* Fork another nth one; the previous one has ended, or was killed: wait for it. */
pid_t vt_nursery_fork(struct vt_nursery *n, uint32_t nth);
/* `over` is set: wait until all have ended, without an error. */
void vt_nursery_end(struct vt_nursery *n);

#endif
