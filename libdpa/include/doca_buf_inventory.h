/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doca_buf_inventory.h - pools of doca_buf. Nothing here is thread-safe.
 */
#ifndef DOCA_BUF_INVENTORY_H_
#define DOCA_BUF_INVENTORY_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_buf_inventory;
struct doca_mmap;

/*
 * Create a pool.
 * @num_elements: bufs, 1 to 2^32 - 1
 * INVALID_VALUE: NULL or a bad number; NO_MEMORY.
 */
DOCA_STABLE doca_error_t doca_buf_inventory_create(size_t num_elements,
						   struct doca_buf_inventory **inventory);

/* Destroy a pool. INVALID_VALUE: NULL; IN_USE: a buf is not returned yet. */
DOCA_STABLE doca_error_t doca_buf_inventory_destroy(struct doca_buf_inventory *inventory);

/*
 * Start a pool, so that bufs can be taken from it. Starting it again changes nothing.
 * INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_buf_inventory_start(struct doca_buf_inventory *inventory);

/*
 * Stop a pool: no buf can be taken any more. Bufs that were taken stay valid. INVALID_VALUE: NULL.
 */
DOCA_STABLE doca_error_t doca_buf_inventory_stop(struct doca_buf_inventory *inventory);

/*
 * Take a buf for a segment of a started map, with one reference.
 * @addr, @len:      the piece
 * @data, @data_len: the part with data
 * @buf:             receives it; the caller gives it back by doca_buf_dec_refcount()
 * INVALID_VALUE: NULL, inventory or map not started, the segment is not within the map, or the data
 * not within the piece; NO_MEMORY: no buf is left.
 */
DOCA_STABLE doca_error_t doca_buf_inventory_buf_get_by_args(struct doca_buf_inventory *inventory,
							    struct doca_mmap *mmap, void *addr,
							    size_t len, void *data, size_t data_len,
							    struct doca_buf **buf);

/*
 * Take another buf for the segment and data of a buf. It is in no list and has one reference.
 * INVALID_VALUE: NULL; BAD_STATE: inventory not started; NOT_PERMITTED: src_buf was returned to its
 * inventory; NO_MEMORY: no buf is left.
 */
DOCA_STABLE doca_error_t doca_buf_inventory_buf_dup(struct doca_buf_inventory *inventory,
						    const struct doca_buf *src_buf,
						    struct doca_buf **dst_buf);

/* Set a word for the caller's use. INVALID_VALUE: NULL; BAD_STATE: started. */
DOCA_STABLE doca_error_t doca_buf_inventory_set_user_data(struct doca_buf_inventory *inventory,
							  union doca_data user_data);

/* Read it back; 0 unless set. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_buf_inventory_get_user_data(
	const struct doca_buf_inventory *inventory, union doca_data *user_data);

/* Get the number of bufs of the pool, taken or not. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_buf_inventory_get_num_elements(
	const struct doca_buf_inventory *inventory, uint32_t *num_of_elements);

/* Get the number of bufs that are left. INVALID_VALUE: NULL. */
DOCA_STABLE doca_error_t doca_buf_inventory_get_num_free_elements(
	const struct doca_buf_inventory *inventory, uint32_t *num_of_free_elements);

/*
 * Enlarge a started pool.
 * @num_elements: bufs to add
 * INVALID_VALUE: NULL, 0, above the limit, or no memory; BAD_STATE: not started.
 */
DOCA_EXPERIMENTAL doca_error_t doca_buf_inventory_expand(struct doca_buf_inventory *inventory,
							 uint32_t num_elements);

/* Take a buf without data, at addr. Errors: as doca_buf_inventory_buf_get_by_args(). */
static inline doca_error_t doca_buf_inventory_buf_get_by_addr(struct doca_buf_inventory *inventory,
							      struct doca_mmap *mmap, void *addr,
							      size_t len, struct doca_buf **buf)
{
	return doca_buf_inventory_buf_get_by_args(inventory, mmap, addr, len, addr, 0, buf);
}

/* Take a buf that is data from end to end. Errors: as doca_buf_inventory_buf_get_by_args(). */
static inline doca_error_t doca_buf_inventory_buf_get_by_data(struct doca_buf_inventory *inventory,
							      struct doca_mmap *mmap, void *data,
							      size_t data_len,
							      struct doca_buf **buf)
{
	return doca_buf_inventory_buf_get_by_args(inventory, mmap, data, data_len, data, data_len,
						  buf);
}

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_INVENTORY_H_ */
