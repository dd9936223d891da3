/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "far_rig.h"
#include "../open_dev.h"

struct far_rig rig;

static void release(struct doca_dma_task_memcpy *t)
{
	const struct doca_buf *src = doca_dma_task_memcpy_get_src(t);

	OK(doca_buf_dec_refcount((struct doca_buf *)src, NULL));
	OK(doca_buf_dec_refcount(doca_dma_task_memcpy_get_dst(t), NULL));
	doca_task_free(doca_dma_task_memcpy_as_task(t));
}

static void on_done(struct doca_dma_task_memcpy *t, union doca_data number, union doca_data data)
{
	rig.done++;
	rig.status[number.u64] = DOCA_SUCCESS;
	release(t);
}

static void on_error(struct doca_dma_task_memcpy *t, union doca_data number, union doca_data data)
{
	rig.failed++;
	rig.status[number.u64] = doca_task_get_status(doca_dma_task_memcpy_as_task(t));
	release(t);
}

struct doca_mmap *far_map(char *mem, uint32_t access)
{
	struct doca_mmap *m;

	OK(doca_mmap_create(&m));
	OK(doca_mmap_set_memrange(m, mem, FAR_MEM));
	OK(doca_mmap_set_permissions(m, access));
	OK(doca_mmap_add_dev(m, rig.dev));
	OK(doca_mmap_start(m));
	return m;
}

static void export_far(void)
{
	const void *blob;

	rig.owner = far_map(rig.far, DOCA_ACCESS_FLAG_PCI_READ_WRITE);
	OK(doca_mmap_export_pci(rig.owner, rig.dev, &blob, &rig.len));
	cr_assert_leq(rig.len, sizeof(rig.blob));
	memcpy(rig.blob, blob, rig.len);
	OK(doca_mmap_create_from_export(NULL, rig.blob, rig.len, rig.dev, &rig.import));
}

void far_open(void)
{
	rig.dev = open_dev("dpa0");
	rig.near = malloc(FAR_MEM);
	cr_assert(rig.near);
	for (int i = 0; i < FAR_MEM; i++)
		rig.near[i] = (char)(i * 3 + i / 251);
	rig.map = far_map(rig.near, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
	OK(doca_buf_inventory_create(2 * FAR_TASKS + 100, &rig.inventory));
	OK(doca_buf_inventory_start(rig.inventory));
	OK(doca_pe_create(&rig.pe));
	OK(doca_dma_create(rig.dev, &rig.dma));
	rig.ctx = doca_dma_as_ctx(rig.dma);
	OK(doca_pe_connect_ctx(rig.pe, rig.ctx));
	OK(doca_dma_task_memcpy_set_conf(rig.dma, on_done, on_error, FAR_TASKS));
	OK(doca_ctx_start(rig.ctx));
}

void far_setup(void)
{
	memset(&rig, 0, sizeof(rig));
	rig.far = malloc(FAR_MEM);
	cr_assert(rig.far);
	for (int i = 0; i < FAR_MEM; i++)
		rig.far[i] = (char)(i * 5 + i / 241);
	far_open();
	export_far();
}

void far_drop_import(void)
{
	OK(doca_mmap_destroy(rig.import));
	rig.import = NULL;
}

void far_teardown(void)
{
	doca_error_t ret = doca_ctx_stop(rig.ctx);

	if (ret == DOCA_ERROR_IN_PROGRESS) {
		while (doca_dma_destroy(rig.dma) == DOCA_ERROR_IN_USE)
			doca_pe_progress(rig.pe);
	} else {
		OK(ret);
		OK(doca_dma_destroy(rig.dma));
	}
	OK(doca_pe_destroy(rig.pe));
	OK(doca_buf_inventory_destroy(rig.inventory));
	if (rig.import)
		far_drop_import();
	if (rig.owner)
		OK(doca_mmap_destroy(rig.owner));
	OK(doca_mmap_destroy(rig.map));
	OK(doca_dev_close(rig.dev));
	free(rig.near);
	free(rig.far);
}

struct doca_buf *far_data(struct doca_mmap *m, const char *at, size_t len)
{
	struct doca_buf *b;

	OK(doca_buf_inventory_buf_get_by_data(rig.inventory, m, (void *)at, len, &b));
	return b;
}

struct doca_buf *far_room(struct doca_mmap *m, const char *at, size_t len)
{
	struct doca_buf *b;

	OK(doca_buf_inventory_buf_get_by_addr(rig.inventory, m, (void *)at, len, &b));
	return b;
}

void far_submit(struct doca_buf *src, struct doca_buf *dst, uint64_t number)
{
	struct doca_dma_task_memcpy *t;

	OK(doca_dma_task_memcpy_alloc_init(rig.dma, src, dst, (union doca_data){.u64 = number},
					   &t));
	OK(doca_task_submit(doca_dma_task_memcpy_as_task(t)));
}

void far_await(int ended)
{
	while (rig.done + rig.failed < ended)
		doca_pe_progress(rig.pe);
}

void far_restart(void)
{
	enum doca_ctx_states s;

	do {
		doca_pe_progress(rig.pe);
		OK(doca_ctx_get_state(rig.ctx, &s));
	} while (s != DOCA_CTX_STATE_IDLE);
	OK(doca_ctx_start(rig.ctx));
}

doca_error_t far_copy(struct doca_buf *src, struct doca_buf *dst)
{
	far_submit(src, dst, 0);
	far_await(rig.done + rig.failed + 1);
	if (rig.status[0])
		far_restart();
	return rig.status[0];
}
