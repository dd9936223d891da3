/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_mcast.c - attachments of QPs to multicast groups. */
#include "util.h"
#include "tables/tables.h"

TestSuite(board_mcast, .init = bt_setup, .fini = bt_teardown);

static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1};
static const uint8_t v6[16] = {0xff, 0x0e, [15] = 7};

static uint32_t new_qpn(struct dpa_board *b)
{
	uint32_t qpn;

	cr_assert_eq(dpa_board_qpn_alloc(b, &qpn), 0);
	return qpn;
}

/* Return the number of QPs of the group; `want` must be among them if it is not 0. */
static uint32_t members(struct dpa_board *b, const uint8_t gid[16], uint32_t want)
{
	uint32_t n = 0, at = 0, qpn;
	bool seen = !want;

	for (; dpa_board_mcast_next(b, gid, &at, &qpn); at++, n++)
		seen |= qpn == want;
	cr_expect(seen, "%06x is not in the group", want);
	return n;
}

Test(board_mcast, groups)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qa = new_qpn(a), qb = new_qpn(b);

	cr_expect_eq(members(a, v4, 0), 0u);
	cr_expect_eq(dpa_board_mcast_detach(a, v4, qa), ENOENT);
	cr_expect_eq(dpa_board_mcast_attach(a, v4, qa), 0);
	cr_expect_eq(dpa_board_mcast_attach(a, v4, qa), EALREADY);
	cr_expect_eq(dpa_board_mcast_attach(a, v6, qa), 0);
	cr_expect_eq(dpa_board_mcast_attach(b, v4, qb), 0);
	cr_expect_eq(members(b, v4, qa), 2u);
	cr_expect_eq(members(a, v4, qb), 2u);
	cr_expect_eq(members(b, v6, qa), 1u);
	cr_expect_eq(dpa_board_mcast_detach(a, v4, qa), 0);
	cr_expect_eq(dpa_board_mcast_detach(a, v4, qa), ENOENT);
	cr_expect_eq(members(a, v4, qb), 1u);
	cr_expect_eq(members(a, v6, qa), 1u);
	dpa_board_mcast_forget(a, qa);
	cr_expect_eq(members(a, v6, 0), 0u);
	dpa_board_close(b);
	cr_expect_eq(members(a, v4, 0), 0u, "of a process that left");
	dpa_board_close(a);
}

/* A QPN that is reused is in no group of its former owner. */
Test(board_mcast, ends_with_the_qpn)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qb = new_qpn(b), q;

	cr_expect_eq(dpa_board_mcast_attach(b, v4, qb), 0);
	dpa_board_qpn_free(b, qb);
	cr_expect_eq(members(a, v4, 0), 0u);
	for (uint32_t i = 0; i < DPA_BOARD_QPNS; i++)
		q = new_qpn(a);
	cr_expect_eq(members(a, v4, 0), 0u);
	cr_expect_eq(dpa_board_mcast_attach(a, v4, q), 0);
	cr_expect_eq(members(a, v4, q), 1u);
	dpa_board_close(b);
	dpa_board_close(a);
}

/* Any process can take all entries; those of an ended process can be taken again. */
Test(board_mcast, all)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t qa = new_qpn(a), qb = new_qpn(b);
	uint8_t gid[16];

	memcpy(gid, v6, 16);
	for (uint32_t i = 0; i < DPA_MAX_MCAST; i++) {
		memcpy(gid + 4, &i, 4);
		cr_assert_eq(dpa_board_mcast_attach(i % 2 ? a : b, gid, i % 2 ? qa : qb), 0,
			     "at %u", i);
	}
	cr_expect_eq(dpa_board_mcast_attach(a, v4, qa), ENOMEM);
	cr_expect_eq(members(b, gid, qa), 1u);
	cr_expect_eq(dpa_board_mcast_detach(a, gid, qa), 0);
	cr_expect_eq(dpa_board_mcast_attach(a, v4, qa), 0);
	cr_expect_eq(dpa_board_mcast_attach(a, gid, qa), ENOMEM);
	dpa_board_close(b);
	for (uint32_t i = 0; i < DPA_MAX_MCAST; i += 2) {
		memcpy(gid + 4, &i, 4);
		cr_assert_eq(dpa_board_mcast_attach(a, gid, qa), 0, "again at %u", i);
	}
	cr_expect_eq(dpa_board_mcast_attach(a, gid, qa), EALREADY);
	dpa_board_close(a);
}

static void attaches(void *arg)
{
	struct dpa_board *b = bt_open();

	(void)arg;
	dpa_board_mcast_attach(b, v4, new_qpn(b));
	_exit(0);
}

/*
 * A process that dies while it writes leaves an entry that no process reads and the next one takes.
 */
Test(board_mcast, dies_while_writing)
{
	struct dpa_board *a = bt_open();
	uint32_t qa = new_qpn(a), at = 0, qpn;

	cr_assert(bt_dies(attaches, NULL, "mcast-odd", 1));
	cr_expect_eq(members(a, v4, 0), 0u);
	cr_expect_eq(dpa_board_mcast_attach(a, v4, qa), 0);
	cr_expect(dpa_board_mcast_next(a, v4, &at, &qpn));
	cr_expect_eq(at, 0u, "its entry serves again");
	cr_expect_eq(qpn, qa);
	dpa_board_close(a);
}
