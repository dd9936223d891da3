/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* copy.c - lists of bufs: checks, and the walk through them. */
#include <string.h>
#include "../common/buf/buf.h"
#include "dma.h"

/* Registration grants local write with any of these flags. */
#define WRITABLE                                                                                   \
	(DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_WRITE |                         \
	 DOCA_ACCESS_FLAG_RDMA_ATOMIC | DOCA_ACCESS_FLAG_PCI_READ_WRITE)

static char *buf_tail(const struct doca_buf *b)
{
	return b->data + b->data_len;
}

static size_t dma_buf_room(const struct doca_buf *b)
{
	return (size_t)(b->head + b->len - buf_tail(b));
}

/* ------------------------------------------------------------------- checks */

/* Check that a copy can access the memory of a buf; *access: permissions of its map. */
static doca_error_t buf_is_reachable(const struct doca_dev *dev, const struct doca_buf *b,
				     uint32_t *access, bool *remote)
{
	struct dpa_mmap_key key;
	struct dpa_buf_data d;

	if (dpa_buf_data(b, dev, &d))
		return DOCA_ERROR_INVALID_VALUE;
	if (d.key->pci) {
		*access = d.key->access;
		*remote = true;
		return DOCA_SUCCESS;
	}
	if (d.key->remote || !dpa_mmap_lookup(dev, d.key->key, &key))
		return DOCA_ERROR_NOT_SUPPORTED;
	*access = key.access;
	return DOCA_SUCCESS;
}

/* Check a list. *bytes: length of its data, or of its room if it is written. */
static doca_error_t list_check(const struct doca_dev *dev, const struct doca_buf *b, bool write,
			       uint64_t *bytes, bool *remote)
{
	doca_error_t ret;
	uint32_t access;

	*bytes = 0;
	for (uint32_t n = 0; b; b = b->next, n++) {
		if (n == DPA_DMA_MAX_LIST)
			return DOCA_ERROR_INVALID_VALUE;
		ret = buf_is_reachable(dev, b, &access, remote);
		if (ret)
			return ret;
		if (write && !(access & WRITABLE))
			return DOCA_ERROR_NOT_PERMITTED;
		*bytes += write ? dma_buf_room(b) : b->data_len;
	}
	return DOCA_SUCCESS;
}

doca_error_t dpa_dma_begin(struct doca_dma_task_memcpy *t)
{
	const struct doca_dev *dev = t->dma->ctx.dev;
	uint64_t bytes, space;
	doca_error_t ret;

	t->begun = true;
	t->remote = t->posted = false;
	t->bounced = 0;
	t->last = 0;
	ret = list_check(dev, t->src, false, &bytes, &t->remote);
	if (!ret)
		ret = list_check(dev, t->dst, true, &space, &t->remote);
	if (ret)
		return ret;
	if (!bytes)
		return DOCA_ERROR_IO_FAILED;
	if (bytes > DPA_DMA_MAX_SIZE || bytes > space)
		return DOCA_ERROR_INVALID_VALUE;
	t->walk = (struct dpa_dma_walk){.src = t->src, .dst = t->dst, .left = bytes};
	return DOCA_SUCCESS;
}

/* ------------------------------------------------------------------ the way */

bool dpa_dma_piece(struct dpa_dma_walk *w, struct dpa_dma_piece *p)
{
	if (!w->left)
		return false;
	while (dpa_buf_live(w->src) && w->from >= w->src->data_len) {
		w->src = w->src->next;
		w->from = 0;
	}
	while (dpa_buf_live(w->dst) && w->to >= dma_buf_room(w->dst)) {
		w->dst = w->dst->next;
		w->to = 0;
	}
	if (!dpa_buf_live(w->src) || !dpa_buf_live(w->dst))
		return false;
	p->from = w->src->data + w->from;
	p->to = buf_tail(w->dst) + w->to;
	p->len = w->src->data_len - w->from;
	if (p->len > dma_buf_room(w->dst) - w->to)
		p->len = dma_buf_room(w->dst) - w->to;
	if (p->len > w->left)
		p->len = w->left;
	return true;
}

void dpa_dma_advance(struct dpa_dma_walk *w, size_t bytes)
{
	w->from += bytes;
	w->to += bytes;
	w->left -= bytes;
}

void dpa_dma_copy(struct dpa_dma_walk *w)
{
	struct dpa_dma_piece p;

	while (dpa_dma_piece(w, &p)) {
		memmove(p.to, p.from, p.len);
		dpa_dma_advance(w, p.len);
	}
}

void dpa_dma_fill(struct doca_dma_task_memcpy *t)
{
	const struct dpa_dma_walk *w = &t->walk;
	struct doca_buf *b = t->dst;

	for (; b != w->dst && dpa_buf_live(b); b = b->next)
		b->data_len += dma_buf_room(b);
	if (dpa_buf_live(b) && w->to <= dma_buf_room(b))
		b->data_len += w->to;
}

/* ------------------------------------------------------- one behind the other */

static bool list_is_written(const struct doca_buf *b)
{
	for (uint32_t n = 0; dpa_buf_live(b) && n < DPA_DMA_MAX_LIST; b = b->next, n++)
		if (b->writers)
			return true;
	return false;
}

bool dpa_dma_must_wait(const struct doca_dma_task_memcpy *t)
{
	return list_is_written(t->src) || list_is_written(t->dst);
}

void dpa_dma_mark(struct doca_dma_task_memcpy *t, bool written)
{
	struct doca_buf *b = t->dst;

	for (uint32_t n = 0; dpa_buf_live(b) && n < DPA_DMA_MAX_LIST; b = b->next, n++)
		if (written)
			b->writers++;
		else if (b->writers)
			b->writers--;
	t->marked = written;
}
