/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* test_bridge.c - verbs objects of API objects, on the real device. */
#include "rig.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_rdma_bridge.h>

TestSuite(bridge, .timeout = 60);

static uint8_t memory[256];

static struct doca_mmap *map_on(struct doca_dev *dev)
{
	struct doca_mmap *map;

	OK(doca_mmap_create(&map));
	OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						  DOCA_ACCESS_FLAG_RDMA_READ));
	OK(doca_mmap_set_memrange(map, memory, sizeof(memory)));
	OK(doca_mmap_add_dev(map, dev));
	return map;
}

Test(bridge, pd_of_a_device)
{
	struct doca_dev *dev = open_dpa0(), *again;
	struct doca_mmap *map;
	struct ibv_pd *pd;
	uint32_t key, mkey;

	IS(doca_rdma_bridge_get_dev_pd(NULL, &pd), INVALID_VALUE);
	IS(doca_rdma_bridge_get_dev_pd(dev, NULL), INVALID_VALUE);
	OK(doca_rdma_bridge_get_dev_pd(dev, &pd));
	OK(doca_rdma_bridge_open_dev_from_pd(pd, &again));
	cr_assert_eq(dev, again);
	OK(doca_dev_close(again));
	map = map_on(dev);
	IS(doca_rdma_bridge_get_mmap_mkey_from_pd(map, pd, &mkey), INVALID_VALUE);
	OK(doca_mmap_start(map));
	OK(doca_mmap_dev_get_dpa_handle(map, dev, &key));
	OK(doca_rdma_bridge_get_mmap_mkey_from_pd(map, pd, &mkey));
	cr_assert_eq(key, mkey);
	IS(doca_rdma_bridge_get_mmap_mkey_from_pd(NULL, pd, &mkey), INVALID_VALUE);
	IS(doca_rdma_bridge_get_mmap_mkey_from_pd(map, NULL, &mkey), INVALID_VALUE);
	IS(doca_rdma_bridge_get_mmap_mkey_from_pd(map, pd, NULL), INVALID_VALUE);
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(dev));
}

Test(bridge, device_of_a_pd)
{
	struct doca_dev *dev = open_dpa0(), *own;
	struct ibv_context *ctx;
	struct doca_mmap *map;
	struct doca_rdma *rdma;
	struct ibv_pd *pd, *got;
	uint32_t mkey;

	OK(dpa_dev_get_ibv_context(dev, &ctx));
	ctx = ibv_open_device(ctx->device);
	cr_assert(ctx);
	pd = ibv_alloc_pd(ctx);
	IS(doca_rdma_bridge_open_dev_from_pd(NULL, &own), INVALID_VALUE);
	IS(doca_rdma_bridge_open_dev_from_pd(pd, NULL), INVALID_VALUE);
	map = map_on(dev);
	OK(doca_mmap_start(map));
	IS(doca_rdma_bridge_get_mmap_mkey_from_pd(map, pd, &mkey), NOT_FOUND);
	OK(doca_rdma_bridge_open_dev_from_pd(pd, &own));
	cr_assert_neq(own, dev);
	IS(doca_rdma_bridge_get_mmap_mkey_from_pd(map, pd, &mkey), NOT_FOUND);
	OK(doca_mmap_destroy(map));
	OK(doca_rdma_bridge_get_dev_pd(own, &got));
	cr_assert_eq(got, pd);
	map = map_on(own);
	OK(doca_mmap_start(map));
	OK(doca_rdma_bridge_get_mmap_mkey_from_pd(map, pd, &mkey));
	OK(doca_rdma_create(own, &rdma));
	OK(doca_rdma_destroy(rdma));
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(own));
	cr_assert_eq(ibv_dealloc_pd(pd), 0, "nothing of the device's is left on it");
	cr_assert_eq(ibv_close_device(ctx), 0);
	OK(doca_dev_close(dev));
}

Test(bridge, keys_of_bufs)
{
	struct doca_dev *dev = open_dpa0();
	struct doca_mmap *map = map_on(dev), *theirs;
	struct doca_buf_inventory *inv;
	uint32_t key, mkey;
	struct doca_buf *buf;
	const void *blob;
	size_t len;

	OK(doca_mmap_start(map));
	OK(doca_mmap_dev_get_dpa_handle(map, dev, &key));
	OK(doca_buf_inventory_create(2, &inv));
	OK(doca_buf_inventory_start(inv));
	OK(doca_buf_inventory_buf_get_by_addr(inv, map, memory, 64, &buf));
	OK(doca_rdma_bridge_get_buf_mkey(buf, dev, &mkey));
	cr_assert_eq(mkey, key);
	IS(doca_rdma_bridge_get_buf_mkey(NULL, dev, &mkey), INVALID_VALUE);
	IS(doca_rdma_bridge_get_buf_mkey(buf, NULL, &mkey), INVALID_VALUE);
	IS(doca_rdma_bridge_get_buf_mkey(buf, dev, NULL), INVALID_VALUE);
	OK(doca_buf_dec_refcount(buf, NULL));
	OK(doca_mmap_export_rdma(map, dev, &blob, &len));
	OK(doca_mmap_create_from_export(NULL, blob, len, dev, &theirs));
	OK(doca_buf_inventory_buf_get_by_addr(inv, theirs, memory, 64, &buf));
	IS(doca_rdma_bridge_get_buf_mkey(buf, dev, &mkey), NOT_SUPPORTED);
	OK(doca_buf_dec_refcount(buf, NULL));
	OK(doca_mmap_destroy(theirs));
	OK(doca_buf_inventory_destroy(inv));
	OK(doca_mmap_destroy(map));
	OK(doca_dev_close(dev));
}
