/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* native.c - verbs QPs that device code uses. */
#include <errno.h>
#include "../eu/pool.h"
#include "libdpa.h"

static void qp_to_error(struct dpa_fatal_hook *hook)
{
	dpa_hwif_fail_qp(container_of(hook, struct dpa_qp, fatal)->qp);
}

doca_error_t dpa_qp_export(struct doca_dpa *dpa, struct ibv_qp *qp, struct dpa_qp **dqp)
{
	struct dpa_qp *q;
	int ret;

	if (!dpa_live(dpa) || !qp || !dqp || qp->context != dpa->dev->ctx || qp->srq)
		return DOCA_ERROR_INVALID_VALUE;
	if (!dpa_ctx_usable(dpa))
		return DOCA_ERROR_BAD_STATE;
	q = dpa_obj_new(DPA_T_QP, sizeof(*q));
	if (!q)
		return DOCA_ERROR_NO_MEMORY;
	ret = dpa_hwif_view_qp(qp, &q->queues.view);
	if (ret || !dpa_handle_new(&dpa->handles, DPA_H_QP, &q->obj)) {
		dpa_obj_free(q);
		return ret == EINVAL ? DOCA_ERROR_INVALID_VALUE : DOCA_ERROR_DRIVER;
	}
	/* WQEs that the host has posted so far stay. */
	q->queues.sq_pi = __atomic_load_n(&q->queues.view.dbrec->sq_pi, __ATOMIC_ACQUIRE);
	q->queues.rq_pi = __atomic_load_n(&q->queues.view.dbrec->rq_pi, __ATOMIC_ACQUIRE);
	q->dpa = dpa;
	q->qp = qp;
	dpa_fatal_add(dpa, &q->fatal, qp_to_error);
	dpa->qps++;
	*dqp = q;
	return DOCA_SUCCESS;
}

doca_error_t dpa_qp_unexport(struct dpa_qp *dqp)
{
	if (!dpa_live(dqp))
		return DOCA_ERROR_INVALID_VALUE;
	dpa_fatal_remove(dqp->dpa, &dqp->fatal);
	dpa_handle_drop(&dqp->dpa->handles, &dqp->obj);
	dpa_pool_quiesce();
	dqp->dpa->qps--;
	dpa_obj_free(dqp);
	return DOCA_SUCCESS;
}

doca_error_t dpa_qp_get_dpa_handle(struct dpa_qp *dqp, dpa_dev_qp_t *handle)
{
	DPA_RETURN_VALUE(dqp, handle, dqp->obj.handle);
}
