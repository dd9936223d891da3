/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* count.c - count the completions of an unmodified program, on an EU. */
#include <doca_dpa_dev.h>
#include <dpa/dpa_dev_native.h>

static uint64_t good, bad;

__dpa_global__ void count(uint64_t comp)
{
	doca_dpa_dev_completion_element_t e;

	while (doca_dpa_dev_get_completion(comp, &e)) {
		if (dpa_dev_completion_status(e))
			bad++;
		else
			good++;
		doca_dpa_dev_completion_ack(comp, 1);
	}
	DOCA_DPA_DEV_LOG_INFO("observed %lu good, %lu bad\n", good, bad);
	doca_dpa_dev_completion_request_notification(comp);
	doca_dpa_dev_thread_reschedule();
}

/* Fault at the tenth. */
__dpa_global__ void crash(uint64_t comp)
{
	doca_dpa_dev_completion_element_t e;

	while (doca_dpa_dev_get_completion(comp, &e))
		if (++good == 10)
			*(volatile uint64_t *)8 = good;
	doca_dpa_dev_completion_request_notification(comp);
	doca_dpa_dev_thread_reschedule();
}
