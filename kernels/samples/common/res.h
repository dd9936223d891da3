/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * res.h - preparations of the samples of the DOCA API: command line, devices, contexts, events,
 * maps. Documented calls only.
 */
#ifndef DPA_SAMPLE_RES_H
#define DPA_SAMPLE_RES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <doca_error.h>
#include <doca_mmap.h>
#include <doca_sync_event.h>

/* For functions that return bool: if the call fails, print a message to stderr and return false. */
#define TRY(call)                                                                                  \
	do {                                                                                       \
		doca_error_t try_ = (call);                                                        \
		if (try_ != DOCA_SUCCESS) {                                                        \
			res_complain(#call, try_);                                                 \
			return false;                                                              \
		}                                                                                  \
	} while (0)
/* Destroy an object if it exists. Continues after an error, and records it in *ok. */
#define END(ok, object, call)                                                                      \
	do {                                                                                       \
		doca_error_t end_ = (object) ? (call) : DOCA_SUCCESS;                              \
		if (end_ != DOCA_SUCCESS) {                                                        \
			res_complain(#call, end_);                                                 \
			*(ok) = false;                                                             \
		}                                                                                  \
	} while (0)

void res_complain(const char *call, doca_error_t error);

struct args {
	char pf_dev[DOCA_DEVINFO_IBDEV_NAME_SIZE];   /* "": the first one with a DPA */
	char rdma_dev[DOCA_DEVINFO_IBDEV_NAME_SIZE]; /* "": the same */
	int gid_index;
	char connect[256]; /* host; "": listen */
	int port;
	int count;
};

/* Further arguments of a program. */
enum args_kind { ARGS_LOCAL = 0, ARGS_PEER = 1 << 0, ARGS_COUNT = 1 << 1 };

/*
 * Set the given arguments; the rest of *a is unchanged. doca_argp prints the help and the errors.
 */
bool args_parse(struct args *a, const char *program, int kind, int argc, char **argv);

struct res {
	struct doca_dev *pf_dev, *rdma_dev; /* equal unless the command line names two */
	struct doca_dpa *pf_dpa;	    /* context of the program: RPCs, launches, memory */
	struct doca_dpa
		/*
		 * context on rdma_dev, for threads and their objects: pf_dpa, or extended from it
		 */
		*dpa;
	doca_dpa_dev_t dpa_handle; /* for doca_dpa_dev_device_set(); 0: not needed */
};

bool res_open(struct res *r, const struct args *a, struct doca_dpa_app *app);
/* All objects that use it were destroyed before. */
bool res_close(struct res *r);

enum res_event_kind { RES_EVENT_TO_DPA, RES_EVENT_IN_DPA, RES_EVENT_TO_HOST };
/*
 * Create and start an event from the host to the DPA, within it, or from it to the host. handle may
 * be NULL.
 */
bool res_event(struct res *r, enum res_event_kind kind, struct doca_sync_event **event,
	       doca_dpa_dev_sync_event_t *handle);
/* Wait until it exceeds value. False: device code failed meanwhile. */
bool res_await(struct res *r, struct doca_sync_event *event, uint64_t value);

/* Map memory of this process, or of the DPA's heap, for the DPA and the network. */
bool res_map(struct res *r, void *addr, size_t len, uint32_t access, struct doca_mmap **map,
	     doca_dpa_dev_mmap_t *handle);
bool res_map_heap(struct res *r, doca_dpa_dev_uintptr_t addr, size_t len, uint32_t access,
		  struct doca_mmap **map, doca_dpa_dev_mmap_t *handle);
/* Allocate zeroed memory of the DPA's heap. */
bool res_alloc(struct res *r, size_t len, doca_dpa_dev_uintptr_t *addr);

/* Create and start a thread of func(arg). It runs after a call of doca_dpa_thread_run(). */
bool res_thread(struct res *r, doca_dpa_func_t *func, uint64_t arg,
		struct doca_dpa_thread **thread);
/* Create a completion context that activates a thread, or that device code polls (NULL). */
bool res_completion(struct res *r, unsigned int depth, struct doca_dpa_thread *thread,
		    struct doca_dpa_completion **comp, doca_dpa_dev_completion_t *handle);
/* Create a notification completion, by which device code activates a thread. */
bool res_notification(struct res *r, struct doca_dpa_thread *thread,
		      struct doca_dpa_notification_completion **comp,
		      doca_dpa_dev_notification_completion_t *handle);

#endif
