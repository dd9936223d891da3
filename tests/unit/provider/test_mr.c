/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_mr.c - registration: the arguments of the device, and the accepted access flags. */
#include <criterion/criterion.h>
#include "dpa.h"
#include "fake_hw.h"

static uint8_t memory[8192];

struct mr_setup {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
};

static struct mr_setup setup(void)
{
	struct mr_setup s = {.ctx = fake_open()};

	s.pd = ibv_alloc_pd(s.ctx);
	cr_assert(s.pd);
	return s;
}

static void teardown(struct mr_setup *s)
{
	cr_assert_eq(ibv_dealloc_pd(s->pd), 0);
	ibv_close_device(s->ctx);
	cr_assert_eq(fake.mrs, 0);
	cr_assert_eq(fake.pds, 0);
}

Test(mr, attributes)
{
	struct mr_setup s = setup();
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *mr = ibv_reg_mr(s.pd, memory, 100, access);

	cr_assert(mr);
	cr_assert_eq(fake_last_mr.addr, (uintptr_t)memory);
	cr_assert_eq(fake_last_mr.length, 100);
	cr_assert_eq(fake_last_mr.iova, (uintptr_t)memory);
	cr_assert_eq(fake_last_mr.access, (uint32_t)access);
	cr_assert_eq(fake_last_mr.pdn, to_dpa_pd(s.pd)->pdn);
	cr_assert_eq(mr->lkey, mr->rkey);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova(s.pd, memory, 100, 0x4000, access);
	cr_assert_eq(fake_last_mr.iova, 0x4000);
	ibv_dereg_mr(mr);
	mr = ibv_reg_mr(s.pd, memory, 100, IBV_ACCESS_ZERO_BASED);
	cr_assert_eq(fake_last_mr.iova, 0);
	cr_assert_eq(fake_last_mr.access, 0);
	ibv_dereg_mr(mr);
	teardown(&s);
}

static int try(struct mr_setup *s, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr_iova2(s->pd, memory, 100, 0, access);

	if (!mr)
		return errno;
	ibv_dereg_mr(mr);
	return 0;
}

Test(mr, access_flags)
{
	struct mr_setup s = setup();

	cr_expect_eq(try(&s, 0), 0);
	cr_expect_eq(try(&s, IBV_ACCESS_REMOTE_READ), 0);
	cr_expect_eq(try(&s, IBV_ACCESS_REMOTE_WRITE), EINVAL, "needs local write");
	cr_expect_eq(try(&s, IBV_ACCESS_REMOTE_ATOMIC), EINVAL, "needs local write");
	cr_expect_eq(try(&s, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
				     IBV_ACCESS_HUGETLB),
		     0);
	cr_expect_eq(try(&s, IBV_ACCESS_ON_DEMAND), 0);
	cr_expect_eq(try(&s, 1 << 15), EINVAL, "unknown");
	cr_expect_eq(try(&s, IBV_ACCESS_RELAXED_ORDERING), 0);
	cr_expect_eq(fake_last_mr.access, IBV_ACCESS_RELAXED_ORDERING);
	cr_expect_eq(try(&s, 1 << 25), 0, "optional bits may be ignored");
	cr_expect_eq(fake_last_mr.access, 0);
	fake_fail_reg_mr = EFAULT;
	cr_expect_eq(try(&s, 0), EFAULT);
	teardown(&s);
}

Test(mr, rereg)
{
	struct mr_setup s = setup();
	struct ibv_pd *pd2 = ibv_alloc_pd(s.ctx);
	struct ibv_mr *mr = ibv_reg_mr(s.pd, memory, 100, IBV_ACCESS_LOCAL_WRITE);
	uint32_t key = mr->lkey;

	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory + 1, 50, 0), 0);
	cr_assert_eq(fake_last_rereg_flags, DPA_REREG_TRANSLATION);
	cr_assert_eq(fake_last_mr.addr, (uintptr_t)memory + 1);
	cr_assert_eq(fake_last_mr.length, 50);
	cr_assert_neq(mr->lkey, key);
	cr_assert_eq(mr->lkey, mr->rkey);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd2, NULL, 0, 0), 0);
	cr_assert_eq(fake_last_mr.pdn, to_dpa_pd(pd2)->pdn);
	cr_assert_eq(mr->pd, pd2);
	cr_assert_eq(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ),
		0);
	cr_assert_eq(fake_last_mr.access, IBV_ACCESS_REMOTE_READ);
	cr_assert_neq(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), 0);
	cr_assert_neq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), 0);
	cr_assert_neq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				   IBV_ACCESS_REMOTE_WRITE),
		      0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	ibv_dealloc_pd(pd2);
	teardown(&s);
}
