/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mmap_export.c - exports: the data that a peer needs to access a range by RDMA, as bytes that may
 * travel between machines; and maps made from exports, these and those of mmap_pci.c.
 *
 * Little-endian:
 *   0  magic "dpamem\0\1"          24 range, bytes
 *   8  size of this, bytes         32 R_Key
 *  12  version                     36 permissions, enum doca_access_flag
 *  16  address of the range
 */
#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "mmap_priv.h"

#define EXPORT_VERSION 1
#define RDMA_ACCESS                                                                                \
	(DOCA_ACCESS_FLAG_RDMA_READ | DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC)

struct export
{
	char magic[8];
	uint32_t size;
	uint32_t version;
	uint64_t addr;
	uint64_t len;
	uint32_t rkey;
	uint32_t access;
};
static_assert(sizeof(struct export) == 40, "the format of exports");

static const char magic[8] = {'d', 'p', 'a', 'm', 'e', 'm', 0, 1};

static struct export *make_export(const struct dpa_mmap_key *k)
{
	struct export *e = malloc(sizeof(*e));

	if (!e)
		return NULL;
	memcpy(e->magic, magic, sizeof(magic));
	e->size = htole32(sizeof(*e));
	e->version = htole32(EXPORT_VERSION);
	e->addr = htole64(k->addr);
	e->len = htole64(k->len);
	e->rkey = htole32(k->key);
	e->access = htole32(k->access);
	return e;
}

doca_error_t mmap_export(struct doca_mmap *m, const struct doca_dev *dev, uint32_t access,
			 mmap_export_fn *give, const void **desc, size_t *len)
{
	struct mmap_dev *d;
	doca_error_t ret;

	if (!dpa_live(m) || !dpa_live(dev) || !desc || !len)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&m->lock);
	d = mmap_find_dev(m, dev);
	if (!m->started || m->source == MMAP_EXPORT || !(m->access & access))
		ret = DOCA_ERROR_NOT_PERMITTED;
	else
		ret = d ? give(m, d, desc, len) : DOCA_ERROR_NOT_FOUND;
	pthread_mutex_unlock(&m->lock);
	return ret;
}

static doca_error_t give_export(struct doca_mmap *m, struct mmap_dev *d, const void **desc,
				size_t *len)
{
	if (!d->export) {
		d->export = make_export(&d->key);
		if (!d->export)
			return DOCA_ERROR_NO_MEMORY;
		m->exports++;
	}
	*desc = d->export;
	*len = sizeof(struct export);
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_export_rdma(struct doca_mmap *mmap, const struct doca_dev *dev,
				   const void **export_desc, size_t *export_desc_len)
{
	return mmap_export(mmap, dev, RDMA_ACCESS, give_export, export_desc, export_desc_len);
}

/* Parse an export. It comes from outside: check each field before it is used. */
static doca_error_t parse_export(const void *desc, size_t size, struct dpa_mmap_key *k)
{
	struct export e;

	if (size < sizeof(e))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(&e, desc, sizeof(e));
	if (memcmp(e.magic, magic, sizeof(magic)))
		return DOCA_ERROR_INVALID_VALUE;
	if (le32toh(e.version) != EXPORT_VERSION)
		return DOCA_ERROR_NOT_SUPPORTED;
	*k = (struct dpa_mmap_key){
		.key = le32toh(e.rkey),
		.remote = true,
		.addr = le64toh(e.addr),
		.len = le64toh(e.len),
		.access = le32toh(e.access),
	};
	if (size != sizeof(e) || le32toh(e.size) != sizeof(e) || !k->len ||
	    k->addr + k->len < k->addr || !(k->access & RDMA_ACCESS))
		return DOCA_ERROR_INVALID_VALUE;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_create_from_export(const union doca_data *user_data, const void *export_desc,
					  size_t export_desc_len, struct doca_dev *dev,
					  struct doca_mmap **mmap)
{
	struct dpa_pci_where where = {0};
	struct dpa_mmap_key k;
	struct doca_mmap *m;
	doca_error_t ret;

	if (!export_desc || !dpa_live(dev) || !mmap)
		return DOCA_ERROR_INVALID_VALUE;
	if (mmap_pci_is_export(export_desc, export_desc_len))
		ret = dev->info.is_dpa ? mmap_pci_parse(export_desc, export_desc_len, &k, &where)
				       : DOCA_ERROR_NOT_SUPPORTED;
	else
		ret = parse_export(export_desc, export_desc_len, &k);
	if (!ret)
		ret = doca_mmap_create(&m);
	if (ret)
		return ret;
	ret = mmap_new_dev(m, dev);
	if (ret) {
		doca_mmap_destroy(m);
		return ret;
	}
	m->devs[0]->key = k;
	m->devs[0]->pci_where = where;
	if (where.num_gids)
		m->devs[0]->key.pci = &m->devs[0]->pci_where;
	m->source = MMAP_EXPORT;
	m->addr = (void *)(uintptr_t)k.addr;
	m->len = k.len;
	m->access = k.access;
	m->started = true;
	if (user_data)
		m->user_data = *user_data;
	*mmap = m;
	return DOCA_SUCCESS;
}
