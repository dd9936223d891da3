/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mmap_priv.h - internals of a map, for the files mmap*.c. */
#ifndef DPA_COMMON_MMAP_PRIV_H
#define DPA_COMMON_MMAP_PRIV_H

#include <pthread.h>
#include "../gpu/gpu.h"
#include "../host/libdpa.h"
#include "../pci/pci.h"
#include "mmap.h"

#define DPA_MMAP_DEVS 8 /* max_num_devices unless set */

/* A device of a map. Written under the map's lock, looked up by key while started. */
struct mmap_dev {
	struct doca_dev *dev;
	struct ibv_mr *mr;	       /* local and started */
	struct dpa_gpu_dev *gpu;       /* GPU that owns the memory; referenced */
	void *export;		       /* export made by export_rdma, once */
	struct dpa_pci_port *pci_port; /* the same for export_pci: referenced */
	struct ibv_pd *pci_pd;	       /* PD of the port and its region only */
	struct ibv_mr *pci_mr;
	void *pci_export;
	struct dpa_pci_where pci_where; /* of an import: key.pci */
	struct dpa_mmap_key key;
	bool by_key;		   /* is in the table of keys */
	struct mmap_dev *next_key; /* next in that table; under its lock */
};

enum mmap_source { MMAP_NONE, MMAP_HOST, MMAP_DPA, MMAP_DMABUF, MMAP_EXPORT };

struct doca_mmap {
	pthread_mutex_t lock;
	enum mmap_source source;
	bool started, was_started;
	void *addr;
	size_t len;
	struct dpa_mem *mem; /* MMAP_DPA: referenced */
	int fd;		     /* MMAP_DMABUF: owned by the map */
	size_t fd_offset;
	uint32_t access;
	struct mmap_dev **devs;
	uint32_t num_devs, max_devs, bufs, exports;
	union doca_data user_data;
	doca_mmap_memrange_free_cb_t *free_cb;
	void *free_arg;
};

/* Return the map's entry for a device, or NULL. */
struct mmap_dev *mmap_find_dev(const struct doca_mmap *m, const struct doca_dev *dev);
/* Add a device. NO_MEMORY. */
doca_error_t mmap_new_dev(struct doca_mmap *m, struct doca_dev *dev);
void mmap_drop_dev(struct doca_mmap *m, struct mmap_dev *d);
/* Register the memory of the map on a PD. NULL and errno. */
struct ibv_mr *mmap_register(const struct doca_mmap *m, struct ibv_pd *pd, int access);

/* ------------------------------------------------------- mmap_export.c, mmap_pci.c */

/*
 * Get the export of a kind. If there is none it is made and counted in m->exports. Context: the
 * map's lock is held.
 */
typedef doca_error_t mmap_export_fn(struct doca_mmap *m, struct mmap_dev *d, const void **desc,
				    size_t *len);
/*
 * Implement doca_mmap_export_...() for maps that have one of these permissions. INVALID_VALUE;
 * NOT_PERMITTED; NOT_FOUND: not one of its devices; else the result of give().
 */
doca_error_t mmap_export(struct doca_mmap *m, const struct doca_dev *dev, uint32_t access,
			 mmap_export_fn *give, const void **desc, size_t *len);
/*
 * Register the region of a PCI export, if the map may have one: at the start of the map, before its
 * own region. Pages can be shared with peers only while no other region covers them, and peers do
 * not use the map's own region. False and errno; pci_mr is NULL then.
 */
bool mmap_pci_register(const struct doca_mmap *m, struct mmap_dev *d);
void mmap_pci_unregister(struct mmap_dev *d);
/* Undo export_pci. */
void mmap_pci_unexport(struct mmap_dev *d);
/* Return whether these bytes begin like a PCI export. */
bool mmap_pci_is_export(const void *desc, size_t size);
/*
 * Parse an export. It comes from outside: each field is checked before it is used. INVALID_VALUE,
 * NOT_SUPPORTED.
 */
doca_error_t mmap_pci_parse(const void *desc, size_t size, struct dpa_mmap_key *k,
			    struct dpa_pci_where *where);

#endif
