/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_buf.h - arrays of bufs, in the form that doca_buf_array writes and device code reads. Not for
 * programs.
 */
#ifndef DPA_BUF_H_
#define DPA_BUF_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 8 + 8 + 4 + 12 = 32 bytes */
struct doca_dpa_dev_buf {
	uintptr_t addr;
	uint64_t len;  /* bytes */
	uint32_t mmap; /* doca_dpa_dev_mmap_t */
	unsigned char reserved[12];
} __attribute__((packed));

/* 8 + 20 bytes, filled to 64 */
struct doca_dpa_dev_buf_arr {
	struct doca_dpa_dev_buf *bufs;
	unsigned char reserved[20];
} __attribute__((packed, aligned(64)));

#ifdef __cplusplus
}
#endif

#endif /* DPA_BUF_H_ */
