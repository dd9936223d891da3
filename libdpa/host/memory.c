/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Device memory: memory of this process that the context remembers. */
#include <stdlib.h>
#include <string.h>
#include "libdpa.h"

#define MEM_ALIGN 64

doca_error_t doca_dpa_mem_alloc(struct doca_dpa *dpa, size_t size, doca_dpa_dev_uintptr_t *dev_ptr)
{
	struct dpa_mem *m;

	if (dev_ptr)
		*dev_ptr = 0;
	if (!dpa || !dev_ptr || !size)
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
	m->next = dpa->mem;
	dpa->mem = m;
	*dev_ptr = (uintptr_t)m->base;
	return DOCA_SUCCESS;
}

doca_error_t doca_dpa_mem_free(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dev_ptr)
{
	if (!dpa)
		return DOCA_ERROR_DRIVER;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	for (struct dpa_mem **p = &dpa->mem; *p; p = &(*p)->next) {
		struct dpa_mem *m = *p;

		if ((uintptr_t)m->base != dev_ptr)
			continue;
		*p = m->next;
		free(m->base);
		free(m);
		return DOCA_SUCCESS;
	}
	return DOCA_ERROR_DRIVER;
}

void dpa_mem_free_all(struct doca_dpa *dpa)
{
	while (dpa->mem) {
		struct dpa_mem *m = dpa->mem;

		dpa->mem = m->next;
		free(m->base);
		free(m);
	}
}

/* The host's view of a range of device memory; NULL unless one allocation holds all of it. */
static void *in_heap(const struct doca_dpa *dpa, uint64_t addr, size_t size)
{
	for (const struct dpa_mem *m = dpa->mem; m; m = m->next) {
		uint64_t base = (uintptr_t)m->base;

		if (addr >= base && addr - base <= m->size && size <= m->size - (addr - base))
			return (char *)m->base + (addr - base);
	}
	return NULL;
}

static doca_error_t check(const struct doca_dpa *dpa, uint64_t addr, size_t size, void **p)
{
	if (!dpa || !size)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	*p = in_heap(dpa, addr, size);
	return *p ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_dpa_h2d_memcpy(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dst_ptr,
				 void *src_ptr, size_t size)
{
	void *p = NULL;
	doca_error_t ret = src_ptr ? check(dpa, dst_ptr, size, &p) : DOCA_ERROR_INVALID_VALUE;

	if (!ret)
		memcpy(p, src_ptr, size);
	return ret;
}

doca_error_t doca_dpa_d2h_memcpy(struct doca_dpa *dpa, void *dst_ptr,
				 doca_dpa_dev_uintptr_t src_ptr, size_t size)
{
	void *p = NULL;
	doca_error_t ret = dst_ptr ? check(dpa, src_ptr, size, &p) : DOCA_ERROR_INVALID_VALUE;

	if (!ret)
		memcpy(dst_ptr, p, size);
	return ret;
}

doca_error_t doca_dpa_memset(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t dev_ptr, int value,
			     size_t size)
{
	void *p = NULL;
	doca_error_t ret = check(dpa, dev_ptr, size, &p);

	if (!ret)
		memset(p, value, size);
	return ret;
}
