/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>
#include <stdarg.h>
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "units.h"

bool dpa_units_number(const char **s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**s))
		return false;
	for (; isdigit((unsigned char)**s); (*s)++) {
		uint64_t d = (uint64_t)(**s - '0');

		if (d > max || v > (max - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*out = v;
	return true;
}

/* Parses the digits after a point, where 1 is `unit`. False: they are finer than the unit. */
static bool add_fraction(const char **s, uint64_t unit, uint64_t *v)
{
	if (**s != '.')
		return true;
	if (!isdigit((unsigned char)*++*s))
		return false;
	for (; isdigit((unsigned char)**s); (*s)++) {
		if (unit % 10)
			return false;
		unit /= 10;
		*v += (uint64_t)(**s - '0') * unit;
	}
	return true;
}

bool dpa_units_share(const char **s, uint32_t *ppm)
{
	uint64_t v;

	if (!dpa_units_number(s, DPA_UNITS_MILLION, &v))
		return false;
	if (strncmp(*s, "ppm", 3) == 0) {
		*s += 3;
		*ppm = (uint32_t)v;
		return true;
	}
	v *= DPA_UNITS_MILLION / 100;
	if (!add_fraction(s, DPA_UNITS_MILLION / 100, &v))
		return false;
	*ppm = (uint32_t)v;
	return *(*s)++ == '%' && v <= DPA_UNITS_MILLION;
}

bool dpa_units_time(const char **s, uint64_t max, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	uint64_t v;

	if (!dpa_units_number(s, max, &v) || !v)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].name);

		if (strncmp(*s, units[i].name, n) != 0)
			continue;
		*s += n;
		*ns = v * units[i].ns;
		return v <= max / units[i].ns;
	}
	return false;
}

bool dpa_units_rate(const char **s, uint64_t max, uint64_t *bits)
{
	const char *at = *s;
	uint64_t unit = 1, v;

	at += strspn(at, "0123456789.");
	if (*at == 'K')
		unit = 1000;
	else if (*at == 'M')
		unit = 1000000;
	else if (*at == 'G')
		unit = 1000000000;
	if (!dpa_units_number(s, max / unit, &v))
		return false;
	v *= unit;
	if (!add_fraction(s, unit, &v))
		return false;
	*s += unit > 1;
	*bits = v;
	return v && v <= max;
}

bool dpa_units_bytes(const char **s, uint64_t max, uint64_t *bytes)
{
	uint64_t v, unit = 1;

	if (!dpa_units_number(s, max, &v))
		return false;
	if (**s == 'K' || **s == 'M')
		unit = *(*s)++ == 'K' ? 1u << 10 : 1u << 20;
	*bytes = v * unit;
	return v <= max / unit;
}

char *dpa_units_bare(char *line)
{
	size_t len;

	line[strcspn(line, "#\n")] = '\0';
	line += strspn(line, " \t\r");
	len = strlen(line);
	while (len && strchr(" \t\r", line[len - 1]))
		line[--len] = '\0';
	return line;
}

void dpa_units_put(struct dpa_units_out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (o->at >= o->len)
		return;
	va_start(ap, fmt);
	n = vsnprintf(o->buf + o->at, o->len - o->at, fmt, ap);
	va_end(ap);
	o->at += n > 0 ? (size_t)n : 0;
}
