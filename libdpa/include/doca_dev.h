/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_dev.h - finding and opening devices.
 *
 * Every function that is declared here works. The getters of a devinfo are thread-safe, and need no
 * open device. The errors are those that the DOCA API 2.10 documents; functions of a later version
 * have a note.
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
struct doca_dev_rep;
struct doca_devinfo_rep;

/* Sizes in bytes that the getters below require, the terminating zero included. */
#define DOCA_DEVINFO_VUID_SIZE	     128
#define DOCA_DEVINFO_IPV4_ADDR_SIZE  4
#define DOCA_DEVINFO_IPV6_ADDR_SIZE  16
#define DOCA_DEVINFO_MAC_ADDR_SIZE   6
#define DOCA_DEVINFO_IFACE_NAME_SIZE 256
#define DOCA_DEVINFO_IBDEV_NAME_SIZE 64
#define DOCA_DEVINFO_PCI_ADDR_SIZE   13 /* dddd:bb:dd.f */
#define DOCA_DEVINFO_PCI_BDF_SIZE    8	/* bb:dd.f */

/* The same for the getters of representors. */
#define DOCA_DEVINFO_REP_VUID_SIZE     128
#define DOCA_DEVINFO_REP_PCI_ADDR_SIZE 13
#define DOCA_DEVINFO_REP_PCI_BDF_SIZE  8

/* Which representors doca_devinfo_rep_create_list() lists: a mask of these. */
enum doca_devinfo_rep_filter {
	DOCA_DEVINFO_REP_FILTER_ALL = 0,	   /* of every kind that there is */
	DOCA_DEVINFO_REP_FILTER_NET = 1 << 1,	   /* of functions of the network adapter */
	DOCA_DEVINFO_REP_FILTER_EMULATED = 1 << 2, /* of emulated devices; there are none */
};

/*
 * List the RDMA devices of this machine, those that are no DPA included.
 * @dev_list: receives an array of nb_devs pointers; the caller frees it by
 *            doca_devinfo_destroy_list()
 * @nb_devs:  receives the number of devices, which may be 0
 * Thread-safe. INVALID_VALUE: a pointer is NULL; NO_MEMORY; NOT_FOUND: libibverbs gives no list.
 */
DOCA_STABLE doca_error_t doca_devinfo_create_list(struct doca_devinfo ***dev_list,
						  uint32_t *nb_devs);

/*
 * Free a list and its elements. Devices opened from it stay open.
 * Not thread-safe against users of the list. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **dev_list);

/*
 * Open a device, or take one more reference to it when it is open already.
 * @devinfo: from a list or from doca_dev_as_devinfo()
 * @dev:     receives the device; the caller returns it by doca_dev_close()
 * Thread-safe. INVALID_VALUE: NULL; NO_MEMORY; NOT_CONNECTED: the device is gone;
 * INITIALIZATION: libibverbs cannot open it.
 */
DOCA_STABLE doca_error_t doca_dev_open(struct doca_devinfo *devinfo, struct doca_dev **dev);

/*
 * Drop a reference; the last one closes the device. NULL is no error: the public samples close a
 * device again that they have closed and set to NULL.
 * Thread-safe. INVALID_VALUE: no device; IN_USE: this is the last reference and an object uses the
 * device.
 */
DOCA_STABLE doca_error_t doca_dev_close(struct doca_dev *dev);

/* Return the devinfo of an open device, valid until it is closed; NULL for NULL. Thread-safe. */
DOCA_STABLE struct doca_devinfo *doca_dev_as_devinfo(const struct doca_dev *dev);

/*
 * Get the device's libibverbs name, e.g. "dpa0".
 * @size: bytes at ibdev_name, at least DOCA_DEVINFO_IBDEV_NAME_SIZE
 * Thread-safe. INVALID_VALUE: NULL or size too small.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *devinfo,
						     char *ibdev_name, uint32_t size);

/*
 * Get the PCI address, "dddd:bb:dd.f". That of a function of this adapter is d9a0:00:00.N, N being
 * 0 for dpa0: the same at any time on any host, and never that of a kernel device.
 * @pci_addr_str: at least DOCA_DEVINFO_PCI_ADDR_SIZE bytes
 * INVALID_VALUE: NULL; OPERATING_SYSTEM: a device of another adapter that has none.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo *devinfo,
						       char *pci_addr_str);

/*
 * Compare the PCI address with another, case aside; one without a domain is of domain 0000.
 * @is_equal: receives 1 or 0
 * INVALID_VALUE: NULL, or not a PCI address; OPERATING_SYSTEM: as above.
 */
DOCA_STABLE doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo *devinfo,
							const char *pci_addr_str,
							uint8_t *is_equal);

/*
 * Get the first IPv4 address of the GID table: the one of the widest scope.
 * @ipv4_addr: network order; @size: at least DOCA_DEVINFO_IPV4_ADDR_SIZE
 * INVALID_VALUE: NULL or size too small; NOT_FOUND: there is none.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_ipv4_addr(const struct doca_devinfo *devinfo,
						    uint8_t *ipv4_addr, uint32_t size);
/*
 * Get the first IPv6 address in the same way, by DOCA_DEVINFO_IPV6_ADDR_SIZE. OPERATING_SYSTEM:
 * there is none.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_ipv6_addr(const struct doca_devinfo *devinfo,
						    uint8_t *ipv6_addr, uint32_t size);

/*
 * Get the MAC address of the function, which is made from its node GUID. The interface whose
 * addresses the function uses has another one.
 * @size: at least DOCA_DEVINFO_MAC_ADDR_SIZE
 * INVALID_VALUE: NULL or size too small; NOT_SUPPORTED: not a device of this adapter.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_mac_addr(const struct doca_devinfo *devinfo,
						   uint8_t *mac_addr, uint32_t size);

/*
 * Get the name of the interface of the first GID.
 * @size: at least DOCA_DEVINFO_IFACE_NAME_SIZE
 * INVALID_VALUE: NULL or size too small; OPERATING_SYSTEM: there is none.
 */
DOCA_STABLE doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo *devinfo,
						     char *iface_name, uint32_t size);

/*
 * Get the kind of the function: dpa0 is a PF, dpa0_sf1 and so on are SFs.
 * @pci_func_type: receives it
 * Since 3.1. INVALID_VALUE: NULL; NOT_SUPPORTED: not a device of this adapter.
 */
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_pci_func_type(
	const struct doca_devinfo *devinfo, enum doca_pci_func_type *pci_func_type);

/*
 * Get the index of an SF, N of dpa0_sfN. Indices begin at 1.
 * @sf_index: receives it
 * Since 3.1. INVALID_VALUE: NULL; NOT_SUPPORTED: not an SF of this adapter.
 */
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_sf_index(const struct doca_devinfo *devinfo,
							 uint32_t *sf_index);

/*
 * Get the number of the function within the adapter, as partitions of dpaeumgmt name it: 0 is the
 * PF, N the SF dpa0_sfN.
 * @vhca_id: receives it
 * Of 3.x. INVALID_VALUE: NULL; NOT_SUPPORTED: not a device of this adapter.
 */
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_vhca_id(const struct doca_devinfo *devinfo,
							uint16_t *vhca_id);

/* Get the LID, which only InfiniBand has. INVALID_VALUE: NULL; NOT_SUPPORTED otherwise. */
DOCA_STABLE doca_error_t doca_devinfo_get_lid(const struct doca_devinfo *devinfo, uint16_t *lid);

/* Get the rate that the port reports, in bits/s. INVALID_VALUE: NULL; DRIVER: another device. */
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_get_active_rate(const struct doca_devinfo *devinfo,
							    uint64_t *active_rate);

/* Get 0: the device has none of these capabilities. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_devinfo_cap_is_hotplug_manager_supported(
	const struct doca_devinfo *devinfo, uint8_t *is_hotplug_manager);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_cap_is_notification_moderation_supported(
	const struct doca_devinfo *devinfo, uint8_t *is_notification_moderation_supported);
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_cap_is_accelerate_resource_reclaim_supported(
	const struct doca_devinfo *devinfo, uint8_t *is_accelerate_resource_reclaim);

/* Not available. INVALID_VALUE: NULL; NOT_SUPPORTED otherwise, as the capability reports. */
DOCA_EXPERIMENTAL doca_error_t doca_dev_accelerate_resource_reclaim(struct doca_dev *dev);

/*
 * Representors. On a BlueField a program on the DPU's cores names a function of the network adapter
 * by its representor. Here the PF has a representor for each SF that the process sees (the setting
 * `functions`); an SF has none, and without an SF the PF has none either. All calls are
 * thread-safe; a list and its elements belong to the caller.
 */

/*
 * Report whether the device lists representors with that filter: 1 for a PF with SFs, else 0. With
 * 0 doca_devinfo_rep_create_list() returns NOT_SUPPORTED. Programs of 3.2 and later call the second
 * function: with 1 they extend a DPA context of the PF to an SF, with 0 they take the PF alone.
 * INVALID_VALUE: NULL; DRIVER: libibverbs gives no list of devices; NOT_SUPPORTED: the device was
 * made by doca_rdma_bridge_open_dev_from_pd().
 */
DOCA_STABLE doca_error_t doca_devinfo_rep_cap_is_filter_all_supported(
	const struct doca_devinfo *devinfo, uint8_t *filter_all_supported);
DOCA_STABLE doca_error_t doca_devinfo_rep_cap_is_filter_net_supported(
	const struct doca_devinfo *devinfo, uint8_t *filter_net_supported);
/* Get 0, always. Errors: as above, without DRIVER. */
DOCA_STABLE doca_error_t doca_devinfo_rep_cap_is_filter_emulated_supported(
	const struct doca_devinfo *devinfo, uint8_t *filter_emulated_supported);

/*
 * List the representors of a PF.
 * @dev:          the open PF; it may be closed while the list is in use
 * @filter:       a mask of enum doca_devinfo_rep_filter
 * @dev_list_rep: receives an array of nb_devs_rep pointers; the caller frees it by
 *                doca_devinfo_rep_destroy_list()
 * @nb_devs_rep:  receives their number, at least 1
 * INVALID_VALUE: a pointer is NULL, or an unknown bit in the filter; NO_MEMORY; DRIVER: libibverbs
 * gives no list of devices; NOT_SUPPORTED: the filter has EMULATED, the device has no representor,
 * or was made by doca_rdma_bridge_open_dev_from_pd().
 */
DOCA_STABLE doca_error_t doca_devinfo_rep_create_list(struct doca_dev *dev, int filter,
						      struct doca_devinfo_rep ***dev_list_rep,
						      uint32_t *nb_devs_rep);

/*
 * Free a list and its elements. Representors opened from it stay open.
 * Not thread-safe against users of the list. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_devinfo_rep_destroy_list(struct doca_devinfo_rep **dev_list_rep);

/*
 * Open a representor. Each call creates an object.
 * @devinfo: from a list or from doca_dev_rep_as_devinfo()
 * @dev_rep: receives the representor; the caller gives it back by doca_dev_rep_close()
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_dev_rep_open(struct doca_devinfo_rep *devinfo,
					   struct doca_dev_rep **dev_rep);

/* Close a representor and free it. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_dev_rep_close(struct doca_dev_rep *dev);

/* Return the devinfo of an open representor, valid until it is closed; NULL for NULL. */
DOCA_STABLE struct doca_devinfo_rep *doca_dev_rep_as_devinfo(struct doca_dev_rep *dev_rep);

/*
 * Get the unique name of the SF: no other function of any adapter has it. It is "dpa-" and its node
 * GUID, 16 hexadecimal digits. The name is the same for all processes of the adapter instance.
 * @size: bytes at rep_vuid, at least DOCA_DEVINFO_REP_VUID_SIZE
 * INVALID_VALUE: NULL or size too small.
 */
DOCA_STABLE doca_error_t doca_devinfo_rep_get_vuid(const struct doca_devinfo_rep *devinfo_rep,
						   char *rep_vuid, uint32_t size);

/*
 * Get the PCI address of the SF, as doca_devinfo_get_pci_addr_str() returns it.
 * @pci_addr_str: at least DOCA_DEVINFO_REP_PCI_ADDR_SIZE bytes
 * INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t
doca_devinfo_rep_get_pci_addr_str(const struct doca_devinfo_rep *devinfo_rep, char *pci_addr_str);

/*
 * Compare the PCI address with another, as doca_devinfo_is_equal_pci_addr() does.
 * @is_equal: receives 1 or 0
 * INVALID_VALUE: NULL, or not a PCI address.
 */
DOCA_STABLE doca_error_t doca_devinfo_rep_is_equal_pci_addr(
	const struct doca_devinfo_rep *devinfo_rep, const char *pci_addr_str, uint8_t *is_equal);

/* Get DOCA_PCI_FUNC_TYPE_SF. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_devinfo_rep_get_pci_func_type(
	const struct doca_devinfo_rep *devinfo_rep, enum doca_pci_func_type *pci_func_type);

/* Get the same as doca_devinfo_get_vhca_id() of the SF. Of 3.x. INVALID_VALUE: NULL. */
DOCA_EXPERIMENTAL doca_error_t
doca_devinfo_rep_get_vhca_id(const struct doca_devinfo_rep *devinfo_rep, uint16_t *vhca_id);

/* Get 0: SFs exist from the start of the program. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_devinfo_rep_get_is_hotplug(const struct doca_devinfo_rep *devinfo_rep,
							 uint8_t *is_hotplug);

/*
 * Get the network interface of the representor. This adapter has none: OPERATING_SYSTEM.
 * @size: at least DOCA_DEVINFO_IFACE_NAME_SIZE
 * INVALID_VALUE: NULL or size too small; OPERATING_SYSTEM otherwise.
 */
DOCA_EXPERIMENTAL doca_error_t doca_devinfo_rep_get_iface_name(
	const struct doca_devinfo_rep *devinfo_rep, char *iface_name, uint32_t size);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DEV_H_ */
