/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_arguments.c - NULLs and calls in wrong states that no other test has: each call returns the
 * error, and nothing happens.
 */
#include "host.h"

#include <doca_sync_event.h> /* host.h allows its calls */

extern doca_dpa_func_t take_one;

TestSuite(arguments, .timeout = 60);

Test(arguments, context)
{
	struct doca_dpa_app *app;
	uint32_t level;
	struct rig r;

	rig_start(&r);
	IS(doca_dpa_get_app(NULL, &app), INVALID_VALUE);
	IS(doca_dpa_get_app(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_get_log_level(NULL, (doca_dpa_dev_log_level_t *)&level), INVALID_VALUE);
	IS(doca_dpa_get_log_level(r.dpa, NULL), INVALID_VALUE);
	IS(doca_dpa_peek_at_last_error(NULL), INVALID_VALUE);
	rig_destroy(&r);
}

Test(arguments, memory)
{
	doca_dpa_dev_uintptr_t p;
	uint64_t word = 0;
	struct rig r;

	rig_start(&r);
	p = r.shared;
	IS(doca_dpa_memset(NULL, p, 0, 8), INVALID_VALUE);
	IS(doca_dpa_memset(r.dpa, 0, 0, 8), INVALID_VALUE);
	IS(doca_dpa_memset(r.dpa, p, 0, 0), INVALID_VALUE);
	IS(doca_dpa_memset(r.dpa, p + sizeof(struct shared) - 4, 0, 8), INVALID_VALUE);
	IS(doca_dpa_mem_free(r.dpa, p + 8), DRIVER);
	OK(doca_dpa_stop(r.dpa));
	IS(doca_dpa_h2d_memcpy(r.dpa, p, &word, 8), BAD_STATE);
	IS(doca_dpa_d2h_memcpy(r.dpa, &word, p, 8), BAD_STATE);
	IS(doca_dpa_memset(r.dpa, p, 0, 8), BAD_STATE);
	IS(doca_dpa_mem_free(r.dpa, p), BAD_STATE);
	rig_destroy(&r);
}

Test(arguments, thread)
{
	doca_dpa_func_t *func;
	uint64_t arg;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	IS(doca_dpa_thread_get_func_arg(NULL, &func, &arg), INVALID_VALUE);
	IS(doca_dpa_thread_get_func_arg(r.thread, NULL, &arg), INVALID_VALUE);
	IS(doca_dpa_thread_get_func_arg(r.thread, &func, NULL), INVALID_VALUE);
	IS(doca_dpa_thread_set_local_storage(NULL, 8), INVALID_VALUE);
	rig_destroy(&r);
}

Test(arguments, completion)
{
	struct doca_dpa_completion *c;
	struct doca_dpa_thread *thread;
	unsigned int size;
	uint64_t handle;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_completion_create(r.dpa, 4, &c));
	IS(doca_dpa_completion_get_queue_size(NULL, &size), INVALID_VALUE);
	IS(doca_dpa_completion_get_queue_size(c, NULL), INVALID_VALUE);
	IS(doca_dpa_completion_get_thread(NULL, &thread), INVALID_VALUE);
	IS(doca_dpa_completion_get_thread(c, NULL), INVALID_VALUE);
	IS(doca_dpa_completion_get_dpa_handle(NULL, &handle), INVALID_VALUE);
	OK(doca_dpa_completion_start(c));
	IS(doca_dpa_completion_get_dpa_handle(c, NULL), INVALID_VALUE);
	OK(doca_dpa_completion_destroy(c));
	rig_destroy(&r);
}

Test(arguments, notification)
{
	struct doca_dpa_notification_completion *n;
	struct doca_dpa_thread *thread;
	uint64_t handle;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	OK(doca_dpa_thread_set_func_arg(r.thread, &take_one, r.shared));
	OK(doca_dpa_thread_start(r.thread));
	OK(doca_dpa_notification_completion_create(r.dpa, r.thread, &n));
	IS(doca_dpa_notification_completion_destroy(NULL), INVALID_VALUE);
	IS(doca_dpa_notification_completion_get_thread(NULL, &thread), INVALID_VALUE);
	IS(doca_dpa_notification_completion_get_thread(n, NULL), INVALID_VALUE);
	IS(doca_dpa_notification_completion_get_dpa_handle(NULL, &handle), INVALID_VALUE);
	OK(doca_dpa_notification_completion_start(n));
	IS(doca_dpa_notification_completion_get_dpa_handle(n, NULL), INVALID_VALUE);
	OK(doca_dpa_notification_completion_destroy(n));
	rig_destroy(&r);
}

/* A context that is destroyed first leaves its children dead. */
Test(arguments, notification_of_a_dead_context)
{
	struct doca_dpa_notification_completion *n;
	uint64_t handle;
	struct rig r;

	rig_start(&r);
	OK(doca_dpa_thread_create(r.dpa, &r.thread));
	OK(doca_dpa_thread_set_func_arg(r.thread, &take_one, r.shared));
	OK(doca_dpa_thread_start(r.thread));
	OK(doca_dpa_notification_completion_create(r.dpa, r.thread, &n));
	OK(doca_dpa_notification_completion_start(n));
	OK(doca_dpa_destroy(r.dpa));
	IS(doca_dpa_notification_completion_start(n), BAD_STATE);
	IS(doca_dpa_notification_completion_get_dpa_handle(n, &handle), BAD_STATE);
	IS(doca_dpa_notification_completion_destroy(n), BAD_STATE);
	IS(doca_dpa_thread_destroy(r.thread), BAD_STATE);
	OK(doca_dev_close(r.dev));
}

/* Capabilities of the device for sync events of peers: one without a DPA has none. */
Test(arguments, sync_event_capabilities)
{
	struct doca_devinfo **list;
	uint32_t n;

	OK(doca_devinfo_create_list(&list, &n));
	IS(doca_sync_event_cap_remote_net_is_create_from_export_supported(NULL), INVALID_VALUE);
	IS(doca_sync_event_cap_remote_net_is_create_from_export_supported(list[0]), NOT_SUPPORTED);
	OK(doca_sync_event_cap_remote_net_is_create_from_export_supported(list[1]));
	IS(doca_sync_event_cap_is_export_to_remote_net_supported(list[0]), NOT_SUPPORTED);
	OK(doca_sync_event_cap_is_export_to_remote_net_supported(list[1]));
	IS(doca_sync_event_cap_remote_net_is_export_to_dpa_supported(list[0]), NOT_SUPPORTED);
	OK(doca_sync_event_cap_remote_net_is_export_to_dpa_supported(list[1]));
	OK(doca_devinfo_destroy_list(list));
}
