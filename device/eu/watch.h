/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* watch.h - SQs whose poster cannot ring a doorbell: an EU reads a word in memory (watch.c). */
#ifndef DPA_EU_WATCH_H
#define DPA_EU_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct dpa_hw_qp;

/* How a sleeping EU checks the word of a QP. */
enum dpa_look {
	DPA_LOOK_NEVER,	 /* no post is possible: a change of the state wakes the EU */
	DPA_LOOK_SELDOM, /* posted WQEs are flushed: by a timer that backs off */
	DPA_LOOK_OFTEN,	 /* by a timer of DPA_WATCH_NS */
};

/* Return the watched word; NULL: none is watched. Context: eu->lock or the lock of the QP. */
const uint64_t *dpa_watch_word(const struct dpa_hw_qp *qp);
/*
 * Return the producer index up to which the device has WQEs. Context: as above; the QP has a watch.
 */
uint32_t dpa_watch_taken(const struct dpa_hw_qp *qp);
/* Return how the word of a watched QP must be checked. Context: eu->lock. */
enum dpa_look dpa_watch_look(const struct dpa_hw_qp *qp);
/*
 * Read the word, once, and take the posted WQEs: DPA_WATCH_BLOCKS at most. The caller then runs the
 * requester. Context: eu->lock and the lock of the QP.
 */
void dpa_watch_take(struct dpa_hw_qp *qp);
/* True if a word is watched. Context: no lock held. */
bool dpa_watch_is_on(struct dpa_hw_qp *qp);
/*
 * Stop watching. On return the word is not read any more; WQEs that were taken stay. Context: no
 * lock held.
 */
void dpa_watch_stop(struct dpa_hw_qp *qp);
/* Drop the copy: the SQ is the driver's again. Context: stopped; the lock of the QP. */
void dpa_watch_free(struct dpa_hw_qp *qp);
/*
 * The QP changed its state, by modify or by an error: the word that was stored before counts, and
 * the EU reads it. Context: the lock of the QP.
 */
void dpa_watch_again(struct dpa_hw_qp *qp);

#endif
