/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All that is behind the codec: packets as bytes to QPs in the middle of their work, over the
 * harness of the transport's tests. Nothing outside what was granted changes, nothing completes
 * twice or out of order; ASan watches the rest.
 *
 * Input: a byte for the QPs' type, then packets: a byte (enum how), length (16 bits), bytes. The
 * ICRC is not looked at: a fuzzer does not find it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "harness.h"
#include "device/link/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum how {
	TO_B = 1 << 0,
	RIGHT_QPN = 1 << 1,
	NEAR_PSN = 1 << 2, /* at what is expected, or a few off */
	NEXT_PSN = 1 << 3, /* with NEAR_PSN: exactly */
	RIGHT_KEY = 1 << 4,
	NOT_GUARDED = 1 << 5, /* else with RIGHT_KEY: memory that may only be read */
	FLUSH = 1 << 6,
	NO_TICK = 1 << 7,
};

#define WORK	12u
#define RECVS	8u
#define ROOM	64 /* in front of a frame */
#define GUARDED 4096

static uint8_t guarded[GUARDED];

struct fuzz {
	struct th *th;
	uint32_t guard_key;
};

/* What criterion.h of tests/tsan calls; its own runner is not here. */
void dpa_test_failed(const char *file, int line, const char *expr, const char *fmt, ...)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, expr);
}

void dpa_test_abort(void)
{
	abort();
}

static void set_up(struct fuzz *f, uint8_t kind)
{
	static const uint32_t types[] = {DPA_QP_RC, DPA_QP_UC, DPA_QP_UD, DPA_QP_RC};
	static const uint8_t ops[] = {DPA_OP_SEND, DPA_OP_RDMA_WRITE, DPA_OP_RDMA_READ,
				      DPA_OP_ATOMIC_CS};
	struct dpa_mr_attr mr = {.pdn = 1, .access = DPA_ACCESS_REMOTE_READ, .length = 1024};
	uint32_t type = types[kind & 3];

	f->th = th_new(&(struct th_opt){.type = type,
					.psn = kind & 4 ? 0xfffffe : 5,
					.retry = 7,
					.rnr_retry = 7,
					.timeout = 14,
					.own_srq = kind & 8});
	th_fill(guarded, sizeof(guarded), 1);
	mr.addr = mr.iova = (uintptr_t)guarded + 1024;
	if (dpa_hw_reg_mr(&f->th->ctx, &mr, &f->guard_key))
		abort();
	for (uint32_t i = 0; i < RECVS; i++) {
		th_recv(&f->th->a, i, 4096 * i, 700 * i);
		th_recv(&f->th->b, i, 4096 * i, 700 * i);
	}
	for (uint32_t i = 0; i < WORK && type != DPA_QP_UD; i++) {
		uint8_t op = ops[i % (type == DPA_QP_RC ? 4 : 2)];

		th_send(&f->th->a, op, 1u << 20, op == DPA_OP_ATOMIC_CS ? 8 : 1500 * i, 2u << 20);
	}
	th_drop_all(&f->th->a);
}

/* Makes of a packet one that gets further than random bytes would. */
static void put_right(struct fuzz *f, struct th_side *to, uint8_t how, struct dpa_roce_pkt *k)
{
	bool answer = dpa_roce_ext_of(k->opcode) & DPA_ROCE_AETH;
	uint32_t next = answer ? to->qp->req.una_psn : to->qp->resp.epsn;

	if (how & RIGHT_QPN)
		k->dqpn = to->qp->qpn;
	if (how & NEAR_PSN)
		k->psn = (how & NEXT_PSN ? next : next + (k->psn & 15) - 8) & DPA_PSN_MASK;
	if (!(how & RIGHT_KEY))
		return;
	k->qkey = 0x11111111;
	k->rkey = how & NOT_GUARDED ? to->key : f->guard_key;
	k->va = how & NOT_GUARDED ? (uintptr_t)to->mem + k->va % TH_MEM
				  : (uintptr_t)guarded + k->va % GUARDED;
}

static void give(struct fuzz *f, uint8_t how, const uint8_t *p, size_t n)
{
	struct dpa_frame frame = {.net = {.src = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
					  .dst = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2}}};
	struct th_side *to = how & TO_B ? &f->th->b : &f->th->a;
	uint8_t *room = malloc(ROOM + n); /* the sanitizers see a byte too many */
	struct dpa_roce_pkt k;

	if (!room)
		abort();
	memset(room, 0, ROOM);
	memcpy(room + ROOM, p, n);
	frame.p = room + ROOM;
	frame.n = (uint32_t)n;
	if (dpa_roce_decode(frame.p, n, &k) == DPA_ROCE_OK) {
		struct dpa_hw_qp *qp;

		put_right(f, to, how, &k);
		qp = dpa_pkt_deliver(f->th->hw, NULL, f->th->peer, &frame, &k);
		if (how & FLUSH)
			dpa_pkt_done(qp, true);
		else if (qp)
			dpa_qp_leave(qp);
	}
	if (!(how & NO_TICK))
		th_tick(f->th);
	th_drop_all(&f->th->a);
	th_drop_all(&f->th->b);
	free(room);
}

static void check_cq(struct th_cq *cq, uint32_t n, uint64_t first)
{
	uint64_t next = first;
	struct dpa_cqe e;

	while (th_poll(cq, &e))
		if (e.wr_id != next++)
			abort(); /* once each and in order */
	if (next - first > n)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {0};
	size_t at = 1;

	if (size < 4)
		return 0;
	set_up(&f, data[0]);
	while (size - at >= 3) {
		size_t n = data[at + 1] | (size_t)data[at + 2] << 8;

		if (n > size - at - 3)
			n = size - at - 3;
		give(&f, data[at], data + at + 3, n);
		at += 3 + n;
	}
	if (!th_check(guarded, sizeof(guarded), 1))
		abort();
	check_cq(&f.th->a.scq, WORK, 1);
	check_cq(&f.th->a.rcq, RECVS, 0);
	check_cq(&f.th->b.rcq, RECVS, 0);
	check_cq(&f.th->b.scq, 0, 0);
	dpa_hw_dereg_mr(&f.th->ctx, f.guard_key);
	th_free(f.th);
	return 0;
}
