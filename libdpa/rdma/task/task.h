/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * task.h - the data path of the CPU: tasks, each a work request of a connection's queue pair or of
 * the context's shared receive queue. They end in doca_pe_progress(). Context: only the user's
 * thread.
 *
 * A connection's tasks end in the order in which they were submitted: the CQE of a task also
 * reports earlier tasks that requested no report of their own.
 */
#ifndef DPA_RDMA_TASK_H
#define DPA_RDMA_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <doca_rdma.h>
#include <infiniband/verbs.h>
#include "../../common/pe.h"

struct doca_buf;
struct doca_rdma;
struct doca_sync_event_remote_net;

enum dpa_rdma_kind {
	RT_RECEIVE,
	RT_SEND,
	RT_SEND_IMM,
	RT_READ,
	RT_WRITE,
	RT_WRITE_IMM,
	RT_CMP_SWP,
	RT_FETCH_ADD,
	RT_EVENT_GET,
	RT_EVENT_SET,
	RT_EVENT_ADD,
	RT_KINDS,
};

struct dpa_rdma_task {
	struct doca_task task;	/* first member: at the same address */
	struct doca_rdma *rdma; /* its memory is referenced */
	enum dpa_rdma_kind kind;
	struct doca_rdma_connection *conn; /* all but RECEIVE */
	const struct doca_buf *src;
	struct doca_buf *dst; /* destination of the data; for atomics the peer's word */
	struct doca_buf *result;
	const struct doca_sync_event_remote_net *event;
	doca_be32_t imm;
	uint64_t value, compare;
	/* result, once it has ended */
	uint32_t len;
	enum doca_rdma_opcode opcode;
	doca_be32_t result_imm;
	const struct doca_rdma_connection *from;
	/* list while in flight: of the connection, or of the context's receives */
	struct dpa_rdma_task *next, **prev;
};

typedef void dpa_rdma_task_fn(struct dpa_rdma_task *task, union doca_data task_user_data,
			      union doca_data ctx_user_data);

/* Part of a doca_rdma. */
struct dpa_rdma_tasks {
	struct {
		dpa_rdma_task_fn *done, *failed;
		uint32_t max, used; /* tasks that may exist; tasks that exist */
	} conf[RT_KINDS];
	/* while started, on the CPU path */
	struct ibv_comp_channel *channel;
	struct dpa_rdma_task *receives;
	uint32_t room;	      /* of the CQ: number of tasks in flight */
	bool armed;	      /* the channel may have events */
	struct ibv_wc wc[16]; /* taken from the CQ by arm_rdma(), and not handled yet */
	int num_wc;
};

/* Set the configuration of a kind. Errors: as doca_rdma_task_send_set_conf(). */
doca_error_t dpa_rdma_task_set_conf(struct doca_rdma *rdma, enum dpa_rdma_kind kind,
				    dpa_rdma_task_fn *done, dpa_rdma_task_fn *failed, uint32_t num);
/* Allocate a task. Errors: as doca_rdma_task_send_allocate_init(). */
doca_error_t dpa_rdma_task_new(struct doca_rdma *rdma, enum dpa_rdma_kind kind,
			       struct doca_rdma_connection *conn, union doca_data user_data,
			       struct dpa_rdma_task **out);

/* Create the CQ and its channel. 0 or errno. */
int dpa_rdma_tasks_start(struct doca_rdma *rdma);
void dpa_rdma_tasks_stop(struct doca_rdma *rdma);
/* Run it. Returns whether a task has ended. */
bool dpa_rdma_tasks_progress(struct doca_rdma *rdma);
/* Let the channel report from now on. True: there is work already. */
bool dpa_rdma_tasks_arm(struct doca_rdma *rdma);
/* End all tasks in flight on a connection, within doca_pe_progress(). */
void dpa_rdma_tasks_flush(struct doca_rdma_connection *c);
/* Report the tasks that have ended so far, as doca_pe_progress() does; call it only from there. */
void dpa_rdma_tasks_drain(struct doca_rdma *r);
/* End all receives: no QP takes one any more. */
void dpa_rdma_tasks_cancel_receives(struct doca_rdma *rdma);

/* -------------------------------------------------------------------- post.c */

/* Make the work request of a task, and post it. Errors: as doca_task_submit(). */
doca_error_t dpa_rdma_post(struct dpa_rdma_task *t, bool report);
/* Record that data have arrived in the buffers of a task: set the lengths of the bufs. */
void dpa_rdma_filled(struct dpa_rdma_task *t, uint32_t len);

#endif
