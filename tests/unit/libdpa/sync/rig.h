/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rig.h - what the tests of this folder share: ../host.h with a larger shared structure. */
#ifndef TEST_SYNC_RIG_H
#define TEST_SYNC_RIG_H

#include "../host.h"

#include <sched.h>
#include <doca_mmap.h>
#include <doca_sync_event.h>
#include "kernels.h"

#define SHARED(r, field) rig_read((r), offsetof(struct sync_shared, field))
#define PUT(r, field, v) sync_put((r), offsetof(struct sync_shared, field), (v))
#define AWAIT_SHARED(r, f, v)                                                                      \
	do {                                                                                       \
		while (SHARED(r, f) != (v))                                                        \
			sched_yield();                                                             \
	} while (0)

/* Device and started context, and memory for struct sync_shared. */
void sync_rig_start(struct rig *r);
/* A field of the shared structure; no kernel runs that reads it. */
void sync_put(struct rig *r, size_t offset, uint64_t value);
/* A started event of CPU and DPA on both sides; *handle: for device code. */
struct doca_sync_event *sync_new_event(struct rig *r, uint64_t *word, uint64_t *handle);
/* Activates a running thread without a completion. */
void sync_notify(struct doca_dpa_thread *t);
/* Until the context is in the fatal state; and away with the files that say so. */
void sync_await_fatal(struct rig *r);
void sync_remove_files(void);
/* A started map of the device; *key: for device code. */
struct doca_mmap *sync_map(struct rig *r, void *addr, size_t len, uint32_t access, uint32_t *key);
/* An async operations object that reports to a completion context of its own, for device code. */
struct async_rig {
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *ops;
};
void sync_async_start(struct rig *r, struct async_rig *a, unsigned int queue_size,
		      uint64_t user_data);
void sync_async_destroy(struct async_rig *a);
/* Appends to the program; then runs it on a thread. */
void sync_command(struct rig *r, uint32_t *n, struct command c);
void sync_run(struct rig *r);
/* Until so many activations have been counted; then the thread is stopped, and what it wrote seen.
 */
void sync_await_end(struct rig *r, uint64_t activations);

#endif
