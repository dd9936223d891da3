/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stage.h - many small payloads to where packets say, by one system call.
 *
 * Memory that a packet names is the kernel's to touch (copy.c). Its cost is the call: so the
 * payloads are put behind each other into a piece of a memfd of this process, and preadv(2) of that
 * piece has their places as its iovec. From the front to the end, up to one that is not there.
 *
 *   taken    A bit a piece: a thread sets it by CAS (acquire) and clears it (release); what is in
 *            the piece is that thread's.
 *   broken   Whoever finds that the descriptor is not ours any more: nobody stages again.
 *
 * The descriptor may be closed under our feet (closefrom(2)), its number even be somebody else's:
 * it is a high one, which nobody gets by chance, and each call reads a header along, which tells.
 */
#ifndef DPA_STAGE_H
#define DPA_STAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct dpa_hw;

#define DPA_PUTS	 64u	      /* of one call */
#define DPA_STAGE_PIECES 16u	      /* threads at once; others copy one by one */
#define DPA_STAGE_BYTES	 (32u * 1024) /* a piece: its header, the payloads */

struct dpa_stage {
	int fd;
	uint8_t *base; /* NULL: there is none */
	uint64_t mark; /* of this process */
	_Atomic uint32_t taken;
	_Atomic bool broken; /* relaxed */
};

struct dpa_puts {
	struct dpa_stage *stage;
	uint32_t piece;
	uint32_t n, bytes;
	uint32_t niov;		/* of `to` */
	uint16_t len[DPA_PUTS]; /* of each */
	uint64_t got[2];	/* the header, as it came */
	struct iovec to[1 + 2 * DPA_PUTS];
};

/* At open and at close of the device; *s is zero. That there is none is no error. */
void dpa_stage_open(struct dpa_stage *s);
void dpa_stage_close(struct dpa_stage *s);

/* False: there is none, or all pieces are in use. Else dpa_puts_end() must follow. */
bool dpa_puts_begin(struct dpa_stage *s, struct dpa_puts *p);
/* False: no room for n (1 or more) bytes. */
bool dpa_puts_add(struct dpa_puts *p, uint64_t dst, const void *src, uint32_t n);
/*
 * How many of them, from the first on, are where they belong. Of the next one some bytes may be;
 * it is for dpa_copy_out(), which knows why.
 */
uint32_t dpa_puts_end(struct dpa_puts *p);

#endif
