/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* format.h - printf's formats for device code. */
#ifndef DPA_DEV_FORMAT_H
#define DPA_DEV_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Write at most size - 1 bytes and a zero; return the bytes written without the zero. A truncated
 * text ends in a newline if the whole text would. Supports flags "-+ 0#", width, precision, "*", hh
 * h l ll z t j, and d i u x X o c s p f %.
 */
size_t dpa_dev_format(char *buf, size_t size, const char *format, va_list ap);

#endif
