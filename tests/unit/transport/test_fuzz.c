/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_fuzz.c - invalid packets to QPs in the middle of their work: no memory outside the
 * registered access changes, no receive or work request completes twice, nothing faults (ASan
 * checks).
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "ctx/qp.h"
#include "link/lane.h"
#include "harness.h"

#define ROUNDS	TH_FEWER(400)
#define PACKETS 200
#define WORK	12u
#define RECVS	8u

struct fuzz {
	uint64_t seed;
	struct th *th;
	uint8_t guarded[4096]; /* peers may read a part of it and write nothing */
	uint32_t guard_key;
};

static void set_up(struct fuzz *f, uint32_t type, bool pull)
{
	static const uint8_t ops[] = {DPA_OP_SEND, DPA_OP_RDMA_WRITE, DPA_OP_RDMA_READ,
				      DPA_OP_ATOMIC_CS};
	struct dpa_mr_attr mr = {.pdn = 1, .access = DPA_ACCESS_REMOTE_READ, .length = 1024};

	f->th = th_new(&(struct th_opt){.type = type,
					.psn = th_rand(&f->seed) & DPA_PSN_MASK,
					.retry = 7,
					.rnr_retry = 7,
					.timeout = 14,
					.pull = pull});
	th_fill(f->guarded, sizeof(f->guarded), 1);
	mr.addr = mr.iova = (uintptr_t)f->guarded + 1024;
	cr_assert_eq(dpa_hw_reg_mr(&f->th->ctx, &mr, &f->guard_key), 0);
	for (uint32_t i = 0; i < RECVS; i++) {
		th_recv(&f->th->a, i, 4096 * i, th_rand(&f->seed) % 5000);
		th_recv(&f->th->b, i, 4096 * i, th_rand(&f->seed) % 5000);
	}
	for (uint32_t i = 0; i < WORK; i++) {
		uint8_t op = ops[th_rand(&f->seed) % (type == DPA_QP_RC ? 4 : 2)];
		uint32_t len = op == DPA_OP_ATOMIC_CS ? 8 : th_rand(&f->seed) % 30000;

		th_send(&f->th->a, op, 1u << 20, len, 2u << 20);
	}
	th_drop_all(&f->th->a);
}

static uint32_t pick(struct fuzz *f, const uint32_t *of, uint32_t n)
{
	return of[th_rand(&f->seed) % n];
}

static void forge(struct fuzz *f, struct th_side *from, struct th_pkt *p, uint32_t tr)
{
	struct th_side *to = from->other;
	const uint32_t psn[] = {to->qp->resp.epsn, to->qp->req.una_psn, to->qp->req.max_psn,
				th_rand(&f->seed)};
	const uint32_t len[] = {0, 1, 8, 1024, 2048, 8192, th_rand(&f->seed) % 8193};
	const uint32_t key[] = {to->key, from->key, f->guard_key, th_rand(&f->seed)};
	const uint64_t va[] = {(uintptr_t)to->mem, (uintptr_t)f->guarded + 1024,
			       (uintptr_t)f->guarded, th_rand(&f->seed)};
	struct dpa_ext *x = th_ext(p);

	th_forge(from, p, (uint8_t)(tr | (th_rand(&f->seed) & 31)),
		 pick(f, psn, 4) + th_rand(&f->seed) % 5 - 2, pick(f, len, 7));
	for (uint32_t i = 0; i < DPA_PKT_EXT; i++)
		x->raw[i] = (uint8_t)th_rand(&f->seed);
	if (th_rand(&f->seed) % 4) {
		if (dpa_op_props(p->s.opcode) & DPA_OPP_RESP) {
			x->syndrome = th_rand(&f->seed) & 0x7f;
		} else {
			x->va = va[th_rand(&f->seed) % 4] + th_rand(&f->seed) % 3 * 8;
			x->rkey = pick(f, key, 4);
			x->dmalen = pick(f, len, 7);
		}
	}
	p->s.flags = th_rand(&f->seed) & (DPA_PKT_SE | DPA_PKT_ACKREQ);
	for (uint32_t i = 0; i < 600; i++)
		p->data[i] = (uint8_t)th_rand(&f->seed);
	if (th_rand(&f->seed) % 8 == 0) { /* addresses to fetch from, mostly invalid ones */
		struct dpa_pull *pull = (struct dpa_pull *)p->data;

		p->s.flags |= DPA_PKT_PULL;
		pull->niov = th_rand(&f->seed) % (DPA_PULL_IOV + 3);
		for (uint32_t i = 0; i < DPA_PULL_IOV; i++)
			pull->iov[i].len = th_rand(&f->seed) % 5000;
		if (th_rand(&f->seed) % 2) {
			pull->niov = 1;
			pull->rkey = 0;
			pull->iov[0].addr = (uintptr_t)from->mem;
			pull->iov[0].len = p->s.len;
		}
	}
}

static void check_cq(struct th_cq *cq, uint32_t n, uint64_t first)
{
	uint64_t next = first;
	struct dpa_cqe e;

	while (th_poll(cq, &e))
		cr_assert_eq(e.wr_id, next++, "once each and in order");
	cr_assert_leq(next - first, n);
}

static void run(uint32_t type, uint32_t tr, bool pull, uint64_t seed)
{
	static struct th_pkt p;
	struct fuzz *f = calloc(1, sizeof(*f));

	cr_assert_not_null(f);
	f->seed = seed;
	for (int round = 0; round < ROUNDS; round++) {
		set_up(f, type, pull);
		for (int i = 0; i < PACKETS; i++) {
			struct th_side *from = th_rand(&f->seed) & 1 ? &f->th->a : &f->th->b;

			forge(f, from, &p, th_rand(&f->seed) % 64 ? tr : th_rand(&f->seed) & 0xe0);
			th_give(from->other, &p);
			if (th_rand(&f->seed) % 4 == 0)
				th_flush(from->other);
			if (th_rand(&f->seed) % 16 == 0)
				th_tick(f->th);
			th_drop_all(&f->th->a);
			th_drop_all(&f->th->b);
		}
		cr_assert(th_check(f->guarded, sizeof(f->guarded), 1), "seed %lu, round %d",
			  (unsigned long)seed, round);
		check_cq(&f->th->a.scq, WORK, 1);
		check_cq(&f->th->a.rcq, RECVS, 0);
		check_cq(&f->th->b.rcq, RECVS, 0);
		check_cq(&f->th->b.scq, 0, 0);
		dpa_hw_dereg_mr(&f->th->ctx, f->guard_key);
		th_free(f->th);
	}
	free(f);
}

Test(transport_fuzz, rc)
{
	run(DPA_QP_RC, DPA_BTH_RC, false, 1);
}

Test(transport_fuzz, rc_with_fetching)
{
	run(DPA_QP_RC, DPA_BTH_RC, true, 2);
}

Test(transport_fuzz, uc)
{
	run(DPA_QP_UC, DPA_BTH_UC, false, 3);
}
