/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * board.c - attach to the board and leave it.
 *
 * Opening uses two descriptors. The first one takes the admin lock and stays open, for queries. The
 * file is mapped and the lock byte of the process is taken through the second one, which is closed
 * at once (see proc.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "util/sys.h"
#include "board_priv.h"

#define EXIT_TRIES 200 /* times 1 ms */

#ifdef DPA_BOARD_TEST_HOOKS
void (*dpa_board_step_hook)(const char *name);
#endif

static void set_ident(struct dpa_board *b, const struct dpa_board_ident *id)
{
	b->board_num = id->board_num;
	b->uar_pages = id->uar_pages;
	for (size_t i = 0; i < sizeof(id->id); i++) {
		b->id[2 * i] = "0123456789abcdef"[id->id[i] >> 4];
		b->id[2 * i + 1] = "0123456789abcdef"[id->id[i] & 15];
	}
}

static int new_board(const struct dpa_board_cfg *cfg, struct dpa_board **board,
		     const struct dpa_board_err *e)
{
	struct dpa_board *b = calloc(1, sizeof(*b));
	int rc = 0;

	if (e->text && e->len)
		e->text[0] = '\0';
	if (!b)
		return dpa_board_fail(e, ENOMEM, "out of memory");
	b->fd = b->num_fd = b->lock_fd = -1;
	b->pid = getpid();
	b->map_len = DPA_BOARD_FILE_LEN;
	b->uid = dpa_board_uid();
	b->netns = dpa_board_netns();
	if (!cfg->path)
		rc = dpa_board_place(b, b->path, sizeof(b->path));
	else if (snprintf(b->path, sizeof(b->path), "%s", cfg->path) >= (int)sizeof(b->path))
		rc = ENAMETOOLONG;
	if (rc) {
		free(b);
		return dpa_board_fail(e, rc, "no place for the adapter state: %s",
				      rc == ENOENT ? "neither $XDG_RUNTIME_DIR, /dev/shm, /tmp "
						     "nor /var/tmp is a directory for it"
						   : strerror(rc));
	}
	*board = b;
	return 0;
}

/*
 * Records device and inode of the file, to distinguish fd from another file with the same number.
 */
static int note_file(struct dpa_board *b)
{
	struct stat st;

	if (fstat(b->fd, &st))
		return errno;
	b->dev = st.st_dev;
	b->ino = st.st_ino;
	return 0;
}

/*
 * Opens a second open file description of the file at b->path. Under the admin lock the path still
 * names the file of b->fd.
 */
static int second_open(struct dpa_board *b, int *fd)
{
	*fd = open(b->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return errno;
	if (dpa_board_file_named(*fd, b->path))
		return 0;
	close(*fd);
	return ESTALE;
}

static int map_board_file(struct dpa_board *b, int fd, int prot)
{
	void *p = mmap(NULL, b->map_len, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return errno;
	b->shm = p;
	return 0;
}

/* Context: the board's lock and the admin lock. */
static int take_proc_slot(struct dpa_board *b, const struct dpa_board_cfg *cfg, int map_fd)
{
	int rc = dpa_board_lock(b);

	if (rc)
		return rc;
	b->shm->head.left_at = 0;
	dpa_board_reap_locked(b, false);
	rc = dpa_board_proc_take(b, map_fd, cfg);
	if (rc == ENOSPC && dpa_board_reap_locked(b, true))
		rc = dpa_board_proc_take(b, map_fd, cfg);
	dpa_board_unlock(b);
	return rc;
}

/*
 * The mapping keeps the open file description, and with it the lock byte, alive. On a file system
 * that maps through another description the descriptor must stay open instead. Then closefrom() can
 * drop the lock, and children that inherit the descriptor keep it.
 */
static int keep_byte(struct dpa_board *b)
{
	int rc;

	if (dpa_board_proc_held(b, b->slot))
		return 0;
	rc = second_open(b, &b->lock_fd);
	if (!rc && !dpa_board_byte_take(b->lock_fd, b->slot))
		rc = EBUSY;
	return rc;
}

/* Maps the file and takes a process index. Context: the admin lock. */
static int attach_proc(struct dpa_board *b, const struct dpa_board_cfg *cfg)
{
	int map_fd;
	int rc = second_open(b, &map_fd);

	if (rc)
		return rc;
	rc = map_board_file(b, map_fd, PROT_READ | PROT_WRITE);
	if (!rc && dpa_sys_madvise(b->shm, b->map_len, MADV_DONTFORK))
		rc = errno;
	if (!rc)
		rc = take_proc_slot(b, cfg, map_fd);
	close(map_fd);
	return rc ? rc : keep_byte(b);
}

/*
 * Drops the lock byte. The last process removes the file, unless the file has connections whose
 * peers the next process must notify. Context: the admin lock of fd. No other process removes or
 * replaces the file meanwhile; a process that waits for the lock finds that the name is gone
 * (file.c).
 */
static void detach_proc(struct dpa_board *b, int fd)
{
	bool others = fd < 0 ||
		      (b->shm ? dpa_board_others(b, fd) : dpa_board_bytes_held(fd, 0, UINT16_MAX));

	bool heirs = b->shm && !others && dpa_board_cm_left(b->shm);

	if (b->shm)
		munmap(b->shm, b->map_len);
	dpa_board_fd_close(b->lock_fd, b->dev, b->ino);
	DPA_BOARD_STEP("detached");
	if (!others && !heirs && dpa_board_file_named(fd, b->path))
		unlink(b->path);
}

/* Frees everything but the mapping. */
static void free_board(struct dpa_board *b)
{
	dpa_board_fd_close(b->num_fd, b->num_dev, b->num_ino);
	dpa_board_fd_close(b->fd, b->dev, b->ino);
	free(b);
}

int dpa_board_open(const struct dpa_board_cfg *cfg, struct dpa_board **board, char *err,
		   size_t errlen)
{
	struct dpa_board_err e = {err, errlen};
	struct dpa_board_ident id;
	struct dpa_board *b;
	int rc = new_board(cfg, &b, &e);

	if (rc)
		return rc;
	rc = dpa_board_file_open(b, cfg, &id, &e);
	if (rc) {
		free(b);
		return rc;
	}
	set_ident(b, &id);
	dpa_board_num_claim(b);
	rc = note_file(b);
	if (!rc)
		rc = attach_proc(b, cfg);
	if (!rc) {
		dpa_board_file_unlock(b->fd);
		*board = b;
		return 0;
	}
	if (rc == ENOSPC)
		dpa_board_fail(&e, rc, "%s: all %u process slots of the adapter instance are taken",
			       b->path, DPA_BOARD_PROCS);
	dpa_board_fail(&e, rc, "%s: cannot attach to the adapter state: %s%s", b->path,
		       strerror(rc), rc == ENOMEM ? " (is the file system full?)" : "");
	detach_proc(b, b->fd);
	free_board(b);
	return rc;
}

void dpa_board_close(struct dpa_board *b)
{
	int fd;

	if (b->pid != getpid()) {
		dpa_board_abandon(b);
		return;
	}
	fd = dpa_board_fd(b);
	if (fd >= 0 && dpa_board_file_lock(fd))
		fd = -1;
	/* If the lock cannot be taken, the next reaper frees what this process owns. */
	if (dpa_board_lock(b) == 0) {
		dpa_board_free_own(b);
		dpa_board_proc_leave(b);
		dpa_board_unlock(b);
	}
	detach_proc(b, fd);
	free_board(b);
}

/*
 * Two processes may end at the same time. The first one to check must not leave the file to the
 * second, nor the second to the first, whose lock byte may stay locked until its memory is gone. So
 * each process publishes `leaving` before it checks, and one process checks at a time.
 */
void dpa_board_exit(struct dpa_board *b)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	int fd, rc = EAGAIN;

	if (b->pid != getpid())
		return;
	atomic_store_explicit(&b->self->leaving, b->gen, memory_order_release);
	DPA_BOARD_STEP("leaving");
	fd = dpa_board_fd(b);
	/* Bounded: a stopped holder of the lock must not delay the exit for long. */
	for (int i = 0; fd >= 0 && rc && i < EXIT_TRIES; i++)
		if ((rc = dpa_board_file_trylock(fd)))
			nanosleep(&ms, NULL);
	if (rc)
		return;
	if (!dpa_board_others(b, fd) && !dpa_board_cm_left(b->shm) &&
	    dpa_board_file_named(fd, b->path))
		unlink(b->path);
	dpa_board_file_unlock(fd);
}

void dpa_board_abandon(struct dpa_board *b)
{
	dpa_board_fd_close(b->lock_fd, b->dev, b->ino);
	free_board(b);
}

int dpa_board_peek(const struct dpa_board_cfg *cfg, struct dpa_board **board, char *err,
		   size_t errlen)
{
	struct dpa_board_err e = {err, errlen};
	struct dpa_board_ident id;
	struct dpa_board *b;
	int rc = new_board(cfg, &b, &e);

	if (rc)
		return rc;
	b->peek = true;
	b->fd = open(b->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	rc = b->fd < 0 ? (errno == ELOOP ? EPROTO : errno) : note_file(b);
	if (!rc)
		rc = dpa_board_ident_read(b, b->fd, &id, &e);
	if (!rc)
		rc = dpa_board_ident_version(b, cfg->lib_version, &id, &e);
	if (!rc)
		rc = dpa_board_ident_numbers(b, &id, &e);
	if (!rc)
		rc = map_board_file(b, b->fd, PROT_READ);
	if (!rc) {
		set_ident(b, &id);
		*board = b;
		return 0;
	}
	dpa_board_fail(&e, rc,
		       rc == ENOENT ? "%s: no adapter state" : "%s: cannot read the adapter state",
		       b->path);
	free_board(b);
	return rc;
}

void dpa_board_unpeek(struct dpa_board *b)
{
	munmap(b->shm, b->map_len);
	free_board(b);
}
