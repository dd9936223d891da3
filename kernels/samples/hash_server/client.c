/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * client.c - dpa_hash_client -c HOST -p PORT [-n QUESTIONS]: sends questions to dpa_hash_server and
 * checks the answers.
 */
#include <stdio.h>
#include <unistd.h>
#include "end.h"

extern struct doca_dpa_app *hash_client_app;
extern doca_dpa_func_t hash_ask;

static bool is_there(uint32_t key)
{
	return key > HASH_FIRST && key < HASH_FIRST + HASH_KEYS * HASH_STEP &&
	       (key - HASH_FIRST) % HASH_STEP == 0;
}

static bool ask_server(struct end *e, uint32_t key, bool *found)
{
	struct hash_answer a;
	uint64_t ok = 0;

	TRY(doca_dpa_rpc(e->res.pf_dpa, &hash_ask, &ok, e->shared, key));
	TRY(doca_dpa_d2h_memcpy(e->res.pf_dpa, &a, e->shared.answer, sizeof(a)));
	*found = a.found;
	if (!ok || a.key != key || a.found != is_there(key) ||
	    (a.found && a.value != (uint64_t)key * 1000003)) {
		fprintf(stderr, "key %u: found %u, value %llu\n", key, a.found,
			(unsigned long long)a.value);
		return false;
	}
	return true;
}

static bool run_client(struct end *e, const struct args *a, int fd)
{
	int known = 0;

	if (!res_open(&e->res, a, hash_client_app) || !end_open(e, a, NULL) || !end_connect(e, fd))
		return false;
	for (int i = 0; i < a->count; i++) {
		bool found;

		if (!ask_server(e, (uint32_t)i % (HASH_FIRST + HASH_KEYS * HASH_STEP + 50), &found))
			return false;
		known += found;
	}
	printf("asked for %d keys, %d were known, all answers are right\n", a->count, known);
	return peer_meet(fd) && peer_meet(fd);
}

int main(int argc, char **argv)
{
	struct args a = {.count = 4000};
	struct end e = {0};
	bool ok;
	int fd;

	if (!args_parse(&a, "dpa_hash_client", ARGS_PEER | ARGS_COUNT, argc, argv))
		return 1;
	fd = peer_open(&a);
	if (fd < 0)
		return 1;
	ok = run_client(&e, &a, fd);
	ok = end_close(&e) && ok;
	ok = res_close(&e.res) && ok;
	close(fd);
	return ok ? 0 : 1;
}
