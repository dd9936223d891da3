/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * units.h - numbers with units, in settings with several values. Each function reads from *s on and
 * sets *s behind what it read. False: a bad value; *s is then undefined.
 */
#ifndef DPA_UNITS_H
#define DPA_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define DPA_UNITS_MILLION 1000000u

/* Digits only, at most max. */
bool dpa_units_number(const char **s, uint64_t max, uint64_t *out);
/* "1%", "0.25%", "300ppm": to parts per million. A share that is not exact is refused. */
bool dpa_units_share(const char **s, uint32_t *ppm);
/* "500ns", "50us", "2ms", "1s": to nanoseconds, 1 to max. */
bool dpa_units_time(const char **s, uint64_t max, uint64_t *ns);
/* "800M", "10G", "2.5G", "1000000": bits per second, 1 to max. K, M and G are powers of 1000. */
bool dpa_units_rate(const char **s, uint64_t max, uint64_t *bits);
/* "4096", "256K", "2M": bytes, up to max. K and M are powers of 1024. */
bool dpa_units_bytes(const char **s, uint64_t max, uint64_t *bytes);

/*
 * End the line at its comment (#), its line feed and trailing blanks, in place. Return its first
 * character behind blanks.
 */
char *dpa_units_bare(char *line);

/* Text that is written in parts: `at` of `len` bytes. Text without room is cut off; then `at` >= len. */
struct dpa_units_out {
	char *buf;
	size_t len, at;
};
void dpa_units_put(struct dpa_units_out *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
