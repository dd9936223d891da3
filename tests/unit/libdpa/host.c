/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host.h"
#include "open_dev.h"

struct doca_dev *open_dpa0(void)
{
	return open_dev("dpa0");
}

void rig_create(struct rig *r, struct doca_dpa_app *app)
{
	memset(r, 0, sizeof(*r));
	r->dev = open_dpa0();
	OK(doca_dpa_create(r->dev, &r->dpa));
	OK(doca_dpa_set_app(r->dpa, app));
}

void rig_go(struct rig *r, size_t size)
{
	OK(doca_dpa_start(r->dpa));
	OK(doca_dpa_mem_alloc(r->dpa, size, &r->shared));
	OK(doca_dpa_memset(r->dpa, r->shared, 0, size));
}

uint64_t rig_thread(struct rig *r, doca_dpa_func_t *func, uint32_t entries)
{
	uint64_t handle;

	OK(doca_dpa_thread_create(r->dpa, &r->thread));
	OK(doca_dpa_thread_set_func_arg(r->thread, func, r->shared));
	OK(doca_dpa_thread_set_local_storage(r->thread, 0x1234));
	OK(doca_dpa_thread_start(r->thread));
	OK(doca_dpa_completion_create(r->dpa, entries, &r->comp));
	OK(doca_dpa_completion_set_thread(r->comp, r->thread));
	OK(doca_dpa_completion_start(r->comp));
	OK(doca_dpa_completion_get_dpa_handle(r->comp, &handle));
	OK(dpa_completion_get_ibv_cq(r->comp, &r->cq));
	return handle;
}

void rig_run(struct rig *r, doca_dpa_func_t *func)
{
	uint64_t handle = rig_thread(r, func, 16);

	OK(doca_dpa_h2d_memcpy(r->dpa, r->shared + offsetof(struct shared, comp), &handle, 8));
	OK(doca_dpa_thread_run(r->thread));
}

struct doca_sync_event *rig_event(struct rig *r, uint64_t *word)
{
	struct doca_sync_event *se;

	OK(doca_sync_event_create(&se));
	OK(doca_sync_event_add_publisher_location_cpu(se, r->dev));
	OK(doca_sync_event_add_publisher_location_dpa(se, r->dpa));
	OK(doca_sync_event_add_subscriber_location_cpu(se, r->dev));
	OK(doca_sync_event_add_subscriber_location_dpa(se, r->dpa));
	if (word)
		OK(doca_sync_event_set_addr(se, word));
	OK(doca_sync_event_start(se));
	return se;
}

void rig_await_fatal(struct rig *r)
{
	while (doca_dpa_peek_at_last_error(r->dpa) == DOCA_SUCCESS)
		sched_yield();
	IS(doca_dpa_peek_at_last_error(r->dpa), BAD_STATE);
}

void rig_drop_crash(const char *prefix)
{
	static const char *const kinds[] = {"core", "crash", "so"};
	char path[200];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s.%d.%s", prefix, getpid(), kinds[i]);
		unlink(path);
	}
}

void rig_close(struct rig *r)
{
	if (r->comp)
		OK(doca_dpa_completion_destroy(r->comp));
	if (r->thread)
		OK(doca_dpa_thread_destroy(r->thread));
	OK(doca_dpa_destroy(r->dpa));
	OK(doca_dev_close(r->dev));
}

void rig_destroy(struct rig *r)
{
	rig_close(r);
	cr_assert_eq(fake_cqs(), 0);
	cr_assert_eq(fake_opens(), 0);
}

uint64_t rig_read(struct rig *r, size_t offset)
{
	/* device memory is memory of this process: read it atomically, which d2h_memcpy does not */
	return __atomic_load_n((uint64_t *)(uintptr_t)(r->shared + offset), __ATOMIC_ACQUIRE);
}

void rig_put(struct rig *r, size_t offset, uint64_t value)
{
	__atomic_store_n((uint64_t *)(uintptr_t)(r->shared + offset), value, __ATOMIC_RELEASE);
}
