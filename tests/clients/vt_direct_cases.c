/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One-sided operations whose initiator waits for each alone, or for a list of them, which a device
 * may carry out in a shorter way, against the same ones behind another operation, which it may not:
 * in private anonymous memory, which a device may share, and in memory that it may not. And verbs
 * that take memory back from initiators that are at work there.
 */
#include "vt.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREA = 3 << 19, REGIONS = 6, OPERATIONS = 300, LIMIT_S = 120 };
enum { INITIATORS = 4, ROUNDS = 120, SLOW_ROUNDS = 3000, PIECE = 1 << 17, GLANCES = 40 };

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
}

/* ------------------------------------------------------------- same results */

/* Side 1's regions over its memory: one permission less each; the last is a shorter one. */
static const int region_access[REGIONS] = {
	ALL,
	ALL & ~IBV_ACCESS_REMOTE_WRITE,
	ALL & ~IBV_ACCESS_REMOTE_READ,
	ALL & ~IBV_ACCESS_REMOTE_ATOMIC,
	IBV_ACCESS_LOCAL_WRITE,
	ALL,
};

/* Its memories: private, and what other processes could have mapped already. */
enum memory { PRIVATE, FOREIGN, MEMORIES };
enum way { ALONE, BEHIND, LISTED };

struct theirs {
	uint64_t addr[MEMORIES];
	uint32_t key[MEMORIES][REGIONS];
};

struct operation {
	enum ibv_wr_opcode op;
	uint32_t region, flip; /* bits of the key */
	uint64_t roff;	       /* from the memory's beginning; anything */
	uint32_t len, off, nsge;
	uint64_t compare_add, swap;
	unsigned int flags;
	bool bad; /* may fail */
};

struct outcome {
	enum ibv_wc_status status;
	uint32_t vendor_err;
	uint64_t local, remote; /* hashes */
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

static bool is_atomic(const struct operation *o)
{
	return o->op == IBV_WR_ATOMIC_CMP_AND_SWP || o->op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* 8 bytes that are there, with what is there in half of the cases. */
static void make_atomic(struct operation *o, uint64_t *x, uint32_t seed)
{
	static _Thread_local uint8_t *copy;

	o->op = draw(x) % 2 ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
	o->len = 8;
	o->nsge = 1;
	o->flags = IBV_SEND_SIGNALED;
	o->off &= ~7u;
	o->roff = draw(x) % (AREA / 8) * 8;
	o->swap = draw(x);
	o->compare_add = draw(x);
	if (draw(x) % 2) {
		copy = copy ? copy : malloc(AREA);
		CHECK(copy, "malloc");
		vt_fill(copy, AREA, seed * 2 + 1);
		memcpy(&o->compare_add, copy + o->roff, 8);
	}
	if (draw(x) % 8 == 0) {
		o->roff += 1 + draw(x) % 7;
		o->bad = true;
	}
}

static struct operation draw_op(uint64_t *x, bool uc, uint32_t seed)
{
	static const uint32_t lens[] = {1,    2,    7,	  8,	9,     15,     16,	64,	200,
					1023, 1024, 4096, 8191, 32768, 100001, 1 << 20, 5 << 18};
	struct operation o = {.op = uc || draw(x) % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			      .region = draw(x) % 3 ? 0 : (uint32_t)(draw(x) % REGIONS),
			      .len = lens[draw(x) % (sizeof(lens) / sizeof(lens[0]))],
			      .nsge = 1 + (uint32_t)(draw(x) % 3),
			      .flags = IBV_SEND_SIGNALED};
	uint32_t room = AREA - o.len;

	o.off = (uint32_t)draw(x) % room;
	o.roff = draw(x) % room;
	if (o.op == IBV_WR_RDMA_WRITE && o.len <= 64 && draw(x) % 2) {
		o.flags |= IBV_SEND_INLINE;
		o.nsge = 1;
	}
	if (o.op == IBV_WR_RDMA_READ && draw(x) % 8 == 0)
		o.flags |= IBV_SEND_FENCE;
	if (!uc && draw(x) % 4 == 0)
		make_atomic(&o, x, seed);
	o.bad |= o.region != 0;
	switch (draw(x) % 16) {
	case 0:
		o.flip = 1u << draw(x) % 32;
		o.bad = true;
		break;
	case 1: /* on the last byte, one past it, before the first */
		o.roff = AREA - o.len + draw(x) % 2;
		o.bad = true;
		break;
	case 2:
		o.roff = UINT64_MAX;
		o.bad = true;
		break;
	case 3:
		o.roff = draw(x);
		o.bad = true;
		break;
	default:
		break;
	}
	return o;
}

/* Posts it, alone, with nothing to be written before it, or twice; the (first) completion. */
static struct ibv_wc post_one(struct vt *t, const struct theirs *to, enum memory m,
			      const struct operation *o, enum way way)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[2], *bad;
	uint64_t raddr = to->addr[m] + o->roff;
	uint32_t at = 0, rkey = to->key[m][o->region] ^ o->flip;

	memset(wr, 0, sizeof(wr));
	for (uint32_t i = 0; i < o->nsge; i++) {
		uint32_t n = i + 1 == o->nsge ? o->len - at : o->len / o->nsge;

		sge[i] = (struct ibv_sge){(uintptr_t)t->buf + o->off + at, n, t->mr->lkey};
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

static uint8_t *foreign; /* of side 1 */

/* Both start from the same each time. */
static void refill(struct vt *t, enum memory m, uint32_t seed)
{
	if (t->side == 1)
		vt_fill(m == PRIVATE ? t->buf : foreign, AREA, seed * 2 + 1);
	else
		vt_fill(t->buf, AREA, seed * 2);
	vt_sync(t);
}

/* Side 1 says what its memory looks like. */
static uint64_t look(struct vt *t, enum memory m)
{
	uint64_t h = 0;

	if (t->side == 1) {
		h = hash(m == PRIVATE ? t->buf : foreign, AREA);
		vt_put(t, &h, sizeof(h));
	} else {
		vt_get(t, &h, sizeof(h));
	}
	return h;
}

/* UC: a SEND behind it says that it arrived. */
static void arrived(struct vt *t)
{
	if (t->side == 0) {
		CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, 0, 8, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 8, IBV_WC_SUCCESS);
	} else {
		CHECK_EQ(vt_wc(t, t->cq).status, IBV_WC_SUCCESS);
		CHECK_EQ(vt_recv(t, 0, 0, 1), 0);
		vt_put(t, "", 1);
		return;
	}
	char c;

	vt_get(t, &c, 1);
}

static enum ibv_wc_opcode wc_opcode_of(const struct operation *o)
{
	return o->op == IBV_WR_RDMA_READ	      ? IBV_WC_RDMA_READ
	       : o->op == IBV_WR_ATOMIC_CMP_AND_SWP   ? IBV_WC_COMP_SWAP
	       : o->op == IBV_WR_ATOMIC_FETCH_AND_ADD ? IBV_WC_FETCH_ADD
						      : IBV_WC_RDMA_WRITE;
}

static struct outcome try(struct vt *t, const struct vt_opt *opt, const struct theirs *to,
			  enum memory m, const struct operation *o, enum way way, uint32_t seed)
{
	struct outcome r = {.status = IBV_WC_SUCCESS};
	uint32_t failed = 0;

	refill(t, m, seed);
	if (t->side == 0) {
		struct ibv_wc wc = post_one(t, to, m, o, way);

		CHECK_EQ(wc.wr_id, 7);
		r.status = wc.status;
		r.vendor_err = wc.vendor_err;
		failed = wc.status != IBV_WC_SUCCESS;
		CHECK(o->bad || !failed, "%s", ibv_wc_status_str(wc.status));
		if (!failed)
			CHECK_EQ(wc.opcode, wc_opcode_of(o));
		r.local = hash(t->buf, AREA);
		vt_put(t, &failed, sizeof(failed));
	} else {
		vt_get(t, &failed, sizeof(failed));
	}
	if (opt->type == IBV_QPT_UC)
		arrived(t);
	r.remote = look(t, m);
	if (failed)
		vt_reconnect(t, opt);
	return r;
}

static void compare(uint32_t i, const struct operation *o, const char *what,
		    const struct outcome *a, const struct outcome *b)
{
	CHECK(a->status == b->status && a->vendor_err == b->vendor_err && a->local == b->local &&
		      a->remote == b->remote,
	      "operation %u, opcode %d, %u bytes: %s \"%s\" (%#x), by packet \"%s\" (%#x)%s%s", i,
	      (int)o->op, o->len, what, ibv_wc_status_str(a->status), a->vendor_err,
	      ibv_wc_status_str(b->status), b->vendor_err,
	      a->local != b->local ? ", other bytes here" : "",
	      a->remote != b->remote ? ", other bytes there" : "");
}

/* Side 1's memory and regions; the other side is told. */
static void make_regions(struct vt *t, struct ibv_mr *mr[MEMORIES][REGIONS])
{
	struct theirs to = {.addr = {(uintptr_t)t->buf}};

	foreign = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(foreign != MAP_FAILED, "mmap");
	to.addr[FOREIGN] = (uintptr_t)foreign;
	for (int m = 0; m < MEMORIES; m++)
		for (int i = 0; i < REGIONS; i++) {
			mr[m][i] = ibv_reg_mr(t->pd, m == PRIVATE ? t->buf : foreign,
					      i == REGIONS - 1 ? AREA / 2 : AREA, region_access[i]);
			CHECK(mr[m][i], "reg_mr: %s", strerror(errno));
			to.key[m][i] = mr[m][i]->rkey;
		}
	vt_put(t, &to, sizeof(to));
}

static void same_results(struct vt *t, enum ibv_qp_type type)
{
	struct vt_opt opt = {.type = type, .len = AREA, .inl = 64};
	struct theirs theirs;
	struct ibv_mr *mr[MEMORIES][REGIONS];
	uint64_t x = vt_seed() * 0x9e3779b97f4a7c15ull + 77;

	vt_setup(t, &opt);
	if (t->side == 1) {
		make_regions(t, mr);
		if (type == IBV_QPT_UC)
			CHECK_EQ(vt_recv(t, 0, 0, 1), 0);
	} else {
		vt_get(t, &theirs, sizeof(theirs));
	}
	vt_sync(t);
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		struct operation o = draw_op(&x, type == IBV_QPT_UC, i);
		struct outcome packet = try(t, &opt, &theirs, PRIVATE, &o, BEHIND, i);
		struct outcome mapped = try(t, &opt, &theirs, PRIVATE, &o, ALONE, i);
		struct outcome copied = try(t, &opt, &theirs, FOREIGN, &o, ALONE, i),
			       listed = packet;

		if (!is_atomic(&o)) /* twice is once */
			listed = try(t, &opt, &theirs, PRIVATE, &o, LISTED, i);
		if (t->side)
			continue;
		compare(i, &o, "in a list", &listed, &packet);
		compare(i, &o, "alone", &mapped, &packet);
		compare(i, &o, "alone, in memory that is not shared,", &copied, &packet);
	}
	for (int m = 0; t->side == 1 && m < MEMORIES; m++)
		for (int i = 0; i < REGIONS; i++)
			CHECK_EQ(ibv_dereg_mr(mr[m][i]), 0);
	if (t->side == 1)
		munmap(foreign, AREA);
	vt_close(t);
}

static void same_rc(struct vt *t)
{
	same_results(t, IBV_QPT_RC);
}

static void same_uc(struct vt *t)
{
	same_results(t, IBV_QPT_UC);
}

/* ----------------------------------------------------------------- revocation */

/* What the initiators shall write to, as the owner said last; they may be late. */
struct target {
	_Atomic uint32_t rkey; /* stored last (release) */
	_Atomic uint32_t over;
	uint64_t addr;
	_Atomic uint64_t done[INITIATORS]; /* completions of each, seen by all */
};

enum verb { DEREG, REREG, RESET, ERROR, NO_ACCESS, VERBS };

static const struct vt_opt uc = {.type = IBV_QPT_UC, .len = PIECE, .send_wr = 4, .recv_wr = 4};

/* UC: a key that has ended is nobody's error, so that it goes on and on. */
static void initiate(struct vt *t, struct target *to, uint32_t nth)
{
	static const uint32_t lens[] = {8, 8, 8, 64, 4096, 65536};
	uint64_t x = vt_seed() * 31 + nth * 0x9e3779b97f4a7c15ull + 1;
	struct vt_opt o = uc;

	vt_setup(t, &o);
	memset(t->buf, 0x40 + (int)nth, t->len);
	for (uint64_t n = 1; !atomic_load(&to->over); n++) {
		t->peer.rkey = atomic_load_explicit(&to->rkey, memory_order_acquire);
		t->peer.addr = to->addr;
		uint32_t len = lens[draw(&x) % 6];

		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, draw(&x) % (PIECE - len + 1), len, n,
				 IBV_SEND_SIGNALED),
			 0);
		vt_wc_is(t, n, IBV_WC_SUCCESS);
		atomic_store(&to->done[nth], n);
	}
	/* the owner may be gone, and with it whom to say good-bye to */
}

static pid_t fork_initiator(struct target *to, uint32_t nth, int *sock)
{
	int sv[2];
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		struct vt p = {.side = 1, .sock = sv[1]};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(10 * LIMIT_S); /* the long case, too */
		close(sv[0]);
		initiate(&p, to, nth);
		_exit(0);
	}
	close(sv[1]);
	*sock = sv[0];
	return pid;
}

/* One owner with a QP to each. */
struct owner {
	struct vt t;
	struct target *to;
	struct ibv_qp *qp[INITIATORS];
	struct vt_addr peer[INITIATORS];
	int sock[INITIATORS];
	pid_t pid[INITIATORS];
	bool stopped[INITIATORS], dead[INITIATORS];
	uint64_t x;
};

static void yields(uint64_t n)
{
	for (; n; n--)
		sched_yield();
}

static void connect_qp(struct owner *w, int i)
{
	const uint32_t psn = w->t.me.psn;

	vt_qp_init(&w->t, w->qp[i], &uc);
	vt_qp_rtr(&w->t, w->qp[i], &uc, &w->peer[i]);
	vt_qp_rts(&w->t, w->qp[i], &uc, psn);
}

static void set_qps(struct owner *w, enum verb verb)
{
	for (int i = 0; i < INITIATORS; i++) {
		struct ibv_qp_attr a = {.qp_state = verb == RESET ? IBV_QPS_RESET : IBV_QPS_ERR};

		CHECK_EQ(ibv_modify_qp(w->qp[i], &a,
				       verb == NO_ACCESS ? IBV_QP_ACCESS_FLAGS : IBV_QP_STATE),
			 0);
	}
}

/* Stops, kills or lets go some, wherever they are. */
static void disturb(struct owner *w, bool may_kill)
{
	for (int i = 0; i < INITIATORS; i++) {
		if (w->dead[i] || draw(&w->x) % 2)
			continue;
		if (may_kill && draw(&w->x) % 4 == 0) {
			int status;

			CHECK_EQ(kill(w->pid[i], SIGKILL), 0);
			if (draw(&w->x) % 2) {
				CHECK_EQ(waitpid(w->pid[i], &status, 0), w->pid[i]);
				w->pid[i] = 0;
			}
			w->dead[i] = true;
			continue;
		}
		CHECK_EQ(kill(w->pid[i], w->stopped[i] ? SIGCONT : SIGSTOP), 0);
		w->stopped[i] = !w->stopped[i];
		yields(draw(&w->x) % 3);
	}
}

/* At least one that can has written since. */
static void wait_for_work(struct owner *w)
{
	uint64_t was[INITIATORS];
	bool any = false;

	for (int i = 0; i < INITIATORS; i++) {
		was[i] = atomic_load(&w->to->done[i]);
		any |= !w->stopped[i] && !w->dead[i];
	}
	while (any) {
		for (int i = 0; i < INITIATORS; i++)
			if (atomic_load(&w->to->done[i]) > was[i] + 2)
				return;
		sched_yield();
	}
}

static void check_untouched(struct owner *w, uint32_t round, enum verb verb, const char *when)
{
	for (int n = 0; n < GLANCES; n++) {
		for (size_t i = 0; i < PIECE; i += 8) {
			const volatile uint64_t *p = (volatile uint64_t *)(w->t.buf + i);

			CHECK(*p == UINT64_MAX, "round %u, verb %d: %#llx at %zu, %s", round,
			      (int)verb, (unsigned long long)*p, i, when);
		}
		sched_yield();
	}
}

static void let_go(struct owner *w)
{
	for (int i = 0; i < INITIATORS; i++)
		if (w->stopped[i] && !w->dead[i]) {
			CHECK_EQ(kill(w->pid[i], SIGCONT), 0);
			w->stopped[i] = false;
		}
}

static void one_round(struct owner *w, uint32_t round, bool may_kill)
{
	enum verb verb = (enum verb)(draw(&w->x) % VERBS);

	wait_for_work(w);
	if (draw(&w->x) % 2)
		disturb(w, may_kill);
	yields(draw(&w->x) % 20);
	if (verb == DEREG)
		CHECK_EQ(ibv_dereg_mr(w->t.mr), 0);
	else if (verb == REREG)
		CHECK_EQ(ibv_rereg_mr(w->t.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_LOCAL_WRITE),
			 0);
	else
		set_qps(w, verb);
	memset(w->t.buf, 0xff, PIECE);
	check_untouched(w, round, verb, "behind the verb");
	let_go(w);
	check_untouched(w, round, verb, "when they went on");
	/* and again */
	if (verb == REREG)
		CHECK_EQ(ibv_dereg_mr(w->t.mr), 0);
	if (verb == DEREG || verb == REREG) {
		w->t.mr = ibv_reg_mr(w->t.pd, w->t.buf, PIECE, ALL);
		CHECK(w->t.mr, "reg_mr: %s", strerror(errno));
		atomic_store_explicit(&w->to->rkey, w->t.mr->rkey, memory_order_release);
		return;
	}
	if (verb != RESET)
		set_qps(w, RESET);
	for (int i = 0; i < INITIATORS; i++)
		connect_qp(w, i);
}

static void start(struct owner *w)
{
	w->to = mmap(NULL, sizeof(*w->to), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(w->to != MAP_FAILED, "mmap");
	for (uint32_t i = 0; i < INITIATORS; i++)
		w->pid[i] = fork_initiator(w->to, i, &w->sock[i]);
	vt_open(&w->t);
	w->t.buf = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(w->t.buf != MAP_FAILED, "mmap");
	w->t.mr = ibv_reg_mr(w->t.pd, w->t.buf, PIECE, ALL);
	w->t.cq = ibv_create_cq(w->t.ctx, 64, NULL, NULL, 0);
	CHECK(w->t.mr && w->t.cq, "%s", strerror(errno));
	w->to->addr = (uintptr_t)w->t.buf;
	atomic_store_explicit(&w->to->rkey, w->t.mr->rkey, memory_order_release);
	for (int i = 0; i < INITIATORS; i++) {
		w->t.sock = w->sock[i];
		w->qp[i] = vt_qp_create(&w->t, &uc, w->t.cq);
		vt_connect(&w->t, w->qp[i], &uc, &w->peer[i]);
	}
}

/*
 * Deregister, reregister, take a permission or the QP away while four processes write there, which
 * are stopped and killed at any moment: nothing is written once the verb has returned.
 */
static void take_back(struct vt *t, uint32_t rounds)
{
	struct owner w = {.t = {.side = 0}, .x = vt_seed() * 0x9e3779b97f4a7c15ull + 5};
	int status;

	if (t->side == 1)
		return;
	start(&w);
	for (uint32_t r = 0; r < rounds; r++)
		one_round(&w, r, r + 12 >= rounds);
	atomic_store(&w.to->over, 1);
	for (int i = 0; i < INITIATORS; i++) {
		if (w.pid[i])
			CHECK_EQ(waitpid(w.pid[i], &status, 0), w.pid[i]);
		if (!w.dead[i])
			CHECK(!status, "an initiator ended with %#x", (unsigned int)status);
		CHECK_EQ(ibv_destroy_qp(w.qp[i]), 0);
		close(w.sock[i]);
	}
	CHECK_EQ(ibv_dereg_mr(w.t.mr), 0);
	CHECK_EQ(ibv_destroy_cq(w.t.cq), 0);
	CHECK_EQ(ibv_dealloc_pd(w.t.pd), 0);
	CHECK_EQ(ibv_close_device(w.t.ctx), 0);
	munmap(w.t.buf, PIECE);
	munmap(w.to, sizeof(*w.to));
}

static void taken_back(struct vt *t)
{
	take_back(t, ROUNDS);
}

static void taken_back_long(struct vt *t)
{
	take_back(t, SLOW_ROUNDS);
}

static const struct vt_case cases[] = {
	{"same_rc", same_rc, VT_BOTH, LIMIT_S},
	{"same_uc", same_uc, VT_BOTH, LIMIT_S},
	{"taken_back", taken_back, VT_PROCS, 2 * LIMIT_S},
	{"taken_back_long", taken_back_long, VT_PROCS | VT_SLOW, 10 * LIMIT_S},
};

VT_MAIN(cases)
