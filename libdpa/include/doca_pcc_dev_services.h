/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* doca_pcc_dev_services.h - messages to the host's program, and from it. */
#ifndef DOCA_PCC_DEV_SERVICES_H_
#define DOCA_PCC_DEV_SERVICES_H_

#include <doca_pcc_dev_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The program may implement it: handle a message of doca_pcc_mailbox_send(). `response` has room
 * for max_response_size bytes; *response_size is 0 at first. The host receives its return value as
 * the result of the call.
 */
DOCA_EXPERIMENTAL
doca_pcc_dev_error_t doca_pcc_dev_user_mailbox_handle(void *request, uint32_t request_size,
						      uint32_t max_response_size, void *response,
						      uint32_t *response_size)
	__attribute__((weak));

/* Print to the standard output of the host's program. Formats: as for doca_dpa_dev_log(). */
DOCA_STABLE
void doca_pcc_dev_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Trace one line, by a format of doca_pcc_set_trace_message(): the five numbers under its index.
 * Written when the buffer is half full, by the flush, and at the stop.
 */
DOCA_STABLE
void doca_pcc_dev_trace_5(int format_id, uint64_t arg1, uint64_t arg2, uint64_t arg3, uint64_t arg4,
			  uint64_t arg5);
DOCA_STABLE
void doca_pcc_dev_trace_flush(void);
/*
 * Return the index of the calling thread among those of doca_pcc_set_thread_affinity(), from 0 on.
 */
DOCA_EXPERIMENTAL
unsigned int doca_pcc_dev_thread_rank(void);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_PCC_DEV_SERVICES_H_ */
