/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * main.c - dpa_initiator_target: the connecting side sends 1, 2, 3, 4, alternating between two
 * connections of one DOCA RDMA. The listening side has one receive posted at a time. There a thread
 * takes each message, and notifies a second thread after the last; that thread signals the host.
 */
#include <stdio.h>
#include "ends.h"

extern struct doca_dpa_app *initiator_target_app;
extern doca_dpa_func_t target_thread1, target_thread2;

enum { CONNECTIONS = 2 };

static bool initiate_rdma(const struct args *a, int fd)
{
	struct initiator i = {.value = 1};
	bool ok = initiator_open(&i, a, initiator_target_app, fd, CONNECTIONS);

	for (unsigned int n = 0; ok && n < IT_MESSAGES; n++)
		ok = initiator_send(&i, n % CONNECTIONS);
	ok = ok && peer_meet(fd);
	if (ok)
		printf("initiator: sent 1 to %d\n", IT_MESSAGES);
	return initiator_close(&i) && ok;
}

/* Each connection's messages came in order, and by the connection on which they were sent. */
static bool check_target(const struct target *t)
{
	const struct it_target *s = &t->shared;
	uint64_t next[CONNECTIONS] = {1, 2};

	for (uint64_t i = 0; i < s->num; i++) {
		unsigned int c = s->from[i] == t->link.id[1];

		printf("target: connection %u brought %llu\n", s->from[i],
		       (unsigned long long)s->value[i]);
		if (s->from[i] != t->link.id[c] || s->value[i] != next[c] ||
		    s->immediate[i] != IT_IMMEDIATE + s->value[i])
			return false;
		next[c] += CONNECTIONS;
	}
	return s->num == IT_MESSAGES && t->link.id[0] != t->link.id[1];
}

static bool serve_rdma(const struct args *a, int fd)
{
	struct target t = {0};
	bool ok = target_open(&t, a, initiator_target_app, fd, &target_thread1, &target_thread2,
			      CONNECTIONS, IT_MESSAGES) &&
		  target_result(&t) && check_target(&t) && peer_meet(fd);

	return target_close(&t) && ok;
}

int main(int argc, char **argv)
{
	return it_main("dpa_initiator_target", initiate_rdma, serve_rdma, argc, argv);
}
