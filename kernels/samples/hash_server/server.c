/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * server.c - dpa_hash_server: a hash table on the DPA. Keys arrive by SEND; a DPA thread looks them
 * up and sends the values back. The host's thread sleeps from the first question to the last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "end.h"

extern struct doca_dpa_app *hash_server_app;
extern doca_dpa_func_t hash_fill, hash_serve, hash_thread;

struct server {
	struct end end;
	struct doca_dpa_thread *thread;
	struct doca_dpa_hash_table *table;
	doca_dpa_dev_uintptr_t state;
};

static bool make_table(struct server *s)
{
	struct res *r = &s->end.res;
	uint64_t num = 0;

	TRY(doca_dpa_hash_table_create(r->dpa, HASH_KEYS, &s->table));
	TRY(doca_dpa_hash_table_get_dpa_handle(s->table, &s->end.shared.table));
	TRY(doca_dpa_rpc(r->pf_dpa, &hash_fill, &num, r->dpa_handle, s->end.shared.table,
			 (uint32_t)HASH_FIRST, (uint32_t)HASH_STEP, (uint32_t)HASH_KEYS));
	return num == HASH_KEYS - 1;
}

/* Returns how often this thread has gone to sleep. */
static long sleep_count(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return ru.ru_nvcsw;
}

static bool serve_client(struct server *s, int fd)
{
	struct hash_server state = {0};
	struct res *r = &s->end.res;
	uint64_t ret;
	long slept;

	TRY(doca_dpa_thread_run(s->thread));
	if (!end_connect(&s->end, fd))
		return false;
	state.end = s->end.shared;
	TRY(doca_dpa_h2d_memcpy(r->pf_dpa, s->state, &state, sizeof(state)));
	TRY(doca_dpa_rpc(r->pf_dpa, &hash_serve, &ret, s->state));
	slept = sleep_count();
	if (!peer_meet(fd)) /* the client asks its questions in between */
		return false;
	slept = sleep_count() - slept;
	TRY(doca_dpa_d2h_memcpy(r->pf_dpa, &state, s->state, sizeof(state)));
	printf("%llu questions answered, %llu of them known, in %llu activations; meanwhile the "
	       "host's thread was woken %ld times\n",
	       (unsigned long long)state.questions, (unsigned long long)state.hits,
	       (unsigned long long)state.activations, slept);
	/* it may wake for parts of the client's message, but not for questions */
	return !state.failed && state.questions && (uint64_t)slept * 100 <= state.questions;
}

static bool run_server(struct server *s, const struct args *a, int fd)
{
	return res_open(&s->end.res, a, hash_server_app) &&
	       res_alloc(&s->end.res, sizeof(struct hash_server), &s->state) &&
	       res_thread(&s->end.res, &hash_thread, s->state, &s->thread) &&
	       end_open(&s->end, a, s->thread) && make_table(s) && serve_client(s, fd) &&
	       peer_meet(fd);
}

int main(int argc, char **argv)
{
	struct server s = {0};
	struct args a = {0};
	bool ok;
	int fd;

	if (!args_parse(&a, "dpa_hash_server", ARGS_PEER, argc, argv))
		return 1;
	fd = peer_open(&a);
	if (fd < 0)
		return 1;
	ok = run_server(&s, &a, fd);
	ok = end_close(&s.end) && ok;
	END(&ok, s.table, doca_dpa_hash_table_destroy(s.table));
	END(&ok, s.thread, doca_dpa_thread_destroy(s.thread));
	END(&ok, s.state, doca_dpa_mem_free(s.end.res.pf_dpa, s.state));
	ok = res_close(&s.end.res) && ok;
	close(fd);
	return ok ? 0 : 1;
}
