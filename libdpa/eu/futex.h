/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* futex.h - waiting for a word of this process to change. */
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
 * Sleeps while *word is `seen`, up to timeout_ms (negative: no limit). Returns early for any
 * reason: the caller looks again.
 */
static inline void dpa_futex_wait(_Atomic uint32_t *word, uint32_t seen, int timeout_ms)
{
	struct timespec ts = {.tv_sec = timeout_ms / 1000,
			      .tv_nsec = (long)(timeout_ms % 1000) * 1000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, timeout_ms < 0 ? NULL : &ts, NULL, 0);
}

/* The address is not read: it may belong to an object that is freed by now. */
static inline void dpa_futex_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#endif
