/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_objects.c - commands with objects that do not exist, or are of another kind; numbers that
 * wait before reuse.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

/* It was created, and a PD that did not exist was in use for ever. */
Test(objects, srq_of_no_pd)
{
	struct dpa_srq_attr a = srq_attr();
	struct dpa_hw_srq *srq;
	uint32_t n;

	a.pdn = th->pdn + 1;
	cr_expect_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), EINVAL);
	a.pdn = 0;
	cr_expect_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), EINVAL);
	cr_expect_eq(th->hw->pd.refs[th->pdn + 1], 0u);
	a.pdn = th->pdn;
	a.max_tags = 1; /* and no CQ */
	cr_expect_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), EINVAL);
	a.max_tags = 0;
	cr_assert_eq(dpa_hw_create_srq(&th->ctx, &a, &srq, &n), 0);
	cr_expect_eq(dpa_hw_srq_tag(srq, &(struct dpa_tag_op){.what = DPA_TAG_SYNC}), EINVAL);
	cr_expect_eq(dpa_hw_destroy_srq(srq), 0);
}

/* Windows and regions share a table; a request beyond its size gets an error that says so. */
Test(objects, windows_fill_the_table)
{
	static uint32_t key[DPA_MAX_MR];
	uint32_t n = 0, more;

	while (n < DPA_MAX_MR && !dpa_hw_alloc_mw(&th->ctx, th->pdn, DPA_MW_TYPE_2, &key[n]))
		n++;
	cr_expect_gt(n, DPA_MAX_MR - 16u, "the harness has some of its own");
	th_logged[0] = '\0';
	cr_expect_eq(dpa_hw_alloc_mw(&th->ctx, th->pdn, DPA_MW_TYPE_2, &more), ENOMEM);
	cr_expect(strstr(th_logged, "all 262144 memory regions and windows"), "%s", th_logged);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, key[--n]), 0);
	cr_expect_eq(dpa_hw_alloc_mw(&th->ctx, th->pdn, DPA_MW_TYPE_1, &more), 0);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, more), 0);
	while (n)
		cr_assert_eq(dpa_hw_dealloc_mw(&th->ctx, key[--n]), 0);
}

static struct dpa_qp_attr_create qp_attr(void)
{
	static uint8_t sq[64 << 2] __attribute__((aligned(64)));
	static struct dpa_dbrec dbrec __attribute__((aligned(64)));

	return (struct dpa_qp_attr_create){.type = DPA_QP_RC,
					   .pdn = th->pdn,
					   .send_cq = th->a.scq.cq,
					   .recv_cq = th->a.rcq.cq,
					   .dbrec = &dbrec,
					   .sq = sq,
					   .log_sq = 2};
}

static void no_qp(int qpn_err, int uar_err, const char *line)
{
	struct dpa_qp_attr_create a = qp_attr();
	struct dpa_qp_info info;
	struct dpa_hw_qp *qp;

	th_qpn_err = qpn_err;
	th_uar_err = uar_err;
	th_logged[0] = '\0';
	cr_expect_eq(dpa_hw_create_qp(&th->ctx, &a, &qp, &info), ENOMEM);
	cr_expect(strstr(th_logged, line), "%s", th_logged);
	th_qpn_err = th_uar_err = 0;
}

/* The log names the limit that was reached: a full file system is not a full board. */
Test(objects, a_full_board_and_a_full_file_system)
{
	no_qp(ENOMEM, 0, "the adapter instance is full: 65536 QP numbers");
	no_qp(ENOSPC, 0, "cannot grow");
	no_qp(0, ENOMEM, "the BAR is full");
	no_qp(0, ENOSPC, "cannot grow");
}

/*
 * A call that was on its way when the device of its context failed (DEVICE_FATAL): the device has already
 * ended the QPs that it found, so no QP may be made, or begin to work, behind it.
 */
Test(objects, a_call_during_a_device_failure)
{
	const struct dpa_qp_attr init = {.state = DPA_QPS_INIT}, err = {.state = DPA_QPS_ERR};
	struct dpa_qp_attr_create a = qp_attr();
	struct dpa_hw_qp *before, *qp;
	struct dpa_qp_info info;

	cr_assert_eq(dpa_hw_create_qp(&th->ctx, &a, &before, &info), 0);
	atomic_store(&th->ctx.failed, true);
	cr_expect_eq(dpa_hw_create_qp(&th->ctx, &a, &qp, &info), EIO);
	cr_expect_eq(dpa_hw_modify_qp(before, &init, DPA_QPM_STATE), EIO);
	cr_expect_eq(before->state, DPA_QPS_RESET);
	cr_expect_eq(dpa_hw_modify_qp(before, &err, DPA_QPM_STATE), 0, "it may end");
	cr_expect_eq(dpa_hw_destroy_qp(before), 0);
}

/*
 * A ring has its own UDP source port (device/link/udp/remote.c): consecutive QPs have different
 * ones, so that the paths between hosts share the load; each keeps its own, so that its packets
 * stay in order.
 */
Test(objects, qps_take_the_rings_round_robin_and_keep_them)
{
	static const uint32_t states[] = {DPA_QPS_INIT, DPA_QPS_ERR, DPA_QPS_RESET};
	struct dpa_qp_attr_create a = qp_attr();
	struct dpa_hw_qp *qp[2 * DPA_LANES];
	uint32_t lanes[DPA_LANES] = {0};
	struct dpa_qp_info info;

	for (uint32_t i = 0; i < 2 * DPA_LANES; i++) {
		cr_assert_eq(dpa_hw_create_qp(&th->ctx, &a, &qp[i], &info), 0);
		cr_assert_lt(qp[i]->lane, DPA_LANES);
		lanes[qp[i]->lane]++;
	}
	for (uint32_t i = 0; i < DPA_LANES; i++)
		cr_expect_eq(lanes[i], 2, "lane %u: %u", i, lanes[i]);
	for (uint32_t i = 0; i < 2 * DPA_LANES; i++) {
		uint32_t lane = qp[i]->lane;

		for (uint32_t k = 0; k < 3; k++) {
			struct dpa_qp_attr to = {.state = states[k]};

			cr_assert_eq(dpa_hw_modify_qp(qp[i], &to, DPA_QPM_STATE), 0);
			cr_expect_eq(qp[i]->lane, lane);
		}
		cr_assert_eq(dpa_hw_destroy_qp(qp[i]), 0);
	}
}

/* The amount of device memory is a limit. */
Test(objects, device_memory_is_full)
{
	uint32_t all, more;
	void *mem;

	cr_expect_eq(dpa_hw_alloc_dm(&th->ctx, DPA_MAX_DM + 1ull, 0, &more, &mem), ENOMEM);
	cr_expect(strstr(th_logged, "0 of 16777216 bytes"), "%s", th_logged);
	cr_assert_eq(dpa_hw_alloc_dm(&th->ctx, DPA_MAX_DM, 0, &all, &mem), 0);
	cr_expect_eq(dpa_hw_alloc_dm(&th->ctx, 1, 0, &more, &mem), ENOMEM);
	cr_expect(strstr(th_logged, "16777216 of 16777216 bytes"), "%s", th_logged);
	cr_expect_eq(dpa_hw_free_dm(&th->ctx, all), 0);
}

/* The null region's entry could be freed as if it were a window. */
Test(objects, null_region_is_no_window)
{
	struct dpa_mr_attr null = {.type = DPA_MR_NULL, .pdn = th->pdn};
	uint32_t key, before = th->hw->pd.refs[th->pdn];

	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &null, &key), 0);
	cr_expect_eq(dpa_hw_dealloc_mw(&th->ctx, key), EINVAL);
	cr_expect_eq(th->hw->pd.refs[th->pdn], before + 1);
	cr_expect_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_eq(th->hw->pd.refs[th->pdn], before);
}
