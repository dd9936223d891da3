/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * fds.c - the descriptors that are ours, and the hooks that redirect.c calls for each read, write,
 * ioctl and close of libibverbs. A table by descriptor number under one lock. The lock is a leaf
 * and is held over fork(), so that the child can use it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "dpa.h"
#include "redirect/fds.h"
#include "redirect/hooks.h"

struct fd_entry {
	const struct dpa_fd_ops *ops; /* NULL: not ours */
	void *owner;
};

static const struct dpa_fd_ops no_fd = {.kind = DPA_FD_NONE};

static pthread_mutex_t fd_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fd_entry *fd_table;
static int fd_table_len;

static void fd_lock_take(void)
{
	pthread_mutex_lock(&fd_lock);
}

static void fd_lock_drop(void)
{
	pthread_mutex_unlock(&fd_lock);
}

__attribute__((constructor)) static void fd_atfork(void)
{
	pthread_atfork(fd_lock_take, fd_lock_drop, fd_lock_drop);
}

static int fd_grow(int fd)
{
	int len = fd_table_len ? fd_table_len : 64;
	struct fd_entry *t;

	while (len <= fd)
		len *= 2;
	t = realloc(fd_table, (size_t)len * sizeof(*t));
	if (!t)
		return ENOMEM;
	memset(t + fd_table_len, 0, (size_t)(len - fd_table_len) * sizeof(*t));
	fd_table = t;
	fd_table_len = len;
	return 0;
}

int dpa_fd_add(int fd, const struct dpa_fd_ops *ops, void *owner)
{
	int ret = 0;

	fd_lock_take();
	if (fd >= fd_table_len)
		ret = fd_grow(fd);
	if (!ret)
		fd_table[fd] = (struct fd_entry){.ops = ops, .owner = owner};
	fd_lock_drop();
	return ret;
}

/* The caller releases the found entry by fd_put(). A removed entry belongs to the caller. */
static struct fd_entry fd_get(int fd, bool remove)
{
	struct fd_entry e = {.ops = &no_fd};

	fd_lock_take();
	if (fd >= 0 && fd < fd_table_len && fd_table[fd].ops) {
		e = fd_table[fd];
		if (remove)
			fd_table[fd] = (struct fd_entry){.ops = NULL};
		else if (e.ops->hold)
			e.ops->hold(e.owner);
	}
	fd_lock_drop();
	return e;
}

static void fd_put(void *arg)
{
	const struct fd_entry *e = arg;

	if (e->ops->put)
		e->ops->put(e->owner);
}

enum dpa_fd_kind dpa_fd_find(int fd, void **owner)
{
	struct fd_entry e = fd_get(fd, false);

	fd_put(&e);
	*owner = e.owner;
	return e.ops->kind;
}

struct cma_channel *dpa_fd_find_cm(int fd)
{
	struct fd_entry e = fd_get(fd, false);

	if (e.ops->kind == DPA_FD_CM)
		return e.owner;
	fd_put(&e);
	return NULL;
}

/*
 * For systems without kcmp(): a property of an open file is shared by its duplicates. The null
 * device ignores O_APPEND.
 */
static bool same_by_flags(int a, int b)
{
	int was = fcntl(a, F_GETFL), other = fcntl(b, F_GETFL);
	bool same = false;

	if (was < 0 || other < 0 || was != other || fcntl(a, F_SETFL, was ^ O_APPEND))
		return false;
	same = fcntl(b, F_GETFL) != other;
	(void)fcntl(a, F_SETFL, was);
	return same;
}

static bool is_same_file(int a, int b)
{
	long ret = syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b);

	return ret < 0 ? same_by_flags(a, b) : ret == 0;
}

struct dpa_context *dpa_fd_same_file(int fd)
{
	struct dpa_context *ctx = NULL;

	fd_lock_take();
	for (int i = 0; i < fd_table_len && !ctx; i++)
		if (fd_table[i].ops && fd_table[i].ops->kind == DPA_FD_CMD && is_same_file(i, fd))
			ctx = fd_table[i].owner;
	fd_lock_drop();
	return ctx;
}

void dpa_fd_remove(int fd)
{
	fd_get(fd, true);
}

bool dpa_hook_write(int fd, const void *buf, size_t n, ssize_t *ret)
{
	struct fd_entry e = fd_get(fd, false);

	pthread_cleanup_push(fd_put, &e);
	if (e.ops->write)
		*ret = e.ops->write(e.owner, buf, n);
	pthread_cleanup_pop(1);
	return e.ops->write;
}

bool dpa_hook_read(int fd, void *buf, size_t n, ssize_t *ret)
{
	struct fd_entry e = fd_get(fd, false);

	pthread_cleanup_push(fd_put, &e);
	if (e.ops->read)
		*ret = e.ops->read(e.owner, fd, buf, n);
	pthread_cleanup_pop(1);
	return e.ops->read;
}

bool dpa_hook_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	struct fd_entry e = fd_get(fd, false);

	if (e.ops->ioctl) {
		errno = e.ops->ioctl(e.owner, request, arg);
		*ret = errno ? -1 : 0;
	}
	fd_put(&e);
	return e.ops->ioctl;
}

/*
 * errno is unchanged: librdmacm closes what it opened after a call that failed, and returns that
 * call's errno.
 */
bool dpa_hook_close(int fd)
{
	struct fd_entry e = fd_get(fd, false);
	int err = errno;

	if (e.ops->closing)
		e.ops->closing(e.owner);
	fd_put(&e);
	e = fd_get(fd, true);
	if (e.ops->closed)
		e.ops->closed(e.owner);
	errno = err;
	return e.ops != &no_fd;
}

void dpa_hook_fstat(int fd, struct stat *st)
{
	struct fd_entry e = fd_get(fd, false);

	if (e.ops->stat)
		e.ops->stat(e.owner, st);
	fd_put(&e);
}
