/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mad.c - messages of the communication manager, by a table of their fields. */
#include "../include/dpa_mad.h"
#include <string.h>

#define BASE_VERSION  1
#define CLASS_CM      0x07
#define CLASS_VERSION 2
#define METHOD_SEND   0x03
#define INFO_MAX      72

struct field {
	uint16_t at;   /* in struct dpa_mad */
	uint8_t size;  /* there; 0: an array of bytes */
	uint8_t byte;  /* after the header */
	uint8_t shift; /* bits before it in its byte, the highest first */
	uint8_t n;     /* bits, or bytes of an array */
};

struct form {
	const struct field *fields;
	size_t n;
};

/* clang-format off */
#define U(type, name, byte, bit, bits) \
	{offsetof(struct dpa_mad, OF.name), (type) / 8, (byte), (bit), (bits)},
#define B(name, byte, len) {offsetof(struct dpa_mad, OF.name), 0, (byte), 0, (len)},
#define OF req
static const struct field req[] = {DPA_CM_REQ_FIELDS(U, B)};
#undef OF
#define OF mra
static const struct field mra[] = {DPA_CM_MRA_FIELDS(U, B)};
#undef OF
#define OF rej
static const struct field rej[] = {DPA_CM_REJ_FIELDS(U, B)};
#undef OF
#define OF rep
static const struct field rep[] = {DPA_CM_REP_FIELDS(U, B)};
#undef OF
#define OF rtu
static const struct field rtu[] = {DPA_CM_RTU_FIELDS(U, B)};
#undef OF
#define OF dreq
static const struct field dreq[] = {DPA_CM_DREQ_FIELDS(U, B)};
#undef OF
#define OF drep
static const struct field drep[] = {DPA_CM_DREP_FIELDS(U, B)};
#undef OF
#define OF sidr_req
static const struct field sidr_req[] = {DPA_CM_SIDR_REQ_FIELDS(U, B)};
#undef OF
#define OF sidr_rep
static const struct field sidr_rep[] = {DPA_CM_SIDR_REP_FIELDS(U, B)};
#undef OF
#define FORM(x) {x, sizeof(x) / sizeof((x)[0])}
static const struct form forms[] = {FORM(req), FORM(mra), FORM(rej), FORM(rep), FORM(rtu),
				    FORM(dreq), FORM(drep), FORM(sidr_req), FORM(sidr_rep)};
/* clang-format on */

static const struct form *form_of(uint16_t attr)
{
	return attr >= DPA_CM_REQ && attr <= DPA_CM_SIDR_REP ? &forms[attr - DPA_CM_REQ] : NULL;
}

/* The bits from `bit` of p on, bytewise: no more bytes are touched than have some of them. */
static uint64_t get_bits(const uint8_t *p, unsigned int bit, unsigned int n)
{
	uint64_t v = 0;

	for (unsigned int i = bit; i < bit + n; i++)
		v = v << 1 | (p[i / 8] >> (7 - i % 8) & 1);
	return v;
}

static void put_bits(uint8_t *p, unsigned int bit, unsigned int n, uint64_t v)
{
	for (unsigned int i = bit + n; i-- > bit; v >>= 1)
		p[i / 8] |= (uint8_t)((v & 1) << (7 - i % 8));
}

static void set_number(void *to, unsigned int size, uint64_t v)
{
	uint8_t v8 = (uint8_t)v;
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	memcpy(to,
	       size == 1   ? &v8
	       : size == 2 ? (void *)&v16
	       : size == 4 ? (void *)&v32
			   : &v,
	       size);
}

static uint64_t number(const void *from, unsigned int size)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v;

	switch (size) {
	case 1:
		return *(const uint8_t *)from;
	case 2:
		memcpy(&v16, from, 2);
		return v16;
	case 4:
		memcpy(&v32, from, 4);
		return v32;
	default:
		memcpy(&v, from, 8);
		return v;
	}
}

static bool info_fits(const struct dpa_mad *m)
{
	if (m->attr == DPA_CM_REJ)
		return m->rej.info_length <= INFO_MAX;
	return m->attr != DPA_CM_SIDR_REP || m->sidr_rep.info_length <= INFO_MAX;
}

static enum dpa_mad_verdict header_verdict(const uint8_t *p)
{
	if (p[0] != BASE_VERSION)
		return DPA_MAD_VERSION;
	if (p[1] != CLASS_CM)
		return DPA_MAD_CLASS;
	if (p[2] != CLASS_VERSION)
		return DPA_MAD_VERSION;
	return p[3] == METHOD_SEND ? DPA_MAD_OK : DPA_MAD_METHOD;
}

static void get_fields(const uint8_t *p, const struct form *form, struct dpa_mad *m)
{
	for (const struct field *f = form->fields; f < form->fields + form->n; f++) {
		uint8_t *to = (uint8_t *)m + f->at;

		if (f->size)
			set_number(to, f->size, get_bits(p, f->byte * 8u + f->shift, f->n));
		else
			memcpy(to, p + f->byte, f->n);
	}
}

enum dpa_mad_verdict dpa_mad_decode(const uint8_t *p, size_t n, struct dpa_mad *m)
{
	const struct form *form;
	enum dpa_mad_verdict v;

	memset(m, 0, sizeof(*m));
	if (n != DPA_MAD_BYTES)
		return DPA_MAD_SIZE;
	v = header_verdict(p);
	if (v != DPA_MAD_OK)
		return v;
	form = form_of((uint16_t)get_bits(p, 16 * 8, 16));
	if (!form)
		return DPA_MAD_ATTR;
	m->status = (uint16_t)get_bits(p, 4 * 8, 16);
	m->class_specific = (uint16_t)get_bits(p, 6 * 8, 16);
	m->tid = get_bits(p, 8 * 8, 64);
	m->attr = (uint16_t)get_bits(p, 16 * 8, 16);
	m->modifier = (uint32_t)get_bits(p, 20 * 8, 32);
	get_fields(p + DPA_MAD_HDR, form, m);
	if (info_fits(m))
		return DPA_MAD_OK;
	memset(m, 0, sizeof(*m));
	return DPA_MAD_INFO;
}

static bool put_fields(const struct dpa_mad *m, const struct form *form, uint8_t *p)
{
	for (const struct field *f = form->fields; f < form->fields + form->n; f++) {
		const uint8_t *from = (const uint8_t *)m + f->at;
		uint64_t v;

		if (!f->size) {
			memcpy(p + f->byte, from, f->n);
			continue;
		}
		v = number(from, f->size);
		if (f->n < 64 && v >> f->n)
			return false;
		put_bits(p, f->byte * 8u + f->shift, f->n, v);
	}
	return true;
}

bool dpa_mad_encode(const struct dpa_mad *m, uint8_t p[DPA_MAD_BYTES])
{
	const struct form *form = form_of(m->attr);

	memset(p, 0, DPA_MAD_BYTES);
	if (!form || !info_fits(m))
		return false;
	p[0] = BASE_VERSION;
	p[1] = CLASS_CM;
	p[2] = CLASS_VERSION;
	p[3] = METHOD_SEND;
	put_bits(p, 4 * 8, 16, m->status);
	put_bits(p, 6 * 8, 16, m->class_specific);
	put_bits(p, 8 * 8, 64, m->tid);
	put_bits(p, 16 * 8, 16, m->attr);
	put_bits(p, 20 * 8, 32, m->modifier);
	if (put_fields(m, form, p + DPA_MAD_HDR))
		return true;
	memset(p, 0, DPA_MAD_BYTES);
	return false;
}
