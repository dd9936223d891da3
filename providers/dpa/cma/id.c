/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* id.c - ids: numbers and life. Numbers are small: librdmacm indexes them up to 65,535. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cma/cma.h"
#include "cma/kernel.h"

#define MAX_IDS 65535u

static struct cma_id *by_number(uint32_t num)
{
	return num && num <= cma.num_ids ? cma.ids[num - 1] : NULL;
}

int cma_find(struct cma_channel *ch, uint32_t num, struct cma_id **out)
{
	*out = by_number(num);
	if (!*out)
		return ENOENT;
	return (*out)->channel == ch ? 0 : EINVAL;
}

int cma_find_bound(struct cma_channel *ch, uint32_t num, struct cma_id **out)
{
	int err = cma_find(ch, num, out);

	return err ? err : (*out)->has_device && !(*out)->removed ? 0 : EINVAL;
}

static bool grow_ids(void)
{
	uint32_t n = cma.num_ids ? 2 * cma.num_ids : 64;
	struct cma_id **ids;

	n = n < MAX_IDS ? n : MAX_IDS;
	if (n == cma.num_ids)
		return false;
	ids = realloc(cma.ids, n * sizeof(struct cma_id *));
	if (!ids)
		return false;
	memset(ids + cma.num_ids, 0, (n - cma.num_ids) * sizeof(struct cma_id *));
	cma.ids = ids;
	cma.num_ids = n;
	return true;
}

/* Returns the lowest free number: a number is reused at once, as in the kernel. */
static uint32_t free_id_number(void)
{
	while (cma.first_free < cma.num_ids && cma.ids[cma.first_free])
		cma.first_free++;
	if (cma.first_free == cma.num_ids && !grow_ids())
		return 0;
	return cma.first_free + 1;
}

struct cma_id *cma_id_new(struct cma_channel *ch)
{
	struct cma_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->id = free_id_number();
	if (!id->id) {
		free(id);
		return NULL;
	}
	id->channel = ch;
	cma.ids[id->id - 1] = id;
	cma_id_enter(id, CMA_IDLE);
	return id;
}

static bool type_fits_ps(uint16_t ps, uint8_t *type)
{
	switch (ps) {
	case RDMA_PS_TCP:
		*type = IBV_QPT_RC;
		return true;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*type = IBV_QPT_UD;
		return true;
	case RDMA_PS_IB:
		return *type == IBV_QPT_RC || *type == IBV_QPT_UC || *type == IBV_QPT_UD ||
		       *type == IBV_QPT_XRC_SEND || *type == IBV_QPT_XRC_RECV;
	default:
		return false;
	}
}

int cma_create_id(struct cma_channel *ch, uint64_t uid, uint16_t ps, uint8_t qp_type, uint32_t *num)
{
	struct cma_id *id;
	int err = ENOMEM;

	if (!type_fits_ps(ps, &qp_type))
		return EINVAL;
	cma_lock();
	if (ch->closed) { /* by another thread, since the descriptor was looked up */
		cma_unlock();
		return EBADF;
	}
	id = cma_id_new(ch);
	if (id) {
		id->uid = uid;
		id->ps = ps;
		id->qp_type = qp_type;
		*num = id->id;
		err = ch->kernel ? cma_kernel_create(id) : 0;
		if (err)
			cma_id_destroy(id);
	}
	cma_unlock();
	return err;
}

void cma_id_destroy(struct cma_id *id)
{
	if (id->side != CMA_SIDE_DPA)
		cma_kernel_drop(id);
	cma_neighbour_end(id);
	cma_leave_all(id);
	cma_events_drop(id, NULL);
	cma_unbind(id);
	if (id->conn)
		cma_conn_leave(id->conn);
	if (dpa_trace_is_on())
		cma_trace_id(id, DPA_TRACE_CM_END);
	cma.ids[id->id - 1] = NULL;
	if (id->id - 1 < cma.first_free)
		cma.first_free = id->id - 1;
	free(id);
}

int cma_destroy_id(struct cma_channel *ch, uint32_t num, uint32_t *reported)
{
	struct cma_id *id;
	int err;

	cma_events_let_take(ch, num);
	cma_lock();
	err = cma_find(ch, num, &id);
	if (!err) {
		*reported = id->events_reported;
		cma_id_destroy(id);
	}
	cma_unlock();
	return err;
}

/* ------------------------------------------------------------------ options */
