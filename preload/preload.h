/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * preload.h - the discovery preload: shows a program dpa0, and the SFs that are configured, beside
 * the host's real devices.
 *
 * The library keeps no tables of descriptors and writes no files: a path is looked at, and either
 * replaced by one of the static tree of this build (share/dpa) or left alone. Directories that the
 * host has too get further entries at their end. A path that has none of a few words in it costs
 * the search for them. errno is as the real call leaves it.
 *
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

/* What a path is. */
enum pl_kind {
	PL_PASS,  /* not our business */
	PL_HOST,  /* a path of the host, which a link of ours leads to: pl_path.at */
	PL_FILE,  /* of the static tree: pl_path.at */
	PL_LIVE,  /* a file whose text is made when it is opened: pl_path.at is its name */
	PL_NODE,  /* the character device of a function */
	PL_LINK,  /* a symlink that is in no tree: pl_path.at is its target */
	PL_MERGE, /* a folder that the host has too, with entries of ours in it: pl_path.at */
	PL_ERROR, /* pl_path.err */
};

/* Roots of what is ours, in the program's view. */
enum pl_root {
	PL_SYS,	   /* sysfs */
	PL_DEV,	   /* /dev */
	PL_SYSCTL, /* /proc/sys/net */
};

struct pl_path {
	enum pl_kind kind;
	unsigned function; /* of a live file or a node */
	unsigned layers;   /* of a folder: bit N says that layer N of the tree has it */
	enum pl_root root; /* which one rest is below */
	int err;
	const char *rest;    /* the part of path behind such a root, NULL: it is below none */
	char path[PATH_MAX]; /* absolute, without symlinks, as the program is to see it */
	char at[PATH_MAX];
};

/* Set once this process was shown something of ours: relative paths can lead there then. */
extern _Atomic bool pl_seen __attribute__((visibility("hidden")));
/* Has an absolute path, or part of a relative one, a word in it that only paths to ours have? */
bool pl_names_ours(const char *path);
/* Is a path /sys or below it, by its spelling? */
bool pl_in_sysfs(const char *path);

/*
 * Can be asked of any path on any stack: pl_lookup() and what follows it need 32 KiB, so they are
 * kept out of line and off the way of paths that are not ours.
 */
static inline bool pl_maybe(const char *path)
{
	/*
	 * The headers declare that paths are not NULL, so that compilers leave out the check.
	 * Programs that probe for EFAULT pass NULL all the same: make the compiler forget.
	 */
	__asm__("" : "+r"(path));
	if (!path || !*path)
		return false;
	return (path[0] != '/' && atomic_load_explicit(&pl_seen, memory_order_relaxed)) ||
	       pl_names_ours(path);
}
#define PL_OUT_OF_LINE __attribute__((noinline, cold))

/*
 * Looks at a path as openat(2) has it. nofollow: a symlink that is its last component counts
 * itself. Leaves errno alone, takes no lock; loads the provider's library where an interface of a
 * function is looked for.
 */
enum pl_kind pl_lookup(int dirfd, const char *path, bool nofollow, struct pl_path *p);
/* The folder of the tree that has the entries of a layer. */
void pl_layer(enum pl_root root, unsigned layer, char *buf, size_t len);
/* Is dpa0 to be seen at all (not DPA_DISABLE=1). */
bool pl_enabled(void);
/* Functions that are to be seen: dpa0, and as many SFs as the setting `functions` says. */
unsigned pl_functions(void);
/* Folder of this library, for its siblings. */
const char *pl_libdir(void);

/* Name of an entry: "dpa0" or "dpa0_sf1". */
void pl_entry_name(const char *stem, unsigned function, char *buf, size_t len);
/*
 * dpadv_port_file() of the provider's library, which is loaded for the first call, not before: it
 * knows GIDs and what the adapter has.
 */
int pl_port_text(unsigned function, const char *name, char *text, size_t len);
/* A descriptor that reads as the text of a live file; -1 and errno. */
int pl_live_open(unsigned function, const char *name, int flags);
/* Gives st the identity of a live file, or of that which fd was opened as. */
void pl_live_look(unsigned function, const char *name, struct stat *st);
void pl_live_fix(int fd, struct stat *st);
/* The device node: /dev/null, or something that passes for it where there is none. */
int pl_node_open(int flags);
int pl_node_stat(struct stat *st);
/* Corrects what fstat says of such a stand-in. */
void pl_node_fix(struct stat *st);
/* Everything of ours is read-only: 0, or EACCES for flags that want to write. */
int pl_check_flags(int flags);

/* The next definition of a function that this library interposes; kept, as dlsym is not cheap. */
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
