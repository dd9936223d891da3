/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * share.h - registered memory that peers map: areas of one sealed memfd of the function, which
 * replace whole pages of private anonymous memory.
 *
 *   (private) --a region over it, policy--> AREA --its last region deregistered, fork--> (private)
 *
 * An area is created only where no other region lies, and stays while any region overlaps it: so
 * the code that copies its pages has them for itself. Peers find it by the region's entry
 * (mr_area[]) in the exported table, and use it under the direct path's guard (direct/direct.h).
 * When its last region is revoked no thread uses it.
 *
 *   export->area[].serial  written by the owner under hw->ctl: another number for each area
 *                          (release), after the other fields; 0 (seq_cst) at its end. Read by peers
 *                          (acquire) under a hazard pointer, and before they map it
 *   export->mr_area[]      written (seq_cst) before the entry's key and, if areas end before their
 *                          regions, before mr_gen. Read by peers (acquire) under a hazard pointer
 *   struct dpa_area_own    written under hw->ctl: `live` = 0 (seq_cst), fence, the others
 *                          (relaxed), `live` = its serial (release). Read under a QP's lock,
 *                          `live` before (acquire) and after; ends when dpa_quiesce() has waited
 *                          for those readers
 */
#ifndef DPA_SHARE_H
#define DPA_SHARE_H

#include <signal.h>
#include <dpa_memory.h>
#include "ctx/export.h"
#include "ctx/hw.h"
#include "direct/pages.h"

struct dpa_area_own {
	uint32_t refs; /* number of regions that overlap it */
	_Atomic uint32_t live;
	_Atomic uint64_t start, length;
	uint64_t off;
	_Atomic(uint8_t *) alias; /* the device's own mapping */
};

struct dpa_share {
	struct dpa_pages pages;
	uint64_t next;	/* where in the memfd the next area begins; a place is never used again */
	uint64_t bytes; /* of all areas */
	struct dpa_memory_watch *watch; /* the preload's; NULL: none */
	uint32_t serial;
	uint32_t nlive;
	_Atomic uint32_t moved; /* some area may not be where it was made */
	bool stuck; /* there are areas without a region, that could not be made private */
	_Atomic uint32_t used; /* entries that are or were in use; grows under hw->ctl */
	struct dpa_area_own own[DPA_AREAS];
};

/* Findings before a registration; the caller releases them afterwards. */
struct dpa_share_plan {
	enum dpa_share_why why; /* YES: the pages may be exchanged now */
	bool rests;
	sigset_t signals;
	int cancel;
};

/* Rights of a region by which peers reach it. */
#define DPA_SHARE_REMOTE                                                                           \
	(DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_READ | DPA_ACCESS_REMOTE_ATOMIC |             \
	 DPA_ACCESS_MW_BIND)

static inline uint64_t dpa_first_page(uint64_t addr)
{
	return (addr + DPA_PAGE - 1) & ~(DPA_PAGE - 1);
}

static inline uint64_t dpa_end_page(uint64_t addr, uint64_t length)
{
	return (addr + length) & ~(DPA_PAGE - 1);
}

/* Do [a, a + n) and [b, b + m) have a byte in common? Either may end at the end of all addresses. */
static inline bool dpa_ranges_overlap(uint64_t a, uint64_t n, uint64_t b, uint64_t m)
{
	return a < b ? b - a < n : a - b < m;
}

static inline uint32_t dpa_area_is_live(const struct dpa_area_own *o)
{
	return atomic_load_explicit(&o->live, memory_order_relaxed);
}

static inline uint64_t dpa_area_start(const struct dpa_area_own *o)
{
	return atomic_load_explicit(&o->start, memory_order_relaxed);
}

static inline uint64_t dpa_area_length(const struct dpa_area_own *o)
{
	return atomic_load_explicit(&o->length, memory_order_relaxed);
}

int dpa_share_init(struct dpa_hw *hw);
/* Context: no lock held. dpa_share_end() must follow in any case. */
void dpa_share_begin(struct dpa_hw *hw, struct dpa_share_plan *plan, const struct dpa_mr_attr *a);
void dpa_share_end(struct dpa_share_plan *plan);
/*
 * Make the area for an entry without a key yet, if pages may be exchanged, and set what its region
 * is shown as. Context: hw->ctl.
 */
void dpa_share_take(struct dpa_hw *hw, struct dpa_mr *mr, const struct dpa_share_plan *plan);
/* Release a region's part of its areas. No thread uses the region any more. Context: hw->ctl. */
void dpa_share_drop(struct dpa_hw *hw, uint64_t addr, uint64_t length);
/* Show the entry, whose key is known, in dpactl ps; dpa_share_hide(): no longer. */
void dpa_share_show(struct dpa_hw *hw, const struct dpa_mr *mr, uint32_t key);
void dpa_share_hide(struct dpa_hw *hw, uint32_t key);
/*
 * Show that peers lost the mapped way to the region of entry r. Call it after mr_area[r] is 0. Takes no
 * lock, waits for nothing; any thread, also within a signal handler.
 */
void dpa_share_show_revoked(struct dpa_hw *hw, uint32_t r);
/*
 * Return a word of an area in the device's own mapping; NULL: it is in none. Context: a QP's lock.
 */
uint64_t *dpa_share_word(struct dpa_hw *hw, uint64_t addr);

/*
 * The same for [addr, addr + n) in area `i` of this serial. NULL: it is not there. Context: a QP's
 * lock.
 */
uint8_t *dpa_share_at(struct dpa_hw *hw, uint32_t i, uint32_t serial, uint64_t addr, uint64_t n);

/*
 * The same for [addr, addr + n) of the region or window of this key. NULL: it is not there.
 * Context: a QP's lock.
 */
uint8_t *dpa_share_of(struct dpa_hw *hw, uint32_t key, uint64_t addr, uint64_t n);

/* --- share_policy.c --- */
/* The preload's watch over calls that change memory; NULL: the preload is not there. */
struct dpa_memory_watch *dpa_share_find_watch(void);
/* The process's answer. threads: may it have some of its own beside this one? */
enum dpa_share_why dpa_share_of_process(const struct dpa_hw *hw, bool threads);
/* True: until dpa_share_end() no thread of the device runs, and no signal handler here. */
bool dpa_share_stand_still(struct dpa_share_plan *plan);

/* --- share.c, for share_end.c; under hw->ctl --- */
/*
 * Make area i private; no peer and no thread here may access it. False: a part of it stays a shared
 * mapping, without peers, and is tried again later. says: log why; never in a call of the program,
 * which may hold the locks of its allocator or come from a signal handler. held:
 * dpa_share_pages_held(), found out once for all areas that end together: it reads each descriptor.
 */
bool dpa_share_unmake(struct dpa_hw *hw, uint32_t i, enum dpa_back how, enum dpa_share_why held,
		      bool says);
/* May the kernel or a driver hold pages of this process? YES: no. */
enum dpa_share_why dpa_share_pages_held(void);
int dpa_share_back(const struct dpa_share *s, const struct dpa_area_own *o, enum dpa_back how);

/* --- share_end.c --- */
/* The device opens: the program's calls are asked about. */
void dpa_share_watch(struct dpa_hw *hw);
/* It closes. When it returns no thread is asking. */
void dpa_share_unwatch(struct dpa_hw *hw);
/* Peers do not find area i of this serial any more, if it is there. Takes no lock, waits for nothing. */
void dpa_share_revoke(struct dpa_hw *hw, uint32_t i, uint32_t serial);
/* An area is there, or is not there any more. Under hw->ctl. */
void dpa_share_watched(struct dpa_share *s);

/* fork(): hw->ctl is held from the first to the second; sharing ends. */
void dpa_share_before_fork(struct dpa_hw *hw);
void dpa_share_after_fork(struct dpa_hw *hw);
void dpa_share_child(struct dpa_hw *hw);
void dpa_share_fini(struct dpa_hw *hw);

#endif
