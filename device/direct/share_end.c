/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * share_end.c - areas that end before their regions do: because the program changes the memory
 * (dpa_memory.h), or forks. The regions stay registered and are reached otherwise; share.h.
 *
 * The program's call comes from any thread, from a signal handler, from within malloc() with its
 * locks held. A thread that holds hw->ctl or a QP's lock may be waiting for malloc(). So nothing
 * here waits for a lock:
 *
 *   the bytes go      The pages of the memfd are emptied, for all that map them. The area stays.
 *   other calls       With everything at rest (the program has one thread, the device's rest) the
 *                     area becomes private memory first. Whatever is locked then is locked by this
 *                     thread, further up.
 *   else              Peers are refused (revoke_areas()), and the pages stay what they are: one
 *                     memory for peers that copy by the kernel, for the device, and for the
 *                     program, as long as it has it mapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "ctx/qp.h"
#include "util/rest.h"
#include "direct/direct.h"
#include "share.h"

/*
 * The device whose areas are asked about; and how many threads do, behind the number of forks above
 * this process: a signal handler may fork within a call, which in the child ends without a count.
 */
static _Atomic(struct dpa_hw *) watched;
static _Atomic uint64_t asking;

#define ASKING_FORK (1ull << 32)

static bool is_area_in(const struct dpa_area_own *o, uint64_t addr, uint64_t length)
{
	return atomic_load_explicit(&o->live, memory_order_acquire) &&
	       dpa_ranges_overlap(addr, length, dpa_area_start(o), dpa_area_length(o));
}

static bool any_in(const struct dpa_share *s, uint64_t addr, uint64_t length)
{
	uint32_t used = atomic_load_explicit(&s->used, memory_order_acquire);

	for (uint32_t i = 0; i < used; i++)
		if (is_area_in(&s->own[i], addr, length))
			return true;
	return false;
}

/* -------------------------------------------------------------------- ends */

/*
 * Makes the areas in that range private. Under hw->ctl; no peer has a grant, and no thread here a
 * QP. Then each generation is another one: a thread that was stopped behind its checks makes them
 * again. says: dpa_share_unmake().
 */
static void end_areas(struct dpa_hw *hw, uint64_t addr, uint64_t length, enum dpa_back how,
		      bool says)
{
	const enum dpa_share_why held = dpa_share_pages_held();
	struct dpa_share *s = hw->share;

	for (uint32_t i = 0; i < hw->mrs.used_max; i++) {
		_Atomic uint32_t *area = &hw->export->mr_area[i];
		uint32_t at = atomic_load_explicit(area, memory_order_relaxed);
		struct dpa_mr *mr = &hw->export->mr[i];

		if (!at || !is_area_in(&s->own[at - 1], addr, length))
			continue;
		atomic_store_explicit(area, 0, memory_order_seq_cst);
		mr->why = DPA_SHARE_FORKED;
		dpa_share_show(hw, mr, atomic_load_explicit(&mr->key, memory_order_relaxed));
	}
	for (uint32_t i = 0; i < hw->mrs.used_max; i++)
		atomic_fetch_add_explicit(&hw->export->mr_gen[i], 1, memory_order_seq_cst);
	for (uint32_t i = 0; i < s->used; i++)
		if (is_area_in(&s->own[i], addr, length))
			dpa_share_unmake(hw, i, how, held, says);
}

/* In a child that has the parent's pages mapped still: copies of its own; the parent's stay. */
static void back_in_child(struct dpa_share *s, uint64_t addr, uint64_t length)
{
	for (uint32_t i = 0; i < s->used; i++)
		if (is_area_in(&s->own[i], addr, length) &&
		    !dpa_share_back(s, &s->own[i], DPA_BACK_CHILD))
			atomic_store_explicit(&s->own[i].live, 0, memory_order_relaxed);
}

/*
 * An area that is made in the same place meanwhile has another serial; a region that joins
 * (dpa_share_take()) either sees that the area has ended, or is seen here. A copy that is under way
 * may end behind this.
 */
void dpa_share_revoke(struct dpa_hw *hw, uint32_t i, uint32_t serial)
{
	if (!atomic_compare_exchange_strong_explicit(&hw->export->area[i].serial, &serial, 0,
						     memory_order_seq_cst, memory_order_relaxed))
		return;
	for (uint32_t r = 0; r < hw->mrs.used_max; r++) {
		uint32_t at = i + 1;

		if (!atomic_compare_exchange_strong_explicit(&hw->export->mr_area[r], &at, 0,
							     memory_order_seq_cst,
							     memory_order_relaxed))
			continue;
		atomic_fetch_add_explicit(&hw->export->mr_gen[r], 1, memory_order_seq_cst);
		dpa_share_show_revoked(hw, r);
	}
}

/* Peers do not find the areas in that range any more. */
static void revoke_areas(struct dpa_hw *hw, uint64_t addr, uint64_t length)
{
	uint32_t used = atomic_load_explicit(&hw->share->used, memory_order_acquire);

	for (uint32_t i = 0; i < used; i++) {
		struct dpa_area_own *o = &hw->share->own[i];
		uint32_t serial = atomic_load_explicit(&o->live, memory_order_acquire);

		if (serial && is_area_in(o, addr, length))
			dpa_share_revoke(hw, i, serial);
	}
}

/* ------------------------------------------------------- the program's calls */

static bool is_alone(void)
{
	uint32_t own = dpa_own_threads();
	struct dpa_proc_status st;

	return dpa_proc_status(&st) && st.threads == 1 + own;
}

/* No QP is locked: with all threads at rest that could be this one only. */
static bool no_qp_locked(const struct dpa_hw *hw)
{
	uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (atomic_load_explicit(&hw->qps.slab[i]->lock.v, memory_order_acquire) !=
		    DPA_QPL_FREE)
			return false;
	return true;
}

/* With all threads at rest, which replaces each QP's lock. Waits for the hazards of peers. */
static void set_grants(struct dpa_hw *hw, bool any)
{
	uint32_t n = atomic_load_explicit(&hw->qps.nslab, memory_order_acquire);

	atomic_store_explicit(&hw->no_grants, !any, memory_order_seq_cst);
	for (uint32_t i = 0; i < n; i++)
		if (hw->qps.slab[i]->qpn)
			dpa_grant(hw->qps.slab[i]);
}

/* Private memory again in that range: true. */
static bool make_private(struct dpa_hw *hw, uint64_t addr, uint64_t length)
{
	struct dpa_share_plan plan = {.rests = false};
	bool done = false;

	if (!any_in(hw->share, addr, length)) /* it was moved */
		return false;
	if (!is_alone() || !dpa_share_stand_still(&plan))
		return false;
	if (!pthread_mutex_trylock(&hw->ctl)) {
		if (no_qp_locked(hw)) {
			set_grants(hw, false);
			end_areas(hw, addr, length, DPA_BACK_COPIED, false);
			done = !any_in(hw->share, addr, length);
			set_grants(hw, true);
		}
		pthread_mutex_unlock(&hw->ctl);
	}
	dpa_share_end(&plan);
	return done;
}

/*
 * It is put elsewhere as it is, with zeros behind it: pages of the memfd that nothing had yet, or an
 * earlier growth. From then on any address may be one of an area.
 */
static int move_areas(struct dpa_hw *hw, uint64_t addr, uint64_t length, uint64_t more)
{
	struct dpa_share *s = hw->share;

	revoke_areas(hw, addr, length);
	if (more > DPA_SHARE_ROOM / 2 || !dpa_pages_empty_behind(&s->pages, addr + length, more))
		return ENOMEM;
	atomic_store_explicit(&s->moved, 1, memory_order_seq_cst);
	atomic_store_explicit(&s->watch->to, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&s->watch->from, 0, memory_order_relaxed);
	return DPA_MEMORY_PASS;
}

static int answer_memory_call(struct dpa_hw *hw, uint32_t call, uint64_t addr, uint64_t length,
			      uint64_t more)
{
	switch ((enum dpa_memory_call)call) {
	case DPA_MEMORY_EMPTY:
		return dpa_pages_empty(&hw->share->pages, addr, length);
	case DPA_MEMORY_CHANGE:
		if (!make_private(hw, addr, length))
			revoke_areas(hw, addr, length);
		return DPA_MEMORY_PASS;
	case DPA_MEMORY_PRIVATE:
		return make_private(hw, addr, length) ? DPA_MEMORY_PASS : EAGAIN;
	case DPA_MEMORY_MOVE:
		return make_private(hw, addr, length) ? DPA_MEMORY_PASS
						      : move_areas(hw, addr, length, more);
	case DPA_MEMORY_REMOVE:
		return dpa_pages_any(&hw->share->pages, addr, length) ? EINVAL : DPA_MEMORY_PASS;
	}
	return DPA_MEMORY_PASS;
}

/* The kernel takes whole pages. */
static void round_out(uint64_t *addr, uint64_t *length)
{
	uint64_t end = *addr + *length < *addr || *addr + *length > UINT64_MAX - DPA_PAGE
			       ? UINT64_MAX
			       : dpa_first_page(*addr + *length);

	*addr &= ~(DPA_PAGE - 1);
	*length = end - *addr;
}

/* May the call concern an area? One that was moved is found by its pages. */
static bool concerns_area(const struct dpa_share *s, uint32_t call, uint64_t addr, uint64_t length)
{
	return any_in(s, addr, length) ||
	       (dpa_unlikely(atomic_load_explicit(&s->moved, memory_order_relaxed)) &&
		call != DPA_MEMORY_CHANGE && dpa_pages_any(&s->pages, addr, length));
}

static void ask_no_more(uint64_t since)
{
	uint64_t now = atomic_load_explicit(&asking, memory_order_relaxed);

	while (now / ASKING_FORK == since / ASKING_FORK &&
	       !atomic_compare_exchange_weak_explicit(&asking, &now, now - 1, memory_order_release,
						      memory_order_relaxed))
		;
}

static int ask_share(uint32_t call, uint64_t addr, uint64_t length, uint64_t more)
{
	int ret = DPA_MEMORY_PASS, err = errno, cancel;
	struct dpa_hw *hw;
	uint64_t since;

	round_out(&addr, &length);
	since = atomic_fetch_add_explicit(&asking, 1, memory_order_seq_cst);
	hw = atomic_load_explicit(&watched, memory_order_seq_cst);
	if (hw && concerns_area(hw->share, call, addr, length)) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		if (dpa_likely(dpa_lives(hw)))
			ret = answer_memory_call(hw, call, addr, length, more);
		else /* a child of a raw clone, which no handler told */
			back_in_child(hw->share, addr, length);
		pthread_setcancelstate(cancel, NULL);
	}
	ask_no_more(since);
	errno = err;
	return ret;
}

void dpa_share_watch(struct dpa_hw *hw)
{
	struct dpa_share *s = hw->share;

	s->watch = dpa_share_find_watch();
	if (!s->watch)
		return;
	atomic_store_explicit(&watched, hw, memory_order_seq_cst);
	atomic_store_explicit(&s->watch->ask, ask_share, memory_order_release);
}

void dpa_share_watched(struct dpa_share *s)
{
	uint64_t from = UINT64_MAX, to = 0;

	if (!s->watch || (s->nlive && s->moved))
		return;
	atomic_store_explicit(&s->moved, 0, memory_order_relaxed); /* of those that ended */
	for (uint32_t i = 0; i < s->used; i++) {
		const struct dpa_area_own *o = &s->own[i];
		uint64_t end = dpa_area_start(o) + dpa_area_length(o);

		if (!dpa_area_is_live(o))
			continue;
		from = dpa_area_start(o) < from ? dpa_area_start(o) : from;
		to = end > to ? end : to;
	}
	/* to first: a range that only widens */
	atomic_store_explicit(&s->watch->to, to, memory_order_relaxed);
	atomic_store_explicit(&s->watch->from, from, memory_order_relaxed);
}

void dpa_share_unwatch(struct dpa_hw *hw)
{
	struct dpa_share *s = hw->share;
	struct dpa_hw *was = hw;
	uint32_t n = 0;

	if (!atomic_compare_exchange_strong_explicit(&watched, &was, NULL, memory_order_seq_cst,
						     memory_order_relaxed))
		return;
	atomic_store_explicit(&s->watch->from, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&s->watch->to, 0, memory_order_relaxed);
	while (atomic_load_explicit(&asking, memory_order_acquire) % ASKING_FORK)
		dpa_relax(&n);
}

/* --------------------------------------------------------------------- fork */

static void lock_qps(struct dpa_hw *hw, bool lock)
{
	for (uint32_t i = 0; i < hw->qps.nslab; i++) {
		if (lock)
			dpa_qplock_lock(&hw->qps.slab[i]->lock);
		else
			dpa_qp_leave(hw->qps.slab[i]);
	}
}

/*
 * The child would have a shared mapping in common with its parent. No thread may copy into the pages
 * while they become private: no peer has an access capability, and no thread here a QP's lock.
 */
void dpa_share_before_fork(struct dpa_hw *hw)
{
	struct dpa_share_plan plan = {.rests = false};
	enum dpa_back how = DPA_BACK_PLACED;
	struct dpa_share *s = hw->share;

	pthread_mutex_lock(&hw->ctl);
	if (!s || !s->nlive)
		return;
	atomic_store_explicit(&hw->no_grants, 1, memory_order_seq_cst);
	dpa_grant_all(hw);
	if (is_alone() && dpa_share_stand_still(&plan))
		how = DPA_BACK_COPIED;
	lock_qps(hw, true);
	end_areas(hw, 0, UINT64_MAX, how, true);
	lock_qps(hw, false);
	dpa_share_end(&plan);
}

void dpa_share_after_fork(struct dpa_hw *hw)
{
	bool none = atomic_exchange_explicit(&hw->no_grants, 0, memory_order_seq_cst);

	if (none)
		dpa_grant_all(hw);
	pthread_mutex_unlock(&hw->ctl);
}

/* Areas that could not be made private before are copied here; the parent is running again. */
void dpa_share_child(struct dpa_hw *hw)
{
	struct dpa_share *s = hw->share;

	dpa_rest_reset();
	pthread_mutex_init(&hw->ctl, NULL);
	atomic_store_explicit(&asking,
			      (atomic_load_explicit(&asking, memory_order_relaxed) / ASKING_FORK +
			       1) * ASKING_FORK,
			      memory_order_relaxed);
	dpa_share_unwatch(hw);
	if (!s || s->pages.fd < 0)
		return;
	back_in_child(s, 0, UINT64_MAX);
	if (dpa_pages_have_fd(&s->pages))
		close(s->pages.fd);
	s->pages.fd = -1;
}
