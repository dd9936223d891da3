/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* host.h - the rig of libdpa's tests: a context with one thread and one completion context. */
#ifndef TEST_LIBDPA_HOST_H
#define TEST_LIBDPA_HOST_H

#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <doca_sync_event.h>
#include <dpa/dpa_native.h>
#include <sched.h>
#include "fake.h"
#include "kernels.h"

#define OK(call)       cr_assert_eq((call), DOCA_SUCCESS)
#define IS(call, code) cr_assert_eq((call), DOCA_ERROR_##code)

extern struct doca_dpa_app *test_app;

struct rig {
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	struct doca_dpa_completion *comp;
	struct ibv_cq *cq;
	uint64_t shared; /* device memory: struct shared */
};

struct doca_dev *open_dpa0(void);
/* Create device and context with that application, not started: for settings before the start. */
void rig_create(struct rig *r, struct doca_dpa_app *app);
/* Start the context and allocate `size` bytes of device memory, zeroed. */
void rig_go(struct rig *r, size_t size);
/* Do both, with memory for struct shared. */
static inline void rig_start(struct rig *r)
{
	rig_create(r, test_app);
	rig_go(r, sizeof(struct shared));
}
/*
 * Make a thread of func, and a completion context that activates it; return its handle. The thread
 * is not running.
 */
uint64_t rig_thread(struct rig *r, doca_dpa_func_t *func, uint32_t entries);
/* Run a thread of func, armed. */
void rig_run(struct rig *r, doca_dpa_func_t *func);
/* Make a started event that CPU and DPA change and wait for; word: holds its value, or NULL. */
struct doca_sync_event *rig_event(struct rig *r, uint64_t *word);
/* Yield until the context is in the fatal state. */
void rig_await_fatal(struct rig *r);
/* Remove the files of a fatal state of this process. */
void rig_drop_crash(const char *prefix);
#define CRASH "/tmp/doca_dpa_fatal"
/* Destroy everything; destroy: and check that nothing of the fake is left. */
void rig_close(struct rig *r);
void rig_destroy(struct rig *r);
/* Read and write a word of the shared memory, which kernels read meanwhile. */
uint64_t rig_read(struct rig *r, size_t offset);
void rig_put(struct rig *r, size_t offset, uint64_t value);
#define READ(r, field)	 rig_read((r), offsetof(struct shared, field))
/* Do the same for RIG_SHARED, the structure of a folder's own kernels. */
#define SHARED(r, field) rig_read((r), offsetof(RIG_SHARED, field))
#define PUT(r, field, v) rig_put((r), offsetof(RIG_SHARED, field), (v))
#define AWAIT_SHARED(r, f, v)                                                                      \
	do {                                                                                       \
		while (SHARED(r, f) != (v))                                                        \
			sched_yield();                                                             \
	} while (0)
/* Yield until the field has the value: the time limit is that of the suite. */
#define AWAIT(r, field, value)                                                                     \
	do {                                                                                       \
		while (READ(r, field) != (value))                                                  \
			sched_yield();                                                             \
	} while (0)

#endif
