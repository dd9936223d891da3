/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync_event.h - sync events for the other parts of libdpa: kernel launches wait for them and
 * update them, async operations of device code wait for them.
 *
 * An event is one 64-bit word: of the event itself, of the user (set_addr, set_doca_buf), or of
 * memory shared with another process. Calls of this library write it, on any thread (host or EU).
 * If it is not the event's own word, any code may write it too: plain stores, RDMA, another
 * process. Every access of the library is atomic; an update releases, a read acquires.
 *
 * A watch reports that a condition has become true. An update by a call of this library checks the
 * watches of its event itself, at once. If others may write the word, one thread of the process
 * (watch.c) reads it: it spins briefly and then reads it at least every 50 us while such a watch
 * exists, and sleeps otherwise.
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

/* ------------------------------------------------------------------- public */

/* Role of a DPA context: it changes the event, or it waits for it. */
enum dpa_se_role { DPA_SE_PUBLISHER, DPA_SE_SUBSCRIBER };

/*
 * Return whether the event is started and has the context in that role. An extended context does
 * not count for its base. NULL is not usable.
 */
bool dpa_se_usable(const struct doca_sync_event *se, const struct doca_dpa *dpa,
		   enum dpa_se_role role);

/*
 * Keep the event in memory until the last release; after its destruction updates have no effect.
 * Any thread, EUs included.
 */
void dpa_se_hold(struct doca_sync_event *se);
void dpa_se_release(struct doca_sync_event *se);

/*
 * Read or change a started event, to which the caller has a reference. Any thread, EUs included;
 * does not block.
 */
uint64_t dpa_se_read(const struct doca_sync_event *se);
/* Return the previous value. */
uint64_t dpa_se_add(struct doca_sync_event *se, uint64_t n);
void dpa_se_set(struct doca_sync_event *se, uint64_t value);

/* ------------------------------------------------------------- by RDMA, EUs */

struct dpa_object;
struct doca_sync_event_remote_net;

/*
 * Get the address and key of a peer's event, from an object of type DPA_H_SYNC_EVENT_REMOTE, in an
 * op. RDMA may write, read and change its 8 bytes by atomics.
 */
void dpa_se_remote_where(const struct dpa_object *obj, uint64_t *addr, uint32_t *rkey);
/* Get the same from an event of the host; INVALID_VALUE: not such an event. */
doca_error_t dpa_se_remote_word(const struct doca_sync_event_remote_net *event, uint64_t *addr,
				uint32_t *rkey);
/* Return the event of an object of type DPA_H_SYNC_EVENT, in an op. */
struct doca_sync_event *dpa_se_of(const struct dpa_object *obj);

/* ------------------------------------------------------------------ watches */

/* (event & mask) COND value */
enum dpa_se_cond { DPA_SE_GE, DPA_SE_GT, DPA_SE_EQ, DPA_SE_NE };

struct dpa_se_watch;
/*
 * The condition has held. Called once, by the thread that found it: that of an update, the poller,
 * or the one in dpa_se_watch(). A lock is held: it must not block and must not call functions of
 * this header. Its purpose is to make work runnable (dpa_pool_dispatch()). The watch belongs to its
 * owner again, which may free or reuse it afterwards.
 */
typedef void dpa_se_watch_fn(struct dpa_se_watch *w);

/* Memory of the caller, zeroed before its first use; this module owns the fields. */
struct dpa_se_watch {
	struct doca_sync_event *se;	   /* NULL: not watching; under the module's lock */
	struct dpa_se_watch *next, **prev; /* list of the event */
	/* list of the poller; prev NULL: not polled */
	struct dpa_se_watch *polled_next, **polled_prev;
	uint64_t value, mask;
	enum dpa_se_cond cond;
	uint32_t generation; /* generation of the pool: that of a forked child differs */
	dpa_se_watch_fn *fn;
	/*
	 * Set by the owner, or NULL. Called after fn, by the same thread, once the lock is
	 * released: it may post to queues or watch again. In `after` the watch belongs to its owner
	 * again.
	 */
	dpa_se_watch_fn *after;
};

/*
 * Call fn once the condition holds, maybe before this call returns. The watch holds a reference to
 * the event meanwhile. 0, or errno if no thread can be created: then nothing is watched.
 */
int dpa_se_watch(struct dpa_se_watch *w, struct doca_sync_event *se, enum dpa_se_cond cond,
		 uint64_t value, uint64_t mask, dpa_se_watch_fn *fn);
/*
 * Cancel a watch. True: fn will not be called. False: fn was called and has returned (or there was
 * no watch). Must not be called from fn.
 */
bool dpa_se_watch_cancel(struct dpa_se_watch *w);

/* A thread that sleeps until its condition has held: `fn` of the watch is dpa_se_wake_sleeper(). */
struct dpa_se_sleeper {
	struct dpa_se_watch watch;
	_Atomic uint32_t woken; /* futex */
};
void dpa_se_wake_sleeper(struct dpa_se_watch *w);

/* ----------------------------------------------------- for the module itself */

enum {
	DPA_SE_LOC_CPU = 1 << 0,
	DPA_SE_LOC_DPA = 1 << 1,
	DPA_SE_LOC_PCI = 1 << 3, /* memory for another process of this host */
	DPA_SE_LOC_NET = 1 << 4,
	DPA_SE_MAX_DPA = 8, /* DPA contexts in one role */
};

enum dpa_se_state { DPA_SE_IDLE, DPA_SE_STARTED, DPA_SE_DEAD };

/* One side of an event: locations that change it, or observe it. Used by the host's calls only. */
struct dpa_se_side {
	uint32_t where; /* DPA_SE_LOC_* */
	uint32_t num_dpas;
	struct doca_dpa *dpas[DPA_SE_MAX_DPA]; /* each with a reference */
	struct doca_dev *dev;		       /* device of the CPU location; referenced */
};

/* Tasks of one kind: sync_task.c. Only the user's thread. */
enum dpa_se_task_kind { DPA_SE_GET, DPA_SE_SET, DPA_SE_ADD, DPA_SE_WAIT_EQ, DPA_SE_WAIT_NEQ };
#define DPA_SE_TASK_KINDS 5

struct dpa_se_task;
typedef void dpa_se_task_fn(struct dpa_se_task *task, union doca_data task_user_data,
			    union doca_data ctx_user_data);

struct dpa_se_conf {
	dpa_se_task_fn *done, *failed;
	uint32_t max, used; /* tasks that may exist; tasks that exist */
};

struct dpa_se_export;
struct dpa_se_page;
struct ibv_mr;

struct doca_sync_event {
	struct doca_ctx ctx;	      /* first member: at the same address */
	_Atomic uint64_t *word;	      /* constant while started */
	_Atomic uint32_t num_watches; /* written under the lock of watch.c, read by updates */
	_Atomic uint32_t refs;
	_Atomic uint32_t state;	      /* enum dpa_se_state; written by the host's calls */
	bool polled;		      /* code outside this library's calls may write the word */
	uint32_t watch_generation;    /* generation of the pool; under the lock of watch.c */
	struct dpa_se_watch *watches; /* under the lock of watch.c */
	_Atomic uint64_t own;
	struct dpa_se_side pub, sub;
	struct doca_buf *buf;	       /* buf that holds the word; a reference */
	struct dpa_se_export *exports; /* handles of device code */
	struct ibv_mr *mr;	       /* region of the word, for peers */
	struct doca_dev *mr_dev;       /* device of mr; referenced */
	void *blob;		       /* export for peers */
	struct dpa_se_page *page;      /* page that other processes map; NULL: none */
	int page_fd;
	bool imported;	/* the page belongs to another process */
	void *pci_blob; /* export for these processes */
	bool is_ctx;	/* doca_sync_event_as_ctx() was called */
	struct dpa_se_conf conf[DPA_SE_TASK_KINDS];
	struct dpa_se_task *ended, **ended_tail; /* tasks to call back */
	struct dpa_se_task *waits;
};

/*
 * Stop the watches: the state is not STARTED any more, and when this returns no thread reads the
 * word for a watch. The watches stay until their owners cancel them.
 */
void dpa_se_watch_stop(struct doca_sync_event *se);
/* End the poller if nothing is watched: the process has no event any more. */
void dpa_se_watch_rest(void);

/* Get a handle for an object `of`: one for each context that requests one. False: no room. */
bool dpa_se_export_handle(struct dpa_se_export **list, struct doca_dpa *dpa, uint32_t type,
			  void *of, uint64_t *handle);
/* Drop them all. When it returns no EU is in a call with one of them. */
void dpa_se_export_drop(struct dpa_se_export **list);
/* Start the event, in any mode. */
doca_error_t dpa_se_start(struct doca_sync_event *se);
void dpa_se_stop(struct doca_sync_event *se);
/* Initialise its base as a context, before the event is used. */
void dpa_se_ctx_init(struct doca_sync_event *se);

/*
 * Prepare a start: move the word to a place that other processes can map, if the event needs one.
 */
doca_error_t dpa_se_share(struct doca_sync_event *se);
void dpa_se_unshare(struct doca_sync_event *se);
/* Undo the registration and the exports of it. */
void dpa_se_unregister(struct doca_sync_event *se);

/* Notify the watches after each change of the word by the library. */
void dpa_se_changed_slow(struct doca_sync_event *se);
static inline void dpa_se_changed(struct doca_sync_event *se)
{
	/* the update was seq_cst: a watch that is not counted here yet sees the update itself */
	if (__builtin_expect(atomic_load_explicit(&se->num_watches, memory_order_seq_cst), 0))
		dpa_se_changed_slow(se);
}

#endif
