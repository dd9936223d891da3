/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * exit.c - exit(): the kernel destroys the ids of a process that ends, and their peers get DREQ,
 * DREP or REJ. For a killed process another process of the adapter instance does this. A process
 * that ends normally does it itself, because there may be no other process.
 */
#include <time.h>
#include "cma/cma.h"

#define REST_MS	  300
#define LOCK_WAIT 1 /* s: exit() was called by a signal handler while the lock was held */

/* Listeners stay: a forked child may continue to use them. */
static void leave_connections(void)
{
	for (uint32_t i = 0; i < cma.num_ids; i++) {
		struct cma_id *id = cma.ids[i];

		if (!id || !id->conn)
			continue;
		cma_id_enter(id, CMA_DISCONNECT);
		cma_conn_leave(id->conn);
	}
}

/* MADs behind a full send queue: there is no engine any more that would send them later. */
static void send_the_rest(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	for (int i = 0; cma.unsent && i < REST_MS; i++) {
		nanosleep(&ms, NULL);
		cma_unsent_round();
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
	if (cma.engine == CMA_ENGINE_ON) {
		leave_connections();
		send_the_rest();
	}
	cma_unlock();
}
