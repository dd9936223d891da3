/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_mmap.h - memory maps: one range of memory, registered with devices.
 *
 * Order: create, set_permissions, set_memrange or set_dpa_memrange, add_dev, start; then handles,
 * exports and bufs; destroy. Queries of a started map may come from any thread; configuring,
 * starting, stopping and destroying must not overlap with any other call.
 */
#ifndef DOCA_MMAP_H_
#define DOCA_MMAP_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_mmap;

/* The handle of device code for a map on one device: its memory key. */
typedef uint32_t doca_dpa_dev_mmap_t;

/* Returns the range to its owner. */
typedef void(doca_mmap_memrange_free_cb_t)(void *addr, size_t len, void *cookie);

/*
 * Create a map without range.
 * @mmap: receives it; the caller destroys it
 * INVALID_VALUE: NULL; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_mmap_create(struct doca_mmap **mmap);

/*
 * Destroy a map, stopping it first, whether exported or not; then calls the free callback if the
 * map has ever been started. INVALID_VALUE: NULL; NOT_PERMITTED: a buf or an array of bufs of it
 * exists.
 */
DOCA_STABLE doca_error_t doca_mmap_destroy(struct doca_mmap *mmap);

/*
 * Register the range with the map's devices. No alignment is required; the memory must exist until
 * the map is stopped. INVALID_VALUE: NULL, no range or no device; NO_MEMORY: a device cannot
 * register it; NOT_PERMITTED: started already, or made from an export.
 */
DOCA_STABLE doca_error_t doca_mmap_start(struct doca_mmap *mmap);

/*
 * End the registrations: handles become invalid. The map may be started again.
 * An exported map may be stopped, as the public samples do: its exports become invalid, and peers'
 * access fails. A map made from an export may be stopped too; it can then only be destroyed.
 * INVALID_VALUE: NULL; NOT_PERMITTED: not started, or a buf of it exists.
 */
DOCA_STABLE doca_error_t doca_mmap_stop(struct doca_mmap *mmap);

/*
 * Add a device; it stays in use (doca_dev_close()) until it is removed or the map destroyed.
 * INVALID_VALUE: NULL; NOT_PERMITTED: started, made from an export, or a map of DPA memory, which
 * uses the device of its context; NO_MEMORY: as many as doca_mmap_set_max_num_devices() allows;
 * ALREADY_EXIST: is one of its devices.
 */
DOCA_STABLE doca_error_t doca_mmap_add_dev(struct doca_mmap *mmap, struct doca_dev *dev);

/*
 * Remove a device.
 * INVALID_VALUE: NULL; NOT_FOUND: not one of its devices; NOT_PERMITTED: started or made from an
 * export.
 */
DOCA_STABLE doca_error_t doca_mmap_rm_dev(struct doca_mmap *mmap, struct doca_dev *dev);

/*
 * Describe the range for the other side of the PCI bus: here, a doca_dma of any process that
 * reaches this host by TCP and RoCE and has the description, which is as good as a key. While a
 * device has exported maps a thread of the library listens on a TCP port for such peers
 * (docs/pci-exports.md); the program need not do anything for it.
 * @export_desc: receives the description. It belongs to the map and is valid until the map is
 * stopped or destroyed. A second call returns the same
 * @export_desc_len: receives its size in bytes, 200
 * INVALID_VALUE: NULL; NOT_FOUND: not one of its devices; NOT_PERMITTED: not started, made from an
 * export, or neither PCI permission was given; NOT_SUPPORTED: not a device of this adapter;
 * NO_MEMORY; DRIVER: a queue of the adapter, a socket or a thread is not available.
 */
DOCA_STABLE doca_error_t doca_mmap_export_pci(struct doca_mmap *mmap, const struct doca_dev *dev,
					      const void **export_desc, size_t *export_desc_len);

/*
 * Describe the range for a peer that accesses it by RDMA over a connection of this device.
 * @export_desc: receives the description, to be sent to the peer. It belongs to the map and is
 * valid until the map is stopped or destroyed. A second call returns the same
 * @export_desc_len: receives its size in bytes
 * INVALID_VALUE: NULL; NOT_FOUND: not one of its devices; NOT_PERMITTED: not started, made from an
 * export, or no RDMA permission was given; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_mmap_export_rdma(struct doca_mmap *mmap, const struct doca_dev *dev,
					       const void **export_desc, size_t *export_desc_len);

/*
 * Get the handle of the map for device code that works on the DPA of a device. Valid until the map
 * is stopped.
 * INVALID_VALUE: NULL; NOT_FOUND: not one of its devices; NOT_PERMITTED: not started, or made of an
 * export for the PCI bus.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_dev_get_dpa_handle(struct doca_mmap *mmap,
							    const struct doca_dev *dev,
							    doca_dpa_dev_mmap_t *dpa_mmap_handle);

/*
 * Create a map of a peer's range from the description of the peer's doca_mmap_export_rdma(), for
 * RDMA, or of its doca_mmap_export_pci(), for copies of a doca_dma only. The peer is not contacted.
 * The map is started; setting, exporting, starting and stopping it is NOT_PERMITTED.
 * @user_data: kept for doca_mmap_get_user_data(); may be NULL
 * @dev:       the device that accesses it; in use until the map is destroyed
 * INVALID_VALUE: NULL, or not a description of this library; NOT_SUPPORTED: of a newer one, or for the
 * PCI bus and the device is not of this adapter;
 * NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_mmap_create_from_export(const union doca_data *user_data,
						      const void *export_desc,
						      size_t export_desc_len, struct doca_dev *dev,
						      struct doca_mmap **mmap);

/*
 * Set the range, in memory of this process.
 * @len: bytes, at least 1
 * INVALID_VALUE: NULL, no bytes, or the end is beyond the address space; BAD_STATE: started;
 * NOT_PERMITTED: there is another range already, or made from an export. Memory of a GPU may be given
 * by its pointer (doca_gpunetio.h).
 */
DOCA_STABLE doca_error_t doca_mmap_set_memrange(struct doca_mmap *mmap, void *addr, size_t len);

/*
 * Set the range, in a dma-buf that user space can map. Device code reaches it by RDMA and copies,
 * not by external pointers.
 * @dmabuf_fd:     the caller may close it afterwards
 * @addr:          the address that devices use for it
 * @dmabuf_offset: of its first byte in the dma-buf
 * INVALID_VALUE: NULL map, no file descriptor, no bytes, or the end is beyond the address space
 * (doca_mmap_start() checks that it is a dma-buf); BAD_STATE: started; NOT_PERMITTED: there is a
 * range already, or made from an export.
 */
DOCA_STABLE doca_error_t doca_mmap_set_dmabuf_memrange(struct doca_mmap *mmap, int dmabuf_fd,
						       void *addr, size_t dmabuf_offset,
						       size_t len);

/*
 * Set the range, in memory of a DPA context (doca_dpa_mem_alloc()). The map uses the device of the
 * context. The memory stays until the map is stopped, even if it is freed before. INVALID_VALUE:
 * NULL, no bytes, or not within one allocation of the context; BAD_STATE: started; NOT_PERMITTED:
 * there is a range or a device already, or made from an export.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_set_dpa_memrange(struct doca_mmap *mmap,
							  struct doca_dpa *dpa, uint64_t dpa_addr,
							  size_t len);

/*
 * Read the range back, whatever its kind; of an imported map as the peer addresses it.
 * INVALID_VALUE: NULL; BAD_STATE: never set.
 */
DOCA_STABLE doca_error_t doca_mmap_get_memrange(const struct doca_mmap *mmap, void **addr,
						size_t *len);

/*
 * Set the function that doca_mmap_destroy() calls when the map has been started.
 * @free_cb: NULL removes it
 * @opaque:  its third argument
 * INVALID_VALUE: NULL map; BAD_STATE: started or made from an export.
 */
DOCA_STABLE doca_error_t doca_mmap_set_free_cb(struct doca_mmap *mmap,
					       doca_mmap_memrange_free_cb_t *free_cb, void *opaque);

/*
 * Set the permissions on the memory; DOCA_ACCESS_FLAG_LOCAL_READ_WRITE unless set. A permission to
 * write remotely is one to write locally.
 * @access_mask: enum doca_access_flag
 * INVALID_VALUE: NULL, an unknown flag, or both PCI_READ_ONLY and PCI_READ_WRITE; BAD_STATE:
 * started or made from an export.
 */
DOCA_STABLE doca_error_t doca_mmap_set_permissions(struct doca_mmap *mmap, uint32_t access_mask);

/*
 * Set the largest number of devices of the map; 8 unless set.
 * INVALID_VALUE: NULL, 0, or fewer than it has; NOT_PERMITTED: has been started, or made from an
 * export.
 */
DOCA_STABLE doca_error_t doca_mmap_set_max_num_devices(struct doca_mmap *mmap,
						       uint32_t max_num_devices);

/* Read it back. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_mmap_get_max_num_devices(const struct doca_mmap *mmap,
						       uint32_t *max_num_devices);

/*
 * Set a word for the caller's use. INVALID_VALUE: NULL; BAD_STATE: started or made from an export.
 */
DOCA_STABLE doca_error_t doca_mmap_set_user_data(struct doca_mmap *mmap, union doca_data user_data);

/* Read it back; 0 unless set. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_mmap_get_user_data(const struct doca_mmap *mmap,
						 union doca_data *user_data);

/* Get the number of bufs and arrays of bufs of the map. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_mmap_get_num_bufs(const struct doca_mmap *mmap, uint32_t *num_bufs);

/* Get 1 if the map has an export, else 0. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_mmap_get_exported(const struct doca_mmap *mmap, uint8_t *exported);

/* Get 1 if the map was made from an export, else 0. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_mmap_get_from_export(const struct doca_mmap *mmap,
						   uint8_t *from_export);

/*
 * Request that several threads may use the map. This library always allows it, and maps still count
 * their bufs.
 * INVALID_VALUE: NULL; NOT_PERMITTED: has been started, or made from an export.
 */
DOCA_EXPERIMENTAL doca_error_t doca_mmap_enable_thread_safety(struct doca_mmap *mmap);

/*
 * Report whether doca_mmap_export_pci() works with the device: 1 if it is of this adapter.
 * INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_mmap_cap_is_export_pci_supported(const struct doca_devinfo *devinfo,
							       uint8_t *mmap_export);

/*
 * Report whether exports of doca_mmap_export_pci() can be imported: as above. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_mmap_cap_is_create_from_export_pci_supported(
	const struct doca_devinfo *devinfo, uint8_t *from_export);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_MMAP_H_ */
