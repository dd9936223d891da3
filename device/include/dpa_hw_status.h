/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dpa_hw_status.h - the status of a CQE. Do not include it directly; include dpa_hw.h. */
#ifndef DPA_HW_STATUS_H
#define DPA_HW_STATUS_H

#include <stdint.h>

/* Completion status. dpa_cqe_wc_status() maps it to enum ibv_wc_status. */
enum dpa_cqe_status {
	DPA_CQE_OK = 0,
	DPA_CQE_LOC_LEN_ERR,
	DPA_CQE_LOC_QP_OP_ERR,
	DPA_CQE_LOC_PROT_ERR,
	DPA_CQE_WR_FLUSH_ERR,
	DPA_CQE_MW_BIND_ERR,
	DPA_CQE_LOC_ACCESS_ERR,
	DPA_CQE_REM_INV_REQ_ERR,
	DPA_CQE_REM_ACCESS_ERR,
	DPA_CQE_REM_OP_ERR,
	DPA_CQE_RETRY_EXC_ERR,
	DPA_CQE_RNR_RETRY_EXC_ERR,
	DPA_CQE_REM_ABORT_ERR,
	DPA_CQE_FATAL_ERR,
	DPA_CQE_TM_ERR,		    /* the tagged buffer does not exist (any more) */
	DPA_CQE_TM_RNDV_INCOMPLETE, /* the buffer is too small: it holds the request instead */
	DPA_CQE_GENERAL_ERR,	    /* no other status applies: see vendor_err */
};

/*
 * The value of enum ibv_wc_status, which device code and the board cannot include. A status that is
 * none counts as DPA_CQE_GENERAL_ERR.
 */
static inline uint32_t dpa_cqe_wc_status(uint8_t status)
{
	switch (status) {
	case DPA_CQE_OK:
		return 0;
	case DPA_CQE_LOC_LEN_ERR:
		return 1;
	case DPA_CQE_LOC_QP_OP_ERR:
		return 2;
	case DPA_CQE_LOC_PROT_ERR:
		return 4;
	case DPA_CQE_WR_FLUSH_ERR:
		return 5;
	case DPA_CQE_MW_BIND_ERR:
		return 6;
	case DPA_CQE_LOC_ACCESS_ERR:
		return 8;
	case DPA_CQE_REM_INV_REQ_ERR:
		return 9;
	case DPA_CQE_REM_ACCESS_ERR:
		return 10;
	case DPA_CQE_REM_OP_ERR:
		return 11;
	case DPA_CQE_RETRY_EXC_ERR:
		return 12;
	case DPA_CQE_RNR_RETRY_EXC_ERR:
		return 13;
	case DPA_CQE_REM_ABORT_ERR:
		return 16;
	case DPA_CQE_FATAL_ERR:
		return 19;
	case DPA_CQE_TM_ERR:
		return 22;
	case DPA_CQE_TM_RNDV_INCOMPLETE:
		return 23;
	case DPA_CQE_GENERAL_ERR:
		break;
	}
	return 21;
}

#endif
