/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * copy_dev.c - the thread reads data from the host's memory, changes it in the heap and writes it
 * back. It is activated by a notification, then by the completion of each copy.
 */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_buf.h>
#include <doca_dpa_dev_sync_event.h>
#include "copy.h"

static void end_copy(struct copy *c, uint64_t failed)
{
	c->failed = failed;
	doca_dpa_dev_sync_event_update_set(c->event, 1);
	doca_dpa_dev_thread_finish();
}

/* Takes the completion of the previous copy. */
static void take_completion(struct copy *c)
{
	doca_dpa_dev_completion_element_t e;

	if (!doca_dpa_dev_get_completion(c->comp, &e) ||
	    doca_dpa_dev_get_completion_type(e) != DOCA_DPA_DEV_COMP_SEND ||
	    doca_dpa_dev_get_completion_user_data(e) != COPY_USER_DATA) {
		DOCA_DPA_DEV_LOG_ERR("step %lu: not the completion of a copy\n", c->step);
		end_copy(c, 1);
	}
	doca_dpa_dev_completion_ack(c->comp, 1);
}

static void fetch_input(const struct copy *c)
{
	doca_dpa_dev_post_memcpy(c->async_ops, c->heap_mmap, c->heap, c->in_mmap, c->in, c->len,
				 DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH);
}

static void change_and_write_back(const struct copy *c)
{
	uint8_t *p = (uint8_t *)c->heap;

	for (uint64_t i = 0; i < c->len; i++)
		p[i] = p[i] ^ 0xff;
	doca_dpa_dev_post_buf_memcpy(c->async_ops, doca_dpa_dev_buf_array_get_buf(c->out_buf, 0),
				     doca_dpa_dev_buf_array_get_buf(c->heap_buf, 0),
				     DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH);
}

__dpa_global__ void copy_thread(uint64_t arg)
{
	struct copy *c = (struct copy *)arg;

	if (c->dpa)
		doca_dpa_dev_device_set(c->dpa);
	DOCA_DPA_DEV_LOG_INFO("step %lu\n", c->step);
	if (c->step)
		take_completion(c);
	switch (c->step++) {
	case 0:
		fetch_input(c);
		break;
	case 1:
		change_and_write_back(c);
		break;
	default:
		end_copy(c, 0);
	}
	doca_dpa_dev_completion_request_notification(c->comp);
	doca_dpa_dev_thread_reschedule();
}

__dpa_rpc__ uint64_t copy_go(doca_dpa_dev_t dpa, doca_dpa_dev_notification_completion_t comp)
{
	if (dpa)
		doca_dpa_dev_device_set(dpa);
	doca_dpa_dev_thread_notify(comp);
	return 0;
}
