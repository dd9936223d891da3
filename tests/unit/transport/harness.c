/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "foreign/foreign.h"
#include "ctx/mr.h"
#include "link/peer.h"
#include "transport/api.h"
#include "eu/progress.h"
#include "direct/share.h"
#include "harness.h"
#include "direct/direct.h"
#include "link/udp/udp.h"
#include "ctx/ops.h"

/* ---------------------------------------------------------------- function */

static void *zero_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

static void on_event(void *arg, const struct dpa_event *ev)
{
	struct th *th = arg;

	th->events[ev->type & 63]++;
}

static void make_peer(struct th *th, bool pull)
{
	static uint32_t opened; /* threads remember QPs of an earlier opening */
	struct dpa_peer *p = NULL;

	cr_assert_eq(posix_memalign((void **)&p, DPA_CACHE_LINE, sizeof(*p)), 0);
	memset(p, 0, sizeof(*p));
	th->lanes = zero_pages(DPA_LANES * sizeof(*th->lanes));
	p->hw = th->hw;
	p->slot = th->board.slot;
	p->gen = th->board.gen;
	p->pid = getpid();
	p->can_pull = pull;
	p->door = &th->door;
	p->export = th->hw->export;
	for (uint32_t i = 0; i < DPA_LANES; i++) {
		p->tx[i].shm = &th->lanes[i];
		p->tx[i].peer = p->rx[i].peer = p;
		atomic_store(&p->rx[i].shm, &th->lanes[i]);
		atomic_store(&th->lanes[i].pull, pull);
	}
	atomic_store(&p->rx_up, 1);
	atomic_store(&p->state, DPA_PEER_UP);
	th->hw->serial = ++opened;
	th->peer = th->hw->all_peers = p;
	dpa_peers_put(th->hw, 0, p);
}

static void make_hw(struct th *th, bool pull)
{
	struct dpa_hw *hw = NULL;

	cr_assert_eq(posix_memalign((void **)&hw, DPA_CACHE_LINE, sizeof(*hw)), 0);
	memset(hw, 0, sizeof(*hw));
	th->hw = hw;
	th->board = (struct dpa_board){
		.gen = 1, .board_num = 1, .self = &th->self, .counters = th->counters};
	hw->board = &th->board;
	hw->cnt = th->counters;
	hw->ops = &dpa_ops;
	hw->log = th_log;
	hw->cfg.log = DPA_CFG_LOG_DEBUG;
	hw->cfg.share_region = 16;
	hw->cfg.share_total = 256;
	hw->pid = getpid();
	hw->pvm_self = true;
	hw->door = &th->door;
	hw->fd.export = hw->fd.door = hw->fd.wake = hw->fd.wait = hw->fd.listen = hw->fd.epoll = -1;
	hw->udp = calloc(1, sizeof(*hw->udp));
	cr_assert_not_null(hw->udp);
	atomic_store(&hw->udp->fd, -1);
	atomic_store(&hw->udp->in_epfd, -1);
	hw->maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	pthread_mutex_init(&hw->ctl, NULL);
	hw->alive = zero_pages(4096);
	madvise(hw->alive, 4096, MADV_WIPEONFORK);
	*hw->alive = 1;
	hw->pd.refs = zero_pages(DPA_MAX_PD * sizeof(*hw->pd.refs));
	hw->qps.tab = zero_pages(DPA_BOARD_QPNS * sizeof(*hw->qps.tab));
	hw->qps.slab = zero_pages(DPA_MAX_QP * sizeof(*hw->qps.slab));
	hw->export = zero_pages(sizeof(*hw->export));
	dpa_mr_init(hw);
	th->ctx = (struct dpa_hw_ctx){
		.hw = hw, .id = 1, .port = &hw->port, .event = on_event, .event_arg = th};
	hw->ctxs = &th->ctx;
	th->pdn = 1;
	hw->pd.refs[0] = hw->pd.refs[1] = 1;
	make_peer(th, pull);
}

/* ------------------------------------------------------------------- sides */

static void make_cq(struct th *th, struct th_cq *cq)
{
	struct dpa_cq_attr a = {.buf = cq->buf, .ci = &cq->ci, .log_size = TH_LOG_CQ};
	uint32_t cqn;

	cr_assert_eq(dpa_hw_create_cq(&th->ctx, &a, &cq->cq, &cqn), 0);
}

static void make_side(struct th *th, struct th_side *s, struct th_side *other,
		      const struct th_opt *o)
{
	struct dpa_mr_attr mr = {.pdn = th->pdn, .access = TH_ALL, .length = TH_MEM};
	struct dpa_qp_attr_create a = {.type = o->type ? o->type : DPA_QP_RC,
				       .pdn = th->pdn,
				       .log_sq = TH_LOG_SQ,
				       .log_rq = TH_LOG_RQ,
				       .max_recv_sge = 4,
				       .dbrec = &s->dbrec};
	struct dpa_qp_info info;

	s->th = th;
	s->other = other;
	s->from = 50000;
	s->next_wr = 1;
	make_cq(th, &s->scq);
	make_cq(th, &s->rcq);
	s->sq = zero_pages(64u << TH_LOG_SQ);
	s->rq = zero_pages((size_t)dpa_rwqe_stride(4) << TH_LOG_RQ);
	s->mem = zero_pages(TH_MEM);
	mr.addr = mr.iova = (uintptr_t)s->mem;
	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &mr, &s->key), 0);
	a.send_cq = s->scq.cq;
	a.recv_cq = s->rcq.cq;
	a.sq = s->sq;
	a.rq = a.type == DPA_QP_XRC_SEND ? NULL : s->rq;
	cr_assert_eq(dpa_hw_create_qp(&th->ctx, &a, &s->qp, &info), 0);
}

static uint8_t path_mtu_of(const struct th_side *s, const struct th_opt *o)
{
	if (s == &s->th->b && o->mtu_b)
		return (uint8_t)o->mtu_b;
	return (uint8_t)(o->mtu ? o->mtu : 3);
}

static void connect_side(struct th_side *s, const struct th_opt *o)
{
	struct dpa_qp_attr a = {.access = o->access ? o->access : TH_ALL,
				.qkey = 0x11111111,
				.rq_psn = o->psn + (s == &s->th->b ? o->skew : 0),
				.sq_psn = o->psn,
				.dest_qpn = s->other->qp->qpn,
				.av = {.is_global = 1},
				.port = 1,
				.path_mtu = path_mtu_of(s, o),
				.timeout = o->timeout,
				.retry_cnt = o->retry,
				.rnr_retry = o->rnr_retry,
				.min_rnr_timer = o->min_rnr,
				.max_rd_atomic = o->rd ? o->rd : 4,
				.max_dest_rd_atomic = o->dest_rd ? o->dest_rd : 4};
	uint32_t mask = DPA_QPM_STATE | DPA_QPM_ACCESS | DPA_QPM_QKEY | DPA_QPM_RQ_PSN |
			DPA_QPM_SQ_PSN | DPA_QPM_DEST_QPN | DPA_QPM_AV | DPA_QPM_PORT |
			DPA_QPM_PATH_MTU | DPA_QPM_TIMEOUT | DPA_QPM_RETRY_CNT | DPA_QPM_RNR_RETRY |
			DPA_QPM_MIN_RNR_TIMER | DPA_QPM_MAX_RD_ATOMIC | DPA_QPM_MAX_DEST_RD_ATOMIC;

	const uint32_t last = o->b_rtr && s == &s->th->b ? DPA_QPS_RTR : DPA_QPS_RTS;

	memcpy(a.av.dgid, th_gid[0], 16);
	for (a.state = DPA_QPS_INIT; a.state <= last; a.state++, mask = DPA_QPM_STATE)
		cr_assert_eq(dpa_hw_modify_qp(s->qp, &a, mask), 0);
	s->pi = s->dbrec.sq_pi = s->dbrec.sq_ci = o->index;
	s->qp->req.send_idx = s->qp->req.una_idx = o->index;
	if (o->wire)
		dpa_qp_set_flags(s->qp, dpa_pkt_mtu_flags(s->qp->mtu));
}

struct th *th_new(const struct th_opt *opt)
{
	struct th *th = NULL;

	th_now = 1000000000;
	th_num_errors = 0;
	memset(th_errors, 0, sizeof(th_errors));
	th_now_step = 0;
	th_nobody = th_dead = false;
	th_port_mtu = DPA_PORT_MTU_4096;
	memset(th_owned, 0, sizeof(th_owned));
	th_info = NULL;
	memset(&th_xrc_srq, 0, sizeof(th_xrc_srq));
	th_looks = NULL;
	cr_assert_eq(posix_memalign((void **)&th, DPA_CACHE_LINE, sizeof(*th)), 0);
	memset(th, 0, sizeof(*th));
	make_hw(th, opt->pull);
	th->wire = opt->wire;
	th->hw->cfg.congestion = opt->congestion;
	th->hw->cfg.direct = opt->direct ? DPA_CFG_DIRECT_AUTO : DPA_CFG_DIRECT_NEVER;
	for (uint32_t i = 0; i < DPA_LANES; i++)
		atomic_store(&th->lanes[i].lossy, opt->lossy || opt->wire);
	make_side(th, &th->a, &th->b, opt);
	make_side(th, &th->b, &th->a, opt);
	connect_side(&th->a, opt);
	connect_side(&th->b, opt);
	return th;
}

static void free_side(struct th_side *s)
{
	if (s->qp)
		dpa_hw_destroy_qp(s->qp);
	dpa_hw_destroy_cq(s->scq.cq);
	dpa_hw_destroy_cq(s->rcq.cq);
	dpa_hw_dereg_mr(&s->th->ctx, s->key);
	munmap(s->sq, 64u << TH_LOG_SQ);
	munmap(s->rq, (size_t)dpa_rwqe_stride(4) << TH_LOG_RQ);
	munmap(s->mem, TH_MEM);
}

void th_free(struct th *th)
{
	struct dpa_hw *hw = th->hw;

	th_now_step = 100000000; /* unsent packets wait for time to advance */
	free_side(&th->a);
	free_side(&th->b);
	dpa_foreign_fini(hw);
	dpa_kept_fini(hw);
	for (uint32_t i = 0; i < hw->qps.nslab; i++)
		free(hw->qps.slab[i]);
	munmap(hw->pd.refs, DPA_MAX_PD * sizeof(*hw->pd.refs));
	munmap((void *)hw->qps.tab, DPA_BOARD_QPNS * sizeof(*hw->qps.tab));
	munmap(hw->qps.slab, DPA_MAX_QP * sizeof(*hw->qps.slab));
	munmap(hw->export, sizeof(*hw->export));
	munmap(th->lanes, DPA_LANES * sizeof(*th->lanes));
	if (hw->maps_fd >= 0)
		close(hw->maps_fd);
	dpa_share_fini(hw);
	free(th->peer);
	free(hw->udp);
	free(hw);
	free(th);
}

/* ----------------------------------------------------------------- posting */

static uint32_t build(struct th_side *s, const struct th_wr *wr, uint8_t *w)
{
	struct dpa_wqe_ctrl *c = (struct dpa_wqe_ctrl *)w;
	uint32_t at = dpa_wqe_sge_off(s->qp, wr->op), body = dpa_wqe_body(s->qp);

	c->opcode = wr->op;
	c->flags = wr->flags;
	c->wr_id = wr->wr_id ? wr->wr_id : s->next_wr++;
	c->imm = wr->imm;
	c->index = s->pi;
	c->length = wr->length;
	if (wr->av) {
		memcpy(w + sizeof(*c), wr->av, sizeof(*wr->av));
	} else if (at > body) {
		struct dpa_wqe_raddr r = {.addr = wr->raddr, .rkey = wr->rkey, .flush = wr->flush};
		struct dpa_wqe_atomic a = {.swap_add = wr->swap_add, .compare = wr->compare};

		memcpy(w + body, &r, sizeof(r));
		if (dpa_op_is_atomic(wr->op))
			memcpy(w + body + sizeof(r), &a, sizeof(a));
	}
	if (wr->inl) {
		c->flags |= DPA_WQE_INLINE;
		c->length = wr->inl_len;
		memcpy(w + at, wr->inl, wr->inl_len);
		at += wr->inl_len;
	}
	for (uint32_t i = 0; i < wr->nsge; i++, at += sizeof(struct dpa_sge)) {
		memcpy(w + at, &wr->sge[i], sizeof(struct dpa_sge));
		c->length += wr->sge[i].length;
	}
	c->nsge = (uint8_t)wr->nsge;
	c->nbb = (uint8_t)((at + 63) / 64);
	return c->nbb;
}

bool th_post(struct th_side *s, const struct th_wr *wr)
{
	uint8_t w[2048] __attribute__((aligned(16))) = {0};
	uint32_t nbb = build(s, wr, w);
	uint32_t ci = __atomic_load_n(&s->dbrec.sq_ci, __ATOMIC_ACQUIRE);

	if (s->pi - ci + nbb > 1u << TH_LOG_SQ) {
		s->next_wr -= !wr->wr_id;
		return false;
	}
	for (uint32_t i = 0; i < nbb; i++)
		memcpy(s->sq + ((s->pi + i) & ((1u << TH_LOG_SQ) - 1)) * 64, w + i * 64, 64);
	s->pi += nbb;
	__atomic_store_n(&s->dbrec.sq_pi, s->pi, __ATOMIC_RELEASE);
	return true;
}

void th_ring(struct th_side *s)
{
	dpa_hw_ring_sq(s->qp);
}

void th_send(struct th_side *s, uint8_t op, uint32_t off, uint32_t len, uint32_t roff)
{
	struct th_wr wr = {.op = op,
			   .flags = DPA_WQE_SIGNALED,
			   .nsge = 1,
			   .sge = {{(uintptr_t)s->mem + off, len, s->key}},
			   .raddr = (uintptr_t)s->other->mem + roff,
			   .rkey = s->other->key};

	cr_assert(th_post(s, &wr));
	th_ring(s);
}

bool th_recv_sges(struct th_side *s, uint64_t wr_id, const struct dpa_sge *sge, uint32_t n)
{
	struct dpa_rwqe r = {.wr_id = wr_id, .nsge = n};
	uint8_t *at = s->rq + (size_t)(s->rpi & ((1u << TH_LOG_RQ) - 1)) * dpa_rwqe_stride(4);

	if (s->rpi - __atomic_load_n(&s->dbrec.rq_ci, __ATOMIC_ACQUIRE) >= 1u << TH_LOG_RQ)
		return false;
	memcpy(at, &r, sizeof(r));
	if (n)
		memcpy(at + sizeof(r), sge, n * sizeof(*sge));
	__atomic_store_n(&s->dbrec.rq_pi, ++s->rpi, __ATOMIC_RELEASE);
	dpa_hw_ring_rq(s->qp);
	return true;
}

bool th_recv(struct th_side *s, uint64_t wr_id, uint32_t off, uint32_t len)
{
	struct dpa_sge g = {(uintptr_t)s->mem + off, len, s->key};

	return th_recv_sges(s, wr_id, &g, 1);
}

/* ----------------------------------------------------------------- packets */

static bool take_slot(struct th_side *s, struct th_pkt *p)
{
	struct dpa_rx *rx = &s->th->peer->rx[s->qp->lane];
	struct dpa_lane_shm *shm = atomic_load(&rx->shm);
	uint32_t next = atomic_load(&rx->next), ext;

	if (!dpa_lane_ready(rx))
		return false;
	memcpy(&p->s, &shm->slots[next % DPA_LANE_SLOTS], sizeof(p->s));
	ext = dpa_ext_len(p->s.opcode);
	p->bytes = p->s.flags & DPA_PKT_PULL ? (uint32_t)sizeof(struct dpa_pull) : p->s.len;
	if (p->s.flags & DPA_PKT_INSLOT) {
		cr_assert_leq(ext + p->bytes, DPA_PKT_EXT);
		memcpy(p->data, p->s.ext + ext, p->bytes);
	} else if (p->bytes) {
		cr_assert_leq(p->bytes, sizeof(p->data));
		memcpy(p->data, shm->data + (size_t)(p->s.data % DPA_LANE_UNITS) * 64, p->bytes);
		rx->dnext = p->s.data + (p->bytes + 63) / 64;
	}
	atomic_store(&rx->next, next + 1);
	dpa_lane_release(rx);
	return true;
}

bool th_take(struct th_side *s, struct th_pkt *p)
{
	while (th_take_any(s, p))
		if (p->s.opcode != DPA_LINK_ASK && p->s.opcode != DPA_LINK_LOOKED)
			return true;
	return false;
}

bool th_take_any(struct th_side *s, struct th_pkt *p)
{
	if (!s->th->wire)
		return take_slot(s, p);
	if (s->cut.nth == s->cut.n) {
		/* A device of another host does not report NO_QP. */
		do {
			if (!take_slot(s, p))
				return false;
		} while (p->s.opcode == DPA_LINK_NO_QP);
		th_wire_hold(&s->cut, p, s->qp->mtu);
	}
	th_wire_next(&s->cut, s->qp->mtu, p);
	return true;
}

uint32_t th_drop_all(struct th_side *s)
{
	struct th_pkt p;
	uint32_t n = 0;

	while (th_take(s, &p))
		n++;
	return n;
}

void th_give(struct th_side *s, const struct th_pkt *p)
{
	struct dpa_slot at = p->s;

	if (at.flags & DPA_PKT_MTU)
		at.from = s->from;
	dpa_qplock_lock(&s->qp->lock);
	dpa_transport_rx(s->qp, s->th->peer, &at, p->data);
	dpa_qp_leave(s->qp);
}

void th_flush(struct th_side *s)
{
	dpa_qplock_lock(&s->qp->lock);
	dpa_responder_flush(s->qp);
	dpa_qp_leave(s->qp);
}

uint32_t th_deliver(struct th_side *s)
{
	struct th_pkt p;
	uint32_t n = 0;

	for (; th_take_any(s, &p); n++)
		th_give(s->other, &p);
	th_flush(s->other);
	return n;
}

void th_settle(struct th *th)
{
	while (th_deliver(&th->a) + th_deliver(&th->b) + (uint32_t)dpa_progress_once(th->hw))
		;
}

bool th_tick(struct th *th)
{
	uint64_t left = dpa_timer_left(th->hw);

	if (left == UINT64_MAX)
		return false;
	th_now += left;
	dpa_progress_once(th->hw);
	return true;
}

void th_until(struct th *th, uint64_t when)
{
	while (dpa_timer_left(th->hw) <= when - th_now)
		th_tick(th);
	th_now = when;
}

void th_lost(struct th_side *s)
{
	dpa_qplock_lock(&s->qp->lock);
	dpa_req_lost(s->qp, DPA_SYN_TIMEOUT);
	dpa_qp_leave(s->qp);
}

void th_forge(struct th_side *from, struct th_pkt *p, uint8_t opcode, uint32_t psn, uint32_t len)
{
	memset(p, 0, sizeof(*p));
	p->s.opcode = opcode;
	p->s.src = (uint16_t)(from->qp->qpn & DPA_QPN_INDEX);
	p->s.dqpn = from->other->qp->qpn;
	p->s.psn = psn & DPA_PSN_MASK;
	p->s.len = p->bytes = len;
}

struct dpa_ext *th_ext(struct th_pkt *p)
{
	return (struct dpa_ext *)p->s.ext;
}

/* -------------------------------------------------------------- small help */

bool th_poll(struct th_cq *cq, struct dpa_cqe *e)
{
	struct dpa_cqe *at = &cq->buf[cq->ci & ((1u << TH_LOG_CQ) - 1)];

	if (!dpa_cqe_valid(at, cq->ci, TH_LOG_CQ))
		return false;
	*e = *at;
	__atomic_store_n(&cq->ci, cq->ci + 1, __ATOMIC_RELEASE);
	return true;
}

uint64_t th_count(struct th *th, enum dpa_counter c)
{
	return atomic_load(&th->counters[c]);
}

uint32_t th_rand(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33);
}

void th_fill(uint8_t *p, uint32_t n, uint64_t id)
{
	uint64_t x = id * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < n; i++)
		p[i] = (uint8_t)((x >> (i % 8 * 8)) + i / 8 + (i >> 11) * 41 + (i >> 19) * 7);
}

bool th_check(const uint8_t *p, uint32_t n, uint64_t id)
{
	uint64_t x = id * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < n; i++)
		if (p[i] != (uint8_t)((x >> (i % 8 * 8)) + i / 8 + (i >> 11) * 41 + (i >> 19) * 7))
			return false;
	return true;
}
