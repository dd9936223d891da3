/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_memory.c - failed allocations of the host: each allocation of a call fails in turn; the call
 * returns the error and leaves nothing behind, and succeeds once all allocations succeed.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <doca_argp.h>
#include <doca_buf_array.h>
#include <doca_buf_inventory.h>
#include <doca_mmap.h>
#include <doca_rdma.h>
#include <doca_sync_event.h>
#include "../open_dev.h"

TestSuite(memory, .timeout = 60);

/* For this thread: number of calls until one fails; 0: none. */
static __thread int fail_at;
static __thread bool failed;

static bool fails(void)
{
	if (!fail_at || --fail_at)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

/* The linker places these before the library's calls (CMakeLists.txt). */
#define WRAP(type, name, params, args, none)                                                       \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		return fails() ? (none) : __real_##name args;                                      \
	}
WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), NULL)
WRAP(void *, realloc, (void *p, size_t size), (p, size), NULL)
WRAP(char *, strdup, (const char *s), (s), NULL)
WRAP(int, posix_memalign, (void **p, size_t align, size_t size), (p, align, size), ENOMEM)

#define STARVE(call)                                                                               \
	do {                                                                                       \
		int n_ = 0;                                                                        \
		doca_error_t ret_;                                                                 \
		for (;;) {                                                                         \
			fail_at = ++n_;                                                            \
			failed = false;                                                            \
			ret_ = (call);                                                             \
			fail_at = 0;                                                               \
			if (!failed)                                                               \
				break;                                                             \
			cr_assert_eq(ret_, DOCA_ERROR_NO_MEMORY, "allocation %d of " #call ": %s", \
				     n_, doca_error_get_name(ret_));                               \
		}                                                                                  \
		OK(ret_);                                                                          \
		cr_assert_gt(n_, 1, #call " has no allocation that could fail");                   \
	} while (0)

Test(memory, contexts)
{
	char path[64];
	struct rig r = {0};
	uint64_t ret;

	exec_new_file(path);
	r.dev = open_dpa0();
	STARVE(doca_dpa_create(r.dev, &r.dpa));
	OK(doca_dpa_set_app(r.dpa, test_app));
	STARVE(doca_dpa_log_file_set_path(r.dpa, path));
	STARVE(doca_dpa_trace_file_set_path(r.dpa, path));
	STARVE(doca_dpa_start(r.dpa));
	OK(doca_dpa_rpc(r.dpa, &rpc_nothing, &ret));
	cr_assert_eq(ret, 77u);
	rig_destroy(&r);
	unlink(path);
}

Test(memory, children_of_contexts)
{
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_eu_affinity *affinity;
	struct doca_dpa_async_ops *ops;
	struct doca_dpa_completion *comp;
	struct doca_dpa_thread *thread;
	struct doca_dpa *extended;
	struct doca_dpa_tg *tg;
	struct doca_dev *sf;
	struct rig r;

	exec_rig_start(&r);
	sf = open_dev("dpa0_sf1");
	STARVE(doca_dpa_device_extend(r.dpa, sf, &extended));
	STARVE(doca_dpa_thread_create(r.dpa, &thread));
	STARVE(doca_dpa_thread_group_create(r.dpa, 3, &tg));
	STARVE(doca_dpa_eu_affinity_create(r.dpa, &affinity));
	STARVE(doca_dpa_completion_create(r.dpa, 16, &comp));
	STARVE(doca_dpa_async_ops_create(r.dpa, 16, 1, &ops));
	STARVE(doca_dpa_notification_completion_create(r.dpa, thread, &notify));
	OK(doca_dpa_notification_completion_destroy(notify));
	OK(doca_dpa_async_ops_destroy(ops));
	OK(doca_dpa_completion_destroy(comp));
	OK(doca_dpa_eu_affinity_destroy(affinity));
	OK(doca_dpa_thread_group_destroy(tg));
	OK(doca_dpa_thread_destroy(thread));
	OK(doca_dpa_destroy(extended));
	OK(doca_dev_close(sf));
	rig_destroy(&r);
}

Test(memory, what_needs_no_context)
{
	struct doca_buf_inventory *inventory;
	struct doca_sync_event *event;
	struct doca_devinfo **list;
	struct doca_buf_arr *array;
	struct doca_rdma *rdma;
	struct doca_mmap *map;
	struct doca_dev *dev;
	uint32_t n;

	STARVE(doca_devinfo_create_list(&list, &n));
	cr_assert_gt(n, 0u);
	STARVE(doca_dev_open(list[0], &dev));
	OK(doca_devinfo_destroy_list(list));
	STARVE(doca_mmap_create(&map));
	STARVE(doca_buf_arr_create(8, &array));
	STARVE(doca_buf_inventory_create(8, &inventory));
	STARVE(doca_sync_event_create(&event));
	OK(doca_dev_close(dev));
	dev = open_dpa0();
	STARVE(doca_rdma_create(dev, &rdma));
	OK(doca_rdma_destroy(rdma));
	OK(doca_sync_event_destroy(event));
	OK(doca_buf_inventory_destroy(inventory));
	OK(doca_buf_arr_destroy(array));
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(dev));
}

Test(memory, command_lines)
{
	struct doca_argp_param *param;
	struct doca_argp_cmd *cmd;

	STARVE(doca_argp_init("memory", NULL));
	STARVE(doca_argp_param_create(&param));
	STARVE(doca_argp_cmd_create(&cmd));
	OK(doca_argp_param_destroy(param));
	OK(doca_argp_cmd_destroy(cmd));
	OK(doca_argp_destroy());
}
