/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dma.h - a doca_dma: a queue of copies, which progress() makes one after another.
 *
 *   submit --> queue --progress()--> work: begun, posted --> its callback
 *
 * A copy within the process is one memmove(), when it is the first of `work`. One with memory of
 * another process (remote.c) is RDMA READs and WRITEs on a queue pair of a link to that process
 * (pci/pci.h). Copies begin and end in order; those of one direction and one link follow each other
 * without waiting.
 *
 * The thread of the progress engine owns all of it; no lock is taken.
 */
#ifndef DPA_DMA_H
#define DPA_DMA_H

#include <doca_dma.h>
#include "../common/pe.h"
#include "../host/libdpa.h"
#include "../pci/pci.h"

#define DPA_DMA_MAX_TASKS 65536u
#define DPA_DMA_MAX_LIST  64u
#define DPA_DMA_MAX_SIZE  (UINT64_C(1) << 30)

/* A position in two lists of bufs: all before it is copied. */
struct dpa_dma_walk {
	const struct doca_buf *src;
	struct doca_buf *dst;
	size_t from, to; /* bytes of the data of src; of the room of dst, at the position */
	uint64_t left;	 /* bytes */
};

/* A segment that is contiguous on both sides, at a walk's position. */
struct dpa_dma_piece {
	const char *from;
	char *to;
	size_t len;
};

struct doca_dma_task_memcpy {
	struct doca_task task; /* first: doca_task_free() gets its address */
	struct doca_dma *dma;
	const struct doca_buf *src;
	struct doca_buf *dst;
	/* while in flight */
	struct doca_dma_task_memcpy *next; /* of the queue, or of the work */
	struct dpa_dma_walk walk;
	doca_error_t failed; /* reason why it cannot go on */
	bool begun;
	bool marked;	/* its destination is marked: dpa_dma_mark() */
	bool remote;	/* memory of a peer takes part */
	bool posted;	/* all of it is posted */
	size_t bounced; /* bytes in the bounce buffer */
	uint64_t last;	/* its last work request */
};

/* Copies with memory of other processes. Nothing of it is allocated before the first one. */
struct dpa_dma_remote {
	bool open;
	struct dpa_pci_caller caller;
	struct ibv_comp_channel *channel;
	int timer;
	struct dpa_pci_link *links;
	char *bounce; /* for copies from a peer to a peer */
	struct ibv_mr *bounce_mr;
	/* in flight: work requests have the numbers ended + 1 to posted, of one link and opcode */
	struct dpa_pci_link *link;
	enum ibv_wr_opcode opcode;
	uint64_t posted, ended;
	uint64_t good;	     /* the last request that succeeded */
	doca_error_t failed; /* one did not: all later ones are flushed */
	uint64_t looked_ns;  /* time of the last check of the peer's end */
	bool armed;
	int num_wc; /* completions taken while arming */
	struct ibv_wc wc[16];
};

struct doca_dma {
	struct doca_ctx ctx;
	struct doca_dma_task_memcpy *queue, **queue_end;
	struct doca_dma_task_memcpy *work, **work_end;
	struct doca_dma_task_memcpy *post; /* in `work`: the first that is not posted */
	doca_dma_task_memcpy_completion_cb_t done, failed;
	uint32_t max_tasks, used; /* configured; those that exist */
	uint32_t refs;		  /* references: the user's, and one for each task */
	struct dpa_dma_remote remote;
};

/* ------------------------------------------------------------------- copy.c */

/* Check a task and set up its walk. SUCCESS, or the status of a task that fails: doca_dma.h. */
doca_error_t dpa_dma_begin(struct doca_dma_task_memcpy *t);
/*
 * Mark bufs that a task in flight writes: their lengths are not final, so a task that begins with
 * one of them must wait.
 */
bool dpa_dma_must_wait(const struct doca_dma_task_memcpy *t);
void dpa_dma_mark(struct doca_dma_task_memcpy *t, bool written);
/* Get the next segment. False: nothing is left, or the user has freed the next buf. */
bool dpa_dma_piece(struct dpa_dma_walk *w, struct dpa_dma_piece *p);
void dpa_dma_advance(struct dpa_dma_walk *w, size_t bytes);
/* Copy a whole task without a peer's memory. */
void dpa_dma_copy(struct dpa_dma_walk *w);
/* Complete a task with success: the data of its destination grow. */
void dpa_dma_fill(struct doca_dma_task_memcpy *t);

/* ----------------------------------------------------------------- remote.c */

/*
 * Post as much of a begun task as possible now. True: all of it; false: later, or never
 * (t->failed).
 */
bool dpa_dma_remote_post(struct doca_dma *dma, struct doca_dma_task_memcpy *t);
/* Take completions. True: there were some. */
bool dpa_dma_remote_poll(struct doca_dma *dma);
/* Return whether nothing is in flight. */
static inline bool dpa_dma_remote_quiet(const struct doca_dma *dma)
{
	return dma->remote.posted == dma->remote.ended;
}
/* Make all requests in flight fail soon. */
void dpa_dma_remote_abort(struct doca_dma *dma);
/* Prepare the engine's wait. True: there is work already. */
bool dpa_dma_remote_arm(struct doca_dma *dma);
/* Close all links. Nothing is in flight. */
void dpa_dma_remote_close(struct doca_dma *dma);

#endif
