/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* connect.c - calls of the program to the protocol: CONNECT, ACCEPT, REJECT, DISCONNECT, NOTIFY. */
#include <errno.h>
#include <string.h>
#include "cma/cma.h"

#define REJ_VENDOR_OPTION 35 /* IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED */

/* Private data with the IP CM header in front of it. */
struct request_data {
	uint8_t bytes[DPA_CM_IP_BYTES + RDMA_MAX_PRIVATE_DATA];
	size_t len;
};

static int make_data(const struct cma_id *id, const struct rdma_ucm_conn_param *p,
		     struct request_data *d)
{
	struct dpa_cm_ip ip = {.ip_version = id->src.family == AF_INET ? 4 : 6,
			       .sport = cma_addr_port(&id->src)};

	cma_addr_gid(&id->src, ip.src);
	cma_addr_gid(&id->dst, ip.dst);
	if (ip.ip_version == 4) { /* the address only, not its mapped form */
		memset(ip.src, 0, 12);
		memset(ip.dst, 0, 12);
	}
	if (!dpa_cm_ip_encode(&ip, d->bytes))
		return EINVAL;
	memcpy(d->bytes + DPA_CM_IP_BYTES, p->private_data, p->private_data_len);
	d->len = DPA_CM_IP_BYTES + p->private_data_len;
	return 0;
}

static enum dpav_cm_qp qp_of_type(uint8_t qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
		return DPA_CM_QP_RC;
	case IBV_QPT_UC:
		return DPA_CM_QP_UC;
	case IBV_QPT_UD:
		return DPA_CM_QP_UD;
	case IBV_QPT_XRC_SEND:
		return DPA_CM_QP_XRC_INI;
	case IBV_QPT_XRC_RECV:
		return DPA_CM_QP_XRC_TGT;
	default:
		return DPA_CM_QP_NONE;
	}
}

static struct dpav_cm_conn conn_of(const struct cma_id *id, const struct rdma_ucm_conn_param *p,
				   const struct rdma_ucm_ece *ece)
{
	return (struct dpav_cm_conn){
		.qp = qp_of_type(id->qp_type),
		.qpn = p->qp_num & 0xffffff,
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control,
		.srq = p->srq,
		.retry_count = p->retry_count,
		.rnr_retry = p->rnr_retry_count,
		.vendor_id = ece->vendor_id & 0xffffff,
		.attr_mod = ece->attr_mod,
	};
}

static struct dpa_gsi_addr addr_of(const struct dpav_cm_path *p)
{
	struct dpa_gsi_addr a = {.flow_label = p->flow_label,
				 .hop_limit = p->hop_limit,
				 .traffic_class = p->traffic_class};

	memcpy(a.sgid, p->sgid, 16);
	memcpy(a.dgid, p->dgid, 16);
	return a;
}

/*
 * An injected failure (docs/inject.md): no request is sent. The connection ends as after the last
 * repetition of the request, or as after the REJ of a host without a listener.
 */
static bool connect_ends(struct cma_conn *c)
{
	struct dpav_cm_event ev = {.type = DPA_CM_EV_UNREACHABLE, .status = -ETIMEDOUT};

	if (cma_asked(CMA_REJECTED)) {
		ev.type = DPA_CM_EV_REJ;
		ev.status = DPA_CM_REJ_SERVICE_ID;
	} else if (!cma_asked(CMA_UNREACHABLE)) {
		return false;
	}
	cma_on_event(c, &ev);
	return true;
}

static int connect_from_id(struct cma_id *id, const struct rdma_ucm_conn_param *p,
			   const struct rdma_ucm_ece *ece)
{
	struct dpav_cm_conn conn = conn_of(id, p, ece);
	struct dpav_cm_input in = {.kind = id->qp_type == IBV_QPT_UD ? DPA_CM_RESOLVE
								     : DPA_CM_CONNECT,
				   .path = &id->path,
				   .conn = &conn};
	struct request_data d;
	int err;

	if (id->state != CMA_ROUTE_DONE)
		return EINVAL;
	err = make_data(id, p, &d);
	if (!err)
		err = cma_engine_start();
	if (err)
		return err;
	in.service_id = (uint64_t)id->ps << 16 | cma_addr_port(&id->dst);
	in.data = d.bytes;
	in.len = d.len;
	id->conn = cma_conn_new(id);
	if (!id->conn)
		return ENOMEM;
	id->conn->addr = addr_of(&id->path);
	id->conn->asked = cma_now();
	cma_id_enter(id, CMA_CONNECT);
	if (connect_ends(id->conn))
		return 0;
	err = cma_step(id->conn, &in);
	if (err) {
		cma_conn_free(id->conn);
		cma_id_enter(id, CMA_ROUTE_DONE);
	} else {
		cma.asked = cma_now();
	}
	return err;
}

int cma_connect(struct cma_channel *ch, uint32_t num, const struct rdma_ucm_conn_param *p,
		const struct rdma_ucm_ece *ece)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err)
		err = connect_from_id(id, p, ece);
	cma_unlock();
	return err;
}

static int reject_to_peer(struct cma_id *id, const void *data, size_t len, uint16_t reason)
{
	struct dpav_cm_conn none = {0};
	struct dpav_cm_input in = {
		.kind = DPA_CM_REJECT, .data = data, .len = len, .reason = reason};
	int err;

	if (!id->conn)
		return EINVAL;
	if (id->qp_type == IBV_QPT_UD) {
		in.kind = DPA_CM_SIDR_ANSWER;
		in.status = DPA_CM_SIDR_REJECTED;
		in.conn = &none;
	}
	err = cma_step(id->conn, &in);
	if (!err && id->conn)
		cma_note(id->conn, DPA_GSI_SENT_REJ,
			 id->qp_type == IBV_QPT_UD ? DPA_CM_SIDR_REJECTED : reason);
	return err;
}

static int accept_request(struct cma_id *id, const struct rdma_ucm_conn_param *p,
			  const struct rdma_ucm_ece *ece)
{
	struct dpav_cm_conn conn = conn_of(id, p, ece);
	struct dpav_cm_input in = {.kind = DPA_CM_ACCEPT,
				   .conn = &conn,
				   .data = p->private_data,
				   .len = p->private_data_len};
	int err;

	if (id->qp_type == IBV_QPT_UD) {
		in.kind = DPA_CM_SIDR_ANSWER;
		in.status = DPA_CM_SIDR_VALID;
		in.qkey = CMA_UD_QKEY;
	}
	err = cma_step(id->conn, &in);
	if (err)
		(void)reject_to_peer(id, NULL, 0, DPA_CM_REJ_CONSUMER);
	return err;
}

int cma_accept(struct cma_channel *ch, uint32_t num, uint64_t uid,
	       const struct rdma_ucm_conn_param *p, const struct rdma_ucm_ece *ece)
{
	struct dpav_cm_input confirm = {.kind = DPA_CM_CONFIRM};
	struct cma_id *id;
	uint64_t before;
	int err;

	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err && (id->state != CMA_CONNECT || !id->conn))
		err = EINVAL;
	if (!err && p->valid) {
		before = id->uid;
		id->uid = uid; /* from here on its events go to the program */
		err = accept_request(id, p, ece);
		if (err)
			id->uid = before;
	} else if (!err) {
		err = cma_step(id->conn, &confirm);
		if (err) /* as in rdma_accept(); without effect if there is nothing to reject */
			(void)reject_to_peer(id, NULL, 0, DPA_CM_REJ_CONSUMER);
	}
	cma_unlock();
	return err;
}

int cma_reject(struct cma_channel *ch, uint32_t num, const void *data, uint8_t len, uint8_t reason)
{
	struct cma_id *id;
	int err;

	if (reason && reason != DPA_CM_REJ_CONSUMER && reason != REJ_VENDOR_OPTION)
		return EINVAL;
	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err)
		err = reject_to_peer(id, data, len, reason ? reason : DPA_CM_REJ_CONSUMER);
	cma_unlock();
	return err;
}

int cma_disconnect(struct cma_channel *ch, uint32_t num)
{
	struct dpav_cm_input in = {.kind = DPA_CM_DISCONNECT};
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err)
		err = id->conn ? cma_step(id->conn, &in) : EINVAL;
	cma_unlock();
	return err;
}

int cma_notify(struct cma_channel *ch, uint32_t num, uint32_t event)
{
	struct dpav_cm_input in = {.kind = DPA_CM_NOTIFY};
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err && event != IBV_EVENT_COMM_EST)
		err = EINVAL;
	if (!err)
		err = id->conn ? cma_step(id->conn, &in) : EINVAL;
	cma_unlock();
	return err;
}

/*
 * Attributes of an id without a connection, or of UD: those of INIT, for each state. Linux's
 * rdma_init_qp_attr() does not look at the state before there is a connection. EINVAL: there was one,
 * and it is the parent's.
 */
static int attr_without_conn(const struct cma_id *id, struct ibv_qp_attr *attr, int *mask)
{
	const struct dpav_cm idle = {.path = {.port = 1}, .qp = qp_of_type(id->qp_type)};
	enum ibv_qp_state state = attr->qp_state;
	int err;

	if (id->state == CMA_DISCONNECT && id->qp_type != IBV_QPT_UD)
		return EINVAL;
	attr->qp_state = IBV_QPS_INIT;
	err = dpav_cm_qp_attr(&idle, attr, mask);
	attr->qp_state = state;
	return err;
}

int cma_init_qp_attr(struct cma_channel *ch, uint32_t num, uint32_t state, struct ibv_qp_attr *attr,
		     int *mask)
{
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find_bound(ch, num, &id);
	if (!err) {
		attr->qp_state = (enum ibv_qp_state)state;
		if (id->conn && id->qp_type != IBV_QPT_UD)
			err = dpav_cm_qp_attr(&id->conn->cm, attr, mask);
		else
			err = attr_without_conn(id, attr, mask);
		if (!err && id->timeout_set && *mask & IBV_QP_TIMEOUT)
			attr->timeout = id->ack_timeout;
	}
	cma_unlock();
	return err;
}
