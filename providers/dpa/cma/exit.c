/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * exit(): the kernel destroys the ids of a process that ends, and their peers get DREQ, DREP or
 * REJ. A survivor of the adapter instance does it for a process that was killed; a process that
 * ends in order does it itself, for there may be no survivor.
 */
#include <time.h>
#include "cma/cma.h"

#define LOCK_WAIT 1 /* s: exit() was called below a holder of the lock, by a signal's handler */

/* Listeners stay: a forked child may go on with them. */
static void leave_connections(void)
{
	for (uint32_t i = 0; i < cma.num_ids; i++) {
		struct cma_id *id = cma.ids[i];

		if (!id || !id->conn)
			continue;
		id->state = CMA_DISCONNECT;
		cma_conn_leave(id->conn);
	}
}

/* Runs before the destructor of the device's library, which this one needs. */
__attribute__((destructor)) static void at_exit(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LOCK_WAIT;
	if (pthread_mutex_timedlock(&cma.lock, &until))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cma.cancel); /* as cma_lock() has it */
	if (cma.engine == CMA_ENGINE_ON)
		leave_connections();
	cma_unlock();
}
