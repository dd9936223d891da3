/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pp_dev.c - ping sends 0, pong sends it back, ping sends 1 and so on. Arrivals activate the
 * threads.
 */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_rdma.h>
#include <doca_dpa_dev_sync_event.h>
#include "pp.h"

static void post_receive(const struct pp_end *p)
{
	doca_dpa_dev_rdma_post_receive(p->way.rdma, p->bufs.mmap, p->bufs.recv, 8);
}

static void post_send(const struct pp_end *p, uint64_t value)
{
	*(uint64_t *)p->bufs.send = value;
	doca_dpa_dev_rdma_post_send(p->way.rdma, p->way.connection, p->bufs.mmap, p->bufs.send, 8,
				    DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH |
					    DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS);
}

/* Fills in the state and posts the first requests: a receive, and ping's first message. */
__dpa_rpc__ uint64_t pp_start(struct pp_way way, uint64_t state, struct pp_bufs bufs,
			      uint64_t rounds)
{
	struct pp_end *p = (struct pp_end *)state;

	if (way.dpa)
		doca_dpa_dev_device_set(way.dpa);
	p->way = way;
	p->bufs = bufs;
	p->rounds = rounds;
	post_receive(p);
	return sizeof(way) + sizeof(bufs);
}

__dpa_rpc__ uint64_t pp_serve(uint64_t state)
{
	struct pp_end *p = (struct pp_end *)state;

	if (p->way.dpa)
		doca_dpa_dev_device_set(p->way.dpa);
	post_send(p, 0);
	return 0;
}

static void finish_end(struct pp_end *p)
{
	doca_dpa_dev_sync_event_update_set(p->way.event, 1);
	doca_dpa_dev_thread_finish();
}

static void take_element(struct pp_end *p, doca_dpa_dev_completion_element_t e)
{
	uint64_t value = *(uint64_t *)p->bufs.recv;
	int last = value + 1 == p->rounds;

	if (doca_dpa_dev_get_completion_type(e) != DOCA_DPA_DEV_COMP_RECV_SEND ||
	    value != p->next) {
		DOCA_DPA_DEV_LOG_ERR("type %d, value %lu instead of %lu\n",
				     (int)doca_dpa_dev_get_completion_type(e), value, p->next);
		p->failed = 1;
		finish_end(p);
	}
	p->next++;
	if (!last)
		post_receive(p);
	if (!p->way.is_ping || !last)
		post_send(p, p->way.is_ping ? value + 1 : value);
	if (last)
		finish_end(p);
}

__dpa_global__ void pp_thread(uint64_t arg)
{
	struct pp_end *p = (struct pp_end *)arg;
	doca_dpa_dev_completion_element_t e;

	if (p->way.dpa)
		doca_dpa_dev_device_set(p->way.dpa);
	p->activations++;
	while (doca_dpa_dev_get_completion(p->way.comp, &e)) {
		doca_dpa_dev_completion_ack(p->way.comp, 1);
		take_element(p, e);
	}
	doca_dpa_dev_completion_request_notification(p->way.comp);
	doca_dpa_dev_thread_reschedule();
}
