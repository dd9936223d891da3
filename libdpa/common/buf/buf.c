/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* buf.c - bufs and lists of them. */
#include "buf.h"

static bool is_first_buf(const struct doca_buf *b)
{
	return b->first == b;
}

/* --------------------------------------------------------------- references */

doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *refcount)
{
	if (!dpa_buf_known(buf))
		return DOCA_ERROR_INVALID_VALUE;
	if (!buf->refs || !is_first_buf(buf))
		return DOCA_ERROR_NOT_PERMITTED;
	if (buf->refs == UINT16_MAX)
		return DOCA_ERROR_TOO_BIG;
	buf->refs++;
	if (refcount)
		*refcount = buf->refs;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *refcount)
{
	struct doca_buf *next;

	if (!dpa_buf_known(buf))
		return DOCA_ERROR_INVALID_VALUE;
	if (!buf->refs)
		return DOCA_ERROR_BAD_STATE;
	if (!is_first_buf(buf))
		return DOCA_ERROR_NOT_PERMITTED;
	buf->refs--;
	if (refcount)
		*refcount = buf->refs;
	if (buf->refs)
		return DOCA_SUCCESS;
	for (struct doca_buf *b = buf; b; b = next) {
		next = b->next;
		dpa_buf_put(b);
	}
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_refcount(const struct doca_buf *buf, uint16_t *refcount)
{
	if (!dpa_buf_known(buf) || !refcount)
		return DOCA_ERROR_INVALID_VALUE;
	*refcount = buf->refs;
	return DOCA_SUCCESS;
}

/* --------------------------------------------------------------------- data */

doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *len)
{
	if (!dpa_buf_live(buf) || !len)
		return DOCA_ERROR_INVALID_VALUE;
	*len = buf->len;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head)
{
	if (!dpa_buf_live(buf) || !head)
		return DOCA_ERROR_INVALID_VALUE;
	*head = buf->head;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len)
{
	if (!dpa_buf_live(buf) || !data_len)
		return DOCA_ERROR_INVALID_VALUE;
	*data_len = buf->data_len;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data)
{
	if (!dpa_buf_live(buf) || !data)
		return DOCA_ERROR_INVALID_VALUE;
	*data = buf->data;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len)
{
	size_t at;

	if (!dpa_buf_live(buf) || (uintptr_t)data < (uintptr_t)buf->head)
		return DOCA_ERROR_INVALID_VALUE;
	at = (uintptr_t)data - (uintptr_t)buf->head;
	if (at > buf->len || data_len > buf->len - at)
		return DOCA_ERROR_INVALID_VALUE;
	buf->data = data;
	buf->data_len = data_len;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_set_data_len(struct doca_buf *buf, size_t data_len)
{
	return dpa_buf_live(buf) ? doca_buf_set_data(buf, buf->data, data_len)
				 : DOCA_ERROR_INVALID_VALUE;
}

doca_error_t doca_buf_reset_data_len(struct doca_buf *buf)
{
	return doca_buf_set_data_len(buf, 0);
}

/* -------------------------------------------------------------------- lists */

doca_error_t doca_buf_get_next_in_list(struct doca_buf *buf, struct doca_buf **next_buf)
{
	if (!dpa_buf_live(buf) || !next_buf)
		return DOCA_ERROR_INVALID_VALUE;
	*next_buf = buf->next;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_last_in_list(struct doca_buf *buf, struct doca_buf **last_buf)
{
	if (!dpa_buf_live(buf) || !last_buf)
		return DOCA_ERROR_INVALID_VALUE;
	*last_buf = buf->first->last;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_is_last_in_list(const struct doca_buf *buf, uint8_t *is_last)
{
	if (!dpa_buf_live(buf) || !is_last)
		return DOCA_ERROR_INVALID_VALUE;
	*is_last = !buf->next;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_is_first_in_list(const struct doca_buf *buf, uint8_t *is_first_in_list)
{
	if (!dpa_buf_live(buf) || !is_first_in_list)
		return DOCA_ERROR_INVALID_VALUE;
	*is_first_in_list = is_first_buf(buf);
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_is_in_list(const struct doca_buf *buf, uint8_t *is_in_list)
{
	if (!dpa_buf_live(buf) || !is_in_list)
		return DOCA_ERROR_INVALID_VALUE;
	*is_in_list = !is_first_buf(buf) || buf->next;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_list_len(const struct doca_buf *buf, uint32_t *num_elements)
{
	uint32_t n = 0;

	if (!dpa_buf_live(buf) || !num_elements)
		return DOCA_ERROR_INVALID_VALUE;
	if (!is_first_buf(buf))
		return DOCA_ERROR_NOT_PERMITTED;
	for (const struct doca_buf *b = buf; b; b = b->next)
		n++;
	*num_elements = n;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_chain_list_tail(struct doca_buf *list1_head, struct doca_buf *list1_tail,
				      struct doca_buf *list2)
{
	if (!dpa_buf_live(list1_head) || !dpa_buf_live(list1_tail) || !dpa_buf_live(list2))
		return DOCA_ERROR_INVALID_VALUE;
	if (!is_first_buf(list1_head) || !is_first_buf(list2) || list1_head == list2 ||
	    list1_head->last != list1_tail)
		return DOCA_ERROR_NOT_PERMITTED;
	list1_tail->next = list2;
	list1_head->last = list2->last;
	for (struct doca_buf *b = list2; b; b = b->next)
		b->first = list1_head;
	return DOCA_SUCCESS;
}

doca_error_t doca_buf_chain_list(struct doca_buf *list1, struct doca_buf *list2)
{
	if (!dpa_buf_live(list1))
		return DOCA_ERROR_INVALID_VALUE;
	return doca_buf_chain_list_tail(list1, list1->first->last, list2);
}

doca_error_t doca_buf_unchain_list(struct doca_buf *list1, struct doca_buf *list2)
{
	struct doca_buf *before;

	if (!dpa_buf_live(list1) || !dpa_buf_live(list2) || !is_first_buf(list1) ||
	    list2->first != list1 || list1 == list2)
		return DOCA_ERROR_INVALID_VALUE;
	for (before = list1; before->next != list2; before = before->next)
		;
	before->next = NULL;
	list2->last = list1->last;
	list1->last = before;
	for (struct doca_buf *b = list2; b; b = b->next)
		b->first = list2;
	return DOCA_SUCCESS;
}
