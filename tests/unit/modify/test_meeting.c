/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_meeting.c - two processes meet, and one of them ends in the middle. Its sockets close before
 * its byte of the board's lock is released: a process that queries the board at once is told that
 * it lives, and gets no later notification. So the ended connection is dropped, and the peer is
 * suspect until the board has an answer.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "ctx/hw.h"
#include "ctx/copy.h"
#include "link/peer.h"
#include "link/sock.h"

static struct dpa_hw *hw;
static struct dpa_board board;
static struct dpa_peer *peer;
static struct dpa_board_proc self, other; /* the board's records of this process and of the peer */
static bool alive;
static int suspicions, ups, listener;

/* -------------------------------------------------- stand-ins for sock.c */

uint32_t dpa_spin_pauses = 200;

bool dpa_board_alive(struct dpa_board *b, uint32_t slot, uint32_t gen)
{
	return alive && slot == peer->slot && gen == peer->gen;
}

struct dpa_board_proc *dpa_board_proc(struct dpa_board *b, uint32_t slot)
{
	return slot == peer->slot ? &other : &self;
}

void dpa_peer_suspect(struct dpa_peer *p)
{
	cr_assert_eq(p, peer);
	suspicions++;
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

/* The peer's listener, in its state when the peer was stopped. */
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
	memset(&self, 0, sizeof(self));
	memset(&other, 0, sizeof(other));
	board.slot = board.gen = 1;
	board.self = &self;
	hw->board = &board;
	hw->fd.export = memfd(sizeof(struct dpa_export));
	hw->fd.door = memfd(4096);
	hw->export = mmap(NULL, sizeof(*hw->export), PROT_READ | PROT_WRITE, MAP_SHARED,
			  hw->fd.export, 0);
	cr_assert_neq(hw->export, MAP_FAILED);
	peer->hw = hw;
	peer->slot = peer->gen = 2;
	peer->pidfd = peer->sock = peer->sock2 = peer->wake_fd = peer->wait_fd = -1;
	peer->tx_fd = memfd(DPA_LANES * sizeof(struct dpa_lane_shm));
	cr_assert_eq(dpa_sock_init(hw), 0);
	alive = true;
	suspicions = ups = 0;
	listener = -1;
}

static void teardown(void)
{
	int *fds[] = {&peer->pidfd, &peer->sock,    &peer->sock2, &peer->wake_fd, &peer->wait_fd,
		      &peer->tx_fd, &hw->fd.export, &hw->fd.door, &listener};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	munmap(hw->export, sizeof(*hw->export));
	dpa_sock_fini(hw);
	free(hw);
	free(peer);
}

TestSuite(meeting, .init = setup, .fini = teardown);

/* Return whether the service thread has an event for our connection to the peer. */
static bool event_of_peer(void)
{
	struct epoll_event ev[4];
	int n = epoll_wait(hw->fd.epoll, ev, 4, 0);

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
	cr_assert_eq(suspicions, 0);
	cr_assert_not(event_of_peer(), "nothing has happened yet");
}

/* Check that its end is detected, that it is suspected, and that nothing prevents another try. */
static void noticed(void)
{
	cr_assert(event_of_peer(), "its end is an event");
	cr_expect_eq(peer->sock, -1, "the connection is forgotten");
	cr_expect_eq(suspicions, 1, "the board is asked later");
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
	/* a QP with work for it tries again until the board reports the end */
	dpa_sock_connect(peer);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(suspicions, 2, "no process listens there");
	alive = false;
	dpa_sock_connect(peer);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(suspicions, 3);
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
	/* it lives after all (it closed its device and opened it again): they meet */
	dpa_sock_connect(peer);
	cr_expect_geq(peer->sock, 0);
	cr_expect_eq(suspicions, 1);
}

/* The board reports that it is gone: there is no try, and waiting work gets the error. */
Test(meeting, gone_before)
{
	listener = listens();
	alive = false;
	dpa_sock_connect(peer);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(suspicions, 1);
}

/* The layout of sock.c's struct hello, and the descriptors that are sent with it. */
struct hello_bytes {
	uint64_t magic;
	uint32_t layout, slot, gen, answer;
	uint64_t probe;
};
#define FDS_MAX 8

static struct hello_bytes good_hello(void)
{
	return (struct hello_bytes){.magic = hw->export->magic,
				    .layout = DPA_BOARD_LAYOUT,
				    .slot = peer->slot,
				    .gen = peer->gen,
				    .answer = 1};
}

static void send_hello(int sock, const struct hello_bytes *h, size_t len, const int *fds, int n)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} u = {0};
	struct iovec iov = {.iov_base = (void *)h, .iov_len = len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n) {
		m.msg_control = u.buf;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, sizeof(int) * (size_t)n);
	}
	cr_assert_eq(sendmsg(sock, &m, 0), (ssize_t)len);
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Send the peer's answer; our connection ends when it was refused, with any descriptors. */
static void answered(const struct hello_bytes *h, size_t len, const int *fds, int n, bool good,
		     const char *what)
{
	int fd, before;

	listener = listens();
	connects();
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(fd, 0);
	before = open_fds();
	send_hello(fd, h, len, fds, n);
	cr_assert(event_of_peer(), "%s", what);
	cr_expect_eq(ups, good, "%s", what);
	cr_expect_eq(peer->sock >= 0, good, "%s", what);
	cr_expect_eq(peer->rx_map != NULL, good, "%s", what);
	if (!good)
		cr_expect_eq(open_fds(), before - 1, "%s: our connection only is closed", what);
	suspicions = 0;
	close(fd);
	close(listener);
	listener = -1;
}

static int plain_memfd(size_t bytes)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

/* Memory that could shrink, or is too short, is never mapped; nor is any other part kept. */
Test(meeting, hellos_that_are_refused)
{
	const size_t lanes = DPA_LANES * sizeof(struct dpa_lane_shm), table = sizeof(*hw->export);
	int bell = hw->fd.wake;
	int fds[FDS_MAX] = {memfd(lanes), hw->fd.export, hw->fd.door, bell, bell, bell, bell, bell};
	int bad_lanes = plain_memfd(lanes), short_lanes = memfd(lanes - 4096);
	int bad_table = plain_memfd(table), short_door = memfd(100);
	struct hello_bytes h = good_hello();

	answered(&h, sizeof(h), (int[]){bad_lanes, fds[1], fds[2], bell, bell}, 5, false,
		 "lanes that are not sealed");
	answered(&h, sizeof(h), (int[]){short_lanes, fds[1], fds[2], bell, bell}, 5, false,
		 "short lanes");
	answered(&h, sizeof(h), (int[]){fds[0], bad_table, fds[2], bell, bell}, 5, false,
		 "a table that is not sealed");
	answered(&h, sizeof(h), (int[]){fds[0], fds[1], short_door, bell, bell}, 5, false,
		 "a short door");
	answered(&h, sizeof(h), (int[]){bell, bell, bell, bell, bell}, 5, false,
		 "no memory at all");
	answered(&h, sizeof(h), fds, 4, false, "too few descriptors");
	answered(&h, sizeof(h), fds, 0, false, "no descriptor");
	answered(&h, sizeof(h), fds, 6, false, "one descriptor more than there is room for");
	answered(&h, sizeof(h), fds, 8, false, "too many descriptors");
	answered(&h, sizeof(h) - 4, fds, 5, false, "a short hello");
	answered(&h, 0, fds, 5, false, "descriptors on an empty message");
	answered(&h, 0, fds, 8, false, "too many descriptors on an empty message");
	h.magic++;
	answered(&h, sizeof(h), fds, 5, false, "no hello");
	h = good_hello();
	h.layout++;
	answered(&h, sizeof(h), fds, 5, false, "of another version");
	h = good_hello();
	h.slot = DPA_BOARD_PROCS;
	answered(&h, sizeof(h), fds, 5, false, "of no slot");
	h = good_hello();
	h.gen++;
	answered(&h, sizeof(h), fds, 5, false, "of another process");
	h = good_hello();
	answered(&h, sizeof(h), fds, 5, true, "a good one");
	close(bad_lanes);
	close(short_lanes);
	close(bad_table);
	close(short_door);
	close(fds[0]);
}

/* Take all descriptors that are not open now; release them. */
static void no_more_descriptors(bool on)
{
	static struct rlimit was;
	struct rlimit lim;
	int fd;

	if (!on) {
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
		return;
	}
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
	fd = dup(0);
	cr_assert_geq(fd, 0);
	close(fd);
	lim = (struct rlimit){(rlim_t)fd, was.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
	cr_assert_eq(dup(0), -1);
}

/* Descriptors run out: the reason is recorded, and the processes meet when some are free. */
Test(meeting, no_descriptor_to_connect_with)
{
	listener = listens();
	no_more_descriptors(true);
	dpa_sock_connect(peer);
	no_more_descriptors(false);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(atomic_load(&peer->no_fds), 1u);
	connects();
}

Test(meeting, no_descriptors_for_the_answers)
{
	int fds[] = {memfd(DPA_LANES * sizeof(struct dpa_lane_shm)),
		     hw->fd.export,
		     hw->fd.door,
		     hw->fd.wake,
		     hw->fd.wake,
		     hw->fd.wake};
	struct hello_bytes h = good_hello();
	int fd, before;

	listener = listens();
	connects();
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(fd, 0);
	send_hello(fd, &h, sizeof(h), fds, 6);
	before = open_fds();
	no_more_descriptors(true);
	cr_expect(event_of_peer());
	no_more_descriptors(false);
	cr_expect_eq(ups, 0);
	cr_expect_eq(peer->sock, -1);
	cr_expect_eq(open_fds(), before - 1);
	cr_expect_eq(atomic_load(&peer->no_fds), 1u);
	close(fd);
	close(fds[0]);
}

/* The peer has none: it sent no answer, and this process waited for as long as it lived. */
Test(meeting, refused_for_want_of_descriptors)
{
	struct hello_bytes h = good_hello();
	int fd;

	h.answer = 2;
	listener = listens();
	connects();
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(fd, 0);
	send_hello(fd, &h, sizeof(h), NULL, 0);
	cr_expect(event_of_peer());
	cr_expect_eq(ups, 0);
	cr_expect_eq(peer->sock, -1, "the next try is another connection");
	cr_expect_eq(atomic_load(&peer->no_fds), 1u);
	close(fd);
}

/* The peer connects and sends its hello while this process can open `free` more descriptors. */
static void is_refused(bool accepts, const char *what)
{
	int fds[] = {memfd(DPA_LANES * sizeof(struct dpa_lane_shm)),
		     hw->fd.export,
		     hw->fd.door,
		     hw->fd.wake,
		     hw->fd.wake,
		     hw->fd.wake};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), before;
	struct hello_bytes h = good_hello(), answer;
	struct epoll_event ev[4];
	struct sockaddr_un sa;
	socklen_t len = sizeof(sa);

	cr_assert_geq(fd, 0);
	cr_assert_eq(getsockname(hw->fd.listen, (struct sockaddr *)&sa, &len), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&sa, len), 0);
	h.answer = 0;
	send_hello(fd, &h, sizeof(h), fds, 6);
	before = open_fds();
	if (accepts)
		dpa_sock_accept(hw);
	no_more_descriptors(true);
	if (accepts) {
		int n = epoll_wait(hw->fd.epoll, ev, 4, 0);

		cr_assert_eq(n, 1, "%s", what);
		cr_assert_eq(ev[0].data.u64 & 7, (uint64_t)DPA_EP_NEW);
		dpa_sock_new(hw, (int)(ev[0].data.u64 >> 3));
	} else {
		dpa_sock_accept(hw);
	}
	no_more_descriptors(false);
	cr_expect_eq(open_fds(), before, "%s", what);
	cr_expect_eq(recv(fd, &answer, sizeof(answer), 0), (ssize_t)sizeof(answer), "%s: %m", what);
	cr_expect_eq(answer.magic, hw->export->magic, "%s", what);
	cr_expect_eq(answer.answer, 2u, "%s", what);
	cr_expect_eq(recv(fd, &answer, sizeof(answer), 0), 0, "%s: closed", what);
	cr_expect_eq(ups, 0);
	cr_expect_not(hw->listen_off, "%s", what);
	close(fd);
	close(fds[0]);
}

Test(meeting, refuses_for_want_of_descriptors)
{
	is_refused(false, "none to accept with");
	is_refused(true, "none for what comes with the hello");
	is_refused(false, "again");
}

/*
 * Another thread took the descriptor that is reserved for refusals, at the moment when it was
 * released: the peer stayed in the queue without an answer, and the reserve was lost.
 */
Test(meeting, nothing_left_to_refuse_with)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), spare;
	struct epoll_event ev[4];
	struct sockaddr_un sa;
	socklen_t len = sizeof(sa);

	cr_assert_geq(fd, 0);
	cr_assert_eq(getsockname(hw->fd.listen, (struct sockaddr *)&sa, &len), 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&sa, len), 0);
	spare = hw->fd.spare; /* still open, but owned by other code */
	hw->fd.spare = -1;
	for (uint32_t n = 1; n <= 2; n++) {
		no_more_descriptors(true);
		dpa_sock_accept(hw);
		no_more_descriptors(false);
		cr_expect(hw->listen_off);
		cr_expect_eq(atomic_load(&self.no_fds), n, "the board says so, each time");
		dpa_sock_listen_again(hw);
		cr_expect_not(hw->listen_off);
	}
	dpa_sock_accept(hw);
	cr_expect_geq(hw->fd.spare, 0, "one is kept again");
	cr_assert_eq(epoll_wait(hw->fd.epoll, ev, 4, 0), 0, "and the connection accepted");
	cr_expect_eq(atomic_load(&self.no_fds), 2u);
	close(spare);
	close(fd);
}

/* The same at the peer: each time counts as a refusal of the connection that waits in its queue. */
Test(meeting, the_peer_has_nothing_left_to_refuse_with)
{
	other.no_fds = 7; /* before */
	listener = listens();
	connects();
	dpa_sock_connect(peer);
	cr_expect_eq(atomic_load(&peer->no_fds), 0u);
	for (uint32_t n = 1; n <= 2; n++) {
		atomic_fetch_add(&other.no_fds, 1);
		dpa_sock_connect(peer);
		dpa_sock_connect(peer);
		cr_expect_eq(atomic_load(&peer->no_fds), n, "%u", atomic_load(&peer->no_fds));
		cr_expect_geq(peer->sock, 0, "it may be accepted still");
	}
	atomic_store(&peer->state, DPA_PEER_UP);
	atomic_fetch_add(&other.no_fds, 1);
	dpa_sock_connect(peer);
	cr_expect_eq(atomic_load(&peer->no_fds), 2u, "they have met");
}

/* Its answer is no hello, or that of another peer: it is no peer of ours. */
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
