/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tasks.h - a DOCA RDMA context on the CPU's data path, connected to the peer's, with memory that each
 * may read and write of the other's. One thread, which drives the progress engine.
 */
#ifndef DPA_SAMPLE_TASKS_H
#define DPA_SAMPLE_TASKS_H

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include "res.h"

struct tasks {
	const struct args *args;
	int fd; /* peer_open()'s */
	struct doca_dev *dev;
	struct doca_pe *pe;
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	struct doca_rdma_connection *connection;
	struct doca_buf_inventory *inventory;
	struct doca_mmap *map, *far; /* own memory, the peer's */
	uint8_t *mem, *far_mem;
	size_t len; /* bytes of each */
	unsigned int ended, failed;
};

/* A callback for the end of a kind of task, good or bad, and the conf() that takes it. */
#define TASKS_KIND(kind)                                                                           \
	static void kind##_ended(struct doca_rdma_task_##kind *task, union doca_data task_data,    \
				 union doca_data ctx_data)                                         \
	{                                                                                          \
		(void)task_data;                                                                   \
		tasks_ended(ctx_data.ptr, doca_rdma_task_##kind##_as_task(task));                  \
	}                                                                                          \
	static bool kind##_conf(struct tasks *t, uint32_t num)                                     \
	{                                                                                          \
		TRY(doca_rdma_task_##kind##_set_conf(t->rdma, kind##_ended, kind##_ended, num));   \
		return true;                                                                       \
	}

/* Counts in ended, or in failed with a line on stderr. */
void tasks_ended(struct tasks *t, struct doca_task *task);

/*
 * Device, memory of len zeroed bytes, engine, and a context that is not started: its kinds of tasks
 * are configured next.
 */
bool tasks_open(struct tasks *t, const struct args *a, int fd, size_t len);
/* Starts it, connects it to the peer's, which does the same, and exchanges the memory. */
bool tasks_connect(struct tasks *t);
/* A buf of len bytes at `at` of a map, with that many bytes of data, or with none. */
bool tasks_buf(struct tasks *t, struct doca_mmap *map, void *at, size_t len, bool data,
	       struct doca_buf **buf);
/* Drives the engine until n tasks have ended since the last call. False: one of them failed. */
bool tasks_wait(struct tasks *t, unsigned int n);
/* Submits, waits for its end, frees it. */
bool tasks_run(struct tasks *t, struct doca_task *task);
/* All tasks and bufs are freed before. */
bool tasks_close(struct tasks *t);

#endif
