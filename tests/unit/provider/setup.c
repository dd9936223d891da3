/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * setup.c - contexts and QPs for the tests: the provider's own functions, called by libibverbs'
 * public ones.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "dpa.h"
#include "fake_hw.h"

static void must(int ret)
{
	if (ret)
		abort();
}

/* As verbs_open_device() does after it has found the device. */
struct ibv_context *fake_open(void)
{
	struct verbs_device *dev = calloc(1, sizeof(*dev));
	struct verbs_context *ctx;

	dev->ops = &dpa_dev_ops;
	dev->refcount = 0; /* the context takes the only reference: closing it frees the device */
	strcpy(dev->device.name, "dpa0");
	ctx = dpa_dev_ops.alloc_context(&dev->device, open("/dev/null", O_RDWR | O_CLOEXEC), NULL);
	return ctx ? &ctx->context : NULL;
}

void fake_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = {.is_global = 1, .port_num = 1},
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	bool ud = qp->qp_type == IBV_QPT_UD, rc = qp->qp_type == IBV_QPT_RC;

	must(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				   (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
	a.qp_state = IBV_QPS_RTR;
	must(ibv_modify_qp(
		qp, &a,
		IBV_QP_STATE |
			(ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
			(rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)));
	a.qp_state = IBV_QPS_RTS;
	must(ibv_modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_SQ_PSN |
				   (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						    IBV_QP_MAX_QP_RD_ATOMIC
				       : 0)));
}

void fake_setup(struct fake_setup *s, enum ibv_qp_type type, const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init = {.qp_type = type, .cap = *cap};

	memset(s, 0, sizeof(*s));
	s->ctx = fake_open();
	must(!s->ctx);
	s->pd = ibv_alloc_pd(s->ctx);
	s->scq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	s->rcq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	must(!s->pd || !s->scq || !s->rcq);
	init.send_cq = s->scq;
	init.recv_cq = s->rcq;
	s->qp = ibv_create_qp(s->pd, &init);
	must(!s->qp);
	s->cap = init.cap;
	s->hw = fake_qp(s->qp);
	fake_to_rts(s->qp);
}

/* Destroy everything, and check that nothing of it is left in the device. */
void fake_teardown(struct fake_setup *s)
{
	must(ibv_destroy_qp(s->qp));
	must(ibv_destroy_cq(s->scq));
	must(ibv_destroy_cq(s->rcq));
	must(ibv_dealloc_pd(s->pd));
	must(ibv_close_device(s->ctx));
	must(fake.contexts | fake.pds | fake.mrs | fake.mws | fake.cqs | fake.srqs | fake.qps);
	must(fake.queue_bytes != 0);
}
