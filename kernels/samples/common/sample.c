/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "sample.h"

bool sample_ok(doca_error_t ret, const char *what)
{
	if (ret != DOCA_SUCCESS)
		fprintf(stderr, "%s: %s\n", what, doca_error_get_descr(ret));
	return ret == DOCA_SUCCESS;
}

static bool open_device(struct sample *s, const char *ibdev)
{
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo **list;
	doca_error_t ret = DOCA_ERROR_NOT_FOUND;
	uint32_t n;

	if (!sample_ok(doca_devinfo_create_list(&list, &n), "device list"))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)) &&
		    !strcmp(name, ibdev)) {
			ret = doca_dpa_cap_is_supported(list[i]);
			if (!ret)
				ret = doca_dev_open(list[i], &s->dev);
		}
	doca_devinfo_destroy_list(list);
	if (ret || !sample_ok(dpa_dev_get_ibv_context(s->dev, &s->ctx), "ibv context"))
		return sample_ok(ret, ibdev);
	s->pd = ibv_alloc_pd(s->ctx);
	if (!s->pd)
		fprintf(stderr, "ibv_alloc_pd: %s\n", strerror(errno));
	return s->pd != NULL;
}

static bool start_context(struct sample *s, struct doca_dpa_app *app, size_t state_size)
{
	return sample_ok(doca_dpa_create(s->dev, &s->dpa), "doca_dpa_create") &&
	       sample_ok(doca_dpa_set_app(s->dpa, app), "doca_dpa_set_app") &&
	       sample_ok(doca_dpa_start(s->dpa), "doca_dpa_start") &&
	       sample_ok(doca_dpa_mem_alloc(s->dpa, state_size, &s->state), "doca_dpa_mem_alloc") &&
	       sample_ok(doca_dpa_memset(s->dpa, s->state, 0, state_size), "doca_dpa_memset");
}

static bool start_thread(struct sample *s, doca_dpa_func_t *func, unsigned int depth)
{
	return sample_ok(doca_dpa_thread_create(s->dpa, &s->thread), "doca_dpa_thread_create") &&
	       sample_ok(doca_dpa_thread_set_func_arg(s->thread, func, s->state),
			 "doca_dpa_thread_set_func_arg") &&
	       sample_ok(doca_dpa_thread_start(s->thread), "doca_dpa_thread_start") &&
	       sample_ok(doca_dpa_completion_create(s->dpa, depth, &s->comp),
			 "doca_dpa_completion_create") &&
	       sample_ok(doca_dpa_completion_set_thread(s->comp, s->thread),
			 "doca_dpa_completion_set_thread") &&
	       sample_ok(doca_dpa_completion_start(s->comp), "doca_dpa_completion_start") &&
	       sample_ok(doca_dpa_completion_get_dpa_handle(s->comp, &s->comp_handle),
			 "doca_dpa_completion_get_dpa_handle") &&
	       sample_ok(dpa_completion_get_ibv_cq(s->comp, &s->cq), "dpa_completion_get_ibv_cq");
}

bool sample_open(struct sample *s, const char *ibdev, struct doca_dpa_app *app,
		 doca_dpa_func_t *func, size_t state_size, unsigned int depth)
{
	memset(s, 0, sizeof(*s));
	return open_device(s, ibdev) && start_context(s, app, state_size) &&
	       start_thread(s, func, depth);
}

struct ibv_qp *sample_qp(struct sample *s, struct ibv_cq *cq, uint32_t sends, uint32_t recvs)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = sends,
			.max_recv_wr = recvs,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	if (qp &&
	    ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
		ibv_destroy_qp(qp);
		qp = NULL;
	}
	if (!qp)
		fprintf(stderr, "QP: %s\n", strerror(errno));
	return qp;
}

bool sample_connect(struct ibv_qp *qp, const struct sample_dest *to, uint32_t my_psn, int gid_index,
		    enum ibv_mtu mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = to->qpn,
		.rq_psn = to->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.dgid = to->gid,
				    .sgid_index = (uint8_t)gid_index,
				    .hop_limit = 1}},
	};
	int ret = ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER);

	if (!ret) {
		attr.qp_state = IBV_QPS_RTS;
		attr.timeout = 14;
		attr.retry_cnt = 7;
		attr.rnr_retry = 7;
		attr.sq_psn = my_psn;
		attr.max_rd_atomic = 1;
		ret = ibv_modify_qp(qp, &attr,
				    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					    IBV_QP_MAX_QP_RD_ATOMIC);
	}
	if (ret)
		fprintf(stderr, "connecting the QP: %s\n", strerror(ret));
	return !ret;
}

void sample_close(struct sample *s)
{
	if (s->comp)
		sample_ok(doca_dpa_completion_destroy(s->comp), "doca_dpa_completion_destroy");
	if (s->thread)
		sample_ok(doca_dpa_thread_destroy(s->thread), "doca_dpa_thread_destroy");
	if (s->dpa)
		sample_ok(doca_dpa_destroy(s->dpa), "doca_dpa_destroy");
	if (s->pd)
		ibv_dealloc_pd(s->pd);
	if (s->dev)
		sample_ok(doca_dev_close(s->dev), "doca_dev_close");
}
