/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fork.c - a gate that a thread holds while it has descriptors that are not recorded yet. */
#include <pthread.h>
#include "util/fork.h"

static pthread_mutex_t fd_gate = PTHREAD_MUTEX_INITIALIZER;

void dpa_fork_hold(void)
{
	pthread_mutex_lock(&fd_gate);
}

void dpa_fork_release(void)
{
	pthread_mutex_unlock(&fd_gate);
}

void dpa_fork_reset(void)
{
	pthread_mutex_init(&fd_gate, NULL);
}
