/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * file.c - find or create the board's file.
 *
 * A process that creates, attaches, detaches or removes holds the admin lock: one byte of an open
 * file description lock, which the kernel drops at any death. After a process took it, the file
 * must still be the one at its path, because the last process out removes it while others may wait
 * for the lock. Creation writes `magic` last: a file without it was left by a creator that died,
 * and no process has ever mapped it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "board_priv.h"

/*
 * Each lap means that another process removed or replaced the file. A bound so that the loop ends
 * in every case.
 */
#define OPEN_LAPS 10000

int dpa_board_fail(const struct dpa_board_err *e, int rc, const char *fmt, ...)
{
	va_list ap;

	if (e && e->text && e->len && !e->text[0]) {
		va_start(ap, fmt);
		vsnprintf(e->text, e->len, fmt, ap);
		va_end(ap);
	}
	return rc;
}

static int admin_lock(int fd, int cmd, short type)
{
	struct flock fl = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = DPA_BOARD_LOCK_ADMIN,
		.l_len = 1,
	};

	while (fcntl(fd, cmd, &fl))
		if (errno != EINTR)
			return errno;
	return 0;
}

int dpa_board_file_lock(int fd)
{
	return admin_lock(fd, F_OFD_SETLKW, F_WRLCK);
}

int dpa_board_file_trylock(int fd)
{
	return admin_lock(fd, F_OFD_SETLK, F_WRLCK);
}

void dpa_board_file_unlock(int fd)
{
	admin_lock(fd, F_OFD_SETLK, F_UNLCK);
}

bool dpa_board_file_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(AT_FDCWD, path, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* ---------------------------------------------------------------- creation */

/* The fixed part exists from the start, so that no process needs to check for it. */
static int reserve_fixed(int fd)
{
	static const struct {
		off_t off, len;
	} part[] = {
		{0, 2 * DPA_BOARD_UNIT},
		{DPA_BOARD_OFF_LINKS, DPA_BOARD_UAR_PAGES * sizeof(struct dpa_board_link)},
		{DPA_BOARD_OFF_PCC, sizeof(struct dpa_board_pcc_port)},
	};
	struct rlimit lim;

	/* Growing past the limit would raise SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	    lim.rlim_cur < DPA_BOARD_FILE_LEN)
		return EFBIG;
	if (ftruncate(fd, 0) || ftruncate(fd, DPA_BOARD_FILE_LEN))
		return errno;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		while (fallocate(fd, 0, part[i].off, part[i].len))
			if (errno != EINTR)
				return errno == ENOSPC ? ENOMEM : errno;
	return 0;
}

/* Context: the admin lock; no process has mapped the file. */
static int initialise_file(int fd, const struct dpa_board_ident *id)
{
	struct dpa_board_shm *shm;
	int rc = reserve_fixed(fd);

	if (rc)
		return rc;
	DPA_BOARD_STEP("create-sized");
	shm = mmap(NULL, DPA_BOARD_FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		return errno;
	rc = dpa_board_lock_init(shm);
	if (!rc) {
		dpa_board_uar_init(shm, id->uar_pages);
		atomic_store_explicit(&shm->pcc.rp.word, DPA_BOARD_PCC_FRESH, memory_order_relaxed);
		DPA_BOARD_STEP("create-lists");
		memcpy((uint8_t *)&shm->head.ident + 8, (const uint8_t *)id + 8, sizeof(*id) - 8);
		DPA_BOARD_STEP("create-ident");
		__atomic_store_n(&shm->head.ident.magic, id->magic, __ATOMIC_RELEASE);
	}
	munmap(shm, DPA_BOARD_FILE_LEN);
	return rc;
}

static const char *open_hint(int rc)
{
	return rc == ENOMEM ? " (is the file system full?)" : rc == EFBIG ? " (see ulimit -f)" : "";
}

/* Context: the admin lock; the file is empty or unfinished. */
static int create_file(struct dpa_board *b, const struct dpa_board_cfg *cfg,
		       struct dpa_board_ident *id, const struct dpa_board_err *e)
{
	int rc = dpa_board_num_new(&b->board_num, &b->num_fd);

	if (rc)
		return dpa_board_fail(e, rc, "%s: no adapter number is free in this namespace: %s",
				      b->path, strerror(rc));
	rc = dpa_board_ident_fill(b, cfg, id, e);
	if (!rc)
		rc = initialise_file(b->fd, id);
	if (!rc)
		return 0;
	close(b->num_fd);
	b->num_fd = -1;
	return dpa_board_fail(e, rc, "%s: cannot create the adapter state: %s%s", b->path,
			      strerror(rc), open_hint(rc));
}

/* -------------------------------------------------------------------- open */

/* EAGAIN: another process removed the file meanwhile. */
static int open_locked(struct dpa_board *b, const struct dpa_board_err *e)
{
	int rc;

	b->fd = open(b->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (b->fd < 0) {
		rc = errno;
		if (rc == ELOOP || rc == EISDIR || rc == ENXIO)
			return dpa_board_fail(
				e, EPROTO, "%s: not an adapter state: not a regular file", b->path);
		return dpa_board_fail(e, rc, "%s: cannot open the adapter state: %s", b->path,
				      strerror(rc));
	}
	rc = dpa_board_file_lock(b->fd);
	if (rc)
		return dpa_board_fail(e, rc, "%s: cannot lock the adapter state: %s", b->path,
				      strerror(rc));
	return dpa_board_file_named(b->fd, b->path) ? 0 : EAGAIN;
}

/*
 * True if the file of dead processes must stay in use: it has connections whose peers must be
 * notified (cm.h), and its number is free. Context: the admin lock.
 */
static bool is_heritage(struct dpa_board *b, const struct dpa_board_cfg *cfg,
			const struct dpa_board_ident *id)
{
	const struct dpa_board_err none = {NULL, 0};
	struct dpa_board_shm *shm;
	bool left;

	if (dpa_board_ident_version(b, cfg->lib_version, id, &none))
		return false;
	shm = mmap(NULL, DPA_BOARD_FILE_LEN, PROT_READ, MAP_SHARED, b->fd, 0);
	if (shm == MAP_FAILED)
		return false;
	left = dpa_board_cm_left(shm);
	munmap(shm, DPA_BOARD_FILE_LEN);
	return left && !dpa_board_num_again(id->board_num, &b->num_fd);
}

/*
 * Context: the admin lock. Removes a valid board without attached processes (all were killed), so
 * that the next process starts clean; the caller then retries with a new file.
 */
static int settle_file(struct dpa_board *b, const struct dpa_board_cfg *cfg,
		       struct dpa_board_ident *id, const struct dpa_board_err *e)
{
	int rc = dpa_board_ident_read(b, b->fd, id, e);

	if (rc == ENOENT) {
		rc = create_file(b, cfg, id, e);
		if (rc)
			unlink(b->path);
		else
			dpa_board_sweep_stale(b);
		return rc;
	}
	if (!rc && id->layout == DPA_BOARD_LAYOUT)
		rc = dpa_board_ident_numbers(b, id, e);
	if (rc)
		return rc;
	if (!dpa_board_bytes_held(b->fd, 0, UINT16_MAX) && !is_heritage(b, cfg, id)) {
		DPA_BOARD_STEP("stale-unlink");
		return unlink(b->path) ? errno : EAGAIN;
	}
	return dpa_board_ident_version(b, cfg->lib_version, id, e);
}

int dpa_board_file_open(struct dpa_board *b, const struct dpa_board_cfg *cfg,
			struct dpa_board_ident *id, const struct dpa_board_err *e)
{
	for (int lap = 0; lap < OPEN_LAPS; lap++) {
		int rc = open_locked(b, e);

		if (!rc)
			rc = settle_file(b, cfg, id, e);
		if (!rc)
			return 0;
		if (b->fd >= 0)
			close(b->fd);
		b->fd = -1;
		if (rc != EAGAIN)
			return dpa_board_fail(e, rc, "%s: %s", b->path, strerror(rc));
	}
	return dpa_board_fail(e, EBUSY,
			      "%s: other processes create and remove the adapter state: try again",
			      b->path);
}
