/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * main.c - dpa_hello: creates a DPA thread; an RPC notifies it; it says hello and signals a sync
 * event for which the host waits.
 */
#include <stdio.h>
#include "res.h"

extern struct doca_dpa_app *hello_app;
extern doca_dpa_func_t hello_thread, hello_notify;

struct hello {
	struct res res;
	struct doca_sync_event *event;
	struct doca_dpa_thread *thread;
	struct doca_dpa_notification_completion *notify;
};

static bool run_hello(struct hello *h, const struct args *a)
{
	doca_dpa_dev_notification_completion_t notify;
	doca_dpa_dev_sync_event_t event;
	uint64_t answer = 0;

	if (!res_open(&h->res, a, hello_app) ||
	    !res_event(&h->res, RES_EVENT_TO_HOST, &h->event, &event) ||
	    !res_thread(&h->res, &hello_thread, event, &h->thread) ||
	    !res_notification(&h->res, h->thread, &h->notify, &notify))
		return false;
	TRY(doca_dpa_thread_run(h->thread));
	TRY(doca_dpa_rpc(h->res.pf_dpa, &hello_notify, &answer, h->res.dpa_handle, notify));
	if (!res_await(&h->res, h->event, 0))
		return false;
	printf("the RPC returned %llu, the thread has run\n", (unsigned long long)answer);
	return answer == 42;
}

int main(int argc, char **argv)
{
	struct args a = {0};
	struct hello h = {0};
	bool ok;

	if (!args_parse(&a, "dpa_hello", ARGS_LOCAL, argc, argv))
		return 1;
	ok = run_hello(&h, &a);
	END(&ok, h.notify, doca_dpa_notification_completion_destroy(h.notify));
	END(&ok, h.thread, doca_dpa_thread_destroy(h.thread));
	END(&ok, h.event, doca_sync_event_destroy(h.event));
	return res_close(&h.res) && ok ? 0 : 1;
}
