/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_status.c - the status of a completion that device code gets is that of libibverbs. */
#include <criterion/criterion.h>
#include <doca_dpa_dev.h>
#include <dpa/dpa_dev_native.h>
#include <dpa_hw.h>
#include <infiniband/verbs.h>

static uint32_t status_of(uint8_t status)
{
	struct dpa_cqe e = {.status = status};

	return dpa_dev_completion_status((doca_dpa_dev_completion_element_t)(uintptr_t)&e);
}

Test(libdpa_status, as_libibverbs)
{
#define SAME(name) cr_expect_eq(status_of(DPA_CQE_##name), IBV_WC_##name, #name)
	cr_expect_eq(status_of(DPA_CQE_OK), IBV_WC_SUCCESS);
	SAME(LOC_LEN_ERR);
	SAME(LOC_QP_OP_ERR);
	SAME(LOC_PROT_ERR);
	SAME(WR_FLUSH_ERR);
	SAME(MW_BIND_ERR);
	SAME(LOC_ACCESS_ERR);
	SAME(REM_INV_REQ_ERR);
	SAME(REM_ACCESS_ERR);
	SAME(REM_OP_ERR);
	SAME(RETRY_EXC_ERR);
	SAME(RNR_RETRY_EXC_ERR);
	SAME(REM_ABORT_ERR);
	SAME(FATAL_ERR);
	SAME(TM_ERR);
	SAME(TM_RNDV_INCOMPLETE);
	SAME(GENERAL_ERR);
#undef SAME
	cr_expect_eq(status_of(DPA_CQE_GENERAL_ERR + 1), IBV_WC_GENERAL_ERR);
	cr_expect_eq(status_of(255), IBV_WC_GENERAL_ERR);
}
