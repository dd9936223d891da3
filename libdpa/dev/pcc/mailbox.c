/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mailbox.c - the entry of the mailbox, of both kinds of congestion control programs: image.h. */
#include <doca_pcc_dev_services.h>
#include "pcc_dev.h"

__dpa_global__ void __dpa_pcc_mailbox(uint64_t arg)
{
	struct dpa_pcc_mail *m = (struct dpa_pcc_mail *)arg;

	m->handled = doca_pcc_dev_user_mailbox_handle != 0;
	m->response_size = 0;
	m->result = DOCA_PCC_DEV_STATUS_FAIL;
	if (m->handled)
		m->result = doca_pcc_dev_user_mailbox_handle(m->request, m->request_size,
							     m->max_response, m->response,
							     &m->response_size);
}
