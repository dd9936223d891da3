/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Verbs that take memory back from initiators that are at work there, whichever way a device has
 * them go.
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

enum { INITIATORS = 4, ROUNDS = 120, SLOW_ROUNDS = 3000, PIECE = 1 << 17, GLANCES = 40 };
enum { LIMIT_S = 120 };

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
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
	{"taken_back", taken_back, VT_PROCS, 2 * LIMIT_S},
	{"taken_back_long", taken_back_long, VT_PROCS | VT_SLOW, 10 * LIMIT_S},
};

VT_MAIN(cases)
