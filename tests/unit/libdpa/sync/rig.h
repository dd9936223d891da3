/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rig.h - common part of the tests of this folder: ../host.h with a larger shared structure. */
#ifndef TEST_SYNC_RIG_H
#define TEST_SYNC_RIG_H

#include "../host.h"

#include <doca_mmap.h>
#include "kernels.h"

#define RIG_SHARED struct sync_shared

/* Open the device and start a context, with memory for struct sync_shared. */
void sync_rig_start(struct rig *r);
/* Make a started event of CPU and DPA on both sides; *handle: for device code. */
struct doca_sync_event *sync_new_event(struct rig *r, uint64_t *word, uint64_t *handle);
/* Activate a running thread without a completion. */
void sync_notify(struct doca_dpa_thread *t);
/* Remove the files of a fatal state: a suite's teardown. */
void sync_remove_files(void);
/* Make a started map of the device; *key: for device code. */
struct doca_mmap *sync_map(struct rig *r, void *addr, size_t len, uint32_t access, uint32_t *key);
/* An async operations object with its own completion context, for device code. */
struct async_rig {
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *ops;
};
void sync_async_start(struct rig *r, struct async_rig *a, unsigned int queue_size,
		      uint64_t user_data);
void sync_async_destroy(struct async_rig *a);
/* Append to the program; run it on a thread. */
void sync_command(struct rig *r, uint32_t *n, struct command c);
void sync_run(struct rig *r);
/* Wait until that number of activations was counted; then stop the thread, and read its results. */
void sync_await_end(struct rig *r, uint64_t activations);

#endif
