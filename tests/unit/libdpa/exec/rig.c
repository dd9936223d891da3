/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void exec_rig_start(struct rig *r)
{
	rig_create(r, test_app);
	rig_go(r, sizeof(struct exec_shared));
}

uint64_t exec_value(struct doca_sync_event *se)
{
	uint64_t v;

	OK(doca_sync_event_get(se, &v));
	return v;
}

void exec_thread_new(struct rig *r, struct exec_thread *t, doca_dpa_func_t *fn,
		     struct doca_dpa_eu_affinity *affinity)
{
	OK(doca_dpa_thread_create(r->dpa, &t->thread));
	OK(doca_dpa_thread_set_func_arg(t->thread, fn, r->shared));
	if (affinity)
		OK(doca_dpa_thread_set_affinity(t->thread, affinity));
	OK(doca_dpa_notification_completion_create(r->dpa, t->thread, &t->notify));
	OK(doca_dpa_thread_start(t->thread));
	OK(doca_dpa_notification_completion_start(t->notify));
	OK(doca_dpa_notification_completion_get_dpa_handle(t->notify, &t->handle));
	OK(doca_dpa_thread_run(t->thread));
}

void exec_thread_free(struct exec_thread *t)
{
	OK(doca_dpa_notification_completion_destroy(t->notify));
	OK(doca_dpa_thread_destroy(t->thread));
}

void exec_notify(struct rig *r, struct exec_thread *t)
{
	uint64_t ret;

	PUT(r, notify, t->handle);
	OK(doca_dpa_rpc(r->dpa, &rpc_notify, &ret, r->shared));
	cr_assert_eq(ret, 1u);
}

const char *exec_file(const char *path)
{
	static char text[200000];
	FILE *f = fopen(path, "r");
	size_t n;

	cr_assert(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	return text;
}

void exec_new_file(char *buf)
{
	int fd;

	strcpy(buf, "/tmp/dpa-test-exec-XXXXXX");
	fd = mkstemp(buf);
	cr_assert_geq(fd, 0);
	close(fd);
}
