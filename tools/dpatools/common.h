/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* common.h - functions shared by dpa-ps, dpa-statistics and dpaeumgmt. */
#ifndef DPATOOLS_COMMON_H
#define DPATOOLS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wrong usage is 2, every other failure 1. */
enum { EXIT_FAIL = 1, EXIT_USE = 2 };

extern const char *tool_name;

/* Print one line on standard error, and exit. */
_Noreturn void tool_die(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Get the path of this user's adapter state and the number of the device in it. Exits if there is
 * no such device.
 */
uint32_t tool_device(const char *device, char *board, size_t len);
/* Parse a whole text as a number; what: for the message. base 10 or 16. */
uint32_t tool_number(const char *text, int base, uint32_t max, const char *what);
void tool_end(void); /* Flush the output; exits on failure. */

#endif
