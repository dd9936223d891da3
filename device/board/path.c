/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * path.c - directory of this user's board of this network namespace. The system directory is
 * preferred if an administrator created it. Another user must not be able to replace the file in
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "board_priv.h"

#ifdef DPA_BOARD_TEST_HOOKS
#define PLACE const char * /* tests set others */
#else
#define PLACE static const char *const
#endif

PLACE dpa_board_system_dir = "/run/dpa";
PLACE dpa_board_shm_dir = "/dev/shm";
/*
 * The last resort. These directories are open to all users, so the board gets a folder of its own
 * in them.
 */
PLACE dpa_board_tmp_dir[] = {"/tmp", "/var/tmp"};

/* Inode of the calling thread's network namespace; 0 if /proc does not show it. */
uint64_t dpa_board_netns(void)
{
	struct stat st;

	if (stat("/proc/thread-self/ns/net", &st) == 0 || stat("/proc/self/ns/net", &st) == 0)
		return st.st_ino;
	return 0;
}

/*
 * Returns the user id outside of the user namespace. So a process that entered such a namespace
 * (unshare -r, a wrapper's private mounts) uses the same board as before and does not count as
 * root.
 */
uint32_t dpa_board_uid(void)
{
	unsigned long in, out, n;
	uint32_t uid = geteuid();
	char map[1024];
	ssize_t len = -1;
	int used, fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		len = read(fd, map, sizeof(map) - 1);
		close(fd);
	}
	map[len > 0 ? len : 0] = '\0';
	for (char *p = map; sscanf(p, "%lu %lu %lu%n", &in, &out, &n, &used) == 3; p += used)
		if (uid >= in && uid - in < n)
			return (uint32_t)(out + uid - in);
	return uid;
}

/*
 * True if the effective user can create files in dir. In newer C libraries faccessat() is the
 * system call faccessat2, which older container runtimes refuse with EPERM. Then: access() if the
 * real user is the same, else the mode of dir.
 */
static bool dir_writable(const char *dir)
{
	struct stat st;
	mode_t need = S_IWOTH | S_IXOTH;

	if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) == 0)
		return true;
	if (errno != EPERM)
		return false;
	if (getuid() == geteuid() && getgid() == getegid())
		return access(dir, W_OK | X_OK) == 0;
	if (stat(dir, &st))
		return false;
	if (st.st_uid == geteuid())
		need <<= 6;
	else if (st.st_gid == getegid())
		need <<= 3;
	return (st.st_mode & need) == need;
}

/*
 * True if only this user and root can rename or remove this user's files in dir. The owner of
 * /dev/shm has no name in a user namespace: its sticky bit suffices.
 */
static bool dir_usable(const char *dir)
{
	struct stat st;

	if (dir[0] != '/' || stat(dir, &st) || !S_ISDIR(st.st_mode))
		return false;
	if (!(st.st_mode & S_ISVTX) &&
	    ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & (S_IWGRP | S_IWOTH))))
		return false;
	return dir_writable(dir);
}

/*
 * The user's own folder in a temporary directory. No other user may read or write in it, and none
 * can replace it while it exists: therefore it is never removed.
 */
static bool own_dir(const struct dpa_board *b, const char *tmp, char *dir, size_t len)
{
	struct stat st;
	int n = snprintf(dir, len, "%s/dpa-%u", tmp, b->uid);

	if (n < 0 || (size_t)n >= len || !dir_usable(tmp))
		return false;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return false;
	/* Check the owner, and do not follow a link, which could be another user's. */
	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IRWXG | S_IRWXO)) && dir_writable(dir);
}

int dpa_board_place(const struct dpa_board *b, char *path, size_t len)
{
	const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
	const char *dir = NULL;
	char own[64];
	int n;

	if (dir_usable(dpa_board_system_dir))
		dir = dpa_board_system_dir;
	else if (xdg && dir_usable(xdg))
		dir = xdg;
	else if (dir_usable(dpa_board_shm_dir))
		dir = dpa_board_shm_dir;
	for (size_t i = 0; !dir && i < sizeof(dpa_board_tmp_dir) / sizeof(*dpa_board_tmp_dir); i++)
		if (own_dir(b, dpa_board_tmp_dir[i], own, sizeof(own)))
			dir = own;
	if (!dir)
		return ENOENT;
	n = snprintf(path, len, "%s/dpa-%u-%llu", dir, b->uid, (unsigned long long)b->netns);
	return n < 0 || (size_t)n >= len ? ENAMETOOLONG : 0;
}

int dpa_board_default_path(char *path, size_t len)
{
	struct dpa_board b = {.uid = dpa_board_uid(), .netns = dpa_board_netns()};

	return dpa_board_place(&b, path, len);
}
