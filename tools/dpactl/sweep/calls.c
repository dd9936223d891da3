/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* calls.c - which calls a program makes: the lines of the setting inject_calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sweep.h"

/* Calls that allocate fail for want of memory, those that free because the object is in use, and so on. */
const char *sweep_errno(const char *call)
{
	static const struct {
		const char *begin, *err;
	} table[] = {
		{"open_device", "ENODEV"},
		{"query_", "EIO"},
		{"alloc_", "ENOMEM"},
		{"reg_", "ENOMEM"},
		{"create_", "ENOMEM"},
		{"post_", "ENOMEM"},
		{"poll_", "EIO"},
		{"modify_", "EINVAL"},
		{"dealloc_", "EBUSY"},
		{"dereg_", "EBUSY"},
		{"destroy_", "EBUSY"},
		{"free_", "EBUSY"},
		{"close_", "EBUSY"},
		{"rdma_create_event_channel", "ENODEV"},
		{"rdma_create_", "ENOMEM"},
		{"rdma_bind_addr", "EADDRINUSE"},
		{"rdma_resolve_addr", "ENODEV"},
		{"rdma_listen", "EADDRINUSE"},
		{"rdma_connect", "ENOMEM"},
		{"rdma_accept", "ENOMEM"},
		{"rdma_", "EINVAL"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(call, table[i].begin, strlen(table[i].begin)) == 0)
			return table[i].err;
	return "ENOMEM";
}

/* True if the call is there already, or enough of its name and program are. */
static bool is_known_call(const struct sweep_calls *s, const struct sweep_call *c, uint32_t each)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < s->num; i++) {
		const struct sweep_call *o = &s->call[i];

		if (strcmp(o->name, c->name) != 0 || strcmp(o->prog, c->prog) != 0)
			continue;
		if (o->n == c->n || ++same == each)
			return true;
	}
	return false;
}

static void add_call(struct sweep_calls *s, const struct sweep_call *c)
{
	if (s->num == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->call = need_memory(reallocarray(s->call, s->room, sizeof(*s->call)));
	}
	s->call[s->num++] = *c;
}

/* False: a line of another kind, or half written by a process that died. */
static bool take_line(const char *line, const char *what, struct sweep_call *c)
{
	char kind[8];
	int pid;

	memset(c, 0, sizeof(*c));
	return sscanf(line, "%7s %39s %u %d %39[^\n]", kind, c->name, &c->n, &pid, c->prog) == 5 &&
	       strcmp(kind, what) == 0 && c->n;
}

void sweep_calls_read(struct sweep_calls *s, const char *path, uint32_t each)
{
	FILE *f = fopen(path, "re");
	struct sweep_call c;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (take_line(line, "call", &c) && !is_known_call(s, &c, each))
			add_call(s, &c);
	if (f)
		fclose(f);
}

bool sweep_calls_failed(const char *path)
{
	FILE *f = fopen(path, "re");
	struct sweep_call c;
	bool failed = false;
	char line[256];

	while (f && !failed && fgets(line, sizeof(line), f))
		failed = take_line(line, "failed", &c);
	if (f)
		fclose(f);
	return failed;
}
