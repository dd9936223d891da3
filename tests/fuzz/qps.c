/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "ctx/qp.h"
#include "link/lane.h"
#include "qps.h"

#define WORK	12u
#define RECVS	8u
#define MORE	40u
#define GUARDED 4096
#define LOG_SRQ 7u

static uint8_t guarded[GUARDED];

/* The function that criterion.h of tests/tsan calls; its own runner is not here. */
void dpa_test_failed(const char *file, int line, const char *expr, const char *fmt, ...)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, expr);
}

void dpa_test_abort(void)
{
	abort();
}

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

/* Packets that were sent stay in the ring until the test reads them. */
uint32_t dpa_wire_flush(struct dpa_tx *tx, uint32_t src, uint32_t *psn)
{
	return 0;
}

bool dpa_wire_joins(const struct dpa_tx *tx)
{
	(void)tx;
	return true;
}

void dpa_wire_cork(struct dpa_tx *tx)
{
}

static uint32_t type_of(const struct fuzz *f)
{
	static const uint32_t types[] = {DPA_QP_RC, DPA_QP_UC, DPA_QP_UD, DPA_QP_XRC_SEND};

	return types[f->kind & KIND_TYPE];
}

static bool is_xrc(const struct fuzz *f)
{
	return type_of(f) == DPA_QP_XRC_SEND;
}

/* ------------------------------------------------------------------- XRC */

static void connect_target(struct fuzz *f, struct dpa_hw_qp *tgt)
{
	const struct dpa_qp_attr *of = &f->th->b.qp->attr;
	struct dpa_qp_attr a = {.access = TH_ALL,
				.rq_psn = of->rq_psn,
				.sq_psn = of->sq_psn,
				.dest_qpn = f->th->a.qp->qpn,
				.av = of->av,
				.port = 1,
				.path_mtu = 3,
				.min_rnr_timer = 1,
				.max_dest_rd_atomic = 4};
	uint32_t mask = DPA_QPM_STATE | DPA_QPM_ACCESS | DPA_QPM_RQ_PSN | DPA_QPM_DEST_QPN |
			DPA_QPM_AV | DPA_QPM_PORT | DPA_QPM_PATH_MTU | DPA_QPM_MIN_RNR_TIMER |
			DPA_QPM_MAX_DEST_RD_ATOMIC;

	for (a.state = DPA_QPS_INIT; a.state <= DPA_QPS_RTR; a.state++, mask = DPA_QPM_STATE)
		MUST(!dpa_hw_modify_qp(tgt, &a, mask));
	dpa_qp_set_flags(tgt, f->th->b.qp->pkt_flags);
}

static void make_target(struct fuzz *f)
{
	const struct dpa_xrcd_attr d = {.create = true};
	struct dpa_qp_attr_create a = {.type = DPA_QP_XRC_RECV};
	struct dpa_srq_attr s = {.pdn = f->th->pdn,
				 .max_sge = 4,
				 .log_size = LOG_SRQ,
				 .dbrec = &f->srq_rec,
				 .cq = f->th->b.rcq.cq};
	struct dpa_qp_info info;

	f->th->hw->xrc.srqs = calloc(DPA_MAX_SRQ, sizeof(*f->th->hw->xrc.srqs));
	f->srq_buf = calloc(1u << LOG_SRQ, dpa_rwqe_stride(4));
	MUST(f->th->hw->xrc.srqs && f->srq_buf);
	MUST(!dpa_hw_open_xrcd(&f->th->ctx, &d, &f->xrcd));
	s.buf = f->srq_buf;
	s.xrcd = a.xrcd = f->xrcd;
	MUST(!dpa_hw_create_srq(&f->th->ctx, &s, &f->srq, &f->srqn));
	MUST(!dpa_hw_create_qp(&f->th->ctx, &a, &f->qp[1], &info));
	connect_target(f, f->qp[1]);
}

static void free_target(struct fuzz *f)
{
	void *srqs = (void *)f->th->hw->xrc.srqs;

	MUST(!dpa_hw_destroy_qp(f->qp[1]));
	MUST(!dpa_hw_destroy_srq(f->srq));
	MUST(!dpa_hw_close_xrcd(&f->th->ctx, f->xrcd));
	f->th->hw->xrc.srqs = NULL;
	free(srqs);
	free(f->srq_buf);
}

static void srq_recv(struct fuzz *f, uint32_t i, uint32_t len)
{
	struct dpa_rwqe r = {.wr_id = i, .nsge = 1};
	struct dpa_sge g = {(uintptr_t)f->th->b.mem + 4096 * i, len, f->th->b.key};
	uint8_t *at = f->srq_buf + (size_t)i * dpa_rwqe_stride(4);

	memcpy(at, &r, sizeof(r));
	memcpy(at + sizeof(r), &g, sizeof(g));
	__atomic_store_n(&f->srq_rec.rq_pi, i + 1, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ work */

static void post_recv(struct fuzz *f)
{
	uint32_t i = f->recvs, len = 700 * (i % RECVS);

	if (i == MORE)
		return;
	f->recvs++;
	if (is_xrc(f)) {
		srq_recv(f, i, len);
		return;
	}
	th_recv(&f->th->a, i, 4096 * i, len);
	th_recv(&f->th->b, i, 4096 * i, len);
}

static void post_send(struct fuzz *f, uint32_t which, uint32_t len)
{
	static const uint8_t ops[] = {DPA_OP_SEND, DPA_OP_RDMA_WRITE, DPA_OP_RDMA_READ,
				      DPA_OP_ATOMIC_CS};
	uint32_t type = type_of(f);
	uint8_t op = ops[which % (type == DPA_QP_UC ? 2 : 4)];

	if (type == DPA_QP_UD || f->sent == MORE)
		return;
	f->sent++;
	th_send(&f->th->a, op, 1u << 20, op == DPA_OP_ATOMIC_CS ? 8 : len, 2u << 20);
}

void fuzz_begin(struct fuzz *f, uint8_t kind)
{
	struct dpa_mr_attr mr = {.pdn = 1, .access = DPA_ACCESS_REMOTE_READ, .length = 1024};

	memset(f, 0, sizeof(*f));
	f->kind = kind;
	f->th = th_new(&(struct th_opt){.type = type_of(f),
					.psn = kind & KIND_LATE_PSN ? 0xfffffe : 5,
					.retry = 7,
					.rnr_retry = 7,
					.timeout = 14,
					.wire = kind & KIND_WIRE,
					.lossy = kind & KIND_LOSSY,
					.congestion = !!(kind & KIND_PCC)});
	f->qp[0] = f->th->a.qp;
	f->qp[1] = f->th->b.qp;
	th_fill(guarded, sizeof(guarded), 1);
	mr.addr = mr.iova = (uintptr_t)guarded + 1024;
	MUST(!dpa_hw_reg_mr(&f->th->ctx, &mr, &f->guard_key));
	if (is_xrc(f))
		make_target(f);
	if (type_of(f) == DPA_QP_UD) { /* B is the endpoint of QP1, too */
		f->th->b.qp->attr.qkey = DPA_MAD_QKEY;
		atomic_store(&f->th->hw->gsi.qpn, f->th->b.qp->qpn);
	}
}

void fuzz_work(struct fuzz *f)
{
	for (uint32_t i = 0; i < RECVS; i++)
		post_recv(f);
	for (uint32_t i = 0; i < WORK; i++)
		post_send(f, f->kind & KIND_ATOMIC ? i + 3 : i, 1500 * i);
	th_drop_all(&f->th->a);
}

void fuzz_more(struct fuzz *f, uint8_t how)
{
	if (how & TO_B)
		post_recv(f);
	else
		post_send(f, how >> 1, (uint32_t)(how >> 3) * 700);
}

/* --------------------------------------------------------------- packets */

void fuzz_net(const struct fuzz *f, struct dpa_roce_net *net)
{
	static const uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8};

	*net = (struct dpa_roce_net){.sport = 50000, .dport = DPA_ROCE_PORT, .df = true};
	if (f->kind & KIND_V6) {
		memcpy(net->src, v6, 16);
		memcpy(net->dst, v6, 16);
	} else {
		net->src[10] = net->src[11] = net->dst[10] = net->dst[11] = 0xff;
		net->src[12] = net->dst[12] = 10;
	}
	net->src[15] = 1;
	net->dst[15] = 2;
}

static void set_psn(struct fuzz *f, uint8_t how, struct dpa_roce_pkt *k)
{
	const bool to_b = how & TO_B, answer = dpa_roce_ext_of(k->opcode) & DPA_ROCE_AETH;
	const struct dpa_hw_qp *qp = f->qp[to_b];
	uint32_t next = (answer ? dpa_psn_add(qp->req.una_psn, qp->req.read_off / qp->mtu)
				: qp->resp.epsn) +
			f->ahead[to_b];

	if (how & NEXT_PSN)
		f->ahead[to_b]++;
	else
		next += k->psn & 16 ? k->psn >> 5 & 2047 : (k->psn & 15) - 8;
	k->psn = next & DPA_PSN_MASK;
}

uint32_t fuzz_put_right(struct fuzz *f, uint8_t how, const struct dpa_roce_net *net,
			const uint8_t *p, size_t n, uint8_t *buf, uint32_t room)
{
	struct th_side *to = how & TO_B ? &f->th->b : &f->th->a;
	const struct dpa_hw_qp *qp = f->qp[!!(how & TO_B)];
	struct dpa_roce_pkt k;

	if (dpa_roce_decode(p, n, &k) != DPA_ROCE_OK)
		return 0;
	if (how & RIGHT_QPN) {
		k.dqpn = qp->qpn;
		if (is_xrc(f) && (k.opcode & DPA_BTH_TRANSPORT) == DPA_BTH_RC)
			k.opcode |= DPA_BTH_XRC;
	}
	if (how & NEAR_PSN)
		set_psn(f, how, &k);
	if (how & RIGHT_KEY) {
		k.pkey = DPA_ROCE_PKEY;
		k.qkey = qp->attr.qkey;
		k.xrcsrq = f->srqn;
		k.rkey = how & NOT_GUARDED ? to->key : f->guard_key;
		k.va = how & NOT_GUARDED ? (uintptr_t)to->mem + k.va % TH_MEM
					 : (uintptr_t)guarded + k.va % GUARDED;
	}
	return dpa_roce_encode_all(net, &k, buf, room);
}

/* ------------------------------------------------------------------- end */

static void check_cq(struct th_cq *cq, uint32_t n, uint64_t first)
{
	uint64_t next = first;
	struct dpa_cqe e;

	while (th_poll(cq, &e))
		MUST(e.wr_id == next++); /* once each and in order */
	MUST(next - first <= n);
}

void fuzz_end(struct fuzz *f)
{
	MUST(th_check(guarded, sizeof(guarded), 1));
	check_cq(&f->th->a.scq, f->sent, 1);
	check_cq(&f->th->a.rcq, is_xrc(f) ? 0 : f->recvs, 0);
	check_cq(&f->th->b.rcq, f->recvs, 0);
	check_cq(&f->th->b.scq, 0, 0);
	if (is_xrc(f))
		free_target(f);
	dpa_hw_dereg_mr(&f->th->ctx, f->guard_key);
	th_free(f->th);
}
