/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa-run.h - declarations shared by the files of dpa-run. Every function here ends the program on
 * failure.
 */
#ifndef DPA_RUN_H
#define DPA_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define UVERBS "uverbs_dpa0"

enum {
	EXIT_USAGE = 2,	   /* wrong option, variable or configuration */
	EXIT_FAILED = 125, /* dpa-run itself failed */
	EXIT_CANNOT = 126, /* PROGRAM exists but cannot be run */
	EXIT_MISSING = 127,
};

/* Places of the parts of the build or the installation. */
struct place {
	char lib[PATH_MAX];
	char preload[PATH_MAX];
	char driver[PATH_MAX]; /* in the form for libibverbs: without -rdmav34.so */
	char tree[PATH_MAX];   /* share/dpa */
};

/* Print one line "dpa-run: ..." on standard error, then exit(status). */
__attribute__((noreturn, format(printf, 2, 3))) void die(int status, const char *fmt, ...);
/* Print into a PATH_MAX buffer; an overflow is an error. */
__attribute__((format(printf, 2, 3))) void path_print(char *buf, const char *fmt, ...);

void place_find(struct place *pl);

/*
 * Check that there is a provider for the libibverbs that `program` (as for execvp()) loads. Ends
 * with one line if there is none. A program that does not link libibverbs may load it later, or
 * start one that does: then a missing provider for the default library only causes a warning line.
 */
void provider_check(const struct place *pl, const char *program);

/* Append an entry to a list variable unless it is there; separators: characters between entries. */
void env_append(const char *var, const char *entry, const char *separators);
/* Set IBV_DRIVERS, or RDMAV_DRIVERS if that is in use. */
void env_driver(const struct place *pl);
void env_preload(const struct place *pl);
/* Print the settings of the two functions above, as shell assignments. */
void env_print(void);

/*
 * Make an empty file to which the processes append. Data of an earlier run are removed, unless one
 * of its processes still writes.
 */
void capture_begin(const char *path);

/*
 * Prepare discovery for programs that cannot be preloaded: a tree for SYSFS_PATH in which real
 * devices are linked, the device node, and the device in /sys where possible, all visible to this
 * process and its children only; and a filter that refuses RDMA netlink sockets.
 */
void isolate(const struct place *pl, unsigned sfs);

/* ---- sysfs.c, copy.c */

/*
 * Mount folders over those of /sys that show our devices as well, as they are now. scratch: a
 * folder on a tmpfs of the mount namespace. False: the kernel does not allow it.
 */
bool sysfs_show(const char *scratch, const struct place *pl, unsigned sfs);
/* Copy a folder of sysfs, as this process sees it. depth: 0. Ends with one line on failure. */
void copy_folder(const char *from, const char *to, int depth);

/* ---- tree.c: folders on a private tmpfs */

/* Return whether this sysfs root has RDMA devices of the host. */
bool tree_has_devices(const char *sysfs);
/* Make to/class/infiniband*: links to the entries of `sysfs` and to ours. */
void tree_link_sysfs(const char *to, const char *sysfs, const struct place *pl, unsigned sfs);
/*
 * Make `to` contain all entries of `from`, by bind mounts, except the names in `except` (ends with
 * NULL; NULL: none). 0 or errno.
 */
int tree_bind_dir(const char *to, const char *from, const char *const *except);
/* Make our nodes in `node_dir`. */
void tree_make_nodes(const char *node_dir, unsigned sfs);
/* Format "uverbs_dpa0" or "uverbs_dpa0_sf1". */
void uverbs_name(unsigned function, char *buf, size_t len);

#endif
