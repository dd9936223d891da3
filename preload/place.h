/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * place.h - the places found by place.c, for the files that resolve paths. Calls do not change
 * errno unless their comment has an exception.
 */
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

/* These make system calls: the library functions would lead back here. Both change errno. */
bool pl_exists(const char *path);
/*
 * Sets link to the path in /proc of a descriptor of the calling thread, which may have its own
 * descriptors (unshare(CLONE_FILES)).
 */
#define PL_FD_LINK 48
void pl_fd_link(int fd, char link[PL_FD_LINK]);
/*
 * Return the path of a descriptor, or the calling thread's working directory for AT_FDCWD. False:
 * there is none, or it is longer than buf.
 */
bool pl_fd_path(int fd, char *buf, size_t len);

/*
 * Return the part of path after root: "" or "/...". NULL: path is not below root. root has no slash
 * at its end.
 */
const char *pl_below(const char *path, const char *root);
/*
 * For a path without symlinks in our tree: return the part below the root where it is shown, and
 * that root, "/sys" or "/dev". NULL: it is elsewhere.
 */
const char *pl_shown(const char *path, const char **root);

/*
 * Entries that the preload creates by rule; the tree does not have them. rest: the path after the
 * root of sysfs, for example "/devices/...".
 */
/* Return the name of a live file for pl_live_open(). NULL: rest is not a live file. */
const char *pl_live_name(const char *rest, unsigned *function);
/* True if this path of a descriptor (/proc/self/fd/N) is that of an open live file. */
bool pl_is_live(const char *fd_path);
/* Call add(arg, name, d_type) for each entry of a folder. False: add returned false. */
typedef bool pl_add_fn(void *arg, const char *name, unsigned char type);
bool pl_live_entries(const char *rest, pl_add_fn *add, void *arg);
/* True if rest is a link to an interface below class/net; sets target. */
bool pl_live_link(const char *rest, char *target, size_t len);

#endif
