/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* state.c - the process's state of rdma_cm, its lock, and the wake-up of the engine's thread. */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "dpa.h"
#include "cma/cma.h"

struct cma cma = {.lock = PTHREAD_MUTEX_INITIALIZER,
		  .wake = -1,
		  .early_tail = &cma.early,
		  .unsent_tail = &cma.unsent};

/*
 * Not cancellable meanwhile: reads and writes are cancellation points, and the lock would stay
 * held.
 */
void cma_lock(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&cma.lock);
	cma.cancel = cancel;
}

void cma_unlock(void)
{
	int cancel = cma.cancel;

	pthread_mutex_unlock(&cma.lock);
	pthread_setcancelstate(cancel, NULL);
}

void cma_engine_ready(void *arg)
{
	const uint64_t one = 1;
	int fd = *(int *)arg;
	ssize_t n = syscall(SYS_write, fd, &one, sizeof(one));

	(void)n;
}

void cma_engine_wake(void)
{
	if (cma.engine == CMA_ENGINE_ON)
		cma_engine_ready(&cma.wake);
}
