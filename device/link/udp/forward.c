/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * forward.c - packets that reached the wrong process.
 *
 *   another process of the adapter  its shared memory ring, an entry with opcode DPA_LINK_FRAME
 *   another adapter of the host     the socket that claims that adapter's number (board/num.c): its
 *                                   holder accepts connections from any user and checks everything
 *
 * If there is no room the packet is lost, as on a wire. Only packets for a process of this adapter
 * that is just being connected wait here.
 *
 * A packet that arrives on an adapter's socket was on the wire, or another user's process made it
 * up. Any user can send from the addresses of this namespace, but only the user that holds port 4791
 * can send as another host. So packets with a source of another host are only taken from that user
 * and from root.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <dpa_mad.h>
#include "util/sys.h"
#include "ctx/hw.h"
#include "link/kick.h"
#include "link/udp/forward.h"
#include "link/frame.h"
#include "link/sock.h"
#include "link/udp/wire.h"

#define RX_BATCH 64 /* frames of one connection in a row */
#define SNDBUF	 (1 << 20)

void dpa_fwd_pack(struct dpa_fwd *h, const struct dpa_frame *f)
{
	memset(h, 0, sizeof(*h));
	h->magic = DPA_FWD_MAGIC;
	memcpy(h->src, f->net.src, 16);
	memcpy(h->dst, f->net.dst, 16);
	h->sport = f->net.sport;
	h->dport = f->net.dport;
	h->ip_id = f->net.ip_id;
	h->tclass = f->net.tclass;
	h->hop = f->net.hop;
	h->flow = f->net.flow;
	h->df = f->net.df;
	h->ip_known = f->ip_known;
	h->sure = f->sure;
}

bool dpa_fwd_unpack(struct dpa_frame *f, const struct dpa_fwd *h, const uint8_t *p, uint32_t n)
{
	memset(f, 0, sizeof(*f));
	if (h->magic != DPA_FWD_MAGIC || h->df > 1 || h->ip_known > 1 || h->sure > 1 ||
	    n < DPA_ROCE_BTH || n > DPA_FWD_MAX)
		return false;
	memcpy(f->net.src, h->src, 16);
	memcpy(f->net.dst, h->dst, 16);
	f->net.sport = h->sport;
	f->net.dport = h->dport;
	f->net.ip_id = h->ip_id;
	f->net.tclass = h->tclass;
	f->net.hop = h->hop;
	f->net.flow = h->flow;
	f->net.df = h->df;
	f->ip_known = h->ip_known;
	f->passed_on = true;
	f->sure = h->sure;
	f->p = p;
	f->n = n;
	return true;
}

/* ------------------------------------------------- a process of this adapter */

/* One ring for each QP, so that its packets stay in order. */
static bool frame_to_process(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t dqpn)
{
	struct dpa_peer *p = dpa_peer_of_qpn(hw, dqpn);
	struct dpa_slot *s = NULL;
	struct dpa_tx *tx;
	struct dpa_fwd h;
	uint8_t *data = NULL;

	if (!p || (p->slot == hw->board->slot && p->gen == hw->board->gen))
		return false;
	tx = &p->tx[dqpn % DPA_LANES];
	dpa_fwd_pack(&h, f);
	dpa_spin_lock(&tx->lock);
	/*
	 * For a CONNECTING peer the packet waits in the ring, as far as there is room:
	 * dpa_peer_up() sends the wake-up. No other thread writes there before. The rings of a dead
	 * peer are blank.
	 */
	if (atomic_load_explicit(&p->state, memory_order_acquire) != DPA_PEER_DEAD)
		s = dpa_lane_reserve(tx, (uint32_t)sizeof(h) + f->n, &data);
	if (s) {
		memcpy(data, &h, sizeof(h));
		memcpy(data + sizeof(h), f->p, f->n);
		s->opcode = DPA_LINK_FRAME;
		s->flags = 0;
		s->src = 0;
		s->dqpn = dqpn;
		s->psn = 0;
		s->len = (uint32_t)sizeof(h) + f->n;
		dpa_lane_publish(tx, s);
	}
	dpa_spin_unlock(&tx->lock);
	if (!s)
		return false;
	dpa_tx_kick(tx);
	atomic_fetch_add_explicit(&hw->udp->detours, 1, memory_order_relaxed);
	return true;
}

static bool has_undrained(struct dpa_peer *p)
{
	bool waits = false;

	for (uint32_t i = 0; i < DPA_LANES && !waits; i++) {
		struct dpa_tx *tx = &p->tx[i];

		if (!dpa_spin_try(&tx->lock))
			return true; /* another thread works on it */
		waits = tx->head != tx->tail;
		dpa_spin_unlock(&tx->lock);
	}
	return waits;
}

bool dpa_fwd_waits(struct dpa_hw *hw)
{
	for (uint32_t s = 0; s < dpa_peers_end(hw); s++) {
		struct dpa_peer *p = atomic_load_explicit(&hw->peers[s], memory_order_acquire);

		if (p &&
		    atomic_load_explicit(&p->state, memory_order_acquire) == DPA_PEER_CONNECTING &&
		    has_undrained(p))
			return true;
	}
	return false;
}

static void frame_arrives(void *arg, const struct dpa_frame *f)
{
	dpa_frame_in(arg, NULL, f, false);
}

/*
 * Passes the frame through the modelled network, if there is one and the packet is for this
 * process.
 */
static void take_in_frame(struct dpa_hw *hw, const struct dpa_frame *f, bool may_forward)
{
	const uint8_t *q = f->p + 5;
	uint32_t dqpn = (uint32_t)q[0] << 16 | (uint32_t)q[1] << 8 | q[2];

	if (dpa_unlikely(atomic_load_explicit(&hw->inspect, memory_order_relaxed) &
			 DPA_INSPECT_MODEL) &&
	    (dqpn == DPA_MAD_QPN || dpa_qpn_is_ours(hw, dqpn)))
		dpa_inspect(hw, DPA_AT_RX, f, frame_arrives, hw);
	else
		dpa_frame_in(hw, NULL, f, may_forward);
}

void dpa_forward_take(struct dpa_hw *hw, const struct dpa_slot *s, const uint8_t *payload)
{
	uint8_t buf[sizeof(struct dpa_fwd) + DPA_FWD_MAX];
	struct dpa_fwd h;
	struct dpa_frame f;

	/* Copied, so that the checked values cannot change. The copy has room in front. */
	if ((s->flags & (DPA_PKT_PULL | DPA_PKT_INSLOT)) || s->len < sizeof(h) ||
	    s->len > sizeof(buf)) {
		dpa_count(hw, DPA_CNT_rx_malformed, 1);
		return;
	}
	memcpy(buf, payload, s->len);
	memcpy(&h, buf, sizeof(h));
	if (!dpa_fwd_unpack(&f, &h, buf + sizeof(h), s->len - (uint32_t)sizeof(h)))
		dpa_count(hw, DPA_CNT_rx_malformed, 1);
	else
		take_in_frame(hw, &f, false);
}

/* ----------------------------------------------- another adapter instance of this host */

static int board_socket(void)
{
	return dpa_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/*
 * 0, or EHOSTUNREACH: there is no board of this number; EAGAIN: it accepts nothing now. After a
 * failure the socket is as before.
 */
static int connect_num(int fd, uint32_t num)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "dpa-board-%u", num);

	if (!dpa_sys_connect(fd, (struct sockaddr *)&sa,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return 0;
	return errno == ECONNREFUSED ? EHOSTUNREACH : EAGAIN;
}

/* A descriptor, or -1 and *err: as connect_num(). */
static int connect_board(uint32_t num, int *err)
{
	int fd = board_socket(), bytes = SNDBUF;

	*err = fd < 0 ? EAGAIN : connect_num(fd, num);
	if (fd < 0)
		return -1;
	if (*err) {
		dpa_sys_close(fd);
		return -1;
	}
	if (dpa_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		dpa_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return fd;
}

/*
 * Returns the connection to an adapter instance; makes one if there is none, in place of the
 * oldest. -1 there: *err is as connect_num() returns it. Context: out_lock.
 */
static int *board_conn(struct dpa_udp *u, uint32_t num, int *err)
{
	int at = -1;

	for (int i = 0; i < DPA_FWD_OUT; i++) {
		if (u->out[i].fd >= 0 && u->out[i].num == num)
			return &u->out[i].fd;
		if (u->out[i].fd < 0 && at < 0)
			at = i;
	}
	if (at < 0) {
		at = (int)(u->out_next++ % DPA_FWD_OUT);
		dpa_sys_close(u->out[at].fd);
	}
	u->out[at].num = num;
	u->out[at].fd = connect_board(num, err);
	return &u->out[at].fd;
}

/* The errno of a failed sendmsg() as dpa_forward_board() returns it. */
static int send_error(void)
{
	return errno == EAGAIN || errno == ENOBUFS || errno == EMSGSIZE ? EAGAIN : EHOSTUNREACH;
}

static int to_board(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num)
{
	struct dpa_udp *u = hw->udp;
	struct dpa_fwd h;
	struct iovec iov[2] = {{.iov_base = &h, .iov_len = sizeof(h)},
			       {.iov_base = (void *)(uintptr_t)f->p, .iov_len = f->n}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
	int *fd, cancel, rc = EHOSTUNREACH;

	dpa_fwd_pack(&h, f);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dpa_spin_lock(&u->out_lock);
	for (int tries = 0; tries < 2; tries++) {
		fd = board_conn(u, num, &rc);
		if (*fd < 0)
			break;
		rc = dpa_sys_sendmsg(*fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ? 0 : send_error();
		if (rc != EHOSTUNREACH)
			break;
		dpa_sys_close(*fd); /* its holder ended: another process may have the number now */
		*fd = -1;
	}
	dpa_spin_unlock(&u->out_lock);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

int dpa_forward_board(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t num)
{
	return f->n <= DPA_FWD_MAX ? to_board(hw, f, num) : EHOSTUNREACH;
}

int dpa_forward_boards(struct dpa_hw *hw, const struct dpa_frame *f)
{
	struct dpa_fwd h;
	struct iovec iov[2] = {{.iov_base = &h, .iov_len = sizeof(h)},
			       {.iov_base = (void *)(uintptr_t)f->p, .iov_len = f->n}};
	const struct msghdr m = {.msg_iov = iov, .msg_iovlen = 2};
	bool sent = false;
	int fd = -1, cancel, rc;

	dpa_fwd_pack(&h, f);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	for (uint32_t num = 1; num < 255; num++) {
		if (num == hw->board->board_num)
			continue;
		if (fd < 0)
			fd = board_socket();
		rc = fd < 0 ? EAGAIN : connect_num(fd, num);
		sent |= rc == EAGAIN; /* lost on the way */
		if (rc)
			continue;
		sent |= dpa_sys_sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
		dpa_sys_close(fd); /* sent data stays readable */
		fd = -1;
	}
	if (fd >= 0)
		dpa_sys_close(fd);
	pthread_setcancelstate(cancel, NULL);
	return sent ? 0 : EHOSTUNREACH;
}

bool dpa_frame_forward(struct dpa_hw *hw, const struct dpa_frame *f, uint32_t dqpn)
{
	uint32_t num = dqpn >> 16;
	bool ok;

	if (f->n > DPA_FWD_MAX || num == 0 || num == 255)
		return false;
	ok = num == hw->board->board_num ? frame_to_process(hw, f, dqpn) : !to_board(hw, f, num);
	if (ok)
		dpa_count(hw, DPA_CNT_rx_forwarded, 1);
	return ok;
}

/* --------------------------------------------- packets that others pass on to this process */

/* Context: in_lock, for this function and the next two. */
static void conn_close(struct dpa_udp *u, int i)
{
	dpa_sys_epoll_ctl(dpa_udp_in_epfd(u), EPOLL_CTL_DEL, u->in[i].fd, NULL);
	dpa_sys_close(u->in[i].fd);
	u->in[i].fd = -1;
	atomic_fetch_sub_explicit(&u->nin, 1, memory_order_relaxed);
}

/*
 * If all connections are in use, closes one of the user that has most, so that no user can lock the
 * others out.
 */
static int make_connection_room(struct dpa_udp *u, uint32_t uid)
{
	int best = 0, most = 0;

	for (int i = 0; i < DPA_FWD_IN; i++)
		if (u->in[i].fd < 0)
			return i;
	for (int i = 0; i < DPA_FWD_IN; i++) {
		int n = u->in[i].uid == uid; /* the new connection counts */

		for (int k = 0; k < DPA_FWD_IN; k++)
			n += u->in[k].uid == u->in[i].uid;
		if (n > most) {
			most = n;
			best = i;
		}
	}
	conn_close(u, best);
	return best;
}

/*
 * These connections have an epoll set of their own. Port 4791 is in no set: while an application
 * polls it receives for itself, so the progress thread need not wake for each packet.
 */
static bool conn_add(struct dpa_udp *u, int fd, uint32_t uid)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};
	int at;

	if (dpa_udp_in_epfd(u) < 0)
		atomic_store_explicit(&u->in_epfd, dpa_sys_epoll_create1(EPOLL_CLOEXEC),
				      memory_order_release);
	if (dpa_udp_in_epfd(u) < 0)
		return false;
	at = make_connection_room(u, uid);
	ev.data.u32 = (uint32_t)at;
	if (dpa_sys_epoll_ctl(dpa_udp_in_epfd(u), EPOLL_CTL_ADD, fd, &ev))
		return false;
	u->in[at].fd = fd;
	u->in[at].uid = uid;
	atomic_fetch_add_explicit(&u->nin, 1, memory_order_relaxed);
	return true;
}

void dpa_fwd_accept(struct dpa_hw *hw)
{
	struct dpa_udp *u = hw->udp;
	struct ucred uc;
	socklen_t len;
	bool added;
	int fd;

	for (int n = 0; n < DPA_FWD_IN; n++) {
		fd = dpa_sys_accept4(hw->udp->num_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE) /* try again at the next tick */
				dpa_fwd_unwatch(hw);
			return;
		}
		len = sizeof(uc);
		added = !dpa_sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &uc, &len);
		if (added) {
			dpa_spin_lock(&u->in_lock);
			added = conn_add(u, fd, uc.uid);
			dpa_spin_unlock(&u->in_lock);
		}
		if (!added)
			dpa_sys_close(fd);
	}
}

/*
 * True if the user may send from any address and port: such a user could also forge packets on the
 * network.
 */
static bool may_speak_for_all(struct dpa_hw *hw, uint32_t uid)
{
	struct dpa_udp *u = hw->udp;

	return uid == 0 ||
	       (atomic_load_explicit(&u->state, memory_order_acquire) == DPA_UDP_BEHIND &&
		uid == atomic_load_explicit(&u->holder_uid, memory_order_relaxed));
}

static void take_forwarded(struct dpa_hw *hw, uint32_t uid, const struct dpa_fwd *h,
			   const uint8_t *p, uint32_t n)
{
	const bool all = may_speak_for_all(hw, uid);
	struct dpa_frame f;
	uint32_t dqpn;

	if (!dpa_fwd_unpack(&f, h, p, n) || (!all && dpa_port_find(&hw->port, f.net.src) < 0)) {
		dpa_count(hw, DPA_CNT_rx_malformed, 1);
		return;
	}
	f.sure = all; /* for addresses of this host the kernel assigns the port */
	dqpn = (uint32_t)p[5] << 16 | (uint32_t)p[6] << 8 | p[7];
	/* else the packet could circulate */
	if (dqpn >> 16 == hw->board->board_num || dqpn == DPA_MAD_QPN)
		take_in_frame(hw, &f, true);
	else
		dpa_count(hw, DPA_CNT_rx_dropped, 1);
}

/* Returns the number of packets. Context: in_lock. */
static int conn_rx(struct dpa_hw *hw, uint32_t at)
{
	struct {
		struct dpa_fwd h;
		uint8_t p[DPA_FWD_MAX];
	} b;
	struct dpa_udp *u = hw->udp;
	int n;

	for (n = 0; n < RX_BATCH && u->in[at].fd >= 0; n++) {
		struct dpa_fwd h;
		ssize_t got = dpa_sys_recv(u->in[at].fd, &b, sizeof(b), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0) {
			conn_close(u, (int)at);
			break;
		}
		if (got < (ssize_t)sizeof(b.h) || got > (ssize_t)sizeof(b)) {
			dpa_count(hw, DPA_CNT_rx_malformed, 1);
			continue;
		}
		h = b.h; /* the room in front of the packet may be overwritten */
		take_forwarded(hw, u->in[at].uid, &h, b.p, (uint32_t)((size_t)got - sizeof(b.h)));
	}
	return n;
}

int dpa_fwd_rx(struct dpa_hw *hw)
{
	struct dpa_udp *u = hw->udp;
	struct epoll_event ev[16];
	int ready, n = 0;

	if (!dpa_udp_is_passed_on(u) || !dpa_spin_try(&u->in_lock))
		return 0;
	ready = dpa_sys_epoll_wait(dpa_udp_in_epfd(u), ev, 16, 0);
	for (int i = 0; i < ready; i++)
		n += conn_rx(hw, ev[i].data.u32);
	dpa_spin_unlock(&u->in_lock);
	return n;
}

/* -------------------------------------------------------- opening, closing */

void dpa_fwd_init(struct dpa_udp *u)
{
	for (int i = 0; i < DPA_FWD_OUT; i++)
		u->out[i].fd = -1;
	for (int i = 0; i < DPA_FWD_IN; i++)
		u->in[i].fd = -1;
	u->num_fd = -1;
	u->nin = 0;
	u->in_epfd = -1;
}

void dpa_fwd_close(struct dpa_udp *u)
{
	for (int i = 0; i < DPA_FWD_OUT; i++)
		if (u->out[i].fd >= 0)
			dpa_sys_close(u->out[i].fd);
	for (int i = 0; i < DPA_FWD_IN; i++)
		if (u->in[i].fd >= 0)
			dpa_sys_close(u->in[i].fd);
	if (u->in_epfd >= 0)
		dpa_sys_close(u->in_epfd);
	dpa_fwd_init(u);
}

void dpa_fwd_unwatch(struct dpa_hw *hw)
{
	if (hw->udp->num_fd >= 0)
		dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_DEL, hw->udp->num_fd, NULL);
	hw->udp->num_fd = -1;
}

void dpa_fwd_watch(struct dpa_hw *hw)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = DPA_EP_NUM};
	struct dpa_udp *u = hw->udp;
	bool claim = atomic_load_explicit(&u->state, memory_order_acquire) != DPA_UDP_CLOSED;
	uint64_t ino;
	int fd = dpa_board_num_fd(hw->board, claim, &ino);

	if (fd == -2)
		return; /* as before; a stopped process must not delay the progress thread */
	if (fd >= 0 && (fd != u->num_fd || ino != u->num_ino)) {
		if (dpa_sys_epoll_ctl(hw->fd.epoll, EPOLL_CTL_ADD, fd, &ev) && errno != EEXIST)
			fd = -1;
		u->num_ino = ino;
	}
	u->num_fd = fd;
}
