/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hw_dpadv.c - the direct verbs of the provider, for libdpa. */
#include <errno.h>
#include <string.h>
#include <discovery/discovery.h>
#include <dpadv.h>
#include "hw.h"

bool dpa_hwif_is_dpa(struct ibv_device *dev)
{
	return dpadv_is_supported(dev);
}

uint32_t dpa_hwif_function(struct ibv_device *dev, char pci_addr[16])
{
	struct dpadv_function fn = {0};

	if (dpadv_query_function(dev, &fn))
		return 0;
	memcpy(pci_addr, fn.pci_addr, sizeof(fn.pci_addr));
	return fn.number;
}

int dpa_hwif_port_file(uint32_t function, const char *name, char *text, size_t len)
{
	return dpadv_port_file(function, name, text, len);
}

uint32_t dpa_hwif_num_eus(struct ibv_context *ctx)
{
	return dpadv_num_eus(ctx);
}

int dpa_hwif_raw_clock(struct ibv_context *ctx, struct timespec *now)
{
	struct ibv_values_ex v = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	int ret = ibv_query_rt_values_ex(ctx, &v);

	*now = v.raw_clock;
	return ret;
}

void dpa_hwif_query_board(struct ibv_context *ctx, struct dpa_hwif_board *board)
{
	struct dpadv_board b = {0};

	if (dpadv_query_board(ctx, &b))
		b.path = "";
	board->path = b.path;
	board->max_run_time = b.max_run_time;
}

const struct dpa_pcc_ops *dpa_hwif_pcc(struct ibv_context *ctx, void **port)
{
	return dpadv_query_pcc(ctx, port);
}

const struct dpa_trace_ops *dpa_hwif_trace(void)
{
	return dpadv_trace_points();
}

const struct dpa_inject_ops *dpa_hwif_inject(void)
{
	return dpadv_inject_points();
}

int dpa_hwif_progress(struct ibv_context *ctx)
{
	return dpadv_progress(ctx);
}

void dpa_hwif_idle(struct ibv_context *ctx)
{
	dpadv_idle(ctx);
}

/* Create a CQ that never overruns: unread elements are overwritten. */
int dpa_hwif_create_cq(struct ibv_context *ctx, uint32_t entries, dpa_comp_fn *comp, void *arg,
		       struct ibv_cq **cq, struct dpa_cq_view *view)
{
	struct dpadv_cq_init_attr attr = {
		.cqe = entries,
		.flags = DPA_CQ_IGNORE_OVERRUN,
		.comp = comp,
		.comp_arg = arg,
	};
	struct dpadv_cq out = {0};
	struct dpadv_obj obj = {.cq = {.out = &out}};
	int ret;

	*cq = dpadv_create_cq(ctx, &attr);
	if (!*cq)
		return errno;
	obj.cq.in = *cq;
	ret = dpadv_init_obj(&obj, DPADV_OBJ_CQ);
	if (ret) {
		ibv_destroy_cq(*cq);
		return ret;
	}
	view->buf = out.buf;
	view->ci = out.ci;
	view->log_size = out.log_size;
	view->hw = out.hw;
	return 0;
}

int dpa_hwif_destroy_cq(struct ibv_cq *cq)
{
	return ibv_destroy_cq(cq);
}

void dpa_hwif_arm_cq(const struct dpa_cq_view *view)
{
	dpadv_arm_cq(view->hw, false);
}

int dpa_hwif_watch_sq(struct ibv_qp *qp, const uint64_t *word)
{
	return dpadv_watch_sq(qp, word);
}

struct ibv_mr *dpa_hwif_reg_foreign(struct ibv_pd *pd, uint64_t addr, uint64_t length, int access,
				    const struct dpa_foreign_ops *ops, void *arg)
{
	const struct dpadv_foreign_mr mr = {
		.addr = addr,
		.length = length,
		.iova = addr,
		.access = access,
		.ops = ops,
		.arg = arg,
	};

	return dpadv_reg_foreign_mr(pd, &mr);
}

void dpa_hwif_fail_qp(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	/* a QP in a state that cannot fail stays as it is */
	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

int dpa_hwif_view_qp(struct ibv_qp *qp, struct dpa_qp_view *view)
{
	struct dpadv_qp out = {0};
	struct dpadv_obj obj = {.qp = {.in = qp, .out = &out}};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = dpadv_init_obj(&obj, DPADV_OBJ_QP);

	if (!ret)
		ret = ibv_query_qp(qp, &attr, IBV_QP_CAP, &init);
	if (ret)
		return ret;
	*view = (struct dpa_qp_view){
		.sq = out.sq,
		.rq = out.rq,
		.dbrec = out.dbrec,
		.slot = out.slot,
		.placement = out.placement,
		.hw = out.hw,
		.log_sq = out.log_sq,
		.log_rq = out.log_rq,
		.max_send_sge = attr.cap.max_send_sge,
		.max_recv_sge = out.rq_max_sge,
		.qpn = out.qpn,
		.type = (uint32_t)qp->qp_type,
		.sq_sig_all = init.sq_sig_all,
	};
	return 0;
}

struct ibv_qp *dpa_hwif_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				  uint32_t user_index)
{
	struct dpadv_qp_init_attr dv = {.user_index = user_index};

	return dpadv_create_qp(pd, attr, &dv);
}

int dpa_hwif_view_srq(struct ibv_srq *srq, struct dpa_srq_view *view)
{
	struct dpadv_srq out = {0};
	struct dpadv_obj obj = {.srq = {.in = srq, .out = &out}};
	int ret = dpadv_init_obj(&obj, DPADV_OBJ_SRQ);

	*view = (struct dpa_srq_view){
		.buf = out.buf,
		.dbrec = out.dbrec,
		.log_size = out.log_size,
		.stride = out.stride,
		.max_sge = out.max_sge,
	};
	return ret;
}

bool dpa_hwif_may_read(const struct dpa_qp_view *view, uint32_t lkey, uint64_t addr, uint64_t len)
{
	return dpadv_may_read(view->hw, lkey, addr, len);
}

void dpa_hwif_ring_sq(const struct dpa_qp_view *view)
{
	if (__atomic_load_n(view->placement, __ATOMIC_RELAXED) == DPA_PLACE_INLINE)
		dpadv_ring_sq(view->hw);
	else
		dpadv_kick_sq(view->hw);
}

void dpa_hwif_ring_rq(const struct dpa_qp_view *view)
{
	dpadv_ring_rq(view->hw);
}
