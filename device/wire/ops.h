/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.h - shared by the codec's files: the table of opcodes, big-endian words. */
#ifndef DPA_ROCE_OPS_H
#define DPA_ROCE_OPS_H

#include <endian.h>
#include <string.h>
#include "roce.h"

struct dpa_roce_op {
	uint16_t ext; /* enum dpa_roce_ext; 0: unknown */
	uint8_t hdr;  /* bytes of BTH and extended headers */
	const char *name;
};

extern const struct dpa_roce_op dpa_roce_ops[256];

#define DPA_ROCE_CNP_RESERVED 16

/* Big-endian words at any address. */
static inline uint32_t dpa_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

static inline uint32_t dpa_getle32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return le32toh(v);
}

static inline uint32_t dpa_get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint64_t dpa_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return be64toh(v);
}

static inline uint8_t *dpa_put16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, 2);
	return p + 2;
}

static inline uint8_t *dpa_put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, 4);
	return p + 4;
}

static inline uint8_t *dpa_put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, 8);
	return p + 8;
}

/* A byte and 24 bits: the form of most header words. */
static inline uint8_t *dpa_put8_24(uint8_t *p, uint8_t hi, uint32_t lo)
{
	return dpa_put32(p, (uint32_t)hi << 24 | (lo & 0xffffff));
}

#endif
