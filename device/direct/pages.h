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

#define DPA_PAGE 4096ull

/* A mapping of this process. */
struct dpa_vma {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	int prot; /* PROT_* */
	bool shared;
	char name[64]; /* the beginning of its name */
};

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
	DPA_BACK_CHILD,	 /* the same in a forked child: the pages stay the parent's */
};

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
