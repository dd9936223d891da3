/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which descriptors are ours, and the hooks that redirect.c calls for each read, write, ioctl and
 * close of libibverbs. A table by descriptor number under one lock; the lock is a leaf and is
 * held over fork(), so that the child can use it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/ib_user_verbs.h>
#include "dpa.h"
#include "cma/cma.h"
#include "redirect/hooks.h"
#include "redirect/ucma.h"

struct fd_entry {
	enum dpa_fd_kind kind;
	void *owner;
};

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

int dpa_fd_add(int fd, enum dpa_fd_kind kind, void *owner)
{
	int ret = 0;

	fd_lock_take();
	if (fd >= fd_table_len)
		ret = fd_grow(fd);
	if (!ret)
		fd_table[fd] = (struct fd_entry){.kind = kind, .owner = owner};
	fd_lock_drop();
	return ret;
}

/* The caller puts the found entry by fd_put(). A removed entry belongs to the caller. */
static struct fd_entry fd_get(int fd, bool remove)
{
	struct fd_entry e = {.kind = DPA_FD_NONE};

	fd_lock_take();
	if (fd >= 0 && fd < fd_table_len) {
		e = fd_table[fd];
		if (e.kind == DPA_FD_CM && !remove)
			cma_channel_hold(e.owner);
		if (remove)
			fd_table[fd] = (struct fd_entry){.kind = DPA_FD_NONE};
	}
	fd_lock_drop();
	return e;
}

/* Another thread may close the channel while the call is under way. Runs at a cancellation, too. */
static void fd_put(void *arg)
{
	const struct fd_entry *e = arg;

	if (e->kind == DPA_FD_CM)
		cma_channel_put(e->owner);
}

enum dpa_fd_kind dpa_fd_find(int fd, void **owner)
{
	struct fd_entry e = fd_get(fd, false);

	fd_put(&e);
	*owner = e.owner;
	return e.kind;
}

struct cma_channel *dpa_fd_find_cm(int fd)
{
	struct fd_entry e = fd_get(fd, false);

	return e.kind == DPA_FD_CM ? e.owner : NULL;
}

struct dpa_context *dpa_fd_same_file(int fd)
{
	struct dpa_context *ctx = NULL;

	fd_lock_take();
	for (int i = 0; i < fd_table_len && !ctx; i++)
		if (fd_table[i].kind == DPA_FD_CMD && dpa_same_file(i, fd))
			ctx = fd_table[i].owner;
	fd_lock_drop();
	return ctx;
}

void dpa_fd_remove(int fd)
{
	fd_get(fd, true);
}

/* The answer to CREATE_COMP_CHANNEL must lie at `response` when write() returns. */
static ssize_t cmd_write(struct dpa_context *ctx, const void *buf, size_t n)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_comp_channel cmd;
	} req;
	struct ib_uverbs_create_comp_channel_resp resp;

	if (n < sizeof(req.hdr)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&req, buf, n < sizeof(req) ? n : sizeof(req));
	if (req.hdr.command != IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (n != sizeof(req) || req.hdr.out_words * 4 < sizeof(resp)) {
		errno = EINVAL;
		return -1;
	}
	int fd = dpa_channel_create(ctx);

	if (fd < 0)
		return -1;
	resp.fd = (uint32_t)fd;
	memcpy((void *)(uintptr_t)req.cmd.response, &resp, sizeof(resp));
	return (ssize_t)n;
}

static ssize_t cm_write(struct fd_entry *e, const void *buf, size_t n)
{
	ssize_t ret;

	pthread_cleanup_push(fd_put, e);
	ret = dpa_ucma_write(e->owner, buf, n);
	pthread_cleanup_pop(1);
	return ret;
}

bool dpa_hook_write(int fd, const void *buf, size_t n, ssize_t *ret)
{
	struct fd_entry e = fd_get(fd, false);

	if (e.kind == DPA_FD_CM)
		*ret = cm_write(&e, buf, n);
	else if (e.kind == DPA_FD_CMD)
		*ret = cmd_write(e.owner, buf, n);
	else
		return false;
	return true;
}

bool dpa_hook_read(int fd, void *buf, size_t n, ssize_t *ret)
{
	struct fd_entry e = fd_get(fd, false);

	switch (e.kind) {
	case DPA_FD_CHANNEL:
		return dpa_channel_read(e.owner, fd, buf, n, ret);
	case DPA_FD_ASYNC:
		return dpa_async_read(e.owner, fd, buf, n, ret);
	case DPA_FD_CM: /* as the kernel's: it has no read */
		fd_put(&e);
		errno = EINVAL;
		*ret = -1;
		return true;
	case DPA_FD_CMD:
	case DPA_FD_NONE:
		break;
	}
	return false;
}

bool dpa_hook_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	struct fd_entry e = fd_get(fd, false);

	fd_put(&e);
	if (e.kind != DPA_FD_CMD)
		return false;
	errno = dpa_ioctl(e.owner, request, arg);
	*ret = errno ? -1 : 0;
	return true;
}

/* errno stays: librdmacm closes what it opened after a call that failed, and returns its errno. */
bool dpa_hook_close(int fd)
{
	struct fd_entry e = fd_get(fd, false);
	int err = errno;

	if (e.kind == DPA_FD_CM)
		cma_channel_let_in(e.owner);
	fd_put(&e);
	e = fd_get(fd, true);
	if (e.kind == DPA_FD_CHANNEL)
		dpa_channel_destroy(e.owner);
	else if (e.kind == DPA_FD_CM)
		cma_channel_close(e.owner);
	errno = err;
	return e.kind != DPA_FD_NONE;
}

bool dpa_hook_open(const char *path, int flags, int *fd)
{
	return dpa_ucma_open(path, flags, fd);
}

void dpa_hook_fstat(int fd, struct stat *st)
{
	struct fd_entry e = fd_get(fd, false);

	if (e.kind == DPA_FD_CM)
		dpa_ucma_stat(e.owner, st);
	fd_put(&e);
}
