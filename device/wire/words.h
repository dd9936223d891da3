/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* words.h - big-endian words at any address, and the checksum of IPv4's header. */
#ifndef DPA_WIRE_WORDS_H
#define DPA_WIRE_WORDS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t dpa_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t dpa_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

/* Little-endian. */
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

/* Checksum of an IPv4 header of 20 bytes; its own field is 0. */
static inline uint16_t dpa_ip_sum(const uint8_t *h)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += dpa_get16(h + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

#endif
