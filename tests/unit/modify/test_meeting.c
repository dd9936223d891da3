/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two processes meet, and one of them ends in the middle. Its sockets close before its byte of the
 * board's lock goes: whoever asks the board at once is told that it lives, and is never told again.
 * So what ended is forgotten, and the peer is doubted until the board knows.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "link/sock.h"

static struct dpa_hw *hw;
static struct dpa_board board;
static struct dpa_peer *peer;
static bool alive;
static int doubts, ups, listener;

/* ------------------------------------------------- what sock.c stands on */

uint32_t dpa_spin_pauses = 200;

bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	return alive && slot == peer->slot && gen == peer->gen;
}

void dpa_peer_doubt(struct dpa_peer *p)
{
	cr_assert_eq(p, peer);
	doubts++;
}

struct dpa_peer *dpa_peer_get(struct dpa_hw *h, uint32_t slot, uint32_t gen)
{
	return slot == peer->slot && gen == peer->gen ? peer : NULL;
}

void dpa_peer_set_rx(struct dpa_peer *p, void *map)
{
	p->rx_map = map;
}

void dpa_peer_up(struct dpa_peer *p)
{
	atomic_store(&p->state, DPA_PEER_UP);
	ups++;
}

bool dpa_copy_probe(pid_t pid, uint64_t addr, uint64_t expect)
{
	return false;
}

int dpa_port_fd(struct dpa_port *port)
{
	return -1;
}

/* ----------------------------------------------------------- the two sides */

static int memfd(size_t bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
	cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

static socklen_t peer_name(struct sockaddr_un *sa)
{
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1,
					    "dpa/%s/%u.%u", board.id, peer->slot, peer->gen));
}

/* The peer's listener, as it was when the peer was stopped. */
static int listens(void)
{
	struct sockaddr_un sa;
	socklen_t len = peer_name(&sa);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
	cr_assert_eq(listen(fd, 4), 0);
	return fd;
}

static void setup(void)
{
	hw = aligned_alloc(DPA_CACHE_LINE, (sizeof(*hw) + 63) & ~63ul);
	peer = aligned_alloc(DPA_CACHE_LINE, (sizeof(*peer) + 63) & ~63ul);
	cr_assert(hw && peer);
	memset(hw, 0, sizeof(*hw));
	memset(peer, 0, sizeof(*peer));
	memset(&board, 0, sizeof(board));
	snprintf(board.id, sizeof(board.id), "test-meeting-%d", (int)getpid());
	board.slot = board.gen = 1;
	hw->board = &board;
	hw->export_fd = memfd(sizeof(struct dpa_export));
	hw->door_fd = memfd(4096);
	hw->export = mmap(NULL, sizeof(*hw->export), PROT_READ | PROT_WRITE, MAP_SHARED,
			  hw->export_fd, 0);
	cr_assert_neq(hw->export, MAP_FAILED);
	peer->hw = hw;
	peer->slot = peer->gen = 2;
	peer->pidfd = peer->sock = peer->sock2 = peer->wake_fd = peer->wait_fd = -1;
	peer->tx_fd = memfd(DPA_LANES * sizeof(struct dpa_lane_shm));
	cr_assert_eq(dpa_sock_init(hw), 0);
	alive = true;
	doubts = ups = 0;
	listener = -1;
}

static void teardown(void)
{
	int *fds[] = {&peer->pidfd, &peer->sock,    &peer->sock2, &peer->wake_fd, &peer->wait_fd,
		      &peer->tx_fd, &hw->export_fd, &hw->door_fd, &listener};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	munmap(hw->export, sizeof(*hw->export));
	dpa_sock_fini(hw);
	free(hw);
	free(peer);
}

TestSuite(meeting, .init = setup, .fini = teardown);

/* The service thread's event for our connection to the peer: true if there is one. */
static bool event_of_peer(void)
{
	struct epoll_event ev[4];
	int n = epoll_wait(hw->epfd, ev, 4, 0);

	for (int i = 0; i < n; i++)
		if (ev[i].data.u64 == ((uint64_t)(uintptr_t)peer | DPA_EP_SOCK)) {
			dpa_sock_answer(hw, peer);
			return true;
		}
	return false;
}

static void connects(void)
{
	dpa_sock_connect(peer);
	cr_assert_geq(peer->sock, 0);
	cr_assert_eq(doubts, 0);
	cr_assert_not(event_of_peer(), "nothing has happened yet");
}

/* Its end is noticed, doubted, and leaves nothing that would stop another try. */
static void noticed(void)
{
	cr_assert(event_of_peer(), "its end is an event");
	cr_expect_eq(peer->sock, -1, "the connection is forgotten");
	cr_expect_eq(doubts, 1, "the board is asked later");
	cr_expect_eq(atomic_load(&peer->state), (uint32_t)DPA_PEER_CONNECTING);
	cr_expect_not(event_of_peer(), "and no event comes any more");
}

/* It is killed with our connection in its queue, which it never accepted. */
Test(meeting, killed_while_connecting)
{
	listener = listens();
	connects();
	close(listener);
	listener = -1;
	noticed();
	/* who has work for it tries again until the board knows */
	dpa_sock_connect(peer);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(doubts, 2, "nobody listens there");
	alive = false;
	dpa_sock_connect(peer);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(doubts, 3);
}

/* It accepted, and is killed before it answers. */
Test(meeting, killed_before_its_answer)
{
	int fd;

	listener = listens();
	connects();
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(fd, 0);
	close(fd);
	noticed();
	cr_expect_eq(ups, 0);
	/* it lives after all (it closed its device and opened it again): we meet */
	dpa_sock_connect(peer);
	cr_expect_geq(peer->sock, 0);
	cr_expect_eq(doubts, 1);
}

/* The board says that it is gone: nothing is tried, and what waits for it is told. */
Test(meeting, gone_before)
{
	listener = listens();
	alive = false;
	dpa_sock_connect(peer);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(doubts, 1);
}

/* Its answer is no hello, or another's: it is no peer of ours. */
Test(meeting, answers_nonsense)
{
	int fd;

	listener = listens();
	connects();
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(send(fd, "hello", 5, 0), 5);
	noticed();
	cr_expect_eq(ups, 0);
	close(fd);
}
