/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_scribble.c - random damage to everything on the board but its header and its lock: data of
 * other processes is checked before it is used. Results may then be wrong; crashes and endless
 * loops must not happen.
 */
#include "util.h"

TestSuite(board_scribble, .init = bt_setup, .fini = bt_teardown, .timeout = 100);

enum { ROUNDS = 60, WORDS = 200, CALLS = 200 };

struct area {
	uint32_t off, len;
};

/* Only memory that exists: another test covers holes. */
static const struct area areas[] = {
	{192, 320},  /* head of the list */
	{1024, 512}, /* counters of dead processes */
	{DPA_BOARD_OFF_PROCS, 4096},
	{2100, 4}, /* position of the search for dead processes */
	{DPA_BOARD_OFF_LINKS, DPA_BOARD_UAR_PAGES * 8},
	{DPA_BOARD_OFF_PRIV, 4096},
	{DPA_BOARD_OFF_UARS, 4096},
};

static void scribble(struct dpa_board *b, unsigned int *seed)
{
	static const uint32_t nasty[] = {0,    1,    15,   255,	 256,	     2047,
					 2048, 2049, 4095, 4096, 0x7fffffff, UINT32_MAX};

	for (int i = 0; i < WORDS; i++) {
		const struct area *a = &areas[(unsigned)rand_r(seed) % 7];
		uint32_t off = a->off + (uint32_t)rand_r(seed) % (a->len / 4) * 4;
		uint32_t v = rand_r(seed) % 2 ? nasty[(unsigned)rand_r(seed) % 12]
					      : (uint32_t)rand_r(seed);

		__atomic_store_n((uint32_t *)((uint8_t *)b->shm + off), v, __ATOMIC_RELAXED);
	}
}

static void use(struct dpa_board *b, unsigned int *seed)
{
	uint32_t page, slot, qpn, gen;

	for (int i = 0; i < CALLS; i++) {
		uint32_t r = (uint32_t)rand_r(seed);

		if (dpa_board_uar_alloc(b, &page, &slot) == 0) {
			cr_assert_lt(page, b->uar_pages);
			cr_assert_lt(slot, (uint32_t)DPA_UAR_SLOTS);
			cr_assert_not_null(dpa_board_uar_addr(b, page, slot));
			if (r % 2)
				dpa_board_uar_free(b, page, slot);
		}
		if (dpa_board_qpn_alloc(b, &qpn) == 0) {
			cr_assert_not_null(dpa_board_qpinfo(b, qpn));
			if (r % 3)
				dpa_board_qpn_free(b, qpn);
		}
		dpa_board_alive(b, r % 5000, r >> 13);
		if (dpa_board_qpn_owner(b, b->board_num << 16 | (r & 0xffff), &slot, &gen))
			cr_assert_lt(slot, DPA_BOARD_PROCS);
	}
	dpa_board_reap(b);
}

Test(board_scribble, anything)
{
	unsigned int seed = bt_seed();

	for (int i = 0; i < ROUNDS; i++) {
		struct dpa_board *b = bt_open(), *c = NULL;

		use(b, &seed);
		scribble(b, &seed);
		use(b, &seed);
		if (bt_try(&c, BT_VERSION) == 0) {
			scribble(b, &seed);
			use(c, &seed);
			dpa_board_close(c);
		}
		scribble(b, &seed);
		dpa_board_close(b);
	}
}
