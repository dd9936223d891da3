/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* clock.h - time of a test's own: link it with -Wl,--wrap=clock_gettime. */
#ifndef CMA_TEST_CLOCK_H
#define CMA_TEST_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC of this program goes on by so much, and the engine looks at its timers. */
void clock_advance(uint64_t ms);

/* Real time does not go on in it any more: clock_advance() alone moves it. Once, in one thread. */
void clock_stop(void);

#endif
