/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wc.h - how the device ends a WQE with a status that was asked for. */
#ifndef DPA_INJECT_WC_H
#define DPA_INJECT_WC_H

#include <stddef.h>
#include <stdint.h>

struct dpa_inject_end {
	uint8_t status;	   /* enum dpa_cqe_status; DPA_CQE_OK: no send WQE ends that way */
	uint32_t syndrome; /* enum dpa_syndrome */
};

/* status: of enum ibv_wc_status */
struct dpa_inject_end dpa_inject_send_end(int status);
/* The same for a receive: the reason that makes it fail so; DPA_SYN_NONE: it cannot. */
uint32_t dpa_inject_recv_end(int status);

#endif
