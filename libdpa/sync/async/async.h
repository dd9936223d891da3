/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * async.h - asynchronous operations of device code.
 *
 * A copy is a SEND from one QP to a receive of a second QP connected with it, so both ends are
 * checked as local memory by the keys that device code passes. The CQE of the SEND reports it, with
 * the user data as the QP's user index. A wait reports by an empty WRITE.
 *
 * Operations go to the SQ at once, unless an earlier one still waits for its event: then they are
 * queued in `ring` behind it. A post reserves room in both (room()), so no accepted operation must
 * be refused when the wait is over.
 */
#ifndef DPA_SYNC_ASYNC_H
#define DPA_SYNC_ASYNC_H

#include <stdint.h>
#include "../../eu/lock.h"
#include "../../host/libdpa.h"
#include "../sync_event.h"

#define DPA_ASYNC_MAX	 8192 /* operations of a queue */
#define DPA_ASYNC_MAX_BB 2    /* blocks of a WQE: SEND with DPA_DEV_ASYNC_INLINE bytes */

/* Two QPs connected with each other; `from` reports to the CQ of a completion context. */
struct dpa_pair {
	struct ibv_qp *from, *to;
	struct ibv_cq *sink; /* for completions that no thread reads */
	struct dpa_qp_queues send, recv;
};

/* room: operations; 0 or errno. */
int dpa_pair_create(struct dpa_pair *p, struct doca_dev *dev, struct ibv_cq *cq, uint32_t room,
		    uint32_t user_index);
void dpa_pair_destroy(struct dpa_pair *p);

/* An operation queued behind a wait, or a wait itself (se, referenced). */
struct dpa_async_entry {
	struct doca_sync_event *se;
	uint64_t value;
	enum dpa_se_cond cond;
	struct dpa_dev_copy copy;
	uint8_t data[DPA_DEV_ASYNC_INLINE];
};

struct doca_dpa_async_ops {
	struct dpa_object obj;
	struct doca_dpa *dpa;
	struct doca_dpa_async_ops *next; /* next of the context */
	struct doca_dpa_completion *comp;
	uint32_t queue_size;
	uint32_t user_data;
	bool started;
	struct dpa_fatal_hook fatal;
	struct dpal_eu_lock
		lock; /* protects all members down to `watch`; not held while a doorbell is rung */
	struct dpa_pair pair;
	struct dpa_async_entry *ring;
	uint32_t head, tail; /* of the ring */
	bool waiting;	     /* the entry at head is being watched */
	bool draining;	     /* a thread is in drain_queue() */
	bool stopping;
	struct dpa_se_watch watch;
	/* the watch came true and is not handled yet: written under its lock */
	_Atomic uint32_t busy;
};

/*
 * Put a copy. Context: an op, or any place where no lock is held. False: no room; operations that
 * were held back are started.
 */
bool dpa_async_put_copy(struct doca_dpa_async_ops *a, const struct dpa_dev_copy *c);
bool dpa_async_put_wait(struct doca_dpa_async_ops *a, struct doca_sync_event *se,
			enum dpa_se_cond cond, uint64_t value);
/* End the wait and empty the ring. No op finds the object any more. */
void dpa_async_end(struct doca_dpa_async_ops *a);

#endif
