/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* clock.h - the clock of the device. */
#ifndef DPA_CLOCK_H
#define DPA_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t dpa_now_ns(void);

#endif
