/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port4791.c - the UDP receive socket of this process.
 *
 * All processes of an adapter instance bind the port together (SO_REUSEPORT, which the kernel
 * grants to sockets of one user). An instance that finds another instance on the port stays behind
 * it: that one passes on packets for others (forward.c), and the port is taken over when it ends.
 * If anything else holds the port this is an error; the message names the holder.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include "ctx/schedule.h"
#include "util/sys.h"
#include "ctx/hw.h"
#include "link/udp/forward.h"
#include "link/udp/steer.h"
#include "link/udp/udp.h"

#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

#define RCVBUF	     (8 << 20)
#define HOLDER_LOOKS 10 /* 1 ms apart */
#define LEAVE_NS     100000000ull
#define NOBODY_PORT  9 /* discard: no packet comes from there */

/* Two instances of one user could both bind the port: they check and bind one after the other. */
#define GATE_NAME     "dpa-udp-gate"
#define GATE_PATIENCE 200000000ull /* ns; after that the holder of the name is ignored */
#define GATE_TICKS    3		   /* the same for the progress thread: ticks in a row */

struct dpa_udp *dpa_udp_new(void)
{
	struct dpa_udp *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	pthread_mutex_init(&u->lock, NULL);
	u->fd = u->name_fd = -1;
	dpa_fwd_init(u);
	dpa_groups_init(u);
	return u;
}

void dpa_udp_free(struct dpa_udp *u)
{
	free(u);
}

void dpa_udp_abandon(struct dpa_udp *u)
{
	if (u->fd >= 0)
		dpa_sys_close(u->fd);
	if (u->name_fd >= 0)
		dpa_sys_close(u->name_fd);
	u->fd = u->name_fd = -1;
	dpa_fwd_close(u);
	dpa_groups_abandon(u);
}

static bool set_on(int fd, int level, int opt)
{
	int on = 1;

	return dpa_sys_setsockopt(fd, level, opt, &on, sizeof(on)) == 0;
}

/* The fields of the IP header that a frame needs arrive as ancillary data. */
static int set_port_options(int fd, int family)
{
	int off = 0, bytes = RCVBUF;

	/*
	 * Each of these costs time for each packet: hop limits and flow labels are requested only
	 * if needed.
	 */
	if (!set_on(fd, SOL_SOCKET, SO_REUSEPORT) || !set_on(fd, SOL_IP, IP_RECVTOS) ||
	    (family == AF_INET && !set_on(fd, SOL_IP, IP_PKTINFO)))
		return errno;
	if (family == AF_INET6) {
		if (dpa_sys_setsockopt(fd, SOL_IPV6, IPV6_V6ONLY, &off, sizeof(off)) ||
		    !set_on(fd, SOL_IPV6, IPV6_RECVPKTINFO) ||
		    !set_on(fd, SOL_IPV6, IPV6_RECVTCLASS))
			return errno;
		/* RoCEv2 has the ICRC: peers send UDP checksum 0, with IPv6, too. */
		if (!set_on(fd, SOL_UDP, UDP_NO_CHECK6_RX))
			return errno;
	}
	set_on(fd, SOL_IP, IP_MULTICAST_ALL); /* group.c; off on IPv6 sockets */
	/*
	 * IPv6 groups: only those that this socket joined. Older kernels: as for IPv4, see group.c.
	 */
	if (family == AF_INET6)
		dpa_sys_setsockopt(fd, SOL_IPV6, IPV6_MULTICAST_ALL, &off, sizeof(off));
	set_on(fd, SOL_UDP, UDP_GRO); /* an older kernel returns one packet at a time */
	if (dpa_sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		dpa_sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	return 0;
}

static int bind_any_address(int fd, int family)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(DPA_ROCE_PORT)};
	struct sockaddr_in a4 = {.sin_family = AF_INET, .sin_port = htons(DPA_ROCE_PORT)};

	return family == AF_INET6 ? dpa_sys_bind(fd, (struct sockaddr *)&a6, sizeof(a6))
				  : dpa_sys_bind(fd, (struct sockaddr *)&a4, sizeof(a4));
}

/* Makes a socket with all options set, not bound yet. */
static int make_socket(struct dpa_udp *u, int *fd, uint64_t *inode)
{
	struct stat st;
	int err;

	u->family = AF_INET6;
	*fd = dpa_sys_socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0 && errno == EAFNOSUPPORT) {
		u->family = AF_INET;
		*fd = dpa_sys_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (*fd < 0)
		return errno;
	err = set_port_options(*fd, u->family);
	if (!err && dpa_sys_fstat(*fd, &st))
		err = errno;
	if (err) {
		dpa_sys_close(*fd);
		return err;
	}
	*inode = st.st_ino;
	return 0;
}

/* Enters the gate. *mine: no other process is in it. Returns the descriptor; -1: none available. */
static int gate_enter(uint64_t patience, bool *mine)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	uint64_t until = dpa_now_ns() + patience;
	int fd = dpa_sys_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path + 1, GATE_NAME, sizeof(GATE_NAME) - 1);
	while (fd >= 0) {
		*mine = !dpa_sys_bind(
			fd, (struct sockaddr *)&sa,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(GATE_NAME)));
		if (*mine || errno != EADDRINUSE || dpa_now_ns() > until)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	return fd;
}

/* `holder` has the port, where err is EADDRINUSE. */
static void log_once(struct dpa_hw *hw, int err, const struct dpa_udp_sock *holder)
{
	char text[128];

	if (hw->udp->logged == err)
		return;
	hw->udp->logged = err;
	if (err == EADDRINUSE) {
		dpa_udp_describe(holder, text, sizeof(text));
		dpa_log(hw, DPA_LOG_ERR, "no connection to other hosts: UDP port %d is held by %s",
			DPA_ROCE_PORT, text);
	} else {
		dpa_log(hw, DPA_LOG_ERR, "no connection to other hosts: UDP port %d: %s",
			DPA_ROCE_PORT, strerror(err));
	}
}

/*
 * Finds the holder of the port. A socket that no instance publishes may be one that is being
 * closed. A process that ends loses its sockets one by one; between the read of the kernel's list
 * and the request for the name all of them may be gone. So this result counts only if it stays the
 * same. Its inode is recorded: the next QP that could send to other hosts tries again, and where
 * the kernel's rdma_rxe has the port, each of them finds it.
 */
static enum dpa_udp_holder find_stable_holder(struct dpa_hw *hw, uint64_t inode,
					      struct dpa_udp_sock *holder)
{
	struct dpa_udp *u = hw->udp;
	enum dpa_udp_holder who = DPA_HOLDER_NONE;

	for (int i = 0; i < HOLDER_LOOKS; i++) {
		if (i)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		*holder = (struct dpa_udp_sock){.inode = u->foreign};
		who = dpa_udp_who(DPA_ROCE_PORT, hw->board->board_num, inode, holder);
		if (who != DPA_HOLDER_OTHER || holder->inode == u->foreign)
			break;
	}
	u->foreign = who == DPA_HOLDER_OTHER ? holder->inode : 0;
	atomic_store_explicit(&u->holder_uid, holder->uid, memory_order_relaxed);
	return who;
}

/* Binds unless there is a foreign socket. EADDRINUSE: *who is its kind. Context: the gate. */
static int bind_alone(struct dpa_hw *hw, int fd, uint64_t inode, enum dpa_udp_holder *who,
		      struct dpa_udp_sock *holder)
{
	*who = find_stable_holder(hw, inode, holder);
	if (*who >= DPA_HOLDER_BOARD)
		return EADDRINUSE;
	hw->udp->name_fd = dpa_udp_name(DPA_ROCE_PORT, hw->board->board_num, inode);
	if (!bind_any_address(fd, hw->udp->family))
		return 0;
	if (errno != EADDRINUSE)
		return errno;
	/* taken by a socket that /proc does not show, or only just now */
	*who = find_stable_holder(hw, inode, holder);
	if (*who < DPA_HOLDER_BOARD) {
		*who = DPA_HOLDER_OTHER;
		*holder = (struct dpa_udp_sock){0}; /* /proc does not show it */
	}
	return EADDRINUSE;
}

/*
 * Context: u->lock. The progress thread does not wait for the gate, because any user can keep its
 * name.
 */
static int try_open_port(struct dpa_hw *hw, bool may_wait)
{
	struct dpa_udp *u = hw->udp;
	enum dpa_udp_holder who = DPA_HOLDER_NONE;
	struct dpa_udp_sock holder = {0};
	uint64_t inode = 0;
	bool mine = false;
	int fd, gate, err = make_socket(u, &fd, &inode);

	if (err)
		goto out;
	gate = gate_enter(may_wait ? GATE_PATIENCE : 0, &mine);
	if (!mine && !may_wait && u->shut++ < GATE_TICKS) {
		dpa_sys_close(fd);
		if (gate >= 0)
			dpa_sys_close(gate);
		return EAGAIN;
	}
	u->shut = 0;
	err = bind_alone(hw, fd, inode, &who, &holder);
	if (gate >= 0)
		dpa_sys_close(gate);
	if (err) {
		dpa_sys_close(fd);
		if (u->name_fd >= 0)
			dpa_sys_close(u->name_fd);
		u->name_fd = -1;
		if (err == EADDRINUSE && who == DPA_HOLDER_BOARD) {
			/* a tick claims the socket of packets that are passed on */
			if (atomic_exchange_explicit(&u->state, DPA_UDP_BEHIND,
						     memory_order_acq_rel) != DPA_UDP_BEHIND)
				dpa_wake_self(hw);
			return 0;
		}
		goto out;
	}
	atomic_store_explicit(&u->fd, fd, memory_order_release);
	atomic_store_explicit(&u->state, DPA_UDP_OPEN, memory_order_release);
	if (atomic_load_explicit(&u->hops, memory_order_acquire))
		dpa_udp_show_hops(hw);
	dpa_steer_join(hw);
	dpa_groups_refresh(hw);
	dpa_wake_self(hw); /* it has one descriptor more to watch */
out:
	if (err)
		log_once(hw, err, &holder);
	else
		u->logged = 0;
	return err;
}

int dpa_udp_open(struct dpa_hw *hw)
{
	struct dpa_udp *u = hw->udp;
	int err = 0;

	if (atomic_load_explicit(&u->state, memory_order_acquire) != DPA_UDP_CLOSED)
		return 0;
	pthread_mutex_lock(&u->lock);
	if (atomic_load_explicit(&u->state, memory_order_relaxed) == DPA_UDP_CLOSED)
		err = try_open_port(hw, true);
	pthread_mutex_unlock(&u->lock);
	return err;
}

void dpa_udp_tick(struct dpa_hw *hw)
{
	struct dpa_udp *u = hw->udp;

	if (atomic_load_explicit(&u->state, memory_order_acquire) == DPA_UDP_BEHIND) {
		pthread_mutex_lock(&u->lock);
		try_open_port(hw, false);
		pthread_mutex_unlock(&u->lock);
	}
	dpa_fwd_watch(hw);
	dpa_steer_tick(hw);
}

void dpa_udp_show_hops(struct dpa_hw *hw)
{
	int fd;

	atomic_store_explicit(&hw->udp->hops, true, memory_order_release);
	fd = dpa_udp_fd(hw->udp);
	if (fd < 0)
		return; /* another instance has the port: checked again when it is ours */
	set_on(fd, SOL_IP, IP_RECVTTL);
	if (hw->udp->family == AF_INET6) {
		set_on(fd, SOL_IPV6, IPV6_RECVHOPLIMIT);
		set_on(fd, SOL_IPV6, IPV6_FLOWINFO);
	}
}

/*
 * A datagram in a socket that is closed is lost, even if it is for another process. Only connect()
 * takes a socket out of the group that shares a port: after that only its peer sends to it, and
 * what it holds can still be read.
 */
static void receive_no_more(const struct dpa_udp *u, int fd)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET,
				 .sin_port = htons(NOBODY_PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(NOBODY_PORT)};

	if (u->family == AF_INET) {
		dpa_sys_connect(fd, (struct sockaddr *)&a4, sizeof(a4));
		return;
	}
	memset(a6.sin6_addr.s6_addr + 10, 0xff, 2);
	memcpy(a6.sin6_addr.s6_addr + 12, &a4.sin_addr, 4);
	dpa_sys_connect(fd, (struct sockaddr *)&a6, sizeof(a6));
}

static bool has_datagrams(int fd)
{
	uint8_t b;

	return dpa_sys_recv(fd, &b, sizeof(b), MSG_PEEK | MSG_DONTWAIT) >= 0;
}

void dpa_udp_leave(struct dpa_hw *hw, bool takes)
{
	uint64_t until = dpa_now_ns() + LEAVE_NS;
	int cancel, fd = dpa_udp_fd(hw->udp);

	if (fd < 0)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	receive_no_more(hw->udp, fd);
	dpa_steer_leave(hw);
	while ((has_datagrams(fd) || dpa_fwd_waits(hw)) && dpa_now_ns() < until)
		if (!takes || dpa_udp_rx(hw) <= 0)
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	pthread_setcancelstate(cancel, NULL);
}

void dpa_udp_close(struct dpa_hw *hw)
{
	struct dpa_udp *u = hw->udp;

	dpa_udp_abandon(u);
	dpa_steer_leave(hw); /* the port was taken over since dpa_udp_leave() */
	dpa_groups_fini(u);
	atomic_store_explicit(&u->state, DPA_UDP_CLOSED, memory_order_relaxed);
	pthread_mutex_destroy(&u->lock);
}
