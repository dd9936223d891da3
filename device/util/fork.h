/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fork.h - a gate that fork() waits for. */
#ifndef DPA_UTIL_FORK_H
#define DPA_UTIL_FORK_H

/*
 * Between these two calls the process does not fork, because its descriptors are not all recorded
 * where the child's half of fork() finds them. Context: no lock held at the first call; peer_lock
 * may be taken in between.
 */
void dpa_fork_hold(void);
void dpa_fork_release(void);
/* In the child, which has one thread. */
void dpa_fork_reset(void);

#endif
