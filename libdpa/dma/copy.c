/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Copies between lists of bufs. */
#include <string.h>
#include "../common/buf/buf.h"
#include "dma.h"

/* The adapter may write what has any of these, as registration has it. */
#define WRITABLE                                                                                   \
	(DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_WRITE |                         \
	 DOCA_ACCESS_FLAG_RDMA_ATOMIC | DOCA_ACCESS_FLAG_PCI_READ_WRITE)

static char *tail(const struct doca_buf *b)
{
	return b->data + b->data_len;
}

static size_t room(const struct doca_buf *b)
{
	return (size_t)(b->head + b->len - tail(b));
}

/* Memory that the process can read; *access: what its map allows. */
static doca_error_t reachable(const struct doca_dev *dev, const struct doca_buf *b,
			      uint32_t *access)
{
	struct dpa_mmap_key key;
	struct dpa_buf_data d;

	if (!dpa_buf_live(b) || dpa_buf_data(b, dev, &d))
		return DOCA_ERROR_INVALID_VALUE;
	if (d.key.remote || !dpa_mmap_lookup(dev, d.key.key, &key))
		return DOCA_ERROR_NOT_SUPPORTED;
	*access = key.access;
	return DOCA_SUCCESS;
}

/* Checks a list. *bytes: its data, or its room if it is to be written. */
static doca_error_t check(const struct doca_dev *dev, const struct doca_buf *b, bool write,
			  uint64_t *bytes)
{
	doca_error_t ret;
	uint32_t access;

	*bytes = 0;
	for (uint32_t n = 0; b; b = b->next, n++) {
		if (n == DPA_DMA_MAX_LIST)
			return DOCA_ERROR_INVALID_VALUE;
		ret = reachable(dev, b, &access);
		if (ret)
			return ret;
		if (write && !(access & WRITABLE))
			return DOCA_ERROR_NOT_PERMITTED;
		*bytes += write ? room(b) : b->data_len;
	}
	return DOCA_SUCCESS;
}

static void copy(const struct doca_buf *src, struct doca_buf *dst)
{
	size_t from = 0, n;

	while (src) {
		if (from == src->data_len) {
			src = src->next;
			from = 0;
			continue;
		}
		n = src->data_len - from;
		if (n > room(dst))
			n = room(dst);
		memmove(tail(dst), src->data + from, n);
		dst->data_len += n;
		from += n;
		if (!room(dst) && dst->next)
			dst = dst->next;
	}
}

doca_error_t dpa_dma_copy(const struct doca_dev *dev, const struct doca_buf *src,
			  struct doca_buf *dst)
{
	uint64_t bytes, space;
	doca_error_t ret;

	ret = check(dev, src, false, &bytes);
	if (!ret)
		ret = check(dev, dst, true, &space);
	if (ret)
		return ret;
	if (!bytes)
		return DOCA_ERROR_IO_FAILED;
	if (bytes > DPA_DMA_MAX_SIZE || bytes > space)
		return DOCA_ERROR_INVALID_VALUE;
	copy(src, dst);
	return DOCA_SUCCESS;
}
