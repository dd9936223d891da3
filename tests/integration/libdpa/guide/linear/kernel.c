/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Wait for the previous event in the chain, if there is one, and change the next. */
#include "doca_dpa_dev.h"
#include "doca_dpa_dev_sync_event.h"

__dpa_global__ void linear_kernel(doca_dpa_dev_sync_event_t wait_ev,
				  doca_dpa_dev_sync_event_t comp_ev)
{
	if (wait_ev)
		doca_dpa_dev_sync_event_wait_gt(wait_ev, 0, UINT64_MAX);
	DOCA_DPA_DEV_LOG_INFO("linear\n");
	doca_dpa_dev_sync_event_update_add(comp_ev, 1);
}
