/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_buf.h - a segment of a memory map; a part of it holds data.
 *
 *   head                data          data + data_len            head + len
 *    |--------------------|##############|---------------------------|
 *
 * Bufs come from a doca_buf_inventory. They can be chained to lists; the calls below take the first
 * buf of a list. Nothing here is thread-safe. INVALID_VALUE, of every call: NULL.
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
 * Add a reference to a buf.
 * @refcount: receives the new number; may be NULL
 * NOT_PERMITTED: in a list, and not its first; TOO_BIG: 65535 are the most.
 */
DOCA_STABLE doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *refcount);

/*
 * Drop a reference. The last one returns the buf, and the list that it heads, to the inventory.
 * @refcount: receives the new number; may be NULL
 * NOT_PERMITTED: in a list, and not its first; BAD_STATE: it is back already.
 */
DOCA_STABLE doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *refcount);

/* Get the number of references. */
DOCA_STABLE doca_error_t doca_buf_get_refcount(const struct doca_buf *buf, uint16_t *refcount);

/* Get the length of the whole segment in bytes. */
DOCA_STABLE doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *len);

/* Get the address at which the segment begins. */
DOCA_STABLE doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head);

/* Get the length of the data in bytes. */
DOCA_STABLE doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len);

/* Get the address at which the data begin. */
DOCA_STABLE doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data);

/* Set address and length of the data. INVALID_VALUE: not within the segment. */
DOCA_STABLE doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len);

/* Set the length of the data. INVALID_VALUE: beyond the end of the segment. */
DOCA_STABLE doca_error_t doca_buf_set_data_len(struct doca_buf *buf, size_t data_len);

/* Set the length of the data to 0. */
DOCA_STABLE doca_error_t doca_buf_reset_data_len(struct doca_buf *buf);

/* Get the next buf of the list, or NULL. */
DOCA_STABLE doca_error_t doca_buf_get_next_in_list(struct doca_buf *buf,
						   struct doca_buf **next_buf);

/* Get the last buf of the list that buf is in; buf itself if it is in none. */
DOCA_STABLE doca_error_t doca_buf_get_last_in_list(struct doca_buf *buf,
						   struct doca_buf **last_buf);

/* Get 1 if no buf follows it in a list, else 0. */
DOCA_STABLE doca_error_t doca_buf_is_last_in_list(const struct doca_buf *buf, uint8_t *is_last);

/* Get 1 if it is the first of a list or in no list, else 0. */
DOCA_STABLE doca_error_t doca_buf_is_first_in_list(const struct doca_buf *buf, uint8_t *is_first);

/* Get 1 if it is in a list with another buf, else 0. */
DOCA_STABLE doca_error_t doca_buf_is_in_list(const struct doca_buf *buf, uint8_t *is_in_list);

/*
 * Get the number of bufs that a list has; 1 for a buf alone. NOT_PERMITTED: buf is not the first.
 */
DOCA_STABLE doca_error_t doca_buf_get_list_len(const struct doca_buf *buf, uint32_t *num_elements);

/*
 * Put list2 behind list1. Both are first of their lists, or alone.
 * NOT_PERMITTED: one is not, or they are the same.
 */
DOCA_STABLE doca_error_t doca_buf_chain_list(struct doca_buf *list1, struct doca_buf *list2);

/*
 * Do the same if the caller has the last buf of list1.
 * NOT_PERMITTED also: list1_tail is not the last of list1.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_chain_list_tail(struct doca_buf *list1_head,
							struct doca_buf *list1_tail,
							struct doca_buf *list2);

/*
 * Cut a list in two in front of list2.
 * @list1: the first buf of the list
 * INVALID_VALUE also: list2 is not further down in list1.
 */
DOCA_STABLE doca_error_t doca_buf_unchain_list(struct doca_buf *list1, struct doca_buf *list2);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_H_ */
