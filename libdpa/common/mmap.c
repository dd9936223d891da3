/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* mmap.c - maps: life cycle, registrations, and the table of keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "log/log.h"
#include "mmap_priv.h"

/* ------------------------------------------------------------------ by key */

#define BUCKETS 256

/*
 * Local regions by key, of all devices. EUs read it in ops, concurrently with starts and stops of
 * the host.
 */
static struct {
	pthread_rwlock_t lock;
	struct mmap_dev *bucket[BUCKETS];
} keys = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static struct mmap_dev **bucket_of(uint32_t key)
{
	return &keys.bucket[(key ^ key >> 8) % BUCKETS];
}

static void key_add(struct mmap_dev *d)
{
	struct mmap_dev **b = bucket_of(d->key.key);

	pthread_rwlock_wrlock(&keys.lock);
	d->next_key = *b;
	*b = d;
	pthread_rwlock_unlock(&keys.lock);
}

static void key_remove(struct mmap_dev *d)
{
	struct mmap_dev **p = bucket_of(d->key.key);

	pthread_rwlock_wrlock(&keys.lock);
	while (*p != d)
		p = &(*p)->next_key;
	*p = d->next_key;
	pthread_rwlock_unlock(&keys.lock);
}

bool dpa_mmap_lookup(const struct doca_dev *dev, uint32_t key, struct dpa_mmap_key *out)
{
	struct mmap_dev *d;

	pthread_rwlock_rdlock(&keys.lock);
	d = *bucket_of(key);
	while (d && (d->key.key != key || d->dev != dev))
		d = d->next_key;
	if (d)
		*out = d->key;
	pthread_rwlock_unlock(&keys.lock);
	return d != NULL;
}

/* ------------------------------------------------------------------ devices */

struct mmap_dev *mmap_find_dev(const struct doca_mmap *m, const struct doca_dev *dev)
{
	for (uint32_t i = 0; i < m->num_devs; i++)
		if (m->devs[i]->dev == dev)
			return m->devs[i];
	return NULL;
}

doca_error_t mmap_new_dev(struct doca_mmap *m, struct doca_dev *dev)
{
	struct mmap_dev *d = calloc(1, sizeof(*d));
	struct mmap_dev **devs = realloc(m->devs, (m->num_devs + 1) * sizeof(*devs));

	if (devs)
		m->devs = devs;
	if (!d || !devs) {
		free(d);
		return DOCA_ERROR_NO_MEMORY;
	}
	d->dev = dev;
	dpa_dev_use(dev, 1);
	devs[m->num_devs++] = d;
	return DOCA_SUCCESS;
}

void mmap_drop_dev(struct doca_mmap *m, struct mmap_dev *d)
{
	for (uint32_t i = 0; i < m->num_devs; i++)
		if (m->devs[i] == d)
			m->devs[i] = m->devs[--m->num_devs];
	dpa_dev_use(d->dev, -1);
	free(d->export);
	free(d);
}

/* ------------------------------------------------------------- registration */

static int verbs_access(uint32_t access)
{
	int a = 0;

	if (access & (DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_WRITE |
		      DOCA_ACCESS_FLAG_RDMA_ATOMIC | DOCA_ACCESS_FLAG_PCI_READ_WRITE))
		a |= IBV_ACCESS_LOCAL_WRITE;
	if (access & DOCA_ACCESS_FLAG_RDMA_READ)
		a |= IBV_ACCESS_REMOTE_READ;
	if (access & DOCA_ACCESS_FLAG_RDMA_WRITE)
		a |= IBV_ACCESS_REMOTE_WRITE;
	if (access & DOCA_ACCESS_FLAG_RDMA_ATOMIC)
		a |= IBV_ACCESS_REMOTE_ATOMIC;
	return a;
}

struct ibv_mr *mmap_register(const struct doca_mmap *m, struct ibv_pd *pd, int access)
{
	if (m->source == MMAP_DMABUF)
		return ibv_reg_dmabuf_mr(pd, m->fd_offset, m->len, (uintptr_t)m->addr, m->fd,
					 access);
	return ibv_reg_mr(pd, m->addr, m->len, access);
}

/* Register the memory. Copies of the driver reach memory of a GPU. */
static struct ibv_mr *register_memory(const struct doca_mmap *m, struct mmap_dev *d,
				      struct ibv_pd *pd)
{
	const int access = verbs_access(m->access);
	struct ibv_mr *mr;
	bool bad = false;

	if (m->source == MMAP_HOST)
		d->gpu = dpa_gpu_of_memory(m->addr, m->len, &bad);
	if (bad) {
		errno = EFAULT;
		return NULL;
	}
	if (!d->gpu)
		return mmap_register(m, pd, access);
	mr = dpa_hwif_reg_foreign(pd, (uintptr_t)m->addr, m->len, access, &dpa_gpu_ops, d->gpu);
	if (!mr) {
		dpa_gpu_dev_put(d->gpu);
		d->gpu = NULL;
	}
	return mr;
}

static doca_error_t register_with(struct doca_mmap *m, struct mmap_dev *d)
{
	struct ibv_pd *pd = dpa_dev_pd(d->dev);

	if (!pd)
		return DOCA_ERROR_NO_MEMORY;
	mmap_pci_register(m, d); /* on failure, an export tries again */
	d->mr = register_memory(m, d, pd);
	if (!d->mr) {
		const int err = errno; /* errno of the failure, not of the clean-up */

		mmap_pci_unregister(d);
		DPA_LOG(DOCA_LOG_LEVEL_ERROR, "%s cannot register %zu bytes at %p: %s",
			d->dev->info.name, m->len, m->addr, strerror(err));
		return err == ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_INVALID_VALUE;
	}
	d->key = (struct dpa_mmap_key){
		.key = d->mr->lkey,
		.addr = (uintptr_t)m->addr,
		.len = m->len,
		.access = m->access,
		.gpu = d->gpu != NULL,
	};
	/* addresses of a dma-buf or a GPU are not valid for the CPU: no pointer may use them */
	d->by_key = m->source != MMAP_DMABUF && !d->gpu;
	if (d->by_key)
		key_add(d);
	return DOCA_SUCCESS;
}

static void unregister_dev(struct mmap_dev *d)
{
	if (!d->mr)
		return;
	if (d->by_key)
		key_remove(d);
	mmap_pci_unexport(d);
	ibv_dereg_mr(d->mr);
	mmap_pci_unregister(d);
	d->mr = NULL;
	if (d->gpu)
		dpa_gpu_dev_put(d->gpu);
	d->gpu = NULL;
	free(d->export);
	d->export = NULL;
}

static void unregister_all(struct doca_mmap *m)
{
	for (uint32_t i = 0; i < m->num_devs; i++)
		unregister_dev(m->devs[i]);
	m->exports = 0;
	m->started = false;
}

/* The lock is held. */
static doca_error_t start_mmap(struct doca_mmap *m)
{
	doca_error_t ret = DOCA_SUCCESS;

	if (m->source == MMAP_EXPORT || m->started)
		return DOCA_ERROR_NOT_PERMITTED;
	if (m->source == MMAP_NONE || !m->num_devs)
		return DOCA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < m->num_devs && !ret; i++)
		ret = register_with(m, m->devs[i]);
	if (ret) {
		unregister_all(m);
		return ret;
	}
	m->started = true;
	m->was_started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_start(struct doca_mmap *mmap)
{
	doca_error_t ret;

	if (!dpa_live(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mmap->lock);
	ret = start_mmap(mmap);
	pthread_mutex_unlock(&mmap->lock);
	return ret;
}

doca_error_t doca_mmap_stop(struct doca_mmap *mmap)
{
	doca_error_t ret = DOCA_ERROR_NOT_PERMITTED;

	if (!dpa_live(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mmap->lock);
	if (mmap->started && !mmap->bufs) {
		unregister_all(mmap);
		ret = DOCA_SUCCESS;
	}
	pthread_mutex_unlock(&mmap->lock);
	return ret;
}

/* ------------------------------------------------------------------ queries */

doca_error_t dpa_mmap_mkey(struct doca_mmap *mmap, const struct doca_dev *dev,
			   struct dpa_mmap_key *out)
{
	doca_error_t ret = DOCA_SUCCESS;
	struct mmap_dev *d;

	if (!mmap || !dev)
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mmap->lock);
	d = mmap_find_dev(mmap, dev);
	if (!mmap->started)
		ret = DOCA_ERROR_NOT_PERMITTED;
	else if (!d)
		ret = DOCA_ERROR_NOT_FOUND;
	else
		*out = d->key;
	pthread_mutex_unlock(&mmap->lock);
	return ret;
}

doca_error_t dpa_mmap_first_mkey(struct doca_mmap *mmap, struct dpa_mmap_key *out)
{
	const struct doca_dev *dev;

	pthread_mutex_lock(&mmap->lock);
	dev = mmap->num_devs ? mmap->devs[0]->dev : NULL;
	pthread_mutex_unlock(&mmap->lock);
	return dev ? dpa_mmap_mkey(mmap, dev, out) : DOCA_ERROR_NOT_PERMITTED;
}

const struct dpa_mmap_key *dpa_mmap_key_of_held(const struct doca_mmap *mmap,
						const struct doca_dev *dev)
{
	const struct mmap_dev *d = mmap_find_dev(mmap, dev);

	return d ? &d->key : NULL;
}

doca_error_t doca_mmap_dev_get_dpa_handle(struct doca_mmap *mmap, const struct doca_dev *dev,
					  doca_dpa_dev_mmap_t *dpa_mmap_handle)
{
	struct dpa_mmap_key k;
	doca_error_t ret;

	if (!dpa_live(mmap) || !dpa_live(dev) || !dpa_mmap_handle)
		return DOCA_ERROR_INVALID_VALUE;
	ret = dpa_mmap_mkey(mmap, dev, &k);
	if (!ret && k.pci)
		ret = DOCA_ERROR_NOT_PERMITTED; /* device code cannot reach it */
	if (!ret)
		*dpa_mmap_handle = k.key;
	return ret;
}

doca_error_t dpa_mmap_hold_buf(struct doca_mmap *mmap)
{
	doca_error_t ret = DOCA_ERROR_NOT_PERMITTED;

	pthread_mutex_lock(&mmap->lock);
	if (mmap->started) {
		mmap->bufs++;
		ret = DOCA_SUCCESS;
	}
	pthread_mutex_unlock(&mmap->lock);
	return ret;
}

void dpa_mmap_hold(struct doca_mmap *mmap)
{
	pthread_mutex_lock(&mmap->lock);
	mmap->bufs++;
	pthread_mutex_unlock(&mmap->lock);
}

void dpa_mmap_release_buf(struct doca_mmap *mmap)
{
	pthread_mutex_lock(&mmap->lock);
	mmap->bufs--;
	pthread_mutex_unlock(&mmap->lock);
}

uint32_t dpa_mmap_local_access(struct doca_mmap *mmap)
{
	uint32_t access;

	pthread_mutex_lock(&mmap->lock);
	access = mmap->started && mmap->source != MMAP_EXPORT ? mmap->access : 0;
	pthread_mutex_unlock(&mmap->lock);
	return access;
}

/* --------------------------------------------------------------- life cycle */

doca_error_t doca_mmap_create(struct doca_mmap **mmap)
{
	struct doca_mmap *m;

	if (!mmap)
		return DOCA_ERROR_INVALID_VALUE;
	m = dpa_obj_new(DPA_T_MMAP, sizeof(*m));
	if (!m)
		return DOCA_ERROR_NO_MEMORY;
	pthread_mutex_init(&m->lock, NULL);
	m->max_devs = DPA_MMAP_DEVS;
	/* programs copy to maps of DPA memory without setting permissions */
	m->access = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE;
	*mmap = m;
	return DOCA_SUCCESS;
}

doca_error_t doca_mmap_destroy(struct doca_mmap *mmap)
{
	if (!dpa_live(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mmap->lock);
	if (mmap->bufs) {
		pthread_mutex_unlock(&mmap->lock);
		return DOCA_ERROR_NOT_PERMITTED;
	}
	unregister_all(mmap);
	while (mmap->num_devs)
		mmap_drop_dev(mmap, mmap->devs[0]);
	pthread_mutex_unlock(&mmap->lock);
	if (mmap->was_started && mmap->free_cb)
		mmap->free_cb(mmap->addr, mmap->len, mmap->free_arg);
	if (mmap->mem)
		dpa_mem_release(mmap->mem);
	if (mmap->source == MMAP_DMABUF)
		close(mmap->fd);
	pthread_mutex_destroy(&mmap->lock);
	free(mmap->devs);
	dpa_obj_free(mmap);
	return DOCA_SUCCESS;
}
