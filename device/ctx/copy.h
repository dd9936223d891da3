/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* copy.h - copies to memory that packets name: return 0 or an errno, never raise a signal. */
#ifndef DPA_LINK_COPY_H
#define DPA_LINK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dpa_hw;

#define DPA_COPY_PIECES 34u /* segments of one copy at most */

int dpa_copy_out(struct dpa_hw *hw, uint64_t dst, const void *src, size_t n); /* 0 or EFAULT */
int dpa_copy_in(struct dpa_hw *hw, void *dst, uint64_t src, size_t n);
struct iovec;
/*
 * Returns the size of the last part to store at `end`, n bytes at most: an aligned number, or the
 * last byte. A program may poll on it, so it must be stored in one access and after all other
 * bytes. The kernel's copies and memcpy(3) store in any order (string instructions do), but one
 * copy is complete before the next.
 */
static inline uint32_t dpa_last_bytes(uint64_t end, size_t n)
{
	return n >= 8 && end % 8 == 0	? 8
	       : n >= 4 && end % 4 == 0 ? 4
	       : n >= 2 && end % 2 == 0 ? 2
					: 1;
}
/*
 * Split the last bytes from the segments of v; `out` has room for one segment more. Returns their
 * number.
 */
int dpa_last_apart(const struct iovec *v, int cnt, uint64_t end, struct iovec *out);
int dpa_copy_out_v(struct dpa_hw *hw, uint64_t dst, const struct iovec *src, uint32_t cnt,
		   size_t n);
/* Read from a peer's memory into ours. Both sides may fault: 0, EFAULT or EPERM. */
bool dpa_copy_probe(pid_t pid, uint64_t addr, uint64_t expect);
/* At open: allow other processes of the user to do so, if the knob `ptracer` is set. */
void dpa_copy_offer(const struct dpa_hw *hw);
int dpa_copy_pull(pid_t pid, const struct iovec *dst, int ndst, const struct iovec *src, int nsrc,
		  size_t n);

#endif
