/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * preload.h - the discovery preload: shows a program dpa0, and the SFs that are configured, beside
 * the host's real devices.
 *
 * The library keeps no tables of descriptors and writes no files: a path is looked at, and either
 * replaced by one of the static tree of this build (share/dpa) or left alone. Directories that the
 * host has too get further entries at their end. What is not below one of the few folders concerned
 * costs a comparison of a few characters. errno is as the real call leaves it.
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
	PL_FILE,  /* of the static tree: pl_path.at */
	PL_LIVE,  /* a file whose text is made when it is opened: pl_path.at is its name */
	PL_NODE,  /* the character device of dpa0 */
	PL_MERGE, /* a directory that the host has too: as it is, and pl_path.more in it */
};

/* Entries of devices that a directory is shown to have at its end, after its own. */
struct pl_more {
	const char *stem;  /* PL_DEVICE or PL_UVERBS; NULL: none */
	unsigned from, to; /* functions: 0 is dpa0, N is dpa0_sfN; to is not one of them */
};

struct pl_path {
	enum pl_kind kind;
	unsigned function;   /* of a live file */
	struct pl_more more; /* of a directory: PL_MERGE, or PL_FILE where the host has none */
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
