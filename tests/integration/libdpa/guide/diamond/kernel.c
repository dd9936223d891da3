/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Wait until all parents have changed its event, and change those of its children. */
#include "doca_dpa_dev.h"
#include "doca_dpa_dev_sync_event.h"

__dpa_global__ void diamond_kernel(doca_dpa_dev_sync_event_t wait_ev, uint64_t wait_th,
				   doca_dpa_dev_sync_event_t comp_ev1,
				   doca_dpa_dev_sync_event_t comp_ev2)
{
	if (wait_ev)
		doca_dpa_dev_sync_event_wait_gt(wait_ev, wait_th, UINT64_MAX);
	doca_dpa_dev_sync_event_update_add(comp_ev1, 1);
	if (comp_ev2)
		doca_dpa_dev_sync_event_update_add(comp_ev2, 1);
}
