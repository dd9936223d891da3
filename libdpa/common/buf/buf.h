/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * buf.h - doca_buf inside. A buf is in its inventory's free list (refs == 0) or out. A list is
 * chained by next; every buf of it points to the first, and the first to the last.
 */
#ifndef DPA_COMMON_BUF_H
#define DPA_COMMON_BUF_H

#ifndef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_ALLOW_EXPERIMENTAL_API
#endif
#include <stdbool.h>
#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include "../mmap.h"

struct doca_buf {
	struct doca_buf_inventory *inventory;
	struct doca_mmap *mmap;
	char *head, *data;
	size_t len, data_len;
	struct doca_buf *next; /* of the list, or of the free ones */
	struct doca_buf *first, *last;
	uint16_t refs;
	uint16_t writers; /* copies of a doca_dma that are under way to it */
};

/* Whether it is a buf of some inventory that exists, be it free. Any pointer. */
bool dpa_buf_known(const struct doca_buf *buf);
/* And in use. */
static inline bool dpa_buf_live(const struct doca_buf *buf)
{
	return dpa_buf_known(buf) && buf->refs;
}

/* Back to the inventory it came from. */
void dpa_buf_put(struct doca_buf *buf);

/* The data of one buf (not of the list behind it), and the key of its map on a device. */
struct dpa_buf_data {
	void *addr;
	size_t len;
	const struct dpa_mmap_key *key; /* valid as long as the buf */
};

/* Any pointer. INVALID_VALUE: no buf in use; NOT_FOUND: its map is not on the device. */
doca_error_t dpa_buf_data(const struct doca_buf *buf, const struct doca_dev *dev,
			  struct dpa_buf_data *out);

#endif
