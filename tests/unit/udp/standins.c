/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "link/lane.h"
#include "ctx/schedule.h"
#include "link/kick.h"
#include "link/udp/wire.h"
#include "standins.h"

/* No timeline is recorded here. */
_Atomic uint32_t dpa_trace_gate;

void dpa_lane_trace(const struct dpa_slot *s)
{
	(void)s;
}

void dpa_lane_lose(struct dpa_tx *tx, struct dpa_slot *s)
{
	(void)tx;
	s->opcode = DPA_LINK_LOST;
}

uint32_t dpa_spin_pauses = 200;
char ut_log[512];
uint32_t ut_wakes;
uint32_t ut_peer_qpn;
struct dpa_peer *ut_peer;
uint8_t ut_gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
struct ut_in ut_in;

uint64_t dpa_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

uint64_t dpa_now_about(void)
{
	return dpa_now_ns();
}

void dpa_log(struct dpa_hw *hw, int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ut_log, sizeof(ut_log), fmt, ap);
	va_end(ap);
}

void dpa_wake_self(struct dpa_hw *hw)
{
	ut_wakes++;
}

void dpa_tx_kick(struct dpa_tx *tx)
{
}

struct dpa_peer *dpa_peer_of_qpn(struct dpa_hw *hw, uint32_t qpn)
{
	return qpn == ut_peer_qpn ? ut_peer : NULL;
}

int dpa_port_find(struct dpa_port *port, const uint8_t gid[16])
{
	return memcmp(gid, ut_gid, 16) ? -1 : 0;
}

/* Weak: tests that need more link their own. */
__attribute__((weak)) int dpa_port_gid(struct dpa_port *port, uint32_t index,
				       struct dpa_hw_gid *gid)
{
	return ENODATA;
}

__attribute__((weak)) struct dpa_hw_qp *dpa_pkt_deliver(struct dpa_hw *hw, struct dpa_hw_qp *cur,
							struct dpa_peer *peer,
							const struct dpa_frame *f,
							const struct dpa_roce_pkt *pkt)
{
	abort();
}

static uint32_t passed_on; /* packets */

int dpa_udp_rx(struct dpa_hw *hw)
{
	uint8_t p[64];
	ssize_t n = recv(dpa_udp_fd(hw->udp), p, sizeof(p), MSG_DONTWAIT);

	if (n < 0)
		return 0;
	passed_on += !dpa_udp_probe(hw, p, (uint32_t)n);
	return 1;
}

void dpa_frame_in(struct dpa_hw *hw, struct dpa_peer *peer, const struct dpa_frame *f,
		  bool may_forward)
{
	ut_in.n++;
	ut_in.len = f->n;
	ut_in.net = f->net;
	ut_in.ip_known = f->ip_known;
	ut_in.sure = f->sure;
	ut_in.may_forward = may_forward;
	memcpy(ut_in.first, f->p, f->n < 16 ? f->n : 16);
}

/* A network without delay. */
void dpa_inspect(struct dpa_hw *hw, enum dpa_inspect_at at, const struct dpa_frame *f,
		 dpa_inspect_emit_fn *emit, void *arg)
{
	ut_in.inspected++;
	emit(arg, f);
}

struct dpa_hw *ut_open(const char *path)
{
	struct dpa_board_cfg cfg = {.path = path, .lib_version = "1.2.3"};
	static _Atomic uint64_t cnt[DPA_BOARD_COUNTERS];
	struct dpa_hw *hw = aligned_alloc(64, (sizeof(*hw) + 63) / 64 * 64);
	char err[256];
	int rc;

	memset(hw, 0, sizeof(*hw));
	hw->cnt = cnt;
	hw->fd.epoll = epoll_create1(EPOLL_CLOEXEC);
	hw->udp = dpa_udp_new();
	rc = dpa_board_open(&cfg, &hw->board, err, sizeof(err));
	if (rc) {
		fprintf(stderr, "%s: %s\n", path, err);
		dpa_udp_free(hw->udp);
		free(hw);
		errno = rc;
		return NULL;
	}
	return hw;
}

void ut_close(struct dpa_hw *hw)
{
	dpa_udp_leave(hw, true);
	dpa_udp_close(hw);
	dpa_board_close(hw->board);
	close(hw->fd.epoll);
	dpa_udp_free(hw->udp);
	free(hw);
}

bool ut_netns(void)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr))
		abort();
	close(fd);
	return true;
}

/* ------------------------------------------------------- the other process */

struct call {
	uint32_t what, n;
};

/* Take one datagram: 1 for our QPN, 2 another packet, 0 a probe, -1 nothing. */
static int take_one(struct dpa_hw *hw, uint32_t qpn)
{
	uint8_t p[64];
	ssize_t n = recv(dpa_udp_fd(hw->udp), p, sizeof(p), MSG_DONTWAIT);

	if (n < 0)
		return -1;
	if (dpa_udp_probe(hw, p, (uint32_t)n))
		return 0;
	return (uint32_t)(p[5] << 16 | p[6] << 8 | p[7]) == qpn ? 1 : 2;
}

static void wait_readable(struct dpa_hw *hw)
{
	struct pollfd p = {.fd = dpa_udp_fd(hw->udp), .events = POLLIN};

	if (poll(&p, 1, 10000) != 1)
		_exit(3); /* the test sees no answer to its command */
}

/* Allocate a QPN of another block than this one, about to be used. */
static uint32_t new_block(struct dpa_hw *hw, uint32_t old)
{
	uint32_t qpn;

	do
		if (dpa_board_qpn_alloc(hw->board, &qpn))
			_exit(6);
	while (qpn / DPA_BOARD_QPN_BLOCK == old / DPA_BOARD_QPN_BLOCK);
	dpa_steer_qp(hw, qpn);
	return qpn;
}

static uint32_t answer(struct dpa_hw *hw, const struct call *c, uint32_t qpn)
{
	struct dpa_board_steer *s = dpa_board_steer(hw->board);
	uint32_t got = 0, mine = 0;
	int k;

	switch (c->what) {
	case 'o':
		return (uint32_t)dpa_udp_open(hw);
	case 's':
		return hw->udp->state;
	case 't':
		dpa_udp_tick(hw);
		return 0;
	case 'l':
		while (dpa_board_steer_lost(hw->board)) {
			wait_readable(hw);
			take_one(hw, qpn);
		}
		while (take_one(hw, qpn) == 0)
			; /* the rest of the probes */
		return 0;
	case 'b':
		return s->want == s->built;
	case 'r':
		while (got < c->n) {
			wait_readable(hw);
			k = take_one(hw, qpn);
			got += k > 0;
			mine += k == 1;
		}
		return mine;
	case 'p':
		while ((k = take_one(hw, qpn)) >= 0)
			got += k > 0;
		return got;
	case 'v':
		dpa_udp_leave(hw, true);
		return passed_on;
	case 'c':
		dpa_udp_leave(hw, true);
		dpa_udp_close(hw);
		dpa_udp_free(hw->udp);
		hw->udp = dpa_udp_new();
		return 0;
	}
	_exit(4);
}

static void serve(const char *path, uid_t uid, int fd)
{
	uint32_t qpn, a[2];
	struct dpa_hw *hw;
	struct call c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (uid && (setgid(uid) || setuid(uid)))
		_exit(1);
	hw = ut_open(path);
	if (!hw || dpa_board_qpn_alloc(hw->board, &qpn))
		_exit(2);
	a[0] = qpn;
	a[1] = hw->board->board_num;
	if (send(fd, a, sizeof(a), 0) != sizeof(a))
		_exit(5);
	while (recv(fd, &c, sizeof(c), 0) == sizeof(c) && c.what != 'q') {
		if (c.what == 'g') {
			send(fd, ut_log, sizeof(ut_log), 0);
			continue;
		}
		if (c.what == 'n')
			a[0] = qpn = new_block(hw, qpn);
		else
			a[0] = answer(hw, &c, qpn);
		send(fd, a, sizeof(a[0]), 0);
	}
	ut_close(hw);
	_exit(0);
}

static void broken(struct ut_proc *p, const char *what)
{
	int st = 0;

	waitpid(p->pid, &st, 0);
	fprintf(stderr, "process %d did not answer %s: status 0x%x\n", p->pid, what, st);
	abort();
}

void ut_start(struct ut_proc *p, const char *path, uid_t uid)
{
	uint32_t a[2];
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		abort();
	p->pid = fork();
	if (!p->pid) {
		close(fd[0]);
		serve(path, uid, fd[1]);
	}
	close(fd[1]);
	p->fd = fd[0];
	if (recv(p->fd, a, sizeof(a), 0) != sizeof(a))
		broken(p, "start");
	p->qpn = a[0];
	p->num = a[1];
}

static uint32_t call(struct ut_proc *p, uint32_t what, uint32_t n)
{
	struct call c = {.what = what, .n = n};
	char text[2] = {(char)what, '\0'};
	uint32_t a = 0;

	if (send(p->fd, &c, sizeof(c), MSG_NOSIGNAL) != sizeof(c) ||
	    recv(p->fd, &a, sizeof(a), 0) != sizeof(a))
		broken(p, text);
	return a;
}

int ut_udp_open(struct ut_proc *p)
{
	return (int)call(p, 'o', 0);
}

uint32_t ut_state(struct ut_proc *p)
{
	return call(p, 's', 0);
}

void ut_tick(struct ut_proc *p)
{
	call(p, 't', 0);
}

void ut_learn(struct ut_proc *p)
{
	call(p, 'l', 0);
}

void ut_new_block(struct ut_proc *p)
{
	p->qpn = call(p, 'n', 0);
}

bool ut_built(struct ut_proc *p)
{
	return call(p, 'b', 0);
}

uint32_t ut_take(struct ut_proc *p, uint32_t n)
{
	return call(p, 'r', n);
}

uint32_t ut_pending(struct ut_proc *p)
{
	return call(p, 'p', 0);
}

uint32_t ut_udp_leave(struct ut_proc *p)
{
	return call(p, 'v', 0);
}

void ut_udp_close(struct ut_proc *p)
{
	call(p, 'c', 0);
}

void ut_logged(struct ut_proc *p, char *text, size_t len)
{
	struct call c = {.what = 'g'};
	char buf[sizeof(ut_log)] = "";

	if (send(p->fd, &c, sizeof(c), MSG_NOSIGNAL) != sizeof(c) ||
	    recv(p->fd, buf, sizeof(buf), 0) < 0)
		broken(p, "log");
	snprintf(text, len, "%s", buf);
}

void ut_end(struct ut_proc *p)
{
	struct call c = {.what = 'q'};
	int st;

	send(p->fd, &c, sizeof(c), MSG_NOSIGNAL);
	close(p->fd);
	if (waitpid(p->pid, &st, 0) != p->pid || st)
		abort();
}

void ut_kill(struct ut_proc *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->fd);
}
