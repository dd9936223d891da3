/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * export.h - memory of a process that the other processes of the board map: tables that they read,
 * and the wake-up page that they write.
 */
#ifndef DPA_CTX_EXPORT_H
#define DPA_CTX_EXPORT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa_hw.h>
#include "board/board.h"
#include "util/lock.h"

#define DPA_KEY_TAG_BITS 14 /* of an L_Key or R_Key; the upper bits are the index of the entry */

/* A memory region: 64 bytes, in the exported memfd, which peers map read-only. */
struct dpa_mr {
	_Atomic uint32_t
		key; /* 0: free. On registration written last (release), on revocation first */
	uint32_t access;
	uint64_t iova;
	uint64_t length;
	uint64_t addr;
	uint32_t pdn;
	uint32_t tag; /* tag of the entry's last key */
	uint32_t next_free;
	uint32_t owner; /* id of the context; 0: free */
	uint8_t kind;	/* enum dpa_mr_kind */
	uint8_t why;	/* enum dpa_share_why: for display */
	uint8_t rsvd[2];
	uint32_t qpn; /* type 2 window: the QP that bound it; region: handle of its device memory */
	uint32_t parent;      /* bound window: entry of its region, plus 1; 0: not bound */
	_Atomic uint32_t nmw; /* region: number of windows bound to it */
};

enum dpa_mr_kind {
	DPA_KIND_MR = 0,
	DPA_KIND_MW1 = 1,
	DPA_KIND_MW2 = 2,
	DPA_KIND_NULL = 3,
	DPA_KIND_FOREIGN = 4
};

#define DPA_NULL_BYTES (1u << 20) /* bytes of the null region in one access: DPA_PULL_CHUNK */

/*
 * Hazard pointer: a thread of this process accesses a peer's memory. 12 + 6 + 22 + 24 bits: the
 * peer (process index, low bits of its generation), the thread's tid, a number that changes each
 * time. 0: no thread. Taken by CAS (seq_cst) and given back by a store (release), by threads of
 * this process. Read by that peer (seq_cst), which waits until it changes. One cache line each.
 */
struct dpa_hazard {
	_Atomic uint64_t word;
	_Atomic uint32_t turn; /* its last number, for its own process: written by its holder */
	uint8_t pad[52];
};
#define DPA_HAZARDS 63u

/* Whole pages of registered memory in the shared memfd: 4 + 4 + 3*8 = 32. See direct/share.h. */
struct dpa_area {
	_Atomic uint32_t serial; /* 0: none */
	uint32_t rsvd;
	uint64_t start, length; /* address in its owner's memory */
	uint64_t off;		/* offset in the memfd */
};
#define DPA_AREAS 1024u

/* The memfd that peers map read-only: the seals let only its creator write. Sparse. */
struct dpa_export {
	/* Written once, before the memfd is passed to any peer. */
	uint64_t magic;
	uint32_t slot, gen;
	/* The memfd of shared registered memory (direct/share.h): its inode, its device, and the
	 * number of its descriptor in this process; -1: there is none. */
	uint64_t share_inode, share_dev;
	int32_t share_fd;
	uint8_t pad[4096 - 36];
	/*
	 * Changes (seq_cst) when a QP leaves the working states: the memory that its packets
	 * referred to may be reused. A peer reads it after a copy from there (acquire).
	 */
	_Atomic uint32_t qp_epoch[DPA_BOARD_QPNS];
	struct dpa_mr mr[DPA_MAX_MR];
	/*
	 * The direct path, see direct/direct.h. Access capability: what the QP's peer may do to
	 * memory of this process directly; 0: nothing. Written (seq_cst) under the QP's lock.
	 */
	_Atomic uint64_t qp_grant[DPA_BOARD_QPNS];
	/*
	 * Changes (seq_cst) after `key` with every revocation of the entry: so no key has two
	 * meanings.
	 */
	_Atomic uint32_t mr_gen[DPA_MAX_MR];
	/* Hazard pointers: accesses to memory of peers by threads of this process. */
	_Atomic uint32_t hazards_used __attribute__((aligned(DPA_CACHE_LINE))); /* only grows */
	struct dpa_hazard hazard[DPA_HAZARDS] __attribute__((aligned(DPA_CACHE_LINE)));
	/*
	 * For each region: the area that contains it, or a part of it, plus 1; 0: none.
	 * direct/share.h
	 */
	_Atomic uint32_t mr_area[DPA_MAX_MR];
	/*
	 * The connection of a QP. It changes (seq_cst, under the QP's lock) when the QP is set up
	 * again and with its first request; the rule for packets is in direct/direct.h. 0: it
	 * never had one. Read by initiators of direct operations only.
	 */
	_Atomic uint64_t qp_conn[DPA_BOARD_QPNS];
	struct dpa_area area[DPA_AREAS];
};

/*
 * The wake-up page: a memfd page that peers write. Each word is a hint that is checked again. A
 * peer that writes wrong values causes useless checks, or a sleep until the next tick.
 *
 *   sleep     Written by this process (relaxed), followed by a full fence and a last check of the
 *             words that peers set. Peers fence between what they publish and their read of it.
 *   summary   A peer sets the bit of its process index (seq_cst). This process takes a whole word
 *             (seq_cst); after a full fence it checks what the peers of these bits sent.
 *   any       One bit for each word of `summary`: a peer sets it after its own bit (seq_cst). This
 *             process takes it (seq_cst) before it takes the words.
 *
 * A peer that finds a bit set leaves it (seq_cst load): the process that takes it sees everything
 * that came before.
 */
struct dpa_door {
	_Atomic uint32_t sleep; /* 0; 1, 2: which thread to wake, see struct dpa_hw */
	uint8_t pad0[60];
	_Atomic uint64_t any;
	uint8_t pad1[56];
	_Atomic uint64_t summary[DPA_BOARD_PROCS / 64]; /* one bit for each peer's process index */
};

/*
 * Publish that the process `slot` has entries in a ring to the owner of the wake-up page. Context:
 * any process of the board, after a full fence behind the published data.
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
 * Size of the memfd of registered memory that peers map: room for areas that never use the same
 * place twice, with room behind each one for growth by mremap(2).
 */
#define DPA_SHARE_BYTES (1ull << 62)
#define DPA_SHARE_ROOM	(1ull << 36)

#endif
