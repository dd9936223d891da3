/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pages.h - whole pages of private anonymous memory into a memfd in place, and back. share.c
 * decides what may be converted, when, and for whom.
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
	char name[64]; /* the beginning of it */
};

/* The memfd. */
struct dpa_pages {
	int fd;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
};

/* How the pages come back. */
enum dpa_back {
	DPA_BACK_COPIED, /* private anonymous memory; nobody may store there meanwhile */
	DPA_BACK_PLACED, /* a private mapping with a copy of each page: no store is lost */
	DPA_BACK_CHILD,	 /* the same in a forked child: the pages are the parent's, and stay */
};

/* A sealed memfd of that size, all holes: 0 or errno. */
int dpa_pages_open(struct dpa_pages *p, uint64_t size);
/* May [start, end) be converted, as far as mappings go? `self`: addresses that must not be in it.
 */
enum dpa_share_why dpa_pages_may(const struct dpa_pages *p, uint64_t start, uint64_t end,
				 const uint64_t *self, int nself);
/*
 * Converts [start, end) into the memfd at `off`; nobody may store there meanwhile. errno: all is as
 * before.
 */
int dpa_pages_share(const struct dpa_pages *p, uint64_t start, uint64_t end, uint64_t off);
/*
 * Mappings of [off, off + room) become private; wherever the application has moved it. at:
 * where [off, off + length) was put. errno: some of it is still shared.
 */
int dpa_pages_unshare(const struct dpa_pages *p, uint64_t at, uint64_t off, uint64_t length,
		      uint64_t room, enum dpa_back how);

/* Threads, and kB of VmPin and VmLck, as /proc/self/status has them; false: it does not. */
struct dpa_proc_status {
	uint32_t threads;
	uint64_t pinned, locked;
};
bool dpa_proc_status(struct dpa_proc_status *s);
/*
 * Does the process have a file open whose driver may have pinned pages of it without VmPin (a GPU's:
 * cuMemHostRegister())? A look at each descriptor: some 0.5 us for one. Also if that cannot be told.
 */
bool dpa_proc_pins(void);

#endif
