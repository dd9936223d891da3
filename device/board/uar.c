/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * uar.c - UAR pages: the global list.
 *
 * When the board is created all pages are put, in order, at the tail of one list. Their number does
 * not depend on processes, contexts or threads. The creator of a QP takes the page at the head and
 * puts it back at the tail. It takes a free slot of this page, or goes on with the next page if
 * there is none. So QPs spread over the pages before a page is used twice, and no two QPs share a
 * slot.
 *
 * The forward chain is the truth. At every instruction it leads from the head back to the head
 * through all pages, or through all but the page that is being moved. The process that finds the
 * lock's owner dead walks it, puts a missing page at the tail, where it was going, and rebuilds the
 * backward chain.
 */
#include <errno.h>
#include <string.h>
#include "board_priv.h"

#define HEAD DPA_BOARD_UAR_PAGES

static struct dpa_board_link *link_at(struct dpa_board_shm *shm, uint32_t i)
{
	return i == HEAD ? &shm->head.list : &shm->links[i];
}

/* Compilers must not reorder or merge these stores: a kill may come between any two. */
static void set_next(struct dpa_board_shm *shm, uint32_t i, uint32_t to)
{
	__atomic_store_n(&link_at(shm, i)->next, (uint16_t)to, __ATOMIC_RELEASE);
}

static void set_prev(struct dpa_board_shm *shm, uint32_t i, uint32_t to)
{
	__atomic_store_n(&link_at(shm, i)->prev, (uint16_t)to, __ATOMIC_RELEASE);
}

/*
 * Reads a word of the list once, because another process may change it between the check and the
 * use.
 */
static uint32_t get_link(const uint16_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* tail: the last page, HEAD if there is none. */
static void add_tail(struct dpa_board_shm *shm, uint32_t page, uint32_t tail)
{
	set_next(shm, page, HEAD);
	set_prev(shm, page, tail);
	DPA_BOARD_STEP("list-add-page");
	set_next(shm, tail, page);
	DPA_BOARD_STEP("list-add-forward");
	set_prev(shm, HEAD, page);
	DPA_BOARD_STEP("list-add-backward");
}

/* next: the page behind the one at the head. */
static void take_head(struct dpa_board_shm *shm, uint32_t next)
{
	DPA_BOARD_STEP("list-take");
	set_next(shm, HEAD, next);
	DPA_BOARD_STEP("list-take-forward");
	set_prev(shm, next, HEAD);
	DPA_BOARD_STEP("list-take-backward");
}

void dpa_board_uar_init(struct dpa_board_shm *shm, uint32_t pages)
{
	set_next(shm, HEAD, HEAD);
	set_prev(shm, HEAD, HEAD);
	for (uint32_t i = 0; i < pages; i++) {
		uint32_t tail = i ? i - 1 : HEAD;

		shm->links[i] = (struct dpa_board_link){.next = HEAD, .prev = (uint16_t)tail};
		link_at(shm, tail)->next = (uint16_t)i;
	}
	set_prev(shm, HEAD, pages - 1);
}

/*
 * Walks the forward chain and repairs the backward one. Stops at a loop or a wrong index. Returns
 * the last page, or HEAD.
 */
static uint32_t walk_pages(struct dpa_board_shm *shm, uint32_t pages, bool *seen)
{
	uint32_t last = HEAD;

	for (;;) {
		uint32_t i = get_link(&link_at(shm, last)->next);

		if (i >= pages || seen[i])
			break;
		seen[i] = true;
		set_prev(shm, i, last);
		last = i;
	}
	set_next(shm, last, HEAD);
	set_prev(shm, HEAD, last);
	return last;
}

bool dpa_board_uar_repair(struct dpa_board_shm *shm, uint32_t pages)
{
	bool seen[DPA_BOARD_UAR_PAGES] = {false};
	bool mended = false;
	uint32_t last = walk_pages(shm, pages, seen);

	DPA_BOARD_STEP("repair-walked");
	for (uint32_t i = 0; i < pages; i++) {
		if (seen[i])
			continue;
		add_tail(shm, i, last);
		last = i;
		mended = true;
	}
	return mended;
}

/*
 * The owner word is written last: a reader that finds it set finds the slot clean. The search
 * begins with another slot in each page: the first slots of all pages would share a few sets of the
 * processor's caches.
 */
static bool take_uar_slot(struct dpa_board *b, uint32_t page, uint32_t *slot)
{
	struct dpa_board_uar *u = &b->shm->uars[page];

	for (uint32_t n = 0; n < DPA_UAR_SLOTS; n++) {
		uint32_t s = (page + n) % DPA_UAR_SLOTS;

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
	int rc =
		dpa_board_reserve_entry(b, DPA_BOARD_OFF_UARS + page * sizeof(struct dpa_board_uar),
					sizeof(struct dpa_board_uar));

	return rc ? rc
		  : dpa_board_reserve_entry(b, DPA_BOARD_OFF_BAR + page * DPA_UAR_PAGE_SIZE,
					    DPA_UAR_PAGE_SIZE);
}

/* The words that moving the head page needs. */
struct ends {
	uint32_t first, next, last;
};

/* Reads and checks them: the memory is shared and may hold any value. False: out of the list. */
static bool ends_get(struct dpa_board_shm *shm, uint32_t pages, struct ends *e)
{
	e->first = get_link(&link_at(shm, HEAD)->next);
	e->last = get_link(&link_at(shm, HEAD)->prev);
	if (e->first >= pages || e->last >= pages)
		return false;
	e->next = get_link(&link_at(shm, e->first)->next);
	return e->first == e->last ? e->next == HEAD : e->next < pages;
}

/* Moves the page at the head to the tail. False: the list is damaged. */
static bool move_head(struct dpa_board_shm *shm, uint32_t pages, uint32_t *page)
{
	struct ends e;

	if (!ends_get(shm, pages, &e)) {
		dpa_board_uar_repair(shm, pages);
		if (!ends_get(shm, pages, &e))
			return false;
	}
	take_head(shm, e.next);
	/* if it is the only page, it was the last one, too */
	add_tail(shm, e.first, e.next == HEAD ? HEAD : e.last);
	*page = e.first;
	return true;
}

/* Context: the board's lock. */
static int take_from_page(struct dpa_board *b, uint32_t *page, uint32_t *slot)
{
	int full = ENOMEM;

	for (uint32_t n = 0; n < b->uar_pages; n++) {
		uint32_t p;

		if (!move_head(b->shm, b->uar_pages, &p))
			continue;
		/* No memory for this page: another page may have memory and a free slot. */
		if (reserve_page(b, p)) {
			full = ENOSPC;
			continue;
		}
		if (!take_uar_slot(b, p, slot))
			continue;
		*page = p;
		return 0;
	}
	return full;
}

int dpa_board_uar_alloc(struct dpa_board *b, uint32_t *page, uint32_t *slot)
{
	int rc = dpa_board_lock(b);

	if (rc)
		return rc;
	rc = take_from_page(b, page, slot);
	if (rc &&
	    (dpa_board_reap_locked(b, true) > 0 || dpa_board_uar_repair(b->shm, b->uar_pages)))
		rc = take_from_page(b, page, slot);
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
