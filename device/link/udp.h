/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * udp.h - UDP port 4791 as this process has it: what port4791.c, forward.c and the senders and
 * receivers (udp_tx.c, udp_rx.c) share.
 */
#ifndef DPA_UDP_H
#define DPA_UDP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "board/board.h"
#include "util/backoff.h"
#include "util/lock.h"

struct dpa_hw;

enum dpa_udp_state {
	DPA_UDP_CLOSED,
	DPA_UDP_OPEN,	/* fd receives */
	DPA_UDP_BEHIND, /* another board of this host has the port and passes on what is ours */
};

#define DPA_FWD_OUT	8  /* boards that this process passes packets on to at a time */
#define DPA_GROUP_SOCKS 32 /* sockets that only join groups, when one has joined its share */

/* group.c: an interface with addresses. */
struct dpa_group_if {
	uint32_t index;
	bool v4, v6;
};

#define DPA_FWD_IN 64 /* connections by which others pass packets on to this one */

struct dpa_udp {
	pthread_mutex_t lock;	/* opening and closing; the rest is read without it */
	_Atomic int fd;		/* -1; else the receiving socket, until dpa_udp_close() */
	_Atomic uint32_t state; /* enum dpa_udp_state */
	int name_fd;		/* abstract socket that tells other boards whose fd is; -1 */
	int family; /* of fd: AF_INET6 (both families) or AF_INET (no IPv6 here); set before fd */
	_Atomic bool hops;	     /* hop limits are wanted */
	int logged;		     /* errno of the last failure that was logged */
	uint32_t shut;		     /* BEHIND: ticks in a row that somebody was in the gate */
	_Atomic uint32_t holder_uid; /* BEHIND: of the socket that has the port */
	/* forward.c */
	dpa_spin_t out_lock; /* a leaf */
	struct {
		uint32_t num;
		int fd;
	} out[DPA_FWD_OUT];
	uint32_t out_next;
	/* group.c: a lock of its own, a leaf */
	pthread_mutex_t group_lock;
	struct dpa_group *groups; /* that QPs of this process are attached to */
	uint32_t ngroups, room;
	struct dpa_group_if ifs[DPA_MAX_GIDS]; /* that they are joined on */
	uint32_t nifs;
	int more[DPA_GROUP_SOCKS];
	uint32_t nmore;
	/* steer.c */
	_Atomic uint64_t detours;	 /* packets passed on to processes of this board */
	_Atomic uint32_t soon;		 /* the parked EU shall not wait for its next tick */
	uint64_t detours_seen, retry_at; /* ns */
	struct dpa_backoff retry;	 /* ms */
	uint32_t detour_ticks, block_seen;
	/* blocks of this process's QPNs that the program was made with; whoever makes it (relaxed)
	 */
	_Atomic uint64_t steered[DPA_BOARD_QPN_BLOCKS / 64];
	/* forward.c: what others pass on to this process. in_lock: who reads, so that packets stay in
	 * their order; it is held while they are delivered, and for `in` */
	dpa_spin_t in_lock;
	_Atomic int in_epfd;  /* epoll set of the connections, made with the first one; -1 */
	_Atomic uint32_t nin; /* connections */
	struct {
		uint32_t uid;
		int fd;
	} in[DPA_FWD_IN];
	/* service thread */
	int num_fd; /* the board's number: in the epoll set; -1 */
	uint64_t num_ino;
};

/* The receiving socket, -1 while there is none. Any thread. */
static inline int dpa_udp_fd(const struct dpa_udp *u)
{
	return atomic_load_explicit(&u->fd, memory_order_acquire);
}

/* The set of connections by which others pass packets on: readable if there is one. -1: none. */
static inline int dpa_udp_in_epfd(const struct dpa_udp *u)
{
	return atomic_load_explicit(&u->in_epfd, memory_order_acquire);
}

/* Has another adapter instance a connection by which it passes packets on? Any thread. */
static inline bool dpa_udp_is_passed_on(const struct dpa_udp *u)
{
	return atomic_load_explicit(&u->nin, memory_order_relaxed);
}

/* True if packets of other adapter instances may come: to the socket, or passed on. Any thread. */
static inline bool dpa_udp_receives(const struct dpa_udp *u)
{
	return dpa_udp_fd(u) >= 0 || dpa_udp_is_passed_on(u);
}

/*
 * Is this datagram no packet but the board's own (steer.c)? For each one received, before it is
 * decoded; it is done with then. Any thread.
 */
bool dpa_udp_probe(struct dpa_hw *hw, const uint8_t *p, uint32_t n);
/* At open and at close of the device. NULL: ENOMEM. */
struct dpa_udp *dpa_udp_new(void);
void dpa_udp_free(struct dpa_udp *u);
/* In a forked child: drops the descriptors. */
void dpa_udp_abandon(struct dpa_udp *u);
void dpa_groups_init(struct dpa_udp *u);
void dpa_groups_abandon(struct dpa_udp *u);
void dpa_groups_fini(struct dpa_udp *u);
/* Parked EU, twice a second, and when udp.soon is set: takes the port over when the board that had
 * it is gone. */
void dpa_udp_tick(struct dpa_hw *hw);

/* ---- holder.c: who has the port */

enum dpa_udp_holder { DPA_HOLDER_NONE, DPA_HOLDER_US, DPA_HOLDER_BOARD, DPA_HOLDER_OTHER };

/*
 * Looks at the namespace's UDP sockets of this port (`except`: inode that does not count, 0: none).
 * OTHER if any is no board's, else BOARD if any is another board's, else US if there is one of
 * board `num`. With OTHER and BOARD `text` names one of them.
 */
enum dpa_udp_holder dpa_udp_who(uint16_t port, uint32_t num, uint64_t except, uint32_t *uid,
				char *text, size_t len);
/* The abstract socket that says: the UDP socket of this inode is board num's. -1: errno. */
int dpa_udp_name(uint16_t port, uint32_t num, uint64_t inode);

#endif
