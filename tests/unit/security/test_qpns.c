/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_qpns.c - QPNs cannot be predicted from earlier ones. */
#include <time.h>
#include "util.h"

TestSuite(security_qpns, .init = bt_setup, .fini = bt_teardown);

#define QPS 4096

static uint32_t index_of(uint32_t qpn)
{
	return qpn & (DPA_BOARD_QPNS - 1);
}

/* ReDMArk: with QPNs that count up one connection reveals the next one's. */
Test(security_qpns, do_not_count_up)
{
	struct dpa_board *b = bt_open();
	uint32_t last = 0, next = 0, up = 0, qpn;

	for (uint32_t i = 0; i < QPS; i++, last = qpn) {
		cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
		if (!i)
			continue;
		next += index_of(qpn) == index_of(last) + 1;
		up += index_of(qpn) > index_of(last);
	}
	/* in a block of 64 one in 32 follows the previous one by chance */
	cr_expect_lt(next, QPS / 16, "%u of %u follow the one before", next, QPS);
	cr_expect(up > QPS * 2 / 5 && up < QPS * 3 / 5, "%u of %u are higher than the one before",
		  up, QPS);
	dpa_board_close(b);
}

/* The numbers of a process are spread over the whole space, and those of another process differ. */
Test(security_qpns, are_spread)
{
	static bool block[2][DPA_BOARD_QPNS / 64];
	uint32_t first[2] = {0}, same = 0, changes = 0, next = 0;

	for (int run = 0; run < 2; run++) {
		struct dpa_board *b = bt_open();
		uint32_t last = DPA_BOARD_QPNS;

		for (uint32_t i = 0; i < 1024; i++) {
			uint32_t qpn;

			cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
			if (!i)
				first[run] = qpn;
			block[run][index_of(qpn) / 64] = true;
			if (i && index_of(qpn) / 64 != last) {
				changes++;
				next += index_of(qpn) / 64 == last + 1;
			}
			last = index_of(qpn) / 64;
		}
		dpa_board_close(b);
	}
	for (uint32_t i = 0; i < DPA_BOARD_QPNS / 64; i++)
		same += block[0][i] && block[1][i];
	cr_expect_neq(first[0], first[1], "by chance once in thousands");
	cr_expect_gt(changes, 16u);
	cr_expect_lt(next, 4u, "%u of %u blocks follow the one before", next, changes);
	cr_expect_lt(same, 16u, "%u blocks again", same);
}

/* A freed number is not reused at once: late packets for it find no QP. */
Test(security_qpns, rest_before_they_are_used_again)
{
	struct dpa_board *b = bt_open();
	uint32_t old[32], qpn, again = 0;
	struct timespec from, to;

	for (int i = 0; i < 32; i++)
		cr_assert_eq(dpa_board_qpn_alloc(b, &old[i]), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 32; i++)
		dpa_board_qpn_free(b, old[i]);
	for (uint32_t i = 0; i < 256; i++) {
		cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
		for (int k = 0; k < 32; k++)
			again += qpn == old[k];
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	dpa_board_close(b);
	if (to.tv_sec - from.tv_sec > 1 || (to.tv_sec > from.tv_sec && to.tv_nsec >= from.tv_nsec))
		cr_skip_test("that took a second: they have rested");
	cr_expect_eq(again, 0u);
}

/*
 * Exhaustion: a process that takes all numbers gets an error, and its numbers are freed when it
 * ends.
 */
Test(security_qpns, exhaustion_is_an_error_and_ends_with_its_process)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qpn, n = 0;

	while (dpa_board_qpn_alloc(a, &qpn) == 0)
		n++;
	cr_expect_eq(n, (uint32_t)DPA_BOARD_QPNS);
	cr_expect_eq(dpa_board_qpn_alloc(b, &qpn), ENOMEM);
	dpa_board_close(a);
	cr_expect_eq(dpa_board_qpn_alloc(b, &qpn), 0);
	dpa_board_close(b);
}
