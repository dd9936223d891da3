/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ops.h - calls of device code for sync events, asynchronous operations and hash tables. */
#ifndef DPA_SYNC_OPS_H
#define DPA_SYNC_OPS_H

#include <stdint.h>

struct dpa_dev_copy;

uint64_t dpa_op_sync_event_get(uint64_t se);
void dpa_op_sync_event_update(uint64_t se, uint64_t value, uint32_t add);
int dpa_op_sync_event_wait_gt(uint64_t se, uint64_t value, uint64_t mask, uint32_t round);
int dpa_op_async_copy(uint64_t async_ops, const struct dpa_dev_copy *copy);
int dpa_op_async_wait(uint64_t async_ops, uint64_t se, uint64_t value, uint32_t not_equal);
int dpa_op_async_snapshot(uint64_t async_ops, uint32_t key, uint64_t addr, uint64_t length);
void dpa_op_hash_add(uint64_t ht, uint32_t key, uint64_t value);
void dpa_op_hash_remove(uint64_t ht, uint32_t key);
int dpa_op_hash_find(uint64_t ht, uint32_t key, uint64_t *value);

#endif
