/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* udp.h - UDP port 4791 of this process: shared by port4791.c, forward.c, udp/tx.c and udp/rx.c. */
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
	DPA_UDP_OPEN,	/* fd is the receive socket */
	DPA_UDP_BEHIND, /* another instance has the port and passes on packets for this one */
};

#define DPA_FWD_OUT	8  /* instances that this process passes packets on to at a time */
#define DPA_GROUP_SOCKS 32 /* additional sockets that only join groups */

/* group.c: an interface with addresses. */
struct dpa_group_if {
	uint32_t index;
	bool v4, v6;
};

#define DPA_FWD_IN 64 /* connections by which others pass on packets to this process */

struct dpa_udp {
	pthread_mutex_t lock;	/* for opening and closing; other fields are read without it */
	_Atomic int fd;		/* the receive socket until dpa_udp_close(); else -1 */
	_Atomic uint32_t state; /* enum dpa_udp_state */
	int name_fd;		/* abstract socket that publishes the owner of fd; -1 */
	int family; /* family of fd: AF_INET6 (both families) or AF_INET (no IPv6); set before fd */
	_Atomic bool hops;	     /* hop limits are wanted */
	int logged;		     /* errno of the last failure that was logged */
	uint32_t shut;		     /* BEHIND: ticks in a row with the gate occupied */
	uint64_t foreign;	     /* inode of a socket of no instance that had the port; 0 */
	_Atomic uint32_t holder_uid; /* BEHIND: user of the socket that has the port */
	/* forward.c */
	dpa_spin_t out_lock; /* a leaf */
	struct {
		uint32_t num;
		int fd;
	} out[DPA_FWD_OUT];
	uint32_t out_next;
	/* group.c: its own lock, a leaf */
	pthread_mutex_t group_lock;
	struct dpa_group *groups; /* groups that QPs of this process are attached to */
	uint32_t ngroups, room;
	struct dpa_group_if ifs[DPA_MAX_GIDS]; /* interfaces on which they are joined */
	uint32_t nifs;
	int more[DPA_GROUP_SOCKS];
	uint32_t nmore;
	/* steer.c */
	_Atomic uint64_t detours;	 /* packets passed on to processes of this board */
	_Atomic uint32_t soon;		 /* the progress thread runs before its next tick */
	uint64_t detours_seen, retry_at; /* ns */
	struct dpa_backoff retry;	 /* ms */
	uint32_t detour_ticks, block_seen;
	/*
	 * QPN blocks of this process that were in the last program; written by the thread that
	 * makes it (relaxed)
	 */
	_Atomic uint64_t steered[DPA_BOARD_QPN_BLOCKS / 64];
	/*
	 * forward.c: packets that others pass on to this process. in_lock serialises readers, so
	 * that packets stay in order. It is held while they are delivered, and protects `in`.
	 */
	dpa_spin_t in_lock;
	_Atomic int in_epfd;  /* epoll set of the connections, created with the first one; -1 */
	_Atomic uint32_t nin; /* connections */
	struct {
		uint32_t uid;
		int fd;
	} in[DPA_FWD_IN];
	/* Used by the service thread. */
	int num_fd; /* socket of the instance's number, if it is in the epoll set; -1 */
	uint64_t num_ino;
};

/* The receive socket; -1: none. Any thread. */
static inline int dpa_udp_fd(const struct dpa_udp *u)
{
	return atomic_load_explicit(&u->fd, memory_order_acquire);
}

/*
 * The epoll set of connections by which others pass on packets; readable if a packet is there. -1:
 * none.
 */
static inline int dpa_udp_in_epfd(const struct dpa_udp *u)
{
	return atomic_load_explicit(&u->in_epfd, memory_order_acquire);
}

/* True if another adapter instance has a connection for passing packets on. Any thread. */
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
 * True if this datagram is not a packet but a probe of this instance (steer.c); it is handled then.
 * Call it for each datagram before it is decoded. Any thread.
 */
bool dpa_udp_probe(struct dpa_hw *hw, const uint8_t *p, uint32_t n);
/* Called when the device is opened and closed. NULL: ENOMEM. */
struct dpa_udp *dpa_udp_new(void);
void dpa_udp_free(struct dpa_udp *u);
/* In a forked child: close the descriptors. */
void dpa_udp_abandon(struct dpa_udp *u);
void dpa_groups_init(struct dpa_udp *u);
void dpa_groups_abandon(struct dpa_udp *u);
void dpa_groups_fini(struct dpa_udp *u);
/*
 * Progress thread, twice a second, and when udp.soon is set: take over the port if the instance
 * that had it is gone.
 */
void dpa_udp_tick(struct dpa_hw *hw);

/* ---- holder.c: holder of the port */

enum dpa_udp_holder { DPA_HOLDER_NONE, DPA_HOLDER_US, DPA_HOLDER_BOARD, DPA_HOLDER_OTHER };

/* A UDP socket of the namespace. Inode 0: none that can be seen. */
struct dpa_udp_sock {
	uint64_t inode;
	uint32_t uid;
};

/*
 * Check the namespace's UDP sockets of this port, except the one with inode `except` (0: none).
 * Returns OTHER if any belongs to no instance, else BOARD if any belongs to another instance, else
 * US if one belongs to instance `num`. *sock: on entry a socket that belonged to no instance at the
 * last call, which then takes fewer system calls (inode 0: none); on return one of these sockets.
 */
enum dpa_udp_holder dpa_udp_who(uint16_t port, uint32_t num, uint64_t except,
				struct dpa_udp_sock *sock);
/* Name the process of the socket for a message. Reads /proc of all processes. */
void dpa_udp_describe(const struct dpa_udp_sock *sock, char *text, size_t len);
/*
 * Make the abstract socket that publishes: the UDP socket of this inode belongs to instance num.
 * Returns a descriptor; -1: errno.
 */
int dpa_udp_name(uint16_t port, uint32_t num, uint64_t inode);

#endif
