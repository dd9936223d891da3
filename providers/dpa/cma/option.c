/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* option.c - rdma_set_option(): type of service, addresses, ACK timeout, a path. */
#include <errno.h>
#include <string.h>
#include "cma/cma.h"
#include "cma/kernel.h"

static int set_tos(struct cma_id *id, const void *val, uint32_t len)
{
	if (len != 1)
		return EINVAL;
	memcpy(&id->tos, val, 1);
	id->tos_set = true;
	return 0;
}

static int flag_of(const void *val, uint32_t len, bool *flag)
{
	int v;

	if (len != sizeof(v))
		return EINVAL;
	memcpy(&v, val, sizeof(v));
	*flag = v;
	return 0;
}

static int set_reuse(struct cma_id *id, const void *val, uint32_t len)
{
	bool on;
	int err = flag_of(val, len, &on);

	if (err)
		return err;
	if (id->state != CMA_IDLE && (!on || id->state == CMA_LISTEN))
		return EINVAL; /* rdma_set_reuseaddr(): it can be withdrawn only before the bind */
	if (on && id->ports)
		err = dpa_cm_port_share(id->ports->ports, &id->claim);
	if (!err)
		id->reuse = on;
	return err;
}

static int set_afonly(struct cma_id *id, const void *val, uint32_t len)
{
	bool on;
	int err = flag_of(val, len, &on);

	if (err)
		return err;
	if (id->state != CMA_IDLE && id->state != CMA_BOUND)
		return EINVAL;
	id->afonly_set = true;
	id->afonly = on;
	return 0;
}

/* IBA table 161: 5 bits; only the sender of requests has one. */
static int set_ack_timeout(struct cma_id *id, const void *val, uint32_t len)
{
	uint8_t t;

	if (len != 1)
		return EINVAL;
	memcpy(&t, val, 1);
	if (t > 31 || (id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND))
		return EINVAL;
	id->ack_timeout = t;
	id->timeout_set = true;
	return 0;
}

static int set_id_option(struct cma_id *id, uint32_t name, const void *val, uint32_t len)
{
	switch (name) {
	case RDMA_OPTION_ID_TOS:
		return set_tos(id, val, len);
	case RDMA_OPTION_ID_REUSEADDR:
		return set_reuse(id, val, len);
	case RDMA_OPTION_ID_AFONLY:
		return set_afonly(id, val, len);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return set_ack_timeout(id, val, len);
	default:
		return ENOSYS;
	}
}

int cma_set_option(struct cma_channel *ch, uint32_t num, uint32_t level, uint32_t name,
		   const void *val, uint32_t len)
{
	const bool path = level == RDMA_OPTION_IB && name == RDMA_OPTION_IB_PATH;
	struct cma_id *id;
	int err;

	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err && len && !val)
		err = EFAULT;
	if (!err && level == RDMA_OPTION_ID && id->side == CMA_SIDE_BOTH)
		err = cma_kernel_option(id, level, name, val, len);
	if (!err && level == RDMA_OPTION_ID)
		err = set_id_option(id, name, val, len);
	else if (!err && !path)
		err = ENOSYS;
	cma_unlock();
	if (err || !path)
		return err;
	if (!len || len % sizeof(struct ib_path_rec_data))
		return EINVAL;
	return cma_set_path(ch, num, val, len / sizeof(struct ib_path_rec_data));
}
