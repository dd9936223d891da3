/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * preload.h - the discovery preload: shows a program dpa0, and the configured SFs, beside the
 * host's real devices.
 * The library keeps no tables of descriptors and writes no files: a path is checked, and either
 * replaced by one of the static tree of this build (share/dpa) or unchanged. Directories that the
 * host has, too, get further entries at their end. For a path without certain words the only cost
 * is the search for them. errno is as the real call leaves it.
 * RDMA netlink: nl/nl.h.
 */
#ifndef DPA_PRELOAD_H
#define DPA_PRELOAD_H

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#define PL_EXPORT __attribute__((visibility("default")))
#define PL_DEVICE "dpa0"
#define PL_UVERBS "uverbs_dpa0"

/* Kinds of paths. */
enum pl_kind {
	PL_PASS,  /* of the host: call the real function with the program's path */
	PL_HOST,  /* of the host, by a link of ours: call the real function with pl_path.at */
	PL_FILE,  /* of the static tree: pl_path.at */
	PL_LIVE,  /* a file whose text is generated at open: pl_path.at is its name */
	PL_NODE,  /* the character device of a function */
	PL_LINK,  /* a symlink that is not in the tree: pl_path.at is its target */
	PL_MERGE, /* a folder of the host that has entries of ours, too: pl_path.at */
	PL_ERROR, /* pl_path.err */
};

/* Directories with paths of the device, in the program's view. */
enum pl_root {
	PL_SYS,	   /* sysfs */
	PL_DEV,	   /* /dev */
	PL_SYSCTL, /* /proc/sys/net */
};

struct pl_path {
	enum pl_kind kind;
	unsigned function; /* for a live file or a node */
	unsigned layers;   /* for a folder: bit N: layer N of the tree has it */
	enum pl_root root; /* the root above rest */
	int err;
	const char *rest;    /* the part of path after such a root; NULL: it is below none */
	char path[PATH_MAX]; /* absolute, without symlinks, as shown to the program */
	char at[PATH_MAX];
};

/* Set once a path of this process was ours: from then on relative paths can lead to ours. */
extern _Atomic bool pl_seen __attribute__((visibility("hidden")));
/*
 * True if an absolute path, or a part of a relative one, has a word in it that only our paths have.
 */
bool pl_names_ours(const char *path);
/* True if a path is /sys or below it, by its spelling. */
bool pl_in_sysfs(const char *path);

/*
 * True if path may be ours. Callable for any path on any stack. pl_lookup() needs 32 KiB of stack:
 * functions that call it are out of line and run only if this returns true.
 */
static inline bool pl_maybe(const char *path)
{
	/*
	 * The headers declare that paths are not NULL, so that compilers remove the check.
	 * Programs that probe for EFAULT pass NULL. The statement hides the value from the
	 * compiler.
	 */
	__asm__("" : "+r"(path));
	if (!path || !*path)
		return false;
	return (path[0] != '/' && atomic_load_explicit(&pl_seen, memory_order_relaxed)) ||
	       pl_names_ours(path);
}
#define PL_OUT_OF_LINE __attribute__((noinline, cold))

/*
 * Resolve a path like openat(2). nofollow: do not follow a symlink in the last component. Sets *p
 * and returns p->kind. Does not change errno and takes no lock. Loads the provider's library if the
 * path is below the folder net of a function.
 */
enum pl_kind pl_lookup(int dirfd, const char *path, bool nofollow, struct pl_path *p);
/* True if the path is ours, or leads to the host by a link of ours. */
bool pl_is_ours(const char *path);
/* Sets buf to the folder of the tree that has the entries of a layer. */
void pl_layer(enum pl_root root, unsigned layer, char *buf, size_t len);
/* True if dpa0 is shown. False with DPA_DISABLE=1. */
bool pl_enabled(void);
/* Return the number of functions that are shown: dpa0 and the SFs of the setting `functions`. */
unsigned pl_functions(void);
/* Return the folder of this library, where related libraries are. */
const char *pl_libdir(void);

/* Write the name of an entry: "dpa0" or "dpa0_sf1". */
void pl_entry_name(const char *stem, unsigned function, char *buf, size_t len);
/*
 * Calls dpadv_port_file() of the provider's library, which has GIDs and the adapter's state. The
 * first call loads the library. Returns the length of the text; -1 and errno.
 */
int pl_port_text(unsigned function, const char *name, char *text, size_t len);
/* Returns a descriptor from which the text of a live file can be read; -1 and errno. */
int pl_live_open(unsigned function, const char *name, int flags);
/* Sets the inode and mode in st to those of a live file. fix: if fd is an open live file. */
void pl_live_look(unsigned function, const char *name, struct stat *st);
void pl_live_fix(int fd, struct stat *st);
/* Open the device node: /dev/null, or a memfd if there is no /dev/null. */
int pl_node_open(int flags);
int pl_node_stat(struct stat *st);
/* Corrects the result of fstat() for such a memfd. */
void pl_node_fix(struct stat *st);
/* All our entries are read-only. Returns 0, or EACCES if the flags ask for writing. */
int pl_check_flags(int flags);

/* Returns the next definition of a function that this library replaces. Cached: dlsym() is slow. */
static inline void *pl_next(_Atomic(void *) *cache, const char *name)
{
	void *fn = atomic_load_explicit(cache, memory_order_relaxed);

	if (__builtin_expect(!fn, 0)) {
		fn = dlsym(RTLD_NEXT, name);
		atomic_store_explicit(cache, fn, memory_order_relaxed);
	}
	return fn;
}

#define PL_NEXT(name)                                                                              \
	({                                                                                         \
		static _Atomic(void *) cache_;                                                     \
		(__typeof__(&name))pl_next(&cache_, #name);                                        \
	})

#endif
