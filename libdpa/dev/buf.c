/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* buf.c - doca_dpa_dev_buf.h: the calls out of the image. */
#include <doca_dpa_dev_buf.h>
#include <dpa/dpa_image.h>

extern const struct dpa_dev_ops *__dpa_ops;

doca_dpa_dev_uintptr_t doca_dpa_dev_buf_get_external_ptr(doca_dpa_dev_buf_t buf)
{
	const struct doca_dpa_dev_buf *b = (const struct doca_dpa_dev_buf *)(uintptr_t)buf;

	return __dpa_ops->external_ptr(b->mmap, b->addr, b->len);
}

doca_dpa_dev_uintptr_t doca_dpa_dev_mmap_get_external_ptr(doca_dpa_dev_mmap_t mmap_handle,
							  uint64_t addr)
{
	return __dpa_ops->external_ptr(mmap_handle, addr, 0);
}
