/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One-sided operations whose initiator waits for each alone, which a device may carry out in a
 * shorter way, against the same ones behind another operation, which it may not; and verbs that
 * take memory back from initiators that are at work there.
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

enum { AREA = 3 << 19, REGIONS = 5, OPERATIONS = 300, LIMIT_S = 120 };
enum { INITIATORS = 4, ROUNDS = 120, SLOW_ROUNDS = 3000, PIECE = 1 << 17, GLANCES = 40 };

#define ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
}

/* ------------------------------------------------------------- same results */

/* Side 1's regions over its buffer: one permission less each; the last is a shorter one. */
static const int region_access[REGIONS] = {ALL, ALL & ~IBV_ACCESS_REMOTE_WRITE,
					   ALL & ~IBV_ACCESS_REMOTE_READ, IBV_ACCESS_LOCAL_WRITE,
					   ALL};

struct theirs {
	uint64_t addr;
	uint32_t key[REGIONS];
};

struct operation {
	enum ibv_wr_opcode op;
	uint64_t raddr;
	uint32_t rkey, len, off, nsge;
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

static struct operation draw_op(uint64_t *x, const struct theirs *t, bool uc)
{
	static const uint32_t lens[] = {1,    2,    7,	  8,	9,     64,     200,
					1023, 1024, 4096, 8191, 32768, 100001, 1 << 20};
	uint32_t region = draw(x) % 3 ? 0 : (uint32_t)(draw(x) % REGIONS);
	struct operation o = {.op = uc || draw(x) % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			      .len = lens[draw(x) % (sizeof(lens) / sizeof(lens[0]))],
			      .rkey = t->key[region],
			      .nsge = 1 + (uint32_t)(draw(x) % 3),
			      .flags = IBV_SEND_SIGNALED};
	uint32_t room = AREA - o.len;

	o.off = (uint32_t)draw(x) % room;
	o.raddr = t->addr + draw(x) % room;
	o.bad = region != 0;
	switch (draw(x) % 16) {
	case 0:
		o.rkey ^= 1u << draw(x) % 32;
		o.bad = true;
		break;
	case 1: /* on the last byte, one past it, before the first */
		o.raddr = t->addr + AREA - o.len + draw(x) % 2;
		o.bad = true;
		break;
	case 2:
		o.raddr = t->addr - 1;
		o.bad = true;
		break;
	case 3:
		o.raddr = draw(x);
		o.bad = true;
		break;
	default:
		break;
	}
	if (o.op == IBV_WR_RDMA_WRITE && o.len <= 64 && draw(x) % 2) {
		o.flags |= IBV_SEND_INLINE;
		o.nsge = 1;
	}
	if (o.op == IBV_WR_RDMA_READ && draw(x) % 8 == 0)
		o.flags |= IBV_SEND_FENCE;
	return o;
}

/* Posts it, alone or with nothing to be written before it; the one completion. */
static struct ibv_wc post_one(struct vt *t, const struct operation *o, bool alone)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr[2], *bad;
	uint32_t at = 0;

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
	wr[1].wr.rdma.remote_addr = o->raddr;
	wr[1].wr.rdma.rkey = o->rkey;
	CHECK_EQ(ibv_post_send(t->qp, alone ? &wr[1] : &wr[0], &bad), 0);
	return vt_wc(t, t->cq);
}

/* Side 1 says what its memory looks like; both start from the same again. */
static uint64_t look_and_refill(struct vt *t, uint32_t seed)
{
	uint64_t h = 0;

	if (t->side == 1) {
		h = hash(t->buf, AREA);
		vt_fill(t->buf, AREA, seed * 2 + 1);
		vt_put(t, &h, sizeof(h));
	} else {
		vt_get(t, &h, sizeof(h));
		vt_fill(t->buf, AREA, seed * 2);
	}
	vt_sync(t);
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

static struct outcome try(struct vt *t, const struct vt_opt *opt, const struct operation *o,
			  bool alone, uint32_t seed)
{
	struct outcome r = {.status = IBV_WC_SUCCESS};
	uint32_t failed = 0;

	if (t->side == 0) {
		struct ibv_wc wc = post_one(t, o, alone);

		CHECK_EQ(wc.wr_id, 7);
		r.status = wc.status;
		r.vendor_err = wc.vendor_err;
		failed = wc.status != IBV_WC_SUCCESS;
		CHECK(o->bad || !failed, "%s", ibv_wc_status_str(wc.status));
		if (!failed)
			CHECK_EQ(wc.opcode,
				 o->op == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ : IBV_WC_RDMA_WRITE);
		r.local = hash(t->buf, AREA);
		vt_put(t, &failed, sizeof(failed));
	} else {
		vt_get(t, &failed, sizeof(failed));
	}
	if (opt->type == IBV_QPT_UC)
		arrived(t);
	r.remote = look_and_refill(t, seed);
	if (failed)
		vt_reconnect(t, opt);
	return r;
}

static void compare(uint32_t i, const struct operation *o, const struct outcome *a,
		    const struct outcome *b)
{
	CHECK(a->status == b->status && a->vendor_err == b->vendor_err && a->local == b->local &&
		      a->remote == b->remote,
	      "operation %u, %s of %u bytes: alone \"%s\" (%#x), behind another \"%s\" "
	      "(%#x)%s%s",
	      i, o->op == IBV_WR_RDMA_READ ? "READ" : "WRITE", o->len, ibv_wc_status_str(a->status),
	      a->vendor_err, ibv_wc_status_str(b->status), b->vendor_err,
	      a->local != b->local ? ", other bytes here" : "",
	      a->remote != b->remote ? ", other bytes there" : "");
}

static void same_results(struct vt *t, enum ibv_qp_type type)
{
	struct vt_opt opt = {.type = type, .len = AREA, .inl = 64};
	struct theirs theirs = {.addr = 0};
	struct ibv_mr *mr[REGIONS];
	uint64_t x = vt_seed() * 0x9e3779b97f4a7c15ull + 77;

	vt_setup(t, &opt);
	if (t->side == 1) {
		theirs.addr = (uintptr_t)t->buf;
		for (int i = 0; i < REGIONS; i++) {
			mr[i] = ibv_reg_mr(t->pd, t->buf, i == REGIONS - 1 ? AREA / 2 : AREA,
					   region_access[i]);
			CHECK(mr[i], "reg_mr: %s", strerror(errno));
			theirs.key[i] = mr[i]->rkey;
		}
		if (type == IBV_QPT_UC)
			CHECK_EQ(vt_recv(t, 0, 0, 1), 0);
		vt_put(t, &theirs, sizeof(theirs));
	} else {
		vt_get(t, &theirs, sizeof(theirs));
	}
	look_and_refill(t, 0);
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		struct operation o = draw_op(&x, &theirs, type == IBV_QPT_UC);
		struct outcome a = try(t, &opt, &o, true, i), b = try(t, &opt, &o, false, i + 1);

		if (t->side == 0)
			compare(i, &o, &a, &b);
	}
	if (t->side == 1)
		for (int i = 0; i < REGIONS; i++)
			CHECK_EQ(ibv_dereg_mr(mr[i]), 0);
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
	{"taken_back", taken_back, VT_PROCS, LIMIT_S},
	{"taken_back_long", taken_back_long, VT_PROCS | VT_SLOW, 10 * LIMIT_S},
};

VT_MAIN(cases)
