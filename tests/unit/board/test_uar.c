/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_uar.c - the global list of UAR pages: order, spread, the end of the BAR. */
#include "util.h"
#include <pthread.h>

TestSuite(board_uar, .init = bt_setup, .fini = bt_teardown);

/* One list for all processes: head first, for any caller. */
Test(board_uar, order_across_attachments)
{
	struct dpa_board *b[2] = {bt_open(), bt_open()};
	uint32_t page, slot;

	for (uint32_t n = 0; n < 3 * DPA_BOARD_UAR_PAGES; n++) {
		cr_assert_eq(dpa_board_uar_alloc(b[n % 2], &page, &slot), 0);
		cr_assert_eq(page, n % DPA_BOARD_UAR_PAGES);
		cr_assert_eq(slot, (page + n / DPA_BOARD_UAR_PAGES) % DPA_UAR_SLOTS);
	}
	cr_expect(bt_list_whole(b[0]));
	dpa_board_close(b[1]);
	cr_expect_eq(bt_uars(b[0]), 3 * DPA_BOARD_UAR_PAGES / 2u);
	dpa_board_close(b[0]);
}

struct turn {
	struct bt_signal go, done;
	uint32_t first;
};

/* Take every second page, alternating with its parent. */
static void takes_turns(void *arg)
{
	struct turn *t = arg;
	struct dpa_board *b;
	uint32_t page, slot;

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	for (uint32_t n = 1; n < 100; n += 2) {
		bt_signal_wait(&t->go);
		if (dpa_board_uar_alloc(b, &page, &slot) || page != n || slot != n % DPA_UAR_SLOTS)
			_exit(3);
		bt_signal_send(&t->done);
	}
	dpa_board_close(b);
}

Test(board_uar, order_across_processes)
{
	struct dpa_board *b = bt_open();
	uint32_t page, slot;
	struct turn t;
	pid_t pid;

	bt_signal_init(&t.go);
	bt_signal_init(&t.done);
	pid = bt_fork(takes_turns, &t);
	for (uint32_t n = 0; n < 100; n += 2) {
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
		cr_expect_eq(page, n);
		bt_signal_send(&t.go);
		bt_signal_wait(&t.done);
	}
	cr_expect_eq(bt_wait(pid), 0);
	/* the pages of the other process return to the tail */
	cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect_eq(page, 100u);
	cr_expect(bt_list_whole(b));
	dpa_board_close(b);
}

Test(board_uar, full_bar)
{
	struct dpa_board *b = bt_open();
	uint32_t page, slot, p2, s2;

	for (uint32_t n = 0; n < DPA_MAX_QP; n++)
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect_eq(bt_uars(b), (uint32_t)DPA_MAX_QP, "no slot was given twice");
	for (int i = 0; i < 3; i++)
		cr_expect_eq(dpa_board_uar_alloc(b, &page, &slot), ENOMEM);
	cr_expect(bt_list_whole(b));
	dpa_board_uar_free(b, 1234, 5);
	cr_assert_eq(dpa_board_uar_alloc(b, &p2, &s2), 0);
	cr_expect_eq(p2, 1234u);
	cr_expect_eq(s2, 5u);
	cr_expect_eq(dpa_board_uar_alloc(b, &page, &slot), ENOMEM);
	dpa_board_close(b);
}

/* A board can be created with fewer pages; later processes use that number. */
Test(board_uar, small_bar)
{
	struct dpa_board_cfg cfg = bt_cfg();
	struct dpa_board *a, *b;
	uint32_t page, slot;

	cfg.uar_pages = DPA_BOARD_UAR_PAGES + 1;
	cr_expect_eq(dpa_board_open(&cfg, &a, bt_err, sizeof(bt_err)), EINVAL);
	cfg.uar_pages = 1;
	cr_assert_eq(dpa_board_open(&cfg, &a, bt_err, sizeof(bt_err)), 0, "%s", bt_err);
	b = bt_open();
	cr_expect_eq(b->uar_pages, 1u);
	for (uint32_t n = 0; n < DPA_UAR_SLOTS; n++) {
		cr_assert_eq(dpa_board_uar_alloc(n % 2 ? a : b, &page, &slot), 0);
		cr_expect_eq(page, 0u);
		cr_expect_eq(slot, n);
	}
	cr_expect_eq(dpa_board_uar_alloc(a, &page, &slot), ENOMEM);
	cr_expect(bt_list_whole(a));
	b->shm->head.list.next = 7; /* no page of this board */
	dpa_board_uar_free(a, 0, 1);
	cr_expect_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect_eq(slot, 1u);
	cr_expect(bt_list_whole(a));
	dpa_board_close(b);
	dpa_board_close(a);
}

static void fills_and_dies(void *arg)
{
	struct dpa_board *b;
	uint32_t page, slot;

	if (bt_try(&b, BT_VERSION))
		_exit(2);
	while (dpa_board_uar_alloc(b, &page, &slot) == 0)
		;
	kill(getpid(), SIGKILL);
}

/* Before ENOMEM is returned, pages of dead processes are collected. */
Test(board_uar, full_of_the_dead)
{
	struct dpa_board *b = bt_open();
	uint32_t page, slot;

	bt_wait(bt_fork(fills_and_dies, NULL));
	cr_expect_eq(bt_uars(b), (uint32_t)DPA_MAX_QP);
	cr_expect_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect_eq(bt_uars(b), 1u);
	dpa_board_close(b);
}

Test(board_uar, slot_is_clean_and_apart)
{
	struct dpa_board *a = bt_open(), *b = bt_open();
	uint32_t page, slot;
	struct dpa_uar_slot *s;

	cr_assert_eq(dpa_board_uar_alloc(a, &page, &slot), 0);
	s = dpa_board_uar_addr(a, page, slot);
	cr_assert_not_null(s);
	cr_expect_eq((uintptr_t)s % DPA_UAR_SLOT_SIZE, 0u);
	cr_expect_eq((uint64_t)((uint8_t *)s - (uint8_t *)a->shm),
		     DPA_BOARD_OFF_BAR + page * DPA_UAR_PAGE_SIZE + slot * DPA_UAR_SLOT_SIZE);
	s->word = 42;
	s->doorbells = 43;
	cr_expect_eq(dpa_board_uar_addr(b, page, slot)->word, 42u, "the same memory");
	atomic_store(&dpa_board_uar_page(a, page)->slot_qpn[slot], 99);
	dpa_board_uar_free(b, page, slot);
	cr_expect_eq(bt_uars(a), 1u, "only the owner frees");
	dpa_board_uar_free(a, page, slot);
	dpa_board_uar_free(a, page, slot);
	cr_expect_eq(bt_uars(a), 0u);
	for (uint32_t n = 1; n < DPA_BOARD_UAR_PAGES; n++)
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0);
	cr_expect_eq(page, 0u);
	s = dpa_board_uar_addr(b, page, slot);
	cr_expect_eq(s->word, 0u);
	cr_expect_eq(s->doorbells, 0u);
	cr_expect_eq(atomic_load(&dpa_board_uar_page(b, page)->slot_qpn[slot]), 0u);
	dpa_board_close(b);
	dpa_board_close(a);
}

/* The list was overwritten: it is rebuilt from the remaining data, nothing is lost. */
Test(board_uar, scribbled_list)
{
	static const uint16_t values[] = {0, 1, 5, 2047, 2048, 2049, 0xffff};
	struct dpa_board *b = bt_open();
	uint32_t page, slot, n = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		b->shm->head.list.next = values[i];
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0, "next %u", values[i]);
		b->shm->head.list.prev = values[i];
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0, "prev %u", values[i]);
		b->shm->links[3].next = values[i];
		b->shm->links[9].prev = values[i];
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0, "link %u", values[i]);
		n += 3;
	}
	memset(b->shm->links, 0xff, sizeof(b->shm->links));
	for (; n < DPA_MAX_QP; n++)
		cr_assert_eq(dpa_board_uar_alloc(b, &page, &slot), 0, "at %u", n);
	cr_expect_eq(bt_uars(b), (uint32_t)DPA_MAX_QP);
	dpa_board_close(b);
}

enum { THREADS = 4, ROUNDS = 2000, HELD = 8 };

static void *churn(void *arg)
{
	struct dpa_board *b = arg;
	uint32_t page[HELD], slot[HELD], qpn[HELD];

	for (int i = 0; i < ROUNDS + HELD; i++) {
		int k = i % HELD;

		if (i >= HELD) {
			dpa_board_uar_free(b, page[k], slot[k]);
			dpa_board_qpn_free(b, qpn[k]);
		}
		if (i >= ROUNDS)
			continue;
		if (dpa_board_uar_alloc(b, &page[k], &slot[k]) || dpa_board_qpn_alloc(b, &qpn[k]))
			return arg;
		dpa_board_qpinfo(b, qpn[k])->qpn = qpn[k];
		dpa_board_uar_addr(b, page[k], slot[k])->word = (uint64_t)i;
	}
	return NULL;
}

Test(board_uar, threads)
{
	struct dpa_board *b = bt_open();
	pthread_t t[THREADS];
	void *failed;

	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, churn, b), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &failed);
		cr_expect_null(failed);
	}
	cr_expect_eq(bt_uars(b), 0u);
	cr_expect_eq(bt_qpns(b), 0u);
	cr_expect_eq(atomic_load(&b->nuar), 0u);
	cr_expect_eq(atomic_load(&b->nqpn), 0u);
	cr_expect(bt_list_whole(b));
	dpa_board_close(b);
}
