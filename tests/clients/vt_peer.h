/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vt_peer.h - for cases that stop or kill their peer, and so must be its parent. */
#ifndef DPA_TESTS_VT_PEER_H
#define DPA_TESTS_VT_PEER_H

#include <sys/types.h>

#include "vt.h"

uint64_t vt_now_ns(void);

/* Fork a process that calls fn as side 1 of t, and ends with 0 if that returns. */
pid_t vt_fork_peer(struct vt *t, void (*fn)(struct vt *t));
void vt_wait_stopped(pid_t pid);
void vt_wait_ended(pid_t pid);
void vt_kill_peer(pid_t pid);

/* Do vt_close() without the other side: its answer is already present. */
void vt_close_alone(struct vt *t);

/* Both sides: the processes have met, on the ring of t->qp. */
void vt_first_message(struct vt *t);

#endif
