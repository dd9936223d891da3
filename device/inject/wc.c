/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* wc.c - statuses of enum ibv_wc_status, as the device ends a send WQE or a receive with them. */
#include <dpa_hw_format.h>
#include "inject/wc.h"

/* A send WQE that fails alone: status and vendor error of the real failure. */
static const struct dpa_inject_end ends[] = {
	[1] = {DPA_CQE_LOC_LEN_ERR, DPA_SYN_MSG_TOO_LONG},
	[2] = {DPA_CQE_LOC_QP_OP_ERR, DPA_SYN_BAD_WQE},
	[4] = {DPA_CQE_LOC_PROT_ERR, DPA_SYN_BAD_LKEY},
	[6] = {DPA_CQE_MW_BIND_ERR, DPA_SYN_MW_BIND},
	[9] = {DPA_CQE_REM_INV_REQ_ERR, DPA_SYN_NAK_INV_REQ},
	[10] = {DPA_CQE_REM_ACCESS_ERR, DPA_SYN_NAK_ACCESS},
	[11] = {DPA_CQE_REM_OP_ERR, DPA_SYN_NAK_OP},
	[12] = {DPA_CQE_RETRY_EXC_ERR, DPA_SYN_TIMEOUT},
	[13] = {DPA_CQE_RNR_RETRY_EXC_ERR, DPA_SYN_RNR},
	[16] = {DPA_CQE_REM_ABORT_ERR, DPA_SYN_NONE},
	[19] = {DPA_CQE_FATAL_ERR, DPA_SYN_NONE},
	[21] = {DPA_CQE_GENERAL_ERR, DPA_SYN_NO_FDS},
};

struct dpa_inject_end dpa_inject_send_end(int status)
{
	const size_t n = sizeof(ends) / sizeof(ends[0]);

	return status > 0 && (size_t)status < n ? ends[status] : (struct dpa_inject_end){0};
}

uint32_t dpa_inject_recv_end(int status)
{
	switch (status) {
	case 1:
		return DPA_SYN_RECV_TOO_SMALL;
	case 2:
		return DPA_SYN_BAD_WQE;
	case 4:
		return DPA_SYN_BAD_LKEY;
	default:
		return DPA_SYN_NONE;
	}
}
