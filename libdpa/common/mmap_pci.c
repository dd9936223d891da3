/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mmap_pci.c - PCI exports: the data that a doca_dma of another process needs to access a range.
 *
 * Little-endian, except the GIDs and the node GUID, which are in network order:
 *   0  magic "dpapci\0\2"          36 permissions, enum doca_access_flag
 *   8  size of this, bytes         40 token of the port
 *  12  version                     56 node GUID of the exporter's adapter
 *  16  address of the range        64 TCP port
 *  24  range, bytes                66 number of GIDs
 *  32  R_Key on the port's PD      67 0
 *                                  72 GIDs of the exporter's device, 16 bytes each
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mmap_priv.h"

#define EXPORT_VERSION 1
#define PCI_ACCESS     (DOCA_ACCESS_FLAG_PCI_READ_ONLY | DOCA_ACCESS_FLAG_PCI_READ_WRITE)

struct pci_export {
	char magic[8];
	uint32_t size;
	uint32_t version;
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
	uint32_t access;
	uint8_t token[DPA_PCI_TOKEN];
	uint64_t node_guid;
	uint16_t port;
	uint8_t num_gids;
	uint8_t rsvd[5];
	uint8_t gids[DPA_PCI_GIDS][16];
};
/* the public samples accept 512 bytes at most */
static_assert(sizeof(struct pci_export) == 72 + 16 * DPA_PCI_GIDS, "the format of exports");

static const char magic[8] = {'d', 'p', 'a', 'p', 'c', 'i', 0, 2};

static int pci_verbs_access(uint32_t access)
{
	return IBV_ACCESS_REMOTE_READ | (access & DOCA_ACCESS_FLAG_PCI_READ_WRITE
						 ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
						 : 0);
}

static struct pci_export *pci_make_export(const struct mmap_dev *d)
{
	struct dpa_pci_where where = {0};
	struct pci_export *e;

	if (!dpa_pci_port_where(d->pci_port, &where))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	memcpy(e->magic, magic, sizeof(magic));
	e->size = htole32(sizeof(*e));
	e->version = htole32(EXPORT_VERSION);
	e->addr = htole64(d->key.addr);
	e->len = htole64(d->key.len);
	e->rkey = htole32(d->pci_mr->rkey);
	e->access = htole32(d->key.access & PCI_ACCESS);
	memcpy(e->token, where.token, sizeof(e->token));
	e->node_guid = where.node_guid;
	e->port = htole16(where.port);
	e->num_gids = where.num_gids;
	memcpy(e->gids, where.gids, sizeof(e->gids));
	return e;
}

void mmap_pci_unexport(struct mmap_dev *d)
{
	free(d->pci_export);
	if (d->pci_port)
		dpa_pci_port_close(d->pci_port);
	d->pci_export = NULL;
	d->pci_port = NULL;
}

bool mmap_pci_register(const struct doca_mmap *m, struct mmap_dev *d)
{
	if (d->pci_mr || !(m->access & PCI_ACCESS) || !d->dev->info.is_dpa)
		return d->pci_mr;
	if (!d->pci_pd)
		d->pci_pd = ibv_alloc_pd(d->dev->ctx);
	if (d->pci_pd)
		d->pci_mr = mmap_register(m, d->pci_pd, pci_verbs_access(m->access));
	return d->pci_mr != NULL;
}

void mmap_pci_unregister(struct mmap_dev *d)
{
	if (d->pci_mr)
		ibv_dereg_mr(d->pci_mr);
	if (d->pci_pd)
		ibv_dealloc_pd(d->pci_pd);
	d->pci_mr = NULL;
	d->pci_pd = NULL;
}

/* Context: the map's lock is held. */
static doca_error_t pci_export_dev(const struct doca_mmap *m, struct mmap_dev *d)
{
	doca_error_t ret;

	if (!mmap_pci_register(m, d))
		return errno == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER;
	ret = dpa_pci_port_open(d->dev, d->pci_pd, &d->pci_port);
	if (ret)
		return ret;
	d->pci_export = pci_make_export(d);
	if (d->pci_export)
		return DOCA_SUCCESS;
	mmap_pci_unexport(d);
	return DOCA_ERROR_NO_MEMORY;
}

static doca_error_t give_pci_export(struct doca_mmap *m, struct mmap_dev *d, const void **desc,
				    size_t *len)
{
	doca_error_t ret;

	if (!d->dev->info.is_dpa)
		return DOCA_ERROR_NOT_SUPPORTED;
	if (!d->pci_export) {
		ret = pci_export_dev(m, d);
		if (ret)
			return ret;
		m->exports++;
	}
	*desc = d->pci_export;
	*len = sizeof(struct pci_export);
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_export_pci(struct doca_mmap *mmap, const struct doca_dev *dev,
				  const void **export_desc, size_t *export_desc_len)
{
	return mmap_export(mmap, dev, PCI_ACCESS, give_pci_export, export_desc, export_desc_len);
}

/* ------------------------------------------------------------- the other side */

bool mmap_pci_is_export(const void *desc, size_t size)
{
	return size >= sizeof(magic) && !memcmp(desc, magic, sizeof(magic));
}

doca_error_t mmap_pci_parse(const void *desc, size_t size, struct dpa_mmap_key *k,
			    struct dpa_pci_where *where)
{
	struct pci_export e;

	if (size < sizeof(e))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(&e, desc, sizeof(e));
	if (le32toh(e.version) != EXPORT_VERSION)
		return DOCA_ERROR_NOT_SUPPORTED;
	*k = (struct dpa_mmap_key){
		.key = le32toh(e.rkey),
		.remote = true,
		.addr = le64toh(e.addr),
		.len = le64toh(e.len),
		.access = le32toh(e.access) & PCI_ACCESS,
	};
	*where = (struct dpa_pci_where){
		.node_guid = e.node_guid,
		.port = le16toh(e.port),
		.num_gids = e.num_gids,
	};
	memcpy(where->token, e.token, sizeof(where->token));
	memcpy(where->gids, e.gids, sizeof(where->gids));
	if (size != sizeof(e) || le32toh(e.size) != sizeof(e) || !k->len ||
	    k->addr + k->len < k->addr || !k->access || !where->port || !where->num_gids ||
	    where->num_gids > DPA_PCI_GIDS)
		return DOCA_ERROR_INVALID_VALUE;
	return DOCA_SUCCESS;
}
