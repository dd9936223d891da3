/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_task_fields.c - settings, fields and refusals of each kind of task. */
#include "rig.h"

TestSuite(task_fields, .timeout = 100);

static struct task_rig rig;
static struct doca_buf *x, *y;

static void receive_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_receive *t, *n[TASKS];
	struct doca_task *task;

	(void)c;
	IS(doca_rdma_task_receive_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_receive_set_conf(NULL, (void *)number, (void *)number, 1), INVALID_VALUE);
	IS(doca_rdma_task_receive_set_conf(r, (void *)number, (void *)number, 0), INVALID_VALUE);
	IS(doca_rdma_task_receive_set_conf(r, (void *)number, (void *)number, 1), BAD_STATE);
	IS(doca_rdma_task_receive_allocate_init(NULL, x, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_receive_allocate_init(r, x, data, NULL), INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_receive_allocate_init(r, x, data, &n[i]));
	IS(doca_rdma_task_receive_allocate_init(r, x, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_receive_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_receive_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_receive_as_task(NULL));
	cr_assert_null(doca_rdma_task_receive_as_task((void *)rig.a.rdma));
	doca_rdma_task_receive_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_receive_get_dst_buf(t), y);
	doca_rdma_task_receive_set_dst_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_receive_get_dst_buf(NULL), 0);
	cr_assert_eq(doca_rdma_task_receive_get_result_opcode(NULL), 0);
	cr_assert_eq(doca_rdma_task_receive_get_result_len(NULL), 0);
	cr_assert_eq(doca_rdma_task_receive_get_result_immediate_data(NULL), 0);
	cr_assert_eq(doca_rdma_task_receive_get_result_rdma_connection(NULL), 0);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_receive_as_task(t));
	doca_rdma_task_receive_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_receive_get_dst_buf(t), 0);
	OK(doca_rdma_cap_task_receive_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_receive_is_supported(NULL), INVALID_VALUE);
}

static void send_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_send *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_send_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_send_set_conf(NULL, (void *)number, (void *)number, 1), INVALID_VALUE);
	IS(doca_rdma_task_send_set_conf(r, (void *)number, (void *)number, 0), INVALID_VALUE);
	IS(doca_rdma_task_send_set_conf(r, (void *)number, (void *)number, 1), BAD_STATE);
	IS(doca_rdma_task_send_allocate_init(NULL, c, x, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_send_allocate_init(r, c, x, data, NULL), INVALID_VALUE);
	IS(doca_rdma_task_send_allocate_init(r, NULL, x, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_send_allocate_init(r, rig.b.conn, x, data, &t), INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_send_allocate_init(r, c, x, data, &n[i]));
	IS(doca_rdma_task_send_allocate_init(r, c, x, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_send_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_send_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_send_as_task(NULL));
	cr_assert_null(doca_rdma_task_send_as_task((void *)rig.a.rdma));
	doca_rdma_task_send_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_send_get_src_buf(t), y);
	doca_rdma_task_send_set_src_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_send_get_src_buf(NULL), 0);
	doca_rdma_task_send_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_send_get_rdma_connection(t), NULL);
	doca_rdma_task_send_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_send_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_send_as_task(t));
	doca_rdma_task_send_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_send_get_src_buf(t), 0);
	doca_rdma_task_send_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_send_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_send_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_send_is_supported(NULL), INVALID_VALUE);
}

static void send_imm_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_send_imm *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_send_imm_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_send_imm_set_conf(NULL, (void *)number, (void *)number, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_send_imm_set_conf(r, (void *)number, (void *)number, 0), INVALID_VALUE);
	IS(doca_rdma_task_send_imm_set_conf(r, (void *)number, (void *)number, 1), BAD_STATE);
	IS(doca_rdma_task_send_imm_allocate_init(NULL, c, x, 1, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_send_imm_allocate_init(r, c, x, 1, data, NULL), INVALID_VALUE);
	IS(doca_rdma_task_send_imm_allocate_init(r, NULL, x, 1, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_send_imm_allocate_init(r, rig.b.conn, x, 1, data, &t), INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_send_imm_allocate_init(r, c, x, 1, data, &n[i]));
	IS(doca_rdma_task_send_imm_allocate_init(r, c, x, 1, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_send_imm_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_send_imm_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_send_imm_as_task(NULL));
	cr_assert_null(doca_rdma_task_send_imm_as_task((void *)rig.a.rdma));
	doca_rdma_task_send_imm_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_send_imm_get_src_buf(t), y);
	doca_rdma_task_send_imm_set_src_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_send_imm_get_src_buf(NULL), 0);
	doca_rdma_task_send_imm_set_immediate_data(t, 5);
	cr_assert_eq(doca_rdma_task_send_imm_get_immediate_data(t), 5);
	doca_rdma_task_send_imm_set_immediate_data(NULL, 5);
	cr_assert_eq(doca_rdma_task_send_imm_get_immediate_data(NULL), 0);
	doca_rdma_task_send_imm_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_send_imm_get_rdma_connection(t), NULL);
	doca_rdma_task_send_imm_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_send_imm_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_send_imm_as_task(t));
	doca_rdma_task_send_imm_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_send_imm_get_src_buf(t), 0);
	doca_rdma_task_send_imm_set_immediate_data(t, 5);
	cr_assert_eq(doca_rdma_task_send_imm_get_immediate_data(t), 0);
	doca_rdma_task_send_imm_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_send_imm_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_send_imm_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_send_imm_is_supported(NULL), INVALID_VALUE);
}

static void read_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_read *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_read_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_read_set_conf(NULL, (void *)number, (void *)number, 1), INVALID_VALUE);
	IS(doca_rdma_task_read_set_conf(r, (void *)number, (void *)number, 0), INVALID_VALUE);
	IS(doca_rdma_task_read_set_conf(r, (void *)number, (void *)number, 1), BAD_STATE);
	IS(doca_rdma_task_read_allocate_init(NULL, c, x, y, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_read_allocate_init(r, c, x, y, data, NULL), INVALID_VALUE);
	IS(doca_rdma_task_read_allocate_init(r, NULL, x, y, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_read_allocate_init(r, rig.b.conn, x, y, data, &t), INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_read_allocate_init(r, c, x, y, data, &n[i]));
	IS(doca_rdma_task_read_allocate_init(r, c, x, y, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_read_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_read_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_read_as_task(NULL));
	cr_assert_null(doca_rdma_task_read_as_task((void *)rig.a.rdma));
	doca_rdma_task_read_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_read_get_src_buf(t), y);
	doca_rdma_task_read_set_src_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_read_get_src_buf(NULL), 0);
	doca_rdma_task_read_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_read_get_dst_buf(t), y);
	doca_rdma_task_read_set_dst_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_read_get_dst_buf(NULL), 0);
	doca_rdma_task_read_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_read_get_rdma_connection(t), NULL);
	doca_rdma_task_read_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_read_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	cr_assert_eq(doca_rdma_task_read_get_result_len(NULL), 0);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_read_as_task(t));
	doca_rdma_task_read_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_read_get_src_buf(t), 0);
	doca_rdma_task_read_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_read_get_dst_buf(t), 0);
	doca_rdma_task_read_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_read_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_read_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_read_is_supported(NULL), INVALID_VALUE);
}

static void write_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_write *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_write_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_write_set_conf(NULL, (void *)number, (void *)number, 1), INVALID_VALUE);
	IS(doca_rdma_task_write_set_conf(r, (void *)number, (void *)number, 0), INVALID_VALUE);
	IS(doca_rdma_task_write_set_conf(r, (void *)number, (void *)number, 1), BAD_STATE);
	IS(doca_rdma_task_write_allocate_init(NULL, c, x, y, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_write_allocate_init(r, c, x, y, data, NULL), INVALID_VALUE);
	IS(doca_rdma_task_write_allocate_init(r, NULL, x, y, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_write_allocate_init(r, rig.b.conn, x, y, data, &t), INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_write_allocate_init(r, c, x, y, data, &n[i]));
	IS(doca_rdma_task_write_allocate_init(r, c, x, y, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_write_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_write_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_write_as_task(NULL));
	cr_assert_null(doca_rdma_task_write_as_task((void *)rig.a.rdma));
	doca_rdma_task_write_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_get_src_buf(t), y);
	doca_rdma_task_write_set_src_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_write_get_src_buf(NULL), 0);
	doca_rdma_task_write_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_get_dst_buf(t), y);
	doca_rdma_task_write_set_dst_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_write_get_dst_buf(NULL), 0);
	doca_rdma_task_write_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_write_get_rdma_connection(t), NULL);
	doca_rdma_task_write_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_write_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_write_as_task(t));
	doca_rdma_task_write_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_get_src_buf(t), 0);
	doca_rdma_task_write_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_get_dst_buf(t), 0);
	doca_rdma_task_write_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_write_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_write_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_write_is_supported(NULL), INVALID_VALUE);
}

static void write_imm_of(struct doca_rdma *r, struct doca_rdma_connection *c)
{
	union doca_data data = number(3);
	struct doca_rdma_task_write_imm *t, *n[TASKS];
	struct doca_task *task;

	IS(doca_rdma_task_write_imm_set_conf(r, NULL, NULL, 1), INVALID_VALUE);
	IS(doca_rdma_task_write_imm_set_conf(NULL, (void *)number, (void *)number, 1),
	   INVALID_VALUE);
	IS(doca_rdma_task_write_imm_set_conf(r, (void *)number, (void *)number, 0), INVALID_VALUE);
	IS(doca_rdma_task_write_imm_set_conf(r, (void *)number, (void *)number, 1), BAD_STATE);
	IS(doca_rdma_task_write_imm_allocate_init(NULL, c, x, y, 1, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_write_imm_allocate_init(r, c, x, y, 1, data, NULL), INVALID_VALUE);
	IS(doca_rdma_task_write_imm_allocate_init(r, NULL, x, y, 1, data, &t), INVALID_VALUE);
	IS(doca_rdma_task_write_imm_allocate_init(r, rig.b.conn, x, y, 1, data, &t), INVALID_VALUE);
	for (int i = 0; i < TASKS; i++)
		OK(doca_rdma_task_write_imm_allocate_init(r, c, x, y, 1, data, &n[i]));
	IS(doca_rdma_task_write_imm_allocate_init(r, c, x, y, 1, data, &t), NO_MEMORY);
	for (int i = 1; i < TASKS; i++)
		doca_task_free(doca_rdma_task_write_imm_as_task(n[i]));
	t = n[0];
	task = doca_rdma_task_write_imm_as_task(t);
	cr_assert_eq(doca_task_get_user_data(task).u64, 3);
	cr_assert_eq(doca_task_get_ctx(task), rig.a.ctx);
	cr_assert_null(doca_rdma_task_write_imm_as_task(NULL));
	cr_assert_null(doca_rdma_task_write_imm_as_task((void *)rig.a.rdma));
	doca_rdma_task_write_imm_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_imm_get_src_buf(t), y);
	doca_rdma_task_write_imm_set_src_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_write_imm_get_src_buf(NULL), 0);
	doca_rdma_task_write_imm_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_imm_get_dst_buf(t), y);
	doca_rdma_task_write_imm_set_dst_buf(NULL, y);
	cr_assert_eq(doca_rdma_task_write_imm_get_dst_buf(NULL), 0);
	doca_rdma_task_write_imm_set_immediate_data(t, 5);
	cr_assert_eq(doca_rdma_task_write_imm_get_immediate_data(t), 5);
	doca_rdma_task_write_imm_set_immediate_data(NULL, 5);
	cr_assert_eq(doca_rdma_task_write_imm_get_immediate_data(NULL), 0);
	doca_rdma_task_write_imm_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_write_imm_get_rdma_connection(t), NULL);
	doca_rdma_task_write_imm_set_rdma_connection(NULL, NULL);
	cr_assert_eq(doca_rdma_task_write_imm_get_rdma_connection(NULL), 0);
	IS(doca_task_submit(task), NOT_CONNECTED);
	doca_task_free(task);
	cr_assert_null(doca_rdma_task_write_imm_as_task(t));
	doca_rdma_task_write_imm_set_src_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_imm_get_src_buf(t), 0);
	doca_rdma_task_write_imm_set_dst_buf(t, y);
	cr_assert_eq(doca_rdma_task_write_imm_get_dst_buf(t), 0);
	doca_rdma_task_write_imm_set_immediate_data(t, 5);
	cr_assert_eq(doca_rdma_task_write_imm_get_immediate_data(t), 0);
	doca_rdma_task_write_imm_set_rdma_connection(t, NULL);
	cr_assert_eq(doca_rdma_task_write_imm_get_rdma_connection(t), 0);
	OK(doca_rdma_cap_task_write_imm_is_supported(doca_dev_as_devinfo(rig.dev)));
	IS(doca_rdma_cap_task_write_imm_is_supported(NULL), INVALID_VALUE);
}

Test(task_fields, of_each_kind)
{
	struct doca_rdma_connection *c;
	struct doca_rdma *r;

	task_rig_start(&rig, 0);
	r = rig.a.rdma;
	c = rig.a.conn;
	x = local_buf(&rig, &rig.a, 0, 8, 8);
	y = remote_buf(&rig, &rig.a, 0, 8, 8);
	receive_of(r, c);
	send_of(r, c);
	send_imm_of(r, c);
	read_of(r, c);
	write_of(r, c);
	write_imm_of(r, c);
	put_buf(x);
	put_buf(y);
	task_rig_stop(&rig);
}
