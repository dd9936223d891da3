/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stale.c - boards of network namespaces that ended.
 *
 * When all processes of a board were killed, its file stays, and the next process of that namespace
 * replaces it. If the namespace ended too, there is no next process: so a process that creates a
 * board removes such files of its own user from the folder. Locks are visible across namespaces: a
 * board with attached processes stays, and so does a file that does not look like a board. Files of
 * rdma_cm's ports are handled likewise.
 *
 * A file with connections whose peers must be notified (cm.h) waits for the next process of its
 * namespace, which may be about to start. There is no way to find out whether that namespace ended:
 * the file stays for LEFT_S seconds after it was first found. So does a file of another layout, whose
 * connections this process cannot read: the next process there may be of that version, too.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "board_priv.h"
#include <dpa_cm_port.h>

#define SWEEP_MAX 256 /* files checked at most: opening a board stays cheap */
#define LEFT_S	  300

static bool ours_and_dead(int fd)
{
	uint64_t magic = 0;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return false;
	if (st.st_size && (pread(fd, &magic, sizeof(magic), 0) != sizeof(magic) ||
			   (magic != 0 && magic != DPA_BOARD_MAGIC)))
		return false;
	return !dpa_board_bytes_held(fd, 0, UINT16_MAX);
}

/* Reads the identity, which is the same in all layouts. False: the file is no complete board. */
static bool read_ident(int fd, struct dpa_board_ident *id)
{
	return pread(fd, id, sizeof(*id), 0) == sizeof(*id) && id->magic == DPA_BOARD_MAGIC &&
	       id->check == dpa_board_ident_check(id);
}

/* True if an id in the file has a peer to notify, or may have one. */
static bool has_peers(int fd, const struct dpa_board_ident *id)
{
	struct dpa_board_shm *shm;
	struct stat st;
	bool left;

	if (id->layout != DPA_BOARD_LAYOUT)
		return true;
	if (fstat(fd, &st) || st.st_size != DPA_BOARD_FILE_LEN)
		return false;
	shm = mmap(NULL, DPA_BOARD_FILE_LEN, PROT_READ, MAP_SHARED, fd, 0);
	if (shm == MAP_FAILED)
		return true;
	left = dpa_board_cm_left(shm);
	munmap(shm, DPA_BOARD_FILE_LEN);
	return left;
}

/*
 * True if the next process of its namespace has peers to notify, and may still come. Sets left_at if
 * the file was not found before. Context: the admin lock; no process is attached.
 */
static bool waits_for_next(int fd)
{
	const off_t at = offsetof(struct dpa_board_shm, head.left_at);
	struct dpa_board_ident id;
	struct timespec now;
	uint64_t s, since;

	if (!read_ident(fd, &id) || pread(fd, &since, sizeof(since), at) != sizeof(since))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	s = (uint64_t)now.tv_sec;
	/* it is in the future: the clock was set */
	if (!since || since > s) {
		since = s;
		if (pwrite(fd, &since, sizeof(since), at) != sizeof(since))
			return false;
	}
	return s < since + LEFT_S && has_peers(fd, &id);
}

/* Needs its admin lock at once: if another process waits for or holds it, the file is not stale. */
static void remove_stale(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (dpa_board_file_trylock(fd) == 0 && ours_and_dead(fd) &&
	    dpa_board_file_named(fd, path) && !waits_for_next(fd))
		unlink(path);
	close(fd);
}

/* True if the name has the form of a default name of this user. */
static bool our_name(const struct dpa_board *b, const char *name)
{
	char prefix[32];
	int n = snprintf(prefix, sizeof(prefix), "dpa-%u-", b->uid);

	return strncmp(name, prefix, (size_t)n) == 0 && name[n] &&
	       strspn(name + n, "0123456789") == strlen(name + n);
}

void dpa_board_sweep_stale(const struct dpa_board *b)
{
	const char *base = strrchr(b->path, '/');
	char dir[sizeof(b->path)];
	char other[sizeof(dir) + 256];
	struct dirent *e;
	int n = 0;
	DIR *d;

	if (!base || !our_name(b, base + 1))
		return; /* not the default place */
	snprintf(dir, sizeof(dir), "%.*s", (int)(base - b->path), b->path);
	d = opendir(dir);
	while (d && n < SWEEP_MAX && (e = readdir(d))) {
		if (!our_name(b, e->d_name) || strcmp(e->d_name, base + 1) == 0)
			continue;
		snprintf(other, sizeof(other), "%s/%s", dir, e->d_name);
		remove_stale(other);
		n++;
	}
	if (d)
		closedir(d);
	dpa_cm_ports_sweep("/dev/shm");
}
