/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* res.c - devices, contexts, events, maps and threads. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "res.h"

void res_complain(const char *call, doca_error_t error)
{
	fprintf(stderr, "%.*s: %s (%s)\n", (int)strcspn(call, "("), call,
		doca_error_get_descr(error), doca_error_get_name(error));
}

/* Opens the device with that name, or the first one that has a DPA. */
static bool open_dev(const char *name, struct doca_dev **dev)
{
	char have[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	doca_error_t ret = DOCA_ERROR_NOT_FOUND;
	struct doca_devinfo **list;
	uint32_t n;

	TRY(doca_devinfo_create_list(&list, &n));
	for (uint32_t i = 0; i < n && ret == DOCA_ERROR_NOT_FOUND; i++) {
		if (doca_dpa_cap_is_supported(list[i]) != DOCA_SUCCESS ||
		    doca_devinfo_get_ibdev_name(list[i], have, sizeof(have)) != DOCA_SUCCESS)
			continue;
		if (!name[0] || strcmp(name, have) == 0)
			ret = doca_dev_open(list[i], dev);
	}
	doca_devinfo_destroy_list(list);
	if (ret != DOCA_SUCCESS)
		res_complain(name[0] ? name : "a device with a DPA", ret);
	return ret == DOCA_SUCCESS;
}

bool res_open(struct res *r, const struct args *a, struct doca_dpa_app *app)
{
	memset(r, 0, sizeof(*r));
	if (!open_dev(a->pf_dev, &r->pf_dev))
		return false;
	TRY(doca_dpa_create(r->pf_dev, &r->pf_dpa));
	TRY(doca_dpa_set_app(r->pf_dpa, app));
	TRY(doca_dpa_start(r->pf_dpa));
	r->rdma_dev = r->pf_dev;
	r->dpa = r->pf_dpa;
	if (!a->rdma_dev[0])
		return true;
	if (!open_dev(a->rdma_dev, &r->rdma_dev))
		return false;
	if (r->rdma_dev == r->pf_dev) { /* opened twice; the library counts opens */
		TRY(doca_dev_close(r->rdma_dev));
		return true;
	}
	r->dpa = NULL;
	TRY(doca_dpa_device_extend(r->pf_dpa, r->rdma_dev, &r->dpa));
	TRY(doca_dpa_get_dpa_handle(r->dpa, &r->dpa_handle));
	return true;
}

bool res_close(struct res *r)
{
	bool ok = true;

	if (r->dpa != r->pf_dpa)
		END(&ok, r->dpa, doca_dpa_destroy(r->dpa));
	END(&ok, r->pf_dpa, doca_dpa_destroy(r->pf_dpa));
	if (r->rdma_dev != r->pf_dev)
		END(&ok, r->rdma_dev, doca_dev_close(r->rdma_dev));
	END(&ok, r->pf_dev, doca_dev_close(r->pf_dev));
	return ok;
}

bool res_event(struct res *r, enum res_event_kind kind, struct doca_sync_event **event,
	       doca_dpa_dev_sync_event_t *handle)
{
	TRY(doca_sync_event_create(event));
	if (kind == RES_EVENT_TO_DPA)
		TRY(doca_sync_event_add_publisher_location_cpu(*event, r->pf_dev));
	else
		TRY(doca_sync_event_add_publisher_location_dpa(*event, r->dpa));
	if (kind == RES_EVENT_TO_HOST)
		TRY(doca_sync_event_add_subscriber_location_cpu(*event, r->pf_dev));
	else
		TRY(doca_sync_event_add_subscriber_location_dpa(*event, r->dpa));
	TRY(doca_sync_event_start(*event));
	if (handle)
		TRY(doca_sync_event_get_dpa_handle(*event, r->dpa, handle));
	return true;
}

bool res_await(struct res *r, struct doca_sync_event *event, uint64_t value)
{
	uint64_t now;

	for (;;) {
		TRY(doca_sync_event_get(event, &now));
		if (now > value)
			return true;
		TRY(doca_dpa_peek_at_last_error(r->pf_dpa));
		sched_yield();
	}
}

bool res_map(struct res *r, void *addr, size_t len, uint32_t access, struct doca_mmap **map,
	     doca_dpa_dev_mmap_t *handle)
{
	TRY(doca_mmap_create(map));
	TRY(doca_mmap_set_permissions(*map, access));
	TRY(doca_mmap_set_memrange(*map, addr, len));
	TRY(doca_mmap_add_dev(*map, r->rdma_dev));
	TRY(doca_mmap_start(*map));
	TRY(doca_mmap_dev_get_dpa_handle(*map, r->rdma_dev, handle));
	return true;
}

bool res_map_heap(struct res *r, doca_dpa_dev_uintptr_t addr, size_t len, uint32_t access,
		  struct doca_mmap **map, doca_dpa_dev_mmap_t *handle)
{
	TRY(doca_mmap_create(map));
	TRY(doca_mmap_set_permissions(*map, access));
	TRY(doca_mmap_set_dpa_memrange(*map, r->dpa, addr, len));
	TRY(doca_mmap_start(*map));
	TRY(doca_mmap_dev_get_dpa_handle(*map, r->rdma_dev, handle));
	return true;
}

bool res_alloc(struct res *r, size_t len, doca_dpa_dev_uintptr_t *addr)
{
	TRY(doca_dpa_mem_alloc(r->pf_dpa, len, addr));
	TRY(doca_dpa_memset(r->pf_dpa, *addr, 0, len));
	return true;
}

bool res_thread(struct res *r, doca_dpa_func_t *func, uint64_t arg, struct doca_dpa_thread **thread)
{
	TRY(doca_dpa_thread_create(r->dpa, thread));
	TRY(doca_dpa_thread_set_func_arg(*thread, func, arg));
	TRY(doca_dpa_thread_start(*thread));
	return true;
}

bool res_completion(struct res *r, unsigned int depth, struct doca_dpa_thread *thread,
		    struct doca_dpa_completion **comp, doca_dpa_dev_completion_t *handle)
{
	TRY(doca_dpa_completion_create(r->dpa, depth, comp));
	if (thread)
		TRY(doca_dpa_completion_set_thread(*comp, thread));
	TRY(doca_dpa_completion_start(*comp));
	TRY(doca_dpa_completion_get_dpa_handle(*comp, handle));
	return true;
}

bool res_notification(struct res *r, struct doca_dpa_thread *thread,
		      struct doca_dpa_notification_completion **comp,
		      doca_dpa_dev_notification_completion_t *handle)
{
	TRY(doca_dpa_notification_completion_create(r->dpa, thread, comp));
	TRY(doca_dpa_notification_completion_start(*comp));
	TRY(doca_dpa_notification_completion_get_dpa_handle(*comp, handle));
	return true;
}
