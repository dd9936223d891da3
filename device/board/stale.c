/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stale.c - boards of network namespaces that are gone.
 *
 * When everybody on a board was killed its file stays, and the next process of that namespace
 * replaces it. If the namespace ended too, nobody comes: so who makes a board in the same folder
 * removes such files of its own user. Locks are seen across namespaces: a board that somebody is on
 * is left alone, and so is what does not look like a board. Files of rdma_cm's ports go likewise.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "board_priv.h"
#include <dpa_cm_port.h>

#define SWEEP_MAX 256 /* files looked at: opening a board stays cheap whatever lies about */

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

/* Under its admin lock, which nobody may be waiting for us to give up: else it is not stale. */
static void remove_stale(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (dpa_board_file_trylock(fd) == 0 && ours_and_dead(fd) && dpa_board_file_named(fd, path))
		unlink(path);
	close(fd);
}

/* Has the name the form of a default one of this user? */
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
