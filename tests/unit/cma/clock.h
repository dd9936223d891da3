/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* clock.h - a clock under control of the test: link it with -Wl,--wrap=clock_gettime. */
#ifndef CMA_TEST_CLOCK_H
#define CMA_TEST_CLOCK_H

#include <stdint.h>

/* Advance CLOCK_MONOTONIC of this program; the engine then checks its timers. */
void clock_advance(uint64_t ms);

/*
 * Stop the influence of real time: only clock_advance() moves the clock. Call it once, in one
 * thread.
 */
void clock_stop(void);

#endif
