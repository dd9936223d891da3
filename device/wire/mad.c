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
	const char *name;
	uint16_t at;   /* offset in struct dpa_mad */
	uint8_t size;  /* size there; 0: an array of bytes */
	uint8_t byte;  /* after the header */
	uint8_t shift; /* bits before it in its byte, highest first */
	uint8_t n;     /* bits, or bytes of an array */
};

struct form {
	const char *name;
	const struct field *fields;
	size_t n;
};

/* clang-format off */
#define U(m, type, name, byte, bit, bits) \
	{#name, offsetof(struct dpa_mad, m.name), (type) / 8, (byte), (bit), (bits)},
#define B(m, name, byte, len) {#name, offsetof(struct dpa_mad, m.name), 0, (byte), 0, (len)},
#define FIELDS(attr, m) static const struct field m[] = {DPA_CM_##attr##_FIELDS(U, B, m)};
#define FORM(attr, m) [DPA_CM_##attr - DPA_CM_REQ] = {#attr, m, sizeof(m) / sizeof((m)[0])},
#define FORMS(X) \
	X(REQ, req) X(MRA, mra) X(REJ, rej) X(REP, rep) X(RTU, rtu) X(DREQ, dreq) X(DREP, drep) \
	X(SIDR_REQ, sidr_req) X(SIDR_REP, sidr_rep)
FORMS(FIELDS)
static const struct form forms[] = {FORMS(FORM)};
/* clang-format on */

static const struct form *form_of(uint16_t attr)
{
	return attr >= DPA_CM_REQ && attr <= DPA_CM_SIDR_REP ? &forms[attr - DPA_CM_REQ] : NULL;
}

/* Returns n bits from `bit` of p on, bytewise: touches only bytes that contain some of them. */
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

static void set_field_number(void *to, unsigned int size, uint64_t v)
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

static uint64_t get_field_number(const void *from, unsigned int size)
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
			set_field_number(to, f->size, get_bits(p, f->byte * 8u + f->shift, f->n));
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
		v = get_field_number(from, f->size);
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

void dpa_mad_each(const struct dpa_mad *m, dpa_mad_field_fn *fn, void *arg)
{
	const struct form *form = form_of(m->attr);

	for (size_t i = 0; form && i < form->n; i++) {
		const struct field *f = &form->fields[i];

		if (f->size)
			fn(arg, f->name, get_field_number((const uint8_t *)m + f->at, f->size));
	}
}

const char *dpa_mad_attr_name(uint16_t attr)
{
	const struct form *form = form_of(attr);

	return form ? form->name : "?";
}

const char *dpa_mad_verdict_name(enum dpa_mad_verdict v)
{
	static const char *const names[] = {
		[DPA_MAD_OK] = "no fault",
		[DPA_MAD_SIZE] = "not 256 bytes",
		[DPA_MAD_VERSION] = "version of the MAD or of its class",
		[DPA_MAD_CLASS] = "not communication management",
		[DPA_MAD_METHOD] = "method is not ComMgtSend",
		[DPA_MAD_ATTR] = "attribute is not one of RoCE's CM",
		[DPA_MAD_INFO] = "information length above 72",
	};

	return v < sizeof(names) / sizeof(names[0]) ? names[v] : "?";
}
