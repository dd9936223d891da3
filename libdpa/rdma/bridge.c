/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* bridge.c - PDs and keys of the API's objects, for programs that use verbs as well. */
#include <doca_rdma_bridge.h>
#include "../common/buf/buf.h"
#include "../common/mmap.h"
#include "../host/libdpa.h"

doca_error_t doca_rdma_bridge_get_dev_pd(const struct doca_dev *dev, struct ibv_pd **pd)
{
	if (!dpa_live(dev) || !pd)
		return DOCA_ERROR_INVALID_VALUE;
	*pd = dpa_dev_pd((struct doca_dev *)dev);
	return *pd ? DOCA_SUCCESS : DOCA_ERROR_BAD_STATE;
}

doca_error_t doca_rdma_bridge_open_dev_from_pd(struct ibv_pd *pd, struct doca_dev **dev)
{
	if (!pd || !dev)
		return DOCA_ERROR_INVALID_VALUE;
	*dev = dpa_dev_open_pd(pd);
	return *dev ? DOCA_SUCCESS : DOCA_ERROR_NO_MEMORY;
}

doca_error_t doca_rdma_bridge_get_buf_mkey(const struct doca_buf *buf, struct doca_dev *dev,
					   uint32_t *mkey)
{
	struct dpa_buf_data data;

	if (!dpa_buf_live(buf) || !dpa_live(dev) || !mkey || dpa_buf_data(buf, dev, &data))
		return DOCA_ERROR_INVALID_VALUE;
	if (data.key->remote)
		return DOCA_ERROR_NOT_SUPPORTED;
	*mkey = data.key->key;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_bridge_get_mmap_mkey_from_pd(const struct doca_mmap *mmap, struct ibv_pd *pd,
						    uint32_t *mkey)
{
	struct dpa_mmap_key key;
	struct doca_dev *dev;
	doca_error_t ret;

	if (!dpa_live(mmap) || !pd || !mkey)
		return DOCA_ERROR_INVALID_VALUE;
	dev = dpa_dev_of_pd(pd);
	if (!dev)
		return DOCA_ERROR_NOT_FOUND;
	ret = dpa_mmap_mkey((struct doca_mmap *)mmap, dev, &key);
	if (ret)
		return ret == DOCA_ERROR_NOT_FOUND ? ret : DOCA_ERROR_INVALID_VALUE;
	*mkey = key.key;
	return DOCA_SUCCESS;
}
