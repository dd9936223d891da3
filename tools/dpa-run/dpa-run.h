/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa-run.h - between the files of dpa-run. Everything here ends the program on failure. */
#ifndef DPA_RUN_H
#define DPA_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define UVERBS "uverbs_dpa0"

enum {
	EXIT_USAGE = 2,	   /* wrong option, variable or configuration */
	EXIT_FAILED = 125, /* dpa-run itself could not do what it has to */
	EXIT_CANNOT = 126, /* PROGRAM is there but cannot be run */
	EXIT_MISSING = 127,
};

/* Where the build or the installation keeps its parts. */
struct place {
	char lib[PATH_MAX];
	char preload[PATH_MAX];
	char driver[PATH_MAX]; /* as libibverbs wants it: without -rdmav34.so */
	char tree[PATH_MAX];   /* share/dpa */
};

/* One line "dpa-run: ..." on standard error, then exit(status). */
__attribute__((noreturn, format(printf, 2, 3))) void die(int status, const char *fmt, ...);
/* snprintf into a PATH_MAX buffer; too long is an error. */
__attribute__((format(printf, 2, 3))) void path_print(char *buf, const char *fmt, ...);

void place_find(struct place *pl);

/*
 * Checks that there is a provider for the libibverbs that `program` (as for execvp()) loads. Ends
 * with one line if there is none. A program that does not link libibverbs may load it later, or
 * start one that does: for the library that it would get a line is printed, no more.
 */
void provider_check(const struct place *pl, const char *program);

/* Appends an entry to a list variable unless it is there; separators are those between entries. */
void env_append(const char *var, const char *entry, const char *separators);
/* IBV_DRIVERS, or RDMAV_DRIVERS if that is in use. */
void env_driver(const struct place *pl);
void env_preload(const struct place *pl);
/* Prints what the two above set, as shell assignments. */
void env_print(void);

/*
 * An empty file that the processes append to; what an earlier run left there goes, unless one of
 * its processes is still at it.
 */
void capture_begin(const char *path);

/*
 * For programs that cannot be preloaded: a tree for SYSFS_PATH in which real devices are linked,
 * the device node, and the device in /sys where that can be had, all seen by this process and its
 * children only; and a filter that refuses RDMA netlink sockets.
 */
void isolate(const struct place *pl, unsigned sfs);

/* ---- sysfs.c, copy.c */

/*
 * Mounts over the folders of /sys what shows our devices there, too, as they are now. scratch: a
 * folder on a tmpfs of the mount namespace. False: the kernel does not let it.
 */
bool sysfs_show(const char *scratch, const struct place *pl, unsigned sfs);
/* Copies a folder of sysfs, as this process sees it. depth: 0. Ends with one line if it cannot. */
void copy_folder(const char *from, const char *to, int depth);

/* ---- tree.c: folders on a private tmpfs */

/* Does this sysfs root have RDMA devices of the host's? */
bool tree_has_devices(const char *sysfs);
/* Makes to/class/infiniband*: links to what is in `sysfs` and to ours. */
void tree_link_sysfs(const char *to, const char *sysfs, const struct place *pl, unsigned sfs);
/*
 * Makes `to` hold all that `from` holds, by bind mounts, but for the names in `except` (ends with
 * NULL; NULL: none). 0 or errno.
 */
int tree_bind_dir(const char *to, const char *from, const char *const *except);
/* Makes the nodes of ours in `node_dir`. */
void tree_make_nodes(const char *node_dir, unsigned sfs);
/* "uverbs_dpa0" or "uverbs_dpa0_sf1" */
void uverbs_name(unsigned function, char *buf, size_t len);

#endif
