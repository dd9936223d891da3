/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* common.h - what dpa-ps, dpa-statistics and dpaeumgmt share. */
#ifndef DPATOOLS_COMMON_H
#define DPATOOLS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wrong use is 2, everything else that fails 1. */
enum { EXIT_FAIL = 1, EXIT_USE = 2 };

extern const char *tool_name;

/* One line on standard error. */
_Noreturn void tool_die(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * The path of this user's adapter state and the number of the device in it. Dies if there is no
 * such device.
 */
uint32_t tool_device(const char *device, char *board, size_t len);
/* A number with nothing behind it; what: for the message. base 10 or 16. */
uint32_t tool_number(const char *text, int base, uint32_t max, const char *what);
void tool_end(void); /* flushes; dies if that fails */

#endif
