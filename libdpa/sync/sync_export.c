/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sync_export.c - sync events for others: handles for device code, and exports for peers, which
 * change the word by RDMA.
 *
 * An export is bytes that may travel between machines, little-endian:
 *   0  magic "dpaevt\0\1"          16 address of the word
 *   8  size of this, bytes         24 R_Key
 *  12  version                     28 0
 */
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "../host/libdpa.h"
#include "sync_event.h"
#include <doca_sync_event.h>

#define EXPORT_VERSION 1

struct blob {
	char magic[8];
	uint32_t size;
	uint32_t version;
	uint64_t addr;
	uint32_t rkey;
	uint32_t rsvd;
};
static_assert(sizeof(struct blob) == 32, "the format of exports");

static const char magic[8] = {'d', 'p', 'a', 'e', 'v', 't', 0, 1};

struct doca_sync_event_remote_net {
	struct doca_dev *dev; /* referenced */
	uint64_t addr;
	uint32_t rkey;
	struct dpa_se_export *exports;
};

/* ----------------------------------------------------------------- handles */

/* The handle of an event for one context. */
struct dpa_se_export {
	struct dpa_object obj;
	void *of;
	struct doca_dpa *dpa;	   /* referenced, and with it the table's context */
	struct dpa_handles *table; /* table of its program */
	struct dpa_se_export *next;
};

bool dpa_se_export_handle(struct dpa_se_export **list, struct doca_dpa *dpa, uint32_t type,
			  void *of, uint64_t *handle)
{
	struct dpa_se_export *x = *list;

	while (x && x->dpa != dpa)
		x = x->next;
	if (!x) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return false;
		x->of = of;
		x->table = dpa_handles_for(dpa, (enum dpa_handle_type)type);
		if (!dpa_handle_new(x->table, (enum dpa_handle_type)type, &x->obj)) {
			free(x);
			return false;
		}
		x->dpa = dpa;
		dpa_ctx_hold(dpa);
		x->next = *list;
		*list = x;
	}
	*handle = x->obj.handle;
	return true;
}

void dpa_se_export_drop(struct dpa_se_export **list)
{
	struct dpa_se_export *x, *next;

	for (x = *list; x; x = x->next)
		dpa_handle_drop(x->table, &x->obj);
	if (*list)
		dpa_pool_quiesce();
	for (x = *list; x; x = next) {
		next = x->next;
		dpa_ctx_release(x->dpa);
		free(x);
	}
	*list = NULL;
}

struct doca_sync_event *dpa_se_of(const struct dpa_object *obj)
{
	return container_of(obj, struct dpa_se_export, obj)->of;
}

void dpa_se_remote_where(const struct dpa_object *obj, uint64_t *addr, uint32_t *rkey)
{
	const struct doca_sync_event_remote_net *r =
		container_of(obj, struct dpa_se_export, obj)->of;

	*addr = r->addr;
	*rkey = r->rkey;
}

doca_error_t dpa_se_remote_word(const struct doca_sync_event_remote_net *event, uint64_t *addr,
				uint32_t *rkey)
{
	if (!dpa_live(event))
		return DOCA_ERROR_INVALID_VALUE;
	*addr = event->addr;
	*rkey = event->rkey;
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------ exports */

/* Return the device that the word is registered with: the first one of the event. */
static struct doca_dev *device_of(const struct doca_sync_event *se)
{
	const struct dpa_se_side *sides[] = {&se->sub, &se->pub};

	for (int i = 0; i < 2; i++) {
		if (sides[i]->num_dpas && sides[i]->dpas[0]->state != DPA_DEAD)
			return sides[i]->dpas[0]->dev;
		if (sides[i]->dev)
			return sides[i]->dev;
	}
	return NULL;
}

static doca_error_t register_word(struct doca_sync_event *se)
{
	struct doca_dev *dev = device_of(se);
	struct ibv_pd *pd;

	if (!dev || !dev->info.is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	pd = dpa_dev_pd(dev);
	if (pd)
		se->mr = ibv_reg_mr(pd, (void *)(uintptr_t)se->word, sizeof(uint64_t),
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!se->mr)
		return DOCA_ERROR_NO_MEMORY;
	se->mr_dev = dev;
	dpa_dev_use(dev, 1);
	return DOCA_SUCCESS;
}

void dpa_se_unregister(struct doca_sync_event *se)
{
	if (se->mr) {
		ibv_dereg_mr(se->mr);
		dpa_dev_use(se->mr_dev, -1);
	}
	se->mr = NULL;
	free(se->blob);
	se->blob = NULL;
}

static struct blob *make_blob(const struct doca_sync_event *se)
{
	struct blob *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	memcpy(b->magic, magic, sizeof(magic));
	b->size = htole32(sizeof(*b));
	b->version = htole32(EXPORT_VERSION);
	b->addr = htole64((uintptr_t)se->word);
	b->rkey = htole32(se->mr->rkey);
	return b;
}

doca_error_t doca_sync_event_export_to_remote_net(struct doca_sync_event *event,
						  const uint8_t **data, size_t *sz)
{
	doca_error_t ret;

	if (!dpa_live(event) || !data || !sz ||
	    atomic_load_explicit(&event->state, memory_order_acquire) != DPA_SE_STARTED)
		return DOCA_ERROR_INVALID_VALUE;
	if (!(event->pub.where & DPA_SE_LOC_NET))
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!event->mr) {
		ret = register_word(event);
		if (ret)
			return ret;
	}
	if (!event->blob)
		event->blob = make_blob(event);
	if (!event->blob)
		return DOCA_ERROR_NO_MEMORY;
	*data = event->blob;
	*sz = sizeof(struct blob);
	return DOCA_SUCCESS;
}

/* Parse an export. It comes from outside: check each field before it is used. */
static doca_error_t parse_remote(const uint8_t *data, size_t sz,
				 struct doca_sync_event_remote_net *r)
{
	struct blob b;

	if (sz < sizeof(b))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(&b, data, sizeof(b));
	if (memcmp(b.magic, magic, sizeof(magic)))
		return DOCA_ERROR_INVALID_VALUE;
	if (le32toh(b.version) != EXPORT_VERSION)
		return DOCA_ERROR_NOT_SUPPORTED;
	r->addr = le64toh(b.addr);
	r->rkey = le32toh(b.rkey);
	if (sz != sizeof(b) || le32toh(b.size) != sizeof(b) || b.rsvd || !r->addr || r->addr % 8)
		return DOCA_ERROR_INVALID_VALUE;
	return DOCA_SUCCESS;
}

doca_error_t
doca_sync_event_remote_net_create_from_export(struct doca_dev *dev, const uint8_t *data, size_t sz,
					      struct doca_sync_event_remote_net **event)
{
	struct doca_sync_event_remote_net r = {.dev = dev}, *out;
	doca_error_t ret;

	if (!dpa_live(dev) || !data || !event)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dev->info.is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	ret = parse_remote(data, sz, &r);
	if (ret)
		return ret;
	out = dpa_obj_new(DPA_T_REMOTE_EVENT, sizeof(*out));
	if (!out)
		return DOCA_ERROR_NO_MEMORY;
	*out = r;
	dpa_dev_use(dev, 1);
	*event = out;
	return DOCA_SUCCESS;
}

doca_error_t doca_sync_event_remote_net_destroy(struct doca_sync_event_remote_net *event)
{
	if (!dpa_live(event))
		return DOCA_ERROR_INVALID_VALUE;
	dpa_se_export_drop(&event->exports);
	dpa_dev_use(event->dev, -1);
	dpa_obj_free(event);
	return DOCA_SUCCESS;
}

doca_error_t
doca_sync_event_remote_net_get_dpa_handle(struct doca_sync_event_remote_net *event,
					  struct doca_dpa *dpa,
					  doca_dpa_dev_sync_event_remote_net_t *dpa_remote_event)
{
	if (!dpa_live(event) || !dpa_live(dpa) || !dpa_remote_event || !dpa_ctx_usable(dpa))
		return DOCA_ERROR_INVALID_VALUE;
	if (event->dev != dpa->dev)
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!dpa_se_export_handle(&event->exports, dpa, DPA_H_SYNC_EVENT_REMOTE, event,
				  dpa_remote_event))
		return DOCA_ERROR_NO_MEMORY;
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------- capabilities */

doca_error_t doca_sync_event_cap_is_export_to_dpa_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t
doca_sync_event_cap_is_export_to_remote_net_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t
doca_sync_event_cap_remote_net_is_create_from_export_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t
doca_sync_event_cap_remote_net_is_export_to_dpa_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}
