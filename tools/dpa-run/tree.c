/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* tree.c - folders on a private tmpfs that show the host's devices and dpa0. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "dpa-run.h"

static void make_tree_dir(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		die(EXIT_FAILED, "%s: %s", path, strerror(errno));
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		die(EXIT_FAILED, "%s: %s", path, strerror(errno));
	close(fd);
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool tree_has_devices(const char *sysfs)
{
	char path[PATH_MAX];
	struct dirent *ent;
	bool found = false;
	DIR *dir;

	path_print(path, "%s/class/infiniband_verbs", sysfs);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (ent = readdir(dir)))
		found = strncmp(ent->d_name, "uverbs", 6) == 0 &&
			strncmp(ent->d_name, UVERBS, strlen(UVERBS)) != 0;
	closedir(dir);
	return found;
}

/* Make links in `to` to every entry of `from`, unless the name is taken. */
static void link_entries(const char *to, const char *from)
{
	char target[PATH_MAX], link[PATH_MAX];
	struct dirent *ent;
	DIR *dir = opendir(from);

	if (!dir)
		return;
	while ((ent = readdir(dir))) {
		if (is_dots(ent->d_name))
			continue;
		path_print(target, "%s/%s", from, ent->d_name);
		path_print(link, "%s/%s", to, ent->d_name);
		if (symlink(target, link) && errno != EEXIST)
			die(EXIT_FAILED, "%s: %s", link, strerror(errno));
	}
	closedir(dir);
}

void tree_link_sysfs(const char *to, const char *sysfs, const struct place *pl, unsigned sfs)
{
	static const char *const classes[] = {"infiniband", "infiniband_verbs", "infiniband_mad",
					      "misc"};
	char path[PATH_MAX], from[PATH_MAX];

	make_tree_dir(to);
	path_print(path, "%s/class", to);
	make_tree_dir(path);
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		path_print(path, "%s/class/%s", to, classes[i]);
		make_tree_dir(path);
		path_print(from, "%s/class/%s", sysfs, classes[i]);
		link_entries(path, from);
		/* A tmpfs lists the latest entry first, and programs take the first device. */
		for (unsigned n = sfs; n > 0; n--) {
			path_print(from, "%s/sf/%u/class/%s", pl->tree, n, classes[i]);
			link_entries(path, from);
		}
		path_print(from, "%s/sysfs/class/%s", pl->tree, classes[i]);
		link_entries(path, from);
	}
}

/* Bind one entry. 0 or errno. */
static int bind_entry(const char *to, const char *from)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(from, &st))
		return 0; /* removed meanwhile */
	if (S_ISLNK(st.st_mode)) {
		n = readlink(from, target, sizeof(target) - 1);
		if (n < 0)
			return 0;
		target[n] = '\0';
		return symlink(target, to) ? errno : 0;
	}
	if (S_ISDIR(st.st_mode))
		make_tree_dir(to);
	else
		make_file(to);
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL) ? errno : 0;
}

static bool is_in_names(const char *const *list, const char *name)
{
	for (; list && *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

int tree_bind_dir(const char *to, const char *from, const char *const *except)
{
	char a[PATH_MAX], b[PATH_MAX];
	struct dirent *ent;
	DIR *dir = opendir(from);
	int err = 0;

	make_tree_dir(to);
	while (dir && !err && (ent = readdir(dir))) {
		if (is_dots(ent->d_name) || is_in_names(except, ent->d_name))
			continue;
		path_print(a, "%s/%s", to, ent->d_name);
		path_print(b, "%s/%s", from, ent->d_name);
		err = bind_entry(a, b);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* Make a real node where that is allowed, else a link to /dev/null. */
static void make_device_node(const char *node)
{
	(void)unlink(node);
	if (mknod(node, S_IFCHR | 0666, makedev(1, 3)) == 0 && chmod(node, 0666) == 0 &&
	    access(node, R_OK | W_OK) == 0) {
		int fd = open(node, O_RDWR | O_CLOEXEC);

		if (fd >= 0) {
			close(fd);
			return;
		}
	}
	(void)unlink(node);
	make_file(node);
	if (mount("/dev/null", node, NULL, MS_BIND, NULL))
		die(EXIT_FAILED, "/dev/null: %s: a character device is needed", strerror(errno));
}

void uverbs_name(unsigned function, char *buf, size_t len)
{
	snprintf(buf, len, function ? UVERBS "_sf%u" : UVERBS, function);
}

void tree_make_nodes(const char *node_dir, unsigned sfs)
{
	char node[PATH_MAX], name[32];

	make_tree_dir(node_dir);
	for (unsigned n = 0; n <= sfs; n++) {
		uverbs_name(n, name, sizeof(name));
		path_print(node, "%s/%s", node_dir, name);
		make_device_node(node);
	}
}
