/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sock.c - connects two processes of a board.
 *
 * One process connects to the other's abstract socket (dpa_board_sock_name()) and both
 * send a hello with five descriptors: rings, exported tables (read-only), wake-up page, the wake-up
 * eventfds of its progress thread and of its waiting application. The memory that replaces
 * registered memory is not among them: a peer that needs it takes it from the kernel, if the kernel
 * lets it (direct/area.c). No process waits for another: WQEs that cannot be sent yet
 * stay in the SQ. If both connect at the same time both hellos carry the same data, which is
 * harmless.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "board/sock_name.h"
#include "ctx/hw.h"
#include "ctx/copy.h"
#include "link/peer.h"
#include "util/sys.h"
#include "link/fds.h"
#include "link/sock.h"

#define HELLO_MAGIC 0x3148415044ull
#define HELLO_FDS   5

struct hello {
	uint64_t magic;
	uint32_t layout; /* DPA_BOARD_LAYOUT */
	uint32_t slot, gen;
	uint32_t answer; /* enum hello_kind */
	uint64_t probe;	 /* address of `magic` in the sender's memory */
};

/* REFUSED: the sender had no descriptor left for its hello; it carries none. */
enum hello_kind { HELLO_WANTS_ANSWER, HELLO_ANSWER, HELLO_REFUSED };

static int ep_add(struct dpa_hw *hw, int fd, uint64_t data)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = data};

	return dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_ADD, fd, &ev) ? errno : 0;
}

/* Returns the peer's pid. The peer must have the same effective user. */
static pid_t peer_pid(int fd)
{
	struct ucred uc;
	socklen_t len = sizeof(uc);

	if (dpa_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &uc, &len) || uc.uid != geteuid())
		return -1;
	return uc.pid;
}

static struct hello hello_of(struct dpa_hw *hw, enum hello_kind kind)
{
	return (struct hello){.magic = HELLO_MAGIC,
			      .layout = DPA_BOARD_LAYOUT,
			      .slot = hw->board->slot,
			      .gen = hw->board->gen,
			      .answer = kind,
			      .probe = (uintptr_t)&hw->export->magic};
}

/* Best effort: the peer tries again in any case. */
static void send_refusal(struct dpa_hw *hw, int fd)
{
	struct hello h = hello_of(hw, HELLO_REFUSED);

	dpa_sys_send(fd, &h, sizeof(h), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int send_peer_hello(struct dpa_hw *hw, struct dpa_peer *p, int fd, enum hello_kind kind)
{
	struct hello h = hello_of(hw, kind);
	int fds[HELLO_FDS] = {p->tx_fd, hw->fd.export, hw->fd.door, hw->fd.wake, hw->fd.wait};
	union {
		char buf[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} u;
	struct iovec iov = {.iov_base = &h, .iov_len = sizeof(h)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   .msg_controllen = sizeof(u.buf)};

	memset(u.buf, 0, sizeof(u.buf));
	CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, sizeof(fds));
	return dpa_sys_sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(h) ? 0 : errno;
}

static void *map_sealed(int fd, size_t bytes, int prot)
{
	void *p;

	if (!dpa_fd_is_sealed(fd, bytes))
		return NULL;
	p = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	dpa_sys_madvise(p, bytes, MADV_DONTFORK);
	return p;
}

/* Takes the contents of a hello. The first one counts; all carry the same. Service thread only. */
static int accept_hello(struct dpa_peer *p, const struct hello *h, int *fds, int sock)
{
	void *lanes, *door, *export;

	if (p->rx_map)
		return 0;
	lanes = map_sealed(fds[0], DPA_LANES * sizeof(struct dpa_lane_shm), PROT_READ | PROT_WRITE);
	export = map_sealed(fds[1], sizeof(struct dpa_export), PROT_READ);
	door = map_sealed(fds[2], 4096, PROT_READ | PROT_WRITE);
	if (!lanes || !export || !door) {
		if (lanes)
			munmap(lanes, DPA_LANES * sizeof(struct dpa_lane_shm));
		if (export)
			munmap(export, sizeof(struct dpa_export));
		if (door)
			munmap(door, 4096);
		return EPROTO;
	}
	p->pid = peer_pid(sock);
	p->can_pull = p->pid > 0 && dpa_copy_probe(p->pid, h->probe, HELLO_MAGIC);
	p->export = export;
	p->door = door;
	p->wake_fd = fds[3];
	p->wait_fd = fds[4];
	/* A wake-up is sent under a lock: it must not block, whatever flags the peer set. */
	fcntl(p->wake_fd, F_SETFL, O_NONBLOCK);
	fcntl(p->wait_fd, F_SETFL, O_NONBLOCK);
	fds[3] = fds[4] = -1;
	if (p->pid > 0) {
		p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
		/*
		 * The pid may have been reused before pidfd_open(). If the peer is alive now, it
		 * was the peer's.
		 */
		if (p->pidfd >= 0 &&
		    (!dpa_board_alive(p->hw->board, p->slot, p->gen) ||
		     ep_add(p->hw, p->pidfd, (uint64_t)(uintptr_t)p | DPA_EP_PIDFD))) {
			dpa_sys_close(p->pidfd);
			p->pidfd = -1;
		}
	}
	dpa_peer_set_rx(p, lanes);
	return 0;
}

/*
 * Reads a hello. Returns 0; EAGAIN; EMFILE: this process had no descriptors for those of the
 * message; ECONNREFUSED: the peer had none for its hello; or another errno. The caller closes fds
 * in every case.
 */
static int recv_hello(int fd, struct hello *h, int *fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * HELLO_FDS)];
		struct cmsghdr align;
	} u;
	struct iovec iov = {.iov_base = h, .iov_len = sizeof(*h)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = u.buf,
			   /*
			    * Not sizeof(u.buf): there is room for one more in it, which the kernel
			    * would fill.
			    */
			   .msg_controllen = CMSG_LEN(sizeof(int) * HELLO_FDS)};
	ssize_t n = dpa_sys_recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int nfd;

	for (int i = 0; i < HELLO_FDS; i++)
		fds[i] = -1;
	if (n < 0)
		return errno;
	nfd = dpa_take_fds(&m, fds, HELLO_FDS);
	if (n == 0)
		return ECONNRESET;
	if (n != (ssize_t)sizeof(*h) || h->magic != HELLO_MAGIC || h->layout != DPA_BOARD_LAYOUT ||
	    h->slot >= DPA_BOARD_PROCS || !h->gen)
		return EPROTO;
	if (h->answer == HELLO_REFUSED)
		return ECONNREFUSED;
	if (nfd < HELLO_FDS && m.msg_flags & MSG_CTRUNC)
		return EMFILE;
	return nfd == HELLO_FDS && !(m.msg_flags & MSG_CTRUNC) ? 0 : EPROTO;
}

static void close_fds(int *fds)
{
	for (int i = 0; i < HELLO_FDS; i++)
		if (fds[i] >= 0)
			dpa_sys_close(fds[i]);
}

/* How often the peer had no descriptor left to refuse a connection with. */
static uint32_t no_fds_there(const struct dpa_peer *p)
{
	const struct dpa_board_proc *proc = dpa_board_proc(p->hw->board, p->slot);

	return proc ? atomic_load_explicit(&proc->no_fds, memory_order_relaxed) : 0;
}

/*
 * Our connection waits in the queue of the peer's listener. A peer that has no descriptor accepts
 * it when it has one again. Context: hw->peer_lock.
 */
static void look_while_queued(struct dpa_peer *p)
{
	uint32_t n = no_fds_there(p);

	if (n == p->no_fds_there)
		return;
	p->no_fds_there = n;
	atomic_fetch_add_explicit(&p->no_fds, 1, memory_order_relaxed);
}

void dpa_sock_connect(struct dpa_peer *p)
{
	struct dpa_hw *hw = p->hw;
	struct sockaddr_un sa;
	socklen_t len = dpa_board_sock_name(&sa, hw->board, p->slot, p->gen);
	int fd, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dpa_spin_lock(&hw->peer_lock);
	if (p->sock >= 0 || p->state != DPA_PEER_CONNECTING) {
		if (p->state == DPA_PEER_CONNECTING)
			look_while_queued(p);
		goto out;
	}
	p->no_fds_there = no_fds_there(p); /* earlier ones are no answer to this connection */
	if (!dpa_board_alive(hw->board, p->slot, p->gen)) {
		dpa_peer_suspect(p);
		goto out;
	}
	fd = dpa_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		if (dpa_no_fds_left(errno))
			atomic_fetch_add_explicit(&p->no_fds, 1, memory_order_relaxed);
		goto out;
	}
	if (dpa_sys_connect(fd, (struct sockaddr *)&sa, len)) {
		/*
		 * EAGAIN: its queue is full; the caller tries again. Otherwise the peer may be
		 * gone.
		 */
		if (errno != EAGAIN)
			dpa_peer_suspect(p);
		dpa_sys_close(fd);
		goto out;
	}
	if (peer_pid(fd) < 0 || send_peer_hello(hw, p, fd, HELLO_WANTS_ANSWER)) {
		dpa_sys_close(fd);
		goto out;
	}
	p->sock = fd;
	if (ep_add(hw, fd, (uint64_t)(uintptr_t)p | DPA_EP_SOCK)) {
		dpa_sys_close(fd);
		p->sock = -1;
	}
out:
	dpa_spin_unlock(&hw->peer_lock);
	pthread_setcancelstate(cancel, NULL);
}

/* Opens the spare descriptor again if another thread took its number while it was closed. */
static void keep_spare(struct dpa_hw *hw)
{
	if (hw->fd.spare < 0)
		hw->fd.spare = fcntl(hw->fd.epoll, F_DUPFD_CLOEXEC, 0);
}

/*
 * There is no descriptor to accept with. Closes the spare one and uses it to send the reason to the
 * peer; otherwise the peer would wait for an answer until this process ends. Reads the peer's bytes
 * first: closing a connection with unread data resets it, and the refusal would be lost. Takes
 * hw->peer_lock, under which other threads of this library make descriptors for peers. Returns 0,
 * or the errno of accept; EAGAIN: no connection waits.
 */
static int refuse_one(struct dpa_hw *hw)
{
	char hello[sizeof(struct hello)];
	int fd, err;

	if (hw->fd.spare < 0)
		return EMFILE;
	dpa_spin_lock(&hw->peer_lock);
	dpa_sys_close(hw->fd.spare);
	hw->fd.spare = -1;
	fd = dpa_sys_accept4(hw->fd.listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	err = fd < 0 ? errno : 0;
	if (fd >= 0) {
		if (peer_pid(fd) >= 0 && dpa_sys_recv(fd, hello, sizeof(hello), MSG_DONTWAIT) > 0)
			send_refusal(hw, fd);
		dpa_sys_close(fd);
	}
	keep_spare(hw);
	dpa_spin_unlock(&hw->peer_lock);
	return err;
}

/*
 * Stops accepting. Connections stay in the queue; the connecting processes read the reason from the
 * board.
 */
static void listener_rests(struct dpa_hw *hw)
{
	atomic_fetch_add_explicit(&hw->board->self->no_fds, 1, memory_order_relaxed);
	dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_DEL, hw->fd.listen, NULL);
	hw->listen_off = true;
}

void dpa_sock_accept(struct dpa_hw *hw)
{
	keep_spare(hw);
	for (;;) {
		int fd = dpa_sys_accept4(hw->fd.listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0 && dpa_no_fds_left(errno)) {
			int err = refuse_one(hw);

			if (!err)
				continue;
			if (err != EAGAIN)
				listener_rests(hw);
		}
		if (fd < 0)
			return;
		if (peer_pid(fd) < 0 || ep_add(hw, fd, ((uint64_t)fd << 3) | DPA_EP_NEW))
			dpa_sys_close(fd);
	}
}

/* Keeps the connection: its end shows that the peer ended, or closed the device. */
static void keep_connection(struct dpa_peer *p, int fd)
{
	int *at = NULL;

	dpa_spin_lock(&p->hw->peer_lock);
	if (p->sock < 0)
		at = &p->sock;
	else if (p->sock2 < 0)
		at = &p->sock2;
	if (at && !ep_add(p->hw, fd, (uint64_t)(uintptr_t)p | DPA_EP_SOCK))
		*at = fd;
	else
		dpa_sys_close(fd);
	dpa_spin_unlock(&p->hw->peer_lock);
}

/* A connection that was accepted names its sender. */
void dpa_sock_new(struct dpa_hw *hw, int fd)
{
	struct dpa_peer *p;
	struct hello h;
	int fds[HELLO_FDS];
	int ret = recv_hello(fd, &h, fds);

	if (ret == EAGAIN)
		return;
	dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_DEL, fd, NULL);
	if (ret == EMFILE)
		send_refusal(hw, fd);
	if (ret || !dpa_board_alive(hw->board, h.slot, h.gen))
		goto err;
	p = dpa_peer_get(hw, h.slot, h.gen);
	if (!p) {
		if (dpa_no_fds_left(errno))
			send_refusal(hw, fd);
		goto err;
	}
	if (p->rx_map) { /* connected by our own connection, which sent our hello */
		close_fds(fds);
		keep_connection(p, fd);
		return;
	}
	if (accept_hello(p, &h, fds, fd) || send_peer_hello(hw, p, fd, HELLO_ANSWER))
		goto err;
	close_fds(fds);
	dpa_peer_up(p);
	keep_connection(p, fd);
	return;
err:
	close_fds(fds);
	dpa_sys_close(fd);
}

/* Handles one connection to a peer: its answer, or its end. */
static void sock_answer(struct dpa_hw *hw, struct dpa_peer *p, int *sock)
{
	struct hello h;
	int fds[HELLO_FDS];
	int ret, fd;

	dpa_spin_lock(&hw->peer_lock);
	fd = *sock; /* only this thread closes it */
	dpa_spin_unlock(&hw->peer_lock);
	if (fd < 0)
		return;
	ret = recv_hello(fd, &h, fds);
	if (ret == EAGAIN)
		return;
	if (!ret && h.slot == p->slot && h.gen == p->gen && !accept_hello(p, &h, fds, fd)) {
		close_fds(fds);
		dpa_peer_up(p);
		return;
	}
	close_fds(fds);
	if (ret == EMFILE || ret == ECONNREFUSED)
		atomic_fetch_add_explicit(&p->no_fds, 1, memory_order_relaxed);
	/*
	 * The peer is gone, or refused. A thread that still needs it connects again; the process is
	 * checked on the board.
	 */
	dpa_spin_lock(&hw->peer_lock);
	dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_DEL, *sock, NULL);
	dpa_sys_close(*sock);
	*sock = -1;
	dpa_spin_unlock(&hw->peer_lock);
	dpa_peer_suspect(p);
}

void dpa_sock_answer(struct dpa_hw *hw, struct dpa_peer *p)
{
	sock_answer(hw, p, &p->sock);
	sock_answer(hw, p, &p->sock2);
}

void dpa_sock_listen_again(struct dpa_hw *hw)
{
	hw->listen_off = ep_add(hw, hw->fd.listen, DPA_EP_LISTEN) != 0;
}

int dpa_sock_init(struct dpa_hw *hw)
{
	struct sockaddr_un sa;
	socklen_t len = dpa_board_sock_name(&sa, hw->board, hw->board->slot, hw->board->gen);
	int err;

	hw->export->magic = HELLO_MAGIC;
	hw->fd.epoll = dpa_sys_epoll_create1(EPOLL_CLOEXEC);
	hw->fd.spare = fcntl(hw->fd.epoll, F_DUPFD_CLOEXEC, 0);
	hw->fd.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	hw->fd.wait = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	hw->fd.listen = dpa_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (hw->fd.epoll < 0 || hw->fd.spare < 0 || hw->fd.wake < 0 || hw->fd.wait < 0 ||
	    hw->fd.listen < 0)
		goto err;
	if (dpa_sys_bind(hw->fd.listen, (struct sockaddr *)&sa, len) ||
	    dpa_sys_listen(hw->fd.listen, DPA_BOARD_PROCS))
		goto err;
	err = ep_add(hw, hw->fd.listen, DPA_EP_LISTEN);
	err = err ? err : ep_add(hw, hw->fd.wake, DPA_EP_WAKE);
	if (!err && dpa_port_fd(&hw->port) >= 0)
		err = ep_add(hw, dpa_port_fd(&hw->port), DPA_EP_PORT);
	if (!err)
		return 0;
	errno = err;
err:
	err = errno;
	dpa_sock_fini(hw);
	return err;
}

void dpa_sock_fini(struct dpa_hw *hw)
{
	if (hw->fd.listen >= 0)
		dpa_sys_close(hw->fd.listen);
	if (hw->fd.wake >= 0)
		dpa_sys_close(hw->fd.wake);
	if (hw->fd.wait >= 0)
		dpa_sys_close(hw->fd.wait);
	if (hw->fd.epoll >= 0)
		dpa_sys_close(hw->fd.epoll);
	if (hw->fd.spare >= 0)
		dpa_sys_close(hw->fd.spare);
	hw->fd.listen = hw->fd.wake = hw->fd.wait = hw->fd.epoll = hw->fd.spare = -1;
}
