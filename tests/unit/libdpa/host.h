/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* host.h - a context with one thread and one completion context, for tests. */
#ifndef TEST_LIBDPA_HOST_H
#define TEST_LIBDPA_HOST_H

#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <doca_dev.h>
#include <doca_dpa.h>
#include <dpa/dpa_native.h>
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
/* Device and started context. */
void rig_start(struct rig *r);
/* And a running thread of func, armed. */
void rig_run(struct rig *r, doca_dpa_func_t *func);
/* Everything away again, and nothing of the fake's is left. */
void rig_destroy(struct rig *r);
/* Reads a field of the shared structure. */
uint64_t rig_read(struct rig *r, size_t offset);
#define READ(r, field) rig_read((r), offsetof(struct shared, field))
/* Yields until the field has the value: the time limit is the suite's. */
#define AWAIT(r, field, value)                                                                     \
	do {                                                                                       \
		while (READ(r, field) != (value))                                                  \
			sched_yield();                                                             \
	} while (0)

#endif
