/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Commands that name objects which are not there, or are of another kind; numbers that rest. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include "harness.h"

static struct th *th;

static void setup(void)
{
	static const struct th_opt opt;

	th = th_new(&opt);
}

static void teardown(void)
{
	th_free(th);
}

TestSuite(objects, .init = setup, .fini = teardown);

static struct dpa_srq_attr srq_attr(void)
{
	static uint8_t buf[64 * 2] __attribute__((aligned(64)));
	static struct dpa_dbrec dbrec __attribute__((aligned(64)));

	return (struct dpa_srq_attr){
		.pdn = th->pdn, .max_sge = 1, .log_size = 1, .buf = buf, .dbrec = &dbrec};
}

/* It was made, and a PD that nobody had was then in use for ever. */
Test(objects, srq_of_no_pd)
{
	struct dpa_srq_attr a = srq_attr();
	struct dpa_hw_srq *srq;
	uint32_t n;

	a.pdn = th->pdn + 1;
	cr_expect_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), EINVAL);
	a.pdn = 0;
	cr_expect_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), EINVAL);
	cr_expect_eq(th->hw->pd_refs[th->pdn + 1], 0u);
	a.pdn = th->pdn;
	a.max_tags = 1; /* and no CQ */
	cr_expect_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), EINVAL);
	a.max_tags = 0;
	cr_assert_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), 0);
	cr_expect_eq(dpa_hw_srq_tag(srq, &(struct dpa_tag_op){.what = DPA_TAG_SYNC}), EINVAL);
	cr_expect_eq(dpa_hw_destroy_srq(srq), 0);
}

/* The null region's entry could be freed as if it were a window. */
Test(objects, null_region_is_no_window)
{
	struct dpa_mr_attr null = {.type = DPA_MR_NULL, .pdn = th->pdn};
	uint32_t key, before = th->hw->pd_refs[th->pdn];

	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &null, &key), 0);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, key), EINVAL);
	cr_expect_eq(th->hw->pd_refs[th->pdn], before + 1);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_eq(th->hw->pd_refs[th->pdn], before);
}
