/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * conn.c - a communication id: the protocol's state, the destination of its MADs, its timer, and
 * its record in the adapter state for later processes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "cma/cma.h"

/* Peers must not guess PSNs and transaction ids. */
uint32_t cma_random(void)
{
	uint32_t v;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != sizeof(v))
		v = (uint32_t)
			cma_now(); /* the kernel has no random numbers yet: early in the boot */
	return v;
}

static struct dpav_cm_config config_of(uint32_t local_id)
{
	return (struct dpav_cm_config){
		.local_id = local_id,
		.tid_high = cma.tid_high,
		.psn = cma_random() & 0xffffff,
		.ca_guid = be64toh(cma.node_guid),
		.cm_timeout = DPA_CM_TIMEOUT,
		.max_retries = DPA_CM_RETRIES,
		.mra_timeout = DPA_CM_MRA_TIMEOUT,
	};
}

/* It has no communication id yet. NULL: no memory. */
static struct cma_conn *alloc_conn(void)
{
	struct cma_conn *c = calloc(1, sizeof(*c));

	if (c && cma_timer_room()) {
		free(c);
		return NULL;
	}
	if (c)
		c->timer = SIZE_MAX;
	return c;
}

struct cma_conn *cma_conn_new(struct cma_id *id)
{
	struct cma_conn *c = alloc_conn();
	struct dpav_cm_config config;
	uint32_t local_id;

	if (!c)
		return NULL;
	if (dpa_hw_gsi_id_new(cma.gsi, &local_id)) {
		free(c);
		return NULL;
	}
	cma.num_conns++;
	c->id = id;
	config = config_of(local_id);
	dpav_cm_init(&c->cm, &config);
	return c;
}

void cma_conn_free(struct cma_conn *c)
{
	const struct dpav_cm_record none = {0};

	if (dpa_trace_is_on())
		cma_trace_conn(c, DPA_TRACE_CM_END);
	cma_timer_set(c, DPA_CM_NEVER);
	cma_reach_leave(c);
	dpav_cm_index_put(&cma.index, &c->entry, &none);
	if (cma.gsi)
		dpa_hw_gsi_id_free(cma.gsi, c->cm.config.local_id);
	cma.num_conns--;
	if (c->id)
		c->id->conn = NULL;
	free(c);
}

/* True if the peer must be notified should this process die now. */
static bool tells_peer(const struct cma_conn *c)
{
	return c->cm.state != DPA_CM_ST_TIMEWAIT && c->cm.state != DPA_CM_ST_CLOSED;
}

/* Publishes the record for the process that finds it after this one has died. */
static void publish_conn(struct cma_conn *c)
{
	struct dpa_gsi_id g = {
		.local_id = c->cm.config.local_id,
		.remote_id = c->cm.remote_id,
		.remote_guid = htobe64(c->cm.remote_guid),
		.tid = c->cm.tid,
		.service_id = c->cm.service_id,
		.remote_qpn = c->cm.remote_qpn,
		.id = c->id ? c->id->id : 0,
		.tell_peer = tells_peer(c),
		.state = (uint8_t)c->cm.state,
		.qp_type = (uint8_t)c->cm.qp,
		.sport = c->id ? cma_addr_port(&c->id->src) : 0,
		.dport = c->id ? cma_addr_port(&c->id->dst) : 0,
		.addr = c->addr,
	};

	dpa_hw_gsi_id_set(cma.gsi, &g);
}

void cma_note(const struct cma_conn *c, enum dpa_gsi_why why, int reason)
{
	struct dpa_gsi_refusal r = {.service_id = c->cm.service_id,
				    .why = (uint8_t)why,
				    .sidr = c->cm.qp == DPA_CM_QP_UD,
				    .reason = (uint16_t)reason};

	memcpy(r.peer, c->addr.dgid, sizeof(r.peer));
	dpa_hw_gsi_note(cma.gsi, &r);
}

/* A lost message is sent again. */
static void send_mad(struct cma_conn *c, const struct dpa_mad *m)
{
	cma_send_mad(&c->addr, m);
}

void cma_requests_again(void)
{
	for (size_t i = 0; i < cma.heap_len; i++) {
		struct cma_conn *c = cma.heap[i];
		const struct dpa_mad *m = dpav_cm_unanswered(&c->cm);

		if (m && cma_is_own(c->addr.dgid))
			send_mad(c, m);
	}
}

/*
 * Sends the MAD of a step and publishes the record. A process that is killed between the two must leave
 * a peer that another process still notifies: the record that promises this is published before the
 * MAD is sent, and the record that ends it after. The peer ignores a second message of its end. A MAD
 * that waits for room (unsent.c) is lost with the process: its peer repeats its own, or gives up.
 */
static void send_and_publish(struct cma_conn *c, const struct dpav_cm_effects *out)
{
	const bool first = tells_peer(c);

	if (first)
		publish_conn(c);
	if (out->send)
		send_mad(c, &out->mad);
	if (!first)
		publish_conn(c);
}

static void carry_out_effects(struct cma_conn *c, const struct dpav_cm_effects *out)
{
	if (out->record_changed)
		dpav_cm_index_put(&cma.index, &c->entry, &out->record);
	send_and_publish(c, out);
	cma_timer_set(c, out->deadline);
	cma_reach_update(c);
	if (out->event.type != DPA_CM_EV_NONE)
		cma_on_event(c, &out->event);
	if (out->done)
		cma_conn_free(c);
}

int cma_step(struct cma_conn *c, struct dpav_cm_input *in)
{
	const enum dpav_cm_state before = c->cm.state;
	struct dpav_cm_effects out;
	int err;

	in->now = cma_now();
	err = dpav_cm_step(&c->cm, in, &out);
	if (dpa_trace_is_on() && before != c->cm.state)
		cma_trace_conn(c, (uint8_t)c->cm.state);
	if (!err)
		carry_out_effects(c, &out);
	return err;
}

void cma_conn_leave(struct cma_conn *c)
{
	struct dpav_cm_input in = {.kind = DPA_CM_DESTROY};

	c->id->conn = NULL;
	c->id = NULL;
	(void)cma_step(c, &in);
}

/* The values come from a process that died: dpav_cm_adopt() checks them. */
static int adopt_past(struct cma_conn *c, const struct dpa_gsi_id *past,
		      struct dpav_cm_effects *out)
{
	const struct dpav_cm_config config = config_of(past->local_id);
	const struct dpav_cm_path path = {.life_time = DPA_CM_TIMEOUT - 2};
	const struct dpav_cm_past p = {
		.state = (enum dpav_cm_state)past->state,
		.qp = (enum dpav_cm_qp)past->qp_type,
		.remote_id = past->remote_id,
		.remote_qpn = past->remote_qpn,
		.remote_guid = be64toh(past->remote_guid),
		.tid = past->tid,
		.service_id = past->service_id,
		.path = &path,
	};

	return dpav_cm_adopt(&c->cm, &config, &p, cma_now(), out);
}

void cma_adopt(const struct dpa_gsi_id *past)
{
	struct cma_conn *c = past->tell_peer ? alloc_conn() : NULL;
	struct dpav_cm_effects out;

	if (!c || adopt_past(c, past, &out)) {
		free(c);
		dpa_hw_gsi_id_free(cma.gsi, past->local_id);
		return;
	}
	cma.num_conns++;
	c->addr = past->addr;
	if (dpa_trace_is_on())
		cma_trace_conn(c, (uint8_t)c->cm.state);
	carry_out_effects(c, &out);
}
