/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PRELOAD_PLACED_H
#define PRELOAD_PLACED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is [addr, addr + length) private memory, a part of which is a private mapping of the device's
 * memfd? Reads the list of mappings: only for a call that has failed. Any thread, in a signal
 * handler, within malloc(); sets errno.
 */
bool pl_is_placed(const void *addr, size_t length);

#endif
