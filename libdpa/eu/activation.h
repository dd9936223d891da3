/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * activation.h - activation of DPA threads.
 *
 * An activation target (struct dpa_act) is a DPA thread. Its sources (struct dpa_source) are
 * completion contexts. Nothing here depends on CQs or EUs: a source has calls to find unread
 * elements and to arm its hardware; the pool gets the work to run.
 *
 * start                    run + pending
 *        STOPPED ---------------> IDLE ------------------------> QUEUED
 *           ^                      ^                                |
 *           |                      | nothing pending                | an EU takes it;
 *           | STOP is set          |                                | PENDING is cleared
 *           | (from IDLE at once,  |             reschedule         v
 *           |  else when the    ENDING <----------------------- RUNNING
 *           |  activation ends)    |                                |
 *           |                      | pending: QUEUED                | finish, return, fault
 *           |                      v                                v
 *           +------------------- (any) <----------------------- FINISHED
 *
 * State and flags are one word. PENDING: an activation is requested; it latches in every state but
 * STOPPED and FINISHED, before `run` too, and coalesces. RUN: thread_run was called. STOP: the host
 * waits for the end.
 *
 * A source is armed by its start and by request_notification, and an arming is worth one
 * activation:
 *  1. The device's callback (a CQE came, any thread, no blocking, no calls into the device) takes
 *     the arming (armed 1 -> 0), sets `fired`, sets PENDING.
 *  2. request_notification from the thread's own activation only sets armed. Unread elements are
 *     checked when the activation ends: set the state ENDING, arm the hardware, check for unread
 *     elements, and if there are some, take the arming as in 1. The order (ENDING, arm, check)
 *     prevents losses: the check sees a CQE that came before it; a later CQE finds the hardware
 *     armed, and the callback sets PENDING, which the step out of ENDING sees.
 *     A call from another context sets armed, arms the hardware and checks at once.
 *  3. When an EU takes the thread it checks each fired source for unread elements. If none has any
 *     (a late callback: the previous activation has read them) and notify was not called, the
 *     activation does not take place: the armings are restored and the end of 2 is executed. So no
 *     activation is spurious.
 */
#ifndef DPA_EU_ACTIVATION_H
#define DPA_EU_ACTIVATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "work.h"

enum dpa_act_state {
	DPA_ACT_STOPPED,
	DPA_ACT_IDLE,
	DPA_ACT_QUEUED,
	DPA_ACT_RUNNING,
	DPA_ACT_ENDING,
	DPA_ACT_FINISHED,
	DPA_ACT_STATE_MASK = 7,
	DPA_ACT_PENDING = 1 << 3,
	DPA_ACT_RUN = 1 << 4,
	DPA_ACT_STOP = 1 << 5,
};

/* How an activation ended. */
enum dpa_act_end { DPA_END_RESCHEDULE, DPA_END_FINISH };

struct dpa_act;

struct dpa_source {
	_Atomic uint32_t armed;
	_Atomic uint32_t fired;
	struct dpa_act *act;	 /* set before the source can fire, then constant */
	struct dpa_source *next; /* under act->lock */
	bool (*unread)(struct dpa_source *src);
	void (*arm)(struct dpa_source *src); /* arms the hardware for the next CQE */
};

struct dpa_act {
	struct dpa_work work;	   /* one activation, as work of the pool */
	_Atomic uint32_t word;	   /* state and flags; futex of the host that stops it */
	_Atomic uint32_t notified; /* an explicit notify, worth an activation without elements */
	_Atomic uint64_t count;	   /* activations so far */
	pthread_mutex_t lock;	   /* sources: the host's attach and detach, the EU's walks */
	struct dpa_source *sources;
	/*
	 * Puts it on an EU: called once for each change to QUEUED, by any thread; must not block.
	 */
	void (*dispatch)(struct dpa_act *act);
	/* Runs one activation on the calling EU. */
	enum dpa_act_end (*run)(struct dpa_act *act);
};

void dpa_act_init(struct dpa_act *act);
void dpa_act_fini(struct dpa_act *act);

/* Host side, one caller at a time. Start a target. */
void dpa_act_start(struct dpa_act *act);
void dpa_act_set_running(struct dpa_act *act); /* thread_run */
/*
 * Request the end and wait up to timeout_ms (-1: without limit). True: the target is STOPPED and no
 * EU touches it. False: the activation is still running; call again.
 */
bool dpa_act_stop(struct dpa_act *act, int timeout_ms);
/* Wait for the state FINISHED (or STOPPED). */
bool dpa_act_wait(struct dpa_act *act, int timeout_ms);
static inline uint32_t dpa_act_state(const struct dpa_act *act)
{
	return atomic_load_explicit(&act->word, memory_order_acquire) & DPA_ACT_STATE_MASK;
}

/* Attach a started source, and arm it; detach it (its callback must not run any more). */
void dpa_act_attach(struct dpa_act *act, struct dpa_source *src);
void dpa_act_detach(struct dpa_act *act, struct dpa_source *src);

/* Request an activation without an element. Any thread. */
void dpa_act_notify(struct dpa_act *act);

/* Handle the device's callback for a source. Any thread, under locks of the device. */
void dpa_source_event(struct dpa_source *src);
/* Handle request_notification. self: the caller is the activation of the source's own target. */
void dpa_source_request(struct dpa_source *src, bool self);

/* Run a QUEUED target on the EU that has taken it: all of rules 2 and 3. */
void dpa_act_execute(struct dpa_act *act);

#endif
