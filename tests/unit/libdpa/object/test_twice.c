/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_twice.c - every destroy function, called twice; and with an object of another type. */
#include "host.h"
#include <doca_argp.h>
#include <doca_buf.h>
#include <doca_buf_array.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include <doca_sync_event.h>

/* Return a pointer that the compiler cannot trace: it need not warn of intended misuse. */
static void *launder(void *p)
{
	void *volatile q = p;

	return q;
}

/* `make` sets p; an object of another type is an engine, or for an engine a map. */
#define TWICE(name, type, make, destroy)                                                           \
	Test(libdpa_twice, name)                                                                   \
	{                                                                                          \
		struct type *p = NULL;                                                             \
		struct doca_mmap *other;                                                           \
		struct rig r;                                                                      \
		void *stale;                                                                       \
                                                                                                   \
		rig_start(&r);                                                                     \
		OK(doca_mmap_create(&other));                                                      \
		make;                                                                              \
		stale = launder(p);                                                                \
		if (!__builtin_types_compatible_p(struct type, struct doca_mmap))                  \
			IS(destroy(launder(other)), INVALID_VALUE);                                \
		IS(destroy(launder(&r)), INVALID_VALUE);                                           \
		IS(destroy(NULL), INVALID_VALUE);                                                  \
		OK(destroy(p));                                                                    \
		IS(destroy(stale), INVALID_VALUE);                                                 \
		OK(doca_mmap_destroy(other));                                                      \
		rig_destroy(&r);                                                                   \
	}

static void make_qp(struct rig *r, struct dpa_qp **qp)
{
	struct ibv_context *ctx;

	OK(dpa_dev_get_ibv_context(r->dev, &ctx));
	OK(dpa_qp_export(r->dpa, fake_qp(ctx), qp));
}

TWICE(thread, doca_dpa_thread, OK(doca_dpa_thread_create(r.dpa, &p)), doca_dpa_thread_destroy)
TWICE(thread_group, doca_dpa_tg, OK(doca_dpa_thread_group_create(r.dpa, 2, &p)),
      doca_dpa_thread_group_destroy)
TWICE(completion, doca_dpa_completion, OK(doca_dpa_completion_create(r.dpa, 4, &p)),
      doca_dpa_completion_destroy)
TWICE(async_ops, doca_dpa_async_ops, OK(doca_dpa_async_ops_create(r.dpa, 4, 0, &p)),
      doca_dpa_async_ops_destroy)
TWICE(affinity, doca_dpa_eu_affinity, OK(doca_dpa_eu_affinity_create(r.dpa, &p)),
      doca_dpa_eu_affinity_destroy)
TWICE(hash_table, doca_dpa_hash_table, OK(doca_dpa_hash_table_create(r.dpa, 4, &p)),
      doca_dpa_hash_table_destroy)
TWICE(qp, dpa_qp, make_qp(&r, &p), dpa_qp_unexport)
TWICE(mmap, doca_mmap, OK(doca_mmap_create(&p)), doca_mmap_destroy)
TWICE(buf_arr, doca_buf_arr, OK(doca_buf_arr_create(3, &p)), doca_buf_arr_destroy)
TWICE(inventory, doca_buf_inventory, OK(doca_buf_inventory_create(3, &p)),
      doca_buf_inventory_destroy)
TWICE(event, doca_sync_event, OK(doca_sync_event_create(&p)), doca_sync_event_destroy)
TWICE(engine, doca_pe, OK(doca_pe_create(&p)), doca_pe_destroy)
TWICE(rdma, doca_rdma, OK(doca_rdma_create(r.dev, &p)), doca_rdma_destroy)

/* Objects that need more than a line. */

Test(libdpa_twice, notification)
{
	struct doca_dpa_notification_completion *n;
	struct doca_dpa_thread *t;
	struct rig r;
	void *stale;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &t));
	OK(doca_dpa_notification_completion_create(r.dpa, t, &n));
	stale = launder(n);
	IS(doca_dpa_notification_completion_destroy(launder(t)), INVALID_VALUE);
	OK(doca_dpa_notification_completion_destroy(n));
	IS(doca_dpa_notification_completion_destroy(stale), INVALID_VALUE);
	OK(doca_dpa_thread_destroy(t));
	rig_destroy(&r);
}

Test(libdpa_twice, context_and_device)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_dpa *dpa;
	void *stale;

	OK(doca_dpa_create(dev, &dpa));
	stale = launder(dpa);
	IS(doca_dpa_destroy(launder(dev)), INVALID_VALUE);
	OK(doca_dpa_destroy(dpa));
	IS(doca_dpa_destroy(stale), INVALID_VALUE);
	stale = launder(dev);
	IS(doca_dev_close(launder(dpa)), INVALID_VALUE);
	OK(doca_dev_close(dev));
	IS(doca_dev_close(stale), INVALID_VALUE);
	cr_assert_eq(fake_opens(), 0);
}

/* The context's memory is kept for its remaining objects; its pointer is invalid. */
Test(libdpa_twice, context_that_leaves_children)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_dpa_thread *t;
	struct doca_dpa *dpa;
	void *stale;

	OK(doca_dpa_create(dev, &dpa));
	OK(doca_dpa_thread_create(dpa, &t));
	stale = launder(dpa);
	OK(doca_dpa_destroy(dpa));
	IS(doca_dpa_destroy(stale), INVALID_VALUE);
	IS(doca_dpa_thread_create(stale, &t), INVALID_VALUE);
	IS(doca_dpa_thread_destroy(t), BAD_STATE);
	IS(doca_dpa_thread_destroy(launder(t)), INVALID_VALUE);
	OK(doca_dev_close(dev));
}

Test(libdpa_twice, extended_context)
{
	struct doca_dpa *extended;
	struct rig r;
	void *stale;

	rig_start(&r);
	OK(doca_dpa_device_extend(r.dpa, r.dev, &extended));
	stale = launder(extended);
	OK(doca_dpa_destroy(extended));
	IS(doca_dpa_destroy(stale), INVALID_VALUE);
	rig_destroy(&r);
}

/* A thread that a completion context still uses is destroyed for the user. */
Test(libdpa_twice, thread_that_is_named)
{
	struct doca_dpa_completion *c;
	struct doca_dpa_thread *t;
	struct rig r;
	void *stale;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &t));
	OK(doca_dpa_completion_create(r.dpa, 4, &c));
	OK(doca_dpa_completion_set_thread(c, t));
	stale = launder(t);
	OK(doca_dpa_thread_destroy(t));
	IS(doca_dpa_thread_destroy(stale), INVALID_VALUE);
	IS(doca_dpa_thread_run(stale), INVALID_VALUE);
	OK(doca_dpa_completion_destroy(c));
	rig_destroy(&r);
}

Test(libdpa_twice, list_of_devices)
{
	struct doca_devinfo **list, *element;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	uint32_t n;
	void *stale;

	OK(doca_devinfo_create_list(&list, &n));
	element = list[0];
	stale = launder(list);
	IS(doca_devinfo_destroy_list(launder(element)), INVALID_VALUE);
	OK(doca_devinfo_destroy_list(list));
	IS(doca_devinfo_destroy_list(stale), INVALID_VALUE);
	IS(doca_devinfo_get_ibdev_name(element, name, sizeof(name)), INVALID_VALUE);
}

Test(libdpa_twice, parameters_and_commands)
{
	struct doca_argp_param *param;
	struct doca_argp_cmd *cmd;
	void *stale;

	OK(doca_argp_init("x", NULL));
	OK(doca_argp_param_create(&param));
	stale = launder(param);
	IS(doca_argp_cmd_destroy(launder(param)), INVALID_VALUE);
	OK(doca_argp_param_destroy(param));
	IS(doca_argp_param_destroy(stale), INVALID_VALUE);
	OK(doca_argp_cmd_create(&cmd));
	stale = launder(cmd);
	OK(doca_argp_cmd_destroy(cmd));
	IS(doca_argp_cmd_destroy(stale), INVALID_VALUE);
	IS(doca_argp_register_cmd(stale), INVALID_VALUE);
	OK(doca_argp_destroy());
	IS(doca_argp_destroy(), BAD_STATE);
}

Test(libdpa_twice, remote_event)
{
	struct doca_sync_event_remote_net *remote;
	struct doca_sync_event *se;
	const uint8_t *blob;
	struct rig r;
	size_t size;
	void *stale;

	rig_start(&r);
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	OK(doca_sync_event_add_subscriber_location_cpu(se, r.dev));
	OK(doca_sync_event_start(se));
	OK(doca_sync_event_export_to_remote_net(se, &blob, &size));
	OK(doca_sync_event_remote_net_create_from_export(r.dev, blob, size, &remote));
	stale = launder(remote);
	IS(doca_sync_event_remote_net_destroy(launder(se)), INVALID_VALUE);
	OK(doca_sync_event_remote_net_destroy(remote));
	IS(doca_sync_event_remote_net_destroy(stale), INVALID_VALUE);
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

/* A returned buf belongs to the pool: no call accepts it. */
Test(libdpa_twice, buf)
{
	struct doca_buf_inventory *inv;
	struct doca_buf *a, *b;
	struct doca_mmap *map;
	char mem[64];
	struct rig r;
	uint16_t refs;
	uint32_t n;
	void *p;

	rig_start(&r);
	OK(doca_mmap_create(&map));
	OK(doca_mmap_set_memrange(map, mem, sizeof(mem)));
	OK(doca_mmap_add_dev(map, r.dev));
	OK(doca_mmap_start(map));
	OK(doca_buf_inventory_create(100, &inv)); /* of more than one page */
	OK(doca_buf_inventory_start(inv));
	OK(doca_buf_inventory_buf_get_by_addr(inv, map, mem, 8, &a));
	OK(doca_buf_inventory_buf_get_by_addr(inv, map, mem, 8, &b));
	OK(doca_buf_dec_refcount(a, &refs));
	cr_assert_eq(refs, 0);
	IS(doca_buf_dec_refcount(a, NULL), BAD_STATE);
	IS(doca_buf_inc_refcount(a, NULL), NOT_PERMITTED);
	OK(doca_buf_get_refcount(a, &refs));
	cr_assert_eq(refs, 0);
	IS(doca_buf_get_data(a, &p), INVALID_VALUE);
	IS(doca_buf_set_data_len(a, 1), INVALID_VALUE);
	IS(doca_buf_chain_list(b, a), INVALID_VALUE);
	IS(doca_buf_chain_list(a, b), INVALID_VALUE);
	IS(doca_buf_get_data(launder((char *)b + 1), &p), INVALID_VALUE);
	IS(doca_buf_get_data(launder(mem), &p), INVALID_VALUE);
	OK(doca_buf_inventory_get_num_free_elements(inv, &n));
	cr_assert_eq(n, 99);
	OK(doca_buf_dec_refcount(b, NULL));
	OK(doca_buf_inventory_destroy(inv));
	IS(doca_buf_dec_refcount(b, NULL), INVALID_VALUE);
	IS(doca_buf_get_refcount(b, &refs), INVALID_VALUE);
	OK(doca_mmap_destroy(map));
	rig_destroy(&r);
}

/* A task, and its context: of a sync event. */
static void on_get(struct doca_sync_event_task_get *task, union doca_data d, union doca_data ctx)
{
	(void)task;
	(void)ctx;
	++*(int *)d.ptr;
}

Test(libdpa_twice, task_and_context)
{
	struct doca_sync_event_task_get *get;
	union doca_data d = {.u64 = 1};
	enum doca_ctx_states state;
	struct doca_sync_event *se;
	struct doca_task *task;
	struct doca_ctx *ctx;
	struct doca_pe *pe;
	struct rig r;
	uint64_t out;
	int calls = 0;

	rig_start(&r);
	OK(doca_pe_create(&pe));
	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, r.dev));
	OK(doca_sync_event_add_subscriber_location_cpu(se, r.dev));
	OK(doca_sync_event_task_get_set_conf(se, on_get, on_get, 1));
	ctx = doca_sync_event_as_ctx(se);
	OK(doca_pe_connect_ctx(pe, ctx));
	OK(doca_ctx_start(ctx));
	d.ptr = &calls;
	OK(doca_sync_event_task_get_alloc_init(se, &out, d, &get));
	task = doca_sync_event_task_get_as_doca_task(get);
	cr_assert_null(doca_sync_event_task_wait_eq_as_doca_task(launder(get)));
	OK(doca_task_submit(task));
	while (!calls)
		doca_pe_progress(pe);
	doca_task_free(task);
	doca_task_free(task);
	IS(doca_task_submit(task), INVALID_VALUE);
	IS(doca_task_get_status(task), INVALID_VALUE);
	cr_assert_null(doca_task_get_ctx(task));
	cr_assert_eq(doca_task_get_user_data(task).u64, 0);
	doca_task_set_user_data(task, d);
	cr_assert_null(doca_sync_event_task_get_as_doca_task(launder(get)));
	OK(doca_ctx_stop(ctx));
	OK(doca_sync_event_destroy(se));
	IS(doca_ctx_start(ctx), INVALID_VALUE);
	IS(doca_ctx_stop(ctx), INVALID_VALUE);
	IS(doca_ctx_get_state(ctx, &state), INVALID_VALUE);
	IS(doca_pe_connect_ctx(pe, ctx), INVALID_VALUE);
	doca_ctx_flush_tasks(ctx);
	OK(doca_pe_destroy(pe));
	cr_assert_eq(doca_pe_progress(launder(pe)), 0);
	rig_destroy(&r);
}
