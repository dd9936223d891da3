/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pages.h - moves whole pages of private anonymous memory into a memfd in place, and back. share.c
 * decides what may be converted, when, and for which peers.
 */
#ifndef DPA_PAGES_H
#define DPA_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include "board/mr_way.h"
#include "direct/vma.h"

#define DPA_PAGE 4096ull

/* The memfd. */
struct dpa_pages {
	int fd;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

/* Kinds of the way back. */
enum dpa_back {
	DPA_BACK_COPIED, /* private anonymous memory; no thread may store there meanwhile */
	DPA_BACK_PLACED, /* private mapping with a copy of each page: no store is lost */
	DPA_BACK_CHILD,	 /* copied, in a child of one thread: the pages stay the parent's */
};

/* Is it a mapping of the memfd, shared or private? */
bool dpa_vma_is_of(const struct dpa_pages *p, const struct dpa_vma *v);
/* May this process write a file of that size (RLIMIT_FSIZE)? */
bool dpa_pages_in_limit(uint64_t size);
/* Open a sealed memfd of that size, all holes. 0 or errno. */
int dpa_pages_open(struct dpa_pages *p, uint64_t size);
/*
 * Decide whether the mappings of [start, end) may be converted. self: addresses that must not be in
 * it.
 */
enum dpa_share_why dpa_pages_may(const struct dpa_pages *p, uint64_t start, uint64_t end,
				 const uint64_t *self, int nself);
/*
 * Convert [start, end) into the memfd at `off`. No thread may store there meanwhile. On an errno
 * everything is as before.
 */
int dpa_pages_share(const struct dpa_pages *p, uint64_t start, uint64_t end, uint64_t off);
/*
 * Make mappings of [off, off + room) private, wherever the application has moved them. at: address
 * where [off, off + length) was put. On an errno a part is still shared.
 */
int dpa_pages_unshare(const struct dpa_pages *p, uint64_t at, uint64_t off, uint64_t length,
		      uint64_t room, enum dpa_back how);

/*
 * Empties what lies in [addr, addr + length) of the memfd: it reads as zeros in each mapping, and its
 * memory is free. The caller gives the pages themselves back as well (MADV_DONTNEED), because one
 * that became private meanwhile keeps its bytes. 0: the range has none of ours; DPA_PAGES_EMPTIED;
 * else errno. Any thread, under no lock.
 */
#define DPA_PAGES_EMPTIED -1
int dpa_pages_empty(const struct dpa_pages *p, uint64_t addr, uint64_t length);
/* The same for the n bytes of the memfd behind the mapping that ends at `end`: is it done? */
bool dpa_pages_empty_behind(const struct dpa_pages *p, uint64_t end, uint64_t n);
/*
 * Is all of [start, end) a shared mapping of the memfd, from `off` on? No, where it cannot be found
 * out.
 */
bool dpa_pages_in_place(const struct dpa_pages *p, uint64_t start, uint64_t end, uint64_t off);
/* Does [addr, addr + length) have any? */
bool dpa_pages_any(const struct dpa_pages *p, uint64_t addr, uint64_t length);
/* Does the descriptor still lead to the memfd? The program may have closed it (closefrom). */
bool dpa_pages_have_fd(const struct dpa_pages *p);
/*
 * Does the kernel let other processes of the user reach the memory of this one
 * (process_vm_writev(2))? Not one that is not dumpable, nor with Yama, unless it has named them:
 * `any`, PR_SET_PTRACER_ANY.
 */
bool dpa_proc_open_to_user(bool any);
/* kernel.yama.ptrace_scope: 0: all; 1: ancestors and tracers it names; 2: with capabilities; 3: none. */
static inline bool dpa_yama_opens(int scope, bool any)
{
	return scope == 0 || (scope == 1 && any);
}

/* Has [start, end) advice that pages which take its place would not have (MADV_DONTFORK, ...)? */
bool dpa_proc_advised(uint64_t start, uint64_t end);

/* Threads, and kB of VmPin and VmLck, from /proc/self/status; false: not available. */
struct dpa_proc_status {
	uint32_t threads;
	uint64_t pinned, locked;
};
bool dpa_proc_status(struct dpa_proc_status *s);
/*
 * True if the process has a file open whose driver may have pinned pages of it without VmPin (a
 * GPU's: cuMemHostRegister()), or if this cannot be found out. Checks each descriptor: some 0.5 us
 * each.
 */
bool dpa_proc_pins(void);

#endif
