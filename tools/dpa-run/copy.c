/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * copy.c - copy the device's folders in sysfs, as they are at this moment, to files.
 *
 * Runs in a child of dpa-run to which the preload shows them: so the contents of the files are made
 * in one place. Counters are left out: a copy would not change.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpa-run.h"

enum { TEXT_LEN = 8192, MAX_DEPTH = 16 };

/*
 * The file that was copied last in a folder: most files of a GID table are equal, and share an
 * inode.
 */
struct last {
	char path[PATH_MAX];
	char text[TEXT_LEN];
	ssize_t len; /* -1: none */
};

static void copy_link(const char *from, const char *to)
{
	char target[PATH_MAX];
	ssize_t n = readlink(from, target, sizeof(target) - 1);

	if (n < 0)
		return; /* removed meanwhile */
	target[n] = '\0';
	if (symlink(target, to))
		die(EXIT_FAILED, "%s: %s", to, strerror(errno));
}

/* Read a text. An unreadable one (an index without a GID) becomes an empty file. */
static ssize_t read_attr_text(const char *path, char text[TEXT_LEN])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_LEN);

	if (fd >= 0)
		close(fd);
	return n > 0 ? n : 0;
}

static void copy_file(const char *from, const char *to, struct last *last)
{
	char text[TEXT_LEN];
	ssize_t n = read_attr_text(from, text);
	int fd;

	if (n == last->len && memcmp(text, last->text, (size_t)n) == 0 && link(last->path, to) == 0)
		return;
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		die(EXIT_FAILED, "%s: %s", to, strerror(errno));
	close(fd);
	path_print(last->path, "%s", to);
	memcpy(last->text, text, (size_t)n);
	last->len = n;
}

static bool is_counters(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (strcmp(name, "/counters") == 0 || strcmp(name, "/hw_counters") == 0);
}

void copy_folder(const char *from, const char *to, int depth)
{
	struct last last = {.len = -1};
	char a[PATH_MAX], b[PATH_MAX];
	struct dirent *ent;
	struct stat st;
	DIR *dir;

	if (mkdir(to, 0755) && errno != EEXIST)
		die(EXIT_FAILED, "%s: %s", to, strerror(errno));
	dir = depth < MAX_DEPTH && !is_counters(from) ? opendir(from) : NULL;
	while (dir && (ent = readdir(dir))) {
		if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0)
			continue;
		path_print(a, "%s/%s", from, ent->d_name);
		path_print(b, "%s/%s", to, ent->d_name);
		if (lstat(a, &st))
			continue;
		if (S_ISLNK(st.st_mode))
			copy_link(a, b);
		else if (S_ISDIR(st.st_mode))
			copy_folder(a, b, depth + 1);
		else
			copy_file(a, b, &last);
	}
	if (dir)
		closedir(dir);
}
