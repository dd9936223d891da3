/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* xrc.c - XRC domains, and target QPs that are opened by their number. */
#include <stdlib.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
#include "dpa.h"

struct dpa_xrcd {
	struct verbs_xrcd x;
	int fd; /* keeps the inode from being reused while the domain is open; -1: none */
	uint64_t dev, ino;
};

/* Unless the application closed it: then the number may belong to another file. */
static void close_xrcd_file(const struct dpa_xrcd *x)
{
	struct stat st;

	if (x->fd >= 0 && !fstat(x->fd, &st) && st.st_dev == x->dev && st.st_ino == x->ino)
		close(x->fd);
}

static int xrcd_attr(const struct ibv_xrcd_init_attr *attr, struct dpa_xrcd_attr *a)
{
	const uint32_t need = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct stat st;

	*a = (struct dpa_xrcd_attr){.named = false};
	if (attr->comp_mask != need || (attr->oflags & ~(O_CREAT | O_EXCL)))
		return EINVAL;
	if (attr->fd == -1)
		return attr->oflags & O_CREAT ? 0 : EINVAL;
	if (fstat(attr->fd, &st))
		return errno;
	a->named = true;
	a->dev = st.st_dev;
	a->ino = st.st_ino;
	a->create = attr->oflags & O_CREAT;
	a->exclusive = attr->oflags & O_EXCL;
	return 0;
}

struct ibv_xrcd *dpa_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct dpa_xrcd_attr a;
	struct dpa_xrcd *x;
	int ret;

	if (!dpa_alive(context))
		return dpa_null(EIO);
	ret = xrcd_attr(attr, &a);
	if (ret)
		return dpa_null(ret);
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->dev = a.dev;
	x->ino = a.ino;
	x->fd = a.named ? fcntl(attr->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (a.named && x->fd < 0)
		ret = errno;
	if (!ret)
		ret = dpa_hw_open_xrcd(to_dpa_ctx(context)->hw, &a, &x->x.handle);
	if (ret) {
		close_xrcd_file(x);
		free(x);
		return dpa_null(ret);
	}
	x->x.xrcd.context = context;
	return &x->x.xrcd;
}

int dpa_close_xrcd(struct ibv_xrcd *xrcd)
{
	int ret = 0;

	if (dpa_alive(xrcd->context))
		ret = dpa_hw_close_xrcd(to_dpa_ctx(xrcd->context)->hw, dpa_xrcd_num(xrcd));
	if (ret)
		return ret;
	close_xrcd_file((struct dpa_xrcd *)xrcd);
	free(xrcd);
	return 0;
}

int dpa_get_srq_num(struct ibv_srq *ibsrq, uint32_t *num)
{
	struct dpa_srq *srq = to_dpa_srq(ibsrq);

	if (srq->vsrq.srq_type != IBV_SRQT_XRC)
		return EOPNOTSUPP;
	*num = srq->vsrq.srq_num;
	return 0;
}

static int open_check(struct ibv_context *context, const struct ibv_qp_open_attr *attr)
{
	const uint32_t need = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (!dpa_alive(context))
		return EIO;
	if ((attr->comp_mask & need) != need || attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED ||
	    attr->qp_type != IBV_QPT_XRC_RECV || !attr->xrcd || attr->xrcd->context != context)
		return EINVAL;
	return 0;
}

struct ibv_qp *dpa_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct dpa_context *ctx = to_dpa_ctx(context);
	int ret = open_check(context, attr);
	struct dpav_qp *qp;

	if (ret)
		return dpa_null(ret);
	qp = dpav_qp_target_new(context, attr->xrcd);
	if (!qp)
		return NULL;
	ret = dpa_hw_open_qp(ctx->hw, dpa_xrcd_num(attr->xrcd), attr->qp_num, (uintptr_t)qp,
			     &qp->hw, &qp->info);
	if (ret) {
		free(qp);
		return dpa_null(ret);
	}
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		qp->vqp.qp.qp_context = attr->qp_context;
	dpav_qp_target_ready(qp);
	return &qp->vqp.qp;
}

static_assert((int)DPA_QP_XRC_SEND == (int)IBV_QPT_XRC_SEND, "QP type");
static_assert((int)DPA_QP_XRC_RECV == (int)IBV_QPT_XRC_RECV, "QP type");
