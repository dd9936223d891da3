/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* faults.c - converts the faults of a link from and to text. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "units.h"

static const char *const rate_names[DPA_FAULT_KINDS] = {
	[DPA_FAULT_DROP] = "drop",	 [DPA_FAULT_DUP] = "dup",
	[DPA_FAULT_REORDER] = "reorder", [DPA_FAULT_DELAY] = "delay",
	[DPA_FAULT_CORRUPT] = "corrupt", [DPA_FAULT_TRUNCATE] = "truncate",
};
static const char *const only_names[] = {"all", "requests", "responses"};

/* Keys after the rates, as bits of the keys seen so far. */
enum { KEY_SEED = DPA_FAULT_KINDS, KEY_QPN, KEY_ONLY };

bool dpa_fault_any(const struct dpa_fault_spec *f)
{
	for (int i = 0; i < DPA_FAULT_KINDS; i++)
		if (f->ppm[i])
			return true;
	return false;
}

static bool parse_duration(const char **s, uint32_t *us)
{
	uint64_t v;

	if (!dpa_units_number(s, DPA_FAULT_DELAY_MAX, &v))
		return false;
	if (strncmp(*s, "ms", 2) == 0)
		v *= 1000;
	else if (strncmp(*s, "us", 2) != 0)
		return false;
	*s += 2;
	*us = (uint32_t)v;
	return v && v <= DPA_FAULT_DELAY_MAX;
}

static bool qp_number(const char **s, uint32_t *qpn)
{
	uint64_t v = 0;
	int n = 0;

	if (strncmp(*s, "0x", 2) != 0) {
		if (!dpa_units_number(s, 0xffffff, &v))
			return false;
	} else {
		for (*s += 2; isxdigit((unsigned char)**s) && n < 6; (*s)++, n++) {
			int c = tolower((unsigned char)**s);

			v = v << 4 | (uint64_t)(isdigit(c) ? c - '0' : c - 'a' + 10);
		}
	}
	*qpn = (uint32_t)v;
	return v > 1; /* 0 and 1 are not QPs of users */
}

static bool parse_only(const char **s, enum dpa_fault_only *only)
{
	for (int i = DPA_FAULT_ALL; i <= DPA_FAULT_RESPONSES; i++) {
		size_t n = strlen(only_names[i]);

		if (strncmp(*s, only_names[i], n) == 0) {
			*s += n;
			*only = (enum dpa_fault_only)i;
			return true;
		}
	}
	return false;
}

static int find_fault_key(const char *s, size_t len)
{
	static const char *const others[] = {"seed", "qpn", "only"};

	for (int i = 0; i <= KEY_ONLY; i++) {
		const char *name =
			i < DPA_FAULT_KINDS ? rate_names[i] : others[i - DPA_FAULT_KINDS];

		if (strlen(name) == len && memcmp(name, s, len) == 0)
			return i;
	}
	return -1;
}

static bool parse_fault_value(const char **s, int key, struct dpa_fault_spec *f)
{
	switch (key) {
	case KEY_SEED:
		return dpa_units_number(s, UINT64_MAX, &f->seed);
	case KEY_QPN:
		return qp_number(s, &f->qpn);
	case KEY_ONLY:
		return parse_only(s, &f->only);
	case DPA_FAULT_DELAY:
		return dpa_units_share(s, &f->ppm[key]) && *(*s)++ == ':' &&
		       parse_duration(s, &f->delay_us);
	default:
		return dpa_units_share(s, &f->ppm[key]);
	}
}

bool dpa_fault_parse(const char *text, struct dpa_fault_spec *out)
{
	struct dpa_fault_spec f = {.set = true};
	unsigned seen = 0;

	if (strlen(text) >= DPA_FAULT_TEXT)
		return false;
	if (strcmp(text, "off") == 0) {
		*out = f;
		return true;
	}
	for (;;) {
		size_t len = strcspn(text, "=");
		int key = find_fault_key(text, len);

		if (key < 0 || text[len] != '=' || (seen & 1u << key))
			return false;
		seen |= 1u << key;
		text += len + 1;
		if (!parse_fault_value(&text, key, &f))
			return false;
		if (*text == '\0')
			break;
		if (*text++ != ',')
			return false;
	}
	*out = f;
	return true;
}

static void fault_rate_text(uint32_t ppm, char *buf, size_t len)
{
	int n = snprintf(buf, len, "%u.%04u", ppm / 10000, ppm % 10000);

	while (n > 0 && buf[n - 1] == '0')
		n--;
	if (n > 0 && buf[n - 1] == '.')
		n--;
	snprintf(buf + n, len - (size_t)n, "%%");
}

void dpa_fault_text(const struct dpa_fault_spec *f, char *buf, size_t len)
{
	char r[24];
	size_t at = 0;

	snprintf(buf, len, "%s", f->set ? "off" : "");
	if (!f->set || !dpa_fault_any(f))
		return;
	for (int i = 0; i < DPA_FAULT_KINDS && at < len; i++) {
		if (!f->ppm[i])
			continue;
		fault_rate_text(f->ppm[i], r, sizeof(r));
		at += (size_t)snprintf(buf + at, len - at, "%s%s=%s", at ? "," : "", rate_names[i],
				       r);
		if (i == DPA_FAULT_DELAY && at < len)
			at += (size_t)snprintf(buf + at, len - at, ":%uus", f->delay_us);
	}
	if (f->only && at < len)
		at += (size_t)snprintf(buf + at, len - at, ",only=%s", only_names[f->only]);
	if (f->qpn && at < len)
		at += (size_t)snprintf(buf + at, len - at, ",qpn=0x%06x", f->qpn);
	if (at < len)
		snprintf(buf + at, len - at, ",seed=%llu", (unsigned long long)f->seed);
}
