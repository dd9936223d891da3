/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* watch.h - SQs whose poster cannot ring a doorbell: an EU watches a word in memory (watch.c). */
#ifndef DPA_EU_WATCH_H
#define DPA_EU_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct dpa_hw_qp;

/* How an EU that sleeps looks at the word of a QP. */
enum dpa_look {
	DPA_LOOK_NEVER,	 /* nothing can be posted: a change of the state wakes the EU */
	DPA_LOOK_SELDOM, /* what is posted is flushed: by a timer that backs off */
	DPA_LOOK_OFTEN,	 /* by a timer of DPA_WATCH_NS */
};

/* Whether a word is watched, and which. Context: under eu->lock or the lock of the QP. */
const uint64_t *dpa_watch_word(const struct dpa_hw_qp *qp);
/* The producer index up to which the device has WQEs. Context: as above; the QP has a watch. */
uint32_t dpa_watch_taken(const struct dpa_hw_qp *qp);
/* Of a QP with a watched word. Context: under eu->lock. */
enum dpa_look dpa_watch_look(const struct dpa_hw_qp *qp);
/*
 * Reads the word, once, and takes what was posted: DPA_WATCH_BLOCKS at most. The caller runs the
 * requester behind it. Context: under eu->lock and the lock of the QP.
 */
void dpa_watch_take(struct dpa_hw_qp *qp);
/* Context: no lock. */
bool dpa_watch_is_on(struct dpa_hw_qp *qp);
/*
 * The word is not read any more when it returns; the WQEs that were taken stay. Context: no lock.
 */
void dpa_watch_stop(struct dpa_hw_qp *qp);
/* Forgets what was taken: the SQ is the driver's again. Context: stopped; the lock of the QP. */
void dpa_watch_free(struct dpa_hw_qp *qp);
/*
 * The QP has another state, by modify or by an error: the word counts that was stored before, and the
 * EU looks at it. Context: the lock of the QP.
 */
void dpa_watch_again(struct dpa_hw_qp *qp);

#endif
