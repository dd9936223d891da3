/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * watch.c - SQs whose poster cannot ring a doorbell: a GPU, or any thread or process that maps the
 * memory. The poster writes WQEs, then their end into a word; an EU reads the word.
 *
 * The poster may write anything at any time. So the device works on its own copy of the SQ: each
 * WQE is read once, word by word, when the producer index passes it. The copy that was checked is
 * the one that is sent, retransmitted and completed.
 *
 * clang-format off
 *
 *     dpa_hw_watch_sq(word)                 the word is wrong, or is behind an invalid WQE
 *  NONE ------------------> WATCHED ----------------------------------------> BROKEN
 *   ^                         |  ^                                              |
 *   |        watch_sq(NULL)   |  | watch_sq(word)                               |
 *   |                         v  |                                              |
 *   |<---- RESET, destroy --- STOPPED <------------ watch_sq(NULL) -------------'
 *   |                                                                           |
 *   '<---------------------------- RESET, destroy ------------------------------'
 *
 *                    the word is read              SQ of the device        posting
 *   NONE             no (the doorbell slot is)     the driver's            by doorbell
 *   WATCHED          yes: RTS, SQE, ERR            its own copy            by the word
 *                    no: RESET to RTR, SQD
 *   STOPPED, BROKEN  no                            its own copy            not before RESET
 *
 *   An EU and the word of a WATCHED QP (for several QPs: the shortest interval):
 *
 *   state of the QP    the EU spins       the EU sleeps
 *   RTS                while it moves     a check each DPA_WATCH_NS
 *   SQE, ERR           while it moves     a check each 1 ms, backing off to 256 ms: to flush
 *   else               not for it         no check; a change of the state wakes the EU
 *
 * clang-format on
 *
 * Words and locks:
 *
 *   *word       written by the poster (64 bits, release), read by the EU (acquire), once per check
 *   SQ          written by the poster before the word, read by the EU (relaxed) after it, once
 *   dbrec.sq_pi written by the EU (release) after its copy, read by the requester (acquire). A
 *               poster that writes there makes the requester find a WQE of another index: an error
 *   watch->word written under eu->lock (the QP is in no list) and the lock of the QP
 *   taken       written under eu->lock and the lock of the QP
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ctx/hw.h"
#include "ctx/qp.h"
#include "ctx/wqe.h"
#include "eu/eu.h"
#include "eu/sched.h"
#include "eu/watch.h"

struct dpa_watch {
	const uint64_t *word; /* NULL: STOPPED */
	uint8_t *own;	      /* the device's own SQ */
	uint8_t *posted;      /* the poster's */
	uint32_t taken;	      /* producer index behind the copied WQEs */
	bool broken;
	bool by_policy; /* an EU had the QP before */
};

const uint64_t *dpa_watch_word(const struct dpa_hw_qp *qp)
{
	return qp->watch ? qp->watch->word : NULL;
}

uint32_t dpa_watch_taken(const struct dpa_hw_qp *qp)
{
	return qp->watch->taken;
}

enum dpa_look dpa_watch_look(const struct dpa_hw_qp *qp)
{
	switch (__atomic_load_n(&qp->state, __ATOMIC_RELAXED)) {
	case DPA_QPS_RTS:
		return qp->watch->broken ? DPA_LOOK_NEVER : DPA_LOOK_OFTEN;
	case DPA_QPS_SQE:
	case DPA_QPS_ERR:
		return qp->watch->broken ? DPA_LOOK_NEVER : DPA_LOOK_SELDOM;
	default:
		return DPA_LOOK_NEVER;
	}
}

/* ------------------------------------------------------------------- taking */

static uint64_t *block_of(uint8_t *sq, const struct dpa_hw_qp *qp, uint32_t idx)
{
	return (void *)(sq + (size_t)(idx & qp->sq_mask) * DPA_WQEBB);
}

static uint64_t read_word(const uint64_t *w)
{
	return __atomic_load_n(w, __ATOMIC_RELAXED);
}

/* Copies a block: its words from `from` on. */
static void copy_block(struct dpa_hw_qp *qp, uint32_t idx, uint32_t from)
{
	uint64_t *to = block_of(qp->watch->own, qp, idx);
	const uint64_t *of = block_of(qp->watch->posted, qp, idx);

	for (uint32_t i = from; i < DPA_WQEBB / sizeof(*to); i++)
		to[i] = read_word(&of[i]);
}

/* Copies the WQE at `taken`, whose first word is `first` and which has nbb blocks. */
static void copy_wqe(struct dpa_hw_qp *qp, uint64_t first, uint32_t nbb)
{
	struct dpa_watch *w = qp->watch;

	*block_of(w->own, qp, w->taken) = first;
	copy_block(qp, w->taken, 1);
	for (uint32_t i = 1; i < nbb; i++)
		copy_block(qp, w->taken + i, 0);
	w->taken += nbb;
}

/*
 * The framing is lost: WQEs behind `taken` cannot be found. A WQE that the requester refuses takes
 * the place, so that the poster gets an error completion behind those of its earlier WQEs. If there
 * is no room for it the QP goes to error, and an event and the flushed WQEs report it.
 */
static void break_watch(struct dpa_hw_qp *qp, const char *why, uint64_t wr_id)
{
	struct dpa_watch *w = qp->watch;
	struct dpa_wqe_ctrl *c = (void *)block_of(w->own, qp, w->taken);

	w->broken = true;
	dpa_log(qp->hw, DPA_LOG_ERR,
		"QP 0x%06x: the process that posts wrote %s at index %u of the SQ: no WQE is read "
		"until the QP is reset",
		qp->qpn, why, w->taken);
	if (w->taken - qp->req.una_idx > qp->sq_mask) {
		dpa_qp_to_error(qp);
		dpa_qp_event(qp, DPA_EVENT_QP_FATAL);
		return;
	}
	memset(c, 0, DPA_WQEBB);
	dpa_wqe_put_ctrl(c, DPA_OP_SEND, DPA_WQE_SIGNALED, 1, 0, ~w->taken, wr_id, 0, 0, 0);
	w->taken++;
}

/* Copies whole WQEs of the n blocks that were posted: DPA_WATCH_BLOCKS at most, see there. */
static void take_wqes(struct dpa_hw_qp *qp, uint32_t n)
{
	struct dpa_watch *w = qp->watch;
	uint32_t left = DPA_WATCH_BLOCKS;
	uint64_t bytes = 0;

	while (n && (left > DPA_WATCH_BLOCKS - DPA_WATCH_FEW || bytes < DPA_WATCH_BYTES)) {
		const uint64_t *at = block_of(w->posted, qp, w->taken);
		const uint64_t first = read_word(at);
		struct dpa_wqe_ctrl c;

		memcpy(&c, &first, sizeof(first));
		if (!c.nbb || c.nbb > n) {
			break_watch(qp, "a WQE of a wrong length", read_word(at + 1));
			return;
		}
		if (c.nbb > left)
			return; /* in the next round */
		copy_wqe(qp, first, c.nbb);
		bytes += ((struct dpa_wqe_ctrl *)block_of(w->own, qp, w->taken - c.nbb))->length;
		n -= c.nbb;
		left -= c.nbb;
	}
}

/* The slot's statistics belong to the poster, which is this thread in this case. */
static void count_doorbell(struct dpa_hw_qp *qp)
{
	__atomic_store_n(&qp->slot->doorbells, qp->slot->doorbells + 1, __ATOMIC_RELAXED);
}

void dpa_watch_take(struct dpa_hw_qp *qp)
{
	struct dpa_watch *w = qp->watch;
	const uint64_t word = __atomic_load_n(w->word, __ATOMIC_ACQUIRE);
	const uint32_t n = (uint32_t)word - w->taken, used = w->taken - qp->req.una_idx;

	if (dpa_watch_look(qp) == DPA_LOOK_NEVER) {
		__atomic_store_n(&qp->poll.seen, word, __ATOMIC_RELAXED);
		return;
	}
	if (word == w->taken)
		return;
	if (word >> 32 || used > qp->sq_mask + 1 || n > qp->sq_mask + 1 - used)
		break_watch(qp, "an invalid producer index", 0);
	else
		take_wqes(qp, n);
	count_doorbell(qp);
	__atomic_store_n(&qp->dbrec->sq_pi, w->taken, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->poll.seen, w->broken ? word : w->taken, __ATOMIC_RELAXED);
}

void dpa_watch_again(struct dpa_hw_qp *qp)
{
	if (!qp->watch || !qp->watch->word)
		return;
	__atomic_store_n(&qp->poll.seen, qp->watch->taken, __ATOMIC_RELAXED);
	/* if it has no EU now: the lock has a note, and dpa_eu_attach() checks */
	dpa_hw_kick_sq(qp);
}

/* --------------------------------------------------------- beginning and end */

static struct dpa_watch *watch_new(const struct dpa_hw_qp *qp)
{
	const size_t bytes = (size_t)DPA_WQEBB * (qp->sq_mask + 1);
	struct dpa_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->own = aligned_alloc(DPA_CACHE_LINE, bytes);
	if (!w->own) {
		free(w);
		return NULL;
	}
	memset(w->own, 0, bytes);
	return w;
}

static void watch_delete(struct dpa_watch *w)
{
	if (w)
		free(w->own);
	free(w);
}

/*
 * Begins to watch the QP. *spare: a watch for a QP that has none; NULL if it was used. EBUSY: it is
 * watched already, or its SQ is not empty. Context: the lock of the QP.
 */
static int watch_begin(struct dpa_hw_qp *qp, const uint64_t *word, struct dpa_watch **spare)
{
	struct dpa_watch *w = qp->watch;

	if (w && w->word)
		return EBUSY;
	if (!w) {
		w = *spare;
		w->taken = qp->req.una_idx;
		if (qp->req.send_idx != w->taken || dpa_sq_pi(qp) != w->taken)
			return EBUSY;
		w->posted = qp->sq;
		qp->sq = w->own;
		qp->watch = w;
		*spare = NULL;
	}
	w->word = word;
	w->by_policy = __atomic_load_n(&qp->eu, __ATOMIC_RELAXED) != NULL;
	return 0;
}

static bool may_be_watched(const struct dpa_hw_qp *qp)
{
	return (qp->transport == DPA_BTH_RC || qp->transport == DPA_BTH_UC ||
		qp->transport == DPA_BTH_UD) &&
	       !qp->tag_sq && !qp->gsi;
}

int dpa_hw_watch_sq(struct dpa_hw_qp *qp, const uint64_t *word)
{
	struct dpa_watch *spare;
	int ret;

	if (!word) {
		dpa_watch_stop(qp);
		return 0;
	}
	if (!may_be_watched(qp))
		return EOPNOTSUPP;
	if ((uintptr_t)word % sizeof(*word) || !qp->dbrec || !qp->sq)
		return EINVAL;
	spare = watch_new(qp);
	if (!spare)
		return ENOMEM;
	dpa_qplock_lock(&qp->lock);
	ret = watch_begin(qp, word, &spare);
	dpa_qp_leave(qp);
	watch_delete(spare);
	if (ret)
		return ret;
	/* its EU, if it has one, reads another word from now on */
	ret = dpa_eu_attach(qp, dpa_eu_detach(qp));
	if (ret)
		dpa_watch_stop(qp);
	return ret;
}

bool dpa_watch_is_on(struct dpa_hw_qp *qp)
{
	bool on;

	dpa_qplock_lock(&qp->lock);
	on = dpa_watch_word(qp) != NULL;
	dpa_qp_leave(qp);
	return on;
}

void dpa_watch_stop(struct dpa_hw_qp *qp)
{
	bool by_policy;
	int eu;

	if (!dpa_watch_is_on(qp))
		return;
	eu = dpa_eu_detach(qp); /* on return no EU uses it */
	dpa_qplock_lock(&qp->lock);
	by_policy = qp->watch->by_policy;
	qp->watch->word = NULL;
	dpa_qp_leave(qp);
	if (by_policy)
		dpa_eu_attach(qp, eu);
}

void dpa_watch_free(struct dpa_hw_qp *qp)
{
	struct dpa_watch *w = qp->watch;

	if (!w)
		return;
	qp->sq = w->posted;
	qp->watch = NULL;
	watch_delete(w);
}
