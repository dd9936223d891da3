/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libdpa.h - the library's own view of its objects.
 *
 * Lives: a context keeps a reference to its device; its children keep one to the context's memory,
 * so that a call on a child of a destroyed context finds out. Device code knows objects by handles,
 * which are looked up in the context's table.
 */
#ifndef DPA_LIBDPA_H
#define DPA_LIBDPA_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dpa/dpa_image.h>
#include <dpa/dpa_native.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <infiniband/verbs.h>
#include "../eu/activation.h"
#include "../eu/devlog.h"
#include "../eu/hw.h"
#include "../eu/pool.h"
#include "../eu/qp.h"

#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

/* ------------------------------------------------------------------ device */

struct doca_devinfo {
	struct ibv_device *ibdev;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	bool is_dpa;
};

struct doca_dev {
	struct doca_devinfo info; /* ibdev: of the open context */
	struct ibv_context *ctx;
	uint32_t refs;	/* opens */
	uint32_t users; /* DPA contexts */
	struct doca_dev *next;
};

/* Counts a DPA context in or out of a device. */
void dpa_dev_use(struct doca_dev *dev, int n);

/* ----------------------------------------------------------------- handles */

enum dpa_handle_type { DPA_H_COMPLETION = 1, DPA_H_QP = 2, DPA_H_NOTIFICATION = 3 };

/* First in every object that has a handle. */
struct dpa_object {
	uint64_t handle; /* 0: none */
};

/*
 * A handle is type << 56 | generation << 24 | index. Slots are written by the host's calls and
 * read by EUs; an object is freed only after dpa_handle_drop() and dpa_pool_quiesce().
 */
#define DPA_HANDLES 4096
struct dpa_handles {
	_Atomic(struct dpa_object *) slot[DPA_HANDLES];
	uint32_t generation;
};

/* False: the table is full. */
bool dpa_handle_new(struct dpa_handles *t, enum dpa_handle_type type, struct dpa_object *obj);
void dpa_handle_drop(struct dpa_handles *t, struct dpa_object *obj);
/* Takes a drop back: nothing was made in between. */
void dpa_handle_restore(struct dpa_handles *t, struct dpa_object *obj);
/* NULL: no such object of that type. */
struct dpa_object *dpa_handle_get(struct dpa_handles *t, enum dpa_handle_type type,
				  uint64_t handle);

/* ------------------------------------------------------------------- image */

struct dpa_loaded {
	void *dl;
	int fd;
	const struct dpa_image *image;
};

/* A copy of the image of its own. 0 or errno; ENOEXEC: not an image of this version. */
int dpa_image_load(const struct doca_dpa_app *app, struct dpa_loaded *out);
void dpa_image_unload(struct dpa_loaded *img);
/* The device function behind an entry's name; NULL: none. */
void (*dpa_image_entry(const struct dpa_loaded *img, const char *name))(void);
/* The entry that a host stub stands for; NULL: none of this application. */
const struct dpa_app_entry *dpa_app_find(const struct doca_dpa_app *app, doca_dpa_func_t *func);

/* ----------------------------------------------------------------- context */

enum dpa_state { DPA_CREATED, DPA_STARTED, DPA_DEAD };

struct dpa_mem {
	struct dpa_mem *next;
	void *base;
	size_t size;
};

struct doca_dpa {
	struct doca_dev *dev;
	struct doca_dpa_app *app;
	enum dpa_state state; /* DEAD: destroyed, children are left */
	uint32_t log_level;
	uint32_t generation;				   /* of the pool, when it was started */
	uint32_t threads, completions, qps, notifications; /* children that exist */
	_Atomic uint32_t fatal;				   /* set by an EU, once */
	struct dpa_loaded img;
	struct dpa_devlog *log;
	struct dpa_mem *mem;
	struct doca_dpa_thread *thread_list;
	struct doca_dpa_completion *comp_list;
	struct dpa_handles handles;
};

/* A child is gone: frees a dead context with its last one. */
void dpa_ctx_put(struct doca_dpa *dpa);
void dpa_mem_free_all(struct doca_dpa *dpa);

struct doca_dpa_thread {
	struct dpa_act act;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *next; /* of the context */
	doca_dpa_func_t *func;
	void (*fn)(uint64_t); /* in the image, while started */
	const char *name;     /* of the entry, while started */
	uint64_t arg, local;
	uint32_t refs; /* the user's, and one for each completion context that names it */
	bool started;
};

void dpa_thread_hold(struct doca_dpa_thread *t);
void dpa_thread_release(struct doca_dpa_thread *t);
/* Stops and unlinks: for a context that is destroyed with threads. */
void dpa_thread_halt(struct doca_dpa_thread *t);

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
	uint32_t queue_size;
	bool started;
};

/* Stops it if started. */
doca_error_t dpa_completion_halt(struct doca_dpa_completion *c);

struct doca_dpa_notification_completion {
	struct dpa_object obj;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	bool started;
};

struct dpa_qp {
	struct dpa_object obj;
	struct doca_dpa *dpa;
	struct dpa_qp_queues queues;
};

/* Started by the parent of this process: it has no EUs here, and nothing of it is waited for. */
static inline bool dpa_ctx_foreign(const struct doca_dpa *dpa)
{
	return dpa->state == DPA_STARTED && dpa->generation != dpa_pool_generation();
}

static inline bool dpa_ctx_usable(const struct doca_dpa *dpa)
{
	return dpa->state == DPA_STARTED && !dpa_ctx_foreign(dpa);
}

#endif
