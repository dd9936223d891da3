/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* api.c - the public names of RDMA tasks: one type for each kind, with the same implementation. */
#include <assert.h>
#include "../rdma.h"

/* The functions that differ between kinds only in their names. */
#define TASK(name, which)                                                                          \
	struct doca_rdma_task_##name {                                                             \
		struct dpa_rdma_task t;                                                            \
	};                                                                                         \
	static bool is_##name(const struct doca_rdma_task_##name *task)                            \
	{                                                                                          \
		return dpa_obj_is(task, DPA_T_RDMA_TASK) && task->t.kind == which;                 \
	}                                                                                          \
	doca_error_t doca_rdma_cap_task_##name##_is_supported(const struct doca_devinfo *devinfo)  \
	{                                                                                          \
		return dpa_cap_if_dpa(devinfo);                                                    \
	}                                                                                          \
	doca_error_t doca_rdma_task_##name##_set_conf(                                             \
		struct doca_rdma *rdma,                                                            \
		doca_rdma_task_##name##_completion_cb_t successful_task_completion_cb,             \
		doca_rdma_task_##name##_completion_cb_t error_task_completion_cb,                  \
		uint32_t num_tasks)                                                                \
	{                                                                                          \
		return dpa_rdma_task_set_conf(                                                     \
			rdma, which, (dpa_rdma_task_fn *)successful_task_completion_cb,            \
			(dpa_rdma_task_fn *)error_task_completion_cb, num_tasks);                  \
	}                                                                                          \
	struct doca_task *doca_rdma_task_##name##_as_task(struct doca_rdma_task_##name *task)      \
	{                                                                                          \
		return is_##name(task) ? &task->t.task : NULL;                                     \
	}                                                                                          \
	static_assert(sizeof(struct doca_rdma_task_##name) == sizeof(struct dpa_rdma_task), "")

/* A field of a kind: its setter and its getter. */
#define FIELD(name, field, type, member)                                                           \
	void doca_rdma_task_##name##_set_##field(struct doca_rdma_task_##name *task, type value)   \
	{                                                                                          \
		if (is_##name(task))                                                               \
			task->t.member = value;                                                    \
	}                                                                                          \
	type doca_rdma_task_##name##_get_##field(const struct doca_rdma_task_##name *task)         \
	{                                                                                          \
		return is_##name(task) ? (type)task->t.member : (type)0;                           \
	}                                                                                          \
	static_assert(1, "")

#define CONNECTION(name)                                                                           \
	void doca_rdma_task_##name##_set_rdma_connection(                                          \
		struct doca_rdma_task_##name *task, struct doca_rdma_connection *rdma_connection)  \
	{                                                                                          \
		if (is_##name(task) && !task->t.task.inflight)                                     \
			task->t.conn = rdma_connection;                                            \
	}                                                                                          \
	const struct doca_rdma_connection *doca_rdma_task_##name##_get_rdma_connection(            \
		const struct doca_rdma_task_##name *task)                                          \
	{                                                                                          \
		return is_##name(task) ? task->t.conn : NULL;                                      \
	}                                                                                          \
	static_assert(1, "")

#define RESULT(name, field, type, member)                                                          \
	type doca_rdma_task_##name##_get_result_##field(const struct doca_rdma_task_##name *task)  \
	{                                                                                          \
		return is_##name(task) ? task->t.member : (type)0;                                 \
	}                                                                                          \
	static_assert(1, "")

/* The body of an allocate_init(): `set` sets the fields of *task. */
#define ALLOCATE(which, connection, set)                                                           \
	do {                                                                                       \
		struct dpa_rdma_task *t_ = NULL;                                                   \
		doca_error_t ret_ =                                                                \
			!task ? DOCA_ERROR_INVALID_VALUE                                           \
			      : dpa_rdma_task_new(rdma, which, connection, user_data, &t_);        \
		if (ret_)                                                                          \
			return ret_;                                                               \
		*task = (void *)t_;                                                                \
		set;                                                                               \
		return DOCA_SUCCESS;                                                               \
	} while (0)

typedef const struct doca_buf *const_buf;
typedef struct doca_buf *a_buf;
typedef struct doca_sync_event_remote_net *an_event;
typedef const struct doca_sync_event_remote_net *const_event;
typedef enum doca_rdma_opcode opcode;
typedef const struct doca_rdma_connection *const_connection;

/* ------------------------------------------------------------------- receive */

TASK(receive, RT_RECEIVE);
FIELD(receive, dst_buf, a_buf, dst);
RESULT(receive, opcode, opcode, opcode);
RESULT(receive, len, uint32_t, len);
RESULT(receive, immediate_data, doca_be32_t, result_imm);

/* a connection that has ended since has no owner */
const_connection
doca_rdma_task_receive_get_result_rdma_connection(const struct doca_rdma_task_receive *task)
{
	return is_receive(task) && dpa_live(task->t.from) ? task->t.from : NULL;
}

doca_error_t doca_rdma_task_receive_allocate_init(struct doca_rdma *rdma, struct doca_buf *dst_buf,
						  union doca_data user_data,
						  struct doca_rdma_task_receive **task)
{
	ALLOCATE(RT_RECEIVE, NULL, (*task)->t.dst = dst_buf);
}

doca_error_t
doca_rdma_cap_task_receive_get_max_dst_buf_list_len(const struct doca_devinfo *devinfo,
						    enum doca_rdma_transport_type transport_type,
						    uint32_t *max_buf_list_len)
{
	if (transport_type != DOCA_RDMA_TRANSPORT_TYPE_RC)
		return DOCA_ERROR_INVALID_VALUE;
	return doca_rdma_cap_get_max_send_buf_list_len(devinfo, max_buf_list_len);
}

/* ---------------------------------------------------------------------- send */

TASK(send, RT_SEND);
CONNECTION(send);
FIELD(send, src_buf, const_buf, src);

doca_error_t doca_rdma_task_send_allocate_init(struct doca_rdma *rdma,
					       struct doca_rdma_connection *rdma_connection,
					       const struct doca_buf *src_buf,
					       union doca_data user_data,
					       struct doca_rdma_task_send **task)
{
	ALLOCATE(RT_SEND, rdma_connection, (*task)->t.src = src_buf);
}

TASK(send_imm, RT_SEND_IMM);
CONNECTION(send_imm);
FIELD(send_imm, src_buf, const_buf, src);
FIELD(send_imm, immediate_data, doca_be32_t, imm);

doca_error_t doca_rdma_task_send_imm_allocate_init(struct doca_rdma *rdma,
						   struct doca_rdma_connection *rdma_connection,
						   const struct doca_buf *src_buf,
						   doca_be32_t immediate_data,
						   union doca_data user_data,
						   struct doca_rdma_task_send_imm **task)
{
	ALLOCATE(RT_SEND_IMM, rdma_connection,
		 ((*task)->t.src = src_buf, (*task)->t.imm = immediate_data));
}

/* ------------------------------------------------------------ read and write */

TASK(read, RT_READ);
CONNECTION(read);
FIELD(read, src_buf, const_buf, src);
FIELD(read, dst_buf, a_buf, dst);
RESULT(read, len, uint32_t, len);

doca_error_t doca_rdma_task_read_allocate_init(struct doca_rdma *rdma,
					       struct doca_rdma_connection *rdma_connection,
					       const struct doca_buf *src_buf,
					       struct doca_buf *dst_buf, union doca_data user_data,
					       struct doca_rdma_task_read **task)
{
	ALLOCATE(RT_READ, rdma_connection, ((*task)->t.src = src_buf, (*task)->t.dst = dst_buf));
}

TASK(write, RT_WRITE);
CONNECTION(write);
FIELD(write, src_buf, const_buf, src);
FIELD(write, dst_buf, a_buf, dst);

doca_error_t doca_rdma_task_write_allocate_init(struct doca_rdma *rdma,
						struct doca_rdma_connection *rdma_connection,
						const struct doca_buf *src_buf,
						struct doca_buf *dst_buf, union doca_data user_data,
						struct doca_rdma_task_write **task)
{
	ALLOCATE(RT_WRITE, rdma_connection, ((*task)->t.src = src_buf, (*task)->t.dst = dst_buf));
}

TASK(write_imm, RT_WRITE_IMM);
CONNECTION(write_imm);
FIELD(write_imm, src_buf, const_buf, src);
FIELD(write_imm, dst_buf, a_buf, dst);
FIELD(write_imm, immediate_data, doca_be32_t, imm);

doca_error_t doca_rdma_task_write_imm_allocate_init(
	struct doca_rdma *rdma, struct doca_rdma_connection *rdma_connection,
	const struct doca_buf *src_buf, struct doca_buf *dst_buf, doca_be32_t immediate_data,
	union doca_data user_data, struct doca_rdma_task_write_imm **task)
{
	ALLOCATE(RT_WRITE_IMM, rdma_connection,
		 ((*task)->t.src = src_buf, (*task)->t.dst = dst_buf,
		  (*task)->t.imm = immediate_data));
}

/* ------------------------------------------------------------------- atomics */

TASK(atomic_cmp_swp, RT_CMP_SWP);
CONNECTION(atomic_cmp_swp);
FIELD(atomic_cmp_swp, dst_buf, a_buf, dst);
FIELD(atomic_cmp_swp, result_buf, a_buf, result);
FIELD(atomic_cmp_swp, cmp_data, uint64_t, compare);
FIELD(atomic_cmp_swp, swap_data, uint64_t, value);

doca_error_t doca_rdma_task_atomic_cmp_swp_allocate_init(
	struct doca_rdma *rdma, struct doca_rdma_connection *rdma_connection,
	struct doca_buf *dst_buf, struct doca_buf *result_buf, uint64_t cmp_data,
	uint64_t swap_data, union doca_data user_data, struct doca_rdma_task_atomic_cmp_swp **task)
{
	ALLOCATE(RT_CMP_SWP, rdma_connection,
		 ((*task)->t.dst = dst_buf, (*task)->t.result = result_buf,
		  (*task)->t.compare = cmp_data, (*task)->t.value = swap_data));
}

TASK(atomic_fetch_add, RT_FETCH_ADD);
CONNECTION(atomic_fetch_add);
FIELD(atomic_fetch_add, dst_buf, a_buf, dst);
FIELD(atomic_fetch_add, result_buf, a_buf, result);
FIELD(atomic_fetch_add, add_data, uint64_t, value);

doca_error_t doca_rdma_task_atomic_fetch_add_allocate_init(
	struct doca_rdma *rdma, struct doca_rdma_connection *rdma_connection,
	struct doca_buf *dst_buf, struct doca_buf *result_buf, uint64_t add_data,
	union doca_data user_data, struct doca_rdma_task_atomic_fetch_add **task)
{
	ALLOCATE(RT_FETCH_ADD, rdma_connection,
		 ((*task)->t.dst = dst_buf, (*task)->t.result = result_buf,
		  (*task)->t.value = add_data));
}

/* ------------------------------------------------------- sync events of peers */

TASK(remote_net_sync_event_get, RT_EVENT_GET);
CONNECTION(remote_net_sync_event_get);
FIELD(remote_net_sync_event_get, sync_event, const_event, event);
FIELD(remote_net_sync_event_get, dst_buf, a_buf, dst);
RESULT(remote_net_sync_event_get, len, uint32_t, len);

doca_error_t doca_rdma_task_remote_net_sync_event_get_allocate_init(
	struct doca_rdma *rdma, struct doca_rdma_connection *rdma_connection,
	const struct doca_sync_event_remote_net *event, struct doca_buf *dst_buf,
	union doca_data user_data, struct doca_rdma_task_remote_net_sync_event_get **task)
{
	ALLOCATE(RT_EVENT_GET, rdma_connection,
		 ((*task)->t.event = event, (*task)->t.dst = dst_buf));
}

TASK(remote_net_sync_event_notify_set, RT_EVENT_SET);
CONNECTION(remote_net_sync_event_notify_set);
FIELD(remote_net_sync_event_notify_set, sync_event, an_event, event);
FIELD(remote_net_sync_event_notify_set, src_buf, const_buf, src);

doca_error_t doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(
	struct doca_rdma *rdma, struct doca_rdma_connection *rdma_connection,
	struct doca_sync_event_remote_net *event, const struct doca_buf *src_buf,
	union doca_data user_data, struct doca_rdma_task_remote_net_sync_event_notify_set **task)
{
	ALLOCATE(RT_EVENT_SET, rdma_connection,
		 ((*task)->t.event = event, (*task)->t.src = src_buf));
}

TASK(remote_net_sync_event_notify_add, RT_EVENT_ADD);
CONNECTION(remote_net_sync_event_notify_add);
FIELD(remote_net_sync_event_notify_add, sync_event, an_event, event);
FIELD(remote_net_sync_event_notify_add, result_buf, a_buf, result);
FIELD(remote_net_sync_event_notify_add, add_data, uint64_t, value);

doca_error_t doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(
	struct doca_rdma *rdma, struct doca_rdma_connection *rdma_connection,
	struct doca_sync_event_remote_net *event, struct doca_buf *result_buf, uint64_t add_data,
	union doca_data user_data, struct doca_rdma_task_remote_net_sync_event_notify_add **task)
{
	ALLOCATE(RT_EVENT_ADD, rdma_connection,
		 ((*task)->t.event = event, (*task)->t.result = result_buf,
		  (*task)->t.value = add_data));
}
