/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mmap.h - memory maps as the rest of the library sees them.
 *
 *           set_*, add_dev                        exports, bufs, handles
 *   CONFIG ----------------> CONFIG --start--> STARTED --stop--> CONFIG
 *   create_from_export() makes a STARTED map of a range of another process; once stopped it can
 *   only be destroyed.
 *
 * A map's lock covers its state and its exports, so that its queries may come from any thread. The
 * table of keys has a lock of its own, taken inside the map's lock: EUs look regions up while the
 * host starts and stops other maps.
 */
#ifndef DPA_COMMON_MMAP_H
#define DPA_COMMON_MMAP_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <stdbool.h>
#include <stdint.h>
#include <doca_mmap.h>
#include "object/object.h"

struct dpa_mem;
struct dpa_pci_where;
struct doca_dpa;
struct ibv_mr;

/* The keys of a map on one device. */
struct dpa_mmap_key {
	uint32_t key; /* L_Key and R_Key of the region on the device's PD; remote: the R_Key */
	bool remote;  /* made from an export: not usable for local access */
	bool gpu;     /* memory of a GPU, which the CPU does not reach */
	/*
	 * made from a PCI export: the address of its port, valid as long as the map; NULL: any
	 * other
	 */
	const struct dpa_pci_where *pci;
	uint64_t addr;	 /* first byte, as the owner of the memory addresses it */
	uint64_t len;	 /* bytes */
	uint32_t access; /* enum doca_access_flag; what the exporter allows if remote */
};

/*
 * Get the key of a started map on a device: its own devices, the device of a DPA heap's context, or
 * the one that it was imported on. Any thread. INVALID_VALUE: NULL; NOT_PERMITTED: not started;
 * NOT_FOUND: not one of its devices.
 */
doca_error_t dpa_mmap_mkey(struct doca_mmap *mmap, const struct doca_dev *dev,
			   struct dpa_mmap_key *out);

/* Get the key of the map on its first device. */
doca_error_t dpa_mmap_first_mkey(struct doca_mmap *mmap, struct dpa_mmap_key *out);

/*
 * Return the key for a caller that holds a buf of the map, which keeps it started and unchanged:
 * takes no lock.
 * NULL: not one of its devices. Valid as long as the buf.
 */
const struct dpa_mmap_key *dpa_mmap_key_of_held(const struct doca_mmap *mmap,
						const struct doca_dev *dev);

/*
 * Look up the local region of `key` on `dev`, for handles that device code passes. False: none, or
 * it is remote. Any thread, EUs in ops too.
 */
bool dpa_mmap_lookup(const struct doca_dev *dev, uint32_t key, struct dpa_mmap_key *out);

/*
 * Return the permissions of a map, which are equal on all devices; 0 if it is not started, or
 * belongs to another process.
 */
uint32_t dpa_mmap_local_access(struct doca_mmap *mmap);

/* Return whether the range lies in the region. */
static inline bool dpa_mmap_holds(const struct dpa_mmap_key *k, uint64_t addr, uint64_t len)
{
	return addr >= k->addr && addr - k->addr <= k->len && len <= k->len - (addr - k->addr);
}

/* Count a doca_buf of the map; drop it. NOT_PERMITTED: the map is not started. */
doca_error_t dpa_mmap_hold_buf(struct doca_mmap *mmap);
/* Do the same for objects that use a map before it is started. */
void dpa_mmap_hold(struct doca_mmap *mmap);
void dpa_mmap_release_buf(struct doca_mmap *mmap);

#endif
