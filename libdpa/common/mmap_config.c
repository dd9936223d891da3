/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mmap_config.c - setters and getters of maps. Setters require a map that is not started and was
 * not imported.
 */
#include <fcntl.h>
#include <stdlib.h>
#include "mmap_priv.h"

#define ACCESS_ALL ((1u << 7) - 1)

/* ----------------------------------------------------------------- range */

static doca_error_t may_set_range(const struct doca_mmap *m, size_t len)
{
	if (m->started && m->source != MMAP_EXPORT)
		return DOCA_ERROR_BAD_STATE;
	if (m->source != MMAP_NONE)
		return DOCA_ERROR_NOT_PERMITTED;
	return len ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

/* The public GPUNetIO samples set the range of a map a second time, also that of a dma-buf. */
static bool is_range(const struct doca_mmap *m, const void *addr, size_t len)
{
	return !m->started && (m->source == MMAP_HOST || m->source == MMAP_DMABUF) &&
	       m->addr == addr && m->len == len;
}

doca_error_t doca_mmap_set_memrange(struct doca_mmap *mmap, void *addr, size_t len)
{
	doca_error_t ret;

	if (!dpa_live(mmap) || !addr || (uintptr_t)addr + len < (uintptr_t)addr)
		return DOCA_ERROR_INVALID_VALUE;
	if (is_range(mmap, addr, len))
		return DOCA_SUCCESS;
	ret = may_set_range(mmap, len);
	if (ret)
		return ret;
	mmap->source = MMAP_HOST;
	mmap->addr = addr;
	mmap->len = len;
	return DOCA_SUCCESS;
}

/* Duplicate the descriptor for the map, so that the user may close the original. */
doca_error_t doca_mmap_set_dmabuf_memrange(struct doca_mmap *mmap, int dmabuf_fd, void *addr,
					   size_t dmabuf_offset, size_t len)
{
	doca_error_t ret;

	if (!dpa_live(mmap) || (uintptr_t)addr + len < (uintptr_t)addr ||
	    dmabuf_offset + len < dmabuf_offset)
		return DOCA_ERROR_INVALID_VALUE;
	ret = may_set_range(mmap, len);
	if (ret)
		return ret;
	mmap->fd = fcntl(dmabuf_fd, F_DUPFD_CLOEXEC, 3);
	if (mmap->fd < 0)
		return DOCA_ERROR_INVALID_VALUE;
	mmap->source = MMAP_DMABUF;
	mmap->fd_offset = dmabuf_offset;
	mmap->addr = addr;
	mmap->len = len;
	return DOCA_SUCCESS;
}

/* Keep the device of the context: the context may be gone when the map starts. */
doca_error_t doca_mmap_set_dpa_memrange(struct doca_mmap *mmap, struct doca_dpa *dpa,
					uint64_t dpa_addr, size_t len)
{
	doca_error_t ret;

	if (!dpa_live(mmap) || !dpa_live(dpa))
		return DOCA_ERROR_INVALID_VALUE;
	ret = may_set_range(mmap, len);
	if (ret)
		return ret;
	if (mmap->num_devs)
		return DOCA_ERROR_NOT_PERMITTED;
	mmap->mem = dpa_mem_hold(dpa, dpa_addr, len);
	if (!mmap->mem)
		return DOCA_ERROR_INVALID_VALUE;
	ret = mmap_new_dev(mmap, dpa->dev);
	if (ret) {
		dpa_mem_release(mmap->mem);
		mmap->mem = NULL;
		return DOCA_ERROR_INVALID_VALUE;
	}
	mmap->source = MMAP_DPA;
	mmap->addr = (void *)(uintptr_t)dpa_addr;
	mmap->len = len;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_get_memrange(const struct doca_mmap *mmap, void **addr, size_t *len)
{
	if (!dpa_live(mmap) || !addr || !len)
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap->source == MMAP_NONE)
		return DOCA_ERROR_BAD_STATE;
	*addr = mmap->addr;
	*len = mmap->len;
	return DOCA_SUCCESS;
}

/* --------------------------------------------------------------- devices */

doca_error_t doca_mmap_add_dev(struct doca_mmap *mmap, struct doca_dev *dev)
{
	if (!dpa_live(mmap) || !dpa_live(dev))
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap->started || mmap->source == MMAP_DPA)
		return DOCA_ERROR_NOT_PERMITTED;
	if (mmap_find_dev(mmap, dev))
		return DOCA_ERROR_ALREADY_EXIST;
	if (mmap->num_devs >= mmap->max_devs)
		return DOCA_ERROR_NO_MEMORY;
	return mmap_new_dev(mmap, dev);
}

doca_error_t doca_mmap_rm_dev(struct doca_mmap *mmap, struct doca_dev *dev)
{
	struct mmap_dev *d;

	if (!dpa_live(mmap) || !dpa_live(dev))
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap->started || mmap->source == MMAP_DPA)
		return DOCA_ERROR_NOT_PERMITTED;
	d = mmap_find_dev(mmap, dev);
	if (!d)
		return DOCA_ERROR_NOT_FOUND;
	mmap_drop_dev(mmap, d);
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_set_max_num_devices(struct doca_mmap *mmap, uint32_t max_num_devices)
{
	if (!dpa_live(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap->was_started || mmap->source == MMAP_EXPORT)
		return DOCA_ERROR_NOT_PERMITTED;
	if (!max_num_devices || max_num_devices < mmap->num_devs)
		return DOCA_ERROR_INVALID_VALUE;
	mmap->max_devs = max_num_devices;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_get_max_num_devices(const struct doca_mmap *mmap, uint32_t *max_num_devices)
{
	DPA_RETURN_VALUE(mmap, max_num_devices, mmap->max_devs);
}

/* --------------------------------------------------------------- the rest */

doca_error_t doca_mmap_set_permissions(struct doca_mmap *mmap, uint32_t access_mask)
{
	const uint32_t pci = DOCA_ACCESS_FLAG_PCI_READ_ONLY | DOCA_ACCESS_FLAG_PCI_READ_WRITE;

	if (!dpa_live(mmap) || access_mask & ~ACCESS_ALL || (access_mask & pci) == pci)
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap->started)
		return DOCA_ERROR_BAD_STATE;
	mmap->access = access_mask;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_set_free_cb(struct doca_mmap *mmap, doca_mmap_memrange_free_cb_t *free_cb,
				   void *opaque)
{
	if (!dpa_live(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap->started)
		return DOCA_ERROR_BAD_STATE;
	mmap->free_cb = free_cb;
	mmap->free_arg = opaque;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_set_user_data(struct doca_mmap *mmap, union doca_data user_data)
{
	if (!dpa_live(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap->started)
		return DOCA_ERROR_BAD_STATE;
	mmap->user_data = user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_get_user_data(const struct doca_mmap *mmap, union doca_data *user_data)
{
	DPA_RETURN_VALUE(mmap, user_data, mmap->user_data);
}

doca_error_t doca_mmap_get_num_bufs(const struct doca_mmap *mmap, uint32_t *num_bufs)
{
	if (!dpa_live(mmap) || !num_bufs)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock((pthread_mutex_t *)&mmap->lock);
	*num_bufs = mmap->bufs;
	pthread_mutex_unlock((pthread_mutex_t *)&mmap->lock);
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_get_exported(const struct doca_mmap *mmap, uint8_t *exported)
{
	if (!dpa_live(mmap) || !exported)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock((pthread_mutex_t *)&mmap->lock);
	*exported = mmap->exports > 0;
	pthread_mutex_unlock((pthread_mutex_t *)&mmap->lock);
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_get_from_export(const struct doca_mmap *mmap, uint8_t *from_export)
{
	DPA_RETURN_VALUE(mmap, from_export, mmap->source == MMAP_EXPORT);
}

doca_error_t doca_mmap_enable_thread_safety(struct doca_mmap *mmap)
{
	if (!dpa_live(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	return mmap->was_started || mmap->source == MMAP_EXPORT ? DOCA_ERROR_NOT_PERMITTED
								: DOCA_SUCCESS;
}

doca_error_t doca_mmap_cap_is_export_pci_supported(const struct doca_devinfo *devinfo,
						   uint8_t *mmap_export)
{
	DPA_RETURN_VALUE(devinfo, mmap_export, devinfo->is_dpa);
}

doca_error_t doca_mmap_cap_is_create_from_export_pci_supported(const struct doca_devinfo *devinfo,
							       uint8_t *from_export)
{
	return doca_mmap_cap_is_export_pci_supported(devinfo, from_export);
}
