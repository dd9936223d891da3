/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_mw.c - memory windows: keys and the WQE of a bind. */
#include <criterion/criterion.h>
#include "dpa.h"
#include "fake_hw.h"

static const struct ibv_qp_cap cap = {.max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1};
static char memory[64];

struct mw_setup {
	struct fake_setup s;
	struct ibv_mr *mr;
	struct ibv_mw *one, *two;
};

static void setup(struct mw_setup *m)
{
	fake_setup(&m->s, IBV_QPT_RC, &cap);
	m->mr = ibv_reg_mr(m->s.pd, memory, sizeof(memory),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	m->one = ibv_alloc_mw(m->s.pd, IBV_MW_TYPE_1);
	m->two = ibv_alloc_mw(m->s.pd, IBV_MW_TYPE_2);
	cr_assert(m->mr && m->one && m->two);
}

static void teardown(struct mw_setup *m)
{
	cr_assert_eq(ibv_dealloc_mw(m->one), 0);
	cr_assert_eq(ibv_dealloc_mw(m->two), 0);
	cr_assert_eq(ibv_dereg_mr(m->mr), 0);
	fake_teardown(&m->s);
}

static struct dpa_wqe_ctrl *wqe(struct mw_setup *m, uint32_t index)
{
	uint32_t mask = (1u << m->s.hw->attr.log_sq) - 1;

	return (void *)((uint8_t *)m->s.hw->attr.sq + (size_t)(index & mask) * 64);
}

static int post(struct mw_setup *m, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(m->s.qp, wr, &bad);
}

Test(mw, type_1_gets_a_new_key_by_the_verb)
{
	struct mw_setup m;
	struct ibv_mw_bind b = {.wr_id = 3, .send_flags = IBV_SEND_SIGNALED};
	struct dpa_wqe_raddr *r;
	struct dpa_wqe_bind *w;
	uint32_t old;

	setup(&m);
	b.bind_info = (struct ibv_mw_bind_info){.mr = m.mr,
						.addr = (uintptr_t)memory,
						.length = 10,
						.mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
								   IBV_ACCESS_LOCAL_WRITE};
	old = m.one->rkey;
	cr_assert_eq(ibv_bind_mw(m.s.qp, m.one, &b), 0);
	cr_assert_eq(m.one->rkey, ibv_inc_rkey(old));
	cr_assert_eq(wqe(&m, 0)->opcode, DPA_OP_BIND_MW);
	cr_assert_eq(wqe(&m, 0)->flags, DPA_WQE_SIGNALED);
	cr_assert_eq(wqe(&m, 0)->imm, m.one->rkey);
	cr_assert_eq(wqe(&m, 0)->nsge, 0);
	cr_assert_eq(wqe(&m, 0)->length, 0);
	r = (void *)(wqe(&m, 0) + 1);
	w = (void *)(r + 1);
	cr_assert_eq(r->addr, (uintptr_t)memory);
	cr_assert_eq(r->rkey, old);
	cr_assert_eq(w->length, 10);
	cr_assert_eq(w->lkey, m.mr->lkey);
	cr_assert_eq(w->access, IBV_ACCESS_REMOTE_WRITE);
	old = m.one->rkey;
	b.bind_info.mw_access_flags = 1 << 18;
	cr_assert_eq(ibv_bind_mw(m.s.qp, m.one, &b), EINVAL);
	cr_assert_eq(m.one->rkey, old, "a bind that failed changes no key");
	cr_assert_eq(ibv_bind_mw(m.s.qp, m.two, &b), EINVAL);
	teardown(&m);
}

Test(mw, type_2_is_posted)
{
	struct mw_setup m;
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};
	uint32_t old;

	setup(&m);
	old = m.two->rkey;
	wr.bind_mw.mw = m.two;
	wr.bind_mw.rkey = ibv_inc_rkey(old);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){.mr = m.mr, .addr = (uintptr_t)memory, .length = 10};
	cr_assert_eq(post(&m, &wr), 0);
	cr_assert_eq(wqe(&m, 0)->imm, ibv_inc_rkey(old));
	cr_assert_eq(((struct dpa_wqe_raddr *)(wqe(&m, 0) + 1))->rkey, old);
	wr.bind_mw.mw = m.one;
	cr_assert_eq(post(&m, &wr), EINVAL, "type 1 is bound by its verb");
	wr.bind_mw.mw = NULL;
	cr_assert_eq(post(&m, &wr), EINVAL);
	wr.bind_mw.mw = m.two;
	wr.bind_mw.bind_info.mr = NULL;
	cr_assert_eq(post(&m, &wr), EINVAL, "no region");
	wr.bind_mw.bind_info.mr = m.mr;
	wr.send_flags = IBV_SEND_INLINE;
	cr_assert_eq(post(&m, &wr), EINVAL, "there is no data");
	teardown(&m);
}

/*
 * The poster owns only the low 8 bits; the window has the complete key as soon as the bind is
 * posted.
 */
Test(mw, type_2_takes_8_bits_of_the_key)
{
	static const uint32_t wanted[] = {0xba, 0xdeadbe07, 0, 0xffffffff};
	struct mw_setup m;
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};
	uint32_t first;

	setup(&m);
	first = m.two->rkey;
	wr.bind_mw.mw = m.two;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){.mr = m.mr, .addr = (uintptr_t)memory, .length = 10};
	for (uint32_t i = 0; i < 4; i++) {
		wr.bind_mw.rkey = wanted[i];
		cr_assert_eq(post(&m, &wr), 0);
		cr_expect_eq(m.two->rkey, (first & ~0xffu) | (wanted[i] & 0xff));
		cr_expect_eq(wqe(&m, i)->imm, m.two->rkey);
		cr_expect_eq(((struct dpa_wqe_raddr *)(wqe(&m, i) + 1))->rkey, first);
	}
	wr.bind_mw.rkey = 3;
	wr.num_sge = 1;
	cr_assert_eq(post(&m, &wr), EINVAL);
	cr_expect_eq(m.two->rkey, first | 0xff, "a bind that failed changes no key");
	teardown(&m);
}

/* The application may write any value to the field. */
Test(mw, a_window_is_freed_with_any_key)
{
	struct mw_setup m;
	uint32_t first;

	setup(&m);
	first = m.two->rkey;
	m.two->rkey = 0x12345678;
	cr_assert_eq(ibv_dealloc_mw(m.two), 0);
	cr_expect_eq(fake.freed_mw, first);
	m.two = ibv_alloc_mw(m.s.pd, IBV_MW_TYPE_2);
	teardown(&m);
}

Test(mw, kinds)
{
	struct mw_setup m;

	setup(&m);
	cr_assert_null(ibv_alloc_mw(m.s.pd, (enum ibv_mw_type)3));
	cr_assert_eq(errno, EINVAL);
	teardown(&m);
}
