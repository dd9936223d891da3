/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* fault.h - faults: a pure state machine. */
#ifndef DPA_INSPECT_FAULT_H
#define DPA_INSPECT_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "inspect/frame.h"
#include "knobs.h"

#define DPA_FRAME_ROOM	64u /* in front of a frame's bytes, see struct dpa_frame */
#define DPA_FRAME_BYTES (DPA_ROCE_MAX_HDR + DPA_ROCE_MAX_MTU + DPA_ROCE_ICRC + 4u)

#define DPA_HELD_FRAMES	   4096u /* held back at a time, 17 MiB; more are dropped */
#define DPA_REORDER_BEHIND 8u	 /* maximum of frames that overtake a frame */
#define DPA_REORDER_NS	   1000000ull

/* The decision on one frame. */
struct dpa_fault_act {
	uint32_t kinds;	 /* bits 1 << enum dpa_fault_kind; DROP comes alone */
	uint32_t behind; /* REORDER: number of frames that overtake it */
	uint32_t nflips;
	uint32_t flip[3]; /* CORRUPT: bits of the frame, all different */
	uint32_t cut;	  /* TRUNCATE: new length */
};

/* A frame, its place, and the way on. */
struct dpa_shown {
	enum dpa_inspect_at at;
	struct dpa_frame f;
	dpa_inspect_emit_fn *emit;
	void *arg;
	_Atomic uint32_t *users; /* of the path that the frame leaves by; NULL: none */
};

/* A frame that is held back. */
struct dpa_held {
	struct dpa_held *next;
	uint64_t due; /* dpa_now_ns() */
	uint64_t nth; /* model.c: of frames due at the same time the lower number goes first */
	uint32_t behind, key;
	struct dpa_shown s;
	uint8_t room[DPA_FRAME_ROOM + DPA_FRAME_BYTES];
};

struct dpa_held_list {
	struct dpa_held *head, *tail;
};

/* Context of all functions: one lock of the owner. */
struct dpa_fault {
	struct dpa_fault_spec spec;
	uint64_t index; /* frames decided since spec was set */
	struct dpa_held *pool, *free;
	uint32_t fresh; /* entries of pool that were never used */
	uint32_t held;
	struct dpa_held_list delayed, reordered; /* both sorted by due time */
};

/* True if spec applies to the frame. */
bool dpa_fault_meant(const struct dpa_fault_spec *spec, const uint8_t *p, uint32_t n);
/* A function of spec, index and n only: the same seed gives the same faults. */
void dpa_fault_decide(const struct dpa_fault_spec *spec, uint64_t index, uint32_t n,
		      struct dpa_fault_act *a);
/* Damage n bytes as decided. Returns the new length. */
uint32_t dpa_fault_damage(const struct dpa_fault_act *a, uint8_t *p, uint32_t n);

/* Set other faults. Frames that are held back are due at once. ENOMEM: no memory to hold frames. */
int dpa_fault_set(struct dpa_fault *q, const struct dpa_fault_spec *spec);
void dpa_fault_free(struct dpa_fault *q);
/* Keep a copy, damaged as decided. False: full. */
bool dpa_fault_hold(struct dpa_fault *q, uint64_t now, const struct dpa_fault_act *a,
		    const struct dpa_shown *s);
/* A frame passes: return the frames of the same destination that were overtaken often enough. */
struct dpa_held *dpa_fault_overtaken(struct dpa_fault *q, uint32_t key);
/* Return the frames whose time has come, in that order. */
struct dpa_held *dpa_fault_due(struct dpa_fault *q, uint64_t now);
/* Return when the next one is due; UINT64_MAX: none is held back. */
uint64_t dpa_fault_next(struct dpa_fault *q);
/* Return the frames that go on with this argument, over shared memory. */
struct dpa_held *dpa_fault_of(struct dpa_fault *q, const void *arg);
/* Take back the frames that the three functions above returned. */
void dpa_fault_done(struct dpa_fault *q, struct dpa_held *list);
/* Equal for frames between the same two endpoints. */
uint32_t dpa_fault_key(const struct dpa_frame *f);

#endif
