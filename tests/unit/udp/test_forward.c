/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_forward.c - forwarded packets: over a ring, over the socket of another board; and refused
 * ones.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "link/peer.h"
#include "wire/opcode.h"
#include "link/sock.h"
#include "standins.h"

static char dir[] = "/tmp/dpa-forward-XXXXXX";
static char path[2][64];
static struct dpa_hw *hw[2];
static uint8_t bytes[64 + DPA_FWD_MAX];

static void setup(void)
{
	if (!mkdtemp(dir))
		abort();
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%d", dir, i);
	memset(&ut_in, 0, sizeof(ut_in));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++) {
		if (hw[i])
			ut_close(hw[i]);
		hw[i] = NULL;
		unlink(path[i]);
	}
	rmdir(dir);
}

TestSuite(udp_forward, .init = setup, .fini = teardown);

static struct dpa_frame frame(uint32_t dqpn, uint32_t n)
{
	struct dpa_frame f = {.p = bytes + 64, .n = n, .ip_known = true, .sure = true};

	memcpy(f.net.src, ut_gid, 16);
	memcpy(f.net.dst, ut_gid, 16);
	f.net.dst[15] = 9;
	f.net.sport = 50001;
	f.net.dport = 4791;
	f.net.ip_id = 77;
	f.net.df = true;
	f.net.tclass = 3;
	f.net.hop = 63;
	f.net.flow = 0x12345;
	bytes[64 + 5] = (uint8_t)(dqpn >> 16);
	bytes[64 + 6] = (uint8_t)(dqpn >> 8);
	bytes[64 + 7] = (uint8_t)dqpn;
	return f;
}

static void expect_in(const struct dpa_frame *f, uint32_t n, bool may_forward)
{
	cr_expect_eq(ut_in.n, n);
	cr_expect_eq(ut_in.len, f->n);
	cr_expect_eq(memcmp(&ut_in.net, &f->net, sizeof(f->net)), 0);
	cr_expect_eq(ut_in.ip_known, f->ip_known);
	cr_expect_eq(ut_in.sure, f->sure);
	cr_expect_eq(ut_in.may_forward, may_forward);
	cr_expect_eq(memcmp(ut_in.first, f->p, 16), 0);
}

/*
 * The same from the socket of another board. The source port is trusted only if that board belongs
 * to root or holds the port (may_speak_for_all()); none of these tests' boards holds it.
 */
static void expect_from_board(const struct dpa_frame *f, uint32_t n)
{
	struct dpa_frame want = *f;

	want.sure &= geteuid() == 0;
	expect_in(&want, n, true);
}

static void open_board(int i)
{
	hw[i] = ut_open(path[i]);
	cr_assert_not_null(hw[i]);
	dpa_udp_tick(hw[i]);
	cr_assert_geq(hw[i]->udp->num_fd, 0, "a board's first process listens for others");
}

/* The end of a connection counts, too. */
static int take_passed_on(struct dpa_hw *h)
{
	const uint32_t before = h->udp->nin;
	const int n = dpa_fwd_rx(h);

	return n + (h->udp->nin != before);
}

/* Serve new connections; return the events. */
static int serve(struct dpa_hw *h)
{
	struct epoll_event ev[8];
	int n = epoll_wait(h->fd.epoll, ev, 8, 0);

	for (int i = 0; i < n; i++)
		if ((ev[i].data.u64 & 7) == DPA_EP_NUM)
			dpa_fwd_accept(h);
	return n;
}

static void serve_all(struct dpa_hw *h)
{
	while (serve(h) + take_passed_on(h) > 0)
		;
}

Test(udp_forward, to_another_board)
{
	struct dpa_frame f;
	uint32_t qpn;

	open_board(0);
	open_board(1);
	qpn = hw[1]->board->board_num << 16 | 0x1234;
	f = frame(qpn, 300);
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
	serve_all(hw[1]);
	expect_from_board(&f, 1);
	f = frame(qpn, DPA_FWD_MAX);
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
	serve_all(hw[1]);
	expect_from_board(&f, 2);
	f.n = DPA_FWD_MAX + 1;
	cr_expect_not(dpa_frame_forward(hw[0], &f, qpn));
	cr_expect_eq(hw[0]->cnt[DPA_CNT_rx_forwarded], 2u);
}

/*
 * A packet for this process passes the network in front of it; one for another process is only
 * forwarded.
 */
Test(udp_forward, through_the_modelled_network)
{
	_Atomic(struct dpa_hw_qp *) *tab = calloc(DPA_BOARD_QPNS, sizeof(*tab));
	struct dpa_frame f;
	uint32_t qpn;

	cr_assert_not_null(tab);
	open_board(0);
	open_board(1);
	/* any QP: the packet is only counted */
	atomic_store(&tab[0x1234], (struct dpa_hw_qp *)tab);
	hw[1]->qps.tab = tab;
	atomic_store(&hw[1]->inspect, DPA_INSPECT_MODEL);
	for (uint32_t i = 0; i < 2; i++) {
		qpn = hw[1]->board->board_num << 16 | (0x1234 + i);
		f = frame(qpn, 300);
		cr_expect(dpa_frame_forward(hw[0], &f, qpn));
		serve_all(hw[1]);
		cr_expect_eq(ut_in.n, i + 1);
		cr_expect_eq(ut_in.inspected, 1u);
		cr_expect_eq(ut_in.may_forward, i == 1);
	}
	free(tab);
}

/* The socket is not emptied: packets are dropped, no thread waits, and it works afterwards. */
Test(udp_forward, a_full_socket_drops)
{
	struct dpa_frame f;
	uint32_t qpn, sent = 0;

	open_board(0);
	open_board(1);
	qpn = hw[1]->board->board_num << 16 | 1;
	f = frame(qpn, 4000);
	for (int i = 0; i < 100000; i++) {
		if (!dpa_frame_forward(hw[0], &f, qpn))
			break;
		sent++;
	}
	cr_expect_gt(sent, 10u);
	cr_expect_lt(sent, 100000u);
	serve_all(hw[1]);
	cr_expect_eq(ut_in.n, sent);
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
}

/* The holder of the number ends; the next process that claims it gets later packets. */
Test(udp_forward, number_is_taken_over)
{
	struct dpa_hw *second;
	struct dpa_frame f;
	uint32_t qpn;

	open_board(0);
	open_board(1);
	second = ut_open(path[1]);
	cr_assert_not_null(second);
	atomic_store(&second->udp->state, DPA_UDP_BEHIND); /* it has a reason to claim it */
	cr_assert_eq(second->board->num_fd, -1);
	qpn = hw[1]->board->board_num << 16 | 5;
	f = frame(qpn, 100);
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
	ut_close(hw[1]);
	hw[1] = second;
	cr_expect_not(dpa_frame_forward(hw[0], &f, qpn), "no process listens");
	dpa_fwd_watch(second);
	cr_assert_geq(second->udp->num_fd, 0);
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
	serve_all(second);
	expect_from_board(&f, 1);
}

static int connect_to(uint32_t num)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "dpa-board-%u", num);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_assert_eq(connect(fd, (struct sockaddr *)&sa,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
		     0);
	return fd;
}

/* Any bytes may arrive there. */
Test(udp_forward, rubbish_is_refused)
{
	uint64_t bad = 0;
	struct dpa_frame f;
	struct dpa_fwd h;
	uint8_t buf[sizeof(h) + DPA_FWD_MAX + 100];
	uint32_t qpn;
	int fd;

	open_board(0);
	qpn = hw[0]->board->board_num << 16 | 1;
	fd = connect_to(hw[0]->board->board_num);
	f = frame(qpn, 100);
	memset(buf, 0xa5, sizeof(buf));
	dpa_fwd_pack(&h, &f);
	for (size_t n = 1; n < sizeof(buf); n += n < 80 ? 1 : 977) {
		cr_assert_eq(send(fd, buf, n, 0), (ssize_t)n);
		serve_all(hw[0]);
		bad++;
	}
	for (int i = 0; i < 4; i++) {
		struct dpa_fwd x = h;
		size_t n = sizeof(x) + 100;

		if (i == 0)
			x.magic ^= 1;
		else if (i == 1)
			x.df = 2;
		else if (i == 2)
			x.ip_known = 0xff;
		else
			n = sizeof(x) + DPA_ROCE_BTH - 1;
		memcpy(buf, &x, sizeof(x));
		memcpy(buf + sizeof(x), f.p, 100);
		cr_assert_eq(send(fd, buf, n, 0), (ssize_t)n);
		serve_all(hw[0]);
		bad++;
	}
	cr_expect_eq(ut_in.n, 0u);
	cr_expect_eq(hw[0]->cnt[DPA_CNT_rx_malformed], bad);
	/* for a third board: it would circulate */
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), f.p, 100);
	buf[sizeof(h) + 5] ^= 1;
	cr_assert_eq(send(fd, buf, sizeof(h) + 100, 0), (ssize_t)sizeof(h) + 100);
	serve_all(hw[0]);
	cr_expect_eq(ut_in.n, 0u);
	/* and the connection still works */
	buf[sizeof(h) + 5] ^= 1;
	cr_assert_eq(send(fd, buf, sizeof(h) + 100, 0), (ssize_t)sizeof(h) + 100);
	serve_all(hw[0]);
	cr_expect_eq(ut_in.n, 1u);
	close(fd);
}

/* Only the holder of port 4791 (and root) may forward a packet as coming from another host. */
Test(udp_forward, foreign_sources)
{
	struct dpa_frame f;
	uint32_t qpn;

	open_board(0);
	open_board(1);
	qpn = hw[1]->board->board_num << 16 | 1;
	f = frame(qpn, 100);
	f.net.src[12] = 192;
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
	serve(hw[1]); /* the connection */
	for (int i = 0; i < DPA_FWD_IN; i++)
		if (hw[1]->udp->in[i].fd >= 0)
			hw[1]->udp->in[i].uid = 4242;
	serve_all(hw[1]);
	cr_expect_eq(ut_in.n, 0u);
	atomic_store(&hw[1]->udp->state, DPA_UDP_BEHIND);
	atomic_store(&hw[1]->udp->holder_uid, 4242);
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
	serve_all(hw[1]);
	cr_expect_eq(ut_in.n, 1u);
	atomic_store(&hw[1]->udp->state, DPA_UDP_CLOSED);
}

/*
 * Any user may forward packets from this host's addresses, but not choose their source port:
 * packets are queued out of order by it. Root, and the holder of port 4791, could send them.
 */
Test(udp_forward, another_user_does_not_choose_the_port)
{
	static const struct {
		uint32_t uid, state;
		bool sure;
	} t[] = {{4242, DPA_UDP_CLOSED, false},
		 {4242, DPA_UDP_OPEN, false},
		 {4242, DPA_UDP_BEHIND, true},
		 {4243, DPA_UDP_BEHIND, false},
		 {0, DPA_UDP_BEHIND, true}};
	struct dpa_frame f;
	uint32_t qpn;

	open_board(0);
	open_board(1);
	qpn = hw[1]->board->board_num << 16 | 1;
	f = frame(qpn, 100);
	cr_expect(dpa_frame_forward(hw[0], &f, qpn));
	serve(hw[1]); /* the connection */
	serve_all(hw[1]);
	atomic_store(&hw[1]->udp->holder_uid, 4242);
	for (size_t k = 0; k < sizeof(t) / sizeof(t[0]); k++) {
		for (int i = 0; i < DPA_FWD_IN; i++)
			if (hw[1]->udp->in[i].fd >= 0)
				hw[1]->udp->in[i].uid = t[k].uid;
		atomic_store(&hw[1]->udp->state, t[k].state);
		ut_in.n = 0;
		cr_expect(dpa_frame_forward(hw[0], &f, qpn));
		serve_all(hw[1]);
		cr_expect_eq(ut_in.n, 1u, "%zu", k);
		cr_expect_eq(ut_in.sure, t[k].sure, "%zu", k);
	}
	atomic_store(&hw[1]->udp->state, DPA_UDP_CLOSED);
}

/* One user that connects all the time does not block another user's connection. */
Test(udp_forward, connections_are_shared_out)
{
	int fd[3 * DPA_FWD_IN];
	int others = 0;

	open_board(0);
	for (int i = 0; i < 4; i++) {
		fd[i] = connect_to(hw[0]->board->board_num);
		serve(hw[0]);
	}
	for (int i = 0; i < DPA_FWD_IN; i++)
		if (hw[0]->udp->in[i].fd >= 0)
			hw[0]->udp->in[i].uid = 4242;
	for (int i = 4; i < 3 * DPA_FWD_IN; i++) {
		fd[i] = connect_to(hw[0]->board->board_num);
		serve(hw[0]);
	}
	for (int i = 0; i < DPA_FWD_IN; i++)
		others += hw[0]->udp->in[i].fd >= 0 && hw[0]->udp->in[i].uid == 4242;
	cr_expect_eq(others, 4);
	for (int i = 0; i < 3 * DPA_FWD_IN; i++)
		close(fd[i]);
	serve_all(hw[0]);
	for (int i = 0; i < DPA_FWD_IN; i++)
		cr_expect_eq(hw[0]->udp->in[i].fd, -1);
}

/*
 * ---- over a ring, with this test as the peer
 */

Test(udp_forward, over_a_ring)
{
	struct dpa_lane_shm *shm = calloc(1, sizeof(*shm));
	struct dpa_peer *peer = aligned_alloc(64, (sizeof(*peer) + 63) / 64 * 64);
	struct dpa_frame f;
	struct dpa_slot s;
	uint32_t qpn, lane, n = 0;

	open_board(0);
	memset(peer, 0, sizeof(*peer));
	peer->hw = hw[0];
	peer->slot = hw[0]->board->slot + 1;
	qpn = hw[0]->board->board_num << 16 | 0x77;
	lane = qpn % DPA_LANES;
	peer->tx[lane].shm = shm;
	peer->tx[lane].peer = peer;
	ut_peer = peer;
	ut_peer_qpn = qpn;
	f = frame(qpn, 1000);
	peer->state = DPA_PEER_DEAD;
	cr_expect_not(dpa_frame_forward(hw[0], &f, qpn), "nobody empties the lane");
	peer->state = DPA_PEER_CONNECTING;
	dpa_peers_put(hw[0], peer->slot, peer);
	cr_expect_not(dpa_fwd_waits(hw[0]));
	cr_assert(dpa_frame_forward(hw[0], &f, qpn), "it waits for the peer in the lane");
	cr_expect_eq(shm->slots[0].seq, 1u);
	cr_expect(dpa_fwd_waits(hw[0]), "who ends now waits for the peer");
	peer->state = DPA_PEER_UP;
	cr_expect_not(dpa_fwd_waits(hw[0]));
	s = shm->slots[0];
	cr_expect_eq(s.opcode, DPA_LINK_FRAME);
	cr_expect_eq(s.dqpn, qpn);
	dpa_forward_take(hw[0], &s, shm->data + (size_t)(s.data % DPA_LANE_UNITS) * 64);
	expect_in(&f, 1, false);
	cr_expect_not(dpa_frame_forward(hw[0], &f, qpn + 1), "nobody's QP");
	/* a ring that no process empties */
	while (dpa_frame_forward(hw[0], &f, qpn))
		cr_assert_lt(++n, 10000u);
	cr_expect_gt(n, 100u);
	/* entries with false content */
	s.len = 20;
	dpa_forward_take(hw[0], &s, shm->data);
	s.len = 100000;
	dpa_forward_take(hw[0], &s, shm->data);
	s.len = 1064;
	s.flags = DPA_PKT_PULL;
	dpa_forward_take(hw[0], &s, shm->data);
	cr_expect_eq(ut_in.n, 1u);
	cr_expect_eq(hw[0]->cnt[DPA_CNT_rx_malformed], 3u);
	ut_peer = NULL;
	free(peer);
	free(shm);
}
