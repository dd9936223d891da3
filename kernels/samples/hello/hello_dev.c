/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hello_dev.c - a thread that says hello when it is notified, and the RPC that notifies it. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_sync_event.h>

__dpa_global__ void hello_thread(uint64_t event)
{
	DOCA_DPA_DEV_LOG_INFO("Hello from a DPA thread\n");
	doca_dpa_dev_sync_event_update_set(event, 1);
	doca_dpa_dev_thread_finish();
}

__dpa_rpc__ uint64_t hello_notify(doca_dpa_dev_t dpa, doca_dpa_dev_notification_completion_t comp)
{
	if (dpa)
		doca_dpa_dev_device_set(dpa);
	DOCA_DPA_DEV_LOG_INFO("An RPC notifies the thread\n");
	doca_dpa_dev_thread_notify(comp);
	return 42;
}
