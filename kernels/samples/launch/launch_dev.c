/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* launch_dev.c - kernels that record in the log that they ran. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_sync_event.h>
#include "launch.h"

static void note_stage(uint64_t addr, uint64_t who)
{
	struct launch_log *log = (struct launch_log *)addr;

	log->who[__atomic_fetch_add(&log->num, 1, __ATOMIC_RELAXED) % 16] = who;
}

/*
 * One stage of a graph: waits for the stages before it, signals those after it. Handles may be 0.
 */
__dpa_global__ void stage_kernel(doca_dpa_dev_sync_event_t wait, uint64_t above,
				 doca_dpa_dev_sync_event_t next, doca_dpa_dev_sync_event_t other,
				 uint64_t log, uint64_t name)
{
	if (wait)
		doca_dpa_dev_sync_event_wait_gt(wait, above, UINT64_MAX);
	note_stage(log, name);
	DOCA_DPA_DEV_LOG_INFO("stage %c\n", (int)name);
	doca_dpa_dev_sync_event_update_add(next, 1);
	if (other)
		doca_dpa_dev_sync_event_update_add(other, 1);
}

/* Several threads of one launch. */
__dpa_global__ void rank_kernel(uint64_t log)
{
	note_stage(log, doca_dpa_dev_thread_rank() + 100 * doca_dpa_dev_num_threads());
	DOCA_DPA_DEV_LOG_INFO("Hello from rank %u of %u\n", doca_dpa_dev_thread_rank(),
			      doca_dpa_dev_num_threads());
}

__dpa_rpc__ uint64_t log_size(uint64_t log)
{
	return ((struct launch_log *)log)->num;
}
