/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_writes.c - consecutive short WRITEs access their memory together (writes.h). No visible
 * effect may distinguish that from one after the other.
 */
#include "link/lane.h"
#include "ctx/stage.h"
#include "eu/progress.h"
#include "requests.h"
#include "transport/writes.h"
#include "link/sock.h"
#include "eu/drain.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREA  65536u /* of B's memory: target of WRITEs; behind it, that of SENDs */
#define MOST  150u
#define SEEDS TH_FEWER(400)

/* The effects of a list. */
struct trace {
	uint8_t mem[2 * AREA];
	struct dpa_cqe sent[MOST], received[MOST];
	uint32_t nsent, nreceived;
	uint32_t epsn, msn, off, una, rq_ci;
	uint64_t packets, bytes, sends, writes;
	uint8_t last_op, state[2];
	uint32_t events[64];
};

static void receive(struct th *th)
{
	for (uint32_t i = 0; i < 20; i++)
		th_recv(&th->b, 1000 + i, AREA + 2048 * i, 2048);
}

static const uint8_t ops[] = {DPA_OP_SEND, DPA_OP_RDMA_WRITE_IMM, DPA_OP_RDMA_READ,
			      DPA_OP_ATOMIC_FA};

/*
 * Post a list, mostly short WRITEs. Some lists have one with an invalid key, or beyond its region.
 */
static void post(struct th *th, uint64_t *seed)
{
	const bool bad = th_rand(seed) % 4 == 0;
	const uint32_t n = 1 + th_rand(seed) % MOST, which = th_rand(seed) % n;
	uint32_t others = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct th_wr w = {.op = DPA_OP_RDMA_WRITE, .rkey = th->b.key, .nsge = 1};
		uint32_t len = 1 + th_rand(seed) % (th_rand(seed) % 4 ? 48 : 1100);

		if (th_rand(seed) % 16 == 0 && others < 8) {
			w.op = ops[th_rand(seed) % (sizeof(ops) / sizeof(ops[0]))];
			others++;
		} else if (th_rand(seed) % 32 == 0) {
			len = th_rand(seed) % 2 ? 0 : 1025 + th_rand(seed) % 3000;
		}
		if (w.op == DPA_OP_ATOMIC_FA)
			len = 8;
		w.flags = th_rand(seed) % 3 ? 0 : DPA_WQE_SIGNALED;
		w.raddr = (uintptr_t)th->b.mem + (th_rand(seed) % (AREA - 4200) & ~7u);
		w.raddr += w.op == DPA_OP_ATOMIC_FA ? 0 : th_rand(seed) % 8;
		w.swap_add = i;
		w.sge[0] = (struct dpa_sge){(uintptr_t)th->a.mem + 4096 * i, len, th->a.key};
		th_fill(th->a.mem + 4096 * i, len, i + 1);
		if (bad && i == which && th_rand(seed) % 2)
			w.rkey ^= 1;
		else if (bad && i == which)
			w.raddr = (uintptr_t)th->b.mem + TH_MEM - len + 1;
		if (!th_post(&th->a, &w))
			break;
	}
	th_ring(&th->a);
}

static void drain(struct th *th, struct th_side *from)
{
	while (dpa_lane_drain(&th->peer->rx[from->qp->lane]) || dpa_progress_once(th->hw))
		;
}

static void look(struct th *th, struct trace *t)
{
	const struct dpa_lane_stat *stat = &th->peer->rx[th->a.qp->lane].stat;
	const struct dpa_resp *r = &th->b.qp->resp;

	memcpy(t->mem, th->b.mem, sizeof(t->mem));
	while (t->nsent < MOST && th_poll(&th->a.scq, &t->sent[t->nsent]))
		t->nsent++;
	while (t->nreceived < MOST && th_poll(&th->b.rcq, &t->received[t->nreceived]))
		t->nreceived++;
	t->epsn = r->epsn;
	t->msn = r->msn;
	t->off = r->off;
	t->last_op = r->last_op;
	t->una = th->a.qp->req.una_idx;
	t->rq_ci = th->b.dbrec.rq_ci;
	t->packets = stat->packets;
	t->bytes = stat->bytes;
	t->sends = stat->sends;
	t->writes = stat->writes;
	t->state[0] = th->a.qp->state;
	t->state[1] = th->b.qp->state;
	memcpy(t->events, th->events, sizeof(t->events));
}

/* Return the calls of the bounce buffer: the second word of its first segment. */
static uint64_t calls(const struct th *th)
{
	return ((const uint64_t *)(void *)th->hw->stage.base)[1];
}

static struct trace *run(uint64_t seed, bool together, uint64_t *turns)
{
	struct th *th = th_new(&(struct th_opt){.psn = 0xffffc0, .index = UINT32_MAX - 9});
	struct trace *t = calloc(1, sizeof(*t));

	if (together)
		dpa_stage_open(&th->hw->stage);
	receive(th);
	for (int i = 0; i < 2; i++) {
		post(th, &seed);
		drain(th, &th->a);
		th_settle(th);
	}
	look(th, t);
	if (together)
		*turns += calls(th);
	dpa_stage_close(&th->hw->stage);
	th_free(th);
	return t;
}

/* Numbers of QPs are random. */
static void same_cqes(struct dpa_cqe *a, struct dpa_cqe *b, uint32_t n, uint64_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		a[i].qpn = b[i].qpn;
		a[i].src_qpn = b[i].src_qpn;
		a[i].user_index = b[i].user_index;
	}
	cr_expect(!memcmp(a, b, n * sizeof(*a)), "seed %lu: completions", seed);
}

/* IBA 9.7.5 (coalesce), C9-88 */
Test(transport_writes, as_one_after_the_other)
{
	uint64_t turns = 0, writes = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct trace *a = run(seed, true, &turns), *b = run(seed, false, NULL);

		writes += a->writes;
		cr_expect(!memcmp(a->mem, b->mem, sizeof(a->mem)), "seed %lu: memory", seed);
		cr_expect_eq(a->nsent, b->nsent, "seed %lu", seed);
		cr_expect_eq(a->nreceived, b->nreceived, "seed %lu", seed);
		same_cqes(a->sent, b->sent, b->nsent, seed);
		same_cqes(a->received, b->received, b->nreceived, seed);
		cr_expect_eq(a->epsn, b->epsn, "seed %lu", seed);
		cr_expect_eq(a->msn, b->msn, "seed %lu", seed);
		cr_expect_eq(a->off, b->off);
		cr_expect_eq(a->last_op, b->last_op);
		cr_expect_eq(a->una, b->una, "seed %lu", seed);
		cr_expect_eq(a->rq_ci, b->rq_ci);
		cr_expect_eq(a->packets, b->packets, "seed %lu", seed);
		cr_expect_eq(a->bytes, b->bytes, "seed %lu", seed);
		cr_expect_eq(a->sends, b->sends);
		cr_expect_eq(a->writes, b->writes, "seed %lu", seed);
		cr_expect_arr_eq(a->state, b->state, sizeof(a->state));
		cr_expect_arr_eq(a->events, b->events, sizeof(a->events));
		free(a);
		free(b);
	}
	cr_expect_gt(turns, 0);
	cr_expect_lt(turns, writes / 3, "%lu calls for %lu WRITEs", turns, writes);
}

static void post_writes(struct th *th, uint32_t n, uint32_t len, uint64_t at, uint32_t stride)
{
	for (uint32_t i = 0; i < n; i++) {
		struct th_wr w = {.op = DPA_OP_RDMA_WRITE, .rkey = th->b.key, .nsge = 1};

		w.flags = i == n - 1 ? DPA_WQE_SIGNALED : 0;
		w.raddr = at + (uint64_t)i * stride;
		w.sge[0] = (struct dpa_sge){(uintptr_t)th->a.mem + i, len, th->a.key};
		th->a.mem[i] = (uint8_t)(i + 1);
		cr_assert(th_post(&th->a, &w));
	}
	th_ring(&th->a);
}

/* IBA 9.7.5 (coalesce) */
Test(transport_writes, one_call_and_one_ack)
{
	struct th *th = rc();
	struct dpa_cqe e;

	dpa_stage_open(&th->hw->stage);
	post_writes(th, 40, 8, (uintptr_t)th->b.mem, 64);
	cr_assert_eq(dpa_lane_drain(&th->peer->rx[th->a.qp->lane]), 40);
	cr_expect_eq(calls(th), 1);
	for (uint32_t i = 0; i < 40; i++)
		cr_expect_eq(th->b.mem[64 * i], i + 1);
	expect_ack(th, 39, ACK);
	expect_silence(th);
	cr_expect_not(th_poll(&th->b.rcq, &e));
	dpa_stage_close(&th->hw->stage);
	th_free(th);
}

/*
 * The memory of one in the middle is gone: earlier ones are executed, it fails, later ones are not
 * executed.
 */
/* IBA 9.7.4 (key-access) */
Test(transport_writes, up_to_one_whose_memory_is_gone)
{
	const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

	for (uint32_t gone = 0; gone < 8; gone++) {
		struct th *th = rc();
		struct dpa_cqe e;

		dpa_stage_open(&th->hw->stage);
		post_writes(th, 8, 8, (uintptr_t)th->b.mem, page);
		cr_assert_eq(munmap(th->b.mem + (size_t)gone * page, page), 0);
		dpa_lane_drain(&th->peer->rx[th->a.qp->lane]);
		for (uint32_t i = 0; i < 8; i++)
			if (i != gone)
				cr_expect_eq(th->b.mem[(size_t)i * page], i < gone ? i + 1 : 0,
					     "%u of %u", i, gone);
		th_settle(th);
		cr_assert(th_poll(&th->a.scq, &e));
		cr_expect_eq(e.status, DPA_CQE_REM_ACCESS_ERR);
		cr_expect_eq(e.wr_id, gone + 1);
		cr_expect_neq(mmap(th->b.mem + (size_t)gone * page, page, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			      MAP_FAILED);
		dpa_stage_close(&th->hw->stage);
		th_free(th);
	}
}

enum wrong {
	NOTHING,
	PSN,
	SENDER,
	NO_BYTES,
	TOO_LONG,
	BEYOND_MTU,
	OTHER_LENGTH,
	KEY,
	RANGE,
	FETCHED,
	PIECES,
	ALL_WRONG
};

static void spoil(struct th_pkt *p, enum wrong what)
{
	struct dpa_ext *x = th_ext(p);

	p->s.psn += what == PSN;
	p->s.src ^= what == SENDER;
	if (what == NO_BYTES || what == TOO_LONG || what == BEYOND_MTU)
		p->s.len = x->dmalen = what == NO_BYTES	  ? 0
				       : what == TOO_LONG ? DPA_WRITES_MAX + 1
							  : 257;
	x->dmalen += what == OTHER_LENGTH;
	x->rkey ^= what == KEY;
	x->va += what == RANGE ? TH_MEM - 7 : 0;
	p->s.flags |= what == FETCHED ? DPA_PKT_PULL : what == PIECES ? DPA_PKT_IOV : 0;
}

/* The responder handles each invalid WRITE, and the packets after it. */
/* IBA 9.7.4 (key), 9.6 (sender) */
Test(transport_writes, what_is_not_for_here)
{
	for (int what = NOTHING; what < ALL_WRONG; what++) {
		struct th *th = th_new(&(struct th_opt){.psn = PSN0, .mtu = 1}); /* 256 */
		struct dpa_writes w;
		struct th_pkt p;

		dpa_stage_open(&th->hw->stage);
		cr_assert(dpa_writes_begin(&w, th->b.qp, th->peer));
		th_forge(&th->a, &p, DPA_BTH_WRITE_ONLY, PSN0, 8);
		*th_ext(&p) = (struct dpa_ext){
			.va = (uintptr_t)th->b.mem, .rkey = th->b.key, .dmalen = 8};
		spoil(&p, (enum wrong)what);
		cr_expect_eq(dpa_writes_add(&w, &p.s, p.data), what == NOTHING, "%d", what);
		cr_expect_eq(dpa_writes_end(&w), what == NOTHING, "%d", what);
		cr_expect_eq(th->b.qp->resp.epsn, dpa_psn_add(PSN0, what == NOTHING));
		dpa_stage_close(&th->hw->stage);
		th_free(th);
	}
}

static void not_now(struct th *th, const char *why)
{
	struct dpa_writes w;

	cr_expect_not(dpa_writes_begin(&w, th->b.qp, th->peer), "%s", why);
}

Test(transport_writes, when_the_qp_is_not_between_two_messages)
{
	struct th *th = rc();
	struct dpa_resp *r = &th->b.qp->resp;
	struct dpa_writes w;

	not_now(th, "there is no stage");
	dpa_stage_open(&th->hw->stage);
	r->last_op = DPA_RESP_WRITE;
	not_now(th, "in a message");
	r->last_op = DPA_RESP_NONE;
	r->nak_sent = true;
	not_now(th, "a gap was told");
	r->nak_sent = false;
	r->have_wqe = true;
	not_now(th, "a receive is held");
	r->have_wqe = false;
	dpa_owe(th->b.qp, PSN0, NAK(DPA_NAK_REM_ACCESS));
	not_now(th, "it fails");
	r->ack_owed = false;
	th->b.qp->state = DPA_QPS_ERR;
	not_now(th, "it has failed");
	th->b.qp->state = DPA_QPS_RTS;
	cr_expect_not(dpa_writes_begin(&w, th->b.qp, NULL), "another peer");
	cr_expect(dpa_writes_begin(&w, th->b.qp, th->peer));
	cr_expect_eq(dpa_writes_end(&w), 0);
	dpa_stage_close(&th->hw->stage);
	th_free(th);
}
