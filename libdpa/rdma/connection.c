/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* connection.c - connections of an RDMA context. */
#include <endian.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "../eu/clock.h"
#include "../eu/pool.h"
#include "rdma.h"

#define LOOKS 64 /* polls for messages that have come when a connection ends */

static void connection_to_error(struct dpa_fatal_hook *hook)
{
	dpa_hwif_fail_qp(container_of(hook, struct doca_rdma_connection, fatal)->qp);
}

doca_error_t dpa_rdma_new_connection(struct doca_rdma *rdma, struct doca_rdma_connection **out)
{
	struct doca_rdma_connection *c;

	if (rdma->num_conns == rdma->conf.max_connections)
		return DOCA_ERROR_FULL;
	c = dpa_obj_new(DPA_T_CONNECTION, sizeof(*c));
	if (!c)
		return DOCA_ERROR_CONNECTION_ABORTED;
	c->rdma = rdma;
	c->sent_end = &c->sent;
	while (rdma->conns[c->id])
		c->id++;
	if (dpa_rdma_make_qp(c)) {
		dpa_gpu_link_unmake(c);
		dpa_obj_free(c);
		return DOCA_ERROR_CONNECTION_ABORTED;
	}
	if (rdma->dpa)
		dpa_fatal_add(rdma->dpa, &c->fatal, connection_to_error);
	rdma->conns[c->id] = c;
	rdma->num_conns++;
	*out = c;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_export(struct doca_rdma *rdma, const void **local_rdma_conn_details,
			      size_t *local_rdma_conn_details_size,
			      struct doca_rdma_connection **rdma_connection)
{
	doca_error_t ret;

	if (!dpa_live(rdma) || !local_rdma_conn_details || !local_rdma_conn_details_size ||
	    !rdma_connection)
		return DOCA_ERROR_INVALID_VALUE;
	if (!rdma->started)
		return DOCA_ERROR_BAD_STATE;
	ret = dpa_rdma_new_connection(rdma, rdma_connection);
	if (ret)
		return ret;
	*local_rdma_conn_details = &(*rdma_connection)->details;
	*local_rdma_conn_details_size = sizeof((*rdma_connection)->details);
	return DOCA_SUCCESS;
}

static bool valid_details(const struct dpa_rdma_details *d)
{
	return be32toh(d->magic) == DPA_RDMA_DETAILS_MAGIC &&
	       be16toh(d->version) == DPA_RDMA_DETAILS_VERSION && be16toh(d->size) == sizeof(*d) &&
	       be32toh(d->qpn) <= 0xffffff && be32toh(d->psn) <= 0xffffff &&
	       d->mtu >= IBV_MTU_256 && d->mtu <= IBV_MTU_4096 && d->num_gids &&
	       d->num_gids <= DPA_RDMA_DETAILS_GIDS;
}

/* Destroy a connection. EUs do not find it any more. */
static void destroy_connection(struct doca_rdma_connection *c)
{
	if (c->rdma->dpa)
		dpa_fatal_remove(c->rdma->dpa, &c->fatal);
	dpa_gpu_link_unmake(c);
	if (c->qp)
		ibv_destroy_qp(c->qp);
	dpa_obj_free(c);
}

/*
 * Publish a connection: from now on EUs find it by its id, and no longer the previous one with that
 * id.
 */
void dpa_rdma_show_connection(struct doca_rdma_connection *c)
{
	struct doca_rdma_connection *old;

	atomic_store_explicit(&c->ready, 1, memory_order_release);
	if (!c->rdma->dpa)
		return;
	old = atomic_exchange_explicit(&c->rdma->live[c->id], c, memory_order_seq_cst);
	if (old) {
		dpa_pool_quiesce();
		destroy_connection(old);
	}
}

doca_error_t dpa_rdma_join(struct doca_rdma_connection *c, const void *details, size_t size)
{
	struct dpa_rdma_details peer;

	if (size != sizeof(peer))
		return DOCA_ERROR_INVALID_VALUE;
	memcpy(&peer, details, sizeof(peer));
	if (!valid_details(&peer))
		return DOCA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&c->ready, memory_order_relaxed))
		return DOCA_ERROR_BAD_STATE;
	if (dpa_rdma_join_qp(c, &peer))
		return DOCA_ERROR_CONNECTION_ABORTED;
	dpa_rdma_show_connection(c);
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_connect(struct doca_rdma *rdma, const void *remote_rdma_conn_details,
			       size_t remote_rdma_conn_details_size,
			       struct doca_rdma_connection *rdma_connection)
{
	if (!dpa_live(rdma) || !remote_rdma_conn_details || !rdma_connection)
		return DOCA_ERROR_INVALID_VALUE;
	if (!rdma->started) /* its connections are gone: the pointer is not dereferenced */
		return DOCA_ERROR_BAD_STATE;
	if (!dpa_live(rdma_connection) || rdma_connection->rdma != rdma)
		return DOCA_ERROR_INVALID_VALUE;
	return dpa_rdma_join(rdma_connection, remote_rdma_conn_details,
			     remote_rdma_conn_details_size);
}

void dpa_rdma_fail_connection(struct doca_rdma_connection *c)
{
	dpa_hwif_fail_qp(c->qp);
}

static int64_t connection_now_ms(void)
{
	return (int64_t)(dpal_now_ns() / 1000000);
}

/* Give messages in flight some time; take those that have arrived already. */
static void work_off_connection(const struct doca_rdma_connection *c, int ms)
{
	struct ibv_context *ctx = c->rdma->ctx.dev->ctx;
	int64_t limit = connection_now_ms() + ms;
	int moved = 1;

	for (int i = 0; dpa_rdma_has_work(c) || (moved && i < LOOKS); i++) {
		moved = dpa_hwif_progress(ctx);
		if (moved < 0 || connection_now_ms() >= limit)
			break;
		if (!moved)
			sched_yield();
	}
	dpa_hwif_idle(ctx);
}

/*
 * End posted work, so that device code which waits for a report gets one: done, or failed. Elements
 * that it has not read stay in the completion context. A receive that a message has begun to fill
 * fails.
 */
static void end_posts(struct doca_rdma_connection *c)
{
	work_off_connection(c, DPA_RDMA_DRAIN_MS);
	dpa_rdma_fail_connection(c);
	work_off_connection(c, DPA_RDMA_FLUSH_MS);
}

void dpa_rdma_drop_connection(struct doca_rdma_connection *c)
{
	struct doca_rdma *rdma = c->rdma;

	rdma->conns[c->id] = NULL;
	rdma->num_conns--;
	if (rdma->dpa && atomic_load_explicit(&c->ready, memory_order_relaxed)) {
		if (!rdma->ending)
			end_posts(c);
		dpa_obj_remove(c, DPA_T_CONNECTION);
		return; /* EUs may still find it */
	}
	if (rdma->gpu && atomic_load_explicit(&c->ready, memory_order_relaxed)) {
		if (!rdma->ending)
			end_posts(c);
		dpa_gpu_link_end(c);
	}
	if (dpa_rdma_on_cpu(rdma) && c->sent)
		dpa_rdma_tasks_flush(c);
	destroy_connection(c);
}

/* Drop all when the context ends: no EU has its handle. */
void dpa_rdma_drop_connections(struct doca_rdma *rdma)
{
	for (uint32_t i = 0; i < rdma->conf.max_connections; i++) {
		struct doca_rdma_connection *c;

		if (rdma->conns[i])
			dpa_rdma_drop_connection(rdma->conns[i]);
		c = atomic_exchange_explicit(&rdma->live[i], NULL, memory_order_relaxed);
		if (c)
			destroy_connection(c);
	}
}

doca_error_t doca_rdma_connection_get_id(const struct doca_rdma_connection *rdma_connection,
					 uint32_t *connection_id)
{
	DPA_RETURN_VALUE(rdma_connection, connection_id, rdma_connection->id);
}

doca_error_t doca_rdma_connection_set_user_data(struct doca_rdma_connection *rdma_connection,
						union doca_data connection_user_data)
{
	if (!dpa_live(rdma_connection))
		return DOCA_ERROR_INVALID_VALUE;
	rdma_connection->user_data = connection_user_data;
	return DOCA_SUCCESS;
}

doca_error_t doca_rdma_connection_get_user_data(const struct doca_rdma_connection *rdma_connection,
						union doca_data *connection_user_data)
{
	DPA_RETURN_VALUE(rdma_connection, connection_user_data, rdma_connection->user_data);
}
