/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* futex.h - waits for a change of a word of this process. */
#ifndef DPA_EU_FUTEX_H
#define DPA_EU_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Sleep while *word is `seen`, up to timeout_ms (negative: no limit). May return early: the caller
 * checks the word again.
 */
static inline void dpa_futex_wait(_Atomic uint32_t *word, uint32_t seen, int timeout_ms)
{
	struct timespec ts = {.tv_sec = timeout_ms / 1000,
			      .tv_nsec = (long)(timeout_ms % 1000) * 1000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_ms < 0 ? NULL : &ts, NULL, 0);
}

/* Wake up to n waiters. The address is not read: its object may be freed already. */
static inline void dpa_futex_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#endif
