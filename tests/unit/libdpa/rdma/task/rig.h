/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* rig.h - two contexts on the CPU's data path, connected with each other, on the real device. */
#ifndef TEST_RDMA_TASK_RIG_H
#define TEST_RDMA_TASK_RIG_H

#define DOCA_ALLOW_EXPERIMENTAL_API
#include <criterion/criterion.h>
#include <sched.h>
#include <string.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include <doca_sync_event.h>

#define OK(call)       cr_assert_eq((call), DOCA_SUCCESS)
#define IS(call, code) cr_assert_eq((call), DOCA_ERROR_##code)

enum { MEM = 1 << 16, QUEUE = 16, TASKS = 8 };

struct side {
	struct doca_rdma *rdma;
	struct doca_ctx *ctx;
	struct doca_pe *pe;
	struct doca_rdma_connection *conn;
	uint8_t *mem;
	struct doca_mmap *map, *peers; /* its own memory, and the other side's */
	int done, failed;	       /* callbacks so far */
	uint64_t user_data;	       /* of the last one */
	doca_error_t status;
	struct doca_task *task;
};

struct task_rig {
	struct doca_dev *dev;
	struct doca_buf_inventory *inventory;
	struct side a, b;
};

/* permissions: of b, for a. */
void task_rig_start(struct task_rig *r, uint32_t permissions);
void task_rig_stop(struct task_rig *r);
/* Make the settings, do not start. */
void task_rig_make(struct task_rig *r, uint32_t permissions);
void task_rig_connect(struct task_rig *r);

/*
 * Make a buf of a map: `len` bytes at `offset` of that side's memory, the first `data` of them
 * data.
 */
struct doca_buf *local_buf(struct task_rig *r, struct side *s, size_t offset, size_t len,
			   size_t data);
/* Make one of the peer's memory. */
struct doca_buf *remote_buf(struct task_rig *r, struct side *s, size_t offset, size_t len,
			    size_t data);
void put_buf(struct doca_buf *b);
size_t data_len(struct doca_buf *b);

/* Run progress of both sides until s has had n callbacks. */
void await(struct task_rig *r, struct side *s, int n);
/* Submit a task and wait for its end; return its status. */
doca_error_t run(struct task_rig *r, struct side *s, struct doca_task *task);
/* Post a receive at b of `len` bytes at `offset`. */
struct doca_rdma_task_receive *receive(struct task_rig *r, size_t offset, size_t len);

static inline union doca_data number(uint64_t n)
{
	return (union doca_data){.u64 = n};
}

#endif
