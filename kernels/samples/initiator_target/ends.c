/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <unistd.h>
#include "ends.h"

/* The queues need a completion context, although it is never polled. */
bool initiator_open(struct initiator *i, const struct args *a, struct doca_dpa_app *app, int fd,
		    unsigned int connections)
{
	doca_dpa_dev_completion_t comp;

	return res_open(&i->res, a, app) && res_completion(&i->res, 16, NULL, &i->comp, &comp) &&
	       link_open(&i->link, &i->res, a, i->comp, 4, connections) &&
	       res_map(&i->res, &i->value, sizeof(i->value), DOCA_ACCESS_FLAG_LOCAL_READ_WRITE,
		       &i->map, &i->map_handle) &&
	       link_connect(&i->link, fd, connections);
}

bool initiator_send(struct initiator *i, unsigned int connection)
{
	uint64_t ret;

	TRY(doca_dpa_rpc(i->res.pf_dpa, &it_post_send, &ret, i->res.dpa_handle, i->link.handle,
			 i->link.id[connection], i->map_handle, (uint64_t)(uintptr_t)&i->value,
			 sizeof(i->value), (uint32_t)(IT_IMMEDIATE + i->value)));
	i->value++;
	return true;
}

bool initiator_close(struct initiator *i)
{
	bool ok = link_close(&i->link);

	END(&ok, i->map, doca_mmap_destroy(i->map));
	END(&ok, i->comp, doca_dpa_completion_destroy(i->comp));
	return res_close(&i->res) && ok;
}

static bool make_threads(struct target *t, doca_dpa_func_t *thread, doca_dpa_func_t *thread2)
{
	struct it_target *s = &t->shared;

	if (!res_event(&t->res, RES_EVENT_TO_HOST, &t->event, &s->event) ||
	    !res_thread(&t->res, thread, t->heap, &t->thread) ||
	    !res_completion(&t->res, 16, t->thread, &t->comp, &s->comp))
		return false;
	return !thread2 || (res_thread(&t->res, thread2, t->heap, &t->thread2) &&
			    res_notification(&t->res, t->thread2, &t->notify, &s->notify));
}

static bool start_target(struct target *t)
{
	struct it_target *s = &t->shared;
	uint64_t ret;

	TRY(doca_dpa_h2d_memcpy(t->res.pf_dpa, t->heap, s, sizeof(*s)));
	TRY(doca_dpa_thread_run(t->thread));
	if (t->thread2)
		TRY(doca_dpa_thread_run(t->thread2));
	TRY(doca_dpa_rpc(t->res.pf_dpa, &it_post_receive, &ret, s->dpa, s->rdma, s->mmap, s->addr,
			 sizeof(uint64_t)));
	return true;
}

bool target_open(struct target *t, const struct args *a, struct doca_dpa_app *app, int fd,
		 doca_dpa_func_t *thread, doca_dpa_func_t *thread2, unsigned int connections,
		 uint64_t expected)
{
	struct it_target *s = &t->shared;

	s->expected = expected;
	if (!res_open(&t->res, a, app) ||
	    !res_alloc(&t->res, sizeof(struct it_target) + sizeof(uint64_t), &t->heap) ||
	    !make_threads(t, thread, thread2))
		return false;
	s->dpa = t->res.dpa_handle;
	s->addr = t->heap + sizeof(struct it_target);
	if (!res_map_heap(&t->res, s->addr, sizeof(uint64_t), DOCA_ACCESS_FLAG_LOCAL_READ_WRITE,
			  &t->map, &s->mmap) ||
	    !link_open(&t->link, &t->res, a, t->comp, 4, connections))
		return false;
	s->rdma = t->link.handle;
	return start_target(t) && link_connect(&t->link, fd, connections);
}

bool target_result(struct target *t)
{
	if (!res_await(&t->res, t->event, 0))
		return false;
	TRY(doca_dpa_d2h_memcpy(t->res.pf_dpa, &t->shared, t->heap, sizeof(t->shared)));
	return !t->shared.failed;
}

bool target_close(struct target *t)
{
	bool ok = link_close(&t->link);

	END(&ok, t->map, doca_mmap_destroy(t->map));
	END(&ok, t->comp, doca_dpa_completion_destroy(t->comp));
	END(&ok, t->notify, doca_dpa_notification_completion_destroy(t->notify));
	END(&ok, t->thread2, doca_dpa_thread_destroy(t->thread2));
	END(&ok, t->thread, doca_dpa_thread_destroy(t->thread));
	END(&ok, t->event, doca_sync_event_destroy(t->event));
	END(&ok, t->heap, doca_dpa_mem_free(t->res.pf_dpa, t->heap));
	return res_close(&t->res) && ok;
}

int it_main(const char *program, bool (*initiate)(const struct args *a, int fd),
	    bool (*serve)(const struct args *a, int fd), int argc, char **argv)
{
	struct args a = {0};
	bool ok;
	int fd;

	if (!args_parse(&a, program, ARGS_PEER, argc, argv))
		return 1;
	fd = peer_open(&a);
	if (fd < 0)
		return 1;
	ok = a.connect[0] ? initiate(&a, fd) : serve(&a, fd);
	close(fd);
	return ok ? 0 : 1;
}
