/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_memory.c - failed allocations of the host, and other exhausted resources: each allocation of
 * a call fails in turn. The linker redirects the library's calls of malloc() and similar functions
 * to this file.
 */
#include "host.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <doca_argp.h>
#include <doca_clock.h>
#include <doca_ctx.h>
#include <doca_dma.h>
#include <doca_gpunetio.h>
#include <doca_graph.h>
#include <doca_mmap_advise.h>
#include <doca_buf_array.h>
#include <doca_buf_inventory.h>
#include <doca_mmap.h>
#include <doca_pcc.h>
#include <doca_pe.h>
#include <doca_rdma.h>
#include <doca_rdma_bridge.h>
#include <doca_sync_event.h>
#include <doca_telemetry_pcc.h>

extern doca_dpa_func_t just_return;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **p, size_t align, size_t size);
char *__wrap_strdup(const char *s);

static _Thread_local int fail_at = -1; /* number of allocations until one fails; -1: none */

static bool fails(void)
{
	if (fail_at < 0 || fail_at-- > 0)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(align, size);
}

int __wrap_posix_memalign(void **p, size_t align, size_t size)
{
	return fails() ? ENOMEM : __real_posix_memalign(p, align, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

/* The first allocation fails, then the second one, until the call gets all of them. */
#define SHORT_OF(call, code)                                                                       \
	do {                                                                                       \
		doca_error_t ret_;                                                                 \
		int i_ = 0;                                                                        \
		for (;; i_++) {                                                                    \
			fail_at = i_;                                                              \
			ret_ = (call);                                                             \
			fail_at = -1;                                                              \
			if (ret_ == DOCA_SUCCESS)                                                  \
				break;                                                             \
			cr_assert_eq(ret_, DOCA_ERROR_##code);                                     \
		}                                                                                  \
		cr_assert_gt(i_, 0);                                                               \
	} while (0)

/* Only this allocation fails: later ones belong to the fake device. */
#define SHORT_AT(i, call, code)                                                                    \
	do {                                                                                       \
		fail_at = (i);                                                                     \
		IS(call, code);                                                                    \
		fail_at = -1;                                                                      \
	} while (0)

Test(libdpa_memory, devices)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	uint32_t n;

	SHORT_AT(1, doca_devinfo_create_list(&list, &n), NO_MEMORY); /* 0: the fake's list */
	SHORT_AT(2, doca_devinfo_create_list(&list, &n), NO_MEMORY);
	SHORT_AT(4, doca_devinfo_create_list(&list, &n), NO_MEMORY);
	OK(doca_devinfo_create_list(&list, &n));
	SHORT_AT(0, doca_dev_open(list[1], &dev), NO_MEMORY);
	OK(doca_devinfo_destroy_list(list));
	cr_assert_eq(fake_opens(), 0);
}

Test(libdpa_memory, representors)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_devinfo_rep **list;
	struct doca_dev_rep *rep;
	uint32_t n;

	SHORT_AT(1, doca_devinfo_rep_create_list(dev, 0, &list, &n), NO_MEMORY); /* of devices */
	SHORT_AT(5, doca_devinfo_rep_create_list(dev, 0, &list, &n), NO_MEMORY);
	SHORT_AT(6, doca_devinfo_rep_create_list(dev, 0, &list, &n), NO_MEMORY);
	OK(doca_devinfo_rep_create_list(dev, 0, &list, &n));
	SHORT_OF(doca_dev_rep_open(list[0], &rep), NO_MEMORY);
	OK(doca_dev_rep_close(rep));
	OK(doca_devinfo_rep_destroy_list(list));
	OK(doca_dev_close(dev));
}

static doca_error_t nothing(void *cookie)
{
	return DOCA_SUCCESS;
}

static void ended(struct doca_graph_instance *in, union doca_data own, union doca_data data)
{
}

static void advised(struct doca_mmap_advise_task_invalidate_cache *t, union doca_data task_data,
		    union doca_data data)
{
}

Test(libdpa_memory, graphs)
{
	struct doca_graph_node *a, *b, *c;
	struct doca_graph_instance *in;
	struct doca_graph *g, *around;
	struct doca_mmap_advise *advise;
	struct doca_mmap_advise_task_invalidate_cache *t;
	struct doca_dev *dev = open_dpa0();
	struct doca_telemetry_pcc *telemetry;
	struct doca_pcc *pcc;
	struct doca_clock *clk;
	struct doca_dma *dma;
	struct doca_ctx *ctx;
	struct doca_pe *pe;

	OK(doca_pe_create(&pe));
	SHORT_OF(doca_clock_create(dev, &clk), NO_MEMORY);
	SHORT_OF(doca_telemetry_pcc_create(dev, &telemetry), NO_MEMORY);
	OK(doca_telemetry_pcc_destroy(telemetry));
	SHORT_OF(doca_pcc_create(dev, &pcc), NO_MEMORY);
	OK(doca_pcc_destroy(pcc));
	SHORT_OF(doca_pcc_np_create(dev, &pcc), NO_MEMORY);
	OK(doca_pcc_destroy(pcc));
	SHORT_OF(doca_mmap_advise_create(dev, &advise), NO_MEMORY);
	SHORT_OF(doca_dma_create(dev, &dma), NO_MEMORY);
	OK(doca_dma_destroy(dma));
	ctx = doca_mmap_advise_as_ctx(advise);
	OK(doca_mmap_advise_task_invalidate_cache_set_conf(advise, advised, advised, 1));
	OK(doca_pe_connect_ctx(pe, ctx));
	OK(doca_ctx_start(ctx));
	SHORT_OF(doca_mmap_advise_task_invalidate_cache_alloc_init(advise, NULL,
								   (union doca_data){0}, &t),
		 NO_MEMORY);
	doca_task_free(doca_mmap_advise_task_invalidate_cache_as_doca_task(t));
	SHORT_OF(doca_graph_create(pe, &g), NO_MEMORY);
	OK(doca_graph_create(pe, &around));
	SHORT_OF(doca_graph_node_create_from_ctx(g, ctx, &a), NO_MEMORY);
	SHORT_OF(doca_graph_node_create_from_user(g, nothing, &b), NO_MEMORY);
	SHORT_OF(doca_graph_add_dependency(g, a, b), NO_MEMORY);
	OK(doca_graph_set_conf(g, ended, ended, 1));
	OK(doca_graph_start(g));
	SHORT_OF(doca_graph_node_create_from_graph(around, g, &c), NO_MEMORY);
	SHORT_OF(doca_graph_instance_create(g, &in), NO_MEMORY);
	OK(doca_graph_instance_destroy(in));
	OK(doca_graph_stop(g));
	OK(doca_graph_destroy(g));
	OK(doca_graph_destroy(around));
	OK(doca_ctx_stop(ctx));
	OK(doca_mmap_advise_destroy(advise));
	OK(doca_clock_destroy(clk));
	OK(doca_pe_destroy(pe));
	OK(doca_dev_close(dev));
}

Test(libdpa_memory, contexts)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_dpa *dpa, *extended;
	char path[] = "/tmp/test_memory_XXXXXX";

	SHORT_OF(doca_dpa_create(dev, &dpa), NO_MEMORY);
	OK(doca_dpa_set_app(dpa, test_app));
	close(mkstemp(path));
	SHORT_OF(doca_dpa_log_file_set_path(dpa, path), NO_MEMORY);
	SHORT_OF(doca_dpa_trace_file_set_path(dpa, path), NO_MEMORY);
	SHORT_AT(0, doca_dpa_start(dpa), NO_MEMORY);
	fake_fail_open();
	IS(doca_dpa_start(dpa), DRIVER);
	OK(doca_dpa_start(dpa));
	SHORT_OF(doca_dpa_device_extend(dpa, dev, &extended), NO_MEMORY);
	OK(doca_dpa_destroy(extended));
	OK(doca_dpa_destroy(dpa));
	OK(doca_dev_close(dev));
	unlink(path);
}

Test(libdpa_memory, children)
{
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_eu_affinity *affinity;
	struct doca_dpa_hash_table *table;
	struct doca_dpa_completion *comp;
	struct doca_dpa_async_ops *async;
	struct doca_dpa_thread *thread;
	struct doca_dpa_tg *group;
	struct rig r;
	uint64_t at;

	rig_start(&r);
	SHORT_OF(doca_dpa_thread_create(r.dpa, &thread), NO_MEMORY);
	SHORT_OF(doca_dpa_thread_group_create(r.dpa, 3, &group), NO_MEMORY);
	SHORT_OF(doca_dpa_completion_create(r.dpa, 4, &comp), NO_MEMORY);
	SHORT_OF(doca_dpa_async_ops_create(r.dpa, 4, 0, &async), NO_MEMORY);
	SHORT_OF(doca_dpa_notification_completion_create(r.dpa, thread, &notify), NO_MEMORY);
	SHORT_OF(doca_dpa_eu_affinity_create(r.dpa, &affinity), NO_MEMORY);
	SHORT_OF(doca_dpa_mem_alloc(r.dpa, 100, &at), DRIVER);
	SHORT_OF(doca_dpa_hash_table_create(r.dpa, 4, &table), DRIVER);
	OK(doca_dpa_mem_free(r.dpa, at));
	OK(doca_dpa_hash_table_destroy(table));
	OK(doca_dpa_eu_affinity_destroy(affinity));
	OK(doca_dpa_notification_completion_destroy(notify));
	OK(doca_dpa_async_ops_destroy(async));
	OK(doca_dpa_completion_destroy(comp));
	OK(doca_dpa_thread_group_destroy(group));
	OK(doca_dpa_thread_destroy(thread));
	rig_destroy(&r);
}

/* A context's table of handles has 4096 places. */
Test(libdpa_memory, handles)
{
	enum { MANY = 4096 };
	static struct doca_dpa_hash_table *tables[MANY];
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_completion *comp;
	struct doca_dpa_thread *thread;
	struct rig r;
	int n = 0;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &thread));
	OK(doca_dpa_thread_set_func_arg(thread, &just_return, 0));
	OK(doca_dpa_thread_start(thread));
	OK(doca_dpa_completion_create(r.dpa, 4, &comp));
	OK(doca_dpa_notification_completion_create(r.dpa, thread, &notify));
	while (n < MANY && doca_dpa_hash_table_create(r.dpa, 1, &tables[n]) == DOCA_SUCCESS)
		n++;
	cr_assert(n > 0 && n < MANY);
	IS(doca_dpa_completion_start(comp), DRIVER);
	IS(doca_dpa_notification_completion_start(notify), DRIVER);
	cr_assert_eq(fake_cqs(), 0);
	OK(doca_dpa_hash_table_destroy(tables[--n]));
	OK(doca_dpa_completion_start(comp));
	while (n)
		OK(doca_dpa_hash_table_destroy(tables[--n]));
	OK(doca_dpa_notification_completion_destroy(notify));
	OK(doca_dpa_completion_destroy(comp));
	OK(doca_dpa_thread_destroy(thread));
	rig_destroy(&r);
}

/* A CQ that the device does not release. */
Test(libdpa_memory, a_queue_that_stays)
{
	struct doca_dpa_completion *comp;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_completion_create(r.dpa, 4, &comp));
	OK(doca_dpa_completion_start(comp));
	fake_fail_destroy_cq(EIO);
	IS(doca_dpa_completion_stop(comp), DRIVER);
	IS(doca_dpa_completion_destroy(comp), DRIVER);
	IS(doca_dpa_destroy(r.dpa), DRIVER);
	fake_fail_destroy_cq(0);
	OK(doca_dpa_completion_destroy(comp));
	rig_destroy(&r);
}

Test(libdpa_memory, maps_and_bufs)
{
	struct doca_buf_inventory *inventory;
	struct doca_mmap *map, *other;
	struct doca_buf_arr *arr;
	static char memory[4096];
	const void *blob;
	struct doca_pe *pe;
	struct rig r;
	size_t size;

	rig_start(&r);
	SHORT_OF(doca_mmap_create(&map), NO_MEMORY);
	OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_RDMA_READ));
	OK(doca_mmap_set_memrange(map, memory, sizeof(memory)));
	SHORT_OF(doca_mmap_add_dev(map, r.dev), NO_MEMORY);
	OK(doca_mmap_start(map));
	SHORT_OF(doca_mmap_export_rdma(map, r.dev, &blob, &size), NO_MEMORY);
	SHORT_OF(doca_mmap_create_from_export(NULL, blob, size, r.dev, &other), NO_MEMORY);
	SHORT_OF(doca_buf_inventory_create(100, &inventory), NO_MEMORY);
	SHORT_OF(doca_buf_arr_create(4, &arr), NO_MEMORY);
	SHORT_OF(doca_pe_create(&pe), NO_MEMORY);
	OK(doca_pe_destroy(pe));
	OK(doca_buf_arr_destroy(arr));
	OK(doca_buf_inventory_destroy(inventory));
	OK(doca_mmap_destroy(other));
	OK(doca_mmap_destroy(map));
	rig_destroy(&r);
}

/* The first allocation is that of the port: later ones belong to the adapter. */
Test(libdpa_memory, pci_exports)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *map;
	const void *blob;
	char mem[64];
	size_t size;

	OK(doca_mmap_create(&map));
	OK(doca_mmap_set_memrange(map, mem, sizeof(mem)));
	OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_PCI_READ_WRITE));
	OK(doca_mmap_add_dev(map, dev));
	OK(doca_mmap_start(map));
	SHORT_AT(0, doca_mmap_export_pci(map, dev, &blob, &size), NO_MEMORY);
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(dev));
}

Test(libdpa_memory, events)
{
	struct doca_sync_event_remote_net *remote;
	struct doca_sync_event *se;
	const uint8_t *blob;
	struct rig r;
	uint64_t handle;
	size_t size;

	rig_start(&r);
	SHORT_OF(doca_sync_event_create(&se), NO_MEMORY);
	OK(doca_sync_event_add_publisher_location_remote_net(se));
	OK(doca_sync_event_add_publisher_location_remote_pci(se));
	OK(doca_sync_event_add_publisher_location_dpa(se, r.dpa));
	OK(doca_sync_event_add_subscriber_location_cpu(se, r.dev));
	OK(doca_sync_event_start(se));
	SHORT_OF(doca_sync_event_export_to_remote_pci(se, r.dev, &blob, &size), NO_MEMORY);
	SHORT_OF(doca_sync_event_get_dpa_handle(se, r.dpa, &handle), NO_MEMORY);
	fake_fail_reg(ENOMEM);
	IS(doca_sync_event_export_to_remote_net(se, &blob, &size), NO_MEMORY);
	OK(doca_sync_event_export_to_remote_net(se, &blob, &size));
	SHORT_OF(doca_sync_event_remote_net_create_from_export(r.dev, blob, size, &remote),
		 NO_MEMORY);
	OK(doca_sync_event_remote_net_destroy(remote));
	OK(doca_sync_event_destroy(se));
	rig_destroy(&r);
}

Test(libdpa_memory, rdma)
{
	struct doca_rdma_addr *addr;
	struct doca_rdma *rdma;
	struct ibv_pd *pd;
	struct rig r;

	rig_start(&r);
	SHORT_OF(doca_rdma_create(r.dev, &rdma), NO_MEMORY);
	SHORT_OF(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "127.0.0.1", 1, &addr), NO_MEMORY);
	SHORT_OF(doca_rdma_bridge_get_dev_pd(r.dev, &pd), BAD_STATE);
	OK(doca_rdma_addr_destroy(addr));
	OK(doca_rdma_destroy(rdma));
	rig_destroy(&r);
}

static doca_error_t on_value(void *value, void *config)
{
	(void)value;
	(void)config;
	return DOCA_SUCCESS;
}

Test(libdpa_memory, flags)
{
	char name[] = "prog", flag[] = "-s", value[] = "text", *argv[] = {name, flag, value};
	struct doca_argp_param *param;
	struct doca_argp_cmd *cmd;

	SHORT_AT(0, doca_argp_init("prog", NULL), NO_MEMORY);
	SHORT_AT(1, doca_argp_init("prog", NULL), NO_MEMORY);
	SHORT_AT(2, doca_argp_init("prog", NULL), NO_MEMORY);
	OK(doca_argp_init("prog", NULL));
	SHORT_OF(doca_argp_cmd_create(&cmd), NO_MEMORY);
	OK(doca_argp_cmd_destroy(cmd));
	SHORT_OF(doca_argp_param_create(&param), NO_MEMORY);
	doca_argp_param_set_short_name(param, "s");
	doca_argp_param_set_description(param, "a word");
	doca_argp_param_set_callback(param, on_value);
	doca_argp_param_set_type(param, DOCA_ARGP_TYPE_STRING);
	OK(doca_argp_register_param(param));
	SHORT_AT(0, doca_argp_start(3, argv), NO_MEMORY);
	OK(doca_argp_destroy());
}

/* Over the driver of gpu/fake_cuda.c. */
Test(libdpa_memory, gpu)
{
	struct doca_gpu_semaphore *semaphore;
	struct doca_gpu *gpu;

	SHORT_AT(0, doca_gpu_create("17:00.0", &gpu), NO_MEMORY);
	OK(doca_gpu_create("17:00.0", &gpu));
	SHORT_OF(doca_gpu_semaphore_create(gpu, &semaphore), NO_MEMORY);
	OK(doca_gpu_semaphore_destroy(semaphore));
	OK(doca_gpu_destroy(gpu));
}

/* With a device of another make. */
Test(libdpa_memory, another_device)
{
	struct doca_devinfo **list;
	uint32_t n, len;

	OK(doca_devinfo_create_list(&list, &n));
	IS(doca_rdma_cap_task_receive_get_max_dst_buf_list_len(list[0], DOCA_RDMA_TRANSPORT_TYPE_RC,
							       &len),
	   DRIVER);
	IS(doca_rdma_cap_task_send_imm_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_read_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_write_imm_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_atomic_cmp_swp_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_atomic_fetch_add_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_remote_net_sync_event_get_is_supported(list[0]), NOT_SUPPORTED);
	IS(doca_rdma_cap_task_remote_net_sync_event_notify_set_is_supported(list[0]),
	   NOT_SUPPORTED);
	IS(doca_rdma_cap_task_remote_net_sync_event_notify_add_is_supported(list[0]),
	   NOT_SUPPORTED);
	OK(doca_devinfo_destroy_list(list));
}
