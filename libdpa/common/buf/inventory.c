/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inventory.c - pools of bufs. */
#include <stdlib.h>
#include "buf.h"

#define PER_PAGE ((DPA_BUF_PAGE - sizeof(struct dpa_buf_page)) / sizeof(struct doca_buf))

struct doca_buf_inventory {
	struct dpa_buf_page *chunks;
	struct doca_buf *free;
	uint32_t num, num_free;
	bool started;
	union doca_data user_data;
};

static struct dpa_buf_page *page_at(struct dpa_buf_page *first, size_t i)
{
	return (struct dpa_buf_page *)((char *)first + i * DPA_BUF_PAGE);
}

static void free_chunk(struct dpa_buf_page *first)
{
	for (size_t i = 0; i < first->num_pages; i++)
		dpa_obj_remove(page_at(first, i), DPA_T_BUF_PAGE);
	dpa_obj_free(first);
}

/* Allocate pages for n bufs that belong to no inventory yet. */
static struct dpa_buf_page *new_chunk(size_t n)
{
	size_t pages = (n + PER_PAGE - 1) / PER_PAGE;
	struct dpa_buf_page *first =
		dpa_obj_new_aligned(DPA_T_BUF_PAGE, DPA_BUF_PAGE, pages * DPA_BUF_PAGE);

	for (size_t i = 0; first && i < pages; i++) {
		page_at(first, i)->num = i + 1 < pages ? PER_PAGE : n - i * PER_PAGE;
		first->num_pages = i + 1;
		if (i && !dpa_obj_add(page_at(first, i), DPA_T_BUF_PAGE)) {
			free_chunk(first);
			return NULL;
		}
	}
	return first;
}

static bool grow_inventory(struct doca_buf_inventory *inv, size_t n)
{
	struct dpa_buf_page *first = n <= UINT32_MAX - inv->num ? new_chunk(n) : NULL;

	if (!first)
		return false;
	first->next_chunk = inv->chunks;
	inv->chunks = first;
	for (size_t i = first->num_pages; i-- > 0;) {
		struct dpa_buf_page *p = page_at(first, i);

		for (size_t k = p->num; k-- > 0;) {
			p->bufs[k].inventory = inv;
			p->bufs[k].first = &p->bufs[k];
			p->bufs[k].next = inv->free;
			inv->free = &p->bufs[k];
		}
	}
	inv->num += (uint32_t)n;
	inv->num_free += (uint32_t)n;
	return true;
}

doca_error_t doca_buf_inventory_create(size_t num_elements, struct doca_buf_inventory **inventory)
{
	struct doca_buf_inventory *inv;

	if (!inventory || !num_elements || num_elements > UINT32_MAX)
		return DOCA_ERROR_INVALID_VALUE;
	inv = dpa_obj_new(DPA_T_BUF_INVENTORY, sizeof(*inv));
	if (!inv || !grow_inventory(inv, num_elements)) {
		dpa_obj_free(inv);
		return DOCA_ERROR_NO_MEMORY;
	}
	*inventory = inv;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_inventory_destroy(struct doca_buf_inventory *inventory)
{
	if (!dpa_live(inventory))
		return DOCA_ERROR_INVALID_VALUE;
	if (inventory->num_free != inventory->num)
		return DOCA_ERROR_IN_USE;
	while (inventory->chunks) {
		struct dpa_buf_page *first = inventory->chunks;

		inventory->chunks = first->next_chunk;
		free_chunk(first);
	}
	dpa_obj_free(inventory);
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_inventory_start(struct doca_buf_inventory *inventory)
{
	if (!dpa_live(inventory))
		return DOCA_ERROR_INVALID_VALUE;
	inventory->started = true;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_inventory_stop(struct doca_buf_inventory *inventory)
{
	if (!dpa_live(inventory))
		return DOCA_ERROR_INVALID_VALUE;
	inventory->started = false;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_inventory_expand(struct doca_buf_inventory *inventory, uint32_t num_elements)
{
	if (!dpa_live(inventory) || !num_elements)
		return DOCA_ERROR_INVALID_VALUE;
	if (!inventory->started)
		return DOCA_ERROR_BAD_STATE;
	return grow_inventory(inventory, num_elements) ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

/* --------------------------------------------------------------------- bufs */

/* Take a free buf for the segment; the caller sets its data. */
static doca_error_t take_buf(struct doca_buf_inventory *inv, struct doca_mmap *mmap, char *head,
			     size_t len, struct doca_buf **buf)
{
	struct doca_buf *b = inv->free;

	if (!b)
		return DOCA_ERROR_NO_MEMORY;
	if (dpa_mmap_hold_buf(mmap))
		return DOCA_ERROR_INVALID_VALUE;
	inv->free = b->next;
	inv->num_free--;
	*b = (struct doca_buf){
		.inventory = inv,
		.mmap = mmap,
		.head = head,
		.data = head,
		.len = len,
		.first = b,
		.last = b,
		.refs = 1,
	};
	*buf = b;
	return DOCA_SUCCESS;
}

void dpa_buf_put(struct doca_buf *buf)
{
	struct doca_buf_inventory *inv = buf->inventory;

	dpa_mmap_release_buf(buf->mmap);
	*buf = (struct doca_buf){.inventory = inv, .next = inv->free, .first = buf, .last = buf};
	inv->free = buf;
	inv->num_free++;
}

static bool in_map(struct doca_mmap *mmap, const void *addr, size_t len)
{
	struct dpa_mmap_key range;
	size_t size;
	void *base;

	if (doca_mmap_get_memrange(mmap, &base, &size))
		return false;
	range.addr = (uintptr_t)base;
	range.len = size;
	return dpa_mmap_holds(&range, (uintptr_t)addr, len);
}

doca_error_t doca_buf_inventory_buf_get_by_args(struct doca_buf_inventory *inventory,
						struct doca_mmap *mmap, void *addr, size_t len,
						void *data, size_t data_len, struct doca_buf **buf)
{
	struct doca_buf *b;
	doca_error_t ret;

	if (!dpa_live(inventory) || !dpa_live(mmap) || !addr || !data || !buf ||
	    !inventory->started || !in_map(mmap, addr, len))
		return DOCA_ERROR_INVALID_VALUE;
	ret = take_buf(inventory, mmap, addr, len, &b);
	if (ret)
		return ret;
	ret = doca_buf_set_data(b, data, data_len);
	if (ret)
		dpa_buf_put(b);
	else
		*buf = b;
	return ret;
}

doca_error_t doca_buf_inventory_buf_dup(struct doca_buf_inventory *inventory,
					const struct doca_buf *src_buf, struct doca_buf **dst_buf)
{
	doca_error_t ret;

	if (!dpa_live(inventory) || !dpa_buf_known(src_buf) || !dst_buf)
		return DOCA_ERROR_INVALID_VALUE;
	if (!inventory->started)
		return DOCA_ERROR_BAD_STATE;
	if (!src_buf->refs)
		return DOCA_ERROR_NOT_PERMITTED;
	ret = take_buf(inventory, src_buf->mmap, src_buf->head, src_buf->len, dst_buf);
	if (!ret)
		ret = doca_buf_set_data(*dst_buf, src_buf->data, src_buf->data_len);
	return ret;
}

/* ------------------------------------------------------------------ getters */

doca_error_t doca_buf_inventory_set_user_data(struct doca_buf_inventory *inventory,
					      union doca_data user_data)
{
	if (!dpa_live(inventory))
		return DOCA_ERROR_INVALID_VALUE;
	if (inventory->started)
		return DOCA_ERROR_BAD_STATE;
	inventory->user_data = user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_inventory_get_user_data(const struct doca_buf_inventory *inventory,
					      union doca_data *user_data)
{
	DPA_RETURN_VALUE(inventory, user_data, inventory->user_data);
}

doca_error_t doca_buf_inventory_get_num_elements(const struct doca_buf_inventory *inventory,
						 uint32_t *num_of_elements)
{
	DPA_RETURN_VALUE(inventory, num_of_elements, inventory->num);
}

doca_error_t doca_buf_inventory_get_num_free_elements(const struct doca_buf_inventory *inventory,
						      uint32_t *num_of_free_elements)
{
	DPA_RETURN_VALUE(inventory, num_of_free_elements, inventory->num_free);
}
