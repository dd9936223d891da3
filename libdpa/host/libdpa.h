/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libdpa.h - internal definition of the library's objects.
 *
 * Lifetimes: a context keeps a reference to its device; its children keep one to the context's
 * memory, so that a call on a child of a destroyed context can detect it. Device code names objects
 * by handles, which are looked up in the context's table.
 */
#ifndef DPA_LIBDPA_H
#define DPA_LIBDPA_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <dpa/dpa_image.h>
#include <dpa/dpa_native.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <infiniband/verbs.h>
#include "../common/object/object.h"
#include "../crash/fatal.h"
#include "../crash/witness.h"
#include "../eu/activation.h"
#include "../run/devlog.h"
#include "../eu/eumgmt.h"
#include "../hw/hw.h"
#include "../eu/pool.h"
#include "../hw/qp.h"
#include "../stat/stat.h"

#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

/* ------------------------------------------------------------------ device */

struct doca_devinfo {
	struct ibv_device *ibdev;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	bool is_dpa;
	uint32_t function; /* of the adapter: 0 is the PF, others are SFs */
	char pci_addr[16]; /* "" if it is not an adapter of this project */
	uint8_t guid[8];   /* of the node, in network order */
};

struct doca_dev {
	struct doca_devinfo info; /* ibdev: of the open context */
	struct ibv_context *ctx;
	struct ibv_pd *pd; /* dpa_dev_pd() */
	uint32_t refs;	   /* opens */
	uint32_t users;	   /* objects that use it */
	bool borrowed;	   /* ctx and pd are the user's: dpa_dev_open_pd() */
	struct doca_dev *next;
};

/* Return the result of the capability queries that each adapter of this project has. */
static inline doca_error_t dpa_cap_if_dpa(const struct doca_devinfo *devinfo)
{
	if (!dpa_live(devinfo))
		return DOCA_ERROR_INVALID_VALUE;
	return devinfo->is_dpa ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}

/*
 * Compare the PCI address of a function with another, by the rules of
 * doca_devinfo_is_equal_pci_addr(). INVALID_VALUE: the text is not one; OPERATING_SYSTEM: the device
 * has none. Any thread.
 */
doca_error_t dpa_devinfo_is_equal_pci_addr(const struct doca_devinfo *info,
					   const char *pci_addr_str, uint8_t *is_equal);

/* Return the number of the SF of a representor. Any thread. */
uint32_t dpa_rep_function(const struct doca_devinfo_rep *devinfo_rep);

/* Return the open device of this PD; NULL: none. Any thread. */
struct doca_dev *dpa_dev_of_pd(const struct ibv_pd *pd);
/* Return it with a reference, or make one for the PD. NULL: no memory. Any thread. */
struct doca_dev *dpa_dev_open_pd(struct ibv_pd *pd);

/* Count an object in or out of a device, which cannot be closed meanwhile. Any thread. */
void dpa_dev_use(struct doca_dev *dev, int n);
/*
 * Return the PD of the device, which is allocated at the first call and freed when the device is
 * closed; NULL and errno. Any thread.
 */
struct ibv_pd *dpa_dev_pd(struct doca_dev *dev);

/* ----------------------------------------------------------------- handles */

enum dpa_handle_type {
	DPA_H_COMPLETION = 1,
	DPA_H_QP = 2,
	DPA_H_NOTIFICATION = 3,
	DPA_H_ASYNC_OPS = 4,
	DPA_H_HASH_TABLE = 5,
	DPA_H_SYNC_EVENT = 6,
	DPA_H_RDMA = 7,
	DPA_H_CONTEXT = 8,
	DPA_H_SYNC_EVENT_REMOTE = 9,
};

/* First member of every object that has a handle. */
struct dpa_object {
	uint64_t handle; /* 0: none */
};

/*
 * A handle is type << 56 | generation << 24 | index, and no two of a process are equal. Slots are
 * written by the host's calls and read by EUs; an object is freed only after dpa_handle_drop() and
 * dpa_pool_quiesce().
 */
#define DPA_HANDLES 4096
struct dpa_handles {
	_Atomic(struct dpa_object *) slot[DPA_HANDLES];
};

/* Create a handle. False: the table is full. */
bool dpa_handle_new(struct dpa_handles *t, enum dpa_handle_type type, struct dpa_object *obj);
void dpa_handle_drop(struct dpa_handles *t, struct dpa_object *obj);
/* Undo a drop: no handle was created in between. */
void dpa_handle_restore(struct dpa_handles *t, struct dpa_object *obj);
/*
 * Return the table for handles of this type. Memory (a sync event, a peer's event, a hash table)
 * has no device: its handles are in the base context's table, and device code may use them with any
 * selected device. Queues and doorbells belong to one device: their handles are in the table of
 * their own context, and device code needs device_set() first.
 */
struct dpa_handles *dpa_handles_for(struct doca_dpa *dpa, enum dpa_handle_type type);
/* Look up a handle. NULL: no such object of that type. */
struct dpa_object *dpa_handle_get(struct dpa_handles *t, enum dpa_handle_type type,
				  uint64_t handle);

/* ------------------------------------------------------------------- image */

struct dpa_loaded {
	void *dl;
	int fd;
	const struct dpa_image *image;
};

/* Load a separate copy of the image. 0 or errno; ENOEXEC: not an image of this version. */
int dpa_image_load(const struct doca_dpa_app *app, struct dpa_loaded *out);
void dpa_image_unload(struct dpa_loaded *img);
/* Write all n bytes. 0 or errno. */
int dpa_write_all(int fd, const void *p, size_t n);
/* Return the image's entry of that name; NULL: none. */
const struct dpa_image_entry *dpa_image_entry(const struct dpa_loaded *img, const char *name);
/* Return the entry of a host stub; NULL: not of this application. */
const struct dpa_app_entry *dpa_app_find(const struct doca_dpa_app *app, doca_dpa_func_t *func);

/* ----------------------------------------------------------------- context */

enum dpa_state { DPA_CREATED, DPA_STARTED, DPA_DEAD };

/* Device memory. References: the context's, until the user frees it, and those of maps. */
struct dpa_mem {
	struct dpa_mem *next;
	void *base;
	size_t size;
	_Atomic uint32_t refs;
};

/* Destination of log or trace: standard output without a path. */
struct dpa_sink {
	char *path;
	FILE *file;
};

/*
 * A base context, or one that extends it to another device: the latter has its own device, handles
 * and children, and uses dpa_base() for everything else.
 */
struct doca_dpa {
	struct dpa_object obj; /* in the base's table, while started */
	struct doca_dpa *base; /* NULL: this is a base context */
	struct doca_dpa *gone; /* in a base: destroyed extended ones; in those: the next */
	struct doca_dev *dev;
	struct doca_dpa_app *app;
	enum dpa_state state; /* DEAD: destroyed, but children are left */
	uint32_t log_level;
	uint32_t generation; /* generation of the pool when it was started */
	uint32_t threads, completions, qps, notifications; /* children that exist */
	uint32_t ctxs;		/* doca_ctx objects with this data path */
	uint32_t extended;	/* started contexts that extend it */
	uint32_t holds;		/* other objects that refer to it */
	_Atomic uint32_t fatal; /* set by an EU, once */
	struct dpa_fatal_hooks fatal_hooks;
	struct dpa_witnesses witnesses;
	const char *log_path; /* prefix of crash files; NULL: the default */
	uint32_t stat_id;     /* base: its number in output for users, while started */
	struct doca_pcc *pcc; /* owner of its program; NULL: no congestion control program */
	struct dpa_stat_kernels stat_kernels;
	struct dpa_loaded img;
	struct dpa_sink log_sink, trace_sink;
	struct dpa_devlog *log, *trace;
	/* base: protects `mem`; used by calls of the host, and by the EU that writes a core */
	pthread_mutex_t mem_lock;
	struct dpa_mem *mem;
	struct dpa_eumgmt_eus eus; /* EUs that its code may use; read when it is started */
	struct dpa_launches *launches;
	struct doca_dpa_thread *thread_list;
	struct doca_dpa_completion *comp_list;
	struct doca_dpa_async_ops *async_list;
	struct dpa_handles handles;
};

/* Return the context whose program, memory, log and fatal state it uses. */
static inline struct doca_dpa *dpa_base(struct doca_dpa *dpa)
{
	return dpa->base ? dpa->base : dpa;
}

/* Drop a child: frees a dead context with its last one. */
void dpa_ctx_put(struct doca_dpa *dpa);
/* Keep the memory of a context, as that of a dead one, for objects that outlive it. Host only. */
void dpa_ctx_hold(struct doca_dpa *dpa);
void dpa_ctx_release(struct doca_dpa *dpa);
void dpa_mem_free_all(struct doca_dpa *dpa);
/*
 * Take references to all allocations of a base context, newest first; the caller frees the array
 * and releases each by dpa_mem_release(). NULL: none, or no memory. Any thread.
 */
struct dpa_mem **dpa_mem_hold_all(struct doca_dpa *base, size_t *num);
/* Take a reference to the allocation that contains the whole range; NULL: none does. */
struct dpa_mem *dpa_mem_hold(struct doca_dpa *dpa, uint64_t addr, size_t size);
void dpa_mem_release(struct dpa_mem *m);

struct doca_dpa_thread {
	struct dpa_act act;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *next; /* of the context */
	doca_dpa_func_t *func;
	void (*fn)(uint64_t); /* in the image, while started */
	const char *name;     /* of the entry, while started */
	struct dpa_stat_task *stat;
	uint64_t arg, local;
	const struct doca_dpa_eu_affinity *affinity; /* NULL: relaxed */
	struct doca_dpa_tg *group;
	_Atomic uint64_t place; /* in a started group: size << 32 | rank; 0: in none */
	/* references: the user's, and one for each completion context with this thread */
	uint32_t refs;
	bool started;
};

/*
 * Take one of the adapter's 256 hardware threads: each DPA thread takes one, and each started RDMA
 * context. False: none is left. Any thread.
 */
bool dpa_hw_thread_take(void);
void dpa_hw_thread_give(void);
void dpa_thread_hold(struct doca_dpa_thread *t);
void dpa_thread_release(struct doca_dpa_thread *t);
/* Stop and unlink, for a context that is destroyed with threads. */
void dpa_thread_halt(struct doca_dpa_thread *t);

struct doca_rdma;

struct doca_dpa_completion {
	struct dpa_object obj;
	struct dpa_source src;
	struct doca_dpa *dpa;
	struct doca_dpa_completion *next;
	struct doca_dpa_thread *thread;
	struct ibv_cq *cq;
	struct dpa_cq_view view;
	_Atomic uint32_t read; /* elements taken; the rest of the queue is unread */
	uint32_t acked;
	bool overran; /* the overrun was logged; written by the code that reads */
	uint32_t queue_size;
	uint32_t users; /* started objects that report to it */
	/*
	 * Of these, RDMA contexts with receives. Written by calls of the host, one at a time; read
	 * by EUs in ops: a removed one is freed after dpa_pool_quiesce().
	 */
	_Atomic(struct doca_rdma *) rdmas;
	uint16_t seats; /* seats assigned so far */
	bool started;
};

/* Return whether an attached completion context still exists and belongs to the context. */
static inline bool dpa_completion_is_of(const struct doca_dpa_completion *c,
					const struct doca_dpa *dpa)
{
	return dpa_live(c) && c->dpa == dpa;
}

/* Stop all that are started; no EU runs code of the context. ../sync/async/async.c */
void dpa_async_halt_all(struct doca_dpa *dpa);

/* Stop it if started. */
doca_error_t dpa_completion_halt(struct doca_dpa_completion *c);

struct doca_dpa_notification_completion {
	struct dpa_object obj;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	bool started;
};

struct dpa_qp {
	struct dpa_object obj;
	struct dpa_fatal_hook fatal; /* moves the QP to the error state */
	struct ibv_qp *qp;
	struct doca_dpa *dpa;
	struct dpa_qp_queues queues;
};

/*
 * Return whether the parent of this process started it: then it has no EUs here, and nothing of it
 * is waited for.
 */
static inline bool dpa_ctx_foreign(const struct doca_dpa *dpa)
{
	return dpa->state == DPA_STARTED && dpa->generation != dpa_pool_generation();
}

static inline bool dpa_ctx_usable(const struct doca_dpa *dpa)
{
	return dpa->state == DPA_STARTED && !dpa_ctx_foreign(dpa);
}

#endif
