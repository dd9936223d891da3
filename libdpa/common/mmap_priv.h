/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mmap_priv.h - the inside of a map, for the files mmap*.c. */
#ifndef DPA_COMMON_MMAP_PRIV_H
#define DPA_COMMON_MMAP_PRIV_H

#include <pthread.h>
#include "../gpu/gpu.h"
#include "../host/libdpa.h"
#include "../pci/pci.h"
#include "mmap.h"

#define DPA_MMAP_DEVS 8 /* max_num_devices unless set */

/* A device of a map. Written under the map's lock, and found by key while started. */
struct mmap_dev {
	struct doca_dev *dev;
	struct ibv_mr *mr;	       /* local and started */
	struct dpa_gpu_dev *gpu;       /* whose memory it is; held */
	void *export;		       /* what export_rdma gave, once */
	struct dpa_pci_port *pci_port; /* the same of export_pci: held */
	struct ibv_pd *pci_pd;	       /* of the port and its region alone */
	struct ibv_mr *pci_mr;
	void *pci_export;
	struct dpa_pci_where pci_where; /* of an import: key.pci */
	struct dpa_mmap_key key;
	bool by_key;		   /* is in the table of keys */
	struct mmap_dev *next_key; /* of that; its lock */
};

enum mmap_source { MMAP_NONE, MMAP_HOST, MMAP_DPA, MMAP_DMABUF, MMAP_EXPORT };

struct doca_mmap {
	pthread_mutex_t lock;
	enum mmap_source source;
	bool started, was_started;
	void *addr;
	size_t len;
	struct dpa_mem *mem; /* MMAP_DPA: held */
	int fd;		     /* MMAP_DMABUF: the map's own */
	size_t fd_offset;
	uint32_t access;
	struct mmap_dev **devs;
	uint32_t num_devs, max_devs, bufs, exports;
	union doca_data user_data;
	doca_mmap_memrange_free_cb_t *free_cb;
	void *free_arg;
};

/* The map's entry for a device, or NULL. */
struct mmap_dev *mmap_find_dev(const struct doca_mmap *m, const struct doca_dev *dev);
/* A device more. NO_MEMORY. */
doca_error_t mmap_new_dev(struct doca_mmap *m, struct doca_dev *dev);
void mmap_drop_dev(struct doca_mmap *m, struct mmap_dev *d);
/* The memory of the map, on a PD. NULL and errno. */
struct ibv_mr *mmap_register(const struct doca_mmap *m, struct ibv_pd *pd, int access);

/* ------------------------------------------------------- mmap_export.c, mmap_pci.c */

/*
 * Gives the export of a kind, and makes it if there is none: then it counts in m->exports. Context:
 * the map's lock is held.
 */
typedef doca_error_t mmap_export_fn(struct doca_mmap *m, struct mmap_dev *d, const void **desc,
				    size_t *len);
/*
 * doca_mmap_export_...(), for maps that have one of these permissions. INVALID_VALUE; NOT_PERMITTED;
 * NOT_FOUND: not one of its devices; else what give() returns.
 */
doca_error_t mmap_export(struct doca_mmap *m, const struct doca_dev *dev, uint32_t access,
			 mmap_export_fn *give, const void **desc, size_t *len);
/*
 * The region of a PCI export, if the map may have one: at the start of the map, ahead of its own
 * region. Pages can be shared with peers only while no other region lies there, and the map's own is
 * for nobody else. False and errno; pci_mr is NULL then.
 */
bool mmap_pci_register(const struct doca_mmap *m, struct mmap_dev *d);
void mmap_pci_unregister(struct mmap_dev *d);
/* Undoes what export_pci made. */
void mmap_pci_unexport(struct mmap_dev *d);
/* Whether these bytes begin as a PCI export. */
bool mmap_pci_is_export(const void *desc, size_t size);
/* From outside: nothing in it counts before it was checked. INVALID_VALUE, NOT_SUPPORTED. */
doca_error_t mmap_pci_parse(const void *desc, size_t size, struct dpa_mmap_key *k,
			    struct dpa_pci_where *where);

#endif
