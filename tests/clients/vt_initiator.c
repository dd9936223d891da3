/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "vt_initiator.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { LIST = 8, NTH_LOOK = 4, LIMIT_S = 1200 };

#define END UINT32_MAX /* instead of an initiator's number */

bool vt_is_rc(uint32_t nth)
{
	return nth % 2;
}

const struct vt_opt *vt_initiator_opt(uint32_t nth)
{
	static const struct vt_opt opt[2] = {
		{.type = IBV_QPT_UC, .send_wr = 2 * LIST, .recv_wr = 4},
		{.type = IBV_QPT_RC, .send_wr = 2 * LIST, .recv_wr = 4},
	};

	return &opt[vt_is_rc(nth)];
}

uint32_t vt_turn_psn(uint32_t turn)
{
	return (uint32_t)(vt_seed() * 2654435761u + 0x555555 * turn) & 0xffffff;
}

uint64_t vt_draw(uint64_t *x)
{
	*x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
	return *x;
}

/* ------------------------------------------------------------------ an initiator */

/* An initiator's own state; `buf` is the source of its writes, its reads lie behind that. */
struct initiator {
	struct vt *t;
	struct vt_target *to;
	struct vt_slot *slot;
	uint32_t nth;
	uint64_t x, there; /* its connection; 0: none */
	uint32_t sent;	   /* the last key that it ended by a SEND */
};

static bool is_over(const struct initiator *i)
{
	return atomic_load_explicit(&i->to->over, memory_order_acquire);
}

static uint64_t there(const struct initiator *i)
{
	return atomic_load_explicit(&i->slot->there, memory_order_seq_cst);
}

static void come_up(struct initiator *i)
{
	struct vt *t = i->t;

	vt_open(t);
	t->len = 2 * VT_PART;
	t->buf = mmap(NULL, t->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(t->buf != MAP_FAILED, "mmap");
	memset(t->buf, 0x40 + (int)i->nth, t->len);
	t->mr = ibv_reg_mr(t->pd, t->buf, t->len, IBV_ACCESS_LOCAL_WRITE);
	t->cq = ibv_create_cq(t->ctx, 4 * LIST, NULL, NULL, 0);
	CHECK(t->mr && t->cq, "%s", strerror(errno));
	t->qp = vt_qp_create(t, vt_initiator_opt(i->nth), t->cq);
	t->peer.addr = i->to->addr;
	i->slot->gid = t->me.gid;
	atomic_store_explicit(&i->slot->here, t->qp->qp_num, memory_order_release);
}

static void come_down(struct initiator *i)
{
	struct vt *t = i->t;

	CHECK_EQ(ibv_destroy_qp(t->qp), 0);
	CHECK_EQ(ibv_destroy_cq(t->cq), 0);
	CHECK_EQ(ibv_dereg_mr(t->mr), 0);
	munmap(t->buf, t->len);
	CHECK_EQ(ibv_dealloc_pd(t->pd), 0);
	CHECK_EQ(ibv_close_device(t->ctx), 0);
}

/* Join the last published turn of the owner, which may change meanwhile. */
static void join(struct initiator *i)
{
	const struct vt_opt *o = vt_initiator_opt(i->nth);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct vt *t = i->t;
	struct ibv_wc wc;

	do {
		struct vt_addr to = {.gid = i->to->gid};

		i->there = there(i);
		to.qpn = (uint32_t)i->there;
		to.psn = vt_turn_psn((uint32_t)(i->there >> 32));
		CHECK_EQ(ibv_modify_qp(t->qp, &reset, IBV_QP_STATE), 0);
		while (ibv_poll_cq(t->cq, 1, &wc) > 0)
			;
		vt_qp_init(t, t->qp, o);
		vt_qp_rtr(t, t->qp, o, &to);
		vt_qp_rts(t, t->qp, o, to.psn);
	} while (i->there != there(i));
}

/* Return the PSN of the next packet: an operation without a packet took none. */
static uint32_t next_psn(const struct initiator *i)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	CHECK_EQ(ibv_query_qp(i->t->qp, &a, IBV_QP_SQ_PSN, &ia), 0);
	return a.sq_psn;
}

/* Wait for it. False: the owner has changed the turn, or the test is over. */
static bool completes(struct initiator *i, struct ibv_wc *wc)
{
	for (uint32_t k = 1;; k++) {
		int n = ibv_poll_cq(i->t->cq, 1, wc);

		CHECK(n >= 0, "poll_cq");
		if (n)
			return true;
		if (there(i) != i->there || is_over(i))
			return false;
		if (k % 256 == 0)
			sched_yield();
	}
}

struct operation {
	enum ibv_wr_opcode op;
	uint32_t len, n; /* number of operations in a list, one after the other */
	uint64_t roff;
};

static struct operation draw_op(struct initiator *i, uint32_t key)
{
	static const uint32_t lens[] = {8, 8, 64, 4096, VT_LONG, VT_LONG};
	struct operation o = {.op = IBV_WR_RDMA_WRITE, .len = lens[vt_draw(&i->x) % 6], .n = 1};

	if (vt_is_rc(i->nth)) {
		switch (vt_draw(&i->x) % 4) {
		case 0:
			o.op = IBV_WR_RDMA_READ;
			break;
		case 1:
			o.op = IBV_WR_ATOMIC_FETCH_AND_ADD;
			o.len = 8;
			break;
		default:
			break;
		}
		if (atomic_load(&i->slot->invalidate) == key && i->sent != key) {
			i->sent = key;
			o.op = IBV_WR_SEND_WITH_INV;
			o.len = 0;
		}
	}
	o.roff = vt_draw(&i->x) % (o.len == VT_LONG ? 64 : VT_PART - o.len);
	o.roff += i->nth * VT_PART;
	if (o.op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		o.roff &= ~7ull;
	else if (o.len && o.len <= 64 && vt_draw(&i->x) % 4 == 0)
		o.n = LIST;
	return o;
}

/* Only the last one of a list is reported. */
static void post(struct initiator *i, const struct operation *o, uint32_t key)
{
	const size_t off = o->op == IBV_WR_RDMA_WRITE ? 0 : VT_PART;
	struct ibv_send_wr wr[LIST];
	struct ibv_sge sge;

	i->t->peer.rkey = key;
	for (uint32_t k = 0; k < o->n; k++) {
		wr[k] = vt_wr(i->t, o->op, &sge, off, o->roff, o->len);
		wr[k].send_flags = k + 1 == o->n ? IBV_SEND_SIGNALED : 0;
		wr[k].next = k + 1 == o->n ? NULL : &wr[k + 1];
		if (o->op == IBV_WR_ATOMIC_FETCH_AND_ADD)
			wr[k].wr.atomic.compare_add = 1;
		if (o->op == IBV_WR_SEND_WITH_INV)
			wr[k].invalidate_rkey = key;
	}
	CHECK_EQ(vt_post(i->t->qp, wr), 0);
}

/*
 * Check the bytes that were read, if any: they must not be hidden ones. (Where a READ ends with an
 * error the contents of the buffer are undefined.)
 */
static void check_read(const struct initiator *i, const struct operation *o)
{
	const uint8_t *p = i->t->buf + VT_PART;

	if (o->op != IBV_WR_RDMA_READ && o->op != IBV_WR_ATOMIC_FETCH_AND_ADD)
		return;
	for (uint32_t k = 0; k + 8 <= o->len; k += 8) {
		uint64_t v;

		memcpy(&v, p + k, 8);
		CHECK(v != VT_SECRET, "initiator %u: opcode %d of %u bytes saw what it may not",
		      i->nth, (int)o->op, o->len);
	}
}

static void work(struct initiator *i, uint32_t key, uint64_t n)
{
	struct operation o = draw_op(i, key);
	const bool looks = n % NTH_LOOK == 0;
	uint32_t psn = looks ? next_psn(i) : 0;
	struct ibv_wc wc;

	post(i, &o, key);
	if (!completes(i, &wc))
		return;
	if (wc.status != IBV_WC_SUCCESS) {
		CHECK(vt_is_rc(i->nth), "%s", ibv_wc_status_str(wc.status));
		atomic_store(&i->slot->failed, (uint32_t)(i->there >> 32));
		while (there(i) == i->there && !is_over(i))
			sched_yield();
		return;
	}
	check_read(i, &o);
	if (looks && next_psn(i) != psn) {
		/*
		 * entries that the ring still holds keep all later operations out of the direct
		 * path
		 */
		sched_yield();
	} else if (looks) {
		atomic_fetch_add(&i->slot->direct, 1);
		if (o.op == IBV_WR_ATOMIC_FETCH_AND_ADD)
			atomic_fetch_add(&i->slot->mapped, 1);
	}
	atomic_fetch_add(&i->slot->done, 1);
}

void vt_initiate(struct vt *t, struct vt_target *to, uint32_t nth)
{
	struct initiator i = {.t = t,
			      .to = to,
			      .slot = &to->slot[nth],
			      .nth = nth,
			      .x = vt_seed() * 31 + nth * 0x9e3779b97f4a7c15ull + 1};

	come_up(&i);
	for (uint64_t n = 0; !is_over(&i);) {
		uint32_t key;

		if (there(&i) != i.there)
			join(&i);
		/* after that: the owner revokes before it publishes a turn */
		key = atomic_load_explicit(&i.slot->rkey, memory_order_seq_cst);
		if (key && i.there)
			work(&i, key, n++);
		else
			sched_yield();
	}
	come_down(&i);
}

/* -------------------------------------------------------------------- processes */

static void on_child(int s)
{
	(void)s; /* it ends ppoll() */
}

static void ended(struct vt_target *to, pid_t pid[VT_INITIATORS], pid_t which, int status)
{
	for (uint32_t i = 0; i < VT_INITIATORS; i++)
		if (pid[i] == which)
			pid[i] = 0;
	if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
		printf("    an initiator ended with %#x\n", (unsigned int)status);
		fflush(stdout);
		atomic_store(&to->trouble, 1);
	}
}

static pid_t fork_initiator(struct vt_target *to, uint32_t nth, int sock)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t none;

	CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;

	struct vt t = {.side = 1, .sock = -1};

	close(sock);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	alarm(LIMIT_S + vt_seconds);
	vt_initiate(&t, to, nth);
	_exit(0);
}

static _Noreturn void nursery(struct vt_target *to, int sock)
{
	struct sigaction sa = {.sa_handler = on_child};
	struct pollfd fd = {.fd = sock, .events = POLLIN};
	struct vt t = {.side = 1, .sock = sock};
	pid_t pid[VT_INITIATORS] = {0}, p;
	sigset_t child, none;
	uint32_t nth = 0;
	int status;

	sigemptyset(&none);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	sigaction(SIGCHLD, &sa, NULL);
	while (nth != END) {
		if (ppoll(&fd, 1, NULL, &none) < 0) {
			while ((p = waitpid(-1, &status, WNOHANG)) > 0)
				ended(to, pid, p, status);
			continue;
		}
		vt_get(&t, &nth, sizeof(nth));
		if (nth == END)
			break;
		if (pid[nth] && waitpid(pid[nth], &status, 0) == pid[nth])
			ended(to, pid, pid[nth], status);
		atomic_store(&to->slot[nth].here, 0);
		pid[nth] = fork_initiator(to, nth, sock);
		vt_put(&t, &pid[nth], sizeof(pid[nth]));
	}
	while ((p = waitpid(-1, &status, 0)) > 0)
		ended(to, pid, p, status);
	_exit((int)atomic_load(&to->trouble));
}

void vt_nursery_start(struct vt_nursery *n, struct vt_target *to)
{
	pid_t parent = getpid();
	int sv[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	fflush(stdout);
	n->pid = fork();
	CHECK(n->pid >= 0, "fork: %s", strerror(errno));
	if (!n->pid) {
		close(sv[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		nursery(to, sv[1]);
	}
	close(sv[1]);
	n->t = (struct vt){.sock = sv[0]};
}

pid_t vt_nursery_fork(struct vt_nursery *n, uint32_t nth)
{
	pid_t pid;

	vt_put(&n->t, &nth, sizeof(nth));
	vt_get(&n->t, &pid, sizeof(pid));
	return pid;
}

void vt_nursery_end(struct vt_nursery *n)
{
	uint32_t nth = END;
	int status;

	vt_put(&n->t, &nth, sizeof(nth));
	CHECK_EQ(waitpid(n->pid, &status, 0), n->pid);
	CHECK(!status, "an initiator has failed");
	close(n->t.sock);
}
