/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Custom headers and priorities of the probes of a flow. */
#include <doca_pcc_dev_event.h>
#include "pcc_dev.h"

doca_pcc_dev_error_t doca_pcc_dev_custom_header_set(doca_pcc_dev_algo_ctxt_t *algo_ctxt,
						    doca_pcc_dev_event_t *event, uint32_t *header,
						    uint32_t header_size, uint32_t wait_completed)
{
	uint32_t words[DPA_PCC_HEADER];

	(void)algo_ctxt;
	(void)wait_completed;
	if (!header || header_size > DPA_PCC_HEADER)
		return DOCA_PCC_DEV_STATUS_FAIL;
	__builtin_memcpy(words, header, header_size * sizeof(words[0]));
	return __dpa_ops->pcc_probe_header(doca_pcc_dev_get_flowtag(event), words, header_size)
		       ? DOCA_PCC_DEV_STATUS_FAIL
		       : DOCA_PCC_DEV_STATUS_OK;
}

doca_pcc_dev_error_t doca_pcc_dev_probe_prio_set(doca_pcc_dev_algo_ctxt_t *algo_ctxt,
						 doca_pcc_dev_event_t *event,
						 uint32_t use_custom_prio, uint32_t prio,
						 uint32_t wait_completed)
{
	(void)algo_ctxt;
	(void)wait_completed;
	if (use_custom_prio && prio > DPA_PCC_DSCP_MAX)
		return DOCA_PCC_DEV_STATUS_FAIL;
	return __dpa_ops->pcc_probe_dscp(doca_pcc_dev_get_flowtag(event),
					 use_custom_prio ? prio : DPA_PCC_DSCP_NONE)
		       ? DOCA_PCC_DEV_STATUS_FAIL
		       : DOCA_PCC_DEV_STATUS_OK;
}
