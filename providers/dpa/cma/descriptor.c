/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * descriptor.c - descriptors of event channels, and what they show to poll().
 *
 * The descriptor is an epoll set: it reports POLLIN only, and each event is an edge. It holds two
 * descriptors that it shares with 31 other channels. `hold` is the timer of idle channels
 * (engine.c). `ready` is always readable and is watched while an event is queued. With the kernel's
 * rdma_cm beside ours it also holds the kernel's descriptor (kernel.h). More channels than that do
 * not share them: Linux limits the paths from one file through epoll sets (50 through four sets,
 * 500 through two), and EPOLL_CTL_ADD of a channel in the program's set would fail with EINVAL.
 *
 * A timerfd that has expired shows the same. To let it expire takes an interrupt, 20 us in a VM; to
 * watch `ready` takes 2 us.
 *
 * The system calls are direct: librspreload handles descriptors as rsockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "cma/cma.h"

#define SHARE 32

/* All are under cma.lock. The last one is kept, because most channels live for a short time. */
struct cma_shown {
	struct cma_shown *next;
	int ready, hold;
	uint32_t channels;
	bool inherited; /* the parent's: not for new channels */
};
static struct cma_shown *all_shown;

static void close_shown(const struct cma_shown *s)
{
	if (s->ready >= 0)
		syscall(SYS_close, s->ready);
	if (s->hold >= 0)
		syscall(SYS_close, s->hold);
}

static struct cma_shown *make_shown(void)
{
	struct cma_shown *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ready = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	s->hold = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->ready >= 0 && s->hold >= 0) {
		s->next = all_shown;
		all_shown = s;
		return s;
	}
	close_shown(s);
	free(s);
	errno = EMFILE;
	return NULL;
}

static struct cma_shown *take_shown(void)
{
	struct cma_shown *s = all_shown;

	while (s && (s->inherited || s->channels == SHARE))
		s = s->next;
	if (!s)
		s = make_shown();
	if (s)
		s->channels++;
	return s;
}

static void put_shown(struct cma_shown *s)
{
	struct cma_shown **p = &all_shown;

	if (--s->channels || (all_shown == s && !s->next && !s->inherited))
		return;
	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	close_shown(s);
	free(s);
}

void cma_fd_forget(void)
{
	struct cma_shown **p = &all_shown, *s;

	while ((s = *p)) {
		s->inherited = true;
		if (s->channels) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		close_shown(s);
		free(s);
	}
}

static int add_to_epoll(int ep, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events};

	return syscall(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, fd, &e) ? errno : 0;
}

/* `ready` is added without events: a program's epoll set that cannot take it fails at once. */
static int fill_epoll(int ep, const struct cma_shown *s, int kernel)
{
	int err = add_to_epoll(ep, s->hold, EPOLLIN);

	if (!err)
		err = add_to_epoll(ep, s->ready, 0);
	return err || kernel < 0 ? err : add_to_epoll(ep, kernel, EPOLLIN);
}

int cma_fd_open(int flags, int kernel, struct cma_channel *ch)
{
	int ep = (int)syscall(SYS_epoll_create1, flags & O_CLOEXEC ? EPOLL_CLOEXEC : 0), err;

	if (ep < 0)
		return errno;
	cma_lock();
	ch->shown = take_shown();
	err = ch->shown ? fill_epoll(ep, ch->shown, kernel) : errno;
	cma_unlock();
	if (!err && flags & O_NONBLOCK && fcntl(ep, F_SETFL, O_NONBLOCK))
		err = errno;
	if (!err) {
		ch->fd = ep;
		return 0;
	}
	cma_fd_leave(ch);
	syscall(SYS_close, ep);
	return err;
}

void cma_fd_leave(struct cma_channel *ch)
{
	if (!ch->shown)
		return;
	cma_lock();
	put_shown(ch->shown);
	cma_unlock();
}

static void watch_ready(const struct cma_channel *ch, uint32_t events)
{
	struct epoll_event e = {.events = events};

	(void)syscall(SYS_epoll_ctl, ch->fd, EPOLL_CTL_MOD, ch->shown->ready, &e);
}

/*
 * An entry that is in the set's ready list causes no edge. It leaves the list when the set is read
 * while `ready` is not watched. No step needs memory, so none can fail.
 */
void cma_fd_show(const struct cma_channel *ch, bool on)
{
	struct epoll_event unused[3];
	int before = errno;

	watch_ready(ch, 0);
	if (on) {
		(void)syscall(SYS_epoll_pwait, ch->fd, unused, 3, 0, NULL, 0);
		watch_ready(ch, EPOLLIN);
	}
	errno = before;
}

void cma_fd_hold_all(const struct itimerspec *its)
{
	for (const struct cma_shown *s = all_shown; s; s = s->next)
		timerfd_settime(s->hold, 0, its, NULL);
}

int cma_fd_hold(const struct cma_channel *ch)
{
	return ch->shown->hold;
}

bool cma_fd_expired(const struct cma_channel *ch)
{
	uint64_t expirations;

	return read(ch->shown->hold, &expirations, sizeof(expirations)) > 0;
}
