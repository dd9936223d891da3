/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * test_random.c - thousands of operations of every kind in both directions over a link that loses,
 * repeats and reorders packets: data must be correct, atomics executed once, completions in order.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "ctx/export.h"
#include "payload/mw.h"
#include "link/lane.h"
#include "eu/progress.h"
#include "harness.h"

#define SLOTS	   32u
#define SLOT_BYTES (40u << 10)
#define WINDOW	   20u
#define NET	   64u
#define AREA	   (SLOTS * SLOT_BYTES)
#define TARGETS	   AREA
#define RECVS	   (2 * AREA)
#define WORD	   (3 * AREA)

struct plan {
	uint64_t seed;
	uint32_t ops;		     /* of each side */
	uint32_t loss, dup, reorder; /* of 1000 packets */
	uint32_t mtu, rd, max_len;
	bool pull;
	bool lossy, wire; /* as th_opt */
	uint8_t congestion;
	uint32_t window; /* at most this number of packets overtakes one; 0: any number */
};

/* A posted operation. */
struct op {
	uint8_t op;
	bool signaled, solicited;
	uint32_t len;
	uint64_t id;
	uint64_t orig; /* atomics: expected result */
};

/* One direction: `from` posts, its packets are in the network. */
struct dir {
	struct th_side *from;
	struct op ops[SLOTS];
	uint32_t posted, done; /* operations */
	uint32_t recv_posted;  /* of the receiver */
	uint32_t recv_done;
	struct op recv_ops[2 * SLOTS]; /* those that take a receive, in order */
	uint32_t recv_ops_in;
	uint64_t word; /* model of the atomics' word */
	/* the receiver's memory windows, for SENDs that invalidate them: their present keys */
	uint32_t window[SLOTS];
	bool bound[SLOTS];
	uint32_t region; /* region for the bindings */
	struct th_pkt *net[NET];
	uint32_t nnet;
};

struct run {
	struct plan plan;
	uint64_t seed;
	struct th *th;
	struct dir d[2];
};

static uint32_t slot_off(uint64_t id)
{
	return (uint32_t)(id % SLOTS) * SLOT_BYTES;
}

static bool chance(struct run *r, uint32_t of1000)
{
	return th_rand(&r->seed) % 1000 < of1000;
}

static uint32_t pick_len(struct run *r)
{
	switch (th_rand(&r->seed) % 4) {
	case 0:
		return th_rand(&r->seed) % 33;
	case 1:
		return th_rand(&r->seed) % 4097;
	default:
		return th_rand(&r->seed) % (r->plan.max_len + 1);
	}
}

/* ----------------------------------------------------------------- posting */

static void model_atomic(struct dir *d, struct op *o, struct th_wr *wr, uint32_t x)
{
	o->len = 8;
	o->orig = d->word;
	wr->raddr = (uintptr_t)d->from->other->mem + WORD;
	wr->swap_add = x;
	if (o->op == DPA_OP_ATOMIC_FA) {
		d->word += x;
		return;
	}
	wr->compare = x & 1 ? d->word : d->word + 1;
	if (x & 1)
		d->word = x;
}

/* Make windows of the receiver, and regions for them. */
static void make_windows(struct dir *d)
{
	struct th_side *s = d->from->other;
	struct dpa_mr_attr a = {.pdn = s->th->pdn,
				.addr = (uintptr_t)s->mem,
				.iova = (uintptr_t)s->mem,
				.access = TH_ALL | DPA_ACCESS_MW_BIND,
				.length = TH_MEM};

	cr_assert_eq(dpa_hw_reg_mr(&s->th->ctx, &a, &d->region), 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		cr_assert_eq(dpa_hw_alloc_mw(&s->th->ctx, s->th->pdn, DPA_MW_TYPE_2, &d->window[i]),
			     0);
}

/* Return the key of a bound window of the receiver, for this operation to invalidate. */
static uint32_t bound_window(struct dir *d, uint64_t id)
{
	struct th_side *s = d->from->other;
	struct dpa_wqe_bind b = {
		.length = 64, .lkey = d->region, .access = DPA_ACCESS_REMOTE_WRITE};
	uint32_t *key = &d->window[id % SLOTS], old = *key;

	if (!d->bound[id % SLOTS]) {
		*key = (old & ~0xffu) | ((old + 1) & 0xff);
		cr_assert_eq(dpa_mw_bind(s->qp, old, *key, (uintptr_t)s->mem, &b), 0);
		d->bound[id % SLOTS] = true;
	}
	return *key;
}

static bool is_bound(struct dir *d, uint64_t id)
{
	uint32_t key = d->window[id % SLOTS];

	return atomic_load(&d->from->th->hw->export->mr[key >> DPA_KEY_TAG_BITS].key) == key;
}

static void set_sges(struct run *r, struct th_wr *wr, uint8_t *base, uint32_t len, uint32_t key)
{
	uint32_t first = wr->op == DPA_OP_ATOMIC_CS || wr->op == DPA_OP_ATOMIC_FA || !len
				 ? len
				 : th_rand(&r->seed) % len;

	wr->nsge = 2;
	wr->sge[0] = (struct dpa_sge){(uintptr_t)base, first, key};
	wr->sge[1] = (struct dpa_sge){(uintptr_t)base + first, len - first, key};
}

static bool post_one(struct run *r, struct dir *d)
{
	static const uint8_t kinds[] = {DPA_OP_SEND,	       DPA_OP_SEND_IMM,	 DPA_OP_RDMA_WRITE,
					DPA_OP_RDMA_WRITE_IMM, DPA_OP_RDMA_READ, DPA_OP_RDMA_READ,
					DPA_OP_ATOMIC_CS,      DPA_OP_ATOMIC_FA, DPA_OP_SEND_INV};
	struct th_side *s = d->from;
	struct op o = {.op = kinds[th_rand(&r->seed) % sizeof(kinds)],
		       .solicited = chance(r, 300),
		       .id = d->posted,
		       .len = pick_len(r)};
	uint8_t *src = s->mem + slot_off(o.id), *far = s->other->mem + TARGETS + slot_off(o.id);
	uint64_t pattern = o.id * 2 + (uint64_t)(d - r->d), word = d->word;
	bool read = o.op == DPA_OP_RDMA_READ;
	struct th_wr wr = {.op = o.op,
			   .wr_id = o.id + 1,
			   .imm = (uint32_t)o.id,
			   .raddr = (uintptr_t)far,
			   .rkey = s->other->key};

	o.signaled = chance(r, 700) || d->posted + 1 == r->plan.ops;
	wr.flags = (o.signaled ? DPA_WQE_SIGNALED : 0) | (o.solicited ? DPA_WQE_SOLICITED : 0) |
		   (chance(r, 100) ? DPA_WQE_FENCE : 0);
	if (o.op == DPA_OP_SEND_INV)
		wr.imm = bound_window(d, o.id);
	if (dpa_op_is_atomic(o.op))
		model_atomic(d, &o, &wr, th_rand(&r->seed));
	memset(read || dpa_op_is_atomic(o.op) ? src : far, 0xee, o.len);
	if (!dpa_op_is_atomic(o.op))
		th_fill(read ? far : src, o.len, pattern);
	if (o.len <= 200 && !read && !dpa_op_is_atomic(o.op) && chance(r, 500)) {
		wr.inl = src;
		wr.inl_len = o.len;
	} else {
		set_sges(r, &wr, src, o.len, s->key);
	}
	if (!th_post(s, &wr)) {
		d->word = word;
		return false;
	}
	d->ops[o.id % SLOTS] = o;
	d->posted++;
	if (o.op == DPA_OP_SEND || o.op == DPA_OP_SEND_IMM || o.op == DPA_OP_SEND_INV ||
	    o.op == DPA_OP_RDMA_WRITE_IMM)
		d->recv_ops[d->recv_ops_in++ % (2 * SLOTS)] = o;
	return true;
}

static uint32_t post_some(struct run *r, struct dir *d)
{
	uint32_t n = 0, want = th_rand(&r->seed) % 4;

	while (n < want && d->posted < r->plan.ops && d->posted - d->done < WINDOW &&
	       d->recv_ops_in - d->recv_done < SLOTS && post_one(r, d))
		n++;
	if (n)
		th_ring(d->from);
	/* some receives come late */
	want = th_rand(&r->seed) % 3;
	for (; want && d->recv_posted - d->recv_done < SLOTS / 2; want--, n++) {
		uint32_t off = RECVS + slot_off(d->recv_posted);

		cr_assert(th_recv(d->from->other, d->recv_posted, off, SLOT_BYTES));
		d->recv_posted++;
	}
	return n;
}

/* ------------------------------------------------------------- completions */

static void check_done(struct run *r, struct dir *d, const struct op *o)
{
	struct th_side *s = d->from;
	const uint8_t *src = s->mem + slot_off(o->id);
	const uint8_t *far = s->other->mem + TARGETS + slot_off(o->id);
	uint64_t pattern = o->id * 2 + (uint64_t)(d - r->d), got;

	if (o->op == DPA_OP_RDMA_READ)
		cr_assert(th_check(src, o->len, pattern), "READ %lu", (unsigned long)o->id);
	if (o->op == DPA_OP_RDMA_WRITE || o->op == DPA_OP_RDMA_WRITE_IMM)
		cr_assert(th_check(far, o->len, pattern), "WRITE %lu", (unsigned long)o->id);
	if (dpa_op_is_atomic(o->op)) {
		memcpy(&got, src, 8);
		cr_assert_eq(got, o->orig, "atomic %lu: %lx, not %lx", (unsigned long)o->id,
			     (unsigned long)got, (unsigned long)o->orig);
	}
}

static uint32_t reap_sends(struct run *r, struct dir *d)
{
	struct dpa_cqe e;
	uint32_t n = 0;

	for (; th_poll(&d->from->scq, &e); n++) {
		const struct op *o = &d->ops[d->done % SLOTS];

		cr_assert_eq(e.status, DPA_CQE_OK, "seed %lu: op %lu ends with %u (%u)",
			     (unsigned long)r->plan.seed, (unsigned long)e.wr_id - 1, e.status,
			     e.vendor_err);
		for (; !o->signaled; o = &d->ops[++d->done % SLOTS])
			check_done(r, d, o);
		cr_assert_eq(e.wr_id, o->id + 1, "out of order");
		check_done(r, d, o);
		d->done++;
	}
	return n;
}

static uint32_t reap_recvs(struct run *r, struct dir *d)
{
	struct th_side *to = d->from->other;
	struct dpa_cqe e;
	uint32_t n = 0;

	for (; th_poll(&to->rcq, &e); n++, d->recv_done++) {
		const struct op *o = &d->recv_ops[d->recv_done % (2 * SLOTS)];
		uint64_t pattern = o->id * 2 + (uint64_t)(d - r->d);
		bool inv = o->op == DPA_OP_SEND_INV;

		cr_assert_eq(e.status, DPA_CQE_OK);
		cr_assert_eq(e.wr_id, d->recv_done, "receives complete in order");
		cr_assert_lt(d->recv_done, d->recv_ops_in, "more receives than sends");
		cr_assert_eq(e.byte_len, o->len);
		cr_assert_eq(e.opcode, o->op == DPA_OP_RDMA_WRITE_IMM ? DPA_CQE_RECV_RDMA_WITH_IMM
								      : DPA_CQE_RECV);
		cr_assert_eq(!!(e.flags & DPA_CQE_F_SOLICITED), o->solicited);
		cr_assert_eq(!!(e.flags & DPA_CQE_F_INV), inv);
		if (o->op != DPA_OP_SEND)
			cr_assert_eq(e.imm, inv ? d->window[o->id % SLOTS] : (uint32_t)o->id);
		if (inv) {
			cr_assert(!is_bound(d, o->id), "the window of SEND %lu",
				  (unsigned long)o->id);
			d->bound[o->id % SLOTS] = false;
		}
		if (o->op != DPA_OP_RDMA_WRITE_IMM)
			cr_assert(
				th_check(to->mem + RECVS + slot_off(d->recv_done), o->len, pattern),
				"SEND %lu", (unsigned long)o->id);
	}
	return n;
}

/* --------------------------------------------------------------------- net */

static void into_net(struct dir *d, const struct th_pkt *p)
{
	struct th_pkt *copy;

	if (d->nnet == NET)
		return; /* a switch's buffer is full: lost */
	copy = malloc(sizeof(*copy));
	cr_assert_not_null(copy);
	memcpy(copy, p, sizeof(*p));
	d->net[d->nnet++] = copy;
}

static uint32_t collect(struct run *r, struct dir *d)
{
	static struct th_pkt p;
	uint32_t n = 0;

	for (; d->nnet < NET / 2 && th_take(d->from, &p); n++) {
		if (chance(r, r->plan.loss))
			continue;
		into_net(d, &p);
		if (chance(r, r->plan.dup))
			into_net(d, &p);
	}
	return n;
}

static uint32_t deliver_some(struct run *r, struct dir *d)
{
	uint32_t n = 0, want = th_rand(&r->seed) % 16;

	for (; n < want && d->nnet; n++) {
		uint32_t w = r->plan.window && r->plan.window < d->nnet ? r->plan.window : d->nnet;
		uint32_t i = chance(r, r->plan.reorder) ? th_rand(&r->seed) % w : 0;
		struct th_pkt *p = d->net[i];

		memmove(&d->net[i], &d->net[i + 1], (--d->nnet - i) * sizeof(p));
		th_give(d->from->other, p);
		free(p);
	}
	th_flush(d->from->other);
	return n;
}

/* ------------------------------------------------------------------- rounds */

static bool idle(const struct run *r)
{
	return !r->d[0].nnet && !r->d[1].nnet && !dpa_lane_ready(&r->th->peer->rx[0]) &&
	       !dpa_lane_ready(&r->th->peer->rx[1]);
}

static void round_of(struct run *r, uint32_t *vain)
{
	uint32_t n = 0;

	for (int i = 0; i < 2; i++) {
		struct dir *d = &r->d[i];

		n += post_some(r, d);
		n += collect(r, d);
		n += deliver_some(r, d);
		n += reap_sends(r, d) + reap_recvs(r, d);
	}
	if (r->plan.lossy || r->plan.wire)
		th_now += th_rand(&r->seed) % 4000;
	n += (uint32_t)dpa_progress_once(r->th->hw);
	if (n || !idle(r)) {
		*vain = 0;
		return;
	}
	cr_assert_lt(++*vain, 1000u, "seed %lu: nothing moves any more (%u and %u done)",
		     (unsigned long)r->plan.seed, r->d[0].done, r->d[1].done);
	if (*vain < 8 || th_tick(r->th))
		return;
	for (int i = 0; i < 2; i++)
		if (r->d[i].posted != r->d[i].done)
			th_lost(r->d[i].from);
}

static void run_plan(const struct plan *plan)
{
	struct run *r = calloc(1, sizeof(*r));
	struct th_opt o = {.mtu = plan->mtu,
			   .psn = 0xfffff0,
			   .index = 0xfffffff0,
			   .retry = 7,
			   .rnr_retry = 7,
			   .timeout = 14,
			   .min_rnr = 1,
			   .rd = (uint8_t)plan->rd,
			   .dest_rd = (uint8_t)plan->rd,
			   .pull = plan->pull,
			   .lossy = plan->lossy,
			   .wire = plan->wire,
			   .congestion = plan->congestion};
	uint32_t vain = 0;
	uint64_t word;

	cr_assert_not_null(r);
	r->plan = *plan;
	r->seed = plan->seed;
	r->plan.ops = TH_FEWER(plan->ops);
	r->th = th_new(&o);
	r->d[0].from = &r->th->a;
	r->d[1].from = &r->th->b;
	make_windows(&r->d[0]);
	make_windows(&r->d[1]);
	while (r->d[0].done < r->plan.ops || r->d[1].done < r->plan.ops ||
	       r->d[0].recv_done < r->d[0].recv_ops_in || r->d[1].recv_done < r->d[1].recv_ops_in)
		round_of(r, &vain);
	for (int i = 0; i < 2; i++) {
		memcpy(&word, r->d[i].from->other->mem + WORD, 8);
		cr_assert_eq(word, r->d[i].word, "atomics were done once each");
		for (uint32_t k = 0; k < r->d[i].nnet; k++)
			free(r->d[i].net[k]);
	}
	th_free(r->th);
	free(r);
}

static void run_seeds(struct plan p, uint32_t n)
{
	const char *env = getenv("DPA_TEST_SEED");
	uint64_t first = env ? strtoull(env, NULL, 0) : 1;

	for (p.seed = first; p.seed < first + (env ? 1 : n); p.seed++)
		run_plan(&p);
}

Test(transport_random, a_good_link)
{
	run_seeds((struct plan){.ops = 1000, .mtu = 3, .rd = 4, .max_len = 40000}, 2);
}

/* IBA 9.7.6 (resume) */
Test(transport_random, ten_thousand_operations_over_a_bad_link)
{
	run_seeds((struct plan){.ops = 1000,
				.loss = 20,
				.dup = 30,
				.reorder = 50,
				.mtu = 3,
				.rd = 4,
				.max_len = 20000},
		  5);
}

Test(transport_random, one_read_at_a_time)
{
	run_seeds((struct plan){.ops = 500,
				.loss = 20,
				.dup = 30,
				.reorder = 50,
				.mtu = 1,
				.rd = 1,
				.max_len = 20000},
		  4);
}

Test(transport_random, sixteen_reads_of_one_packet)
{
	run_seeds((struct plan){.ops = 1000,
				.loss = 60,
				.dup = 100,
				.reorder = 200,
				.mtu = 5,
				.rd = 16,
				.max_len = 4000},
		  4);
}

Test(transport_random, data_that_is_fetched)
{
	run_seeds((struct plan){.ops = 500,
				.loss = 20,
				.dup = 30,
				.reorder = 50,
				.mtu = 5,
				.rd = 8,
				.max_len = 40000,
				.pull = true},
		  4);
}

Test(transport_random, packets_come_twice)
{
	run_seeds((struct plan){.ops = 1000, .dup = 500, .mtu = 3, .rd = 2, .max_len = 9000}, 3);
}

/* Timers, windows, one packet sent again for a NAK: 20,000 operations, with each algorithm. */
/* IBA 9.7.6 (resume), 9.7.4 (expected) */
Test(transport_random, twenty_thousand_operations_between_hosts)
{
	for (uint8_t congestion = 0; congestion < 2; congestion++)
		run_seeds((struct plan){.ops = 1000,
					.loss = 20,
					.dup = 20,
					.reorder = 100,
					.mtu = 3,
					.rd = 4,
					.max_len = 20000,
					.wire = true,
					.congestion = congestion,
					.window = 20},
			  5);
}

Test(transport_random, a_terrible_way_to_another_host)
{
	run_seeds((struct plan){.ops = 300,
				.loss = 150,
				.dup = 100,
				.reorder = 300,
				.mtu = 1,
				.rd = 16,
				.max_len = 4000,
				.wire = true,
				.window = 20},
		  5);
}

Test(transport_random, one_read_at_a_time_from_another_host)
{
	run_seeds((struct plan){.ops = 300,
				.loss = 20,
				.dup = 20,
				.reorder = 50,
				.mtu = 5,
				.rd = 1,
				.max_len = 40000,
				.wire = true,
				.window = 20},
		  5);
}

Test(transport_random, shared_memory_that_loses)
{
	run_seeds((struct plan){.ops = 500,
				.loss = 20,
				.dup = 20,
				.reorder = 50,
				.mtu = 3,
				.rd = 4,
				.max_len = 20000,
				.lossy = true,
				.window = 20},
		  5);
}
