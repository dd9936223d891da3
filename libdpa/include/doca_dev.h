/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dev.h - finding and opening devices.
 *
 * What is declared here works; the rest of the original header (representors, PCI addresses,
 * netdev properties) is not there yet.
 */
#ifndef DOCA_DEV_H_
#define DOCA_DEV_H_

#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_devinfo;

/* Sizes in bytes that the getters below want, the terminating zero included. */
#define DOCA_DEVINFO_IBDEV_NAME_SIZE 64

/*
 * Lists the RDMA devices of this machine, those that are no DPA included.
 * @dev_list: receives an array of nb_devs pointers; the caller frees it by
 *            doca_devinfo_destroy_list()
 * @nb_devs:  receives the number of devices, which may be 0
 * Thread-safe. INVALID_VALUE: a pointer is NULL; NO_MEMORY; NOT_FOUND: libibverbs gives no list.
 */
DOCA_STABLE doca_error_t doca_devinfo_create_list(struct doca_devinfo ***dev_list,
						  uint32_t *nb_devs);

/*
 * Frees a list and its elements. Devices opened from it stay open.
 * Not thread-safe against users of the list. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **dev_list);

/*
 * Opens a device, or takes one more reference to it when it is open already.
 * @devinfo: from a list or from doca_dev_as_devinfo()
 * @dev:     receives the device; the caller gives it back by doca_dev_close()
 * Thread-safe. INVALID_VALUE: NULL; NO_MEMORY; NOT_CONNECTED: the device is gone;
 * INITIALIZATION: libibverbs cannot open it.
 */
DOCA_STABLE doca_error_t doca_dev_open(struct doca_devinfo *devinfo, struct doca_dev **dev);

/*
 * Drops a reference; the last one closes the device.
 * Thread-safe. INVALID_VALUE: NULL; IN_USE: this is the last reference and a DPA context is on it.
 */
DOCA_STABLE doca_error_t doca_dev_close(struct doca_dev *dev);

/* The devinfo of an open device, valid until it is closed; NULL for NULL. Thread-safe. */
DOCA_STABLE struct doca_devinfo *doca_dev_as_devinfo(const struct doca_dev *dev);

/*
 * The device's libibverbs name, e.g. "dpa0".
 * @size: bytes at ibdev_name, at least DOCA_DEVINFO_IBDEV_NAME_SIZE
 * Thread-safe. INVALID_VALUE: NULL or size too small.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *devinfo,
						     char *ibdev_name, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DEV_H_ */
