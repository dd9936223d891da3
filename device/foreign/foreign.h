/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * foreign.h - memory that this process cannot address, for example a GPU's: DPA_MR_FOREIGN.
 *
 * It is reached only by the copy call of its owner, which may block and takes locks of a driver. So
 * a thread of its own (dpa-foreign) makes that call without any lock of the device. The data path
 * goes on meanwhile:
 *
 *   into it  (WRITE, receive, result of a READ or an atomic)   put.c
 *   out of it (source of a SEND or a WRITE, of a response)     get.c
 *
 *        packet                       the QP's lock               dpa-foreign, no lock
 *   payload --> window of the QP, a put                      puts, oldest first, DPA_FOREIGN_COPIES
 *     HELD: no answer and no CQE of this QP leaves  ------>  of them in a call of copy()
 *     none is left: CQEs, then answers, in their order <---  done
 *
 *   WQE at send_idx, and those behind it: gets               gets, the same
 *     it waits, as for credits --------------------------->
 *     READY: the packets are made from the window <--------  done
 *
 * A QP that used such memory (slow.foreign) takes no fast path until it is reset. The words are
 * under the QP's lock; the list of QPs with work is under foreigns.lock, a leaf.
 */
#ifndef DPA_FOREIGN_H
#define DPA_FOREIGN_H

#include <pthread.h>
#include "ctx/copy.h"
#include "ctx/hw.h"
#include "ctx/mr.h"
#include "ctx/qp.h"

#define DPA_FOREIGN_COPIES 256u	      /* in one call, which costs as much as 20 copies */
#define DPA_FOREIGN_WINDOW (4u << 20) /* for a QP, in each direction; a power of two */
#define DPA_FOREIGN_PUTS   1024u      /* a power of two, as the next two */
#define DPA_FOREIGN_GETS   256u
#define DPA_FOREIGN_PARTS  512u
#define DPA_FOREIGN_PIECE  65536u     /* bytes of a message in one get */
#define DPA_FOREIGN_AHEAD  (1u << 20) /* bytes that are read ahead of sending */

/* A region. Freed when its last copy is done. */
struct dpa_foreign {
	const struct dpa_foreign_ops *ops;
	void *arg;
	_Atomic uint32_t busy; /* its copies that are queued or in progress */
};

/* Bytes that are released in order; counters, not masked. */
struct dpa_window {
	uint8_t *mem;
	uint32_t head, tail;
};

enum dpa_put_kind {
	DPA_PUT_WRITE, /* a fault causes a NAK */
	DPA_PUT_RECV,  /* a fault causes a NAK, and the receive fails */
	DPA_PUT_LOCAL, /* the result of a READ or an atomic: a fault fails the request */
	DPA_PUT_ATOMIC,
};

/* An atomic: the old value goes to resp.rd[rd] and resp.saved[saved]. */
struct dpa_fatomic {
	uint64_t addr, swap_add, compare;
	uint32_t psn, rd, saved;
	bool swaps; /* compare and swap; otherwise it adds */
};

struct dpa_put {
	struct dpa_foreign *f;
	uint64_t addr;
	uint8_t *host;
	uint32_t len, psn;
	uint32_t end; /* value of window.tail once it is released */
	uint8_t kind; /* enum dpa_put_kind */
	bool behind, dead;
	struct dpa_fatomic a;
};

/* A CQE that waits for the puts before number `at`. */
struct dpa_fheld {
	struct dpa_hw_cq *cq;
	uint32_t at;
	struct dpa_cqe e;
};

enum dpa_get_state { DPA_GET_QUEUED, DPA_GET_COPYING, DPA_GET_READY, DPA_GET_FAILED };

/* Bytes [off, off + len) of the message of WQE `idx`, or of response number `idx`. */
struct dpa_get {
	uint32_t idx, off, len;
	uint8_t *host;
	uint32_t end; /* value of window.tail once it is released */
	uint32_t first, nparts;
	uint8_t state; /* enum dpa_get_state */
};

struct dpa_part {
	struct dpa_foreign *f;
	uint64_t addr;
	uint8_t *host;
	uint32_t len;
};

/* Consecutive segments. A request lies within them or follows them; otherwise they begin again. */
struct dpa_gets {
	struct dpa_window w;
	uint32_t head, tail, phead;
	uint32_t idx, off; /* position behind the last one */
	struct dpa_get e[DPA_FOREIGN_GETS];
	struct dpa_part part[DPA_FOREIGN_PARTS];
};

/* The part of a QP that used such memory, until it is reset or destroyed. */
struct dpa_fqp {
	struct dpa_hw_qp *qp;
	struct dpa_fqp *next; /* under foreigns.lock, as are queued and busy */
	bool queued, busy;    /* it has work; dpa-foreign works on it */
	bool held;	      /* puts are pending */
	bool leaving;	      /* accepts nothing more until no puts are pending */
	bool closed;	      /* refuses everything */
	bool told;	      /* a CQE reports the put that failed */
	/*
	 * Requests up to PSN `acked` are done although puts are pending: they may be acknowledged.
	 */
	bool part;
	uint32_t acked;
	/* For the current iovec: L_Keys of segments in foreign memory, else 0; its purpose. */
	uint32_t iov_key[DPA_COPY_PIECES + 2];
	uint8_t kind;
	uint32_t psn;
	struct dpa_window in;
	uint32_t put_head, put_tail;
	struct dpa_put put[DPA_FOREIGN_PUTS];
	struct dpa_fheld *cqe;
	uint32_t ncqe, cqe_first, cqe_room;
	struct dpa_gets source, response;
};

/* State of the function, created with its first such region. */
struct dpa_foreigns {
	struct dpa_foreign *
		/* by entry of the region table; written under hw->ctl, read under a QP's lock */
		*of;
	dpa_spin_t lock;
	struct dpa_fqp *head, *tail; /* QPs with work */
	pthread_t thread;
	_Atomic uint32_t sleep, wakes, stop; /* as in struct dpa_eu */
};

/* A copy for dpa-foreign. */
struct dpa_fwork {
	struct dpa_foreign_copy c;
	struct dpa_foreign *f;
	uint32_t n; /* number of the put, or of the get */
	bool get, response;
};

/* ------------------------------------------------------------------ foreign.c */

/* Add the region of entry i. 0 or errno. Context: hw->ctl. */
int dpa_foreign_add(struct dpa_hw *hw, uint32_t i, const struct dpa_mr_attr *a);
/*
 * Wait until no copy of it is left, then forget it. Context: its key is withdrawn and no thread
 * uses it (dpa_quiesce()); the caller holds no lock that the owner's copy call may need.
 */
void dpa_foreign_drain(struct dpa_hw *hw, uint32_t i);
void dpa_foreign_remove(struct dpa_hw *hw, uint32_t i);
void dpa_foreign_fini(struct dpa_hw *hw);
/* Return the memory of a key that was checked; NULL: it can be addressed. Context: a QP's lock. */
static inline struct dpa_foreign *dpa_foreign_of(struct dpa_hw *hw, uint32_t key)
{
	const uint32_t i = key >> DPA_KEY_TAG_BITS;

	if (dpa_likely(hw->export->mr[i].kind != DPA_KIND_FOREIGN || !key))
		return NULL;
	return hw->foreigns->of[i];
}
/*
 * Return the part of a QP; create it if there is none. NULL: no memory. Context: the QP's lock, for
 * this and all that follow.
 */
struct dpa_fqp *dpa_foreign_use(struct dpa_hw_qp *qp);
/* Queue the QP for dpa-foreign. */
void dpa_foreign_queue(struct dpa_fqp *fq);
/* Take the QP's lock once no put is left; new packets wait meanwhile. Context: no lock held. */
void dpa_foreign_lock(struct dpa_hw_qp *qp);
/* The same. From now on the QP refuses such memory. */
void dpa_foreign_close(struct dpa_hw_qp *qp);
/* The QP is reset: forget everything. Nothing is left to copy. */
void dpa_foreign_free(struct dpa_hw_qp *qp);
uint8_t *dpa_window_take(struct dpa_window *w, uint32_t n);
bool dpa_window_room(const struct dpa_window *w, uint32_t n);
uint32_t dpa_foreign_copy(struct dpa_fwork *w, uint32_t n, uint64_t *bad);

/* ---------------------------------------------------------------------- put.c */

static inline bool dpa_foreign_held(const struct dpa_hw_qp *qp)
{
	return dpa_unlikely(qp->slow.foreign) && qp->fq->held;
}
/* True if it can take a packet of len bytes. */
bool dpa_foreign_room(const struct dpa_hw_qp *qp, uint32_t len);
/* True if so many puts are free, and room for len bytes cut into as many segments. */
bool dpa_foreign_fits(const struct dpa_hw_qp *qp, uint32_t puts, uint32_t len);
/* True if half of the window is free: a peer whose request was refused may continue. */
bool dpa_foreign_roomy(const struct dpa_hw_qp *qp);
/* Reserve n bytes of the window for dpa_foreign_put_at(). NULL: no room. */
uint8_t *dpa_foreign_host(struct dpa_hw_qp *qp, uint32_t n);
/* Queue a put. `host` is in the window; fq->kind and psn are set. 0 or a vendor error. */
uint32_t dpa_foreign_put_at(struct dpa_hw_qp *qp, struct dpa_foreign *f, uint64_t addr,
			    uint8_t *host, uint32_t n);
/* The same for bytes outside of the window: copies them into it. */
uint32_t dpa_foreign_put(struct dpa_hw_qp *qp, struct dpa_foreign *f, uint64_t addr,
			 const uint8_t *from, uint32_t n);
uint32_t dpa_foreign_atomic(struct dpa_hw_qp *qp, struct dpa_foreign *f,
			    const struct dpa_fatomic *a);
/* struct dpa_qp_ops, hold. */
bool dpa_foreign_hold(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		      uint32_t n);
/*
 * dpa-foreign: take the next puts, and return their number and copies; then report the results: one
 * bit of `bad` for each copy that failed.
 */
uint32_t dpa_foreign_puts_begin(struct dpa_fqp *fq, struct dpa_fwork *w, uint32_t most,
				uint32_t *copies);
void dpa_foreign_puts_end(struct dpa_fqp *fq, uint32_t n, const struct dpa_fwork *w, uint32_t nw,
			  const uint64_t *bad);
/* Return the next put if it is an atomic; else NULL. */
struct dpa_put *dpa_foreign_next_atomic(struct dpa_fqp *fq);

/* ---------------------------------------------------------------------- get.c */

/* Find bytes [off, ...) of message idx; *n: number of contiguous bytes. NULL: not there. */
const struct dpa_get *dpa_gets_find(const struct dpa_gets *g, uint32_t idx, uint32_t off);
/* Add a segment behind the last one, without parts. NULL: no room. */
struct dpa_get *dpa_gets_add(struct dpa_gets *g, uint32_t idx, uint32_t off, uint32_t len);
void dpa_gets_part(struct dpa_gets *g, struct dpa_get *e, struct dpa_foreign *f, uint64_t addr,
		   uint8_t *host, uint32_t len);
void dpa_gets_undo(struct dpa_gets *g);
/* Release what lies before (idx, off). */
void dpa_gets_drop(struct dpa_gets *g, uint32_t idx, uint32_t off);
/* True if more than half of its room is used. */
bool dpa_gets_crowded(const struct dpa_gets *g);
/* Begin again at (idx, off). False: copies are in progress. */
bool dpa_gets_restart(struct dpa_gets *g, uint32_t idx, uint32_t off);
/* True if some of them are not copied yet. */
bool dpa_gets_pending(const struct dpa_gets *g);
/* Copy [off, off + n) of message idx. False: not all of it is there. */
bool dpa_gets_copy(const struct dpa_gets *g, uint32_t idx, uint32_t off, uint32_t n, uint8_t *to);
uint32_t dpa_gets_begin(struct dpa_fqp *fq, struct dpa_fwork *w, uint32_t most);
bool dpa_gets_left(const struct dpa_fqp *fq);
void dpa_gets_end(struct dpa_fqp *fq, const struct dpa_fwork *w, uint32_t n, const uint64_t *bad);

#endif
