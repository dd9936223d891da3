/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* extra.h - the entries of ours in a folder that is listed. */
#ifndef DPA_PRELOAD_EXTRA_H
#define DPA_PRELOAD_EXTRA_H

#include <limits.h>
#include <stddef.h>

struct pl_path;

struct pl_entry {
	unsigned char type; /* DT_* */
	char name[NAME_MAX + 1];
};

/* One block of malloc(). */
struct pl_extra {
	size_t num, room;
	struct pl_entry entries[];
};

/*
 * What a listing of a folder shows behind what the open folder itself has: entries of the other
 * layers, and those that are in none. p: PL_FILE or PL_MERGE. NULL: nothing, or no memory.
 */
struct pl_extra *pl_extra_find(const struct pl_path *p);

#endif
