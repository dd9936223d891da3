/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync_event.h - sync events for the other parts of libdpa: kernel launches wait for them and
 * update them, async operations of device code wait for them.
 *
 * An event is one 64-bit word: of the event itself, of the user (set_addr, set_doca_buf), or of
 * memory shared with another process. It is written by calls of this library, on any thread (host
 * or EU), and, where it is not the event's own, by anything: plain stores, RDMA, another process.
 * Every access of the library is atomic; an update releases, a look acquires.
 *
 * A watch reports that a condition has come to hold. An update by a call of this library checks the
 * watches of its event itself, at once. A word that others may write is read by one thread of the
 * process (watch.c), which spins briefly and then looks every 50 us at the latest while such a
 * watch is there, and sleeps otherwise.
 */
#ifndef DPA_SYNC_EVENT_H
#define DPA_SYNC_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "../common/ctx.h"

struct doca_buf;
struct doca_dev;
struct doca_dpa;
struct doca_sync_event;

/* ------------------------------------------------------------ for everybody */

/* Role of a DPA context: it changes the event, or it waits for it. */
enum dpa_se_role { DPA_SE_PUBLISHER, DPA_SE_SUBSCRIBER };

/*
 * Whether the event is started and the context was given to it in that role. An extended context
 * counts as itself only. NULL is not usable.
 */
bool dpa_se_usable(const struct doca_sync_event *se, const struct doca_dpa *dpa,
		   enum dpa_se_role role);

/*
 * The event stays in memory until the last release; what happens to it after its destruction
 * changes nothing any more. Any thread, EUs included.
 */
void dpa_se_hold(struct doca_sync_event *se);
void dpa_se_release(struct doca_sync_event *se);

/* Of a started event that is held. Any thread, EUs included; none blocks. */
uint64_t dpa_se_read(const struct doca_sync_event *se);
/* The value before. */
uint64_t dpa_se_add(struct doca_sync_event *se, uint64_t n);
void dpa_se_set(struct doca_sync_event *se, uint64_t value);

/* ------------------------------------------------------------- by RDMA, EUs */

struct dpa_object;
struct doca_sync_event_remote_net;

/*
 * An object of type DPA_H_SYNC_EVENT_REMOTE, in an op: where a peer's event lies. Its 8 bytes may
 * be written, read and changed by atomics.
 */
void dpa_se_remote_where(const struct dpa_object *obj, uint64_t *addr, uint32_t *rkey);
/* The same of a handle of the host's; INVALID_VALUE: it is none. */
doca_error_t dpa_se_remote_word(const struct doca_sync_event_remote_net *event, uint64_t *addr,
				uint32_t *rkey);
/* An object of type DPA_H_SYNC_EVENT, in an op. */
struct doca_sync_event *dpa_se_of(const struct dpa_object *obj);

/* ------------------------------------------------------------------ watches */

/* (event & mask) COND value */
enum dpa_se_cond { DPA_SE_GE, DPA_SE_GT, DPA_SE_EQ, DPA_SE_NE };

struct dpa_se_watch;
/*
 * The condition has held. Called once, by the thread that found it: an updater's, the poller, or
 * the one in dpa_se_watch(). A lock is held: it must not block and must not call anything of this
 * header; making something runnable (dpa_pool_dispatch()) is what it is for. The watch is its
 * owner's again: it may be freed or used for another one afterwards.
 */
typedef void dpa_se_watch_fn(struct dpa_se_watch *w);

/* Memory of the caller's, zeroed before its first use; the fields are this module's. */
struct dpa_se_watch {
	struct doca_sync_event *se;	   /* NULL: not watching; under the module's lock */
	struct dpa_se_watch *next, **prev; /* of the event */
	struct dpa_se_watch *polled_next, **polled_prev; /* of the poller; prev NULL: not polled */
	uint64_t value, mask;
	enum dpa_se_cond cond;
	uint32_t generation; /* of the pool: not that of a forked child */
	dpa_se_watch_fn *fn;
	/*
	 * Set by the owner, or NULL: called after fn, by the same thread, once the lock is dropped:
	 * for what may post to queues or watch again. The watch is the owner's again in `after`.
	 */
	dpa_se_watch_fn *after;
};

/*
 * Calls fn once the condition holds, maybe before it returns. The event is held meanwhile.
 * 0, or errno of a thread that cannot be had: then nothing is watched.
 */
int dpa_se_watch(struct dpa_se_watch *w, struct doca_sync_event *se, enum dpa_se_cond cond,
		 uint64_t value, uint64_t mask, dpa_se_watch_fn *fn);
/*
 * True: fn will not be called. False: it has been, and has returned (or there was no watch).
 * Not from fn.
 */
bool dpa_se_watch_cancel(struct dpa_se_watch *w);

/* ----------------------------------------------------- for the module itself */

enum {
	DPA_SE_LOC_CPU = 1 << 0,
	DPA_SE_LOC_DPA = 1 << 1,
	DPA_SE_LOC_GPU = 1 << 2,
	DPA_SE_LOC_PCI = 1 << 3, /* another process of this host */
	DPA_SE_LOC_NET = 1 << 4,
	DPA_SE_MAX_DPA = 8, /* DPA contexts in one role */
};

enum dpa_se_state { DPA_SE_IDLE, DPA_SE_STARTED, DPA_SE_DEAD };

/* Where an event is changed from, or observed. Host's calls only. */
struct dpa_se_side {
	uint32_t where; /* DPA_SE_LOC_* */
	uint32_t num_dpas;
	struct doca_dpa *dpas[DPA_SE_MAX_DPA]; /* each held */
	struct doca_dev *dev;		       /* of the CPU location; held */
};

/* Tasks of one kind: sync_task.c. User's thread only. */
enum dpa_se_task_kind { DPA_SE_GET, DPA_SE_SET, DPA_SE_ADD, DPA_SE_WAIT_EQ, DPA_SE_WAIT_NEQ };
#define DPA_SE_TASK_KINDS 5

struct dpa_se_task;
typedef void dpa_se_task_fn(struct dpa_se_task *task, union doca_data task_user_data,
			    union doca_data ctx_user_data);

struct dpa_se_conf {
	dpa_se_task_fn *done, *failed;
	uint32_t max, used; /* tasks that may exist, and do */
};

struct dpa_se_export;
struct dpa_se_page;
struct ibv_mr;

struct doca_sync_event {
	struct doca_ctx ctx;	      /* first: at one address */
	_Atomic uint64_t *word;	      /* constant while started */
	_Atomic uint32_t num_watches; /* written under the lock of watch.c, read by updates */
	_Atomic uint32_t refs;
	_Atomic uint32_t state;	      /* enum dpa_se_state; written by the host's calls */
	bool polled;		      /* others than this library's calls may write the word */
	uint32_t watch_generation;    /* of the pool; under the lock of watch.c */
	struct dpa_se_watch *watches; /* under the lock of watch.c */
	_Atomic uint64_t own;
	struct dpa_se_side pub, sub;
	struct doca_buf *buf;	       /* whose data the word is; a reference */
	struct dpa_se_export *exports; /* handles of device code */
	struct ibv_mr *mr;	       /* of the word, for peers */
	struct doca_dev *mr_dev;       /* in use by it */
	void *blob;		       /* what they get */
	struct dpa_se_page *page;      /* that others map; NULL: none */
	int page_fd;
	bool imported;	/* the page is another process's */
	void *pci_blob; /* what they get */
	bool is_ctx;	/* doca_sync_event_as_ctx() was called */
	struct dpa_se_conf conf[DPA_SE_TASK_KINDS];
	struct dpa_se_task *ended, **ended_tail; /* to be called back */
	struct dpa_se_task *waits;
};

/*
 * The state is not STARTED any more: when this returns no thread reads the word for a watch. The
 * watches stay, for their owners to cancel.
 */
void dpa_se_watch_stop(struct doca_sync_event *se);
/* The process has no event any more: ends the poller if nothing is watched. */
void dpa_se_watch_rest(void);

/*
 * Handles of one object: one for each context that wants one. `of` is what they stand for.
 * False: no room.
 */
bool dpa_se_export_handle(struct dpa_se_export **list, struct doca_dpa *dpa, uint32_t type,
			  void *of, uint64_t *handle);
/* No EU is in a call with one of them when it returns. */
void dpa_se_export_drop(struct dpa_se_export **list);
/* Whatever mode it is in. */
doca_error_t dpa_se_start(struct doca_sync_event *se);
void dpa_se_stop(struct doca_sync_event *se);
/* Before the event is of use: its generic view. */
void dpa_se_ctx_init(struct doca_sync_event *se);

/* Before a start: a place for the word that other processes can map, if the event wants one. */
doca_error_t dpa_se_share(struct doca_sync_event *se);
void dpa_se_unshare(struct doca_sync_event *se);
/* The registration and what was exported of it. */
void dpa_se_unregister(struct doca_sync_event *se);

/* After each change of the word by the library. */
void dpa_se_changed_slow(struct doca_sync_event *se);
static inline void dpa_se_changed(struct doca_sync_event *se)
{
	/* The update was seq_cst: a watch that is not seen here sees the update itself. */
	if (__builtin_expect(atomic_load_explicit(&se->num_watches, memory_order_seq_cst), 0))
		dpa_se_changed_slow(se);
}

#endif
