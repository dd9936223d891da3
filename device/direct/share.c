/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which registered memory peers may map: the areas, and the regions over them; share.h. The policy
 * is in share_policy.c, what the program and fork() do to areas in share_end.c.
 *
 * While pages are exchanged only this thread may store there. Under `auto` the application has no
 * other thread then, and its signals are blocked. The device's own threads quiesce (util/rest.h).
 * No packet or work request names the memory, because no region contains it. Stores that the kernel
 * may still make there (VmPin, asynchronous I/O) are checked, too. Pins of a driver need not show
 * in VmPin (CUDA's do not): while the process has such a driver's file open no pages are exchanged
 * in either direction.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "ctx/export.h"
#include "ctx/qp.h"
#include "ctx/thread.h"
#include "util/sys.h"
#include "direct/direct.h"
#include "share.h"

#define REMOTE DPA_SHARE_REMOTE

/* No memfd where every region is refused in any case: share_policy.c. */
static bool may_share(const struct dpa_hw *hw, const struct dpa_share *s)
{
	return hw->cfg.share_mr == DPA_CFG_SHARE_ALWAYS ||
	       (hw->cfg.share_mr == DPA_CFG_SHARE_AUTO && s->watch);
}

int dpa_share_init(struct dpa_hw *hw)
{
	struct dpa_share *s = calloc(1, sizeof(*s));

	if (!s)
		return ENOMEM;
	s->watch = hw->cfg.share_mr == DPA_CFG_SHARE_NEVER ? NULL : dpa_share_find_watch();
	if (!may_share(hw, s) || dpa_pages_open(&s->pages, DPA_SHARE_BYTES))
		s->pages.fd = -1; /* then registered memory is not shared */
	hw->share = s;
	if (s->pages.fd >= 0)
		dpa_share_watch(hw);
	hw->export->share_inode = s->pages.inode;
	hw->export->share_dev = (uint64_t)s->pages.dev_major << 32 | s->pages.dev_minor;
	hw->export->share_fd = s->pages.fd;
	return 0;
}

/* -------------------------------------------------------------------- areas */

/* True for application memory: regions of other kinds never overlap it. */
static bool is_application_mr(const struct dpa_mr *mr)
{
	return mr->owner && mr->kind == DPA_KIND_MR && !mr->qpn;
}

/* True if another region, which may be in use, overlaps the range. */
static bool has_other_region(const struct dpa_hw *hw, const struct dpa_mr *but, uint64_t start,
			     uint64_t n)
{
	for (uint32_t i = 0; i < hw->mrs.used_max; i++) {
		const struct dpa_mr *mr = &hw->export->mr[i];

		if (mr != but && is_application_mr(mr) &&
		    dpa_ranges_overlap(start, n, mr->addr, mr->length))
			return true;
	}
	return false;
}

/* The area at s->next, for this process and for others. */
static void fill_area(struct dpa_hw *hw, uint32_t i, uint64_t start, uint64_t length,
		      uint8_t *alias)
{
	struct dpa_area *a = &hw->export->area[i];
	struct dpa_share *s = hw->share;
	struct dpa_area_own *o = &s->own[i];

	s->serial += s->serial == UINT32_MAX ? 2 : 1;
	o->refs = 0;
	o->off = s->next;
	atomic_store_explicit(&o->start, start, memory_order_relaxed);
	atomic_store_explicit(&o->length, length, memory_order_relaxed);
	atomic_store_explicit(&o->alias, alias, memory_order_relaxed);
	atomic_store_explicit(&o->live, s->serial, memory_order_release);
	if (i >= atomic_load_explicit(&s->used, memory_order_relaxed))
		atomic_store_explicit(&s->used, i + 1, memory_order_release);
	s->nlive++;
	a->start = start;
	a->length = length;
	a->off = s->next;
	atomic_store_explicit(&a->serial, s->serial, memory_order_release);
	s->next += (length + 2 * DPA_SHARE_ROOM - 1) & ~(DPA_SHARE_ROOM - 1);
	s->bytes += length;
	dpa_share_watched(s);
}

static enum dpa_share_why make_area(struct dpa_hw *hw, uint64_t start, uint64_t length,
				    uint32_t *at)
{
	const uint64_t self[] = {(uintptr_t)__builtin_frame_address(0), (uintptr_t)pthread_self(),
				 (uintptr_t)&dpa_me, (uintptr_t)&errno};
	struct dpa_share *s = hw->share;
	enum dpa_share_why why;
	uint32_t i = 0;
	void *alias;

	while (i < DPA_AREAS && dpa_area_is_live(&s->own[i]))
		i++;
	if (hw->cfg.share_mr != DPA_CFG_SHARE_ALWAYS &&
	    s->bytes + length > (uint64_t)hw->cfg.share_total << 20)
		return DPA_SHARE_BUDGET;
	if (i == DPA_AREAS || length > DPA_SHARE_BYTES / 2 ||
	    s->next > DPA_SHARE_BYTES - DPA_SHARE_ROOM - length)
		return DPA_SHARE_FULL;
	why = dpa_pages_may(&s->pages, start, start + length, self, 4);
	if (why != DPA_SHARE_YES)
		return why;
	if (s->watch && atomic_load_explicit(&s->watch->special, memory_order_relaxed) &&
	    dpa_proc_advised(start, start + length))
		return DPA_SHARE_ADVISED;
	if (!dpa_pages_have_fd(&s->pages))
		return DPA_SHARE_KERNEL;
	alias = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, s->pages.fd, (off_t)s->next);
	if (alias == MAP_FAILED)
		return DPA_SHARE_KERNEL;
	dpa_sys_madvise(alias, length, MADV_DONTFORK);
	if (dpa_pages_share(&s->pages, start, start + length, s->next)) {
		munmap(alias, length);
		return DPA_SHARE_KERNEL;
	}
	fill_area(hw, i, start, length, alias);
	*at = i;
	return DPA_SHARE_YES;
}

int dpa_share_back(const struct dpa_share *s, const struct dpa_area_own *o, enum dpa_back how)
{
	return dpa_pages_unshare(&s->pages, dpa_area_start(o), o->off, dpa_area_length(o),
				 DPA_SHARE_ROOM, how);
}

enum dpa_share_why dpa_share_pages_held(void)
{
	struct dpa_proc_status st;

	if (!dpa_proc_status(&st) || st.pinned)
		return DPA_SHARE_PINNED;
	return dpa_proc_pins() ? DPA_SHARE_DEVICE : DPA_SHARE_YES;
}

/*
 * Makes an area private. No peer and no thread here uses it. False: a part is still shared, with no
 * peer, and is tried again later. says: share.h.
 */
bool dpa_share_unmake(struct dpa_hw *hw, uint32_t i, enum dpa_back how, enum dpa_share_why held,
		      bool says)
{
	struct dpa_share *s = hw->share;
	struct dpa_area_own *o = &s->own[i];
	int err;

	uint8_t *alias = atomic_load_explicit(&o->alias, memory_order_relaxed);

	atomic_store_explicit(&hw->export->area[i].serial, 0, memory_order_seq_cst);
	atomic_store_explicit(&o->alias, NULL, memory_order_relaxed);
	if (alias)
		munmap(alias, dpa_area_length(o));
	/* pages that something has hold of must stay where they are mapped */
	if (held != DPA_SHARE_YES) {
		if (says && alias) /* at the first try */
			dpa_log(hw, DPA_LOG_WARN, "registered memory stays shared: %s",
				dpa_share_why_text[held]);
		return false;
	}
	err = dpa_share_back(s, o, how);
	if (err && how == DPA_BACK_COPIED)
		err = dpa_share_back(s, o, DPA_BACK_PLACED);
	if (err) {
		if (says)
			dpa_log(hw, DPA_LOG_WARN, "registered memory stays shared: %s",
				strerror(err));
		return false;
	}
	atomic_store_explicit(&o->live, 0, memory_order_seq_cst);
	s->bytes -= dpa_area_length(o);
	s->nlive--;
	dpa_share_watched(s);
	return true;
}

/*
 * Makes all areas without regions private. If the device's threads cannot quiesce, because they may
 * wait for hw->ctl, a private mapping replaces the pages, which loses no store.
 */
static void unmake_unused(struct dpa_hw *hw)
{
	struct dpa_share_plan plan = {.rests = false};
	enum dpa_share_why held = dpa_share_of_process(hw, false);
	enum dpa_back how = DPA_BACK_PLACED;
	struct dpa_share *s = hw->share;

	s->stuck = false;
	if (held == DPA_SHARE_YES && dpa_share_stand_still(&plan))
		how = DPA_BACK_COPIED;
	if (held != DPA_SHARE_YES) /* not all of its reasons are one here */
		held = dpa_share_pages_held();
	for (uint32_t i = 0; i < s->used; i++)
		if (dpa_area_is_live(&s->own[i]) && !s->own[i].refs &&
		    !dpa_share_unmake(hw, i, how, held, true))
			s->stuck = true;
	dpa_share_end(&plan);
}

/* ------------------------------------------------------------------ regions */

/*
 * Do peers find the area, and are its pages where the range has a byte of it? The C library's free()
 * unmaps past the preload, and other memory may be there by now.
 */
static bool is_in_place(const struct dpa_hw *hw, uint32_t i, uint64_t addr, uint64_t length)
{
	const struct dpa_area_own *o = &hw->share->own[i];
	uint64_t from = dpa_area_start(o), to = from + dpa_area_length(o);
	uint64_t first = addr & ~(DPA_PAGE - 1), end = dpa_first_page(addr + length);

	if (!atomic_load_explicit(&hw->export->area[i].serial, memory_order_seq_cst))
		return false;
	first = first > from ? first : from;
	end = end < to && end > addr ? end : to;
	return dpa_pages_in_place(&hw->share->pages, first, end, o->off + (first - from));
}

/*
 * Joins the areas that exist already; returns the one that contains the whole range, or one of
 * them. One that is not in place ends here for peers; it stays, without them, as long as a region
 * is there.
 */
static bool join_area(struct dpa_hw *hw, uint64_t addr, uint64_t length, uint32_t *at, bool *whole)
{
	uint64_t start = dpa_first_page(addr), end = dpa_end_page(addr, length);
	uint32_t best = 0; /* 1: it has ended; 2: it has some of the range; 3: all */
	struct dpa_share *s = hw->share;

	for (uint32_t i = 0; i < s->used; i++) {
		struct dpa_area_own *o = &s->own[i];
		uint32_t rank = 1;

		if (!dpa_area_is_live(o) ||
		    !dpa_ranges_overlap(addr, length, dpa_area_start(o), dpa_area_length(o)))
			continue;
		o->refs++;
		if (!is_in_place(hw, i, addr, length))
			dpa_share_revoke(hw, i, dpa_area_is_live(o));
		else
			rank = dpa_area_start(o) <= start &&
					       end <= dpa_area_start(o) + dpa_area_length(o)
				       ? 3
				       : 2;
		if (rank > best)
			*at = i;
		best = rank > best ? rank : best;
	}
	*whole = best == 3;
	return best;
}

void dpa_share_take(struct dpa_hw *hw, struct dpa_mr *mr, const struct dpa_share_plan *plan)
{
	uint64_t start = dpa_first_page(mr->addr), end = dpa_end_page(mr->addr, mr->length);
	_Atomic uint32_t *area = &hw->export->mr_area[mr - hw->export->mr];
	enum dpa_share_why why = plan->why;
	struct dpa_share *s = hw->share;
	uint32_t at = 0;
	bool whole;

	atomic_store_explicit(area, 0, memory_order_seq_cst);
	mr->why = (uint8_t)why;
	if (!s || s->pages.fd < 0 || mr->kind != DPA_KIND_MR || mr->qpn)
		return;
	if (dpa_unlikely(s->stuck))
		unmake_unused(hw);
	if (s->nlive && join_area(hw, mr->addr, mr->length, &at, &whole)) {
		bool there, look = mr->access & REMOTE && !(mr->access & DPA_ACCESS_ON_DEMAND);

		/* a few bytes of it may be what the area has: no reason not to look */
		if (look)
			atomic_store_explicit(area, at + 1, memory_order_seq_cst);
		/* behind that store: revoke_areas() in share_end.c ends the area, then looks for its regions */
		there = atomic_load_explicit(&hw->export->area[at].serial, memory_order_seq_cst);
		if (!there)
			atomic_store_explicit(area, 0, memory_order_seq_cst);
		mr->why = !there ? DPA_SHARE_FORKED : whole ? DPA_SHARE_YES : DPA_SHARE_OVERLAP;
		return;
	}
	if (why == DPA_SHARE_YES && has_other_region(hw, mr, start, end - start))
		why = DPA_SHARE_OVERLAP;
	if (why == DPA_SHARE_YES)
		why = make_area(hw, start, end - start, &at);
	if (why == DPA_SHARE_YES) {
		s->own[at].refs++;
		atomic_store_explicit(area, at + 1, memory_order_seq_cst);
	}
	mr->why = (uint8_t)why;
}

void dpa_share_drop(struct dpa_hw *hw, uint64_t addr, uint64_t length)
{
	struct dpa_share *s = hw->share;
	bool last = false;

	if (!s || !s->nlive)
		return;
	for (uint32_t i = 0; i < s->used; i++) {
		struct dpa_area_own *o = &s->own[i];

		if (dpa_area_is_live(o) && o->refs &&
		    dpa_ranges_overlap(addr, length, dpa_area_start(o), dpa_area_length(o)) &&
		    !--o->refs)
			last = true;
	}
	if (last || s->stuck)
		unmake_unused(hw);
}

static enum dpa_mr_way way_of(const struct dpa_hw *hw, const struct dpa_mr *mr)
{
	if (!(mr->access & REMOTE) || mr->kind == DPA_KIND_NULL)
		return DPA_WAY_LOCAL;
	if (atomic_load_explicit(&hw->export->mr_area[mr - hw->export->mr], memory_order_seq_cst))
		return DPA_WAY_MAPPED;
	return mr->qpn || mr->kind == DPA_KIND_FOREIGN || mr->why == DPA_SHARE_DIRECT ||
			       mr->why == DPA_SHARE_GUARD
		       ? DPA_WAY_RING
		       : DPA_WAY_PROCESS_VM;
}

static struct dpa_board_mrinfo *info_of(struct dpa_hw *hw, uint32_t key)
{
	struct dpa_board_mrinfo *info = dpa_board_mrinfo(hw->board, hw->board->slot);

	for (uint32_t i = 0; info && i < DPA_BOARD_MRINFO; i++)
		if (__atomic_load_n(&info[i].key, __ATOMIC_RELAXED) == key)
			return &info[i];
	return NULL;
}

static uint64_t shown_word(const struct dpa_mr *mr, uint32_t key, enum dpa_mr_way way)
{
	/* it had an area, which ended without a lock: dpa_share_show_revoked() */
	const bool ended = mr->why == DPA_SHARE_YES && way == DPA_WAY_PROCESS_VM;
	const struct dpa_board_mrinfo i = {
		.key = key, .way = (uint8_t)way, .why = ended ? DPA_SHARE_FORKED : mr->why};

	return i.word;
}

/*
 * An area may end meanwhile, without a lock. Either this call sees that mr_area[] is 0 and stores again,
 * or dpa_share_show_revoked() sees what is stored here: each writes its own word before it reads the
 * other's (seq_cst).
 */
void dpa_share_show(struct dpa_hw *hw, const struct dpa_mr *mr, uint32_t key)
{
	struct dpa_board_mrinfo *info = info_of(hw, key);
	enum dpa_mr_way way, was;

	info = info ? info : info_of(hw, 0);
	if (!info)
		return;
	info->addr = mr->addr;
	info->length = mr->length;
	way = way_of(hw, mr);
	do {
		was = way;
		__atomic_store_n(&info->word, shown_word(mr, key, was), __ATOMIC_SEQ_CST);
		way = way_of(hw, mr);
	} while (way != was);
}

static struct dpa_board_mrinfo *info_of_entry(struct dpa_hw *hw, uint32_t r)
{
	struct dpa_board_mrinfo *info = dpa_board_mrinfo(hw->board, hw->board->slot);

	for (uint32_t i = 0; info && i < DPA_BOARD_MRINFO; i++) {
		uint32_t key = __atomic_load_n(&info[i].key, __ATOMIC_SEQ_CST);

		if (key && key >> DPA_KEY_TAG_BITS == r)
			return &info[i];
	}
	return NULL;
}

/* A word with another key is a later region's, which has shown itself what it is. */
void dpa_share_show_revoked(struct dpa_hw *hw, uint32_t r)
{
	struct dpa_board_mrinfo *info = info_of_entry(hw, r), i;
	uint64_t was;

	if (!info)
		return;
	was = __atomic_load_n(&info->word, __ATOMIC_SEQ_CST);
	do {
		i.word = was;
		if (i.key >> DPA_KEY_TAG_BITS != r || i.way != DPA_WAY_MAPPED ||
		    atomic_load_explicit(&hw->export->mr_area[r], memory_order_seq_cst))
			return;
		i.way = DPA_WAY_PROCESS_VM;
		i.why = DPA_SHARE_FORKED;
	} while (!__atomic_compare_exchange_n(&info->word, &was, i.word, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
}

void dpa_share_hide(struct dpa_hw *hw, uint32_t key)
{
	struct dpa_board_mrinfo *info = key ? info_of(hw, key) : NULL;

	if (info)
		__atomic_store_n(&info->key, 0, __ATOMIC_RELEASE);
}

/* NULL: not in this area, or the area has changed. */
static uint8_t *at_of(struct dpa_area_own *o, uint32_t live, uint64_t addr, uint64_t n)
{
	uint64_t off = addr - dpa_area_start(o), length = dpa_area_length(o);
	uint8_t *alias = atomic_load_explicit(&o->alias, memory_order_relaxed);

	dpa_acquire_fence();
	if (!live || !alias || off >= length || n > length - off ||
	    atomic_load_explicit(&o->live, memory_order_relaxed) != live)
		return NULL;
	return alias + off;
}

uint8_t *dpa_share_at(struct dpa_hw *hw, uint32_t i, uint32_t serial, uint64_t addr, uint64_t n)
{
	struct dpa_area_own *o = &hw->share->own[i];

	if (atomic_load_explicit(&o->live, memory_order_acquire) != serial)
		return NULL;
	return at_of(o, serial, addr, n);
}

uint8_t *dpa_share_of(struct dpa_hw *hw, uint32_t key, uint64_t addr, uint64_t n)
{
	const struct dpa_export *e = hw->export;
	const struct dpa_mr *mr = &e->mr[key >> DPA_KEY_TAG_BITS];
	uint32_t i = mr->kind == DPA_KIND_MR ? key >> DPA_KEY_TAG_BITS
					     : __atomic_load_n(&mr->parent, __ATOMIC_RELAXED) - 1;

	if (!hw->share || i >= DPA_MAX_MR)
		return NULL;
	i = atomic_load_explicit(&e->mr_area[i], memory_order_relaxed);
	return i ? dpa_share_at(hw, i - 1,
				atomic_load_explicit(&e->area[i - 1].serial, memory_order_relaxed),
				addr, n)
		 : NULL;
}

uint64_t *dpa_share_word(struct dpa_hw *hw, uint64_t addr)
{
	struct dpa_share *s = hw->share;
	uint32_t used = s ? atomic_load_explicit(&s->used, memory_order_acquire) : 0;

	for (uint32_t i = 0; i < used && addr % 8 == 0; i++) {
		struct dpa_area_own *o = &s->own[i];
		uint32_t live = atomic_load_explicit(&o->live, memory_order_acquire);
		uint8_t *at = at_of(o, live, addr, 8);

		/* one that was taken back (share_end.c) may be mapped here no more */
		if (at &&
		    atomic_load_explicit(&hw->export->area[i].serial, memory_order_relaxed) == live)
			return (uint64_t *)(void *)at;
	}
	return NULL;
}

/* No region is left; what could not be made private stays as it is. */
void dpa_share_fini(struct dpa_hw *hw)
{
	struct dpa_share *s = hw->share;

	if (!s)
		return;
	if (s->stuck)
		unmake_unused(hw);
	dpa_share_unwatch(hw);
	if (dpa_pages_have_fd(&s->pages))
		close(s->pages.fd);
	free(s);
	hw->share = NULL;
}
