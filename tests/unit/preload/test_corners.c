/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_corners.c - corners of the calls that the preload answers: spellings, errno, threads. */
#include "preloaded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

TestSuite(preload_corners, .init = need_preload);

static int count(const char *path, const char *name)
{
	DIR *dir = opendir(path);
	struct dirent *ent;
	int n = 0;

	cr_assert_not_null(dir, "%s: %s", path, strerror(errno));
	while ((ent = readdir(dir)))
		n += strcmp(ent->d_name, name) == 0;
	closedir(dir);
	return n;
}

/* Regression: a folder above ours was recognised by one spelling only. */
Test(preload_corners, a_folder_above_by_any_spelling)
{
	static const char *const spellings[] = {"/sys/class",	 "/sys/class/",	 "/sys//class",
						"//sys/class",	 "/sys/./class", "/./sys/class/.",
						"/sys/class/./", "/sys/class//."};

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		cr_expect_eq(count(spellings[i], "infiniband"), 1, "%s", spellings[i]);
	cr_expect_eq(count("/sys/bus//pci/./devices", "d9a0:00:00.0"), 1);
	cr_expect_eq(count("/proc/.", "infiniband"), 0);
}

/* Regression: a slash behind the name of a file was ignored. */
Test(preload_corners, a_file_is_no_folder)
{
	static const char *const files[] = {IBDEV "/node_type", IBDEV "/node_guid", NODE};
	static const char *const ends[] = {"/", "/.", "/..", "//", "/../node_type"};
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		for (size_t j = 0; j < sizeof(ends) / sizeof(ends[0]); j++) {
			snprintf(path, sizeof(path), "%s%s", files[i], ends[j]);
			errno = 0;
			cr_expect_eq(open(path, O_RDONLY), -1, "%s", path);
			cr_expect_eq(errno, ENOTDIR, "%s: %s", path, strerror(errno));
			cr_expect_eq(stat(path, &st), -1, "%s", path);
			cr_expect_eq(lstat(path, &st), -1, "%s", path);
			cr_expect_eq(errno, ENOTDIR, "%s: %s", path, strerror(errno));
		}
	cr_expect_eq(lstat(IBDEV "/", &st), 0);
	cr_expect(S_ISDIR(st.st_mode), "a slash behind a link follows it");
	cr_expect_eq(stat(IBDEV "/nothing/..", &st), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(stat(IBDEV "/ports/..", &st), 0);
}

/* A library call that succeeds does not set errno to 0. */
Test(preload_corners, errno_of_a_listing)
{
	DIR *dir = opendir("/sys/class");
	struct dirent *ent;

	cr_assert_not_null(dir);
	do {
		errno = EXDEV;
		ent = readdir(dir);
		cr_expect_eq(errno, EXDEV, "%s", ent ? ent->d_name : "the end");
	} while (ent);
	closedir(dir);
}

Test(preload_corners, glob_without_our_words)
{
	static const char *const patterns[] = {"/sys/class/inf*and", "/sys/cl*/inf*d/dpa[0]",
					       "/sys/class/*/dpa0"};
	glob_t g;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		cr_assert_eq(glob(patterns[i], 0, NULL, &g), 0, "%s", patterns[i]);
		cr_expect_eq(g.gl_pathc, 1u, "%s", patterns[i]);
		globfree(&g);
	}
}

/* The descriptor is read-only, as that of a file of sysfs is. */
Test(preload_corners, files_made_on_opening_are_read_only)
{
	char c = 'x';
	int fd;

	fd = open(IBDEV "/node_guid", O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_expect_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cr_expect_eq(write(fd, &c, 1), -1);
	cr_expect_eq(errno, EBADF);
	cr_expect_eq(read(fd, &c, 1), 1);
	close(fd);
	fd = open(IBDEV "/node_guid", O_RDONLY | O_NONBLOCK);
	cr_assert_geq(fd, 0);
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect_eq(fcntl(fd, F_GETFD), 0);
	close(fd);
	fd = open(IBDEV "/node_guid", O_PATH);
	cr_assert_geq(fd, 0);
	cr_expect_eq(read(fd, &c, 1), -1);
	cr_expect_eq(errno, EBADF);
	close(fd);
}

Test(preload_corners, further_calls)
{
	char text[64] = "", list[64];
	struct statvfs fs;
	FILE *f;
	int fd;

	cr_expect_eq(statvfs(IBDEV, &fs), 0, "%s", strerror(errno));
	cr_expect_eq(statvfs(IBDEV "/nothing", &fs), -1);
	cr_expect_eq(errno, ENOENT);
	fd = open(IBDEV "/node_guid", O_RDONLY);
	cr_expect_eq(fstatvfs(fd, &fs), 0);
	close(fd);
	cr_expect_eq(statvfs("/proc", &fs), 0);
	f = fopen("/dev/null", "r");
	cr_assert_not_null(f);
	f = freopen(IBDEV "/node_type", "re", f);
	cr_assert_not_null(f, "%s", strerror(errno));
	cr_expect_not_null(fgets(text, sizeof(text), f));
	cr_expect_str_eq(text, "1: CA\n");
	f = freopen("/proc/self/comm", "r", f);
	cr_assert_not_null(f);
	cr_expect_not_null(fgets(text, sizeof(text), f));
	cr_expect_null(freopen(IBDEV "/nothing", "r", f));
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(creat(IBDEV "/node_type", 0600), -1);
	cr_expect_eq(errno, EACCES);
	cr_expect_eq(getxattr(IBDEV "/node_type", "user.x", text, sizeof(text)), -1);
	cr_expect_eq(errno, ENODATA);
	cr_expect_eq(getxattr(IBDEV "/nothing", "user.x", text, sizeof(text)), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(listxattr(IBDEV "/nothing", list, sizeof(list)), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(lgetxattr(IBDEV "/node_guid/x", "user.x", text, sizeof(text)), -1);
	cr_expect_eq(errno, ENOTDIR);
}

/* A link's truncated text is the beginning of the text that a longer buffer gets. */
Test(preload_corners, a_short_buffer_for_proc)
{
	char whole[PATH_MAX] = "", part[16] = "", link[64];
	int fd = open(IBDEV "/ports/1", O_RDONLY | O_DIRECTORY);

	cr_assert_geq(fd, 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	cr_assert_gt(readlink(link, whole, sizeof(whole) - 1), 20);
	cr_expect_str_eq(whole, PCI "/infiniband/dpa0/ports/1");
	for (size_t n = 1; n < sizeof(part); n++) {
		memset(part, 0, sizeof(part));
		cr_expect_eq(readlink(link, part, n), (ssize_t)n);
		cr_expect_eq(memcmp(part, whole, n), 0, "%.*s", (int)n, part);
		cr_expect_eq(part[n], '\0');
	}
	close(fd);
}

static void *elsewhere(void *arg)
{
	char buf[PATH_MAX] = "";

	(void)arg;
	if (unshare(CLONE_FS))
		return "unshare";
	if (chdir(IBDEV "/ports"))
		return "chdir";
	if (access("1/state", R_OK))
		return "access";
	if (!getcwd(buf, sizeof(buf)) || strcmp(buf, PCI "/infiniband/dpa0/ports") != 0)
		return "getcwd";
	return access("../node_guid", R_OK) ? "access" : NULL;
}

static void *own_descriptors(void *arg)
{
	char text[64] = "";
	int fd, file;

	(void)arg;
	if (unshare(CLONE_FILES))
		return "unshare";
	fd = open(IBDEV, O_RDONLY | O_DIRECTORY);
	file = openat(fd, "ports/1/gids/0", O_RDONLY);
	if (fd < 0 || file < 0)
		return "open";
	return read(file, text, sizeof(text)) == 40 ? NULL : "read";
}

/* Regression: for a thread with its own descriptors those of the first thread were used. */
Test(preload_corners, a_thread_with_other_descriptors)
{
	pthread_t t;
	void *what;

	cr_assert_eq(pthread_create(&t, NULL, own_descriptors, NULL), 0);
	cr_assert_eq(pthread_join(t, &what), 0);
	cr_expect_null(what, "%s", (const char *)what);
}

/* Regression: a thread with its own working directory was given that of the first thread. */
Test(preload_corners, a_thread_in_another_folder)
{
	char buf[PATH_MAX];
	pthread_t t;
	void *what;

	cr_assert_eq(chdir("/proc"), 0);
	cr_assert_eq(pthread_create(&t, NULL, elsewhere, NULL), 0);
	cr_assert_eq(pthread_join(t, &what), 0);
	cr_expect_null(what, "%s", (const char *)what);
	cr_expect_str_eq(getcwd(buf, sizeof(buf)), "/proc");
	cr_expect_eq(access("1/state", R_OK), -1);
}
