/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * inspect.h - faults and capture, between their files and for the places that show them packets.
 * What a link shows and how is in frame.h.
 *
 * Order: first the faults, then the capture: it records what goes on, not what came.
 */
#ifndef DPA_INSPECT_H
#define DPA_INSPECT_H

#include "ctx/hw.h"
#include "ctx/qp.h"
#include "link/peer.h"
#include "frame.h"

#define DPA_FRAME_ROOM	64u /* in front of a frame's bytes, see struct dpa_frame */
#define DPA_FRAME_BYTES (DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + DPA_ROCE_ICRC + 4u)

/* ------------------------------------------------------- faults: fault.c, a pure state machine */

#define DPA_HELD_FRAMES	   4096u /* held back at a time, 17 MiB; what comes on top is dropped */
#define DPA_REORDER_BEHIND 8u	 /* frames that overtake one at most */
#define DPA_REORDER_NS	   1000000ull

/* What happens to one frame. */
struct dpa_fault_act {
	uint32_t kinds;	 /* bits 1 << enum dpa_fault_kind; DROP comes alone */
	uint32_t behind; /* REORDER: how many frames overtake it */
	uint32_t nflips;
	uint32_t flip[3]; /* CORRUPT: bits of the frame, all different */
	uint32_t cut;	  /* TRUNCATE: length that is left */
};

/* A frame with where it is shown and where it goes. */
struct dpa_shown {
	enum dpa_inspect_at at;
	struct dpa_frame f;
	dpa_inspect_emit_fn *emit;
	void *arg;
};

/* A frame that is held back. */
struct dpa_held {
	struct dpa_held *next;
	uint64_t due; /* dpa_now_ns() */
	uint32_t behind, key;
	struct dpa_shown s;
	uint8_t room[DPA_FRAME_ROOM + DPA_FRAME_BYTES];
};

struct dpa_held_list {
	struct dpa_held *head, *tail;
};

/* Everything under one lock of the owner's. */
struct dpa_fault {
	struct dpa_fault_spec spec;
	uint64_t index; /* frames decided upon since spec was set */
	struct dpa_held *pool, *free;
	uint32_t fresh; /* of pool: not used yet */
	uint32_t held;
	struct dpa_held_list delayed, reordered; /* each in the order of due */
};

/* Is the frame one of those that spec is about? */
bool dpa_fault_meant(const struct dpa_fault_spec *spec, const uint8_t *p, uint32_t n);
/* A function of spec, index and n alone: the same seed gives the same faults. */
void dpa_fault_decide(const struct dpa_fault_spec *spec, uint64_t index, uint32_t n,
		      struct dpa_fault_act *a);
/* Damages n bytes as decided; returns how many are left. */
uint32_t dpa_fault_damage(const struct dpa_fault_act *a, uint8_t *p, uint32_t n);

/* Other faults from now on; what is held back is due at once. ENOMEM: no room to hold any back. */
int dpa_fault_set(struct dpa_fault *q, const struct dpa_fault_spec *spec);
void dpa_fault_free(struct dpa_fault *q);
/* Keeps a copy, damaged as decided. False: full. */
bool dpa_fault_hold(struct dpa_fault *q, uint64_t now, const struct dpa_fault_act *a,
		    const struct dpa_shown *s);
/* A frame passes: those of the same destination that were overtaken often enough follow it. */
struct dpa_held *dpa_fault_overtaken(struct dpa_fault *q, uint32_t key);
/* Those whose time has come, in its order. */
struct dpa_held *dpa_fault_due(struct dpa_fault *q, uint64_t now);
/* When the next one is due; UINT64_MAX: nothing is held back. */
uint64_t dpa_fault_next(struct dpa_fault *q);
/* Those that go on with this argument, over shared memory. */
struct dpa_held *dpa_fault_of(struct dpa_fault *q, const void *arg);
/* Takes back what the three above gave out. */
void dpa_fault_done(struct dpa_fault *q, struct dpa_held *list);
/* The same for frames between the same two places. */
uint32_t dpa_fault_key(const struct dpa_frame *f);

/* ------------------------------------------------------------------- the process: inspect.c */

/* Opens what the settings ask for. 0 or errno, with a line in err. */
int dpa_inspect_init(struct dpa_hw *hw, char *err, size_t errlen);
void dpa_inspect_fini(struct dpa_hw *hw);    /* no other thread is at work */
void dpa_inspect_abandon(struct dpa_hw *hw); /* forked child: closes the descriptors */
/* Follows what is asked of the board. Cheap; service thread, and whoever creates a QP. */
void dpa_inspect_tick(struct dpa_hw *hw);
/* This peer ends, its lanes have been read: what it sent and is held back arrives now. */
void dpa_inspect_last(struct dpa_peer *p);
/* Writes the consumer's words of the lanes from this peer: may it be pulled from, may it lose. */
void dpa_inspect_lanes(struct dpa_peer *p);
/*
 * Are the faults such that packets are lost and nothing else, with nobody who captures? Then who
 * sends may ask for each packet, header p, n bytes in all, and need not show it: is it lost?
 */
bool dpa_inspect_only_drops(struct dpa_hw *hw);
bool dpa_inspect_drops(struct dpa_hw *hw, const uint8_t *p, uint32_t n);
/*
 * A slot off a lane for this QP, which is locked: shows it as frames. True: it did, and has let go
 * of the QP. False: not a packet that can be shown; nothing happened.
 */
bool dpa_inspect_slot(struct dpa_hw_qp *qp, struct dpa_peer *peer, const struct dpa_slot *s,
		      const uint8_t *payload);

#endif
