/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_task_words.c - the same as test_task_words.c, of kinds that are about 8 bytes. */
#include "rig.h"

TestSuite(task_words, .timeout = 100);

static struct task_rig rig;
static struct doca_buf *x, *y;
static struct doca_sync_event_remote_net *event;

static void atomic_cmp_swp_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_atomic_cmp_swp *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_atomic_cmp_swp_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_atomic_cmp_swp_set_conf(NULL, (void *)number, (void *)number, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_cmp_swp_set_conf(r, (void *)number, (void *)number, 0),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_cmp_swp_set_conf(r, (void *)number, (void *)number, 1), BAD_STATE);
	IS(doca_rdma_task_atomic_cmp_swp_allocate_init(NULL, c, x, y, 1, 2, data, &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_cmp_swp_allocate_init(r, c, x, y, 1, 2, data, NULL),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_cmp_swp_allocate_init(r, NULL, x, y, 1, 2, data, &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_cmp_swp_allocate_init(r, rig.b.conn, x, y, 1, 2, data, &t),
	   INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_atomic_cmp_swp_allocate_init(r, c, x, y, 1, 2, data, &n[i]));
	IS(doca_rdma_task_atomic_cmp_swp_allocate_init(r, c, x, y, 1, 2, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_atomic_cmp_swp_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_atomic_cmp_swp_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_atomic_cmp_swp_as_task(NULL));
	cr_assert_null(doca_rdma_task_atomic_cmp_swp_as_task((void *)rig.a.rdma));
	doca_rdma_task_atomic_cmp_swp_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_dst_buf(t), y);
	doca_rdma_task_atomic_cmp_swp_set_dst_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_dst_buf(NULL), 0);
	doca_rdma_task_atomic_cmp_swp_set_result_buf(t, x);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_result_buf(t), x);
	doca_rdma_task_atomic_cmp_swp_set_result_buf(NULL, x);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_result_buf(NULL), 0);
	doca_rdma_task_atomic_cmp_swp_set_cmp_data(t, 6);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_cmp_data(t), 6);
	doca_rdma_task_atomic_cmp_swp_set_cmp_data(NULL, 6);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_cmp_data(NULL), 0);
	doca_rdma_task_atomic_cmp_swp_set_swap_data(t, 7);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_swap_data(t), 7);
	doca_rdma_task_atomic_cmp_swp_set_swap_data(NULL, 7);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_swap_data(NULL), 0);
	doca_rdma_task_atomic_cmp_swp_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_rdma_connection(t), NULL);
	doca_rdma_task_atomic_cmp_swp_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_result_buf(NULL), 0);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_atomic_cmp_swp_as_task(t));
	doca_rdma_task_atomic_cmp_swp_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_dst_buf(t), 0);
	doca_rdma_task_atomic_cmp_swp_set_result_buf(t, x);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_result_buf(t), 0);
	doca_rdma_task_atomic_cmp_swp_set_cmp_data(t, 6);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_cmp_data(t), 0);
	doca_rdma_task_atomic_cmp_swp_set_swap_data(t, 7);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_swap_data(t), 0);
	doca_rdma_task_atomic_cmp_swp_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_atomic_cmp_swp_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_atomic_cmp_swp_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_atomic_cmp_swp_is_supported(NULL), INVALID_VALUE);
}

static void atomic_fetch_add_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_atomic_fetch_add *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_atomic_fetch_add_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_atomic_fetch_add_set_conf(NULL, (void *)number, (void *)number, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_fetch_add_set_conf(r, (void *)number, (void *)number, 0),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_fetch_add_set_conf(r, (void *)number, (void *)number, 1),
	   BAD_STATE);
	IS(doca_rdma_task_atomic_fetch_add_allocate_init(NULL, c, x, y, 1, data, &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_fetch_add_allocate_init(r, c, x, y, 1, data, NULL), INVALID_VALUE);
	IS(doca_rdma_task_atomic_fetch_add_allocate_init(r, NULL, x, y, 1, data, &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_atomic_fetch_add_allocate_init(r, rig.b.conn, x, y, 1, data, &t),
	   INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_atomic_fetch_add_allocate_init(r, c, x, y, 1, data, &n[i]));
	IS(doca_rdma_task_atomic_fetch_add_allocate_init(r, c, x, y, 1, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_atomic_fetch_add_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_atomic_fetch_add_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_atomic_fetch_add_as_task(NULL));
	cr_assert_null(doca_rdma_task_atomic_fetch_add_as_task((void *)rig.a.rdma));
	doca_rdma_task_atomic_fetch_add_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_dst_buf(t), y);
	doca_rdma_task_atomic_fetch_add_set_dst_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_dst_buf(NULL), 0);
	doca_rdma_task_atomic_fetch_add_set_result_buf(t, x);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_result_buf(t), x);
	doca_rdma_task_atomic_fetch_add_set_result_buf(NULL, x);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_result_buf(NULL), 0);
	doca_rdma_task_atomic_fetch_add_set_add_data(t, 8);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_add_data(t), 8);
	doca_rdma_task_atomic_fetch_add_set_add_data(NULL, 8);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_add_data(NULL), 0);
	doca_rdma_task_atomic_fetch_add_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_rdma_connection(t), NULL);
	doca_rdma_task_atomic_fetch_add_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_result_buf(NULL), 0);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_atomic_fetch_add_as_task(t));
	doca_rdma_task_atomic_fetch_add_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_dst_buf(t), 0);
	doca_rdma_task_atomic_fetch_add_set_result_buf(t, x);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_result_buf(t), 0);
	doca_rdma_task_atomic_fetch_add_set_add_data(t, 8);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_add_data(t), 0);
	doca_rdma_task_atomic_fetch_add_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_atomic_fetch_add_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_atomic_fetch_add_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_atomic_fetch_add_is_supported(NULL), INVALID_VALUE);
}

static void remote_net_sync_event_get_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_remote_net_sync_event_get *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_remote_net_sync_event_get_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_get_set_conf(NULL, (void *)number, (void *)number,
							     1),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_get_set_conf(r, (void *)number, (void *)number, 0),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_get_set_conf(r, (void *)number, (void *)number, 1),
	   BAD_STATE);
	IS(doca_rdma_task_remote_net_sync_event_get_allocate_init(NULL, c, event, x, data, &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_get_allocate_init(r, c, event, x, data, NULL),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_get_allocate_init(r, NULL, event, x, data, &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_get_allocate_init(r, rig.b.conn, event, x, data,
								  &t),
	   INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_remote_net_sync_event_get_allocate_init(r, c, event, x, data,
									  &n[i]));
	IS(doca_rdma_task_remote_net_sync_event_get_allocate_init(r, c, event, x, data, &t),
	   NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_remote_net_sync_event_get_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_remote_net_sync_event_get_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_remote_net_sync_event_get_as_task(NULL));
	cr_assert_null(doca_rdma_task_remote_net_sync_event_get_as_task((void *)rig.a.rdma));
	doca_rdma_task_remote_net_sync_event_get_set_sync_event(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_sync_event(t), NULL);
	doca_rdma_task_remote_net_sync_event_get_set_sync_event(NULL, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_sync_event(NULL), 0);
	doca_rdma_task_remote_net_sync_event_get_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_dst_buf(t), y);
	doca_rdma_task_remote_net_sync_event_get_set_dst_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_dst_buf(NULL), 0);
	doca_rdma_task_remote_net_sync_event_get_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_rdma_connection(t), NULL);
	doca_rdma_task_remote_net_sync_event_get_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_result_len(NULL), 0);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_remote_net_sync_event_get_as_task(t));
	doca_rdma_task_remote_net_sync_event_get_set_sync_event(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_sync_event(t), 0);
	doca_rdma_task_remote_net_sync_event_get_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_dst_buf(t), 0);
	doca_rdma_task_remote_net_sync_event_get_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_get_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_remote_net_sync_event_get_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_remote_net_sync_event_get_is_supported(NULL), INVALID_VALUE);
}

static void remote_net_sync_event_notify_set_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_remote_net_sync_event_notify_set *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_remote_net_sync_event_notify_set_set_conf(r, NULL, NULL, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_set_set_conf(NULL, (void *)number,
								    (void *)number, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_set_set_conf(r, (void *)number,
								    (void *)number, 0),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_set_set_conf(r, (void *)number,
								    (void *)number, 1),
	   BAD_STATE);
	IS(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(NULL, c, event, x, data,
									 &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(r, c, event, x, data,
									 NULL),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(r, NULL, event, x, data,
									 &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(r, rig.b.conn, event, x,
									 data, &t),
	   INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(r, c, event, x,
										 data, &n[i]));
	IS(doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(r, c, event, x, data, &t),
	   NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_remote_net_sync_event_notify_set_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_remote_net_sync_event_notify_set_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_remote_net_sync_event_notify_set_as_task(NULL));
	cr_assert_null(doca_rdma_task_remote_net_sync_event_notify_set_as_task((void *)rig.a.rdma));
	doca_rdma_task_remote_net_sync_event_notify_set_set_sync_event(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_sync_event(t), NULL);
	doca_rdma_task_remote_net_sync_event_notify_set_set_sync_event(NULL, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_sync_event(NULL), 0);
	doca_rdma_task_remote_net_sync_event_notify_set_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_rdma_connection(t), NULL);
	doca_rdma_task_remote_net_sync_event_notify_set_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_rdma_connection(NULL), 0);
	doca_rdma_task_remote_net_sync_event_notify_set_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_src_buf(t), y);
	doca_rdma_task_remote_net_sync_event_notify_set_set_src_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_src_buf(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_remote_net_sync_event_notify_set_as_task(t));
	doca_rdma_task_remote_net_sync_event_notify_set_set_sync_event(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_sync_event(t), 0);
	doca_rdma_task_remote_net_sync_event_notify_set_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_rdma_connection(t), 0);
	doca_rdma_task_remote_net_sync_event_notify_set_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_set_get_src_buf(t), 0);
	OK(doca_rdma_cap_task_remote_net_sync_event_notify_set_is_supported(
		doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_remote_net_sync_event_notify_set_is_supported(NULL), INVALID_VALUE);
}

static void remote_net_sync_event_notify_add_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_remote_net_sync_event_notify_add *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_remote_net_sync_event_notify_add_set_conf(r, NULL, NULL, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_add_set_conf(NULL, (void *)number,
								    (void *)number, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_add_set_conf(r, (void *)number,
								    (void *)number, 0),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_add_set_conf(r, (void *)number,
								    (void *)number, 1),
	   BAD_STATE);
	IS(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(NULL, c, event, x, 1, data,
									 &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(r, c, event, x, 1, data,
									 NULL),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(r, NULL, event, x, 1, data,
									 &t),
	   INVALID_VALUE);
	IS(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(r, rig.b.conn, event, x, 1,
									 data, &t),
	   INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(r, c, event, x, 1,
										 data, &n[i]));
	IS(doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(r, c, event, x, 1, data,
									 &t),
	   NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_remote_net_sync_event_notify_add_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_remote_net_sync_event_notify_add_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_remote_net_sync_event_notify_add_as_task(NULL));
	cr_assert_null(doca_rdma_task_remote_net_sync_event_notify_add_as_task((void *)rig.a.rdma));
	doca_rdma_task_remote_net_sync_event_notify_add_set_sync_event(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_sync_event(t), NULL);
	doca_rdma_task_remote_net_sync_event_notify_add_set_sync_event(NULL, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_sync_event(NULL), 0);
	doca_rdma_task_remote_net_sync_event_notify_add_set_result_buf(t, x);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_result_buf(t), x);
	doca_rdma_task_remote_net_sync_event_notify_add_set_result_buf(NULL, x);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_result_buf(NULL), 0);
	doca_rdma_task_remote_net_sync_event_notify_add_set_add_data(t, 8);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_add_data(t), 8);
	doca_rdma_task_remote_net_sync_event_notify_add_set_add_data(NULL, 8);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_add_data(NULL), 0);
	doca_rdma_task_remote_net_sync_event_notify_add_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_rdma_connection(t), NULL);
	doca_rdma_task_remote_net_sync_event_notify_add_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_result_buf(NULL), 0);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_remote_net_sync_event_notify_add_as_task(t));
	doca_rdma_task_remote_net_sync_event_notify_add_set_sync_event(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_sync_event(t), 0);
	doca_rdma_task_remote_net_sync_event_notify_add_set_result_buf(t, x);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_result_buf(t), 0);
	doca_rdma_task_remote_net_sync_event_notify_add_set_add_data(t, 8);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_add_data(t), 0);
	doca_rdma_task_remote_net_sync_event_notify_add_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_remote_net_sync_event_notify_add_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_remote_net_sync_event_notify_add_is_supported(
		doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_remote_net_sync_event_notify_add_is_supported(NULL), INVALID_VALUE);
}

Test(task_words, of_each_kind)
{
	struct doca_rdma_connection *c;
	struct doca_sync_event *se;
	const uint8_t *blob;
	struct doca_rdma *r;
	size_t size;

	task_rig_start(&rig, 0);
	r = rig.a.rdma;
	c = rig.a.conn;
	x = local_buf(&rig, &rig.a, 0, 8, 8);
	y = remote_buf(&rig, &rig.a, 0, 8, 8);
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	OK(doca_sync_event_add_subscriber_location_cpu(se, rig.dev));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &blob, &size));
	OK(doca_sync_event_remote_net_create_from_export(rig.dev, blob, size, &event));
	atomic_cmp_swp_of(r, c);
	atomic_fetch_add_of(r, c);
	remote_net_sync_event_get_of(r, c);
	remote_net_sync_event_notify_set_of(r, c);
	remote_net_sync_event_notify_add_of(r, c);
	OK(doca_sync_event_remote_net_destroy(event));
	OK(doca_sync_event_destroy(se));
	put_buf(x);
	put_buf(y);
	task_rig_stop(&rig);
}
