/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * uar.c - UAR pages: the global list.
 *
 * All pages are put, in order, at the tail of one list when the board is made; their number does
 * not depend on processes, contexts or threads. Who creates a QP takes the page at the head, puts
 * it back at the tail and takes a free slot of it, and goes on with the next page if it has none.
 * So QPs spread over the pages before any page is used twice, and no two QPs share a slot.
 *
 * The forward chain is the truth. It is changed so that at every instruction it leads from the head
 * back to the head through all pages, or through all but the one that is being moved: who finds the
 * lock's owner dead walks it, puts what is missing at the tail, where it was going, and makes the
 * backward chain anew.
 */
#include <errno.h>
#include <string.h>
#include "board_priv.h"

#define HEAD DPA_BOARD_UAR_PAGES

static struct dpa_board_link *at(struct dpa_board_shm *shm, uint32_t i)
{
	return i == HEAD ? &shm->head.list : &shm->links[i];
}

/* Compilers must not reorder or merge these: a kill may come between any two. */
static void set_next(struct dpa_board_shm *shm, uint32_t i, uint32_t to)
{
	__atomic_store_n(&at(shm, i)->next, (uint16_t)to, __ATOMIC_RELEASE);
}

static void set_prev(struct dpa_board_shm *shm, uint32_t i, uint32_t to)
{
	__atomic_store_n(&at(shm, i)->prev, (uint16_t)to, __ATOMIC_RELEASE);
}

static void add_tail(struct dpa_board_shm *shm, uint32_t page)
{
	uint32_t tail = at(shm, HEAD)->prev;

	set_next(shm, page, HEAD);
	set_prev(shm, page, tail);
	DPA_BOARD_STEP("list-add-page");
	set_next(shm, tail, page);
	DPA_BOARD_STEP("list-add-forward");
	set_prev(shm, HEAD, page);
	DPA_BOARD_STEP("list-add-backward");
}

static uint32_t take_head(struct dpa_board_shm *shm)
{
	uint32_t page = at(shm, HEAD)->next;
	uint32_t next = at(shm, page)->next;

	DPA_BOARD_STEP("list-take");
	set_next(shm, HEAD, next);
	DPA_BOARD_STEP("list-take-forward");
	set_prev(shm, next, HEAD);
	DPA_BOARD_STEP("list-take-backward");
	return page;
}

void dpa_board_uar_init(struct dpa_board_shm *shm, uint32_t pages)
{
	set_next(shm, HEAD, HEAD);
	set_prev(shm, HEAD, HEAD);
	for (uint32_t i = 0; i < pages; i++) {
		uint32_t tail = i ? i - 1 : HEAD;

		shm->links[i] = (struct dpa_board_link){.next = HEAD, .prev = (uint16_t)tail};
		at(shm, tail)->next = (uint16_t)i;
	}
	set_prev(shm, HEAD, pages - 1);
}

/* Walks the forward chain, mends the backward one. Stops at a loop or a wrong index. */
static void walk(struct dpa_board_shm *shm, uint32_t pages, bool *seen)
{
	uint32_t last = HEAD;

	for (;;) {
		uint32_t i = at(shm, last)->next;

		if (i >= pages || seen[i])
			break;
		seen[i] = true;
		set_prev(shm, i, last);
		last = i;
	}
	set_next(shm, last, HEAD);
	set_prev(shm, HEAD, last);
}

bool dpa_board_uar_repair(struct dpa_board_shm *shm, uint32_t pages)
{
	bool seen[DPA_BOARD_UAR_PAGES] = {false};
	bool mended = false;

	walk(shm, pages, seen);
	DPA_BOARD_STEP("repair-walked");
	for (uint32_t i = 0; i < pages; i++) {
		if (seen[i])
			continue;
		add_tail(shm, i);
		mended = true;
	}
	return mended;
}

/* A slot's owner is written last: who finds the word set finds the slot clean. */
static bool take_slot(struct dpa_board *b, uint32_t page, uint32_t *slot)
{
	struct dpa_board_uar *u = &b->shm->uars[page];

	for (uint32_t s = 0; s < DPA_UAR_SLOTS; s++) {
		if (atomic_load_explicit(&u->slot_owner[s], memory_order_acquire))
			continue;
		memset(&b->shm->bar[page][s], 0, sizeof(struct dpa_uar_slot));
		atomic_store_explicit(&u->slot_qpn[s], 0, memory_order_relaxed);
		DPA_BOARD_STEP("slot-clean");
		atomic_store_explicit(&u->slot_owner[s], dpa_board_me(b), memory_order_release);
		DPA_BOARD_STEP("slot-owned");
		*slot = s;
		return true;
	}
	return false;
}

static int reserve_page(struct dpa_board *b, uint32_t page)
{
	int rc = dpa_board_reserve(b, DPA_BOARD_OFF_UARS + page * sizeof(struct dpa_board_uar),
				   sizeof(struct dpa_board_uar));

	return rc ? rc
		  : dpa_board_reserve(b, DPA_BOARD_OFF_BAR + page * DPA_UAR_PAGE_SIZE,
				      DPA_UAR_PAGE_SIZE);
}

/* Would the next move stay within the list? What others wrote is not trusted. */
static bool ends_sane(struct dpa_board_shm *shm, uint32_t pages)
{
	uint32_t first = at(shm, HEAD)->next, last = at(shm, HEAD)->prev;

	uint32_t next = first < pages ? at(shm, first)->next : HEAD + 1;

	return last < pages && (next < pages || next == HEAD);
}

/* Under the board's lock. */
static int take(struct dpa_board *b, uint32_t *page, uint32_t *slot)
{
	for (uint32_t n = 0; n < b->uar_pages; n++) {
		uint32_t p;

		if (!ends_sane(b->shm, b->uar_pages))
			dpa_board_uar_repair(b->shm, b->uar_pages);
		p = take_head(b->shm);
		add_tail(b->shm, p);
		/* No memory for this page: another one may have its memory and a free slot. */
		if (reserve_page(b, p) || !take_slot(b, p, slot))
			continue;
		*page = p;
		return 0;
	}
	return ENOMEM;
}

int dpa_board_uar_alloc(struct dpa_board *b, uint32_t *page, uint32_t *slot)
{
	int rc = dpa_board_lock(b);

	if (rc)
		return rc;
	rc = take(b, page, slot);
	if (rc == ENOMEM &&
	    (dpa_board_reap_locked(b) > 0 || dpa_board_uar_repair(b->shm, b->uar_pages)))
		rc = take(b, page, slot);
	if (!rc)
		atomic_fetch_add_explicit(&b->nuar, 1, memory_order_relaxed);
	dpa_board_unlock(b);
	return rc;
}

void dpa_board_uar_free(struct dpa_board *b, uint32_t page, uint32_t slot)
{
	struct dpa_board_uar *u = dpa_board_uar_page(b, page);

	if (!u || slot >= DPA_UAR_SLOTS ||
	    atomic_load_explicit(&u->slot_owner[slot], memory_order_relaxed) != dpa_board_me(b))
		return;
	atomic_store_explicit(&u->slot_qpn[slot], 0, memory_order_relaxed);
	atomic_store_explicit(&u->slot_owner[slot], 0, memory_order_release);
	atomic_fetch_sub_explicit(&b->nuar, 1, memory_order_relaxed);
}
