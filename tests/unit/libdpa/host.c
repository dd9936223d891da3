/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <string.h>
#include "host.h"
#include "open_dev.h"

struct doca_dev *open_dpa0(void)
{
	return open_dev("dpa0");
}

void rig_start(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->dev = open_dpa0();
	OK(doca_dpa_create(r->dev, &r->dpa));
	OK(doca_dpa_set_app(r->dpa, test_app));
	OK(doca_dpa_start(r->dpa));
	OK(doca_dpa_mem_alloc(r->dpa, sizeof(struct shared), &r->shared));
	OK(doca_dpa_memset(r->dpa, r->shared, 0, sizeof(struct shared)));
}

void rig_run(struct rig *r, doca_dpa_func_t *func)
{
	uint64_t handle;

	OK(doca_dpa_thread_create(r->dpa, &r->thread));
	OK(doca_dpa_thread_set_func_arg(r->thread, func, r->shared));
	OK(doca_dpa_thread_set_local_storage(r->thread, 0x1234));
	OK(doca_dpa_thread_start(r->thread));
	OK(doca_dpa_completion_create(r->dpa, 16, &r->comp));
	OK(doca_dpa_completion_set_thread(r->comp, r->thread));
	OK(doca_dpa_completion_start(r->comp));
	OK(doca_dpa_completion_get_dpa_handle(r->comp, &handle));
	OK(doca_dpa_h2d_memcpy(r->dpa, r->shared + offsetof(struct shared, comp), &handle, 8));
	OK(dpa_completion_get_ibv_cq(r->comp, &r->cq));
	OK(doca_dpa_thread_run(r->thread));
}

void rig_destroy(struct rig *r)
{
	if (r->comp)
		OK(doca_dpa_completion_destroy(r->comp));
	if (r->thread)
		OK(doca_dpa_thread_destroy(r->thread));
	OK(doca_dpa_destroy(r->dpa));
	OK(doca_dev_close(r->dev));
	cr_assert_eq(fake_cqs(), 0);
	cr_assert_eq(fake_opens(), 0);
}

uint64_t rig_read(struct rig *r, size_t offset)
{
	/* device memory is this process's: an atomic look at it, where d2h_memcpy is none */
	return __atomic_load_n((uint64_t *)(uintptr_t)(r->shared + offset), __ATOMIC_ACQUIRE);
}
