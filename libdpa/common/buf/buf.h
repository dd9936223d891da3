/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * buf.h - internals of doca_buf. A buf is in its inventory's free list (refs == 0) or in use. A
 * list is chained by next; every buf of it points to the first, and the first to the last.
 */
#ifndef DPA_COMMON_BUF_H
#define DPA_COMMON_BUF_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include "../mmap.h"
#include "../object/object.h"

struct doca_buf {
	struct doca_buf_inventory *inventory;
	struct doca_mmap *mmap;
	char *head, *data;
	size_t len, data_len;
	struct doca_buf *next; /* of the list, or of the free ones */
	struct doca_buf *first, *last;
	uint16_t refs;
	uint16_t writers; /* copies of a doca_dma to it that are in flight */
};

/* Bufs lie in pages; the page of a pointer shows whether it points to a buf. */
#define DPA_BUF_PAGE ((size_t)4096)

struct dpa_buf_page {
	struct dpa_buf_page *next_chunk; /* in the first page of an allocation */
	size_t num_pages;		 /* in the first page of an allocation */
	size_t num;
	struct doca_buf bufs[];
};

/*
 * Return whether it is a buf of an existing inventory, free or in use. Accepts any pointer. Runs on
 * each post.
 */
static inline bool dpa_buf_known(const struct doca_buf *buf)
{
	const struct dpa_buf_page *p = (const void *)((uintptr_t)buf & ~(DPA_BUF_PAGE - 1));
	size_t at = (uintptr_t)buf - (uintptr_t)p - offsetof(struct dpa_buf_page, bufs);

	return dpa_obj_is(p, DPA_T_BUF_PAGE) && at % sizeof(*buf) == 0 &&
	       at / sizeof(*buf) < p->num;
}

/* Return whether it is a buf in use. */
static inline bool dpa_buf_live(const struct doca_buf *buf)
{
	return dpa_buf_known(buf) && buf->refs;
}

/* Return a buf to its inventory. */
void dpa_buf_put(struct doca_buf *buf);

/* The data of one buf (not of the list behind it), and the key of its map on a device. */
struct dpa_buf_data {
	void *addr;
	size_t len;
	const struct dpa_mmap_key *key; /* valid as long as the buf is in use */
};

/*
 * Get the data of a buf. Accepts any pointer. INVALID_VALUE: no buf in use; NOT_FOUND: its map is
 * not on the device.
 */
static inline doca_error_t dpa_buf_data(const struct doca_buf *buf, const struct doca_dev *dev,
					struct dpa_buf_data *out)
{
	if (!dpa_buf_live(buf))
		return DOCA_ERROR_INVALID_VALUE;
	out->addr = buf->data;
	out->len = buf->data_len;
	out->key = dpa_mmap_key_of_held(buf->mmap, dev);
	return out->key ? DOCA_SUCCESS : DOCA_ERROR_NOT_FOUND;
}

#endif
