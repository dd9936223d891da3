/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* alone.c - makes the function, the path and the QP of alone.h, and moves its time. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "alone_priv.h"
#include "ctx/cq.h"
#include "ctx/mr.h"
#include "ctx/ops.h"
#include "ctx/schedule.h"
#include "ctx/wqe.h"
#include "direct/direct.h"
#include "direct/share.h"
#include "eu/progress.h"
#include "foreign/foreign.h"
#include "link/udp/udp.h"
#include "order/order.h"
#include "transport/api.h"

#define ALL                                                                                        \
	(DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_WRITE | DPA_ACCESS_REMOTE_READ |               \
	 DPA_ACCESS_REMOTE_ATOMIC | DPA_ACCESS_FLUSH_GLOBAL | DPA_ACCESS_FLUSH_PERSISTENT)

static void *map_zero_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap_pages(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

static void *alloc_lines(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, DPA_CACHE_LINE, n))
		return NULL;
	return memset(p, 0, n);
}

static void on_alone_event(void *arg, const struct dpa_event *ev)
{
	struct alone *a = arg;

	a->events[ev->type & 63]++;
}

static void no_log(int level, const char *text)
{
}

/* process_vm_readv() may be forbidden here: the device then copies in another way. */
static bool can_copy(pid_t pid)
{
	char from = 1, to = 0;
	struct iovec l = {&to, 1}, r = {&from, 1};

	return process_vm_readv(pid, &l, 1, &r, 1, 0) == 1 && to == 1;
}

/* --------------------------------------------------------------- function */

static void set_config(struct dpa_hw *hw, const struct alone_opt *o)
{
	dpa_config_defaults(&hw->cfg);
	hw->cfg.log = DPA_CFG_LOG_ERR;
	hw->cfg.near_link = DPA_CFG_NEAR_NEVER;
	hw->cfg.direct = DPA_CFG_DIRECT_NEVER;
	hw->cfg.share_mr = DPA_CFG_SHARE_NEVER;
	hw->cfg.congestion = o->dcqcn ? DPA_CFG_CONGESTION_DCQCN : DPA_CFG_CONGESTION_NONE;
}

static int open_alone_hw(struct alone *a)
{
	static uint32_t opened; /* a thread remembers QPs of an earlier opening, by this number */
	struct dpa_hw *hw = alloc_lines(sizeof(*hw));

	a->hw = hw;
	a->door = alloc_lines(sizeof(*a->door));
	if (!hw || !a->door)
		return ENOMEM;
	a->board = (struct dpa_board){
		.gen = 1, .board_num = a->opt.qpn >> 16, .self = &a->self, .counters = a->counters};
	hw->board = &a->board;
	hw->cnt = a->counters;
	hw->ops = &dpa_ops;
	hw->log = no_log;
	hw->pid = getpid();
	hw->door = a->door;
	hw->serial = ++opened;
	set_config(hw, &a->opt);
	hw->fd.export = hw->fd.door = hw->fd.wake = hw->fd.wait = hw->fd.listen = hw->fd.epoll = -1;
	hw->maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	hw->pvm_self = can_copy(hw->pid);
	pthread_mutex_init(&hw->ctl, NULL);
	hw->udp = calloc(1, sizeof(*hw->udp));
	hw->alive = map_zero_pages(4096);
	hw->pd.refs = map_zero_pages(DPA_MAX_PD * sizeof(*hw->pd.refs));
	hw->qps.tab = map_zero_pages(DPA_BOARD_QPNS * sizeof(*hw->qps.tab));
	hw->qps.slab = map_zero_pages(DPA_MAX_QP * sizeof(*hw->qps.slab));
	hw->export = map_zero_pages(sizeof(*hw->export));
	if (!hw->udp || !hw->alive || !hw->pd.refs || !hw->qps.tab || !hw->qps.slab || !hw->export)
		return ENOMEM;
	atomic_store(&hw->udp->fd, -1);
	atomic_store(&hw->udp->in_epfd, -1);
	*hw->alive = 1;
	dpa_mr_init(hw);
	a->ctx = (struct dpa_hw_ctx){
		.hw = hw, .id = 1, .port = &hw->port, .event = on_alone_event, .event_arg = a};
	hw->ctxs = &a->ctx;
	hw->pd.refs[0] = hw->pd.refs[1] = 1;
	/* Packets that leave are shown one by one (udp/tx.c), and not sent: dpa_inspect_tx(). */
	atomic_store(&hw->inspect, DPA_INSPECT_CAPTURE);
	return 0;
}

static int open_path(struct alone *a)
{
	struct dpa_remote *r = alloc_lines(sizeof(*r));
	struct dpa_peer *p = &r->peer;

	a->remote = r;
	a->wire = alloc_lines(sizeof(*a->wire));
	if (!r || !a->wire)
		return ENOMEM;
	for (uint32_t i = 0; i < DPA_LANES; i++)
		a->from.port[i] = a->opt.net.sport;
	r->net = a->opt.net;
	r->from = &a->from;
	r->v4 = dpa_roce_is_v4(&r->net);
	p->hw = a->hw;
	p->wire = true;
	p->slot = UINT32_MAX;
	p->pidfd = p->sock = p->sock2 = p->wake_fd = p->wait_fd = p->tx_fd = -1;
	p->tx_map = map_zero_pages(DPA_LANES_BYTES);
	if (!p->tx_map)
		return ENOMEM;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->tx[i].shm = (struct dpa_lane_shm *)p->tx_map + i;
		p->tx[i].peer = p;
		atomic_store(&p->tx[i].shm->pull, 1);
		atomic_store(&p->tx[i].shm->lossy, 1);
	}
	atomic_store(&p->state, DPA_PEER_UP);
	a->hw->all_peers = p;
	atomic_store(&a->hw->wire, a->wire);
	return 0;
}

/* --------------------------------------------------------------------- QP */

static int open_cq(struct alone *a, struct alone_cq *c)
{
	struct dpa_cq_attr attr = {.log_size = ALONE_CQ_LOG, .ci = &c->ci};
	uint32_t cqn;

	c->buf = alloc_lines(sizeof(*c->buf) << ALONE_CQ_LOG);
	attr.buf = c->buf;
	return c->buf ? dpa_hw_create_cq(&a->ctx, &attr, &c->cq, &cqn) : ENOMEM;
}

static int connect_qp(struct alone *a)
{
	const struct alone_opt *o = &a->opt;
	struct dpa_qp_attr v = {.access = ALL,
				.qkey = o->qkey,
				.rq_psn = o->rq_psn,
				.sq_psn = o->sq_psn,
				.dest_qpn = o->dest,
				.av = {.is_global = 1,
				       .hop_limit = o->net.hop,
				       .traffic_class = o->net.tclass,
				       .flow_label = o->net.flow},
				.port = 1,
				.path_mtu = (uint8_t)o->mtu,
				.timeout = o->timeout,
				.retry_cnt = o->retry,
				.rnr_retry = o->rnr_retry,
				.min_rnr_timer = o->min_rnr,
				.max_rd_atomic = o->rd,
				.max_dest_rd_atomic = DPA_MAX_RD_ATOMIC};
	uint32_t mask = DPA_QPM_STATE | DPA_QPM_ACCESS | DPA_QPM_QKEY | DPA_QPM_RQ_PSN |
			DPA_QPM_SQ_PSN | DPA_QPM_DEST_QPN | DPA_QPM_AV | DPA_QPM_PORT |
			DPA_QPM_PATH_MTU | DPA_QPM_TIMEOUT | DPA_QPM_RETRY_CNT | DPA_QPM_RNR_RETRY |
			DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_RD_ATOMIC | DPA_QPM_MAX_DEST_RD_ATOMIC;
	int ret = 0;

	memcpy(v.av.dgid, o->net.dst, 16);
	for (v.state = DPA_QPS_INIT; v.state <= DPA_QPS_RTS && !ret;
	     v.state++, mask = DPA_QPM_STATE)
		ret = dpa_hw_modify_qp(a->qp, &v, mask);
	return ret;
}

static int open_qp(struct alone *a)
{
	struct dpa_qp_attr_create c = {.type = a->opt.type,
				       .pdn = 1,
				       .log_sq = ALONE_SQ_LOG,
				       .log_rq = ALONE_RQ_LOG,
				       .max_recv_sge = 1,
				       .sq_sig_all = 1};
	struct dpa_qp_info info;
	int ret = open_cq(a, &a->scq);

	if (!ret)
		ret = open_cq(a, &a->rcq);
	a->sq = map_zero_pages((size_t)64 << ALONE_SQ_LOG);
	a->rq = map_zero_pages((size_t)dpa_rwqe_stride(1) << ALONE_RQ_LOG);
	a->dbrec = alloc_lines(sizeof(*a->dbrec));
	if (ret || !a->sq || !a->rq || !a->dbrec)
		return ret ? ret : ENOMEM;
	c.send_cq = a->scq.cq;
	c.recv_cq = a->rcq.cq;
	c.sq = a->sq;
	c.rq = a->rq;
	c.dbrec = a->dbrec;
	ret = dpa_hw_create_qp(&a->ctx, &c, &a->qp, &info);
	return ret ? ret : connect_qp(a);
}

int alone_open(struct alone *a, const struct alone_opt *o)
{
	int ret;

	memset(a, 0, sizeof(*a));
	a->opt = *o;
	a->now = ALONE_START;
	alone_it = a;
	ret = open_alone_hw(a);
	if (!ret)
		ret = open_path(a);
	if (!ret)
		ret = open_qp(a);
	if (ret)
		alone_close(a);
	return ret;
}

static void close_cq(struct alone_cq *c)
{
	if (c->cq)
		dpa_hw_destroy_cq(c->cq);
	free(c->buf);
}

static void close_hw(struct dpa_hw *hw)
{
	dpa_foreign_fini(hw);
	dpa_kept_fini(hw);
	for (uint32_t i = 0; hw->qps.slab && i < hw->qps.nslab; i++)
		free(hw->qps.slab[i]);
	dpa_share_fini(hw);
	unmap_pages(hw->alive, 4096);
	unmap_pages(hw->pd.refs, DPA_MAX_PD * sizeof(*hw->pd.refs));
	unmap_pages((void *)hw->qps.tab, DPA_BOARD_QPNS * sizeof(*hw->qps.tab));
	unmap_pages(hw->qps.slab, DPA_MAX_QP * sizeof(*hw->qps.slab));
	unmap_pages(hw->export, sizeof(*hw->export));
	if (hw->maps_fd >= 0)
		close(hw->maps_fd);
	pthread_mutex_destroy(&hw->ctl);
	free(hw->udp);
	free(hw);
}

/* The answers that the QP sends when it is destroyed are not shown. */
static void sent_late(void *arg, const struct dpa_frame *f)
{
}

void alone_close(struct alone *a)
{
	a->opt.sent = sent_late;
	if (a->qp)
		dpa_hw_destroy_qp(a->qp);
	close_cq(&a->scq);
	close_cq(&a->rcq);
	unmap_pages(a->sq, (size_t)64 << ALONE_SQ_LOG);
	unmap_pages(a->rq, (size_t)dpa_rwqe_stride(1) << ALONE_RQ_LOG);
	free(a->dbrec);
	if (a->hw)
		close_hw(a->hw);
	if (a->remote)
		unmap_pages(a->remote->peer.tx_map, DPA_LANES_BYTES);
	free(a->remote);
	free(a->wire);
	free(a->door);
	memset(a, 0, sizeof(*a));
}

/* ------------------------------------------------------------------- time */

uint64_t alone_next(const struct alone *a)
{
	const uint64_t left = dpa_timer_left(a->hw);

	return left == UINT64_MAX ? left : a->now + left;
}

void alone_step(struct alone *a, uint64_t when)
{
	if (when > a->now)
		a->now = when;
	dpa_progress_once(a->hw);
}

void alone_arrives(struct alone *a, const struct dpa_frame *f)
{
	dpa_udp_arrive(a->hw, f);
	dpa_acks_settle(a->hw);
}

/* ----------------------------------------------------------------- queues */

bool alone_poll(struct alone_cq *cq, struct dpa_cqe *e)
{
	const struct dpa_cqe *at = &cq->buf[cq->ci & ((1u << ALONE_CQ_LOG) - 1)];

	if (!dpa_cqe_valid(at, cq->ci, ALONE_CQ_LOG))
		return false;
	*e = *at;
	__atomic_store_n(&cq->ci, cq->ci + 1, __ATOMIC_RELEASE);
	return true;
}

int alone_register(struct alone *a, void *mem, uint64_t iova, uint64_t len, uint32_t access,
		   uint32_t *key)
{
	const struct dpa_mr_attr mr = {.pdn = 1,
				       .access = access | DPA_ACCESS_LOCAL_WRITE,
				       .addr = (uintptr_t)mem,
				       .iova = iova,
				       .length = len};

	return dpa_hw_reg_mr(&a->ctx, &mr, key);
}

uint32_t alone_receives(const struct alone *a)
{
	return a->rpi - __atomic_load_n(&a->dbrec->rq_ci, __ATOMIC_ACQUIRE);
}

bool alone_receive(struct alone *a, uint64_t wr_id, const struct dpa_sge *sge)
{
	const struct dpa_rwqe w = {.wr_id = wr_id, .nsge = 1};
	uint8_t *at = a->rq + (size_t)(a->rpi & ((1u << ALONE_RQ_LOG) - 1)) * dpa_rwqe_stride(1);

	if (alone_receives(a) >= 1u << ALONE_RQ_LOG)
		return false;
	memcpy(at, &w, sizeof(w));
	memcpy(at + sizeof(w), sge, sizeof(*sge));
	__atomic_store_n(&a->dbrec->rq_pi, ++a->rpi, __ATOMIC_RELEASE);
	dpa_hw_ring_rq(a->qp);
	return true;
}

static uint32_t build_alone_wqe(const struct alone *a, const struct alone_wr *wr, uint8_t *w)
{
	struct dpa_wqe_ctrl *c = (struct dpa_wqe_ctrl *)w;
	uint32_t at = dpa_wqe_sge_off(a->qp, wr->op), body = dpa_wqe_body(a->qp);

	c->opcode = wr->op;
	c->flags = DPA_WQE_SIGNALED;
	c->wr_id = wr->wr_id;
	c->imm = wr->imm;
	c->index = a->pi;
	c->length = wr->sge.length;
	if (at > body) {
		const struct dpa_wqe_raddr r = {.addr = wr->raddr, .rkey = wr->rkey};
		const struct dpa_wqe_atomic t = {.swap_add = wr->swap_add, .compare = wr->compare};

		memcpy(w + body, &r, sizeof(r));
		if (dpa_op_is_atomic(wr->op))
			memcpy(w + body + sizeof(r), &t, sizeof(t));
	}
	if (wr->sge.length) {
		memcpy(w + at, &wr->sge, sizeof(wr->sge));
		at += (uint32_t)sizeof(wr->sge);
		c->nsge = 1;
	}
	c->nbb = (uint8_t)((at + 63) / 64);
	return c->nbb;
}

bool alone_post(struct alone *a, const struct alone_wr *wr)
{
	uint8_t w[256] __attribute__((aligned(16))) = {0};
	uint32_t nbb = build_alone_wqe(a, wr, w),
		 ci = __atomic_load_n(&a->dbrec->sq_ci, __ATOMIC_ACQUIRE);

	if (a->pi - ci + nbb > 1u << ALONE_SQ_LOG)
		return false;
	for (uint32_t i = 0; i < nbb; i++)
		memcpy(a->sq + ((a->pi + i) & ((1u << ALONE_SQ_LOG) - 1)) * 64, w + i * 64, 64);
	a->pi += nbb;
	__atomic_store_n(&a->dbrec->sq_pi, a->pi, __ATOMIC_RELEASE);
	dpa_hw_ring_sq(a->qp);
	return true;
}
