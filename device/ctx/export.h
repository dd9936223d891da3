/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* export.h - memory of a process that the other processes of the board map: what they read, and the
 * page that they write. */
#ifndef DPA_CTX_EXPORT_H
#define DPA_CTX_EXPORT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa_hw.h>
#include "board/board.h"
#include "util/lock.h"

#define DPA_KEY_TAG_BITS 14 /* of an L_Key or R_Key; the rest is the entry's index */

/* A memory region; 64 bytes; in the exported memfd, which peers map read-only. */
struct dpa_mr {
	_Atomic uint32_t
		key; /* 0: free. Written last (release) on registration, first on revocation */
	uint32_t access;
	uint64_t iova;
	uint64_t length;
	uint64_t addr;
	uint32_t pdn;
	uint32_t tag; /* of the last key of this entry */
	uint32_t next_free;
	uint32_t owner; /* id of the context, 0: free */
	uint8_t kind;	/* enum dpa_mr_kind */
	uint8_t why;	/* enum dpa_share_why: for people */
	uint8_t rsvd[2];
	uint32_t qpn; /* type 2 window: the QP that bound it; region: handle of its device memory */
	uint32_t parent;      /* bound window: entry of its region, plus 1; 0: not bound */
	_Atomic uint32_t nmw; /* region: windows bound to it */
};

enum dpa_mr_kind {
	DPA_KIND_MR = 0,
	DPA_KIND_MW1 = 1,
	DPA_KIND_MW2 = 2,
	DPA_KIND_NULL = 3,
	DPA_KIND_FOREIGN = 4
};

#define DPA_NULL_BYTES (1u << 20) /* of the null region that one look may reach: DPA_PULL_CHUNK */

/*
 * A thread of this process is at work in a peer's memory: 12 + 6 + 22 + 24 bits, the peer (process
 * index, low bits of its generation), the thread's tid, a number that is another one each time; 0:
 * nobody is. Taken by CAS (seq_cst), given back by a store (release), by threads of this process;
 * read by that peer (seq_cst), which waits for it to change. A line each.
 */
struct dpa_hazard {
	_Atomic uint64_t word;
	_Atomic uint32_t turn; /* its last number, for its own process: written by its holder */
	uint8_t pad[52];
};
#define DPA_HAZARDS 63u

/* Whole pages of registered memory in the shared memfd: 4 + 4 + 3*8 = 32. direct/share.h */
struct dpa_area {
	_Atomic uint32_t serial; /* 0: none */
	uint32_t rsvd;
	uint64_t start, length; /* in the memory of its owner */
	uint64_t off;		/* in the memfd */
};
#define DPA_AREAS 1024u

/* The memfd that peers map read-only: the seals let nobody but its maker write. Sparse. */
struct dpa_export {
	/* written once, before anybody is told of it */
	uint64_t magic;
	uint32_t slot, gen;
	uint8_t pad[4096 - 16];
	/*
	 * Changes (seq_cst) when a QP leaves the working states: what its packets pointed at may be
	 * reused. A peer that copied from there reads it afterwards (acquire).
	 */
	_Atomic uint32_t qp_epoch[DPA_BOARD_QPNS];
	struct dpa_mr mr[DPA_MAX_MR];
	/*
	 * The direct path, see direct/direct.h. A grant: what the QP's peer may do to memory of this
	 * process by itself; 0: nothing. Written (seq_cst) under the QP's lock.
	 */
	_Atomic uint64_t qp_grant[DPA_BOARD_QPNS];
	/* Changes (seq_cst) behind `key` with every revocation of the entry: no key means two
	 * things. */
	_Atomic uint32_t mr_gen[DPA_MAX_MR];
	/* The accesses to memory of peers that threads of this process are at. */
	_Atomic uint32_t hazards_used __attribute__((aligned(DPA_CACHE_LINE))); /* only grows */
	struct dpa_hazard hazard[DPA_HAZARDS] __attribute__((aligned(DPA_CACHE_LINE)));
	/* Of each region: the area that has it, or some of it, plus 1; 0: none. direct/share.h */
	_Atomic uint32_t mr_area[DPA_MAX_MR];
	/*
	 * The connection that a QP has, which changes (seq_cst, under the QP's lock) when the QP is
	 * set up again and with its first request: what packets have to be, direct/direct.h. 0: it
	 * never had one. Read by initiators of direct operations only.
	 */
	_Atomic uint64_t qp_conn[DPA_BOARD_QPNS];
	struct dpa_area area[DPA_AREAS];
};

/*
 * The memfd page that peers write: wake-ups. Each word is a hint that is looked at again: a peer
 * that scribbles here costs us looks in vain, or a sleep until the next tick.
 *
 *   sleep     Written by this process (relaxed), then a full fence and a last look at what peers
 *             set. Peers fence between what they publish and their look at it.
 *   summary   Peers set their slot's bit (seq_cst). This process takes a whole word (seq_cst);
 *             after a full fence it looks at what the peers of its bits sent.
 *   any       A bit for each word of `summary`: peers set it after their bit (seq_cst). This
 *             process takes it (seq_cst) before it takes the words.
 *
 * A peer that finds a bit set leaves it (seq_cst load): the taker sees all that came before.
 */
struct dpa_door {
	_Atomic uint32_t sleep; /* 0; 1, 2: whom to wake, see struct dpa_hw */
	uint8_t pad0[60];
	_Atomic uint64_t any;
	uint8_t pad1[56];
	_Atomic uint64_t summary[DPA_BOARD_PROCS / 64]; /* a bit for each peer's slot */
};

/*
 * The process `slot` has something in a ring to the door's owner. Any process of the board, after a
 * full fence behind what it published.
 */
static inline void dpa_door_set(struct dpa_door *door, uint32_t slot)
{
	_Atomic uint64_t *word = &door->summary[slot / 64];
	uint64_t bit = 1ull << (slot % 64), of_word = 1ull << (slot / 64);

	if (!(atomic_load_explicit(word, memory_order_seq_cst) & bit))
		atomic_fetch_or_explicit(word, bit, memory_order_seq_cst);
	if (!(atomic_load_explicit(&door->any, memory_order_seq_cst) & of_word))
		atomic_fetch_or_explicit(&door->any, of_word, memory_order_seq_cst);
}

_Static_assert(DPA_BOARD_PROCS / 64 <= 64 && sizeof(struct dpa_door) <= 4096, "door");
_Static_assert(sizeof(struct dpa_mr) == 64, "mr");
_Static_assert(sizeof(struct dpa_area) == 32, "area");
_Static_assert(offsetof(struct dpa_export, qp_epoch) == 4096, "export");
_Static_assert(sizeof(struct dpa_hazard) == DPA_CACHE_LINE &&
		       offsetof(struct dpa_export, hazard) % DPA_CACHE_LINE == 0,
	       "hazards");

/*
 * The memfd of registered memory that peers map: room for areas that are never put twice at one place, with room behind each for what
 * mremap(2) may make of it.
 */
#define DPA_SHARE_BYTES (1ull << 62)
#define DPA_SHARE_ROOM	(1ull << 36)

#endif
