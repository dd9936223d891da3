/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * stage.h - bounce buffer: places many small payloads in named memory by one system call.
 *
 * Only the kernel touches memory that a packet names (copy.c). The cost is in the call. So the
 * payloads are put one behind the other into a segment of a memfd of this process, and preadv(2) of
 * that segment has their destinations as its iovec. It stores them in order, up to the first
 * destination that is not mapped.
 *
 *   taken    One bit for each segment: a thread sets it by CAS (acquire) and clears it (release).
 *            The contents of the segment belong to that thread.
 *   broken   Set by a thread that finds that the descriptor is not ours any more: from then on the
 *            bounce buffer is not used.
 *
 * The application may close the descriptor (closefrom(2)), and its number may belong to another
 * file. So it is a high number, which no open returns by chance, and each call also reads a header,
 * which shows this.
 */
#ifndef DPA_STAGE_H
#define DPA_STAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct dpa_hw;

#define DPA_PUTS	 64u	      /* in one call */
#define DPA_STAGE_PIECES 16u	      /* threads at the same time; others copy one by one */
#define DPA_STAGE_BYTES	 (32u * 1024) /* a segment: its header and the payloads */

struct dpa_stage {
	int fd;
	uint8_t *base; /* NULL: there is no bounce buffer */
	uint64_t mark; /* identifies this process */
	_Atomic uint32_t taken;
	_Atomic bool broken; /* relaxed */
};

struct dpa_puts {
	struct dpa_stage *stage;
	uint32_t piece;
	uint32_t n, bytes;
	uint32_t niov;		/* elements of `to` */
	uint16_t len[DPA_PUTS]; /* bytes of each payload */
	uint64_t got[2];	/* the header as it was read */
	struct iovec to[1 + 2 * DPA_PUTS];
};

/* Called when the device is opened and closed; *s is zero. A missing bounce buffer is no error. */
void dpa_stage_open(struct dpa_stage *s);
void dpa_stage_close(struct dpa_stage *s);

/* False: there is none, or all segments are in use. Otherwise dpa_puts_end() must follow. */
bool dpa_puts_begin(struct dpa_stage *s, struct dpa_puts *p);
/* False: no room for n (1 or more) bytes. */
bool dpa_puts_add(struct dpa_puts *p, uint64_t dst, const void *src, uint32_t n);
/*
 * Place them. Returns how many, from the first on, are in place. The next one may be partly in
 * place; dpa_copy_out() copies it again and returns the reason.
 */
uint32_t dpa_puts_end(struct dpa_puts *p);

#endif
