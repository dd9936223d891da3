/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* memory.c - device memory: memory of this process that the context keeps in a list. */
#include <stdlib.h>
#include <string.h>
#include "../common/buf/buf.h"
#include "libdpa.h"

#define MEM_ALIGN 64

doca_error_t doca_dpa_mem_alloc(struct doca_dpa *dpa, size_t size, doca_dpa_dev_uintptr_t *dev_ptr)
{
	struct dpa_mem *m, **heap;

	if (dev_ptr)
		*dev_ptr = 0;
	if (!dpa_live(dpa) || !dev_ptr || !size)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	m = malloc(sizeof(*m));
	if (!m)
		return DOCA_ERROR_DRIVER;
	if (posix_memalign(&m->base, MEM_ALIGN, size)) {
		free(m);
		return DOCA_ERROR_DRIVER;
	}
	m->size = size;
	atomic_init(&m->refs, 1);
	pthread_mutex_lock(&dpa_base(dpa)->mem_lock);
	heap = &dpa_base(dpa)->mem;
	m->next = *heap;
	*heap = m;
	pthread_mutex_unlock(&dpa_base(dpa)->mem_lock);
	*dev_ptr = (uintptr_t)m->base;
	return DOCA_SUCCESS;
}

void dpa_mem_release(struct dpa_mem *m)
{
	if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1)
		return;
	free(m->base);
	free(m);
}

struct dpa_mem **dpa_mem_hold_all(struct doca_dpa *base, size_t *num)
{
	struct dpa_mem **all = NULL;
	size_t n = 0;

	pthread_mutex_lock(&base->mem_lock);
	for (const struct dpa_mem *m = base->mem; m; m = m->next)
		n++;
	if (n)
		all = malloc(n * sizeof(struct dpa_mem *));
	n = 0;
	for (struct dpa_mem *m = base->mem; m && all; m = m->next) {
		atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
		all[n++] = m;
	}
	pthread_mutex_unlock(&base->mem_lock);
	*num = n;
	return all;
}

/* Take an allocation off the list; the caller gets its reference. NULL: not of the context. */
static struct dpa_mem *take_off(struct doca_dpa *base, uint64_t addr)
{
	struct dpa_mem **p, *m;

	pthread_mutex_lock(&base->mem_lock);
	for (p = &base->mem; *p && (uintptr_t)(*p)->base != addr; p = &(*p)->next)
		;
	m = *p;
	if (m)
		*p = m->next;
	pthread_mutex_unlock(&base->mem_lock);
	return m;
}

doca_error_t doca_dpa_mem_free(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dev_ptr)
{
	struct dpa_mem *m;

	if (!dpa_live(dpa))
		return DOCA_ERROR_DRIVER;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	m = take_off(dpa_base(dpa), dev_ptr);
	if (!m)
		return DOCA_ERROR_DRIVER;
	dpa_mem_release(m);
	return DOCA_SUCCESS;
}

void dpa_mem_free_all(struct doca_dpa *dpa)
{
	while (dpa->mem) {
		struct dpa_mem *m = dpa->mem;

		dpa->mem = m->next;
		dpa_mem_release(m);
	}
}

/* Find the allocation that contains a whole range of device memory. */
static struct dpa_mem *in_heap(struct doca_dpa *dpa, uint64_t addr, size_t size)
{
	for (struct dpa_mem *m = dpa_base(dpa)->mem; m; m = m->next) {
		uint64_t base = (uintptr_t)m->base;

		if (addr >= base && addr - base <= m->size && size <= m->size - (addr - base))
			return m;
	}
	return NULL;
}

struct dpa_mem *dpa_mem_hold(struct doca_dpa *dpa, uint64_t addr, size_t size)
{
	struct dpa_mem *m = dpa_ctx_usable(dpa) ? in_heap(dpa, addr, size) : NULL;

	if (m)
		atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

static doca_error_t check_heap(struct doca_dpa *dpa, uint64_t addr, size_t size, void **p)
{
	if (!dpa_live(dpa) || !size)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	*p = in_heap(dpa, addr, size) ? (void *)(uintptr_t)addr : NULL;
	return *p ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_dpa_h2d_memcpy(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dst_ptr,
				 void *src_ptr, size_t size)
{
	void *p = NULL;
	doca_error_t ret = src_ptr ? check_heap(dpa, dst_ptr, size, &p) : DOCA_ERROR_INVALID_VALUE;

	if (!ret)
		memcpy(p, src_ptr, size);
	return ret;
}

doca_error_t doca_dpa_d2h_memcpy(struct doca_dpa *dpa, void *dst_ptr,
				 doca_dpa_dev_uintptr_t src_ptr, size_t size)
{
	void *p = NULL;
	doca_error_t ret = dst_ptr ? check_heap(dpa, src_ptr, size, &p) : DOCA_ERROR_INVALID_VALUE;

	if (!ret)
		memcpy(dst_ptr, p, size);
	return ret;
}

doca_error_t doca_dpa_memset(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dev_ptr, int value,
			     size_t size)
{
	void *p = NULL;
	doca_error_t ret = check_heap(dpa, dev_ptr, size, &p);

	if (!ret)
		memset(p, value, size);
	return ret;
}

#define WRITABLE                                                                                   \
	(DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_WRITE |                         \
	 DOCA_ACCESS_FLAG_RDMA_ATOMIC | DOCA_ACCESS_FLAG_PCI_READ_WRITE)

/*
 * Check the bytes of a buf from its data on, up to its end, in a local map of the context's device.
 */
static doca_error_t check_buf(struct doca_dpa *dpa, const struct doca_buf *buf, size_t size,
			      uint32_t access)
{
	struct dpa_buf_data d;

	if (!dpa_live(dpa) || dpa_buf_data(buf, dpa->dev, &d) || d.key->remote ||
	    size > buf->len - (size_t)(buf->data - buf->head))
		return DOCA_ERROR_INVALID_VALUE;
	return !access || d.key->access & access ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_dpa_h2d_buf_memcpy(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dst_ptr,
				     struct doca_buf *buf, size_t size)
{
	doca_error_t ret = check_buf(dpa, buf, size, 0);

	return ret ? ret : doca_dpa_h2d_memcpy(dpa, dst_ptr, buf->data, size);
}

doca_error_t doca_dpa_d2h_buf_memcpy(struct doca_dpa *dpa, struct doca_buf *buf,
				     doca_dpa_dev_uintptr_t src_ptr, size_t size)
{
	doca_error_t ret = check_buf(dpa, buf, size, WRITABLE);

	return ret ? ret : doca_dpa_d2h_memcpy(dpa, buf->data, src_ptr, size);
}
