/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * path.c - resolves a path as the kernel would if our entries were in its folders.
 *
 * The layers of our tree are below the host's folders: layer 0 is dpa0's, layer N is that of
 * dpa0_sfN. An entry of the host hides one of a layer; a layer hides the layers behind it. Symlinks
 * of the host and of the layers are followed here, component by component. So ".." and a link of
 * ours into a folder of the host (device/net/eth0) lead to the same place as in a kernel's sysfs.
 *
 * Two roots of sysfs have these layers: /sys, and $SYSFS_PATH, which libibverbs reads instead if it
 * is set. /dev has one layer, for the folder of the device nodes; /proc/sys/net has one for the
 * setting of rdma_cm's kernel module.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "place.h"
#include "preload.h"

enum { MAX_LINKS = 40 };

enum what { ABSENT, PRESENT, LINK, LIVE, NODE };

struct walk {
	struct pl_path *p;
	bool nofollow;
	bool ours;	     /* the host alone would not have resolved the path to here */
	bool parent_on_host; /* the host has the folder of the last component */
	bool looked;	     /* the members below describe p->path */
	/* For the last component, p->path: */
	enum what what;
	bool on_host; /* the host has it */
	bool made;    /* a link that is in no layer */
	unsigned num_links;
	char todo[PATH_MAX];   /* the rest after p->path: "" or "/..." */
	char target[PATH_MAX]; /* target if it is a link */
};

void pl_layer(enum pl_root root, unsigned layer, char *buf, size_t len)
{
	const char *tree = pl_place()->tree;

	if (root != PL_SYS)
		snprintf(buf, len, "%s/%s", tree, root == PL_DEV ? "dev" : "sysctl");
	else if (layer)
		snprintf(buf, len, "%s/sf/%u", tree, layer);
	else
		snprintf(buf, len, "%s/sysfs", tree);
}

/* Finds the root above p->path, and thereby p->rest. */
static void find_root(struct pl_path *p)
{
	const struct pl_place *pl = pl_place();
	const struct {
		const char *at;
		enum pl_root root;
	} roots[] = {{"/sys", PL_SYS},
		     {pl->sysfs, PL_SYS},
		     {pl->sysfs_real, PL_SYS},
		     {"/dev", PL_DEV},
		     {"/proc/sys/net", PL_SYSCTL}};

	p->rest = NULL;
	for (size_t i = 0; !p->rest && i < sizeof(roots) / sizeof(roots[0]); i++) {
		p->rest = pl_below(p->path, roots[i].at);
		p->root = roots[i].root;
	}
}

/*
 * Checks whether it exists. Sets target for a link. An entry that cannot be checked (EACCES) counts
 * as present.
 */
static enum what look_at_path(const char *path, char target[PATH_MAX])
{
	long n = syscall(SYS_readlinkat, AT_FDCWD, path[0] ? path : "/", target, PATH_MAX - 1);

	if (n >= 0) {
		target[n] = '\0';
		return LINK;
	}
	return errno == ENOENT || errno == ENOTDIR ? ABSENT : PRESENT;
}

/* A device node: recognised by its name, whether or not the host has one. */
static bool is_node(struct pl_path *p)
{
	const char *name = p->rest && p->root == PL_DEV ? pl_below(p->rest, "/infiniband") : NULL;
	char node[40] = "/";

	if (!name || strncmp(name, "/" PL_UVERBS, strlen(PL_UVERBS) + 1) != 0)
		return false;
	for (p->function = 0; p->function < pl_functions(); p->function++) {
		pl_entry_name(PL_UVERBS, p->function, node + 1, sizeof(node) - 1);
		if (strcmp(name, node) == 0)
			return true;
	}
	return false;
}

static bool is_live_path(struct pl_path *p)
{
	const char *name =
		p->rest && p->root == PL_SYS ? pl_live_name(p->rest, &p->function) : NULL;

	if (name)
		snprintf(p->at, sizeof(p->at), "%s", name);
	return name;
}

/* The first layer that has the entry determines its kind. */
static void look_in_layers(struct walk *w)
{
	unsigned num = w->p->root == PL_SYS ? pl_functions() : 1;
	char at[2 * PATH_MAX], target[PATH_MAX];
	enum what what;

	for (unsigned i = 0; i < num; i++) {
		pl_layer(w->p->root, i, at, PATH_MAX);
		strcat(at, w->p->rest);
		what = look_at_path(at, target);
		if (what == ABSENT)
			continue;
		if (w->what == ABSENT) {
			w->what = what;
			if (what == LINK) /* otherwise there is no text */
				strcpy(w->target, target);
		}
		w->p->layers |= 1u << i;
	}
}

/* Looks up p->path, which contains no symlink except perhaps the last component. */
static void look_up_path(struct walk *w)
{
	struct pl_path *p = w->p;

	w->on_host = w->made = false;
	w->looked = true;
	p->layers = 0;
	find_root(p);
	if (is_node(p) || is_live_path(p)) {
		w->what = p->root == PL_DEV ? NODE : LIVE;
		return;
	}
	w->what = look_at_path(p->path, w->target);
	w->on_host = w->what != ABSENT;
	if (p->rest)
		look_in_layers(w);
	if (w->what == ABSENT && p->rest && p->root == PL_SYS &&
	    pl_live_link(p->rest, w->target, sizeof(w->target))) {
		w->made = true;
		w->what = LINK;
	}
}

static void cut_component(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

static bool is_folder(const char *path)
{
	char dot[PATH_MAX + 4];

	snprintf(dot, sizeof(dot), "%s/.", path);
	return pl_exists(dot);
}

/* True if p->path is a folder. Links were followed before. */
static bool stands_on_folder(const struct walk *w)
{
	char at[2 * PATH_MAX];

	if (!w->looked)
		return true; /* the root, or the folder of the link that was followed */
	if (w->what != PRESENT)
		return false;
	if (w->on_host || !w->p->layers)
		return is_folder(w->p->path);
	pl_layer(w->p->root, (unsigned)__builtin_ctz(w->p->layers), at, PATH_MAX);
	strcat(strcat(at, w->p->rest), "/.");
	return pl_exists(at);
}

/* True if the next component is "", "." or "..". They are valid after a folder only. */
static bool next_needs_folder(const struct walk *w)
{
	const char *next = w->todo + strspn(w->todo, "/");

	return strcspn(next, "/") == strspn(next, ".") && strspn(next, ".") <= 2;
}

/* Moves the next component from todo to the end of p->path. 0 or errno. */
static int take_component(struct walk *w)
{
	char *next = w->todo + strspn(w->todo, "/");
	size_t n = strcspn(next, "/"), len = strlen(w->p->path);

	if (n == 2 && memcmp(next, "..", 2) == 0)
		cut_component(w->p->path);
	else if (n && !(n == 1 && *next == '.')) {
		if (n > NAME_MAX || len + 1 + n >= PATH_MAX)
			return ENAMETOOLONG;
		w->p->path[len] = '/';
		memcpy(w->p->path + len + 1, next, n);
		w->p->path[len + 1 + n] = '\0';
	}
	memmove(w->todo, next + n, strlen(next + n) + 1);
	return 0;
}

/* Replaces a link by its target. */
static int follow_symlink(struct walk *w)
{
	size_t len = strlen(w->target);

	if (++w->num_links > MAX_LINKS)
		return ELOOP;
	if (len + 1 + strlen(w->todo) >= PATH_MAX)
		return ENAMETOOLONG;
	memmove(w->todo + len, w->todo, strlen(w->todo) + 1);
	memcpy(w->todo, w->target, len);
	if (w->target[0] == '/') {
		w->p->path[0] = '\0';
		w->on_host = true;
	} else {
		cut_component(w->p->path);
		w->on_host = w->parent_on_host;
	}
	w->what = PRESENT;
	w->looked = false;
	return 0;
}

/* Resolves todo to its end or to a name that does not exist. 0 or errno. */
static int resolve_walk(struct walk *w)
{
	int err;

	while (w->todo[0]) {
		if (next_needs_folder(w) && !stands_on_folder(w))
			return ENOTDIR;
		w->parent_on_host = w->on_host;
		err = take_component(w);
		if (err)
			return err;
		look_up_path(w);
		if (w->what == ABSENT)
			return 0;
		w->ours |= !w->on_host;
		if (w->what == LINK && (w->todo[0] || !w->nofollow)) {
			err = follow_symlink(w);
			if (err)
				return err;
		} else if ((w->what == LIVE || w->what == NODE) && w->todo[0]) {
			return ENOTDIR;
		}
	}
	return 0;
}

static enum pl_kind on_host(struct walk *w)
{
	if (!w->ours)
		return PL_PASS;
	if ((size_t)snprintf(w->p->at, PATH_MAX, "%s%s", w->p->path, w->todo) < PATH_MAX)
		return PL_HOST;
	w->p->err = ENAMETOOLONG;
	return PL_ERROR;
}

/* Finds the file of the tree for p->path, and the part that was not resolved. */
static enum pl_kind in_tree(struct walk *w)
{
	unsigned layer = w->p->layers ? (unsigned)__builtin_ctz(w->p->layers) : 0;
	char root[PATH_MAX + 16];

	if (!w->p->rest)
		return on_host(w);
	pl_layer(w->p->root, layer, root, sizeof(root));
	if ((size_t)snprintf(w->p->at, PATH_MAX, "%s%s%s", root, w->p->rest, w->todo) < PATH_MAX)
		return PL_FILE;
	w->p->err = ENAMETOOLONG;
	return PL_ERROR;
}

static enum pl_kind walk_result(struct walk *w)
{
	switch (w->what) {
	case LIVE:
		return PL_LIVE;
	case NODE:
		return PL_NODE;
	case ABSENT:
		return w->parent_on_host ? on_host(w) : in_tree(w);
	case LINK:
		if (w->made) {
			strcpy(w->p->at, w->target);
			return PL_LINK;
		}
		return w->on_host ? on_host(w) : in_tree(w);
	case PRESENT:
		break;
	}
	if (!w->on_host)
		return in_tree(w);
	if (!w->p->layers || !is_folder(w->p->path))
		return on_host(w);
	strcpy(w->p->at, w->p->path);
	return PL_MERGE;
}

/* p->path is the folder to which a relative path refers. */
static bool begin_at(struct walk *w, int dirfd)
{
	char where[PATH_MAX];
	const char *root, *rest;

	if (!pl_fd_path(dirfd, where, sizeof(where)))
		return false;
	rest = atomic_load_explicit(&pl_seen, memory_order_relaxed) ? pl_shown(where, &root) : NULL;
	if (!rest)
		strcpy(w->p->path, strcmp(where, "/") == 0 ? "" : where);
	else if ((size_t)snprintf(w->p->path, PATH_MAX, "%s%s", root, rest) >= PATH_MAX)
		return false;
	look_up_path(w);
	w->ours = rest;
	return rest || w->on_host; /* otherwise it was removed */
}

static bool begin_walk(struct walk *w, int dirfd, const char *path)
{
	size_t len = strlen(path);

	if (len + 1 >= sizeof(w->todo) || len == 0)
		return false; /* the kernel returns the error */
	w->what = PRESENT;
	w->looked = false;
	w->on_host = w->parent_on_host = true;
	w->p->path[0] = '\0';
	if (path[0] != '/' && !begin_at(w, dirfd))
		return false;
	snprintf(w->todo, sizeof(w->todo), "/%s", path + (path[0] == '/'));
	return true;
}

PL_OUT_OF_LINE enum pl_kind pl_lookup(int dirfd, const char *path, bool nofollow, struct pl_path *p)
{
	struct walk w;
	int err = errno;

	p->kind = PL_PASS;
	p->layers = 0;
	p->rest = NULL;
	if (!path || !pl_enabled())
		return PL_PASS;
	w.p = p;
	w.nofollow = nofollow;
	w.ours = false;
	w.num_links = 0;
	if (begin_walk(&w, dirfd, path)) {
		p->err = resolve_walk(&w);
		if (p->err)
			p->kind = w.ours ? PL_ERROR : PL_PASS;
		else
			p->kind = walk_result(&w);
	}
	if (p->kind != PL_PASS)
		atomic_store_explicit(&pl_seen, true, memory_order_relaxed);
	errno = err;
	return p->kind;
}

PL_OUT_OF_LINE bool pl_is_ours(const char *path)
{
	struct pl_path p;

	return pl_lookup(AT_FDCWD, path, false, &p) != PL_PASS;
}

/* Skips slashes and "." components: "//./class" becomes "class". */
static const char *next_component(const char *path)
{
	for (;;) {
		path += strspn(path, "/");
		if (path[0] != '.' || (path[1] != '/' && path[1] != '\0'))
			return path;
		path++;
	}
}

/*
 * Compares a path with one in plain spelling ("/sys/class"). Returns what follows it: "" or "/...".
 * NULL: path is not below it.
 */
static const char *below_spelled(const char *path, const char *plain)
{
	while (*plain) {
		size_t n = strcspn(++plain, "/"); /* after its slash */

		path = next_component(path);
		if (strncmp(path, plain, n) != 0 || (path[n] != '/' && path[n] != '\0'))
			return NULL;
		path += n;
		plain += n;
	}
	return path;
}

/*
 * True for the folders above ours: a listing of such a folder has entries of ours. path: below
 * /sys.
 */
static bool is_above_ours(const char *path)
{
	static const char *const above[] = {"/sys", "/sys/class", "/sys/bus", "/sys/bus/pci",
					    "/sys/devices"};
	const char *rest;

	for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
		rest = below_spelled(path, above[i]);
		if (rest && *next_component(rest) == '\0')
			return true;
	}
	return below_spelled(path, "/sys/bus/pci/devices") != NULL;
}

bool pl_in_sysfs(const char *path)
{
	return path[0] == '/' && below_spelled(path, "/sys");
}

bool pl_names_ours(const char *path)
{
	static const char *const words[] = {"infiniband", PL_DEVICE, "d9a0:", "pci/devices",
					    "rdma_ucm"};
	const char *sys;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(path, words[i]))
			return true;
	if (path[0] != '/')
		return false;
	sys = below_spelled(path, "/proc/sys/net");
	if (sys)
		return *next_component(sys) == '\0'; /* its listing has an entry of ours */
	sys = below_spelled(path, "/sys");
	return sys && (strstr(sys, "/..") || strstr(sys, "/subsystem") || is_above_ours(path));
}
