/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "rig.h"
#include "libdpa/host/libdpa.h"

void sync_rig_start(struct rig *r)
{
	rig_create(r, test_app);
	rig_go(r, sizeof(struct sync_shared));
}

struct doca_sync_event *sync_new_event(struct rig *r, uint64_t *word, uint64_t *handle)
{
	struct doca_sync_event *se = rig_event(r, word);

	OK(doca_sync_event_get_dpa_handle(se, r->dpa, handle));
	return se;
}

void sync_notify(struct doca_dpa_thread *t)
{
	dpa_act_notify(&t->act);
}

struct doca_mmap *sync_map(struct rig *r, void *addr, size_t len, uint32_t access, uint32_t *key)
{
	struct doca_mmap *m;

	OK(doca_mmap_create(&m));
	OK(doca_mmap_set_memrange(m, addr, len));
	OK(doca_mmap_set_permissions(m, access));
	OK(doca_mmap_add_dev(m, r->dev));
	OK(doca_mmap_start(m));
	OK(doca_mmap_dev_get_dpa_handle(m, r->dev, key));
	return m;
}

void sync_async_start(struct rig *r, struct async_rig *a, unsigned int queue_size,
		      uint64_t user_data)
{
	uint64_t h;

	OK(doca_dpa_completion_create(r->dpa, 64, &a->comp));
	OK(doca_dpa_completion_start(a->comp));
	OK(doca_dpa_completion_get_dpa_handle(a->comp, &h));
	PUT(r, s.comp2, h);
	OK(doca_dpa_async_ops_create(r->dpa, queue_size, user_data, &a->ops));
	OK(doca_dpa_async_ops_attach(a->ops, a->comp));
	OK(doca_dpa_async_ops_start(a->ops));
	OK(doca_dpa_async_ops_get_dpa_handle(a->ops, &h));
	PUT(r, async_ops, h);
}

void sync_async_destroy(struct async_rig *a)
{
	OK(doca_dpa_async_ops_destroy(a->ops));
	OK(doca_dpa_completion_destroy(a->comp));
}

void sync_command(struct rig *r, uint32_t *n, struct command c)
{
	OK(doca_dpa_h2d_memcpy(r->dpa,
			       r->shared + offsetof(struct sync_shared, commands) + *n * sizeof(c),
			       &c, sizeof(c)));
	++*n;
}

extern doca_dpa_func_t run_commands;

void sync_run(struct rig *r)
{
	rig_run(r, &run_commands);
	fake_push_recv(r->cq, 1);
}

void sync_await_end(struct rig *r, uint64_t activations)
{
	AWAIT(r, activations, activations);
	OK(doca_dpa_thread_stop(r->thread));
}

void sync_remove_files(void)
{
	rig_drop_crash(CRASH);
}
