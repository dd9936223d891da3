/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* extra.h - our entries in a folder that is listed. */
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
 * Return the entries that a listing shows after those of the open folder: entries of the other
 * layers, and entries that are in no layer. p: of kind PL_FILE or PL_MERGE. NULL: none, or no
 * memory. The caller frees the result.
 */
struct pl_extra *pl_extra_find(const struct pl_path *p);

#endif
