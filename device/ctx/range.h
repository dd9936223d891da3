/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* range.h - checks that a range of addresses is mapped. */
#ifndef DPA_CTX_RANGE_H
#define DPA_CTX_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

struct dpa_hw;

/* The kernel's PROCMAP_QUERY (<linux/fs.h> of 6.11): 9*8 + 4*4 + 2*8 = 104 bytes. */
struct dpa_map_query {
	uint64_t size, flags, addr; /* in; flags: required properties of the mapping */
	uint64_t start, end, vma_flags, page_size, offset, inode; /* out */
	uint32_t dev_major, dev_minor, name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};
_Static_assert(sizeof(struct dpa_map_query) == 104, "PROCMAP_QUERY");
#define DPA_MAP_QUERY _IOWR('f', 17, struct dpa_map_query)
enum { DPA_VMA_READ = 1, DPA_VMA_WRITE = 2, DPA_VMA_EXEC = 4, DPA_VMA_SHARED = 8 };
/* Of the flags in: of a file (PROCMAP_QUERY_FILE_BACKED_VMA), a device or an anonymous inode, too. */
#define DPA_VMA_FILE 0x20u

int dpa_range_check(struct dpa_hw *hw, uint64_t addr, uint64_t length, bool write);

#endif
