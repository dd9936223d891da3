/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* far_owner.h - what the program far_owner, an exporter, writes to its standard output. */
#ifndef TEST_LIBDPA_DMA_FAR_OWNER_H
#define TEST_LIBDPA_DMA_FAR_OWNER_H

#include <stddef.h>

enum { FAR_OWNER_MEM = 12 << 20, FAR_OWNER_BYTE = 0x5a };

/* Its export, and the address of its memory: FAR_OWNER_MEM bytes, all FAR_OWNER_BYTE. */
struct far_owner {
	char blob[512];
	size_t len;
	char *mem;
};

#endif
