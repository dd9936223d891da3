/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_same_cases.c - one-sided operations whose initiator waits for each alone, or for a list of
 * them, which a device may carry out by a shorter path, compared with the same ones after another
 * operation, which it may not: in private anonymous memory, which a device may share, and in memory
 * that it may not. Completions and bytes must be equal. Prints the number of successes, which the
 * caller can compare with the device's counters.
 */
#include "vt_maps.h"

#include <sys/mman.h>

enum { AREA = 3 << 19, REGIONS = 6, WINDOWS = 2, KEYS = REGIONS + WINDOWS, LIMIT_S = 120 };
enum { PIECE = 1 << 20 }; /* some devices count each of them */

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* The choices of a random draw, and their weights. */
struct plan {
	size_t area;
	uint32_t operations, nlens;
	const uint32_t *lens;
};

static const uint32_t some_lens[] = {0,	  1,	2,    7,    8,	  9,	 15,	 16,	  64,
				     200, 1023, 1024, 4096, 8191, 32768, 100001, 1 << 20, 5 << 18};
static const struct plan some = {.area = AREA, .operations = 300, .nlens = 18, .lens = some_lens};

/* More than a device may do in one call. */
static const uint32_t large_lens[] = {0, 4 << 20, (4 << 20) + 1, (5 << 20) + 1};
static const struct plan large = {.area = 6 << 20, .operations = 8, .nlens = 4, .lens = large_lens};

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
}

/* --------------------------------------------------------------- operations */

/*
 * Side 1's regions over its memory: one permission less each; the last is a shorter one. Then its
 * windows in the first of them, of type 1 and 2, also with restricted rights.
 */
static const unsigned int access_of[KEYS] = {
	ALL | IBV_ACCESS_MW_BIND,      ALL & ~IBV_ACCESS_REMOTE_WRITE,
	ALL & ~IBV_ACCESS_REMOTE_READ, ALL & ~IBV_ACCESS_REMOTE_ATOMIC,
	IBV_ACCESS_LOCAL_WRITE,	       ALL,
	ALL & ~IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

static bool is_half(uint32_t key)
{
	return key == REGIONS - 1 || key == KEYS - 1;
}

/* Its memories: private, and memory that other processes could have mapped already. */
enum memory { PRIVATE, FOREIGN, MEMORIES };
enum way { ALONE, BEHIND, LISTED };

struct theirs {
	uint64_t addr[MEMORIES];
	uint32_t key[MEMORIES][KEYS];
};

struct operation {
	enum ibv_wr_opcode op;
	uint32_t key, flip, lflip; /* which; bits of it, and of the local one */
	uint64_t roff;		   /* from the memory's beginning; anything */
	uint32_t len, off, nsge;
	uint64_t compare_add, swap;
	unsigned int flags;
	bool bad; /* may fail */
};

static bool is_atomic(const struct operation *o)
{
	return o->op == IBV_WR_ATOMIC_CMP_AND_SWP || o->op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Return the contents before: words, because all of it is filled again for each attempt. */
static uint64_t word_of(uint64_t i, uint32_t seed)
{
	return (i + seed * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n / 8; i++) {
		uint64_t w = word_of(i, seed);

		memcpy(p + 8 * i, &w, 8);
	}
}

/* An atomic on 8 mapped bytes; in half of the cases with their present value. */
static void make_atomic(struct operation *o, const struct plan *p, uint64_t *x, uint32_t seed)
{
	o->op = draw(x) % 2 ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
	o->len = 8;
	o->nsge = 1;
	o->flags = IBV_SEND_SIGNALED;
	o->off = (uint32_t)(draw(x) % (p->area / 8)) * 8;
	o->roff = draw(x) % (p->area / 8) * 8;
	o->swap = draw(x);
	o->compare_add = draw(x);
	if (draw(x) % 2)
		o->compare_add = word_of(o->roff / 8, seed * 2 + 1);
	if (draw(x) % 8 == 0) {
		o->roff += 1 + draw(x) % 7;
		o->bad = true;
	}
}

/* Spoils one operation of four. */
static void spoil(struct operation *o, const struct plan *p, uint64_t *x)
{
	switch (draw(x) % 20) {
	case 0:
		o->flip = 1u << draw(x) % 32;
		break;
	case 1: /* on the last byte, one past it, before the first */
		o->roff = p->area - o->len + draw(x) % 2;
		break;
	case 2:
		o->roff = UINT64_MAX;
		break;
	case 3:
		o->roff = draw(x);
		break;
	case 4:
		o->lflip = 1u << draw(x) % 32;
		break;
	default:
		return;
	}
	o->bad = true;
}

static struct operation draw_op(const struct plan *p, uint64_t *x, bool uc, uint32_t seed)
{
	struct operation o = {.op = uc || draw(x) % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			      .key = draw(x) % 3 ? 0 : (uint32_t)(draw(x) % KEYS),
			      .len = p->lens[draw(x) % p->nlens],
			      .nsge = 1 + (uint32_t)(draw(x) % 3),
			      .flags = IBV_SEND_SIGNALED};
	const uint64_t room = p->area - o.len;

	o.off = (uint32_t)(draw(x) % room);
	o.roff = draw(x) % room;
	if (o.op == IBV_WR_RDMA_WRITE && o.len <= 64 && draw(x) % 2) {
		o.flags |= IBV_SEND_INLINE;
		o.nsge = 1;
	}
	if (o.op == IBV_WR_RDMA_READ && draw(x) % 8 == 0)
		o.flags |= IBV_SEND_FENCE;
	if (!uc && p == &some && draw(x) % 4 == 0)
		make_atomic(&o, p, x, seed);
	o.bad |= o.key != 0;
	spoil(&o, p, x);
	return o;
}

/* --------------------------------------------------------------- one attempt */

struct outcome {
	struct ibv_wc wc;
	uint64_t local, remote; /* hashes */
};

/* State of one side for all attempts. */
struct run {
	struct vt *t;
	struct vt_opt opt;
	const struct plan *plan;
	struct theirs theirs;
	uint8_t *foreign; /* side 1's */
	/* segments of successful ones; good[]: alone, without the atomics */
	uint32_t good[MEMORIES], listed, atomics;
};

static uint64_t hash(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v;

		memcpy(&v, p + i, 8);
		h = (h ^ v) * 0x100000001b3ull;
	}
	return h;
}

/* Post it alone, with no earlier write, or twice; return the (first) completion. */
static struct ibv_wc post_one(struct run *r, enum memory m, const struct operation *o, enum way way)
{
	struct vt *t = r->t;
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[2], *bad;
	uint64_t raddr = r->theirs.addr[m] + o->roff;
	uint32_t at = 0, rkey = r->theirs.key[m][o->key] ^ o->flip;

	memset(wr, 0, sizeof(wr));
	for (uint32_t i = 0; i < o->nsge; i++) {
		uint32_t n = i + 1 == o->nsge ? o->len - at : o->len / o->nsge;

		sge[i] = (struct ibv_sge){(uintptr_t)t->buf + o->off + at, n,
					  t->mr->lkey ^ o->lflip};
		at += n;
	}
	wr[0].opcode = IBV_WR_RDMA_WRITE;
	wr[0].next = &wr[1];
	wr[0].wr.rdma.remote_addr = t->peer.addr;
	wr[0].wr.rdma.rkey = t->peer.rkey;
	wr[1].wr_id = 7;
	wr[1].opcode = o->op;
	wr[1].sg_list = sge;
	wr[1].num_sge = (int)o->nsge;
	wr[1].send_flags = o->flags;
	if (is_atomic(o)) {
		wr[1].wr.atomic.remote_addr = raddr;
		wr[1].wr.atomic.rkey = rkey;
		wr[1].wr.atomic.compare_add = o->compare_add;
		wr[1].wr.atomic.swap = o->swap;
	} else {
		wr[1].wr.rdma.remote_addr = raddr;
		wr[1].wr.rdma.rkey = rkey;
	}
	if (way == LISTED) {
		wr[0] = wr[1];
		wr[0].next = &wr[1];
		wr[0].send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	}
	CHECK_EQ(ibv_post_send(t->qp, way == ALONE ? &wr[1] : &wr[0], &bad), 0);
	return vt_wc(t, t->cq);
}

static uint8_t *memory_of(struct run *r, enum memory m)
{
	return m == PRIVATE ? r->t->buf : r->foreign;
}

/* Both start from the same contents each time. */
static void refill(struct run *r, enum memory m, uint32_t seed)
{
	if (r->t->side == 1)
		fill(memory_of(r, m), r->plan->area, seed * 2 + 1);
	else
		fill(r->t->buf, r->plan->area, seed * 2);
	vt_sync(r->t);
}

/* Side 1 sends a hash of its memory. */
static uint64_t look(struct run *r, enum memory m)
{
	uint64_t h = 0;

	if (r->t->side == 1) {
		h = hash(memory_of(r, m), r->plan->area);
		vt_put(r->t, &h, sizeof(h));
	} else {
		vt_get(r->t, &h, sizeof(h));
	}
	return h;
}

/* UC: a later SEND shows that it arrived. */
static void arrived(struct vt *t)
{
	char c = 0;

	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 0, 8, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 8, IBV_WC_SUCCESS);
		vt_get(t, &c, 1);
	} else {
		CHECK_EQ(vt_wc(t, t->cq).status, IBV_WC_SUCCESS);
		CHECK_EQ(vt_recv(t, 0, 0, 1), 0);
		vt_put(t, &c, 1);
	}
}

static enum ibv_wc_opcode wc_opcode_of(const struct operation *o)
{
	return o->op == IBV_WR_RDMA_READ	      ? IBV_WC_RDMA_READ
	       : o->op == IBV_WR_ATOMIC_CMP_AND_SWP   ? IBV_WC_COMP_SWAP
	       : o->op == IBV_WR_ATOMIC_FETCH_AND_ADD ? IBV_WC_FETCH_ADD
						      : IBV_WC_RDMA_WRITE;
}

static void reconnect(struct run *r)
{
	vt_reconnect(r->t, &r->opt);
	if (r->opt.type == IBV_QPT_UC && r->t->side == 1)
		CHECK_EQ(vt_recv(r->t, 0, 0, 1), 0);
}

/* Segments as some devices count them: without empty ones. */
static uint32_t pieces_of(const struct operation *o)
{
	return (o->len + PIECE - 1) / PIECE;
}

static struct ibv_wc attempt(struct run *r, enum memory m, const struct operation *o, enum way way)
{
	struct ibv_wc wc = post_one(r, m, o, way);
	const bool failed = wc.status != IBV_WC_SUCCESS;

	CHECK_EQ(wc.wr_id, 7);
	CHECK(o->bad || !failed, "%s", ibv_wc_status_str(wc.status));
	if (failed)
		return wc;
	CHECK_EQ(wc.opcode, wc_opcode_of(o));
	/* on UC a failed operation is not reported */
	if (way == BEHIND || (o->bad && r->opt.type == IBV_QPT_UC))
		return wc;
	if (way == LISTED)
		r->listed += 2 * pieces_of(o);
	else if (!is_atomic(o))
		r->good[m] += pieces_of(o);
	else
		r->atomics += m == PRIVATE;
	return wc;
}

static struct outcome try(struct run *r, enum memory m, const struct operation *o, enum way way,
			  uint32_t seed)
{
	struct vt *t = r->t;
	struct outcome out = {.wc = {.status = IBV_WC_SUCCESS}};
	uint32_t failed = 0;

	refill(r, m, seed);
	if (t->side == 0) {
		out.wc = attempt(r, m, o, way);
		failed = out.wc.status != IBV_WC_SUCCESS;
		out.local = hash(t->buf, r->plan->area);
		vt_put(t, &failed, sizeof(failed));
	} else {
		vt_get(t, &failed, sizeof(failed));
	}
	if (r->opt.type == IBV_QPT_UC && !failed)
		arrived(t);
	out.remote = look(r, m);
	/* and state that a device has learnt must not affect the next one */
	if (failed || (r->opt.type == IBV_QPT_UC && o->bad))
		reconnect(r);
	return out;
}

/* ----------------------------------------------------------------- all of them */

static bool is_same_wc(const struct ibv_wc *a, const struct ibv_wc *b)
{
	if (a->status != b->status || a->vendor_err != b->vendor_err || a->qp_num != b->qp_num)
		return false;
	return a->status != IBV_WC_SUCCESS ||
	       (a->opcode == b->opcode && a->byte_len == b->byte_len && a->wc_flags == b->wc_flags);
}

static void compare(uint32_t i, const struct operation *o, const char *what,
		    const struct outcome *a, const struct outcome *b)
{
	CHECK(is_same_wc(&a->wc, &b->wc) && a->local == b->local && a->remote == b->remote,
	      "operation %u, opcode %d, key %u, %u bytes: %s \"%s\" (%#x, %u bytes, flags %#x), by "
	      "packet \"%s\" (%#x, %u bytes, flags %#x)%s%s",
	      i, (int)o->op, o->key, o->len, what, ibv_wc_status_str(a->wc.status),
	      a->wc.vendor_err, a->wc.byte_len, a->wc.wc_flags, ibv_wc_status_str(b->wc.status),
	      b->wc.vendor_err, b->wc.byte_len, b->wc.wc_flags,
	      a->local != b->local ? ", other bytes here" : "",
	      a->remote != b->remote ? ", other bytes there" : "");
}

/* Side 1's, in the memory's first region; its key. */
static struct ibv_mw *bind(struct run *r, struct ibv_mr *mr, uint32_t key)
{
	const bool one = key == REGIONS;
	struct ibv_mw *mw = ibv_alloc_mw(r->t->pd, one ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	struct ibv_mw_bind_info info = {mr, (uintptr_t)mr->addr,
					is_half(key) ? r->plan->area / 2 : r->plan->area,
					access_of[key]};
	struct ibv_mw_bind first = {.wr_id = 9, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
	struct ibv_send_wr wr = {
		.wr_id = 9, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};

	CHECK(mw, "alloc_mw: %s", strerror(errno));
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = info;
	CHECK_EQ(one ? ibv_bind_mw(r->t->qp, mw, &first) : vt_post(r->t->qp, &wr), 0);
	vt_wc_is(r->t, 9, IBV_WC_SUCCESS);
	if (!one)
		mw->rkey = wr.bind_mw.rkey;
	return mw;
}

struct keys {
	struct ibv_mr *mr[MEMORIES][REGIONS];
	struct ibv_mw *mw[MEMORIES][WINDOWS];
};

/* Make side 1's memory, regions and windows; the other side gets them. */
static void make_keys(struct run *r, struct keys *k)
{
	struct theirs to = {.addr = {(uintptr_t)r->t->buf}};
	const size_t area = r->plan->area;

	r->foreign = mmap(NULL, area, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(r->foreign != MAP_FAILED, "mmap");
	to.addr[FOREIGN] = (uintptr_t)r->foreign;
	for (enum memory m = PRIVATE; m < MEMORIES; m++) {
		for (uint32_t i = 0; i < REGIONS; i++) {
			k->mr[m][i] = ibv_reg_mr(r->t->pd, memory_of(r, m),
						 is_half(i) ? area / 2 : area, (int)access_of[i]);
			CHECK(k->mr[m][i], "reg_mr: %s", strerror(errno));
			to.key[m][i] = k->mr[m][i]->rkey;
		}
		for (uint32_t i = 0; i < WINDOWS; i++) {
			k->mw[m][i] = bind(r, k->mr[m][0], REGIONS + i);
			to.key[m][REGIONS + i] = k->mw[m][i]->rkey;
		}
	}
	vt_put(r->t, &to, sizeof(to));
}

static void end_keys(struct run *r, struct keys *k)
{
	for (enum memory m = PRIVATE; m < MEMORIES; m++) {
		for (uint32_t i = 0; i < WINDOWS; i++)
			CHECK_EQ(ibv_dealloc_mw(k->mw[m][i]), 0);
		for (uint32_t i = 0; i < REGIONS; i++)
			CHECK_EQ(ibv_dereg_mr(k->mr[m][i]), 0);
	}
	munmap(r->foreign, r->plan->area);
}

/*
 * Memory that is not shared comes last: after an atomic that could not use a shorter path there a
 * device may not try it with the next ones.
 */
static void all_of_them(struct run *r)
{
	const struct plan *p = r->plan;
	const bool uc = r->opt.type == IBV_QPT_UC;
	const uint64_t seed = vt_seed() * 0x9e3779b97f4a7c15ull + 77;
	struct outcome *packet = calloc(p->operations, sizeof(*packet)), other;
	uint64_t x = seed;

	CHECK(packet, "calloc");
	for (uint32_t i = 0; i < p->operations; i++) {
		struct operation o = draw_op(p, &x, uc, i);

		packet[i] = try(r, PRIVATE, &o, BEHIND, i);
		other = try(r, PRIVATE, &o, ALONE, i);
		if (r->t->side == 0)
			compare(i, &o, "alone", &other, &packet[i]);
		if (is_atomic(&o)) /* twice differs from once */
			continue;
		other = try(r, PRIVATE, &o, LISTED, i);
		if (r->t->side == 0)
			compare(i, &o, "in a list", &other, &packet[i]);
	}
	x = seed;
	for (uint32_t i = 0; i < p->operations; i++) {
		struct operation o = draw_op(p, &x, uc, i);

		other = try(r, FOREIGN, &o, ALONE, i);
		if (r->t->side == 0)
			compare(i, &o, "alone, in memory that is not shared,", &other, &packet[i]);
	}
	free(packet);
}

static void same_results(struct vt *t, enum ibv_qp_type type, const struct plan *plan)
{
	struct run r = {.t = t, .opt = {.type = type, .len = plan->area, .inl = 64}, .plan = plan};
	struct keys keys;

	vt_setup_shared(t, &r.opt);
	if (t->side == 1) {
		make_keys(&r, &keys);
		if (type == IBV_QPT_UC)
			CHECK_EQ(vt_recv(t, 0, 0, 1), 0);
	} else {
		vt_get(t, &r.theirs, sizeof(r.theirs));
	}
	vt_sync(t);
	all_of_them(&r);
	if (t->side == 1)
		end_keys(&r, &keys);
	else
		printf("    good: %u alone, %u atomics, %u in lists, %u in other memory\n",
		       r.good[PRIVATE], r.atomics, r.listed, r.good[FOREIGN]);
	vt_close(t);
}

static void same_rc(struct vt *t)
{
	same_results(t, IBV_QPT_RC, &some);
}

static void same_uc(struct vt *t)
{
	same_results(t, IBV_QPT_UC, &some);
}

static void same_large_rc(struct vt *t)
{
	same_results(t, IBV_QPT_RC, &large);
}

static void same_large_uc(struct vt *t)
{
	same_results(t, IBV_QPT_UC, &large);
}

static const struct vt_case cases[] = {
	{"same_rc", same_rc, VT_BOTH, LIMIT_S},
	{"same_uc", same_uc, VT_BOTH, LIMIT_S},
	{"same_large_rc", same_large_rc, VT_BOTH, LIMIT_S},
	{"same_large_uc", same_large_uc, VT_BOTH, LIMIT_S},
};

VT_MAIN(cases)
