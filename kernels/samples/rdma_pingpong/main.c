/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * main.c - dpa_rdma_pingpong [-n ROUNDS]: the connecting side is ping, the listening side is pong.
 * Their DPA threads exchange numbers, 100 by default, while the hosts wait for an event.
 */
#include <stdio.h>
#include <unistd.h>
#include "link.h"
#include "peer.h"
#include "pp.h"
#include "res.h"

extern struct doca_dpa_app *rdma_pingpong_app;
extern doca_dpa_func_t pp_start, pp_serve, pp_thread;

struct end {
	struct res res;
	struct doca_sync_event *event;
	struct doca_dpa_thread *thread;
	struct doca_dpa_completion *comp;
	struct link link;
	doca_dpa_dev_uintptr_t state, words;
	struct doca_mmap *map;
};

static bool open_end(struct end *e, const struct args *a, struct pp_way *way, struct pp_bufs *bufs)
{
	bool ok = res_open(&e->res, a, rdma_pingpong_app) &&
		  res_alloc(&e->res, sizeof(struct pp_end), &e->state) &&
		  res_alloc(&e->res, 16, &e->words) &&
		  res_event(&e->res, RES_EVENT_TO_HOST, &e->event, &way->event) &&
		  res_thread(&e->res, &pp_thread, e->state, &e->thread) &&
		  res_completion(&e->res, 4, e->thread, &e->comp, &way->comp) &&
		  res_map_heap(&e->res, e->words, 16, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &e->map,
			       &bufs->mmap) &&
		  link_open(&e->link, &e->res, a, e->comp, 2, 1);

	way->dpa = e->res.dpa_handle;
	way->rdma = e->link.handle;
	bufs->send = e->words;
	bufs->recv = e->words + 8;
	return ok;
}

static bool play_way(struct end *e, const struct args *a, int fd, struct pp_way *way,
		     const struct pp_bufs *bufs)
{
	uint64_t ret = 0;

	TRY(doca_dpa_thread_run(e->thread));
	if (!link_connect(&e->link, fd, 1))
		return false;
	way->connection = e->link.id[0];
	way->is_ping = a->connect[0] != 0;
	TRY(doca_dpa_rpc(e->res.pf_dpa, &pp_start, &ret, *way, e->state, *bufs,
			 (uint64_t)a->count));
	if (ret != sizeof(*way) + sizeof(*bufs) || !peer_meet(fd))
		return false;
	if (way->is_ping)
		TRY(doca_dpa_rpc(e->res.pf_dpa, &pp_serve, &ret, e->state));
	return res_await(&e->res, e->event, 0);
}

static bool run_ways(struct end *e, const struct args *a, int fd)
{
	struct pp_way way = {0};
	struct pp_bufs bufs = {0};
	struct pp_end state;

	if (!open_end(e, a, &way, &bufs) || !play_way(e, a, fd, &way, &bufs))
		return false;
	TRY(doca_dpa_d2h_memcpy(e->res.pf_dpa, &state, e->state, sizeof(state)));
	printf("%s: %llu numbers in %llu activations\n", way.is_ping ? "ping" : "pong",
	       (unsigned long long)state.next, (unsigned long long)state.activations);
	/* pong's last message may still be on its way */
	return !state.failed && state.next == (uint64_t)a->count && peer_meet(fd);
}

static bool close_end(struct end *e)
{
	bool ok = link_close(&e->link);

	END(&ok, e->map, doca_mmap_destroy(e->map));
	END(&ok, e->comp, doca_dpa_completion_destroy(e->comp));
	END(&ok, e->thread, doca_dpa_thread_destroy(e->thread));
	END(&ok, e->event, doca_sync_event_destroy(e->event));
	END(&ok, e->words, doca_dpa_mem_free(e->res.pf_dpa, e->words));
	END(&ok, e->state, doca_dpa_mem_free(e->res.pf_dpa, e->state));
	return res_close(&e->res) && ok;
}

int main(int argc, char **argv)
{
	struct args a = {.count = 100};
	struct end e = {0};
	bool ok;
	int fd;

	if (!args_parse(&a, "dpa_rdma_pingpong", ARGS_PEER | ARGS_COUNT, argc, argv))
		return 1;
	fd = peer_open(&a);
	if (fd < 0)
		return 1;
	ok = run_ways(&e, &a, fd);
	ok = close_end(&e) && ok;
	close(fd);
	return ok ? 0 : 1;
}
