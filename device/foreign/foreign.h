/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * foreign.h - memory that this process cannot address, as a GPU's: DPA_MR_FOREIGN. It is reached by
 * the copy call of its owner alone, which may block, and takes locks of a driver. So it is made by a
 * thread of its own (dpa-foreign), under no lock of the device. The data path goes on meanwhile:
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
 *     READY: the packets are made of the window <----------  done
 *
 * A QP that used such memory (slow.foreign) takes no fast path until it is reset. The words are
 * under the QP's lock; the list of QPs with work under foreigns.lock, a leaf.
 */
#ifndef DPA_FOREIGN_H
#define DPA_FOREIGN_H

#include <pthread.h>
#include "ctx/copy.h"
#include "ctx/hw.h"
#include "ctx/mr.h"
#include "ctx/qp.h"

#define DPA_FOREIGN_COPIES 256u	      /* of one call: a call costs as much as 20 of its copies */
#define DPA_FOREIGN_WINDOW (4u << 20) /* of a QP, each way; a power of two */
#define DPA_FOREIGN_PUTS   1024u      /* a power of two, as the next two */
#define DPA_FOREIGN_GETS   256u
#define DPA_FOREIGN_PARTS  512u
#define DPA_FOREIGN_PIECE  65536u     /* bytes of a message that are one get */
#define DPA_FOREIGN_AHEAD  (1u << 20) /* bytes that are got ahead of sending */

/* A region. Freed when its last copy is done. */
struct dpa_foreign {
	const struct dpa_foreign_ops *ops;
	void *arg;
	_Atomic uint32_t busy; /* copies of it that are queued or under way */
};

/* Bytes in the order in which they are given back; counters, not masked. */
struct dpa_window {
	uint8_t *mem;
	uint32_t head, tail;
};

enum dpa_put_kind {
	DPA_PUT_WRITE, /* a fault is a NAK */
	DPA_PUT_RECV,  /* a NAK, and the receive fails */
	DPA_PUT_LOCAL, /* the result of a READ or an atomic: the request fails */
	DPA_PUT_ATOMIC,
};

/* An atomic: what it finds goes to resp.rd[rd] and resp.saved[saved]. */
struct dpa_fatomic {
	uint64_t addr, swap_add, compare;
	uint32_t psn, rd, saved;
	bool swaps; /* if what is there equals `compare`; else it adds */
};

struct dpa_put {
	struct dpa_foreign *f;
	uint64_t addr;
	uint8_t *host;
	uint32_t len, psn;
	uint32_t end; /* window.tail behind it */
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

/* [off, off + len) of the message of WQE `idx`, or of response number `idx`. */
struct dpa_get {
	uint32_t idx, off, len;
	uint8_t *host;
	uint32_t end; /* window.tail behind it */
	uint32_t first, nparts;
	uint8_t state; /* enum dpa_get_state */
};

struct dpa_part {
	struct dpa_foreign *f;
	uint64_t addr;
	uint8_t *host;
	uint32_t len;
};

/* Successive pieces; what is asked for lies in them, follows them, or they are begun anew. */
struct dpa_gets {
	struct dpa_window w;
	uint32_t head, tail, phead;
	uint32_t idx, off; /* behind the last one */
	struct dpa_get e[DPA_FOREIGN_GETS];
	struct dpa_part part[DPA_FOREIGN_PARTS];
};

/* The part of a QP that used such memory: until it is reset or destroyed. */
struct dpa_fqp {
	struct dpa_hw_qp *qp;
	struct dpa_fqp *next; /* foreigns.lock, as are queued and busy */
	bool queued, busy;    /* it has work; dpa-foreign is at it */
	bool held;	      /* puts are left */
	bool leaving;	      /* takes nothing more until no puts are left */
	bool closed;	      /* refuses all */
	bool told;	      /* a CQE says which put failed */
	/* requests up to PSN `acked` are done, though puts are left: they may be acknowledged */
	bool part;
	uint32_t acked;
	/* L_Keys of the iovec at hand where that is foreign memory, else 0; what it is for */
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

/* Of the function, from its first region on. */
struct dpa_foreigns {
	struct dpa_foreign *
		*of; /* by entry of the table of regions; under hw->ctl, read under a QP's lock */
	dpa_spin_t lock;
	struct dpa_fqp *head, *tail; /* QPs with work */
	pthread_t thread;
	_Atomic uint32_t sleep, wakes, stop; /* as those of struct dpa_eu */
};

/* A copy that dpa-foreign makes. */
struct dpa_fwork {
	struct dpa_foreign_copy c;
	struct dpa_foreign *f;
	uint32_t n; /* number of the put, or of the get */
	bool get, response;
};

/* ------------------------------------------------------------------ foreign.c */

/* Under hw->ctl: the region of entry i. 0 or errno. */
int dpa_foreign_add(struct dpa_hw *hw, uint32_t i, const struct dpa_mr_attr *a);
/*
 * Waits until no copy of it is left, then forgets it. Context: its key is withdrawn and nobody is at
 * work with it (dpa_quiesce()); no lock that the owner's copy call may need.
 */
void dpa_foreign_drain(struct dpa_hw *hw, uint32_t i);
void dpa_foreign_remove(struct dpa_hw *hw, uint32_t i);
void dpa_foreign_fini(struct dpa_hw *hw);
/* The memory of a key that was checked, NULL: it can be addressed. Under a QP's lock. */
static inline struct dpa_foreign *dpa_foreign_of(struct dpa_hw *hw, uint32_t key)
{
	const uint32_t i = key >> DPA_KEY_TAG_BITS;

	if (dpa_likely(hw->export->mr[i].kind != DPA_KIND_FOREIGN || !key))
		return NULL;
	return hw->foreigns->of[i];
}
/* That of a QP, made when it has none. NULL: no memory. Under the QP's lock, as all that follow. */
struct dpa_fqp *dpa_foreign_use(struct dpa_hw_qp *qp);
/* It has work for dpa-foreign. */
void dpa_foreign_queue(struct dpa_fqp *fq);
/* Takes the QP's lock when no put is left; new packets wait meanwhile. Context: no lock. */
void dpa_foreign_lock(struct dpa_hw_qp *qp);
/* The same, and from now on the QP refuses such memory. */
void dpa_foreign_close(struct dpa_hw_qp *qp);
/* Forgets all, with nothing left: the QP is reset. */
void dpa_foreign_free(struct dpa_hw_qp *qp);
uint8_t *dpa_window_take(struct dpa_window *w, uint32_t n);
bool dpa_window_room(const struct dpa_window *w, uint32_t n);
uint32_t dpa_foreign_copy(struct dpa_fwork *w, uint32_t n, uint64_t *bad);

/* ---------------------------------------------------------------------- put.c */

static inline bool dpa_foreign_held(const struct dpa_hw_qp *qp)
{
	return dpa_unlikely(qp->slow.foreign) && qp->fq->held;
}
/* Can it take a packet of so many bytes? */
bool dpa_foreign_room(const struct dpa_hw_qp *qp, uint32_t len);
/* n bytes of the window for dpa_foreign_put_at(); NULL: none. */
uint8_t *dpa_foreign_host(struct dpa_hw_qp *qp, uint32_t n);
/* 0 or a syndrome. `host` lies in the window; fq->kind and psn are set. */
uint32_t dpa_foreign_put_at(struct dpa_hw_qp *qp, struct dpa_foreign *f, uint64_t addr,
			    uint8_t *host, uint32_t n);
/* The same of bytes that lie elsewhere. */
uint32_t dpa_foreign_put(struct dpa_hw_qp *qp, struct dpa_foreign *f, uint64_t addr,
			 const uint8_t *from, uint32_t n);
uint32_t dpa_foreign_atomic(struct dpa_hw_qp *qp, struct dpa_foreign *f,
			    const struct dpa_fatomic *a);
/* struct dpa_qp_ops, hold. */
bool dpa_foreign_hold(struct dpa_hw_qp *qp, struct dpa_hw_cq *cq, const struct dpa_cqe *cqe,
		      uint32_t n);
/*
 * dpa-foreign: the next puts, how many, and their copies; then what came of them: a bit of `bad` for
 * each copy that failed.
 */
uint32_t dpa_foreign_puts_begin(struct dpa_fqp *fq, struct dpa_fwork *w, uint32_t most,
				uint32_t *copies);
void dpa_foreign_puts_end(struct dpa_fqp *fq, uint32_t n, const struct dpa_fwork *w, uint32_t nw,
			  const uint64_t *bad);
/* The next put is an atomic. */
struct dpa_put *dpa_foreign_next_atomic(struct dpa_fqp *fq);

/* ---------------------------------------------------------------------- get.c */

/* Bytes [off, ...) of message idx; *n: how many lie together. NULL: not there. */
const struct dpa_get *dpa_gets_find(const struct dpa_gets *g, uint32_t idx, uint32_t off);
/* A piece behind the last one, without parts; NULL: no room. */
struct dpa_get *dpa_gets_add(struct dpa_gets *g, uint32_t idx, uint32_t off, uint32_t len);
void dpa_gets_part(struct dpa_gets *g, struct dpa_get *e, struct dpa_foreign *f, uint64_t addr,
		   uint8_t *host, uint32_t len);
void dpa_gets_undo(struct dpa_gets *g);
/* Gives back what lies before (idx, off). */
void dpa_gets_drop(struct dpa_gets *g, uint32_t idx, uint32_t off);
/* More than half of its room is taken. */
bool dpa_gets_crowded(const struct dpa_gets *g);
/* Begins anew at (idx, off). False: copies are under way. */
bool dpa_gets_restart(struct dpa_gets *g, uint32_t idx, uint32_t off);
/* Some of them are not copied yet. */
bool dpa_gets_pending(const struct dpa_gets *g);
/* Copies [off, off + n) of message idx. False: not all is there. */
bool dpa_gets_copy(const struct dpa_gets *g, uint32_t idx, uint32_t off, uint32_t n, uint8_t *to);
uint32_t dpa_gets_begin(struct dpa_fqp *fq, struct dpa_fwork *w, uint32_t most);
bool dpa_gets_left(const struct dpa_fqp *fq);
void dpa_gets_end(struct dpa_fqp *fq, const struct dpa_fwork *w, uint32_t n, const uint64_t *bad);

#endif
