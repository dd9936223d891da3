/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * main.c - dpa_dma [-n BYTES]: the listening side exports memory for the other side of the PCI bus.
 * The connecting side copies it by a doca_dma, inverts its copy, and copies it back behind the
 * original. The program of the listening side does nothing meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dma.h>
#include <doca_pe.h>
#include "peer.h"
#include "res.h"

struct range {
	uint64_t addr, len;
};

struct end {
	struct args *args;
	int fd;
	struct doca_dev *dev;
	uint8_t *mem; /* on the listening side: twice len */
	size_t len;
	struct doca_mmap *map, *far;
	struct doca_pe *pe;
	struct doca_dma *dma;
	struct doca_ctx *ctx;
	struct doca_buf_inventory *inventory;
	doca_error_t status;
	bool ended;
};

static bool open_end_device(struct end *e)
{
	struct doca_devinfo **list;
	const char *want = e->args->rdma_dev[0] ? e->args->rdma_dev : e->args->pf_dev;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	uint32_t n;

	TRY(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !e->dev; i++) {
		if (doca_dma_cap_task_memcpy_is_supported(list[i]) ||
		    doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)) ||
		    (want[0] && strcmp(name, want) != 0))
			continue;
		TRY(doca_dev_open(list[i], &e->dev));
	}
	TRY(doca_devinfo_destroy_list(list));
	if (!e->dev)
		fprintf(stderr, "no device %s that copies\n", want);
	return e->dev != NULL;
}

static bool make_end_map(struct end *e, size_t len, uint32_t access)
{
	e->mem = calloc(1, len);
	if (!e->mem)
		return false;
	TRY(doca_mmap_create(&e->map));
	TRY(doca_mmap_set_memrange(e->map, e->mem, len));
	TRY(doca_mmap_set_permissions(e->map, access));
	TRY(doca_mmap_add_dev(e->map, e->dev));
	TRY(doca_mmap_start(e->map));
	return true;
}

/* -------------------------------------------------------------- the listening side */

static bool run_owner_end(struct end *e)
{
	struct range own = {.len = e->len};
	const void *blob;
	size_t size, wrong = 0;

	if (!make_end_map(e, 2 * e->len, DOCA_ACCESS_FLAG_PCI_READ_WRITE))
		return false;
	own.addr = (uintptr_t)e->mem;
	for (size_t i = 0; i < e->len; i++)
		e->mem[i] = (uint8_t)(i * 7 + i / 256);
	TRY(doca_mmap_export_pci(e->map, e->dev, &blob, &size));
	if (!peer_put(e->fd, blob, size) || !peer_put(e->fd, &own, sizeof(own)) ||
	    !peer_meet(e->fd))
		return false;
	for (size_t i = 0; i < e->len; i++)
		wrong += e->mem[e->len + i] != 255 - e->mem[i];
	printf("%zu bytes came back, %zu of them wrong\n", e->len, wrong);
	return !wrong;
}

/* ------------------------------------------------------------ the connecting side */

static void end_copied(struct doca_dma_task_memcpy *task, union doca_data task_data,
		       union doca_data ctx_data)
{
	struct end *e = ctx_data.ptr;

	(void)task_data;
	e->status = doca_task_get_status(doca_dma_task_memcpy_as_task(task));
	e->ended = true;
}

static bool start_end_dma(struct end *e)
{
	TRY(doca_pe_create(&e->pe));
	TRY(doca_buf_inventory_create(2, &e->inventory));
	TRY(doca_buf_inventory_start(e->inventory));
	TRY(doca_dma_create(e->dev, &e->dma));
	e->ctx = doca_dma_as_ctx(e->dma);
	TRY(doca_pe_connect_ctx(e->pe, e->ctx));
	TRY(doca_ctx_set_user_data(e->ctx, (union doca_data){.ptr = e}));
	TRY(doca_dma_task_memcpy_set_conf(e->dma, end_copied, end_copied, 1));
	TRY(doca_ctx_start(e->ctx));
	return true;
}

static bool run_end_copy(struct end *e, struct doca_mmap *from, void *src, struct doca_mmap *to,
			 void *dst)
{
	struct doca_dma_task_memcpy *task;
	struct doca_buf *in, *out;
	bool ok = true;

	TRY(doca_buf_inventory_buf_get_by_data(e->inventory, from, src, e->len, &in));
	TRY(doca_buf_inventory_buf_get_by_addr(e->inventory, to, dst, e->len, &out));
	TRY(doca_dma_task_memcpy_alloc_init(e->dma, in, out, (union doca_data){.u64 = 0}, &task));
	e->ended = false;
	TRY(doca_task_submit(doca_dma_task_memcpy_as_task(task)));
	while (!e->ended)
		doca_pe_progress(e->pe);
	doca_task_free(doca_dma_task_memcpy_as_task(task));
	END(&ok, in, doca_buf_dec_refcount(in, NULL));
	END(&ok, out, doca_buf_dec_refcount(out, NULL));
	if (e->status)
		res_complain("the copy", e->status);
	return ok && !e->status;
}

static bool copy_end_there_and_back(struct end *e, const struct range *far)
{
	char *at = (char *)(uintptr_t)far->addr;

	if (!run_end_copy(e, e->far, at, e->map, e->mem))
		return false;
	for (size_t i = 0; i < e->len; i++)
		e->mem[i] = 255 - e->mem[i];
	return run_end_copy(e, e->map, e->mem, e->far, at + e->len);
}

static bool run_copier_end(struct end *e)
{
	size_t size, got;
	void *blob = peer_get(e->fd, &size);
	struct range *far = peer_get(e->fd, &got);
	bool ok = blob && far && got == sizeof(*far);

	if (ok) {
		e->len = far->len;
		ok = make_end_map(e, e->len, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE) &&
		     start_end_dma(e) &&
		     !doca_mmap_create_from_export(NULL, blob, size, e->dev, &e->far) &&
		     copy_end_there_and_back(e, far);
	}
	if (ok)
		printf("%zu bytes copied there and back\n", e->len);
	free(far);
	free(blob);
	return peer_meet(e->fd) && ok;
}

static bool close_end(struct end *e)
{
	bool ok = true;

	if (e->ctx)
		doca_ctx_stop(e->ctx);
	END(&ok, e->dma, doca_dma_destroy(e->dma));
	END(&ok, e->pe, doca_pe_destroy(e->pe));
	END(&ok, e->inventory, doca_buf_inventory_destroy(e->inventory));
	END(&ok, e->far, doca_mmap_destroy(e->far));
	END(&ok, e->map, doca_mmap_destroy(e->map));
	END(&ok, e->dev, doca_dev_close(e->dev));
	free(e->mem);
	return ok;
}

int main(int argc, char **argv)
{
	struct args a = {.count = 100000};
	struct end e = {.args = &a};
	bool ok;

	if (!args_parse(&a, "dpa_dma", ARGS_PEER | ARGS_COUNT, argc, argv))
		return 1;
	e.len = (size_t)a.count;
	e.fd = peer_open(&a);
	if (e.fd < 0)
		return 1;
	ok = open_end_device(&e) && (a.connect[0] ? run_copier_end(&e) : run_owner_end(&e));
	ok = close_end(&e) && ok;
	close(e.fd);
	return ok ? 0 : 1;
}
