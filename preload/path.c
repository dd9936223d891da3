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

#include "knobs.h"
#include "preload.h"

static struct {
	_Atomic int state;	    /* 0: not yet looked */
	_Atomic unsigned functions; /* 0: not yet looked */
	bool enabled;
	char lib[PATH_MAX];			    /* .../lib */
	char tree[PATH_MAX], tree_real[PATH_MAX];   /* .../share/dpa, and without symlinks */
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

/* Where a folder lies without symlinks, "" if there is none. */
static void without_links(const char *path, char real[PATH_MAX])
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!fd_path((int)fd, real, PATH_MAX))
		real[0] = '\0';
	syscall(SYS_close, (int)fd);
}

static void read_sysfs_path(void)
{
	const char *env = getenv("SYSFS_PATH");

	if (!env || env[0] != '/' || strlen(env) >= sizeof(self.sysfs))
		return;
	strcpy(self.sysfs, env);
	for (size_t n = strlen(self.sysfs); n > 0 && self.sysfs[n - 1] == '/'; n--)
		self.sysfs[n - 1] = '\0';
	without_links(self.sysfs, self.sysfs_real);
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
	if (self.enabled)
		without_links(self.tree, self.tree_real);
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

/*
 * Asked for where a path is ours, not before: reading a file at the start of each program would be
 * rude. Where the settings are wrong, the open says so; dpa0 alone is shown.
 */
unsigned pl_functions(void)
{
	unsigned n = atomic_load_explicit(&self.functions, memory_order_relaxed);
	struct dpa_config cfg;
	char text[512];
	int err = errno;

	if (n)
		return n;
	atomic_store_explicit(&self.functions, 1,
			      memory_order_relaxed); /* the file is opened by us */
	n = dpa_config_load(&cfg, text, sizeof(text)) ? 1 : 1 + cfg.functions.num_sfs;
	atomic_store_explicit(&self.functions, n, memory_order_relaxed);
	errno = err;
	return n;
}

void pl_entry_name(const char *stem, unsigned function, char *buf, size_t len)
{
	if (function)
		snprintf(buf, len, "%s_sf%u", stem, function);
	else
		snprintf(buf, len, "%s", stem);
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

/* The same for an entry of one of our functions: "stem" or "stem_sfN". */
static const char *step_ours(const char *p, const char *stem, unsigned *function)
{
	char name[32];

	if (!p || *p != '/' || strncmp(skip_slashes(p), stem, strlen(stem)) != 0)
		return NULL;
	for (*function = 0; *function < pl_functions(); ++*function) {
		const char *in;

		pl_entry_name(stem, *function, name, sizeof(name));
		in = step(p, name);
		if (in)
			return in;
	}
	return NULL;
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

/* What the host has is the host's, with our entries in it if there is a stem; else it is ours. */
static enum pl_kind shared(struct pl_path *p, const char *path, const char *folder,
			   const char *stem)
{
	char ours[PATH_MAX + 32];

	if (!exists(AT_FDCWD, path)) {
		p->more = (struct pl_more){stem, 1, stem ? pl_functions() : 0};
		return in_tree(p, folder, "");
	}
	if (!stem)
		return PL_PASS;
	snprintf(ours, sizeof(ours), "%s/%s", path, stem); /* SYSFS_PATH may be our own tree */
	p->more = (struct pl_more){stem, exists(AT_FDCWD, ours), pl_functions()};
	return p->more.from < p->more.to ? (p->kind = PL_MERGE) : PL_PASS;
}

/* Files below class/infiniband/DEVICE that differ from place to place and time to time. */
static bool is_live(const char *rest)
{
	const char *port;

	if (*rest != '/')
		return false;
	rest = skip_slashes(rest);
	if (strcmp(rest, "node_guid") == 0 || strcmp(rest, "sys_image_guid") == 0)
		return true;
	port = strncmp(rest, "ports/1/", 8) == 0 ? rest + 8 : "";
	return strcmp(port, "rate") == 0 || strcmp(port, "link_layer") == 0 ||
	       strcmp(port, "lid") == 0 || strcmp(port, "sm_lid") == 0 ||
	       strncmp(port, "gids/", 5) == 0 || strncmp(port, "gid_attrs/types/", 16) == 0 ||
	       strncmp(port, "gid_attrs/ndevs/", 16) == 0;
}

/* Below the folder of a device: dpa0's is in the tree, an SF's in a tree of its own beside it. */
static enum pl_kind in_device(struct pl_path *p, const char *folder, const char *in)
{
	char sf[64];

	if (!p->function)
		return in_tree(p, folder, in);
	snprintf(sf, sizeof(sf), "sf/%u/%s", p->function, folder + strlen("sysfs/"));
	return in_tree(p, sf, in);
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
		ours = classes[i].entry ? step_ours(in, classes[i].entry, &p->function) : NULL;
		if (ours && is_live(ours) && i == 0) {
			snprintf(p->at, sizeof(p->at), "%s", skip_slashes(ours));
			return p->kind = PL_LIVE;
		}
		if (ours)
			return in_device(p, classes[i].folder, in);
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
	const char *node = step_ours(in, PL_UVERBS, &p->function);

	if (!in)
		return PL_PASS;
	if (at_end(in))
		return shared(p, path, "dev/infiniband", PL_UVERBS);
	if (step(in, ".."))
		return shared(p, path, "dev", NULL);
	return node && *node == '\0' ? (p->kind = PL_NODE) : PL_PASS;
}

/* A file of the tree that is asked for by where it lies: package managers write it. */
static bool is_itself(const struct pl_path *p, const char *in_tree)
{
	return in_tree && p->kind == PL_FILE && p->more.from == p->more.to &&
	       strcmp(p->at + strlen(self.tree), in_tree) == 0;
}

static enum pl_kind absolute(struct pl_path *p, const char *path)
{
	const char *rest = step(path, "dev"), *tree = below(path, self.tree_real);

	if (!rest)
		rest = step(tree, "dev");
	if (rest)
		return in_dev(p, path, rest);
	rest = step(path, "sys");
	if (!rest)
		rest = step(tree, "sysfs"); /* a folder that was opened, and is listed now */
	if (!rest)
		rest = below(path, self.sysfs);
	if (!rest)
		rest = below(path, self.sysfs_real);
	rest = step(rest, "class");
	if (rest)
		(void)in_class(p, path, rest);
	return is_itself(p, tree) ? (p->kind = PL_PASS) : p->kind;
}

/* Could a relative path lead to an entry of ours that a merged directory has? */
static bool names_ours(const char *path)
{
	static const char *const stems[] = {PL_DEVICE, PL_UVERBS};

	while (path[0] == '.' && path[1] == '/')
		path += 2;
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(stems[i]);

		if (strncmp(path, stems[i], n) == 0 &&
		    (path[n] == '/' || path[n] == '\0' || path[n] == '_'))
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
	p->function = 0;
	p->more = (struct pl_more){0};
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
