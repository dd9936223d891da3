/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_memory.h - calls of a program that change memory (madvise, munmap, mremap, ...), between the
 * preload, which sees them first, and the device, which may have exchanged pages of that memory for
 * pages that other processes map (device/direct/share.h).
 *
 * The preload exports one struct dpa_memory_watch by the name `dpa_memory_watch`. The device looks
 * for it with dlsym(). Without it the device exchanges no pages under `share_mr = auto`.
 *
 *   from, to   written by the device (relaxed): an exchanged page lies in [from, to); from >= to:
 *              there is none. Both only widen while there is one
 *   ask        written by the device (release) when it opens and closes; read (acquire) by any
 *              thread, before its call
 */
#ifndef DPA_MEMORY_H
#define DPA_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

#define DPA_MEMORY_VERSION 1u

/* The effect that a call is about to have. */
enum dpa_memory_call {
	/* The bytes go: MADV_DONTNEED, MADV_FREE. Exchanged pages are emptied, and stay exchanged. */
	DPA_MEMORY_EMPTY,
	/* The mapping or its protection goes: munmap, mprotect, mmap(MAP_FIXED). It cannot be kept
	 * from happening. */
	DPA_MEMORY_CHANGE,
	/* Right on private memory only: mlock, MADV_DONTFORK and the like. */
	DPA_MEMORY_PRIVATE,
	/* mremap, which may put it elsewhere and add `more` bytes behind it, all zeros. */
	DPA_MEMORY_MOVE,
	/* An error on private memory: MADV_REMOVE. */
	DPA_MEMORY_REMOVE,
};

/*
 * The answer of `ask`: PASS, make the call as it is; EMPTIED, to EMPTY only: some of it is, so make
 * the call as MADV_DONTNEED; else an errno to fail with: EAGAIN, it cannot be private now; EINVAL.
 */
enum { DPA_MEMORY_PASS = 0, DPA_MEMORY_EMPTIED = -1 };

struct dpa_memory_watch {
	uint32_t version;
	_Atomic uint32_t special; /* written by the preload: some memory has had advice that a page
				   * which is exchanged would lose (MADV_DONTFORK) */
	_Atomic uint64_t from, to;
	/*
	 * Called by any thread, in a signal handler, within malloc() and with its locks: allocates
	 * nothing, waits for no lock that a thread may hold which allocates, leaves errno alone.
	 */
	_Atomic(int (*)(uint32_t call, uint64_t addr, uint64_t length, uint64_t more)) ask;
};

#endif
