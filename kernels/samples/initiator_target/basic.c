/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * basic.c - dpa_basic_initiator_target: the connecting side sends a message, posted by an RPC. On
 * the listening side its arrival activates a DPA thread, which signals the host.
 */
#include <stdio.h>
#include "ends.h"

extern struct doca_dpa_app *basic_initiator_target_app;
extern doca_dpa_func_t basic_target_thread;

enum { VALUE = 77 };

static bool initiate_basic(const struct args *a, int fd)
{
	struct initiator i = {.value = VALUE};
	bool ok = initiator_open(&i, a, basic_initiator_target_app, fd, 1) &&
		  initiator_send(&i, 0) && peer_meet(fd);

	if (ok)
		printf("initiator: sent %d\n", VALUE);
	return initiator_close(&i) && ok;
}

static bool serve_basic(const struct args *a, int fd)
{
	struct target t = {0};
	const struct it_target *s = &t.shared;
	bool ok = target_open(&t, a, basic_initiator_target_app, fd, &basic_target_thread, NULL, 1,
			      1) &&
		  target_result(&t);

	if (ok)
		printf("target: connection %u brought %llu, immediate %u\n", s->from[0],
		       (unsigned long long)s->value[0], s->immediate[0]);
	ok = ok && s->num == 1 && s->value[0] == VALUE && s->from[0] == t.link.id[0] &&
	     s->immediate[0] == IT_IMMEDIATE + VALUE && peer_meet(fd);
	return target_close(&t) && ok;
}

int main(int argc, char **argv)
{
	return it_main("dpa_basic_initiator_target", initiate_basic, serve_basic, argc, argv);
}
