/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dev.c - a thread that carries out the steps of the host's program. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_buf.h>
#include <doca_dpa_dev_rdma.h>
#include <doca_dpa_dev_sync_event.h>
#include "shared.h"

static void take(struct state *s, uint64_t n)
{
	doca_dpa_dev_completion_element_t e;

	while (n) {
		if (!doca_dpa_dev_get_completion(s->comp, &e))
			continue;
		s->log[s->num_log].type = doca_dpa_dev_get_completion_type(e);
		s->log[s->num_log++].user_data = doca_dpa_dev_get_completion_user_data(e);
		doca_dpa_dev_completion_ack(s->comp, 1);
		n--;
	}
}

static void carry_out(struct state *s, const struct step *p)
{
	switch (p->op) {
	case COPY:
		doca_dpa_dev_post_memcpy(s->async_ops, p->dst_key, p->dst, p->src_key, p->src,
					 p->length, p->flags);
		break;
	case WAIT_GT:
		doca_dpa_dev_sync_event_post_wait_gt(s->async_ops, p->dst, p->src);
		break;
	case WAIT_NE:
		doca_dpa_dev_sync_event_post_wait_ne(s->async_ops, p->dst, p->src);
		break;
	case TAKE:
		take(s, p->length);
		break;
	case EVENT_WAIT:
		doca_dpa_dev_sync_event_wait_gt(p->dst, p->src, ~0ull);
		break;
	case EVENT_ADD:
		doca_dpa_dev_sync_event_update_add(p->dst, p->src);
		break;
	case SIGNAL_SET:
		doca_dpa_dev_rdma_signal_set(s->rdma, s->connection, p->dst, p->src);
		break;
	case SIGNAL_ADD:
		doca_dpa_dev_rdma_signal_add(s->rdma, s->connection, p->dst, p->src);
		break;
	}
}

__dpa_global__ void walk(uint64_t arg)
{
	struct state *s = (struct state *)(uintptr_t)arg;

	for (const struct step *p = s->steps; p->op != END; p++)
		carry_out(s, p);
	doca_dpa_dev_sync_event_update_add(s->done, 1);
	doca_dpa_dev_thread_reschedule();
}

__dpa_rpc__ uint64_t go(doca_dpa_dev_notification_completion_t nc)
{
	doca_dpa_dev_thread_notify(nc);
	return 0;
}
