/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wait.c - dpa_wait_launch: a launch of four threads waits until an event reaches 4; another thread
 * of the host sets it to 5. The last of the four threads sets the completion event.
 */
#include <pthread.h>
#include <stdio.h>
#include "graph.h"

extern struct doca_dpa_app *wait_launch_app;
extern doca_dpa_func_t rank_kernel, log_size;

enum { WAIT, DONE, THREADS = 4, THRESHOLD = 4, COUNT = 10 };

static void *trigger_event(void *arg)
{
	return (void *)(uintptr_t)doca_sync_event_update_set(arg, THRESHOLD + 1);
}

/* True if the kernel has not started although the DPA carries out RPCs. */
static bool kernel_waits(struct graph *g)
{
	uint64_t ran = 1;

	TRY(doca_dpa_rpc(g->res.pf_dpa, &log_size, &ran, g->log));
	if (ran)
		fprintf(stderr, "the kernel did not wait\n");
	return !ran;
}

static bool check_graph(struct graph *g)
{
	unsigned int ranks = 0;
	struct launch_log log;
	uint64_t done;

	TRY(doca_sync_event_get(g->event[DONE], &done));
	TRY(doca_dpa_d2h_memcpy(g->res.pf_dpa, &log, g->log, sizeof(log)));
	for (uint64_t i = 0; i < log.num && i < 16; i++)
		if (log.who[i] / 100 == THREADS)
			ranks |= 1u << log.who[i] % 100;
	printf("%llu threads ran, the completion event is %llu\n", (unsigned long long)log.num,
	       (unsigned long long)done);
	return log.num == THREADS && ranks == (1u << THREADS) - 1 && done == COUNT;
}

static bool run_wait(struct graph *g)
{
	pthread_t thread;
	void *ret;

	TRY(doca_dpa_kernel_launch_update_set(g->res.pf_dpa, g->event[WAIT], THRESHOLD,
					      g->event[DONE], COUNT, THREADS, &rank_kernel,
					      g->log));
	TRY(doca_sync_event_update_set(g->event[WAIT], THRESHOLD - 1));
	if (!kernel_waits(g) || pthread_create(&thread, NULL, trigger_event, g->event[WAIT]))
		return false;
	pthread_join(thread, &ret);
	TRY((doca_error_t)(uintptr_t)ret);
	return res_await(&g->res, g->event[DONE], COUNT - 1) && check_graph(g);
}

int main(int argc, char **argv)
{
	static const enum res_event_kind kinds[] = {RES_EVENT_TO_DPA, RES_EVENT_TO_HOST};
	struct graph g = {0};
	struct args a = {0};
	bool ok;

	if (!args_parse(&a, "dpa_wait_launch", ARGS_LOCAL, argc, argv))
		return 1;
	ok = graph_open(&g, &a, wait_launch_app, kinds, 2) && run_wait(&g);
	return graph_close(&g) && ok ? 0 : 1;
}
