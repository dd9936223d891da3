/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_size.c - queue sizes: never less than requested, never more than the limits. */
#include <criterion/criterion.h>
#include "dpa.h"

static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};

static void check(enum ibv_qp_type type, const struct ibv_qp_cap *c)
{
	struct dpav_qp_size s;

	cr_assert_eq(dpav_qp_size(type, false, c, &s), 0);
	cr_assert_geq(s.cap.max_send_wr, c->max_send_wr);
	cr_assert_geq(s.cap.max_recv_wr, c->max_recv_wr);
	cr_assert_leq(s.cap.max_send_wr, DPA_MAX_WR);
	cr_assert_leq(s.cap.max_recv_wr, DPA_MAX_WR);
	cr_assert_leq(s.cap.max_send_sge, DPA_MAX_SGE);
	cr_assert_leq(s.cap.max_recv_sge, DPA_MAX_SGE);
	cr_assert_leq(s.cap.max_inline_data, DPA_MAX_INLINE);
	if (c->max_send_wr) {
		cr_assert_geq(s.cap.max_send_sge, c->max_send_sge);
		cr_assert_geq(s.cap.max_inline_data, c->max_inline_data);
		cr_assert_leq(s.max_bb, DPA_WQE_MAX_BB);
		/* each of them may have the largest size */
		cr_assert_leq((uint64_t)s.max_bb * s.cap.max_send_wr, 1ull << s.log_sq);
		cr_assert_geq(s.log_sq, 1);
	}
	if (c->max_recv_wr) {
		cr_assert_geq(s.cap.max_recv_sge, c->max_recv_sge);
		cr_assert_eq(s.rq_sge, s.cap.max_recv_sge);
	}
}

Test(size, caps_asked_for_are_had)
{
	static const uint32_t wr[] = {0, 1, 2, 3, 7, 100, 128, 1000, 16383, 16384};
	static const uint32_t sge[] = {0, 1, 2, 3, 5, 16, 31, 32};
	static const uint32_t inl[] = {0, 1, 16, 80, 81, 220, 1023, 1024};

	for (size_t t = 0; t < 3; t++)
		for (size_t w = 0; w < sizeof(wr) / 4; w++)
			for (size_t s = 0; s < sizeof(sge) / 4; s++)
				for (size_t i = 0; i < sizeof(inl) / 4; i++) {
					struct ibv_qp_cap c = {.max_send_wr = wr[w],
							       .max_recv_wr = wr[w],
							       .max_send_sge = sge[s],
							       .max_recv_sge = sge[s],
							       .max_inline_data = inl[i]};

					check(types[t], &c);
				}
}

Test(size, each_limit_is_enforced)
{
	struct ibv_qp_cap ok = {1, 1, 1, 1, 0}, c;
	struct dpav_qp_size s;

	c = ok;
	c.max_send_wr = DPA_MAX_WR + 1;
	cr_assert_eq(dpav_qp_size(IBV_QPT_RC, false, &c, &s), EINVAL);
	c = ok;
	c.max_recv_wr = UINT32_MAX;
	cr_assert_eq(dpav_qp_size(IBV_QPT_RC, false, &c, &s), EINVAL);
	c = ok;
	c.max_send_sge = DPA_MAX_SGE + 1;
	cr_assert_eq(dpav_qp_size(IBV_QPT_UD, false, &c, &s), EINVAL);
	c = ok;
	c.max_recv_sge = 0xffff;
	cr_assert_eq(dpav_qp_size(IBV_QPT_UC, false, &c, &s), EINVAL);
	c = ok;
	c.max_inline_data = DPA_MAX_INLINE + 1;
	cr_assert_eq(dpav_qp_size(IBV_QPT_RC, false, &c, &s), EINVAL);
}

Test(size, a_qp_with_an_srq_has_no_rq)
{
	struct ibv_qp_cap c = {4, UINT32_MAX, 1, UINT32_MAX, 0};
	struct dpav_qp_size s;

	cr_assert_eq(dpav_qp_size(IBV_QPT_RC, true, &c, &s), 0);
	cr_assert_eq(s.rq_sge, 0);
	cr_assert_eq(s.cap.max_recv_wr, 0);
	cr_assert_eq(s.cap.max_recv_sge, 0);
}
