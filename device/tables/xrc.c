/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * xrc.c - XRC domains that processes share by a file, and the owners of XRC SRQs.
 * A domain has no record of its own. It exists while a live process has it open, and each such
 * process has an entry with file and number. Entries are read and written under the board's lock;
 * dead processes are reaped before a domain is looked up. An SRQ's number is taken like a QPN
 * (qpn.c): by a CAS on its owner word, which the owner or its reaper clears. A process that looks
 * up a number just when it moves to another process may get the new owner, which knows no SRQ of
 * the old number.
 */
#include <errno.h>
#include "board/board_priv.h"
#include "tables/tables.h"

#define SRQ_BITS  14
#define SRQ_INDEX (DPA_MAX_SRQ - 1u)
#define TURNS	  (1u << (24 - SRQ_BITS))
_Static_assert(DPA_MAX_SRQ == 1 << SRQ_BITS, "index bits");

/*
 * No process with an entry is dead here. Returns the end if there is none. Context: the board's
 * lock.
 */
static uint32_t find_xrcd(const struct dpa_board_xrcd *x, uint32_t n, const struct dpa_xrcd_attr *a,
			  uint32_t *gap)
{
	uint32_t at = n;

	*gap = n;
	for (uint32_t i = n; i-- > 0;) {
		if (!x[i].owner)
			*gap = i;
		else if (x[i].dev == a->dev && x[i].ino == a->ino)
			at = i;
	}
	return at;
}

/* Context: the board's lock. */
static uint32_t new_num(struct dpa_board *b)
{
	if (!++b->shm->head.xrcd_num)
		b->shm->head.xrcd_num = 1;
	return b->shm->head.xrcd_num;
}

/*
 * Writes the owner word last: a process that dies before has written nothing. Context: the board's
 * lock.
 */
static int open_named(struct dpa_board *b, const struct dpa_xrcd_attr *a, uint32_t *num,
		      uint32_t *at)
{
	uint32_t used = b->shm->head.xrcd_used, was;
	struct dpa_board_xrcd *x = b->shm->xrcds;
	int rc;

	if (used > DPA_BOARD_XRCDS)
		used = DPA_BOARD_XRCDS;
	dpa_board_reap_locked(b, true);
	was = find_xrcd(x, used, a, at);
	if (was < used && a->exclusive)
		return EINVAL;
	if (was == used && !a->create)
		return EAGAIN;
	if (*at >= DPA_BOARD_XRCDS)
		return ENOMEM;
	rc = dpa_board_reserve_entry(b, DPA_BOARD_OFF_XRCDS + *at * sizeof(*x), sizeof(*x));
	if (rc)
		return rc;
	*num = was < used ? x[was].num : new_num(b);
	x[*at].dev = a->dev;
	x[*at].ino = a->ino;
	x[*at].num = *num;
	if (*at == used)
		b->shm->head.xrcd_used = used + 1;
	DPA_BOARD_STEP("xrcd-written");
	__atomic_store_n(&x[*at].owner, dpa_board_me(b), __ATOMIC_RELEASE);
	return 0;
}

int dpa_board_xrcd_open(struct dpa_board *b, const struct dpa_xrcd_attr *a, uint32_t *num,
			uint32_t *at)
{
	int rc = dpa_board_lock(b);

	if (rc)
		return rc;
	*at = UINT32_MAX;
	if (a->named)
		rc = open_named(b, a, num, at);
	else
		*num = new_num(b);
	dpa_board_unlock(b);
	atomic_fetch_add_explicit(&b->nxrc, 1, memory_order_relaxed);
	return rc;
}

void dpa_board_xrcd_close(struct dpa_board *b, uint32_t at)
{
	if (at >= DPA_BOARD_XRCDS || dpa_board_lock(b))
		return; /* the board cannot be locked: the entry ends with the process */
	if (b->shm->xrcds[at].owner == dpa_board_me(b))
		b->shm->xrcds[at].owner = 0;
	dpa_board_unlock(b);
}

/* ---------------------------------------------------------------------- SRQs */

static struct dpa_board_xrc_srq *xrc_srq_entry(struct dpa_board *b, uint32_t at)
{
	return dpa_board_present(b, DPA_BOARD_OFF_XSRQS + at * sizeof(struct dpa_board_xrc_srq))
		       ? &b->shm->xrc_srqs[at]
		       : NULL;
}

int dpa_board_xrc_srq_add(struct dpa_board *b, uint32_t xrcd, uint32_t *srqn)
{
	/* Each process begins at a place of its own. */
	uint32_t from = atomic_load_explicit(&b->next_xsrq, memory_order_relaxed) +
			b->slot * (DPA_MAX_SRQ / DPA_BOARD_PROCS);

	for (uint32_t i = 0; i < DPA_MAX_SRQ; i++) {
		uint32_t at = (from + i) & SRQ_INDEX, turn;
		struct dpa_board_xrc_srq *s = &b->shm->xrc_srqs[at];
		dpa_owner_t none = 0;

		if (dpa_board_reserve_entry(b, DPA_BOARD_OFF_XSRQS + at * sizeof(*s), sizeof(*s)))
			return ENOSPC;
		if (!atomic_compare_exchange_strong_explicit(&s->owner, &none, dpa_board_me(b),
							     memory_order_acq_rel,
							     memory_order_relaxed))
			continue;
		/* Not 0; the last value would make the multicast QPN. */
		turn = (atomic_load_explicit(&s->srqn, memory_order_relaxed) >> SRQ_BITS) + 1;
		if (turn >= TURNS - 1)
			turn = 1;
		*srqn = turn << SRQ_BITS | at;
		atomic_store_explicit(&s->xrcd, xrcd, memory_order_relaxed);
		atomic_store_explicit(&s->srqn, *srqn, memory_order_release);
		atomic_fetch_add_explicit(&b->next_xsrq, i + 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&b->nxrc, 1, memory_order_relaxed);
		return 0;
	}
	return ENOMEM;
}

void dpa_board_xrc_srq_remove(struct dpa_board *b, uint32_t srqn)
{
	atomic_store_explicit(&b->shm->xrc_srqs[srqn & SRQ_INDEX].owner, 0, memory_order_release);
}

bool dpa_board_xrc_srq_owner(struct dpa_board *b, uint32_t srqn, uint32_t *xrcd, uint32_t *slot,
			     uint32_t *gen)
{
	struct dpa_board_xrc_srq *s = xrc_srq_entry(b, srqn & SRQ_INDEX);
	dpa_owner_t o;

	if (!s || atomic_load_explicit(&s->srqn, memory_order_acquire) != srqn)
		return false;
	o = atomic_load_explicit(&s->owner, memory_order_acquire);
	if (!o || dpa_owner_slot(o) >= DPA_BOARD_PROCS)
		return false;
	*xrcd = atomic_load_explicit(&s->xrcd, memory_order_relaxed);
	*slot = dpa_owner_slot(o);
	*gen = dpa_owner_gen(o);
	return true;
}
