/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_near.c - short operations to the same mapped region as the previous one (near.c): their
 * effects are those of direct.c, and cached state is not used when it is stale.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include "knobs.h"
#include "ctx/qp.h"
#include "link/lane.h"
#include "direct/share.h"
#include "harness.h"
#include "direct/direct.h"

#define PSN	5u
#define BYTES	(16 * DPA_PAGE)
#define TH_LIST 10u

static struct th *th;
static uint8_t *mem; /* a separate shared region, */
static uint32_t key;

static uint32_t reg(uint8_t *p, uint32_t access)
{
	struct dpa_mr_attr a = {.pdn = th->pdn,
				.access = access,
				.addr = (uintptr_t)p,
				.iova = (uintptr_t)p,
				.length = BYTES};
	uint32_t k = 0;

	cr_assert_eq(dpa_hw_reg_mr(&th->ctx, &a, &k), 0);
	return k;
}

static uint8_t *anon(void)
{
	void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	return p;
}

static void setup_of(uint32_t type)
{
	th = th_new(&(struct th_opt){.type = type, .psn = PSN, .pull = true, .direct = true});
	th->hw->cfg.share_mr = DPA_CFG_SHARE_ALWAYS;
	cr_assert_eq(dpa_share_init(th->hw), 0);
	if (th->hw->share->pages.fd < 0)
		cr_skip_test("no MADV_POPULATE_WRITE, other pages, or a limit on files");
	if (!dpa_guard_works())
		cr_skip_test("no restartable sequences here");
	mem = anon();
	key = reg(mem, TH_ALL);
}

static void setup(void)
{
	setup_of(DPA_QP_RC);
}

static void teardown(void)
{
	th_free(th);
	munmap(mem, BYTES);
}

static struct th_wr wr(uint8_t op, uint32_t off, uint32_t n, uint64_t at)
{
	return (struct th_wr){.op = op,
			      .flags = DPA_WQE_SIGNALED,
			      .nsge = 1,
			      .sge = {{(uintptr_t)th->a.mem + off, n, th->a.key}},
			      .raddr = (uintptr_t)mem + at,
			      .rkey = key};
}

static struct dpa_cqe done(const struct th_wr *w)
{
	struct dpa_cqe e;

	cr_assert(th_post(&th->a, w));
	th_ring(&th->a);
	th_settle(th);
	cr_assert(th_poll(&th->a.scq, &e));
	cr_assert_not(th_poll(&th->a.scq, &e));
	return e;
}

static uint8_t status(const struct th_wr *w)
{
	return done(w).status;
}

static uint64_t mapped(void)
{
	return th_count(th, DPA_CNT_mapped_ops);
}

static bool remembered(void)
{
	return th->a.qp->near.rkey == key;
}

/* An operation takes that path, and its cached state is set. */
static void goes(const struct th_wr *w, uint64_t n)
{
	uint64_t was = mapped();

	cr_expect_eq(status(w), DPA_CQE_OK);
	cr_expect_eq(mapped(), was + n);
}

/*
 * Return the first operation takes direct.c: the effects of the second one are equal, except its
 * number.
 */
static void same_as_the_first(uint8_t op, uint32_t n)
{
	struct th_wr w = wr(op, 64, n, 128);
	struct dpa_hw_qp *qp = th->a.qp;
	struct dpa_cqe first, second;
	struct dpa_req r;

	qp->near.rkey = 0;
	th_fill(op == DPA_OP_RDMA_WRITE ? th->a.mem + 64 : mem + 128, n, n);
	first = done(&w);
	cr_assert(remembered());
	r = qp->req;
	memset(op == DPA_OP_RDMA_WRITE ? mem + 128 : th->a.mem + 64, 0, n);
	second = done(&w);
	cr_expect(th_check(op == DPA_OP_RDMA_WRITE ? mem + 128 : th->a.mem + 64, n, n));
	cr_expect_eq(second.wqe_index, first.wqe_index + 1);
	cr_expect_eq(second.wr_id, first.wr_id + 1);
	second.wqe_index = first.wqe_index;
	second.wr_id = first.wr_id;
	second.owner = first.owner;
	cr_expect(!memcmp(&first, &second, sizeof(first)));
	r.send_idx++;
	r.una_idx++;
	cr_expect(!memcmp(&qp->req, &r, sizeof(r)));
	cr_expect_eq(qp->dbrec->sq_ci, r.una_idx);
}

Test(transport_near, leaves_what_the_general_way_leaves)
{
	setup();
	for (uint32_t n = 1; n < 32768; n = n * 3 + 1) {
		same_as_the_first(DPA_OP_RDMA_WRITE, n);
		same_as_the_first(DPA_OP_RDMA_READ, n);
	}
	cr_expect_eq(mapped(), th_count(th, DPA_CNT_direct_ops));
	cr_expect_eq(th->a.qp->req.una_psn, PSN, "no PSN");
	teardown();
}

Test(transport_near, uc_writes)
{
	struct th_wr w;

	setup_of(DPA_QP_UC);
	w = wr(DPA_OP_RDMA_WRITE, 0, 100, 7);
	goes(&w, 1);
	cr_expect(remembered());
	goes(&w, 1);
	/* after a packet that is not taken yet it is a packet, too */
	w.raddr = (uintptr_t)th->b.mem;
	w.rkey = th->b.key;
	w.op = DPA_OP_RDMA_WRITE_IMM;
	cr_assert(th_recv(&th->b, 1, 0, 0));
	cr_assert(th_post(&th->a, &w));
	w = wr(DPA_OP_RDMA_WRITE, 0, 100, 7);
	cr_assert(th_post(&th->a, &w));
	th_ring(&th->a);
	cr_expect_eq(mapped(), 2u);
	th_settle(th);
	teardown();
}

Test(transport_near, a_list_is_under_one_hazard_up_to_what_is_reported)
{
	struct th_wr w;
	uint32_t turn;

	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	turn = atomic_load(&th->hw->export->hazard[0].turn);
	for (uint32_t i = 0; i < TH_LIST; i++) {
		w = wr(DPA_OP_RDMA_WRITE, i, 1, 100 + i);
		th->a.mem[i] = (uint8_t)(i + 1);
		w.flags = i == 4 || i + 1 == TH_LIST ? DPA_WQE_SIGNALED : 0;
		cr_assert(th_post(&th->a, &w));
	}
	th_ring(&th->a);
	cr_expect_eq(atomic_load(&th->hw->export->hazard[0].turn), turn + 2);
	cr_expect_eq(atomic_load(&th->hw->export->hazard[0].word), 0u);
	cr_expect_eq(mapped(), 1u + TH_LIST);
	for (uint32_t i = 0; i < TH_LIST; i++)
		cr_expect_eq(mem[100 + i], i + 1);
	teardown();
}

Test(transport_near, what_the_region_has_not)
{
	struct th_wr w;

	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	w.raddr = (uintptr_t)mem + BYTES - 7;
	cr_expect_eq(status(&w), DPA_CQE_REM_ACCESS_ERR, "the end");
	teardown();
	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	w.raddr--;
	cr_expect_eq(status(&w), DPA_CQE_REM_ACCESS_ERR, "the begin");
	teardown();
	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	w.sge[0].lkey ^= 1;
	cr_expect_eq(status(&w), DPA_CQE_LOC_PROT_ERR, "here");
	cr_expect_eq(mapped(), 1u);
	teardown();
}

/* Each of these revokes the key: the responder checks later operations with it. */
Test(transport_near, not_behind_a_deregistration)
{
	struct th_wr w;

	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	mem[0] = 0x5a;
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	cr_expect_eq(status(&w), DPA_CQE_REM_ACCESS_ERR);
	cr_expect_eq(mem[0], 0x5a);
	cr_expect_eq(mapped(), 1u);
	teardown();
}

Test(transport_near, not_without_the_permission)
{
	struct dpa_mr_attr a = {.access = DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_READ};
	uint32_t was;
	struct th_wr w;

	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	was = key;
	cr_assert_eq(dpa_hw_rereg_mr(&th->ctx, &key, DPA_REREG_ACCESS, &a), 0);
	cr_expect_eq(key, was);
	w = wr(DPA_OP_RDMA_READ, 0, 8, 0);
	goes(&w, 1);
	cr_expect(remembered(), "it may be read");
	goes(&w, 1);
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	cr_expect_eq(status(&w), DPA_CQE_REM_ACCESS_ERR, "but not be written");
	teardown();
}

/* Larger permissions leave the key, but no cached state of it. */
Test(transport_near, another_place_under_the_same_key)
{
	struct dpa_mr_attr a = {.access = TH_ALL};
	struct th_wr w;
	uint32_t was;

	setup();
	cr_assert_eq(dpa_hw_dereg_mr(&th->ctx, key), 0);
	key = was = reg(mem, DPA_ACCESS_LOCAL_WRITE | DPA_ACCESS_REMOTE_READ);
	w = wr(DPA_OP_RDMA_READ, 0, 8, 0);
	goes(&w, 1);
	cr_assert_eq(dpa_hw_rereg_mr(&th->ctx, &key, DPA_REREG_ACCESS, &a), 0);
	cr_expect_eq(key, was);
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	goes(&w, 1);
	teardown();
}

/* After a fork the memory is private again: the mapping here is not that of the application. */
Test(transport_near, not_behind_a_fork)
{
	struct th_wr w;

	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	dpa_share_before_fork(th->hw);
	dpa_share_after_fork(th->hw);
	memset(th->a.mem, 0x77, 8);
	goes(&w, 0);
	cr_expect_eq(mem[7], 0x77);
	cr_expect_not(remembered());
	teardown();
}

/* A window of another region in its place: like a new key. */
Test(transport_near, not_for_another_process_in_its_slot)
{
	struct th_wr w;

	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	th->a.qp->near.peer_gen++; /* the cached state was that of another process */
	th->a.qp->near.base = NULL;
	goes(&w, 1);
	cr_expect_not_null(th->a.qp->near.base);
	teardown();
}

Test(transport_near, not_while_what_is_sent_is_shown)
{
	struct th_wr w;

	setup();
	w = wr(DPA_OP_RDMA_WRITE, 0, 8, 0);
	goes(&w, 1);
	atomic_store(&th->hw->inspect, 1);
	dpa_grant_all(th->hw);
	cr_assert(th_post(&th->a, &w));
	th_ring(&th->a);
	cr_expect(dpa_lane_ready(&th->peer->rx[th->a.qp->lane]));
	atomic_store(&th->hw->inspect, 0);
	dpa_grant_all(th->hw);
	th_settle(th);
	cr_expect_eq(mapped(), 1u);
	teardown();
}
