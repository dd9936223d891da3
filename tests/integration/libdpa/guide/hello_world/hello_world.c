/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Hello world: each step is announced before it is done. */
#include "guide.h"

#define STEP(text) printf("\n----> " text "\n")

extern struct doca_dpa_app *dpa_hello_world_app;
doca_dpa_func_t hello_world_thread_kernel;
doca_dpa_func_t hello_world_thread_notify_rpc;

int main(void)
{
	doca_dpa_dev_notification_completion_t notify_handle;
	struct doca_dpa_notification_completion *notify;
	struct doca_dpa_thread *thread;
	struct doca_sync_event *event;
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	uint64_t retval = 1;

	STEP("Open DOCA Device");
	dev = open_doca_dev();
	STEP("Initialize DOCA DPA Context");
	dpa = start_dpa(dev, dpa_hello_world_app);
	STEP("Initialize DOCA Sync Event");
	event = start_event(dpa, NULL, dev);

	STEP("Initialize DOCA DPA Thread");
	OK(doca_dpa_thread_create(dpa, &thread));
	OK(doca_dpa_thread_set_func_arg(thread, &hello_world_thread_kernel, handle_of(event, dpa)));
	OK(doca_dpa_thread_start(thread));
	STEP("Initialize DOCA DPA Notification Completion");
	OK(doca_dpa_notification_completion_create(dpa, thread, &notify));
	OK(doca_dpa_notification_completion_start(notify));
	OK(doca_dpa_notification_completion_get_dpa_handle(notify, &notify_handle));
	STEP("Run DOCA DPA Thread");
	OK(doca_dpa_thread_run(thread));

	STEP("Trigger DPA RPC");
	OK(doca_dpa_rpc(dpa, &hello_world_thread_notify_rpc, &retval, notify_handle));
	STEP("Waiting For hello_world_thread_kernel To Finish");
	OK(doca_sync_event_wait_gt(event, 0, 0xFFFFFFFFFFFFFFFF));

	STEP("Destroy DOCA DPA Notification Completion");
	OK(doca_dpa_notification_completion_destroy(notify));
	STEP("Destroy DOCA DPA Thread");
	OK(doca_dpa_thread_destroy(thread));
	STEP("Destroy DOCA DPA event");
	OK(doca_sync_event_destroy(event));
	STEP("Destroy DOCA DPA context");
	OK(doca_dpa_destroy(dpa));
	STEP("Destroy DOCA device");
	OK(doca_dev_close(dev));
	STEP("DONE!");
	return retval != 0;
}
