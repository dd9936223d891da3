/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* cm_port_file.c - the file whose bytes are locked for ports (cm_port.c): to open, share, remove. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "cm_port.h"
#include "board_priv.h"

/* read-locked while the file is open; checked before the file is removed */
#define OPENED (1ll << 40)

/*
 * The process that removes the file holds its lock for three system calls, and may lose the
 * processor meanwhile. The wait is bounded, because any user may hold that lock.
 */
#define TRIES	 20000
#define RETRY_NS 50000 /* minimum; with timer slack some 100 us */

/* 0, or the errno; EAGAIN: another open file holds the lock that marks the file as open. */
static int lock_opened(int fd, short mode)
{
	struct flock l = {.l_type = mode, .l_whence = SEEK_SET, .l_start = OPENED, .l_len = 1};

	if (fcntl(fd, F_OFD_SETLK, &l) == 0)
		return 0;
	return errno == EACCES ? EAGAIN : errno;
}

int dpa_cm_ports_path(char *path, size_t len)
{
	int n = snprintf(path, len, "/dev/shm/dpa-cm-%llu", (unsigned long long)dpa_board_netns());

	return n < 0 || (size_t)n >= len ? ENAMETOOLONG : 0;
}

/*
 * Creates the file with its final mode: it gets its name when it is complete, so that another user
 * never opens it with the mode that the umask leaves. EAGAIN: another process was faster.
 */
static int make_ports_file(const char *path, int *fd)
{
	char dir[sizeof(((struct dpa_cm_ports *)0)->path)], link[40];
	char *slash;
	int rc;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash)
		return EINVAL;
	slash[slash == dir] = '\0';
	*fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (*fd < 0)
		return errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", *fd);
	if (!fchmod(*fd, 0666) && !linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
		return 0;
	rc = errno;
	close(*fd);
	*fd = -1;
	return rc == EEXIST ? EAGAIN : rc;
}

/* The same on a file system without O_TMPFILE, or without /proc. */
static int make_named_file(const char *path, int *fd)
{
	int rc;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, 0666);
	if (*fd < 0)
		return errno == EEXIST ? EAGAIN : errno;
	if (!fchmod(*fd, 0666))
		return 0;
	rc = errno;
	(void)unlink(path);
	close(*fd);
	return rc;
}

/*
 * Opens the file; creates it if it is missing. An existing file is opened without O_CREAT, which
 * the kernel forbids for another user's file in a sticky folder (fs.protected_regular).
 */
static int open_file(const char *path, int *fd)
{
	struct stat st;
	int rc;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0 && errno == ENOENT) {
		rc = make_ports_file(path, fd);
		return !rc || rc == EAGAIN ? rc : make_named_file(path, fd);
	}
	if (*fd < 0)
		return errno == ELOOP ? EPROTO : errno;
	if (fstat(*fd, &st) || !S_ISREG(st.st_mode)) {
		close(*fd);
		return EPROTO;
	}
	return 0;
}

/*
 * One try. EAGAIN: another process makes or removes the file at this moment, or removed it since it
 * was opened.
 */
static int try_open_ports(const char *path, int *fd)
{
	int rc = open_file(path, fd);

	if (rc)
		return rc;
	rc = lock_opened(*fd, F_RDLCK);
	if (!rc && !dpa_board_file_named(*fd, path))
		rc = EAGAIN;
	if (rc)
		close(*fd);
	return rc;
}

int dpa_cm_ports_open(const char *path, struct dpa_cm_ports **ports)
{
	const struct timespec nap = {.tv_nsec = RETRY_NS};
	struct dpa_cm_ports *p = calloc(1, sizeof(*p));
	int rc, tries = TRIES;

	if (!p)
		return ENOMEM;
	if (strlen(path) >= sizeof(p->path)) {
		free(p);
		return ENAMETOOLONG;
	}
	strcpy(p->path, path);
	while ((rc = try_open_ports(path, &p->fd)) == EAGAIN && tries-- > 0)
		nanosleep(&nap, NULL);
	if (rc)
		free(p);
	else
		*ports = p;
	return rc;
}

/* Uses a new open file, so that a lock that a forked child still holds counts as another's. */
static void remove_unused(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	if (lock_opened(fd, F_WRLCK) == 0 && dpa_board_file_named(fd, path))
		unlink(path); /* a file of another user in a sticky folder: EPERM, and it stays */
	close(fd);
}

void dpa_cm_ports_close(struct dpa_cm_ports *p)
{
	close(p->fd);
	remove_unused(p->path);
	dpa_cm_ports_forget(p);
	free(p);
}

#define SWEEP_MAX 256 /* files checked at most: creating a board stays cheap */

void dpa_cm_ports_sweep(const char *dir)
{
	char path[512];
	struct dirent *e;
	int n = 0;
	DIR *d = opendir(dir);

	while (d && n < SWEEP_MAX && (e = readdir(d))) {
		const char *number = e->d_name + 7;

		if (strncmp(e->d_name, "dpa-cm-", 7) || !*number ||
		    strspn(number, "0123456789") != strlen(number))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		remove_unused(path);
		n++;
	}
	if (d)
		closedir(d);
}
