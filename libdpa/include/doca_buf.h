/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_buf.h - a piece of a memory map, with a part of it that holds data.
 *
 *   head                data          data + data_len            head + len
 *    |--------------------|##############|---------------------------|
 *
 * Bufs come from a doca_buf_inventory. They can be chained to lists, which the calls below name by
 * their first buf. Nothing here is thread-safe. INVALID_VALUE, of every call: NULL.
 */
#ifndef DOCA_BUF_H_
#define DOCA_BUF_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;

/*
 * One more reference to a buf.
 * @refcount: receives the new number; may be NULL
 * NOT_PERMITTED: in a list, and not its first; TOO_BIG: 65535 are the most.
 */
DOCA_STABLE doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *refcount);

/*
 * One reference less; with the last one the buf, and the list that it heads, go back to the
 * inventory.
 * @refcount: receives the new number; may be NULL
 * NOT_PERMITTED: in a list, and not its first; BAD_STATE: it is back already.
 */
DOCA_STABLE doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *refcount);

/* The number of references. */
DOCA_STABLE doca_error_t doca_buf_get_refcount(const struct doca_buf *buf, uint16_t *refcount);

/* Bytes of the whole piece. */
DOCA_STABLE doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *len);

/* Where the piece begins. */
DOCA_STABLE doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head);

/* Bytes of data. */
DOCA_STABLE doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len);

/* Where the data begins. */
DOCA_STABLE doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data);

/* Says where the data is. INVALID_VALUE: not within the piece. */
DOCA_STABLE doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len);

/* Says how much data there is. INVALID_VALUE: beyond the end of the piece. */
DOCA_STABLE doca_error_t doca_buf_set_data_len(struct doca_buf *buf, size_t data_len);

/* No data. */
DOCA_STABLE doca_error_t doca_buf_reset_data_len(struct doca_buf *buf);

/* The next of the list, or NULL. */
DOCA_STABLE doca_error_t doca_buf_get_next_in_list(struct doca_buf *buf,
						   struct doca_buf **next_buf);

/* The last of the list that buf is in; buf itself if it is in none. */
DOCA_STABLE doca_error_t doca_buf_get_last_in_list(struct doca_buf *buf,
						   struct doca_buf **last_buf);

/* 1: nothing follows it, or it is in no list. */
DOCA_STABLE doca_error_t doca_buf_is_last_in_list(const struct doca_buf *buf, uint8_t *is_last);

/* 1: it is the first, or in no list. */
DOCA_STABLE doca_error_t doca_buf_is_first_in_list(const struct doca_buf *buf, uint8_t *is_first);

/* 1: it is in a list with another. */
DOCA_STABLE doca_error_t doca_buf_is_in_list(const struct doca_buf *buf, uint8_t *is_in_list);

/* How many bufs a list has; 1 for a buf alone. NOT_PERMITTED: buf is not the first. */
DOCA_STABLE doca_error_t doca_buf_get_list_len(const struct doca_buf *buf, uint32_t *num_elements);

/*
 * Puts list2 behind list1. Both are first of their lists, or alone.
 * NOT_PERMITTED: one is not, or they are the same.
 */
DOCA_STABLE doca_error_t doca_buf_chain_list(struct doca_buf *list1, struct doca_buf *list2);

/*
 * The same, with the last of list1 known.
 * NOT_PERMITTED also: list1_tail is not the last of list1.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_chain_list_tail(struct doca_buf *list1_head,
							struct doca_buf *list1_tail,
							struct doca_buf *list2);

/*
 * Cuts a list in two in front of list2.
 * @list1: its first
 * INVALID_VALUE also: list2 is not further down in list1.
 */
DOCA_STABLE doca_error_t doca_buf_unchain_list(struct doca_buf *list1, struct doca_buf *list2);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_H_ */
