/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * preload.h - the discovery preload: shows a program the device dpa0 beside the host's real ones.
 *
 * The library keeps no tables of descriptors and writes no files: a path is looked at, and either
 * replaced by one of the static tree of this build (share/dpa) or left alone. Directories that the
 * host has too get one more entry at their end. What is not below one of the few folders concerned
 * costs a comparison of a few characters. errno is as the real call leaves it.
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
	PL_FILE,  /* of the static tree: pl_path.at */
	PL_LIVE,  /* a file whose text is made when it is opened: pl_path.at is its name */
	PL_NODE,  /* the character device of dpa0 */
	PL_MERGE, /* a directory that the host has too: as it is, and pl_path.extra in it */
};

struct pl_path {
	enum pl_kind kind;
	const char *extra;
	char at[PATH_MAX];
};

/*
 * Can be asked of any path on any stack: pl_lookup() and what follows it need 16 KiB, so they are
 * kept out of line and off the way of paths that are not ours.
 */
static inline bool pl_maybe(const char *path)
{
	/*
	 * The headers declare that paths are not NULL, so that compilers leave out the check.
	 * Programs that probe for EFAULT pass NULL all the same: make the compiler forget.
	 */
	__asm__("" : "+r"(path));
	return path && (strstr(path, "infiniband") || (path[0] != '/' && strstr(path, PL_DEVICE)));
}
#define PL_OUT_OF_LINE __attribute__((noinline, cold))

/*
 * Looks at a path as openat(2) has it. Leaves errno alone, allocates nothing, takes no lock.
 */
enum pl_kind pl_lookup(int dirfd, const char *path, struct pl_path *p);
/* Is dpa0 to be seen at all (not DPA_DISABLE=1). */
bool pl_enabled(void);
/* Folder of this library, for its siblings. */
const char *pl_libdir(void);

/* A descriptor that reads as the text of a live file; -1 and errno. */
int pl_live_open(const char *name, int flags);
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
