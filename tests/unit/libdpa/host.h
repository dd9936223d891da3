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
/* Device and context with that application, not started: for what is set before. */
void rig_create(struct rig *r, struct doca_dpa_app *app);
/* Starts the context and allocates `size` bytes of device memory, zeroed. */
void rig_go(struct rig *r, size_t size);
/* Both, with memory for struct shared. */
static inline void rig_start(struct rig *r)
{
	rig_create(r, test_app);
	rig_go(r, sizeof(struct shared));
}
/* A thread of func, and a completion context that activates it; its handle. The thread is not running. */
uint64_t rig_thread(struct rig *r, doca_dpa_func_t *func, uint32_t entries);
/* Runs a thread of func, armed. */
void rig_run(struct rig *r, doca_dpa_func_t *func);
/* A started event that CPU and DPA change and wait for; word: its value is there, or NULL. */
struct doca_sync_event *rig_event(struct rig *r, uint64_t *word);
/* Yields until the context is in the fatal state. */
void rig_await_fatal(struct rig *r);
/* Removes the files that a fatal state of this process leaves. */
void rig_drop_crash(const char *prefix);
#define CRASH "/tmp/doca_dpa_fatal"
/* Everything away again; destroy: and nothing of the fake's is left. */
void rig_close(struct rig *r);
void rig_destroy(struct rig *r);
/* Reads and writes a word of the shared memory, which kernels look at meanwhile. */
uint64_t rig_read(struct rig *r, size_t offset);
void rig_put(struct rig *r, size_t offset, uint64_t value);
#define READ(r, field)	 rig_read((r), offsetof(struct shared, field))
/* The same of RIG_SHARED, the structure of a folder's own kernels. */
#define SHARED(r, field) rig_read((r), offsetof(RIG_SHARED, field))
#define PUT(r, field, v) rig_put((r), offsetof(RIG_SHARED, field), (v))
#define AWAIT_SHARED(r, f, v)                                                                      \
	do {                                                                                       \
		while (SHARED(r, f) != (v))                                                        \
			sched_yield();                                                             \
	} while (0)
/* Yields until the field has the value: the time limit is the suite's. */
#define AWAIT(r, field, value)                                                                     \
	do {                                                                                       \
		while (READ(r, field) != (value))                                                  \
			sched_yield();                                                             \
	} while (0)

#endif
