/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* vma.h - the mappings of this process, one after the other. Nothing here allocates memory. */
#ifndef DPA_DIRECT_VMA_H
#define DPA_DIRECT_VMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mapping of this process. */
struct dpa_vma {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	int prot; /* PROT_* */
	bool shared;
	char name[64]; /* the beginning of it; "" from dpa_maps_query() */
};

/* /proc/self/maps, open. */
struct dpa_maps {
	int fd;
	size_t n, at;
	char buf[8192];
};

bool dpa_maps_open(struct dpa_maps *m);
void dpa_maps_close(struct dpa_maps *m);
/* The next line, without its newline; NULL: that was all. Long ones are cut. */
char *dpa_maps_line(struct dpa_maps *m);
/* The next mapping of the text; false: that was all. */
bool dpa_maps_next(struct dpa_maps *m, struct dpa_vma *v);
/*
 * The mapping at addr, or the next one behind it, by one system call. 0; ENOENT: there is none;
 * ENOTTY: this kernel cannot tell (before Linux 6.11).
 */
int dpa_maps_query(const struct dpa_maps *m, uint64_t addr, struct dpa_vma *v);
/*
 * The same with its name, and only among mappings that have all of `which`: DPA_VMA_SHARED,
 * DPA_VMA_FILE (ctx/range.h).
 */
int dpa_maps_query_named(const struct dpa_maps *m, uint64_t addr, uint32_t which,
			 struct dpa_vma *v);
/* The first mapping that ends behind addr, by the shorter of these ways; with one `m`, addr only grows. */
bool dpa_maps_at(struct dpa_maps *m, uint64_t addr, struct dpa_vma *v);

#endif
