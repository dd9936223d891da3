/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "graph_rig.h"

struct graph_rig rig;

static void count_task(struct doca_dma_task_memcpy *t, union doca_data task_data,
		       union doca_data data)
{
	rig.task_callbacks++;
}

static void make_task(int i)
{
	struct doca_dma_task_memcpy *t;

	OK(doca_buf_inventory_buf_get_by_data(rig.inventory, rig.map, rig.mem, 10, &rig.src[i]));
	OK(doca_buf_inventory_buf_get_by_addr(rig.inventory, rig.map, rig.mem + 1000 * (i + 1), 100,
					      &rig.dst[i]));
	OK(doca_dma_task_memcpy_alloc_init(rig.dma, rig.src[i], rig.dst[i], (union doca_data){0},
					   &t));
	rig.task[i] = doca_dma_task_memcpy_as_task(t);
}

void graph_setup(void)
{
	rig.dev = open_dpa0();
	OK(doca_mmap_create(&rig.map));
	OK(doca_mmap_set_memrange(rig.map, rig.mem, sizeof(rig.mem)));
	OK(doca_mmap_add_dev(rig.map, rig.dev));
	OK(doca_mmap_start(rig.map));
	OK(doca_buf_inventory_create(20, &rig.inventory));
	OK(doca_buf_inventory_start(rig.inventory));
	OK(doca_pe_create(&rig.pe));
	OK(doca_dma_create(rig.dev, &rig.dma));
	rig.ctx = doca_dma_as_ctx(rig.dma);
	OK(doca_pe_connect_ctx(rig.pe, rig.ctx));
	OK(doca_dma_task_memcpy_set_conf(rig.dma, count_task, count_task, RIG_TASKS));
	OK(doca_ctx_start(rig.ctx));
	for (size_t i = 0; i < sizeof(rig.mem); i++)
		rig.mem[i] = (char)(i % 100);
	for (int i = 0; i < RIG_TASKS; i++)
		make_task(i);
}

void graph_teardown(void)
{
	for (int i = 0; i < RIG_TASKS; i++) {
		doca_task_free(rig.task[i]);
		OK(doca_buf_dec_refcount(rig.src[i], NULL));
		OK(doca_buf_dec_refcount(rig.dst[i], NULL));
	}
	OK(doca_ctx_stop(rig.ctx));
	OK(doca_dma_destroy(rig.dma));
	OK(doca_pe_destroy(rig.pe));
	OK(doca_buf_inventory_destroy(rig.inventory));
	OK(doca_mmap_destroy(rig.map));
	OK(doca_dev_close(rig.dev));
	cr_assert_eq(fake_opens(), 0);
}

static void on_done(struct doca_graph_instance *in, union doca_data own, union doca_data data)
{
	cr_assert_eq(data.ptr, &rig);
	rig.done++;
	rig.instance_data = own.u64;
	if (rig.again) {
		rig.again--;
		graph_rewind();
		OK(doca_graph_instance_submit(in));
		doca_pe_progress(rig.pe);
	}
}

static void on_error(struct doca_graph_instance *in, union doca_data own, union doca_data data)
{
	cr_assert_eq(data.ptr, &rig);
	rig.failed++;
}

struct doca_graph *new_graph(uint32_t instances)
{
	struct doca_graph *g;

	OK(doca_graph_create(rig.pe, &g));
	OK(doca_graph_set_conf(g, on_done, on_error, instances));
	OK(doca_graph_set_user_data(g, (union doca_data){.ptr = &rig}));
	return g;
}

void graph_run(void)
{
	while (doca_pe_progress(rig.pe))
		;
}

void graph_rewind(void)
{
	for (int i = 0; i < RIG_TASKS; i++) {
		OK(doca_buf_set_data(rig.src[i], rig.mem, 10));
		OK(doca_buf_reset_data_len(rig.dst[i]));
	}
}
