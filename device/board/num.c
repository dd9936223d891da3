/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * num.c - the board number, 1..254: the high bits of the board's QPNs.
 *
 * Two users in one network namespace share its addresses. A board claims a number by binding an
 * abstract unix socket with that name. The namespace grants a name once and takes it back at any
 * death. One process of the board holds the socket; when it ends, another one takes it over at its
 * next reap. The first try is random, so that a board created in between gets another number.
 *
 * Other boards connect to that socket to pass on packets for this board that reached them
 * (device/link/udp/forward.c). This file only listens.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "util/sys.h"
#include "board_priv.h"

#define NUMS 254u

static socklen_t address_of_num(struct sockaddr_un *sa, uint32_t num)
{
	int n;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "dpa-board-%u", num);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int bind_num(int fd, uint32_t num)
{
	struct sockaddr_un sa;
	socklen_t len = address_of_num(&sa, num);

	return dpa_sys_bind(fd, (struct sockaddr *)&sa, len) || dpa_sys_listen(fd, 64) ? errno : 0;
}

static int num_socket(void)
{
	return dpa_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* EAGAIN (a full backlog) and other errors decide nothing. */
bool dpa_board_num_there(uint32_t num)
{
	struct sockaddr_un sa;
	socklen_t len = address_of_num(&sa, num);
	int fd = num_socket();
	bool there = fd < 0 || !dpa_sys_connect(fd, (struct sockaddr *)&sa, len) ||
		     errno != ECONNREFUSED;

	if (fd >= 0)
		dpa_sys_close(fd);
	return there;
}

int dpa_board_num_again(uint32_t num, int *fd)
{
	int rc;

	*fd = num_socket();
	if (*fd < 0)
		return errno;
	rc = bind_num(*fd, num);
	if (rc) {
		dpa_sys_close(*fd);
		*fd = -1;
	}
	return rc;
}

int dpa_board_num_new(uint32_t *num, int *fd)
{
	uint32_t first = 0;
	int rc = EADDRINUSE;

	*fd = num_socket();
	if (*fd < 0)
		return errno;
	if (getrandom(&first, sizeof(first), 0) != sizeof(first))
		first = 0;
	for (uint32_t i = 0; i < NUMS && rc == EADDRINUSE; i++) {
		*num = (first % NUMS + i) % NUMS + 1;
		rc = bind_num(*fd, *num);
	}
	if (rc) {
		dpa_sys_close(*fd);
		*fd = -1;
	}
	return rc == EADDRINUSE ? ENOSPC : rc;
}

/* False if the application closed the socket (closefrom) or reused its number. */
static bool have_num(const struct dpa_board *b)
{
	struct stat st;

	return b->num_fd >= 0 && dpa_sys_fstat(b->num_fd, &st) == 0 && st.st_dev == b->num_dev &&
	       st.st_ino == b->num_ino;
}

/* Context: the thread that set b->num_busy. */
static void claim_num_socket(struct dpa_board *b)
{
	struct stat st = {0};
	int fd = b->num_fd;

	if (have_num(b))
		return;
	/* b->num_ino is 0 if the board's creator has just bound it */
	if (fd < 0 || b->num_ino) {
		fd = num_socket();
		if (fd >= 0 && bind_num(fd, b->board_num)) {
			dpa_sys_close(fd);
			fd = -1;
		}
	}
	if (fd >= 0)
		dpa_sys_fstat(fd, &st);
	b->num_dev = st.st_dev;
	b->num_ino = st.st_ino;
	b->num_fd = fd;
}

/* False: another thread of this process claims or forks. */
static bool begin_num(struct dpa_board *b, int *cancel)
{
	/* a thread that forks waits for this one */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	if (!atomic_flag_test_and_set_explicit(&b->num_busy, memory_order_acquire))
		return true;
	pthread_setcancelstate(*cancel, NULL);
	return false;
}

static void end_num(struct dpa_board *b, int cancel)
{
	atomic_flag_clear_explicit(&b->num_busy, memory_order_release);
	pthread_setcancelstate(cancel, NULL);
}

/* Not under the board's lock: this thread may be stopped in any of these system calls. */
void dpa_board_num_claim(struct dpa_board *b)
{
	int cancel;

	if (!begin_num(b, &cancel))
		return;
	claim_num_socket(b);
	end_num(b, cancel);
}

void dpa_board_num_hold(struct dpa_board *b)
{
	while (atomic_flag_test_and_set_explicit(&b->num_busy, memory_order_acquire))
		sched_yield();
}

void dpa_board_num_release(struct dpa_board *b)
{
	atomic_flag_clear_explicit(&b->num_busy, memory_order_release);
}

int dpa_board_num_fd(struct dpa_board *b, bool may_claim, uint64_t *ino)
{
	int fd = -1, cancel;

	if (!begin_num(b, &cancel))
		return -2;
	if (may_claim)
		claim_num_socket(b);
	if (have_num(b)) {
		fd = b->num_fd;
		*ino = b->num_ino;
	}
	end_num(b, cancel);
	return fd;
}
