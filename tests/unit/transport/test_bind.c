/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_bind.c - binding of memory windows by work requests: the bits of the key that the consumer
 * owns.
 */
#include <criterion/criterion.h>
#include "ctx/export.h"
#include "ctx/hw.h"
#include "harness.h"

#define LEN 4096u

/* A window of type 2 of B, and the region under it. */
struct windows {
	struct th *th;
	uint32_t region, window;
};

static void setup(struct windows *w)
{
	struct dpa_mr_attr a = {.access = TH_ALL | DPA_ACCESS_MW_BIND, .length = TH_MEM};

	w->th = th_new(&(struct th_opt){0});
	a.pdn = w->th->pdn;
	a.addr = a.iova = (uintptr_t)w->th->b.mem;
	cr_assert_eq(dpa_hw_reg_mr(&w->th->ctx, &a, &w->region), 0);
	cr_assert_eq(dpa_hw_alloc_mw(&w->th->ctx, w->th->pdn, DPA_MW_TYPE_2, &w->window), 0);
}

static void post(struct windows *w, uint8_t op, uint32_t imm)
{
	struct th_side *s = &w->th->b;
	struct dpa_wqe_ctrl c = {.opcode = op,
				 .flags = DPA_WQE_SIGNALED,
				 .nbb = 1,
				 .imm = imm,
				 .index = s->pi,
				 .wr_id = s->next_wr++};
	struct dpa_wqe_raddr r = {.addr = (uintptr_t)s->mem, .rkey = w->window};
	struct dpa_wqe_bind b = {
		.length = LEN, .lkey = w->region, .access = DPA_ACCESS_REMOTE_WRITE};
	uint8_t *at = s->sq + (s->pi & ((1u << TH_LOG_SQ) - 1)) * 64;

	memcpy(at, &c, sizeof(c));
	memcpy(at + sizeof(c), &r, sizeof(r));
	memcpy(at + sizeof(c) + sizeof(r), &b, 64 - sizeof(c) - sizeof(r));
	__atomic_store_n(&s->dbrec.sq_pi, ++s->pi, __ATOMIC_RELEASE);
	th_ring(s);
	th_settle(w->th);
}

static void expect_wc(struct th_side *s, uint8_t status)
{
	struct dpa_cqe e;

	cr_assert(th_poll(&s->scq, &e));
	cr_expect_eq(e.status, status, "status %u", e.status);
}

/* A WRITE by A with this key. */
static void write_by(struct windows *w, uint32_t key, uint8_t status)
{
	struct th_side *s = &w->th->a;
	struct th_wr wr = {.op = DPA_OP_RDMA_WRITE,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)s->mem, 8, s->key}},
			   .raddr = (uintptr_t)w->th->b.mem,
			   .rkey = key};

	cr_assert(th_post(s, &wr));
	th_ring(s);
	th_settle(w->th);
	expect_wc(s, status);
}

/* mlx5 and rxe check no other bit: programs post any value. */
Test(transport_bind, only_the_low_8_bits_are_the_consumers)
{
	static const uint32_t wanted[] = {0x07, 0xdeadbe07, 0xffffffff, 0};

	for (int i = 0; i < 4; i++) {
		struct windows w;
		uint32_t key;

		setup(&w);
		key = (w.window & ~0xffu) | (wanted[i] & 0xff);
		post(&w, DPA_OP_BIND_MW, wanted[i]);
		expect_wc(&w.th->b, DPA_CQE_OK);
		write_by(&w, key, DPA_CQE_OK);
		/* bound again by another key, so the first one is invalid */
		post(&w, DPA_OP_LOCAL_INV, key);
		expect_wc(&w.th->b, DPA_CQE_OK);
		post(&w, DPA_OP_BIND_MW, wanted[i] + 1);
		expect_wc(&w.th->b, DPA_CQE_OK);
		write_by(&w, (key & ~0xffu) | ((key + 1) & 0xff), DPA_CQE_OK);
		write_by(&w, key, DPA_CQE_REM_ACCESS_ERR);
		cr_expect_eq(dpa_hw_dealloc_mw(&w.th->ctx, w.window), 0, "by its first key");
		cr_expect_eq(dpa_hw_dereg_mr(&w.th->ctx, w.region), 0);
		th_free(w.th);
	}
}

/*
 * With all other bits 0 the first entry of the table would be bound as key 0, which is not valid.
 */
Test(transport_bind, a_window_has_more_bits_than_the_consumers)
{
	struct windows w;

	setup(&w);
	for (int i = 0; i < TH_FEWER(4000); i++) {
		struct dpa_hw *hw = w.th->hw;
		uint32_t used = hw->mrs.used_max, key;

		hw->mrs.used_max = 0; /* the first entry */
		hw->export->mr[0].tag = 0;
		cr_assert_eq(dpa_hw_alloc_mw(&w.th->ctx, w.th->pdn, DPA_MW_TYPE_2, &key), 0);
		cr_assert_eq(key >> DPA_KEY_TAG_BITS, 0u);
		cr_assert(key & ~0xffu, "%#x", key);
		hw->mrs.used_max = used;
	}
	th_free(w.th);
}
