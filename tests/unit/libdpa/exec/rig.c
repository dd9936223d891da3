/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void exec_rig_create(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->dev = open_dpa0();
	OK(doca_dpa_create(r->dev, &r->dpa));
	OK(doca_dpa_set_app(r->dpa, test_app));
}

void exec_rig_go(struct rig *r)
{
	OK(doca_dpa_start(r->dpa));
	OK(doca_dpa_mem_alloc(r->dpa, sizeof(struct exec_shared), &r->shared));
	OK(doca_dpa_memset(r->dpa, r->shared, 0, sizeof(struct exec_shared)));
}

void exec_rig_start(struct rig *r)
{
	exec_rig_create(r);
	exec_rig_go(r);
}

/* Kernels look at it meanwhile. */
void exec_put(struct rig *r, size_t offset, uint64_t value)
{
	__atomic_store_n((uint64_t *)(uintptr_t)(r->shared + offset), value, __ATOMIC_RELEASE);
}

struct doca_sync_event *exec_event(struct rig *r)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, r->dev));
	OK(doca_sync_event_add_publisher_location_dpa(se, r->dpa));
	OK(doca_sync_event_add_subscriber_location_cpu(se, r->dev));
	OK(doca_sync_event_add_subscriber_location_dpa(se, r->dpa));
	OK(doca_sync_event_start(se));
	return se;
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

void exec_await_fatal(struct rig *r)
{
	while (doca_dpa_peek_at_last_error(r->dpa) == DOCA_SUCCESS)
		sched_yield();
}

void exec_drop_crash(const char *prefix)
{
	static const char *const kinds[] = {"core", "crash", "so"};
	char path[200];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s.%d.%s", prefix, getpid(), kinds[i]);
		unlink(path);
	}
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
