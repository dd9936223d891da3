/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.c - the kernel side of event channels: detection, descriptors, events. This file makes
 * system calls directly where another library may have replaced the function: the preload answers
 * for these paths, and librspreload handles descriptors as rsockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "cma/kernel.h"
#include "dpa.h"
#include "discovery/match.h"

#define NODE	   "/dev/infiniband/rdma_cm"
#define CLASS	   "/sys/class/infiniband"
#define MISC_MAJOR 10 /* of the kernel's node; a link to the null device is not one */

static int sys_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
}

/* ------------------------------------------------------------ detection */

struct entry { /* linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static bool is_real(const char *name)
{
	return name[0] != '.' && dpa_function_of(name) < 0;
}

/* The listing can contain our devices: dpa-run --no-preload mounts them there. */
static bool has_real_device(void)
{
	_Alignas(struct entry) char buf[4096];
	int fd = sys_open(CLASS, O_RDONLY | O_DIRECTORY);
	bool found = false;
	long n;

	if (fd < 0)
		return false;
	while (!found && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n && !found;) {
			const struct entry *e = (const struct entry *)(buf + at);

			found = is_real(e->name);
			at += e->len;
		}
	syscall(SYS_close, fd);
	return found;
}

static int open_node(struct stat *st)
{
	int fd = sys_open(NODE, O_RDWR | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) || !S_ISCHR(st->st_mode) || major(st->st_rdev) != MISC_MAJOR ||
	    !has_real_device()) {
		syscall(SYS_close, fd);
		return -1;
	}
	return fd;
}

static ssize_t sys_write(int fd, const void *buf, size_t n)
{
	return syscall(SYS_write, fd, buf, n);
}

static int sys_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

atomic_bool cma_kernel_seen;
struct cma_kernel_ops cma_kernel_ops = {open_node, sys_write, sys_close};

/* --------------------------------------------------------------------- fork */

/*
 * All open ones. The lock is held from the open of a descriptor until it is in the list, and from
 * its removal until it is closed. A copy in a child would keep the parent's ids in the kernel.
 */
static struct cma_kernel *kernels;
static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;

void cma_kernel_before_fork(void)
{
	pthread_mutex_lock(&kernels_lock);
}

void cma_kernel_after_fork(void)
{
	pthread_mutex_unlock(&kernels_lock);
}

void cma_kernel_forget(void)
{
	struct cma_kernel *k;

	for (struct cma_channel *ch = cma.channels; ch; ch = ch->next)
		ch->kernel = NULL;
	while ((k = kernels)) {
		kernels = k->next;
		cma_kernel_ops.close(k->fd);
		free(k);
	}
	pthread_mutex_unlock(&kernels_lock);
	for (uint32_t i = 0; i < cma.num_ids; i++)
		if (cma.ids[i] && cma.ids[i]->side == CMA_SIDE_BOTH)
			cma.ids[i]->side = CMA_SIDE_DPA;
}

/* ----------------------------------------------------------------- channels */

/*
 * A synchronous accept opens a channel for each connection. After a detection that found no kernel
 * side the next one runs a second later.
 */
#define ABSENT_MS 1000

/* Context: kernels_lock. */
static struct cma_kernel *open_kernel(void)
{
	struct stat st = {0};
	int fd = cma_kernel_ops.open(&st);
	struct cma_kernel *k;

	if (fd < 0)
		return NULL;
	k = calloc(1, sizeof(*k));
	if (!k) {
		cma_kernel_ops.close(fd);
		return NULL;
	}
	k->fd = fd;
	k->dev = st.st_rdev;
	k->next = kernels;
	kernels = k;
	return k;
}

struct cma_kernel *cma_kernel_open(void)
{
	static _Atomic uint64_t absent_until; /* ms; written by any thread */
	struct cma_kernel *k;
	int err = errno;

	if (cma_now() < absent_until)
		return NULL;
	cma_lock();
	cma_watch_fork();
	cma_unlock();
	pthread_mutex_lock(&kernels_lock);
	k = open_kernel();
	pthread_mutex_unlock(&kernels_lock);
	errno = err;
	if (k)
		atomic_store_explicit(&cma_kernel_seen, true, memory_order_relaxed);
	else
		absent_until = cma_now() + ABSENT_MS;
	return k;
}

void cma_kernel_close(struct cma_kernel *k)
{
	struct cma_kernel **p = &kernels;

	if (!k)
		return;
	pthread_mutex_lock(&kernels_lock);
	while (*p != k)
		p = &(*p)->next;
	*p = k->next;
	cma_kernel_ops.close(k->fd);
	pthread_mutex_unlock(&kernels_lock);
	free(k);
}

int cma_kernel_write(struct cma_kernel *k, uint32_t cmd, const void *body, uint16_t in,
		     uint16_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t body[512];
	} m = {.hdr = {.cmd = cmd, .in = in, .out = out}};
	int err = 0, before = errno;

	if (in > sizeof(m.body))
		return EINVAL;
	memcpy(m.body, body, in);
	if (cma_kernel_ops.write(k->fd, &m, sizeof(m.hdr) + in) < 0)
		err = errno;
	errno = before;
	return err;
}

/* ------------------------------------------------------------------- events */

/*
 * The kernel accepts no command of this process any more: EACCES after setuid(). Its descriptor
 * stays readable, so a thread that waits for it would never sleep. dpa0's events continue.
 */
static void lose_kernel(const struct cma_channel *ch, int err)
{
	static bool told;
	char text[128];

	ch->kernel->lost = true;
	(void)syscall(SYS_epoll_ctl, ch->fd, EPOLL_CTL_DEL, ch->kernel->fd, NULL);
	if (told)
		return;
	told = true;
	snprintf(text, sizeof(text), "rdma_cm: the kernel's events are lost: GET_EVENT: error %d",
		 err);
	dpa_log_line(DPA_LOG_ERR, text);
}

static bool kernel_event(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	struct rdma_ucm_get_event cmd = {.response = (uintptr_t)resp};
	int err = 0;

	while (!ch->kernel->lost && !err) {
		memset(resp, 0, sizeof(*resp));
		err = cma_kernel_write(ch->kernel, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd),
				       sizeof(*resp));
		if (!err && cma_kernel_event(ch, resp))
			return true;
	}
	if (err && err != EAGAIN && err != EINTR && err != ENOMEM)
		lose_kernel(ch, err);
	return false;
}

/* The sides take turns: a busy side does not delay the other one. */
bool cma_kernel_next(struct cma_channel *ch, struct rdma_ucm_event_resp *resp)
{
	struct cma_kernel *k = ch->kernel;

	k->turn = !k->turn;
	if (k->turn)
		return cma_deliver(ch, resp) || kernel_event(ch, resp);
	return kernel_event(ch, resp) || cma_deliver(ch, resp);
}

/*
 * True if the kernel's GET_EVENT would restart after a signal: every handler has SA_RESTART.
 * Handlers of faults do not count, since a thread that waits has none.
 */
bool cma_restarts(void)
{
	for (int s = 1; s < NSIG; s++) {
		struct sigaction sa;

		if (s == SIGSEGV || s == SIGBUS || s == SIGFPE || s == SIGILL)
			continue;
		if (sigaction(s, NULL, &sa) || sa.sa_handler == SIG_DFL || sa.sa_handler == SIG_IGN)
			continue;
		if (!(sa.sa_flags & SA_RESTART))
			return false;
	}
	return true;
}

/*
 * In a forked child the epoll descriptor also shows the parent's kernel events. A second wait there
 * polls every 10 ms instead.
 */
int cma_kernel_wait(struct cma_channel *ch, bool again)
{
	const struct timespec a_while = {.tv_nsec = 10000000};
	const bool child = !ch->kernel && again;
	struct pollfd p = {.fd = child ? cma_fd_hold(ch) : ch->fd, .events = POLLIN};

	if (fcntl(ch->fd, F_GETFL) & O_NONBLOCK)
		return cma_fd_expired(ch) ? 0 : EAGAIN;
	if (ppoll(&p, 1, child ? &a_while : NULL, NULL) < 0)
		return errno == EINTR && cma_restarts() ? 0 : errno;
	(void)cma_fd_expired(ch);
	return 0;
}
