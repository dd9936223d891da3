/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Devices: the list, and opens that share one libibverbs context. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "libdpa.h"

static struct {
	pthread_mutex_t lock;
	struct doca_dev *devs; /* open devices; their refs and users */
} open_devs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fill_info(struct doca_devinfo *info, struct ibv_device *ibdev)
{
	info->ibdev = ibdev;
	strncpy(info->name, ibv_get_device_name(ibdev), sizeof(info->name) - 1);
	info->is_dpa = dpa_hwif_is_dpa(ibdev);
}

/*
 * The list is one allocation: the pointers, then the elements. libibverbs keeps its device objects
 * as long as a list of it lives, so each element remembers the name only and open looks it up.
 */
doca_error_t doca_devinfo_create_list(struct doca_devinfo ***dev_list, uint32_t *nb_devs)
{
	struct ibv_device **ibdevs;
	struct doca_devinfo **list, *info;
	int n = 0;

	if (!dev_list || !nb_devs)
		return DOCA_ERROR_INVALID_VALUE;
	ibdevs = ibv_get_device_list(&n);
	if (!ibdevs)
		return DOCA_ERROR_NOT_FOUND;
	list = calloc(1, (size_t)(n + 1) * sizeof(*list) + (size_t)n * sizeof(*info));
	if (!list) {
		ibv_free_device_list(ibdevs);
		return DOCA_ERROR_NO_MEMORY;
	}
	info = (struct doca_devinfo *)(list + n + 1);
	for (int i = 0; i < n; i++) {
		list[i] = &info[i];
		fill_info(&info[i], ibdevs[i]);
		info[i].ibdev = NULL;
	}
	ibv_free_device_list(ibdevs);
	*dev_list = list;
	*nb_devs = (uint32_t)n;
	return DOCA_SUCCESS;
}

doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **dev_list)
{
	if (!dev_list)
		return DOCA_ERROR_INVALID_VALUE;
	free(dev_list);
	return DOCA_SUCCESS;
}

static doca_error_t open_by_name(const char *name, struct doca_dev *dev)
{
	doca_error_t ret = DOCA_ERROR_NOT_CONNECTED;
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	for (int i = 0; i < n; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		dev->ctx = ibv_open_device(list[i]);
		if (dev->ctx)
			fill_info(&dev->info, list[i]);
		ret = dev->ctx ? DOCA_SUCCESS : DOCA_ERROR_INITIALIZATION;
		break;
	}
	if (list)
		ibv_free_device_list(list);
	return ret;
}

/* open_devs.lock is held. */
static doca_error_t open_new(const char *name, struct doca_dev **out)
{
	struct doca_dev *dev = calloc(1, sizeof(*dev));
	doca_error_t ret;

	if (!dev)
		return DOCA_ERROR_NO_MEMORY;
	ret = open_by_name(name, dev);
	if (ret) {
		free(dev);
		return ret;
	}
	dev->refs = 1;
	dev->next = open_devs.devs;
	open_devs.devs = dev;
	*out = dev;
	return DOCA_SUCCESS;
}

doca_error_t doca_dev_open(struct doca_devinfo *devinfo, struct doca_dev **dev)
{
	doca_error_t ret = DOCA_SUCCESS;
	struct doca_dev *d;

	if (!devinfo || !dev)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&open_devs.lock);
	for (d = open_devs.devs; d; d = d->next)
		if (!strcmp(d->info.name, devinfo->name))
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
	ibv_close_device(dev->ctx);
	free(dev);
	return DOCA_SUCCESS;
}

void dpa_dev_use(struct doca_dev *dev, int n)
{
	pthread_mutex_lock(&open_devs.lock);
	dev->users += (uint32_t)n;
	pthread_mutex_unlock(&open_devs.lock);
}

struct doca_devinfo *doca_dev_as_devinfo(const struct doca_dev *dev)
{
	return dev ? (struct doca_devinfo *)&dev->info : NULL;
}

doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *devinfo, char *ibdev_name,
					 uint32_t size)
{
	if (!devinfo || !ibdev_name || size < DOCA_DEVINFO_IBDEV_NAME_SIZE)
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(ibdev_name, devinfo->name, sizeof(devinfo->name));
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_cap_is_supported(const struct doca_devinfo *devinfo)
{
	if (!devinfo)
		return DOCA_ERROR_INVALID_VALUE;
	return devinfo->is_dpa ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t dpa_dev_get_ibv_context(struct doca_dev *dev, struct ibv_context **ctx)
{
	if (!dev || !ctx)
		return DOCA_ERROR_INVALID_VALUE;
	*ctx = dev->ctx;
	return DOCA_SUCCESS;
}
