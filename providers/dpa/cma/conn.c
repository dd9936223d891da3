/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A communication id: the protocol's state, where its MADs go, its timer, and what is kept on the
 * board for those who come after this process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"

static uint32_t random_psn(void)
{
	return (uint32_t)rand_r(&cma.seed) & 0xffffff;
}

void cma_conn_init_cm(struct cma_conn *c, uint32_t local_id)
{
	const struct dpa_cm_config config = {
		.local_id = local_id,
		.tid_high = cma.tid_high,
		.psn = random_psn(),
		.ca_guid = be64toh(cma.node_guid),
		.cm_timeout = DPA_CM_TIMEOUT,
		.max_retries = DPA_CM_RETRIES,
		.mra_timeout = DPA_CM_MRA_TIMEOUT,
	};

	dpa_cm_init(&c->cm, &config);
}

struct cma_conn *cma_conn_new(struct cma_id *id)
{
	struct cma_conn *c = calloc(1, sizeof(*c));
	uint32_t local_id;

	if (!c)
		return NULL;
	if (cma_timer_room() || dpa_hw_gsi_id_new(cma.gsi, &local_id)) {
		free(c);
		return NULL;
	}
	cma.num_conns++;
	c->timer = SIZE_MAX;
	c->id = id;
	cma_conn_init_cm(c, local_id);
	return c;
}

void cma_conn_free(struct cma_conn *c)
{
	const struct dpa_cm_record none = {0};

	cma_timer_set(c, DPA_CM_NEVER);
	dpa_cm_index_put(&cma.index, &c->entry, &none);
	if (cma.gsi)
		dpa_hw_gsi_id_free(cma.gsi, c->cm.config.local_id);
	cma.num_conns--;
	if (c->id)
		c->id->conn = NULL;
	free(c);
}

/* For who finds it when this process has died. */
static void publish(struct cma_conn *c)
{
	struct dpa_gsi_id g = {
		.local_id = c->cm.config.local_id,
		.remote_id = c->cm.remote_id,
		.remote_guid = htobe64(c->cm.remote_guid),
		.tid = c->cm.tid,
		.service_id = c->cm.service_id,
		.remote_qpn = c->cm.remote_qpn,
		.attr = (uint16_t)(c->cm.state != DPA_CM_ST_TIMEWAIT &&
				   c->cm.state != DPA_CM_ST_CLOSED),
		.state = (uint8_t)c->cm.state,
		.local_ps = (uint8_t)c->cm.qp,
		.id = c->id ? c->id->id : 0,
		.addr = c->addr,
	};

	dpa_hw_gsi_id_set(cma.gsi, &g);
}

static void send_mad(struct cma_conn *c, const struct dpa_mad *m)
{
	uint8_t buf[DPA_MAD_BYTES];

	if (dpa_mad_encode(m, buf))
		(void)dpa_hw_gsi_send(cma.gsi, &c->addr, buf); /* what is lost is repeated */
}

int cma_step(struct cma_conn *c, struct dpa_cm_input *in)
{
	struct dpa_cm_effects out;
	int err;

	in->now = cma_now();
	err = dpa_cm_step(&c->cm, in, &out);
	if (err)
		return err;
	if (out.record_changed)
		dpa_cm_index_put(&cma.index, &c->entry, &out.record);
	publish(c);
	if (out.send)
		send_mad(c, &out.mad);
	cma_timer_set(c, out.deadline);
	if (out.event.type != DPA_CM_EV_NONE)
		cma_on_event(c, &out.event);
	if (out.done)
		cma_conn_free(c);
	return 0;
}

void cma_conn_leave(struct cma_conn *c)
{
	struct dpa_cm_input in = {.kind = DPA_CM_DESTROY};

	c->id->conn = NULL;
	c->id = NULL;
	(void)cma_step(c, &in);
}
