/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * bridged.c - connections on identifiers of librdmacm that the program owns: in one call (2.10), or
 * two (3.0).
 */
#include "../rdma.h"
#include "link.h"
#undef doca_rdma_bridge_accept /* both are defined here */

static bool is_id_taken(const struct doca_rdma *r, const struct rdma_cm_id *id)
{
	const struct dpa_cm_link *l = r->cm.links;

	while (l && l->id != id)
		l = l->next;
	return l != NULL;
}

/* Take the id. SUCCESS: it belongs to the connection from now on. */
static doca_error_t take_users_id(struct doca_rdma *r, struct rdma_cm_id *id,
				  struct dpa_cm_link **l)
{
	doca_error_t ret;

	if (!r->started)
		return DOCA_ERROR_BAD_STATE;
	if (is_id_taken(r, id))
		return DOCA_ERROR_INVALID_VALUE;
	ret = dpa_cm_take(r, id, l);
	if (!ret)
		(*l)->bridged = true;
	return ret;
}

/* Accept. The id stays the user's if this fails. */
doca_error_t doca_rdma_bridge_accept(struct doca_rdma *rdma, struct rdma_cm_id *cm_id,
				     void *private_data, uint8_t private_data_len,
				     struct doca_rdma_connection **rdma_connection)
{
	struct dpa_cm_link *l;
	doca_error_t ret;

	if (!dpa_live(rdma) || !cm_id || !rdma_connection ||
	    !dpa_cm_is_data(private_data, private_data_len))
		return DOCA_ERROR_INVALID_VALUE;
	ret = take_users_id(rdma, cm_id, &l);
	if (ret)
		return ret;
	*rdma_connection = l->c;
	if (dpa_cm_accept(l, private_data, private_data_len))
		return DOCA_SUCCESS;
	l->id = NULL;
	dpa_cm_end(l);
	return DOCA_ERROR_CONNECTION_ABORTED;
}

/*
 * Prepare. A listener has no peer, and neither has an id that connects before its request was sent.
 */
doca_error_t doca_rdma_bridge_prepare_connection(struct doca_rdma *rdma, struct rdma_cm_id *cm_id,
						 struct doca_rdma_connection **rdma_connection)
{
	struct dpa_cm_link *l;
	doca_error_t ret;

	if (!dpa_live(rdma) || !cm_id || !rdma_connection ||
	    rdma_get_peer_addr(cm_id)->sa_family == AF_UNSPEC)
		return DOCA_ERROR_INVALID_VALUE;
	ret = take_users_id(rdma, cm_id, &l);
	if (!ret)
		*rdma_connection = l->c;
	return ret;
}

doca_error_t doca_rdma_bridge_accept_303(struct doca_rdma *rdma, void *private_data,
					 uint8_t private_data_len,
					 struct doca_rdma_connection *rdma_connection)
{
	if (!dpa_live(rdma) || !dpa_cm_is_in(rdma_connection, CM_REQUESTED) ||
	    rdma_connection->rdma != rdma || !rdma_connection->link->bridged ||
	    !dpa_cm_is_data(private_data, private_data_len))
		return DOCA_ERROR_INVALID_VALUE;
	if (dpa_cm_accept(rdma_connection->link, private_data, private_data_len))
		return DOCA_SUCCESS;
	dpa_cm_end(rdma_connection->link);
	return DOCA_ERROR_CONNECTION_ABORTED;
}

doca_error_t doca_rdma_bridge_established(struct doca_rdma *rdma,
					  struct doca_rdma_connection *rdma_connection)
{
	if (!dpa_live(rdma) || !dpa_live(rdma_connection) || rdma_connection->rdma != rdma)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_cm_is_in(rdma_connection, CM_ACCEPTED) || !rdma_connection->link->bridged)
		return DOCA_ERROR_INVALID_VALUE;
	dpa_cm_establish(rdma_connection->link);
	return DOCA_SUCCESS;
}
