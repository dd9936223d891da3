/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mr_way.h - how peers reach a memory region, and why not in a faster way; shown by dpactl ps. */
#ifndef DPA_MR_WAY_H
#define DPA_MR_WAY_H

enum dpa_mr_way {
	DPA_WAY_LOCAL,	    /* not for peers */
	DPA_WAY_RING,	    /* packets only */
	DPA_WAY_PROCESS_VM, /* peers copy (process_vm), if their kernel lets them */
	DPA_WAY_MAPPED,	    /* peers map its whole pages at first use */
	DPA_WAYS,
};

/* clang-format off */
#define DPA_SHARE_WHYS(X)                                                                          \
	X(YES, "")                                                                                 \
	X(POLICY, "share_mr is never")                                                             \
	X(ACCESS, "no remote access")                                                              \
	X(KIND, "device memory, foreign memory, or the null region")                               \
	X(ON_DEMAND, "on-demand region")                                                           \
	X(PARTIAL, "no whole page")                                                                \
	X(THREADS, "the process has other threads")                                                \
	X(PINNED, "memory of the process is pinned or locked")                                     \
	X(DEVICE, "the process has a device open, or asynchronous I/O")                            \
	X(OVERLAP, "overlaps a region that is not shared")                                         \
	X(NOT_ANON, "not private anonymous memory that can be written")                            \
	X(STACK, "a thread's stack")                                                               \
	X(FULL, "too many regions are shared")                                                     \
	X(KERNEL, "the kernel does not let it be exchanged")                                       \
	X(FORKED, "the process has forked since, or changed the memory")                                                  \
	X(DIRECT, "direct is never")                                                               \
	X(GUARD, "no restartable sequences")                                                       \
	X(PRELOAD, "the preload library is not there, or not first")                               \
	X(BUDGET, "more than share_region or share_total")                                         \
	X(ADVISED, "madvise() has made it special memory")                                         \
	X(APART, "the kernel keeps other processes from its memory")
/* clang-format on */

enum dpa_share_why {
#define X(name, text) DPA_SHARE_##name,
	DPA_SHARE_WHYS(X)
#undef X
		DPA_SHARE_NUM
};

extern const char *const dpa_share_why_text[DPA_SHARE_NUM]; /* board/mem.c */

#endif
