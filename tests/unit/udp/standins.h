/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* standins.h - processes of boards that only do UDP, controlled over a socket. */
#ifndef UDP_STANDINS_H
#define UDP_STANDINS_H

#include "ctx/hw.h"
#include "link/peer.h"
#include "link/udp/forward.h"
#include "link/frame.h"
#include "link/udp/steer.h"

extern char ut_log[512];     /* the last line logged here */
extern uint32_t ut_wakes;    /* of the progress thread here */
extern uint32_t ut_peer_qpn; /* owner that dpa_peer_of_qpn() returns; 0: none */
extern struct dpa_peer *ut_peer;
extern uint8_t ut_gid[16]; /* the only address of this host */

/* Arguments of dpa_frame_in(). */
struct ut_in {
	uint32_t n, len;
	uint32_t inspected; /* calls of dpa_inspect() before */
	bool may_forward, ip_known, sure;
	struct dpa_roce_net net;
	uint8_t first[16];
};
extern struct ut_in ut_in;

/* Open a function of this process on the board at path; NULL with errno. */
struct dpa_hw *ut_open(const char *path);
void ut_close(struct dpa_hw *hw);

/* ---- another process */

struct ut_proc {
	pid_t pid;
	int fd;
	uint32_t qpn, num;
};

/* Make a network namespace with lo up; false: not allowed. */
bool ut_netns(void);
/* Start a process on that board as that user (0: the present one). */
void ut_start(struct ut_proc *p, const char *path, uid_t uid);
int ut_udp_open(struct ut_proc *p);   /* 0 or errno */
uint32_t ut_state(struct ut_proc *p); /* enum dpa_udp_state */
void ut_tick(struct ut_proc *p);      /* dpa_udp_tick() */
void ut_learn(struct ut_proc *p);     /* takes probes until it has found its place: 10 s at most */
void ut_new_block(struct ut_proc *p); /* moves its QPN to another block, in RTR */
bool ut_built(struct ut_proc *p);     /* returns whether the kernel has the requested map */
uint32_t ut_take(struct ut_proc *p, uint32_t n); /* takes n packets; those for its own QPN */
uint32_t ut_pending(struct ut_proc *p);		 /* takes the present packets */
uint32_t ut_udp_leave(struct ut_proc *p);	 /* packets passed on, so far */
void ut_udp_close(struct ut_proc *p);
void ut_logged(struct ut_proc *p, char *text, size_t len);
void ut_end(struct ut_proc *p);	 /* closes and ends */
void ut_kill(struct ut_proc *p); /* SIGKILL, and waits */

#endif
