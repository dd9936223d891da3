/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* format.c - a small vsnprintf: it runs in the image, takes no lock and calls nothing. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "format.h"

struct out {
	char *p, *end; /* end: the last byte, reserved for the zero */
	bool cut;
};

struct spec {
	bool left, plus, space, zero, alt;
	int width, prec; /* prec -1: not given */
	int size;	 /* bytes of an integer argument */
	char conv;
};

static void put_char(struct out *o, char c)
{
	if (o->p < o->end)
		*o->p++ = c;
	else
		o->cut = true;
}

static void put_padding(struct out *o, char c, int n)
{
	while (n-- > 0)
		put_char(o, c);
}

static void put_field(struct out *o, const struct spec *s, const char *p, int n)
{
	if (!s->left)
		put_padding(o, ' ', s->width - n);
	for (int i = 0; i < n; i++)
		put_char(o, p[i]);
	if (s->left)
		put_padding(o, ' ', s->width - n);
}

/* sign or "0x", zeroes, digits */
static void put_number(struct out *o, const struct spec *s, const char *prefix, const char *digits,
		       int n)
{
	int np = (int)strlen(prefix), zeroes = s->prec > n ? s->prec - n : 0, fill;

	if (s->zero && !s->left && s->prec < 0 && s->width > np + n)
		zeroes = s->width - np - n;
	fill = s->width - np - zeroes - n;
	if (!s->left)
		put_padding(o, ' ', fill);
	while (*prefix)
		put_char(o, *prefix++);
	put_padding(o, '0', zeroes);
	for (int i = 0; i < n; i++)
		put_char(o, digits[i]);
	if (s->left)
		put_padding(o, ' ', fill);
}

static int to_digits(char *end, uint64_t v, unsigned int base, bool upper)
{
	const char *set = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	int n = 0;

	do
		end[-++n] = set[v % base];
	while (v /= base);
	return n;
}

static const char *sign_of(const struct spec *s, bool negative)
{
	if (negative)
		return "-";
	return s->plus ? "+" : s->space ? " " : "";
}

static void put_signed(struct out *o, const struct spec *s, int64_t v)
{
	char d[24];
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
	int n = to_digits(d + sizeof(d), u, 10, false);

	put_number(o, s, sign_of(s, v < 0), d + sizeof(d) - n, n);
}

static void put_unsigned(struct out *o, const struct spec *s, uint64_t v)
{
	char d[24];
	unsigned int base = s->conv == 'u' ? 10 : s->conv == 'o' ? 8 : 16;
	int n = to_digits(d + sizeof(d), v, base, s->conv == 'X');
	const char *prefix = "";

	if (s->alt && v && base == 16)
		prefix = s->conv == 'X' ? "0X" : "0x";
	else if (s->alt && v && base == 8)
		prefix = "0";
	put_number(o, s, prefix, d + sizeof(d) - n, n);
}

/* Print fixed notation up to 2^64; beyond it, and for NaN and infinity, a word. */
static void put_double(struct out *o, const struct spec *s, double v)
{
	char d[48];
	int prec = s->prec < 0 ? 6 : s->prec > 18 ? 18 : s->prec, n;
	uint64_t scale = 1, whole, frac;
	struct spec plain = *s;

	plain.prec = -1;
	if (v != v || v > 1e19 || v < -1e19) {
		plain.zero = false;
		put_number(o, &plain, sign_of(s, v < 0), v != v ? "nan" : "big", 3);
		return;
	}
	for (int i = 0; i < prec; i++)
		scale *= 10;
	whole = (uint64_t)(v < 0 ? -v : v);
	frac = (uint64_t)(((v < 0 ? -v : v) - (double)whole) * (double)scale + 0.5);
	if (frac >= scale) {
		whole++;
		frac -= scale;
	}
	n = 0;
	if (prec) {
		n = to_digits(d + sizeof(d), frac, 10, false);
		while (n < prec)
			d[sizeof(d) - (size_t)++n] = '0';
		d[sizeof(d) - (size_t)++n] = '.';
	}
	n += to_digits(d + sizeof(d) - n, whole, 10, false);
	put_number(o, &plain, sign_of(s, v < 0), d + sizeof(d) - n, n);
}

static const char *read_flags(struct spec *s, const char *f)
{
	for (;; f++) {
		if (*f == '-')
			s->left = true;
		else if (*f == '+')
			s->plus = true;
		else if (*f == ' ')
			s->space = true;
		else if (*f == '0')
			s->zero = true;
		else if (*f == '#')
			s->alt = true;
		else
			return f;
	}
}

static const char *read_int(const char *f, int *v)
{
	for (*v = 0; *f >= '0' && *f <= '9'; f++)
		if (*v < 100000)
			*v = *v * 10 + (*f - '0');
	return f;
}

static const char *read_size(struct spec *s, const char *f)
{
	for (s->size = sizeof(int);; f++) {
		switch (*f) {
		case 'h':
			s->size /= 2;
			break;
		case 'l':
		case 'z':
		case 't':
		case 'j':
			s->size = 8;
			break;
		default:
			return f;
		}
	}
}

static int64_t narrow_to(uint64_t v, int size)
{
	switch (size) {
	case 1:
		return (int8_t)v;
	case 2:
		return (int16_t)v;
	case 4:
		return (int32_t)v;
	default:
		return (int64_t)v;
	}
}

static uint64_t size_mask(int size)
{
	return size == 8 ? ~0ull : (1ull << (size * 8)) - 1;
}

/* A va_list passed on by address: each conversion takes its argument from the same list. */
struct args {
	va_list ap;
};

static uint64_t next_int(struct args *a, int size)
{
	return size == 8 ? va_arg(a->ap, uint64_t) : va_arg(a->ap, unsigned int);
}

static void put_string(struct out *o, const struct spec *s, const char *p)
{
	size_t n;

	if (!p)
		p = "(null)";
	n = s->prec < 0 ? strlen(p) : strnlen(p, (size_t)s->prec);
	put_field(o, s, p, (int)n);
}

static void convert_spec(struct out *o, struct spec *s, struct args *a)
{
	char c;

	switch (s->conv) {
	case 'd':
	case 'i':
		put_signed(o, s, narrow_to(next_int(a, s->size), s->size));
		break;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		put_unsigned(o, s, next_int(a, s->size) & size_mask(s->size));
		break;
	case 'p':
		s->alt = true;
		s->conv = 'x';
		put_unsigned(o, s, (uintptr_t)va_arg(a->ap, void *));
		break;
	case 'c':
		c = (char)va_arg(a->ap, int);
		put_field(o, s, &c, 1);
		break;
	case 's':
		put_string(o, s, va_arg(a->ap, const char *));
		break;
	case 'f':
	case 'F':
	case 'g':
	case 'e':
		put_double(o, s, va_arg(a->ap, double));
		break;
	default:
		put_char(o, '%');
		if (s->conv && s->conv != '%')
			put_char(o, s->conv);
	}
}

static const char *read_spec(struct spec *s, const char *f, struct args *a)
{
	memset(s, 0, sizeof(*s));
	s->prec = -1;
	f = read_flags(s, f);
	if (*f == '*') {
		f++;
		s->width = va_arg(a->ap, int);
		if (s->width < 0) {
			s->left = true;
			s->width = -s->width;
		}
	} else {
		f = read_int(f, &s->width);
	}
	if (*f == '.') {
		if (*++f == '*') {
			f++;
			s->prec = va_arg(a->ap, int);
		} else {
			f = read_int(f, &s->prec);
		}
	}
	f = read_size(s, f);
	s->conv = *f;
	return *f ? f + 1 : f;
}

size_t dpa_dev_format(char *buf, size_t size, const char *format, va_list ap)
{
	struct out o = {.p = buf, .end = buf + size - 1};
	const char *f = format;
	struct args a;
	struct spec s;

	va_copy(a.ap, ap);
	while (*f) {
		if (*f != '%') {
			put_char(&o, *f++);
			continue;
		}
		f = read_spec(&s, f + 1, &a);
		convert_spec(&o, &s, &a);
	}
	va_end(a.ap);
	*o.p = 0;
	if (o.cut && f > format && f[-1] == '\n')
		o.p[-1] = '\n';
	return (size_t)(o.p - buf);
}
