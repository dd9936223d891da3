/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_atomics.c - atomics and atomic writes at the responder: each is indivisible, checked,
 * answered, and executed once.
 */
#include <pthread.h>
#include "ctx/qp.h"
#include "link/lane.h"
#include "requests.h"

static void write8(struct th *th, uint32_t n, uint64_t va, uint32_t key, uint64_t value)
{
	struct th_pkt p;

	th_forge(&th->a, &p, DPA_BTH_ATOMIC_WRITE, PSN0 + n, 8);
	p.s.flags = DPA_PKT_ACKREQ;
	memcpy(p.data, &value, 8);
	*th_ext(&p) = (struct dpa_ext){.va = va, .rkey = key, .dmalen = 8};
	th_give(&th->b, &p);
}

static void expect_written(struct th *th, uint32_t n)
{
	struct th_pkt p;

	th_flush(&th->b);
	cr_assert(th_take(&th->b, &p));
	cr_expect_eq(p.s.opcode, DPA_BTH_READ_RESP_ONLY);
	cr_expect_eq(p.s.psn, dpa_psn_add(PSN0, n));
	cr_expect_eq(p.s.len, 0);
	cr_expect_eq(th_ext(&p)->msn, n + 1);
}

/* IBA 9.4 (atomic-write) */
Test(transport_atomics, an_atomic_write_is_done_once_and_answered)
{
	struct th *th = rc();
	uint64_t *word = (uint64_t *)th->b.mem;

	word[0] = word[2] = 0x1111;
	write8(th, 0, (uintptr_t)&word[1], th->b.key, 0x0123456789abcdef);
	expect_written(th, 0);
	cr_expect_eq(word[1], 0x0123456789abcdef);
	cr_expect_eq(word[0], 0x1111);
	cr_expect_eq(word[2], 0x1111);
	word[1] = 5;
	write8(th, 0, (uintptr_t)&word[1], th->b.key, 0x0123456789abcdef);
	expect_written(th, 0);
	cr_expect_eq(word[1], 5, "a duplicate is answered only");
	th_free(th);
}

/* IBA oA19-28, 9.4 (atomic-write) */
Test(transport_atomics, an_atomic_write_that_may_not_be)
{
	static const struct {
		int64_t off;
		uint32_t key_xor;
		uint32_t access;
		uint8_t code;
		uint32_t event;
	} t[] = {
		{4, 0, TH_ALL, DPA_NAK_INV_REQ, DPA_EVENT_QP_REQ_ERR},
		{1, 0, TH_ALL, DPA_NAK_INV_REQ, DPA_EVENT_QP_REQ_ERR},
		{0, 0x5a5a, TH_ALL, DPA_NAK_REM_ACCESS, DPA_EVENT_QP_ACCESS_ERR},
		{-8, 0, TH_ALL, DPA_NAK_REM_ACCESS, DPA_EVENT_QP_ACCESS_ERR},
		{4096, 0, TH_ALL, DPA_NAK_REM_ACCESS, DPA_EVENT_QP_ACCESS_ERR},
		{0, 0, DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_READ | DPA_ACCESS_REMOTE_ATOMIC,
		 DPA_NAK_REM_ACCESS, DPA_EVENT_QP_ACCESS_ERR},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct th *th = rc();
		uint8_t *base = th->b.mem + 4096, before[3 * 4096];
		struct dpa_mr_attr mr = {.pdn = 1,
					 .addr = (uintptr_t)base,
					 .iova = (uintptr_t)base,
					 .length = 4096,
					 .access = t[i].access};
		uint32_t key;

		cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &key), 0);
		th_fill(th->b.mem, sizeof(before), i);
		memcpy(before, th->b.mem, sizeof(before));
		write8(th, 0, (uint64_t)((int64_t)(uintptr_t)base + t[i].off), key ^ t[i].key_xor,
		       7);
		expect_ack(th, 0, NAK(t[i].code));
		expect_error(th, t[i].event);
		cr_expect_arr_eq(th->b.mem, before, sizeof(before), "%zu", i);
		th_free(th);
	}
}

/* ---- two QPs of one adapter at once */

#define ROUNDS 20000u

struct adder {
	struct th_side *side;
	uint64_t va;
	uint32_t key;
	pthread_barrier_t *start;
};

static void *add_up(void *arg)
{
	struct adder *a = arg;
	struct th_side *s = a->side;

	pthread_barrier_wait(a->start);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct th_pkt p;

		th_forge(s->other, &p, DPA_BTH_FETCH_ADD, PSN0 + i, 0);
		*th_ext(&p) = (struct dpa_ext){.va = a->va, .rkey = a->key, .swap_add = 1};
		th_give(s, &p);
		dpa_qplock_lock(&s->qp->lock);
		s->qp->resp.rd_tail = s->qp->resp.rd_head; /* the answer has left */
		dpa_qp_leave(s->qp);
	}
	return NULL;
}

/* IBA 9.4 (atomic-one) */
Test(transport_atomics, of_two_qps_do_not_interleave)
{
	struct th *th = rc();
	pthread_barrier_t start;
	struct adder a = {&th->a, (uintptr_t)th->b.mem, th->b.key, &start};
	struct adder b = {&th->b, (uintptr_t)th->b.mem, th->b.key, &start};
	pthread_t t;

	cr_assert_eq(pthread_barrier_init(&start, NULL, 2), 0);
	cr_assert_eq(pthread_create(&t, NULL, add_up, &a), 0);
	add_up(&b);
	pthread_join(t, NULL);
	cr_expect_eq(*(uint64_t *)th->b.mem, 2 * ROUNDS);
	cr_expect_eq(th->a.qp->resp.epsn, dpa_psn_add(PSN0, ROUNDS));
	cr_expect_eq(th->b.qp->resp.epsn, dpa_psn_add(PSN0, ROUNDS));
	pthread_barrier_destroy(&start);
	th_free(th);
}
