/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * quiet.h - how long the progress thread sleeps between two ticks (docs/scheduler.md, "A quiet
 * process").
 */
#ifndef DPA_EU_QUIET_H
#define DPA_EU_QUIET_H

#include <stdint.h>
#include "ctx/hw.h"

/* Why the ticks do not back off. The first reason that holds. */
enum dpa_unquiet {
	DPA_QUIET,
	DPA_UNQUIET_MOVED,   /* packets came or went since the last tick */
	DPA_UNQUIET_WAITING, /* a QP has requests that are not answered */
	DPA_UNQUIET_TIMER,   /* a QP, a delayed packet or a moderated CQ is due at a time */
	DPA_UNQUIET_PEER, /* a peer is not connected yet, suspect, or shows its end by no event */
	DPA_UNQUIET_LISTENER, /* no descriptor to accept with */
	DPA_UNQUIET_WIRE,     /* packets of other adapter instances may come */
	DPA_UNQUIET_CM,	      /* QP1 is open, or this process watches one that has it open */
	DPA_UNQUIET_XRC,      /* target replicas, or a wish for one */
	DPA_UNQUIET_INSPECT, /* capture, faults, modelled network, port down, timeline, or a request for it */
	DPA_UNQUIET_INJECT, /* rules of injected failures, or a request for them */
	DPA_UNQUIET_METER,  /* a tool reads figures */
	DPA_UNQUIETS,
};

/* Return the reason. It makes a system call at most. Context: the progress thread. */
enum dpa_unquiet dpa_unquiet(struct dpa_hw *hw);
/*
 * Return the ns until the next tick: half a second, or more in a quiet process. Call it before each
 * sleep, behind a tick. Context: the progress thread, with its sleep word set.
 */
uint64_t dpa_quiet_wait(struct dpa_hw *hw);
/*
 * The descriptor of a thread in dpa_hw_wait_fd() is readable. Without such a thread the count is of a peer
 * that read the sleep word before the thread left: takes it, because no thread does.
 */
void dpa_quiet_take_wait(struct dpa_hw *hw);
/* The progress thread has work, or stops: the next sleep begins with half a second. */
void dpa_quiet_leave(struct dpa_hw *hw);
/* The progress thread stops, or the process exits: a process that it watched for others is watched by another one. */
void dpa_quiet_hand_over(struct dpa_hw *hw);

#endif
