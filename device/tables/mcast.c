/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mcast.c - attachments of the board's QPs to multicast groups. An attachment is valid while its
 * owner word equals that of its QPN. So the entries of a dead process need no cleanup: they are
 * stale at once and can be reused. Written under the board's lock, read by senders without it.
 * Entries never move.
 */
#include <errno.h>
#include <string.h>
#include "board/board_priv.h"
#include "tables/tables.h"

_Static_assert(DPA_MAX_MCAST ==
		       sizeof(((struct dpa_board_shm *)0)->mcast) / sizeof(struct dpa_board_mcast),
	       "mcast");

static uint64_t mcast_entry_off(uint32_t i)
{
	return DPA_BOARD_OFF_MCAST + (uint64_t)i * sizeof(struct dpa_board_mcast);
}

/* One past the last entry ever used. */
static uint32_t used_entries(struct dpa_board *b)
{
	uint32_t n = atomic_load_explicit(&b->shm->head.mcast_used, memory_order_acquire);

	return n < DPA_MAX_MCAST ? n : DPA_MAX_MCAST;
}

/*
 * Copies an entry. False: it is free, stale, or being written. Each load is an acquire, so that the
 * second load of seq comes last.
 */
static bool get_mcast(struct dpa_board *b, uint32_t i, uint64_t gid[2], uint32_t *qpn)
{
	struct dpa_board_mcast *e = &b->shm->mcast[i];
	dpa_owner_t owner;
	uint32_t seq;

	if (!dpa_board_present(b, mcast_entry_off(i)))
		return false;
	seq = atomic_load_explicit(&e->seq, memory_order_acquire);
	owner = atomic_load_explicit(&e->owner, memory_order_acquire);
	*qpn = atomic_load_explicit(&e->qpn, memory_order_acquire);
	gid[0] = atomic_load_explicit(&e->gid[0], memory_order_acquire);
	gid[1] = atomic_load_explicit(&e->gid[1], memory_order_acquire);
	return !(seq & 1) && atomic_load_explicit(&e->seq, memory_order_relaxed) == seq &&
	       dpa_board_entry_held(b, *qpn, owner);
}

/* If a writer died seq is odd: the next writer continues from it. Context: the board's lock. */
static void put_mcast(struct dpa_board *b, uint32_t i, const uint64_t gid[2], uint32_t qpn,
		      dpa_owner_t owner)
{
	struct dpa_board_mcast *e = &b->shm->mcast[i];
	uint32_t odd = atomic_load_explicit(&e->seq, memory_order_relaxed) | 1;

	atomic_store_explicit(&e->seq, odd, memory_order_relaxed);
	DPA_BOARD_STEP("mcast-odd");
	/* Each after the odd number. */
	atomic_store_explicit(&e->qpn, qpn, memory_order_release);
	atomic_store_explicit(&e->gid[0], gid[0], memory_order_release);
	atomic_store_explicit(&e->gid[1], gid[1], memory_order_release);
	atomic_store_explicit(&e->owner, owner, memory_order_release);
	atomic_store_explicit(&e->seq, odd + 1, memory_order_release);
}

/*
 * Returns the entry of that group and QP, or DPA_MAX_MCAST. *gap: a free entry, or used_entries().
 */
static uint32_t find_mcast(struct dpa_board *b, const uint64_t gid[2], uint32_t qpn, uint32_t *gap)
{
	uint32_t n = used_entries(b);

	*gap = n;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t g[2];
		uint32_t q;

		if (!get_mcast(b, i, g, &q)) {
			if (*gap == n)
				*gap = i;
			continue;
		}
		if (q == qpn && g[0] == gid[0] && g[1] == gid[1])
			return i;
	}
	return DPA_MAX_MCAST;
}

int dpa_board_mcast_attach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn)
{
	uint64_t g[2];
	uint32_t gap;
	int rc;

	memcpy(g, gid, sizeof(g));
	rc = dpa_board_lock(b);
	if (rc)
		return rc;
	if (find_mcast(b, g, qpn, &gap) < DPA_MAX_MCAST)
		rc = EALREADY;
	else if (gap >= DPA_MAX_MCAST)
		rc = ENOMEM;
	else
		rc = dpa_board_reserve_entry(b, mcast_entry_off(gap),
					     sizeof(struct dpa_board_mcast));
	if (!rc) {
		put_mcast(b, gap, g, qpn, dpa_board_me(b));
		if (gap >= used_entries(b))
			atomic_store_explicit(&b->shm->head.mcast_used, gap + 1,
					      memory_order_release);
	}
	dpa_board_unlock(b);
	return rc;
}

int dpa_board_mcast_detach(struct dpa_board *b, const uint8_t gid[16], uint32_t qpn)
{
	static const uint64_t none[2];
	uint32_t at, gap;
	uint64_t g[2];
	int rc;

	memcpy(g, gid, sizeof(g));
	rc = dpa_board_lock(b);
	if (rc)
		return rc;
	at = find_mcast(b, g, qpn, &gap);
	if (at < DPA_MAX_MCAST)
		put_mcast(b, at, none, 0, 0);
	else
		rc = ENOENT;
	dpa_board_unlock(b);
	return rc;
}

void dpa_board_mcast_forget(struct dpa_board *b, uint32_t qpn)
{
	static const uint64_t none[2];

	if (dpa_board_lock(b))
		return; /* they become stale once the QPN is free */
	for (uint32_t i = 0, n = used_entries(b); i < n; i++) {
		uint64_t g[2];
		uint32_t q;

		if (get_mcast(b, i, g, &q) && q == qpn)
			put_mcast(b, i, none, 0, 0);
	}
	dpa_board_unlock(b);
}

bool dpa_board_mcast_next(struct dpa_board *b, const uint8_t gid[16], uint32_t *at, uint32_t *qpn)
{
	uint32_t n = used_entries(b);
	uint64_t want[2], g[2];

	memcpy(want, gid, sizeof(want));
	for (; *at < n; ++*at)
		if (get_mcast(b, *at, g, qpn) && g[0] == want[0] && g[1] == want[1])
			return true;
	return false;
}

bool dpa_board_mcast_group(struct dpa_board *b, uint32_t qpn, uint32_t *at, uint8_t gid[16])
{
	uint32_t n = used_entries(b), of;
	uint64_t g[2];

	for (; *at < n; ++*at)
		if (get_mcast(b, *at, g, &of) && of == qpn) {
			memcpy(gid, g, 16);
			return true;
		}
	return false;
}
