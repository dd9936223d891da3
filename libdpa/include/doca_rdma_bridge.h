/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_rdma_bridge.h - access from objects of this API to those of libibverbs, and back.
 *
 * Those for connections of rdma_cm are in doca_rdma.h, as in the original. Not thread-safe: see there.
 */
#ifndef DOCA_RDMA_BRIDGE_H_
#define DOCA_RDMA_BRIDGE_H_

#include <stdint.h>
#include <infiniband/verbs.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_dev;
struct doca_mmap;

/*
 * Get the PD of a device: that of all maps on it. It belongs to the device, and is valid until
 * doca_dev_close(). Thread-safe. INVALID_VALUE: NULL; BAD_STATE: the device cannot allocate one.
 */
DOCA_STABLE doca_error_t doca_rdma_bridge_get_dev_pd(const struct doca_dev *dev,
						     struct ibv_pd **pd);

/*
 * Open a device whose maps and RDMA contexts use a PD of the caller. The caller closes the device
 * before it frees the PD. For a PD of doca_rdma_bridge_get_dev_pd(): take one more reference to its
 * device.
 * @dev: receives it; the caller returns it by doca_dev_close()
 * Thread-safe. INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_rdma_bridge_open_dev_from_pd(struct ibv_pd *pd,
							   struct doca_dev **dev);

/*
 * Get the L_Key (and R_Key) of a buf's memory on a device.
 * INVALID_VALUE: NULL, or the buf's map is not on the device; NOT_SUPPORTED: the memory is a
 * peer's.
 */
DOCA_STABLE doca_error_t doca_rdma_bridge_get_buf_mkey(const struct doca_buf *buf,
						       struct doca_dev *dev, uint32_t *mkey);

/*
 * Get the same for a map, on the device of a PD; for a peer's memory its R_Key.
 * INVALID_VALUE: NULL, or not started; NOT_FOUND: no device of this PD, or the map is not on it.
 */
DOCA_EXPERIMENTAL doca_error_t doca_rdma_bridge_get_mmap_mkey_from_pd(const struct doca_mmap *mmap,
								      struct ibv_pd *pd,
								      uint32_t *mkey);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_RDMA_BRIDGE_H_ */
