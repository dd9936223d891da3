/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "peer.h"
#include "tasks.h"

enum { TASKS_MAX_BUFS = 16 };

void tasks_ended(struct tasks *t, struct doca_task *task)
{
	doca_error_t status = doca_task_get_status(task);

	t->ended++;
	if (status == DOCA_SUCCESS)
		return;
	t->failed++;
	res_complain("a task", status);
}

static bool open_device(struct tasks *t)
{
	const char *want = t->args->rdma_dev[0] ? t->args->rdma_dev : t->args->pf_dev;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	uint32_t n;

	TRY(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && !t->dev; i++) {
		if (doca_rdma_cap_task_send_is_supported(list[i]) ||
		    doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)) ||
		    (want[0] && strcmp(name, want) != 0))
			continue;
		TRY(doca_dev_open(list[i], &t->dev));
	}
	TRY(doca_devinfo_destroy_list(list));
	if (!t->dev)
		fprintf(stderr, "no device %s that has tasks of RDMA\n", want);
	return t->dev != NULL;
}

static bool make_memory(struct tasks *t)
{
	t->mem = calloc(1, t->len);
	if (!t->mem)
		return false;
	TRY(doca_mmap_create(&t->map));
	TRY(doca_mmap_set_permissions(
		t->map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
				DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	TRY(doca_mmap_set_memrange(t->map, t->mem, t->len));
	TRY(doca_mmap_add_dev(t->map, t->dev));
	TRY(doca_mmap_start(t->map));
	TRY(doca_buf_inventory_create(TASKS_MAX_BUFS, &t->inventory));
	TRY(doca_buf_inventory_start(t->inventory));
	return true;
}

bool tasks_open(struct tasks *t, const struct args *a, int fd, size_t len)
{
	*t = (struct tasks){.args = a, .fd = fd, .len = len};
	if (!open_device(t) || !make_memory(t))
		return false;
	TRY(doca_pe_create(&t->pe));
	TRY(doca_rdma_create(t->dev, &t->rdma));
	t->ctx = doca_rdma_as_ctx(t->rdma);
	TRY(doca_rdma_set_permissions(
		t->rdma, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
				 DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC));
	TRY(doca_rdma_set_grh_enabled(t->rdma, 1));
	TRY(doca_rdma_set_gid_index(t->rdma, (uint32_t)a->gid_index));
	TRY(doca_ctx_set_user_data(t->ctx, (union doca_data){.ptr = t}));
	return true;
}

/* Sends a message and gets one of the peer, which the caller frees. */
static void *swap(struct tasks *t, const void *own, size_t len, size_t *got)
{
	return peer_put(t->fd, own, len) ? peer_get(t->fd, got) : NULL;
}

static bool swap_memory(struct tasks *t)
{
	const void *own;
	doca_error_t ret;
	size_t len;
	void *other;

	TRY(doca_mmap_export_rdma(t->map, t->dev, &own, &len));
	other = swap(t, own, len, &len);
	if (!other)
		return false;
	ret = doca_mmap_create_from_export(NULL, other, len, t->dev, &t->far);
	free(other);
	if (ret != DOCA_SUCCESS) {
		res_complain("doca_mmap_create_from_export", ret);
		return false;
	}
	TRY(doca_mmap_get_memrange(t->far, (void **)&t->far_mem, &len));
	return len == t->len;
}

bool tasks_connect(struct tasks *t)
{
	const void *own;
	doca_error_t ret;
	size_t len;
	void *other;

	TRY(doca_pe_connect_ctx(t->pe, t->ctx));
	TRY(doca_ctx_start(t->ctx));
	TRY(doca_rdma_export(t->rdma, &own, &len, &t->connection));
	other = swap(t, own, len, &len);
	if (!other)
		return false;
	ret = doca_rdma_connect(t->rdma, other, len, t->connection);
	free(other);
	if (ret != DOCA_SUCCESS) {
		res_complain("doca_rdma_connect", ret);
		return false;
	}
	return swap_memory(t) && peer_meet(t->fd);
}

bool tasks_buf(struct tasks *t, struct doca_mmap *map, void *at, size_t len, bool data,
	       struct doca_buf **buf)
{
	if (data)
		TRY(doca_buf_inventory_buf_get_by_data(t->inventory, map, at, len, buf));
	else
		TRY(doca_buf_inventory_buf_get_by_addr(t->inventory, map, at, len, buf));
	return true;
}

bool tasks_wait(struct tasks *t, unsigned int n)
{
	bool ok;

	while (t->ended < n)
		doca_pe_progress(t->pe);
	ok = !t->failed;
	t->ended = t->failed = 0;
	return ok;
}

bool tasks_run(struct tasks *t, struct doca_task *task)
{
	doca_error_t ret = doca_task_submit(task);
	bool ok = ret == DOCA_SUCCESS && tasks_wait(t, 1);

	if (ret != DOCA_SUCCESS)
		res_complain("doca_task_submit", ret);
	doca_task_free(task);
	return ok;
}

bool tasks_close(struct tasks *t)
{
	enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
	bool ok = true;

	if (t->ctx)
		doca_ctx_stop(t->ctx);
	while (t->ctx && !doca_ctx_get_state(t->ctx, &state) && state != DOCA_CTX_STATE_IDLE)
		doca_pe_progress(t->pe);
	END(&ok, t->rdma, doca_rdma_destroy(t->rdma));
	END(&ok, t->pe, doca_pe_destroy(t->pe));
	END(&ok, t->inventory, doca_buf_inventory_destroy(t->inventory));
	END(&ok, t->far, doca_mmap_destroy(t->far));
	END(&ok, t->map, doca_mmap_destroy(t->map));
	END(&ok, t->dev, doca_dev_close(t->dev));
	free(t->mem);
	return ok;
}
