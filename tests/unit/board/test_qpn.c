/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_qpn.c - the QPN space. */
#include "util.h"
#include <time.h>

TestSuite(board_qpn, .init = bt_setup, .fini = bt_teardown);

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

Test(board_qpn, owner)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qpn, slot, gen;

	cr_assert_eq(dpa_board_qpn_alloc(a, &qpn), 0);
	cr_expect_eq(qpn >> 16, a->board_num);
	cr_assert(dpa_board_qpn_owner(b, qpn, &slot, &gen));
	cr_expect_eq(slot, a->slot);
	cr_expect_eq(gen, a->gen);
	cr_expect_not(dpa_board_qpn_owner(b, qpn ^ 0x10000, &slot, &gen), "another board's");
	cr_expect_not(dpa_board_qpn_owner(b, qpn | 0x80000000u, &slot, &gen));
	cr_expect_not(dpa_board_qpn_owner(b, qpn ^ 1, &slot, &gen), "nobody's");
	dpa_board_qpinfo(a, qpn)->qpn = qpn;
	cr_expect_eq(dpa_board_qpinfo(b, qpn)->qpn, qpn);
	dpa_board_qpn_free(b, qpn);
	cr_expect(dpa_board_qpn_owner(b, qpn, &slot, &gen), "only the owner frees");
	dpa_board_qpn_free(a, qpn);
	dpa_board_qpn_free(a, qpn);
	cr_expect_not(dpa_board_qpn_owner(b, qpn, &slot, &gen));
	cr_expect_eq(dpa_board_qpinfo(b, qpn)->qpn, 0u);
	dpa_board_close(b);
	dpa_board_close(a);
}

/* Freed numbers wait: a number is reused only after a second. */
Test(board_qpn, rest)
{
	static uint64_t freed[DPA_BOARD_QPNS];
	struct dpa_board *b[2] = {bt_open(), bt_open()};
	uint32_t qpn;

	for (int i = 0; i < 20000; i++) {
		uint64_t now;

		cr_assert_eq(dpa_board_qpn_alloc(b[i % 2], &qpn), 0);
		now = now_ms();
		cr_assert(freed[qpn & 0xffff] == 0 || now - freed[qpn & 0xffff] >= 998,
			  "%06x came back after %llu ms", qpn,
			  (unsigned long long)(now - freed[qpn & 0xffff]));
		freed[qpn & 0xffff] = now_ms();
		dpa_board_qpn_free(b[i % 2], qpn);
	}
	dpa_board_close(b[1]);
	dpa_board_close(b[0]);
}

/* All numbers can be used; when none is left a freed one is reused at once. */
Test(board_qpn, all)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qpn, got;

	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++)
		cr_assert_eq(dpa_board_qpn_alloc(i % 2 ? a : b, &qpn), 0, "at %u", i);
	cr_expect_eq(bt_qpns(a), (uint32_t)DPA_BOARD_QPNS);
	cr_expect_eq(dpa_board_qpn_alloc(a, &got), ENOMEM);
	dpa_board_qpn_free(a, qpn);
	cr_expect_eq(dpa_board_qpn_alloc(b, &got), 0);
	cr_expect_eq(got, qpn);
	dpa_board_close(b);
	cr_expect_eq(bt_qpns(a), DPA_BOARD_QPNS / 2 - 1u);
	cr_expect_eq(dpa_board_qpn_alloc(a, &got), 0);
	dpa_board_close(a);
}

/* The numbers of two processes are spread, and the records of a process are adjacent. */
Test(board_qpn, random_and_compact)
{
	struct dpa_board *b = bt_open();
	uint32_t qpn, same = 0, last = 0, units = 0;

	for (uint32_t i = 0; i < 40; i++) {
		cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
		same += qpn == last + 1;
		last = qpn;
	}
	cr_expect_lt(same, 10u, "not in order");
	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i += 64)
		units += dpa_board_qpinfo(b, b->board_num << 16 | i) != NULL;
	cr_expect_eq(units, 1u);
	dpa_board_close(b);
}
