/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * path.c - which paths concern us.
 *
 * Two roots of sysfs are looked at: /sys, and $SYSFS_PATH, which libibverbs reads instead when it
 * is set. Both keep what they have.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

static struct {
	_Atomic int state; /* 0: not yet looked */
	bool enabled;
	char lib[PATH_MAX];			    /* .../lib */
	char tree[PATH_MAX];			    /* .../share/dpa */
	char sysfs[PATH_MAX], sysfs_real[PATH_MAX]; /* $SYSFS_PATH, and without symlinks */
} self;

/* System calls of our own: the library functions lead back here. */
static bool exists(int dirfd, const char *path)
{
	return syscall(SYS_faccessat, dirfd, path, F_OK) == 0;
}

/* The path behind a descriptor, or the working directory. */
static bool fd_path(int fd, char *buf, size_t len)
{
	char link[40];
	long n;

	if (fd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/cwd");
	else
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, buf, len - 1);
	if (n <= 0 || buf[0] != '/')
		return false;
	buf[n] = '\0';
	return true;
}

/* Cuts n components off the end. */
static void cut(char *path, int n)
{
	while (n-- > 0) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return;
		*slash = '\0';
	}
}

/* The tree lies at lib/../share in a build, at lib/<machine>/../../share after an installation. */
static bool find_tree(void)
{
	static const char *const up[] = {"/../share/dpa", "/../../share/dpa"};
	char probe[PATH_MAX + 80];

	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
		if ((size_t)snprintf(self.tree, sizeof(self.tree), "%s%s", self.lib, up[i]) >=
		    sizeof(self.tree))
			return false;
		snprintf(probe, sizeof(probe), "%s/sysfs/class/infiniband_verbs/" PL_UVERBS,
			 self.tree);
		if (exists(AT_FDCWD, probe))
			return true;
	}
	return false;
}

static void read_sysfs_path(void)
{
	const char *env = getenv("SYSFS_PATH");
	long fd;

	if (!env || env[0] != '/' || strlen(env) >= sizeof(self.sysfs))
		return;
	strcpy(self.sysfs, env);
	for (size_t n = strlen(self.sysfs); n > 0 && self.sysfs[n - 1] == '/'; n--)
		self.sysfs[n - 1] = '\0';
	fd = syscall(SYS_openat, AT_FDCWD, self.sysfs, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fd_path((int)fd, self.sysfs_real, sizeof(self.sysfs_real)))
		self.sysfs_real[0] = '\0';
	syscall(SYS_close, (int)fd);
}

/*
 * Runs as a constructor, or before it if another library's constructor opens something. Then there
 * is one thread; were there two, both would write the same.
 */
__attribute__((constructor)) static void look_around(void)
{
	const char *off = getenv("DPA_DISABLE");
	int err = errno;
	Dl_info info;

	if (atomic_load_explicit(&self.state, memory_order_acquire))
		return;
	if (dladdr((void *)look_around, &info) && info.dli_fname &&
	    strlen(info.dli_fname) < sizeof(self.lib)) {
		strcpy(self.lib, info.dli_fname);
		cut(self.lib, 1);
		self.enabled = !(off && strcmp(off, "1") == 0) && find_tree();
	}
	read_sysfs_path();
	atomic_store_explicit(&self.state, 1, memory_order_release);
	errno = err;
}

bool pl_enabled(void)
{
	if (!atomic_load_explicit(&self.state, memory_order_acquire))
		look_around();
	return self.enabled;
}

const char *pl_libdir(void)
{
	return self.lib;
}

/* Behind slashes and "./". */
static const char *skip_slashes(const char *p)
{
	while (*p == '/' || (p[0] == '.' && p[1] == '/' && p[-1] == '/'))
		p++;
	return p;
}

/* p stands behind a component. What follows the next one if that is `name`, else NULL. */
static const char *step(const char *p, const char *name)
{
	size_t len = strlen(name);

	if (!p || *p != '/')
		return NULL;
	p = skip_slashes(p);
	if (strncmp(p, name, len) != 0 || (p[len] != '/' && p[len] != '\0'))
		return NULL;
	return p + len;
}

static bool at_end(const char *p)
{
	if (*p == '\0')
		return true;
	p = skip_slashes(p);
	return *p == '\0' || strcmp(p, ".") == 0;
}

/* What follows `root`, which has no slash at its end. */
static const char *below(const char *path, const char *root)
{
	size_t len = strlen(root);

	return len && strncmp(path, root, len) == 0 && path[len] == '/' ? path + len : NULL;
}

static enum pl_kind in_tree(struct pl_path *p, const char *folder, const char *rest)
{
	p->kind = PL_FILE;
	if ((size_t)snprintf(p->at, sizeof(p->at), "%s/%s%s", self.tree, folder, rest) >=
	    sizeof(p->at))
		p->kind = PL_PASS;
	return p->kind;
}

/* What the host has is the host's, with one more entry in it if `extra`; else it is ours. */
static enum pl_kind shared(struct pl_path *p, const char *path, const char *folder,
			   const char *extra)
{
	char ours[PATH_MAX + 32];

	if (!exists(AT_FDCWD, path))
		return in_tree(p, folder, "");
	if (!extra)
		return PL_PASS;
	snprintf(ours, sizeof(ours), "%s/%s", path, extra); /* SYSFS_PATH may be our own tree */
	p->extra = extra;
	return exists(AT_FDCWD, ours) ? PL_PASS : (p->kind = PL_MERGE);
}

/* Files below class/infiniband/dpa0 that differ from place to place and time to time. */
static bool is_live(const char *rest)
{
	const char *port;

	if (*rest != '/')
		return false;
	rest = skip_slashes(rest);
	if (strcmp(rest, "node_guid") == 0 || strcmp(rest, "sys_image_guid") == 0)
		return true;
	port = strncmp(rest, "ports/1/", 8) == 0 ? rest + 8 : "";
	return strncmp(port, "gids/", 5) == 0 || strncmp(port, "gid_attrs/types/", 16) == 0 ||
	       strncmp(port, "gid_attrs/ndevs/", 16) == 0;
}

static enum pl_kind in_class(struct pl_path *p, const char *path, const char *rest)
{
	static const struct {
		const char *name, *folder, *abi, *entry;
	} classes[] = {
		{"infiniband", "sysfs/class/infiniband", "", PL_DEVICE},
		{"infiniband_verbs", "sysfs/class/infiniband_verbs",
		 "sysfs/class/infiniband_verbs/abi_version", PL_UVERBS},
		{"infiniband_mad", "sysfs/class/infiniband_mad",
		 "sysfs/class/infiniband_mad/abi_version", NULL},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const char *in = step(rest, classes[i].name), *ours;

		if (!in)
			continue;
		if (at_end(in))
			return shared(p, path, classes[i].folder, classes[i].entry);
		ours = classes[i].entry ? step(in, classes[i].entry) : NULL;
		if (ours && is_live(ours) && i == 0) {
			snprintf(p->at, sizeof(p->at), "%s", skip_slashes(ours));
			return p->kind = PL_LIVE;
		}
		if (ours)
			return in_tree(p, classes[i].folder, in);
		if (step(in, "..")) /* of a folder that the host may lack */
			return shared(p, path, "sysfs/class", NULL);
		if (step(in, "abi_version") && at_end(step(in, "abi_version")))
			return shared(p, path, classes[i].abi, NULL);
		return PL_PASS;
	}
	return PL_PASS;
}

static enum pl_kind in_dev(struct pl_path *p, const char *path, const char *rest)
{
	const char *in = step(rest, "infiniband");
	const char *node = step(in, PL_UVERBS);

	if (!in)
		return PL_PASS;
	if (at_end(in))
		return shared(p, path, "dev/infiniband", PL_UVERBS);
	if (step(in, ".."))
		return shared(p, path, "dev", NULL);
	return node && *node == '\0' ? (p->kind = PL_NODE) : PL_PASS;
}

static enum pl_kind absolute(struct pl_path *p, const char *path)
{
	const char *rest = step(path, "dev");

	if (rest)
		return in_dev(p, path, rest);
	rest = step(path, "sys");
	if (!rest)
		rest = below(path, self.sysfs);
	if (!rest)
		rest = below(path, self.sysfs_real);
	rest = step(rest, "class");
	return rest ? in_class(p, path, rest) : PL_PASS;
}

/* Could a relative path lead to an entry of ours that a merged directory has? */
static bool names_ours(const char *path)
{
	static const char *const names[] = {PL_DEVICE, PL_UVERBS};

	while (path[0] == '.' && path[1] == '/')
		path += 2;
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(names[i]);

		if (strncmp(path, names[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
			return true;
	}
	return false;
}

PL_OUT_OF_LINE enum pl_kind pl_lookup(int dirfd, const char *path, struct pl_path *p)
{
	char joined[PATH_MAX];
	int err = errno;
	size_t n;

	p->kind = PL_PASS;
	if (!path || !pl_enabled())
		return PL_PASS;
	if (path[0] == '/') {
		(void)absolute(p, path);
	} else if (names_ours(path) && fd_path(dirfd, joined, sizeof(joined))) {
		n = strlen(joined);
		if ((size_t)snprintf(joined + n, sizeof(joined) - n, "/%s", path) <
		    sizeof(joined) - n)
			(void)absolute(p, joined);
	}
	errno = err;
	return p->kind;
}
