/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * model.h - the network in front of this process: which queue a frame passes, and the frames that
 * are in the queues and on the link behind them.
 *
 * Each process is a host with a port of its own on one switch: the queues are those of the switch's
 * port towards it, so every sender's packets to this process pass the same queue, whether they come
 * over shared memory or off the wire, and no process shares state with another one.
 */
#ifndef DPA_INSPECT_MODEL_H
#define DPA_INSPECT_MODEL_H

#include "inspect/fault.h"
#include "inspect/linkq.h"

#define DPA_MODEL_FRAMES 32768u /* in queues and on links at a time; more are dropped */

/* Everything under one lock of the owner's. */
struct dpa_model {
	struct dpa_link_spec spec;
	struct dpa_linkq q[DPA_LINK_RULES];
	struct dpa_held *pool, *free;
	uint32_t fresh;		/* of pool: not used yet */
	uint32_t out;		/* given out by due() or of(), and not back yet */
	uint32_t held;		/* in heap */
	bool late;		/* frames of a network before this one are on their way yet */
	uint64_t next;		/* number of the next frame held */
	struct dpa_held **heap; /* by due, then by number */
};

enum dpa_model_fate {
	DPA_MODEL_FREE,	   /* no rule for it: it goes on at once */
	DPA_MODEL_HELD,	   /* a copy was made, marked where *a says so */
	DPA_MODEL_DROPPED, /* by the queue */
	DPA_MODEL_NO_ROOM, /* dropped: DPA_MODEL_FRAMES are held */
};

/*
 * Another network from now on; what is held is due at once, and goes ahead of what no rule is for.
 * ENOMEM: there is none, then.
 */
int dpa_model_set(struct dpa_model *m, const struct dpa_link_spec *spec);
void dpa_model_free(struct dpa_model *m);
enum dpa_model_fate dpa_model_take(struct dpa_model *m, uint64_t now, const struct dpa_shown *s,
				   struct dpa_linkq_act *a);
/* Those that have arrived by now, in the order of their arrival. */
struct dpa_held *dpa_model_due(struct dpa_model *m, uint64_t now);
/* When the next one arrives; UINT64_MAX: none is held. */
uint64_t dpa_model_next(const struct dpa_model *m);
/* Those that go on with this argument, over shared memory, in their order. */
struct dpa_held *dpa_model_of(struct dpa_model *m, const void *arg);
/* Takes back what the two above gave out. */
void dpa_model_done(struct dpa_model *m, struct dpa_held *list);

/* Bytes that a frame takes on an Ethernet link: preamble, headers, FCS and gap. */
uint32_t dpa_model_bytes(const struct dpa_frame *f);

#endif
