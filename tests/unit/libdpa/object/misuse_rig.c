/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <criterion/criterion.h>
#include "misuse_headers.h"
#include "misuse_rig.h"

#define OK(call)                                                                                   \
	do {                                                                                       \
		doca_error_t ret_ = (call);                                                        \
		cr_assert_eq(ret_, DOCA_SUCCESS, #call ": %s", doca_error_get_name(ret_));         \
	} while (0)
#include "../open_dev.h"

enum { MAX_OBJECTS = 64 };

extern struct doca_dpa_app *test_app;

static struct misuse_object objects[MAX_OBJECTS + 1];
static int num_objects;
static _Alignas(64) char memory[8192];
static const union doca_data none = {.u64 = 0};

const struct misuse_object *misuse_objects(void)
{
	return objects;
}

void *misuse_object(const char *type)
{
	for (int i = 0; i < num_objects; i++)
		if (!strcmp(objects[i].type, type))
			return objects[i].object;
	return NULL;
}

static void put(const char *type, void *object)
{
	cr_assert(object && num_objects < MAX_OBJECTS, "%s", type);
	objects[num_objects++] = (struct misuse_object){type, object};
}
#define PUT(type, object) put(#type, (struct type *)(object))

static struct {
	struct doca_dev *dev;
	struct doca_devinfo_rep **reps;
	struct doca_dev_rep *rep;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread;
	struct doca_dpa_tg *group;
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *async;
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_eu_affinity *affinity;
	struct doca_dpa_hash_table *table;
	struct doca_mmap *map, *far;
	struct doca_buf_arr *arr;
	struct doca_buf_inventory *inventory;
	struct doca_buf *buf, *far_buf;
	struct doca_sync_event *event;
	struct doca_sync_event_remote_net *remote;
	struct doca_rdma *rdma;
	struct doca_rdma_addr *addr;
	struct doca_pe *pe;
	struct doca_dma *dma;
	struct doca_graph *graph;
	struct doca_graph_instance *instance;
	struct doca_mmap_advise *advise;
	struct doca_clock *clock;
	struct doca_telemetry_pcc *telemetry;
	struct doca_pcc *pcc;
	struct doca_argp_param *param;
	struct doca_argp_cmd *cmd;
	struct doca_task *tasks[16];
	int num_tasks;
} o;

static void nothing(void)
{
}

/* ------------------------------------------------------------- devices, DPA, memory */

static void make_devices(void)
{
	uint32_t n;

	o.dev = open_dev("dpa0");
	PUT(doca_dev, o.dev);
	PUT(doca_devinfo, doca_dev_as_devinfo(o.dev));
	OK(doca_devinfo_rep_create_list(o.dev, DOCA_DEVINFO_REP_FILTER_ALL, &o.reps, &n));
	cr_assert_eq(n, 1);
	OK(doca_dev_rep_open(o.reps[0], &o.rep));
	PUT(doca_dev_rep, o.rep);
	PUT(doca_devinfo_rep, o.reps[0]);
	OK(doca_clock_create(o.dev, &o.clock));
	PUT(doca_clock, o.clock);
	OK(doca_telemetry_pcc_create(o.dev, &o.telemetry));
	PUT(doca_telemetry_pcc, o.telemetry);
	OK(doca_pcc_create(o.dev, &o.pcc));
	PUT(doca_pcc, o.pcc);
}

static void make_dpa(void)
{
	OK(doca_dpa_create(o.dev, &o.dpa));
	OK(doca_dpa_set_app(o.dpa, test_app));
	OK(doca_dpa_start(o.dpa));
	PUT(doca_dpa, o.dpa);
	OK(doca_dpa_thread_create(o.dpa, &o.thread));
	PUT(doca_dpa_thread, o.thread);
	OK(doca_dpa_thread_group_create(o.dpa, 2, &o.group));
	PUT(doca_dpa_tg, o.group);
	OK(doca_dpa_completion_create(o.dpa, 4, &o.comp));
	PUT(doca_dpa_completion, o.comp);
	OK(doca_dpa_async_ops_create(o.dpa, 4, 0, &o.async));
	PUT(doca_dpa_async_ops, o.async);
	OK(doca_dpa_notification_completion_create(o.dpa, o.thread, &o.notify));
	PUT(doca_dpa_notification_completion, o.notify);
	OK(doca_dpa_eu_affinity_create(o.dpa, &o.affinity));
	PUT(doca_dpa_eu_affinity, o.affinity);
	OK(doca_dpa_hash_table_create(o.dpa, 4, &o.table));
	PUT(doca_dpa_hash_table, o.table);
}

static void make_memory(void)
{
	const uint32_t access = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
				DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC;
	const void *blob;
	size_t len;

	OK(doca_mmap_create(&o.map));
	OK(doca_mmap_set_permissions(o.map, access));
	OK(doca_mmap_set_memrange(o.map, memory, sizeof(memory)));
	OK(doca_mmap_add_dev(o.map, o.dev));
	OK(doca_mmap_start(o.map));
	PUT(doca_mmap, o.map);
	OK(doca_mmap_export_rdma(o.map, o.dev, &blob, &len));
	OK(doca_mmap_create_from_export(NULL, blob, len, o.dev, &o.far));
	OK(doca_buf_arr_create(4, &o.arr));
	PUT(doca_buf_arr, o.arr);
	OK(doca_buf_inventory_create(8, &o.inventory));
	OK(doca_buf_inventory_start(o.inventory));
	PUT(doca_buf_inventory, o.inventory);
	OK(doca_buf_inventory_buf_get_by_data(o.inventory, o.map, memory, 8, &o.buf));
	PUT(doca_buf, o.buf);
	OK(doca_buf_inventory_buf_get_by_data(o.inventory, o.far, memory, 8, &o.far_buf));
}

/* ------------------------------------------------------------ contexts and their tasks */

static void put_task(const char *type, void *task, struct doca_task *as_task)
{
	put(type, task);
	o.tasks[o.num_tasks++] = as_task;
}

#define RDMA_TASK(kind, ...)                                                                       \
	do {                                                                                       \
		struct doca_rdma_task_##kind *t_;                                                  \
		OK(doca_rdma_task_##kind##_allocate_init(o.rdma, __VA_ARGS__, none, &t_));         \
		put_task("doca_rdma_task_" #kind, t_, doca_rdma_task_##kind##_as_task(t_));        \
	} while (0)
#define RDMA_CONF(kind)                                                                            \
	OK(doca_rdma_task_##kind##_set_conf(o.rdma, (void *)nothing, (void *)nothing, 1))

static void conf_rdma(void)
{
	RDMA_CONF(receive);
	RDMA_CONF(send);
	RDMA_CONF(send_imm);
	RDMA_CONF(read);
	RDMA_CONF(write);
	RDMA_CONF(write_imm);
	RDMA_CONF(atomic_cmp_swp);
	RDMA_CONF(atomic_fetch_add);
	RDMA_CONF(remote_net_sync_event_get);
	RDMA_CONF(remote_net_sync_event_notify_set);
	RDMA_CONF(remote_net_sync_event_notify_add);
}

static void make_rdma_tasks(struct doca_rdma_connection *c)
{
	RDMA_TASK(receive, o.buf);
	RDMA_TASK(send, c, o.buf);
	RDMA_TASK(send_imm, c, o.buf, 1);
	RDMA_TASK(read, c, o.far_buf, o.buf);
	RDMA_TASK(write, c, o.buf, o.far_buf);
	RDMA_TASK(write_imm, c, o.buf, o.far_buf, 1);
	RDMA_TASK(atomic_cmp_swp, c, o.far_buf, o.buf, 1, 2);
	RDMA_TASK(atomic_fetch_add, c, o.far_buf, o.buf, 1);
	RDMA_TASK(remote_net_sync_event_get, c, o.remote, o.buf);
	RDMA_TASK(remote_net_sync_event_notify_set, c, o.remote, o.buf);
	RDMA_TASK(remote_net_sync_event_notify_add, c, o.remote, o.buf, 1);
	put("doca_task", o.tasks[1]);
}

static void make_event(void)
{
	const uint8_t *blob;
	size_t len;

	OK(doca_sync_event_create(&o.event));
	OK(doca_sync_event_add_publisher_location_remote_net(o.event));
	OK(doca_sync_event_add_publisher_location_cpu(o.event, o.dev));
	OK(doca_sync_event_add_subscriber_location_cpu(o.event, o.dev));
	OK(doca_sync_event_start(o.event));
	PUT(doca_sync_event, o.event);
	OK(doca_sync_event_export_to_remote_net(o.event, &blob, &len));
	OK(doca_sync_event_remote_net_create_from_export(o.dev, blob, len, &o.remote));
	PUT(doca_sync_event_remote_net, o.remote);
}

static void make_rdma(void)
{
	struct doca_rdma_connection *c;
	const void *blob;
	size_t len;

	make_event();
	OK(doca_pe_create(&o.pe));
	PUT(doca_pe, o.pe);
	OK(doca_rdma_create(o.dev, &o.rdma));
	PUT(doca_rdma, o.rdma);
	PUT(doca_ctx, doca_rdma_as_ctx(o.rdma));
	OK(doca_rdma_set_grh_enabled(o.rdma, 1));
	conf_rdma();
	OK(doca_pe_connect_ctx(o.pe, doca_rdma_as_ctx(o.rdma)));
	OK(doca_ctx_start(doca_rdma_as_ctx(o.rdma)));
	OK(doca_rdma_export(o.rdma, &blob, &len, &c));
	PUT(doca_rdma_connection, c);
	OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", 1, &o.addr));
	PUT(doca_rdma_addr, o.addr);
	make_rdma_tasks(c);
}

static void make_copies(void)
{
	struct doca_mmap_advise_task_invalidate_cache *invalidate;
	struct doca_dma_task_memcpy *copy;

	OK(doca_dma_create(o.dev, &o.dma));
	PUT(doca_dma, o.dma);
	OK(doca_dma_task_memcpy_set_conf(o.dma, (void *)nothing, (void *)nothing, 1));
	OK(doca_pe_connect_ctx(o.pe, doca_dma_as_ctx(o.dma)));
	OK(doca_ctx_start(doca_dma_as_ctx(o.dma)));
	OK(doca_dma_task_memcpy_alloc_init(o.dma, o.buf, o.buf, none, &copy));
	put_task("doca_dma_task_memcpy", copy, doca_dma_task_memcpy_as_task(copy));
	OK(doca_mmap_advise_create(o.dev, &o.advise));
	PUT(doca_mmap_advise, o.advise);
	OK(doca_mmap_advise_task_invalidate_cache_set_conf(o.advise, (void *)nothing,
							   (void *)nothing, 1));
	OK(doca_pe_connect_ctx(o.pe, doca_mmap_advise_as_ctx(o.advise)));
	OK(doca_ctx_start(doca_mmap_advise_as_ctx(o.advise)));
	OK(doca_mmap_advise_task_invalidate_cache_alloc_init(o.advise, o.buf, none, &invalidate));
	put_task("doca_mmap_advise_task_invalidate_cache", invalidate,
		 doca_mmap_advise_task_invalidate_cache_as_doca_task(invalidate));
}

static void make_graph(void)
{
	struct doca_graph_node *node;

	OK(doca_graph_create(o.pe, &o.graph));
	PUT(doca_graph, o.graph);
	OK(doca_graph_set_conf(o.graph, (void *)nothing, (void *)nothing, 1));
	OK(doca_graph_node_create_from_ctx(o.graph, doca_dma_as_ctx(o.dma), &node));
	PUT(doca_graph_node, node);
	OK(doca_graph_start(o.graph));
	OK(doca_graph_instance_create(o.graph, &o.instance));
	PUT(doca_graph_instance, o.instance);
}

static void make_arguments(void)
{
	OK(doca_argp_init("misuse", NULL));
	OK(doca_argp_param_create(&o.param));
	PUT(doca_argp_param, o.param);
	OK(doca_argp_cmd_create(&o.cmd));
	PUT(doca_argp_cmd, o.cmd);
}

void *misuse_fresh(const char *type)
{
	struct doca_argp_param *param;
	struct doca_argp_cmd *cmd;

	if (!strcmp(type, "doca_argp_param")) {
		OK(doca_argp_param_create(&param));
		return param;
	}
	cr_assert_str_eq(type, "doca_argp_cmd");
	OK(doca_argp_cmd_create(&cmd));
	return cmd;
}

void misuse_make(void)
{
	setenv("DPA_FUNCTIONS", "1", 1); /* one SF, so that a representor exists */
	make_devices();
	make_dpa();
	make_memory();
	make_rdma();
	make_copies();
	make_graph();
	make_arguments();
}

/* ------------------------------------------------------------------------- the end */

static void unmake_contexts(void)
{
	OK(doca_argp_cmd_destroy(o.cmd));
	OK(doca_argp_param_destroy(o.param));
	OK(doca_argp_destroy());
	OK(doca_graph_instance_destroy(o.instance));
	OK(doca_graph_stop(o.graph));
	OK(doca_graph_destroy(o.graph));
	for (int i = 0; i < o.num_tasks; i++)
		doca_task_free(o.tasks[i]);
	OK(doca_ctx_stop(doca_mmap_advise_as_ctx(o.advise)));
	OK(doca_mmap_advise_destroy(o.advise));
	OK(doca_ctx_stop(doca_dma_as_ctx(o.dma)));
	OK(doca_dma_destroy(o.dma));
	doca_ctx_stop(doca_rdma_as_ctx(o.rdma));
	while (doca_rdma_destroy(o.rdma) == DOCA_ERROR_IN_USE)
		doca_pe_progress(o.pe);
	OK(doca_rdma_addr_destroy(o.addr));
	OK(doca_pe_destroy(o.pe));
	OK(doca_sync_event_remote_net_destroy(o.remote));
	OK(doca_sync_event_destroy(o.event));
}

void misuse_unmake(void)
{
	unmake_contexts();
	OK(doca_buf_dec_refcount(o.far_buf, NULL));
	OK(doca_buf_dec_refcount(o.buf, NULL));
	OK(doca_buf_inventory_destroy(o.inventory));
	OK(doca_buf_arr_destroy(o.arr));
	OK(doca_mmap_destroy(o.far));
	OK(doca_mmap_destroy(o.map));
	OK(doca_dpa_hash_table_destroy(o.table));
	OK(doca_dpa_eu_affinity_destroy(o.affinity));
	OK(doca_dpa_notification_completion_destroy(o.notify));
	OK(doca_dpa_async_ops_destroy(o.async));
	OK(doca_dpa_completion_destroy(o.comp));
	OK(doca_dpa_thread_group_destroy(o.group));
	OK(doca_dpa_thread_destroy(o.thread));
	OK(doca_dpa_destroy(o.dpa));
	OK(doca_pcc_destroy(o.pcc));
	OK(doca_telemetry_pcc_destroy(o.telemetry));
	OK(doca_clock_destroy(o.clock));
	OK(doca_dev_rep_close(o.rep));
	OK(doca_devinfo_rep_destroy_list(o.reps));
	OK(doca_dev_close(o.dev));
}
