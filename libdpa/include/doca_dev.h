/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dev.h - finding and opening devices.
 *
 * Every function that is declared here works; the other part of the original header (representors)
 * is not there. The getters of a devinfo are thread-safe, and work without the device being open.
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
#define DOCA_DEVINFO_IPV4_ADDR_SIZE  4
#define DOCA_DEVINFO_IPV6_ADDR_SIZE  16
#define DOCA_DEVINFO_MAC_ADDR_SIZE   6
#define DOCA_DEVINFO_IFACE_NAME_SIZE 256
#define DOCA_DEVINFO_IBDEV_NAME_SIZE 64
#define DOCA_DEVINFO_PCI_ADDR_SIZE   13 /* dddd:bb:dd.f */
#define DOCA_DEVINFO_PCI_BDF_SIZE    8	/* bb:dd.f */

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

/*
 * The PCI address, "dddd:bb:dd.f". That of a function of this adapter is d9a0:00:00.N, N being 0
 * for dpa0: the same at any time on any host, and no device of the kernel's.
 * @pci_addr_str: at least DOCA_DEVINFO_PCI_ADDR_SIZE bytes
 * INVALID_VALUE: NULL; OPERATING_SYSTEM: the device, another one, has none.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo *devinfo,
						       char *pci_addr_str);

/*
 * Compares it with another, case aside; one without a domain is of domain 0000.
 * @is_equal: receives 1 or 0
 * INVALID_VALUE: NULL, or not a PCI address; OPERATING_SYSTEM: as above.
 */
DOCA_STABLE doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo *devinfo,
							const char *pci_addr_str,
							uint8_t *is_equal);

/*
 * The first IPv4 address of the GID table: the one that reaches furthest.
 * @ipv4_addr: network order; @size: at least DOCA_DEVINFO_IPV4_ADDR_SIZE
 * INVALID_VALUE: NULL or size too small; NOT_FOUND: there is none.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_ipv4_addr(const struct doca_devinfo *devinfo,
						    uint8_t *ipv4_addr, uint32_t size);
/* The same for IPv6, by DOCA_DEVINFO_IPV6_ADDR_SIZE. OPERATING_SYSTEM: there is none. */
DOCA_STABLE doca_error_t doca_devinfo_get_ipv6_addr(const struct doca_devinfo *devinfo,
						    uint8_t *ipv6_addr, uint32_t size);

/*
 * A MAC address of the function's own, made of its node GUID; that of the interface whose
 * addresses it uses is another one.
 * @size: at least DOCA_DEVINFO_MAC_ADDR_SIZE
 * INVALID_VALUE: NULL or size too small; NOT_SUPPORTED: not a device of this adapter.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_mac_addr(const struct doca_devinfo *devinfo,
						   uint8_t *mac_addr, uint32_t size);

/*
 * The interface of the first GID.
 * @size: at least DOCA_DEVINFO_IFACE_NAME_SIZE
 * INVALID_VALUE: NULL or size too small; OPERATING_SYSTEM: there is none.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo *devinfo,
						     char *iface_name, uint32_t size);

/* INVALID_VALUE: NULL; NOT_SUPPORTED otherwise: LIDs are InfiniBand's. */
DOCA_STABLE doca_error_t doca_devinfo_get_lid(const struct doca_devinfo *devinfo, uint16_t *lid);

/* The port's rate in bits/s, as it reports it. INVALID_VALUE: NULL; DRIVER: another device. */
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_active_rate(const struct doca_devinfo *devinfo,
							    uint64_t *active_rate);

/* These are all 0. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_devinfo_cap_is_hotplug_manager_supported(
	const struct doca_devinfo *devinfo, uint8_t *is_hotplug_manager);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_cap_is_notification_moderation_supported(
	const struct doca_devinfo *devinfo, uint8_t *is_notification_moderation_supported);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_cap_is_accelerate_resource_reclaim_supported(
	const struct doca_devinfo *devinfo, uint8_t *is_accelerate_resource_reclaim);

/* INVALID_VALUE: NULL; NOT_SUPPORTED otherwise, as for the capability. */
DOCA_EXPERIMENTAL doca_error_t doca_dev_accelerate_resource_reclaim(struct doca_dev *dev);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DEV_H_ */
