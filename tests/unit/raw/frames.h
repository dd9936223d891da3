/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* frames.h - frames built header by header. */
#ifndef DPA_TEST_FRAMES_H
#define DPA_TEST_FRAMES_H

#include <string.h>
#include "raw/raw.h"

struct frame {
	uint32_t n;
	uint8_t b[512];
};

static inline void fr_put(struct frame *f, const void *p, uint32_t n)
{
	memcpy(f->b + f->n, p, n);
	f->n += n;
}

#define FR(f, ...)                                                                                 \
	do {                                                                                       \
		static const uint8_t bytes_[] = {__VA_ARGS__};                                     \
		fr_put(f, bytes_, sizeof(bytes_));                                                 \
	} while (0)

#define FR_MACS(f)	FR(f, 1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16)
#define FR_ETH(f, type) /* of two bytes */                                                         \
	do {                                                                                       \
		FR_MACS(f);                                                                        \
		FR(f, (type) >> 8, (type)&255);                                                    \
	} while (0)
/* 10.1.1.1 to 10.2.2.2, TOS 0x28, TTL 61, do not fragment */
#define FR_IPV4(f, proto)                                                                          \
	FR(f, 0x45, 0x28, 0, 40, 0, 0, 0x40, 0, 61, proto, 0, 0, 10, 1, 1, 1, 10, 2, 2, 2)
#define FR_IPV4_PIECE(f, proto)                                                                    \
	FR(f, 0x45, 0x28, 0, 40, 0, 0, 0x20, 9, 61, proto, 0, 0, 10, 1, 1, 1, 10, 2, 2, 2)
/* 2001::1 to 2001::2, class 0xab, label 0xcdef1, hop limit 33 */
#define FR_IPV6(f, next)                                                                           \
	FR(f, 0x6a, 0xbc, 0xde, 0xf1, 0, 20, next, 33, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   \
	   0, 0, 1, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)
#define FR_UDP(f, src, dst) FR(f, (src) >> 8, (src)&255, (dst) >> 8, (dst)&255, 0, 8, 0, 0)
#define FR_TCP(f, src, dst)                                                                        \
	FR(f, (src) >> 8, (src)&255, (dst) >> 8, (dst)&255, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, \
	   0, 0, 0, 0)

static inline struct dpa_layers fr_parse(const struct frame *f)
{
	struct dpa_layers v;

	dpa_frame_parse(f->b, f->n, &v);
	return v;
}

#endif
