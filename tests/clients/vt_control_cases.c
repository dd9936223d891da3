/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_control_cases.c - control verbs: errno of failures, objects whose handle the program changed,
 * and arguments that other devices accept. Each side runs each case alone.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "vt.h"

#define LEFT_ALONE 4711
#define INIT	   (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR                                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS                                                                                        \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |     \
	 IBV_QP_MAX_QP_RD_ATOMIC)

/* `call` returns an errno and has set it. */
#define FAILS(call, want)                                                                          \
	do {                                                                                       \
		int ret_, errno_;                                                                  \
                                                                                                   \
		errno = LEFT_ALONE;                                                                \
		ret_ = (call);                                                                     \
		errno_ = errno;                                                                    \
		CHECK(ret_ == (want) && errno_ == (want), "%s: returned %d, errno %d", #call,      \
		      ret_, errno_);                                                               \
	} while (0)
/* `call` returns `value`, errno says why. */
#define FAILS_WITH(call, value, want)                                                              \
	do {                                                                                       \
		errno = LEFT_ALONE;                                                                \
		CHECK((call) == (value) && errno == (want), "%s: errno %d", #call, errno);         \
	} while (0)

static void errno_of_what_fails(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS, .port_num = 1};
	struct ibv_ah_attr ah = {.port_num = 1};
	struct ibv_port_attr port;
	struct ibv_wc wc;
	union ibv_gid gid;
	__be16 pkey;

	vt_setup(t, &o);
	FAILS(ibv_modify_qp(t->qp, &a, INIT), EINVAL);
	FAILS(ibv_query_port(t->ctx, 2, &port), EINVAL);
	FAILS(ibv_destroy_cq(t->cq), EBUSY);
	FAILS(ibv_dealloc_pd(t->pd), EBUSY);
	FAILS(ibv_resize_cq(t->cq, 0), EINVAL);
	FAILS(ibv_attach_mcast(t->qp, &t->me.gid, 0), EINVAL);
	FAILS_WITH(ibv_reg_mr(t->pd, (void *)4096, 4096, IBV_ACCESS_LOCAL_WRITE), NULL, EFAULT);
	FAILS_WITH(ibv_create_cq(t->ctx, 1 << 30, NULL, NULL, 0), NULL, EINVAL);
	FAILS_WITH(ibv_create_ah(t->pd, &ah), NULL, EINVAL);
	/* its own values, and errno besides */
	FAILS_WITH(ibv_rereg_mr(t->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				IBV_ACCESS_REMOTE_WRITE),
		   IBV_REREG_MR_ERR_CMD, EINVAL);
	FAILS_WITH(ibv_query_gid(t->ctx, 1, 300, &gid), -1, EINVAL);
	errno = LEFT_ALONE;
	CHECK(ibv_query_pkey(t->ctx, 1, 5, &pkey) == -1 && errno != LEFT_ALONE, "query_pkey");
	errno = LEFT_ALONE;
	CHECK_EQ(ibv_query_port(t->ctx, 1, &port), 0);
	CHECK_EQ(ibv_req_notify_cq(t->cq, 0), 0);
	CHECK_EQ(ibv_poll_cq(t->cq, 1, &wc), 0);
	CHECK_EQ(errno, LEFT_ALONE);
	vt_close(t);
}

/* Another program holds RoCE's port: a QP for another host reports it. */
static void udp_4791_is_held(struct vt *t)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(4791)};
	struct vt_opt o = {0};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_1024,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};
	int fd;

	vt_open(t);
	a.ah_attr.grh.sgid_index = (uint8_t)t->gid_index;
	/* 192.0.2.1 (RFC 5737) */
	memcpy(a.ah_attr.grh.dgid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\300\0\2\1", 16);
	t->cq = ibv_create_cq(t->ctx, 4, NULL, NULL, 0);
	CHECK(t->cq, "create_cq");
	t->qp = vt_qp_create(t, &o, t->cq);
	vt_qp_init(t, t->qp, &o);
	vt_sync(t); /* one socket after the other: the sides share a host */
	if (t->side)
		vt_sync(t);
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0, "%s", strerror(errno));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)))
		vt_skip("UDP 4791 is in use: %s", strerror(errno));
	FAILS(ibv_modify_qp(t->qp, &a, RTR), EADDRINUSE);
	close(fd);
	if (!t->side)
		vt_sync(t);
	vt_sync(t);
	vt_close(t);
}

/* As in the kernel: objects are looked up by handle, in the context of the call. */
static void changed_objects(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_context *again;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct ibv_mr *mr;

	vt_setup(t, &o);
	again = ibv_open_device(t->ctx->device);
	CHECK(again, "%s", strerror(errno));
	t->pd->context = again;
	FAILS(ibv_dealloc_pd(t->pd), ENOENT);
	t->pd->context = t->ctx;
	t->pd->handle ^= 0x5a5a;
	FAILS(ibv_dealloc_pd(t->pd), ENOENT);
	FAILS_WITH(ibv_reg_mr(t->pd, t->buf, 64, 0), NULL, ENOENT);
	t->pd->handle ^= 0x5a5a;
	t->qp->handle ^= 0x5a5a;
	FAILS(ibv_query_qp(t->qp, &a, IBV_QP_STATE, &init), ENOENT);
	FAILS(ibv_destroy_qp(t->qp), ENOENT);
	t->qp->handle ^= 0x5a5a;
	t->cq->handle ^= 0x5a5a;
	FAILS(ibv_req_notify_cq(t->cq, 0), ENOENT);
	FAILS(ibv_destroy_cq(t->cq), ENOENT);
	vt_wc_none(t, t->cq); /* the data path looks nothing up */
	t->cq->handle ^= 0x5a5a;
	/* after some reregistrations a region has another handle: that one counts then */
	mr = ibv_reg_mr(t->pd, t->buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr, "%s", strerror(errno));
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, t->buf, 8192, 0), 0);
	mr->handle ^= 0x5a5a;
	FAILS(ibv_dereg_mr(mr), ENOENT);
	mr->handle ^= 0x5a5a;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_close_device(again), 0);
	vt_close(t);
}

static void an_ah_holds_its_pd(struct vt *t)
{
	struct vt_opt o = {0};
	struct ibv_pd *pd, *of;
	struct ibv_ah *ah;

	vt_setup(t, &o);
	pd = ibv_alloc_pd(t->ctx);
	CHECK(pd, "%s", strerror(errno));
	of = t->pd;
	t->pd = pd;
	ah = vt_ah(t, &t->me);
	t->pd = of;
	FAILS(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	vt_close(t);
}

static int walk(struct vt *t, struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = qp->qp_num,
				.max_rd_atomic = 1,
				.max_dest_rd_atomic = 1,
				.min_rnr_timer = 12,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.ah_attr = {.is_global = 1, .port_num = 1, .grh.hop_limit = 64}};

	a.ah_attr.grh.dgid = t->me.gid;
	a.ah_attr.grh.sgid_index = (uint8_t)t->gid_index;
	CHECK_EQ(ibv_modify_qp(qp, &a, INIT), 0);
	a.qp_state = IBV_QPS_RTR;
	CHECK_EQ(ibv_modify_qp(qp, &a, RTR), 0);
	a.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &a, RTS);
}

/* With all the attributes of RC, as perftest -c XRC passes them. And the target keeps its PD. */
static void xrc_with_the_attributes_of_rc(struct vt *t)
{
	struct ibv_xrcd_init_attr xa = {.comp_mask =
						IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					.fd = -1,
					.oflags = O_CREAT};
	struct vt_opt o = {0};
	struct ibv_qp_init_attr_ex a = {.qp_type = IBV_QPT_XRC_RECV,
					.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_PD};
	struct ibv_qp_init_attr i = {.qp_type = IBV_QPT_XRC_SEND,
				     .cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct ibv_xrcd *xrcd;
	struct ibv_qp *tgt, *ini;

	vt_setup(t, &o);
	xrcd = ibv_open_xrcd(t->ctx, &xa);
	CHECK(xrcd, "%s", strerror(errno));
	a.xrcd = xrcd;
	a.pd = ibv_alloc_pd(t->ctx);
	tgt = ibv_create_qp_ex(t->ctx, &a);
	i.send_cq = t->cq;
	ini = ibv_create_qp(t->pd, &i);
	CHECK(tgt && ini, "%s", strerror(errno));
	CHECK(tgt->pd == a.pd, "another PD");
	CHECK_EQ(walk(t, ini), 0);
	CHECK_EQ(walk(t, tgt), 0);
	CHECK_EQ(ibv_dealloc_pd(a.pd), 0); /* a pointer only */
	CHECK_EQ(ibv_destroy_qp(ini), 0);
	CHECK_EQ(ibv_destroy_qp(tgt), 0);
	CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	vt_close(t);
}

/* perftest's client sets the limit of its peer's device: 128 for a kernel rxe. */
static void reads_of_an_initiator(struct vt *t)
{
	struct vt_opt o = {.rd_atomic = 16};
	struct ibv_device_attr d;
	struct ibv_qp *qp;

	vt_setup(t, &o);
	CHECK_EQ(ibv_query_device(t->ctx, &d), 0);
	CHECK_EQ(d.max_qp_init_rd_atom, 128);
	CHECK_EQ(d.max_qp_rd_atom, 16);
	qp = vt_qp_create(t, &o, t->cq);
	vt_qp_init(t, qp, &o);
	vt_qp_rtr(t, qp, &o, &t->me);
	o.rd_atomic = 129;
	FAILS(vt_qp_try_rts(qp, &o, 0), EINVAL);
	o.rd_atomic = 128;
	CHECK_EQ(vt_qp_try_rts(qp, &o, 0), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	vt_close(t);
}

static const struct vt_case cases[] = {
	{"errno_of_what_fails", errno_of_what_fails, VT_BOTH, 0},
	{"udp_4791_is_held", udp_4791_is_held, VT_PROCS, 0},
	{"changed_objects", changed_objects, VT_BOTH, 0},
	{"an_ah_holds_its_pd", an_ah_holds_its_pd, VT_BOTH, 0},
	{"xrc_with_the_attributes_of_rc", xrc_with_the_attributes_of_rc, VT_BOTH, 0},
	{"reads_of_an_initiator", reads_of_an_initiator, VT_BOTH, 0},
};

VT_MAIN(cases)
