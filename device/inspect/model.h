/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * model.h - the network in front of this process: selects the queue that a frame passes, and holds
 * the frames in the queues and on the link behind them. Each process is a host with a port of its
 * own on one switch. The queues are those of the switch's port to this process. So packets of every
 * sender to this process pass the same queue, by shared memory or from the wire, and no process
 * shares state with another one.
 */
#ifndef DPA_INSPECT_MODEL_H
#define DPA_INSPECT_MODEL_H

#include "inspect/fault.h"
#include "inspect/linkq.h"

#define DPA_MODEL_FRAMES 32768u /* in queues and on links at a time; further frames are dropped */

/* Context of all functions: one lock of the owner. */
struct dpa_model {
	struct dpa_link_spec spec;
	struct dpa_linkq q[DPA_LINK_RULES];
	uint64_t sent[DPA_LINK_RULES]; /* bytes that have left each, or are to */
	struct dpa_held *pool, *free;
	uint32_t fresh;		/* entries of pool that were never used */
	uint32_t out;		/* returned by due() or of() and not given back yet */
	uint32_t held;		/* in heap */
	bool late;		/* frames of an earlier network are still on their way */
	uint64_t next;		/* number of the next frame held */
	struct dpa_held **heap; /* sorted by due time, then by number */
};

enum dpa_model_fate {
	DPA_MODEL_FREE,	   /* no rule applies: it goes on at once */
	DPA_MODEL_HELD,	   /* a copy is held; marked if *a has it */
	DPA_MODEL_DROPPED, /* dropped by the queue */
	DPA_MODEL_NO_ROOM, /* dropped: DPA_MODEL_FRAMES are held */
};

/*
 * Set another network. Held frames are due at once, ahead of frames without a rule. ENOMEM: there
 * is no network then.
 */
int dpa_model_set(struct dpa_model *m, const struct dpa_link_spec *spec);
void dpa_model_free(struct dpa_model *m);
enum dpa_model_fate dpa_model_take(struct dpa_model *m, uint64_t now, const struct dpa_shown *s,
				   struct dpa_linkq_act *a);
/* Return the frames that have arrived by now, in order of arrival. */
struct dpa_held *dpa_model_due(struct dpa_model *m, uint64_t now);
/* Return the time of the next arrival; UINT64_MAX: none is held. */
uint64_t dpa_model_next(const struct dpa_model *m);
/* Return the frames that go on with this argument, over shared memory, in their order. */
struct dpa_held *dpa_model_of(struct dpa_model *m, const void *arg);
/* Take back the frames that the two functions above returned. */
void dpa_model_done(struct dpa_model *m, struct dpa_held *list);

/* Return the bytes of a frame on an Ethernet link: preamble, headers, FCS and gap. */
uint32_t dpa_model_bytes(const struct dpa_frame *f);

#endif
