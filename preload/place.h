/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* place.h - what place.c found, for the files that resolve paths. All calls leave errno as it was
 * unless they say otherwise. */
#ifndef DPA_PRELOAD_PLACE_H
#define DPA_PRELOAD_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Written once, before the first reader. */
struct pl_place {
	bool enabled;
	char lib[PATH_MAX];			    /* .../lib */
	char tree[PATH_MAX], tree_real[PATH_MAX];   /* .../share/dpa, and without symlinks */
	char sysfs[PATH_MAX], sysfs_real[PATH_MAX]; /* $SYSFS_PATH, and without symlinks */
};
const struct pl_place *pl_place(void);

/* System calls of our own: the library functions lead back here. Both change errno. */
bool pl_exists(const char *path);
/*
 * The path behind a descriptor, or the calling thread's working directory for AT_FDCWD. False:
 * there is none, or it is longer than buf.
 */
bool pl_fd_path(int fd, char *buf, size_t len);

/* What follows root, which has no slash at its end: "" or "/...". NULL: path is not below it. */
const char *pl_below(const char *path, const char *root);
/*
 * A path without symlinks that lies in our tree: the part below the root where it is shown, and
 * that root, "/sys" or "/dev". NULL: it lies elsewhere.
 */
const char *pl_shown(const char *path, const char **root);

/*
 * What the preload adds to folders by rule, not by the tree. rest: behind the root of sysfs, as
 * "/devices/...".
 */
/* A file whose text is made when it is opened: its name for pl_live_open(). NULL: it is none. */
const char *pl_live_name(const char *rest, unsigned *function);
/* Is a path, as the kernel has it of a descriptor, that of such a file while it is open? */
bool pl_is_live(const char *fd_path);
/* A folder that has further entries: calls add for each. name, d_type. False: add returned false.
 */
typedef bool pl_add_fn(void *arg, const char *name, unsigned char type);
bool pl_live_entries(const char *rest, pl_add_fn *add, void *arg);
/* A link to the interface of that name below class/net: true and its target. */
bool pl_live_link(const char *rest, char *target, size_t len);

#endif
