/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * async.c - asynchronous operations of device code. Payloads that are copied at post time are read
 * here, in the image, and so are buf handles, so that a bad pointer is a fault of the image. The
 * wait for a full queue is here too, as a repeated call, so that it can be killed.
 */
#include <string.h>
#include <doca_dpa_dev_buf.h>
#include <doca_dpa_dev_sync_event.h>
#include <dpa/dpa_image.h>

extern const struct dpa_dev_ops *__dpa_ops;

static void post_async_copy(doca_dpa_dev_async_ops_t async_ops, const struct dpa_dev_copy *c)
{
	while (__dpa_ops->async_copy(async_ops, c))
		;
}

void doca_dpa_dev_post_memcpy(doca_dpa_dev_async_ops_t async_ops_handle,
			      doca_dpa_dev_mmap_t dst_mmap_handle, uint64_t dst_addr,
			      doca_dpa_dev_mmap_t src_mmap_handle, uint64_t src_addr, size_t length,
			      uint32_t flags)
{
	_Alignas(8) char payload[DPA_DEV_ASYNC_INLINE];
	struct dpa_dev_copy c = {.flags = DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS,
				 .length = DPA_DEV_ASYNC_MAX,
				 .dst_key = dst_mmap_handle,
				 .src_key = src_mmap_handle,
				 .dst = dst_addr,
				 .src = src_addr};

	for (; length > DPA_DEV_ASYNC_MAX; length -= DPA_DEV_ASYNC_MAX) {
		post_async_copy(async_ops_handle, &c);
		c.dst += DPA_DEV_ASYNC_MAX;
		c.src += DPA_DEV_ASYNC_MAX;
	}
	c.flags = flags;
	c.length = (uint32_t)length;
	if (length <= sizeof(payload) &&
	    __dpa_ops->async_snapshot(async_ops_handle, src_mmap_handle, c.src, length)) {
		memcpy(payload, (const void *)(uintptr_t)c.src, length);
		c.data = payload;
	}
	post_async_copy(async_ops_handle, &c);
}

void doca_dpa_dev_post_buf_memcpy(doca_dpa_dev_async_ops_t async_ops_handle,
				  doca_dpa_dev_buf_t dst_buf_handle,
				  doca_dpa_dev_buf_t src_buf_handle, uint32_t flags)
{
	uint64_t dst_len = doca_dpa_dev_buf_get_len(dst_buf_handle);
	uint64_t length = doca_dpa_dev_buf_get_len(src_buf_handle);

	doca_dpa_dev_post_memcpy(async_ops_handle, doca_dpa_dev_buf_get_mmap(dst_buf_handle),
				 doca_dpa_dev_buf_get_addr(dst_buf_handle),
				 doca_dpa_dev_buf_get_mmap(src_buf_handle),
				 doca_dpa_dev_buf_get_addr(src_buf_handle),
				 dst_len < length ? dst_len : length, flags);
}

void doca_dpa_dev_sync_event_post_wait_gt(doca_dpa_dev_async_ops_t async_ops_handle,
					  doca_dpa_dev_sync_event_t wait_se_handle, uint64_t value)
{
	while (__dpa_ops->async_wait(async_ops_handle, wait_se_handle, value, 0))
		;
}

void doca_dpa_dev_sync_event_post_wait_ne(doca_dpa_dev_async_ops_t async_ops_handle,
					  doca_dpa_dev_sync_event_t wait_se_handle, uint64_t value)
{
	while (__dpa_ops->async_wait(async_ops_handle, wait_se_handle, value, 1))
		;
}
