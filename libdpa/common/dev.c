/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dev.c - devices: the list, and open devices, which share one libibverbs context. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "../host/libdpa.h"
#include "log/log.h"
#include <doca_ctx.h>

static struct {
	pthread_mutex_t lock;
	struct doca_dev *devs; /* open devices; their refs and users */
} open_devs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fill_info(struct doca_devinfo *info, struct ibv_device *ibdev)
{
	__be64 guid;

	info->ibdev = ibdev;
	strncpy(info->name, ibv_get_device_name(ibdev), sizeof(info->name) - 1);
	guid = ibv_get_device_guid(ibdev);
	memcpy(info->guid, &guid, sizeof(info->guid));
	info->is_dpa = dpa_hwif_is_dpa(ibdev);
	if (info->is_dpa)
		info->function = dpa_hwif_function(ibdev, info->pci_addr);
}

static void free_devinfo_list(struct doca_devinfo **list)
{
	for (struct doca_devinfo **p = list; *p; p++)
		dpa_obj_free(*p);
	dpa_obj_free(list);
}

/*
 * libibverbs keeps its device objects as long as one of its lists exists, so each element stores
 * only the name and open looks it up. NULL: no memory.
 */
static struct doca_devinfo **make_list(struct ibv_device **ibdevs, int n)
{
	struct doca_devinfo **list =
		dpa_obj_new(DPA_T_DEVINFO_LIST, (size_t)(n + 1) * sizeof(*list));

	for (int i = 0; list && i < n; i++) {
		list[i] = dpa_obj_new(DPA_T_DEVINFO, sizeof(*list[i]));
		if (!list[i]) {
			free_devinfo_list(list);
			return NULL;
		}
		fill_info(list[i], ibdevs[i]);
		list[i]->ibdev = NULL;
	}
	return list;
}

/* Return NO_MEMORY if libibverbs has left ENOMEM in errno, else `other`. */
static doca_error_t no_memory_or(doca_error_t other)
{
	return errno == ENOMEM ? DOCA_ERROR_NO_MEMORY : other;
}

doca_error_t doca_devinfo_create_list(struct doca_devinfo ***dev_list, uint32_t *nb_devs)
{
	struct ibv_device **ibdevs;
	struct doca_devinfo **list;
	doca_error_t none;
	int n = 0;

	if (!dev_list || !nb_devs)
		return DOCA_ERROR_INVALID_VALUE;
	errno = 0;
	ibdevs = ibv_get_device_list(&n);
	none = no_memory_or(DOCA_ERROR_NOT_FOUND);
	if (n <= 0)
		DPA_LOG(DOCA_LOG_LEVEL_WARNING, "this process sees no RDMA device: start it by "
						"dpa-run, or see dpactl doctor");
	if (!ibdevs)
		return none;
	list = make_list(ibdevs, n);
	ibv_free_device_list(ibdevs);
	if (!list)
		return DOCA_ERROR_NO_MEMORY;
	*dev_list = list;
	*nb_devs = (uint32_t)n;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **dev_list)
{
	if (!dpa_obj_is(dev_list, DPA_T_DEVINFO_LIST))
		return DOCA_ERROR_INVALID_VALUE;
	free_devinfo_list(dev_list);
	return DOCA_SUCCESS;
}

static doca_error_t open_by_name(const char *name, struct doca_dev *dev)
{
	doca_error_t ret = DOCA_ERROR_NOT_CONNECTED;
	struct ibv_device **list;
	int n = 0;

	errno = 0;
	list = ibv_get_device_list(&n);
	if (!list)
		return no_memory_or(ret);
	for (int i = 0; i < n; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		dev->ctx = ibv_open_device(list[i]);
		ret = dev->ctx ? DOCA_SUCCESS : no_memory_or(DOCA_ERROR_INITIALIZATION);
		if (dev->ctx)
			fill_info(&dev->info, list[i]);
		else
			DPA_LOG(DOCA_LOG_LEVEL_ERROR, "%s cannot be opened: %s", name,
				strerror(errno));
		break;
	}
	ibv_free_device_list(list);
	return ret;
}

/* open_devs.lock is held. */
static void publish_dev(struct doca_dev *dev)
{
	dpa_obj_add(&dev->info, DPA_T_DEVINFO);
	dev->refs = 1;
	dev->next = open_devs.devs;
	open_devs.devs = dev;
}

/* open_devs.lock is held. */
static doca_error_t open_new(const char *name, struct doca_dev **out)
{
	struct doca_dev *dev = dpa_obj_new(DPA_T_DEV, sizeof(*dev));
	doca_error_t ret;

	if (!dev)
		return DOCA_ERROR_NO_MEMORY;
	ret = open_by_name(name, dev);
	if (ret) {
		dpa_obj_free(dev);
		return ret;
	}
	publish_dev(dev);
	*out = dev;
	return DOCA_SUCCESS;
}

doca_error_t doca_dev_open(struct doca_devinfo *devinfo, struct doca_dev **dev)
{
	doca_error_t ret = DOCA_SUCCESS;
	struct doca_dev *d;

	if (!dpa_live(devinfo) || !dev)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&open_devs.lock);
	for (d = open_devs.devs; d; d = d->next)
		if (!d->borrowed && !strcmp(d->info.name, devinfo->name))
			break;
	if (d) {
		d->refs++;
		*dev = d;
	} else {
		ret = open_new(devinfo->name, dev);
	}
	pthread_mutex_unlock(&open_devs.lock);
	return ret;
}

doca_error_t doca_dev_close(struct doca_dev *dev)
{
	struct doca_dev **p;

	if (!dev)
		return DOCA_SUCCESS;
	if (!dpa_live(dev))
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&open_devs.lock);
	if (dev->refs == 1 && dev->users) {
		pthread_mutex_unlock(&open_devs.lock);
		return DOCA_ERROR_IN_USE;
	}
	if (--dev->refs) {
		pthread_mutex_unlock(&open_devs.lock);
		return DOCA_SUCCESS;
	}
	for (p = &open_devs.devs; *p != dev; p = &(*p)->next)
		;
	*p = dev->next;
	pthread_mutex_unlock(&open_devs.lock);
	if (!dev->borrowed) {
		if (dev->pd)
			ibv_dealloc_pd(dev->pd);
		ibv_close_device(dev->ctx);
	}
	dpa_obj_free(dev);
	return DOCA_SUCCESS;
}

/* open_devs.lock is held. */
static struct doca_dev *by_pd(const struct ibv_pd *pd)
{
	struct doca_dev *d = open_devs.devs;

	while (d && d->pd != pd)
		d = d->next;
	return d;
}

struct doca_dev *dpa_dev_of_pd(const struct ibv_pd *pd)
{
	struct doca_dev *d;

	pthread_mutex_lock(&open_devs.lock);
	d = by_pd(pd);
	pthread_mutex_unlock(&open_devs.lock);
	return d;
}

struct doca_dev *dpa_dev_open_pd(struct ibv_pd *pd)
{
	struct doca_dev *d;

	pthread_mutex_lock(&open_devs.lock);
	d = by_pd(pd);
	if (d) {
		d->refs++;
	} else {
		d = dpa_obj_new(DPA_T_DEV, sizeof(*d));
		if (d) {
			d->ctx = pd->context;
			d->pd = pd;
			d->borrowed = true;
			fill_info(&d->info, pd->context->device);
			publish_dev(d);
		}
	}
	pthread_mutex_unlock(&open_devs.lock);
	return d;
}

void dpa_dev_use(struct doca_dev *dev, int n)
{
	pthread_mutex_lock(&open_devs.lock);
	dev->users += (uint32_t)n;
	pthread_mutex_unlock(&open_devs.lock);
}

struct ibv_pd *dpa_dev_pd(struct doca_dev *dev)
{
	struct ibv_pd *pd;

	pthread_mutex_lock(&open_devs.lock);
	if (!dev->pd)
		dev->pd = ibv_alloc_pd(dev->ctx);
	pd = dev->pd;
	pthread_mutex_unlock(&open_devs.lock);
	return pd;
}

struct doca_devinfo *doca_dev_as_devinfo(const struct doca_dev *dev)
{
	return dpa_live(dev) ? (struct doca_devinfo *)&dev->info : NULL;
}

doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *devinfo, char *ibdev_name,
					 uint32_t size)
{
	if (!dpa_live(devinfo) || !ibdev_name || size < DOCA_DEVINFO_IBDEV_NAME_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(ibdev_name, devinfo->name, sizeof(devinfo->name));
	return DOCA_SUCCESS;
}

doca_error_t doca_ctx_cap_get_num_completion_vectors(const struct doca_devinfo *devinfo,
						     uint32_t *num_comp_vectors)
{
	struct doca_dev dev = {0};

	if (!dpa_live(devinfo) || !num_comp_vectors || open_by_name(devinfo->name, &dev))
		return DOCA_ERROR_INVALID_VALUE;
	*num_comp_vectors = (uint32_t)dev.ctx->num_comp_vectors;
	ibv_close_device(dev.ctx);
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_cap_is_supported(const struct doca_devinfo *devinfo)
{
	return dpa_cap_if_dpa(devinfo);
}

doca_error_t dpa_dev_get_ibv_context(struct doca_dev *dev, struct ibv_context **ctx)
{
	DPA_RETURN_VALUE(dev, ctx, dev->ctx);
}
