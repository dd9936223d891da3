/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An exchange of shared memory goes in steps, and each may be the last. An owner registers,
 * deregisters, forks, changes or executes while a peer writes to its memory all the time. It is
 * stopped at every system call of that, and killed there. The peer is its tracer: at each stop it
 * goes on with its operations. An operation that completes with success is in the memory that the
 * owner has afterwards; when the owner is dead, all operations end. Then a peer is killed at each
 * step of its first operation, which maps the memory, and its owner takes the memory back.
 *
 * Side 1 returns at once, side 0 forks peers of its own. Each run takes some of the steps, others by
 * each seed; --slow takes all.
 */
#include "vt_maps.h"
#include "vt_peer.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, LEN = 32 * PAGE, WORD = 3 * PAGE + 128, SOME = 11, MOST = 4000 };

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* A system call that nothing else makes: what lies between two of it is looked at. */
static void mark(void)
{
	personality(0xffffffff);
}

/* Its parent finds it stopped. */
static void trace_me(void)
{
	CHECK(!ptrace(PTRACE_TRACEME, 0, NULL, NULL), "ptrace: %s", strerror(errno));
	raise(SIGSTOP);
}

static const struct vt_opt rc = {.len = LEN, .timeout = 14, .retry_cnt = 1};

/* ------------------------------------------------------------------ the owner */

static void registers(struct vt *t)
{
	uint8_t *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	CHECK(p != MAP_FAILED, "mmap: %s", strerror(errno));
	vt_fill(p, LEN, 7);
	mark();
	mr = ibv_reg_mr(t->pd, p, LEN, ALL);
	mark();
	CHECK(mr, "reg_mr: %s", strerror(errno));
	CHECK_EQ(vt_differs(p, LEN, 7), LEN);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(vt_differs(p, LEN, 7), LEN);
	munmap(p, LEN);
}

static void deregisters(struct vt *t)
{
	mark();
	CHECK_EQ(ibv_dereg_mr(t->mr), 0);
	mark();
	t->mr = NULL;
	vt_expect_not_shared(t->buf, "deregistered");
}

static void forks(struct vt *t)
{
	uint64_t least = *(volatile uint64_t *)(void *)(t->buf + WORD);
	int status;
	pid_t pid;

	mark();
	pid = fork();
	if (!pid) {
		uint64_t is = *(volatile uint64_t *)(void *)(t->buf + WORD);

		*(volatile uint64_t *)(void *)(t->buf + WORD) = 0; /* its own */
		_exit(is >= least ? 0 : 1);
	}
	mark();
	CHECK(pid > 0, "fork: %s", strerror(errno));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	vt_expect_not_shared(t->buf, "after fork()");
}

static void changes(struct vt *t)
{
	mark();
	CHECK_EQ(mprotect(t->buf, PAGE, PROT_READ | PROT_WRITE), 0);
	mark();
}

static void executes(struct vt *t)
{
	(void)t;
	mark();
	execl("/bin/true", "true", (char *)NULL);
	vt_fail(__FILE__, __LINE__, "exec: %s", strerror(errno));
}

static void (*act)(struct vt *t);

/* The word has what the peer wrote last with success, or what it wrote later without. */
static void owner(struct vt *t)
{
	uint64_t told[2], is;

	vt_setup_shared(t, &rc);
	vt_first_message(t);
	vt_expect_shared(t, t->buf, "registered");
	trace_me();
	act(t);
	vt_get(t, told, sizeof(told));
	is = *(volatile uint64_t *)(void *)(t->buf + WORD);
	CHECK(is >= told[0] && is <= told[1],
	      "%llu was written, %llu last with success, %llu is there",
	      (unsigned long long)told[1], (unsigned long long)told[0], (unsigned long long)is);
	vt_sync(t);
}

/* -------------------------------------------------- the peer, and the tracer */

struct writer {
	uint64_t posted, done;
	bool busy, ended; /* ended: by an error */
};

/* Posts if nothing is outstanding; looks once. */
static void write_some(struct vt *t, struct writer *w)
{
	struct ibv_wc wc;

	if (w->ended)
		return;
	if (!w->busy) {
		*(volatile uint64_t *)(void *)t->buf = ++w->posted;
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, WORD, 8, w->posted, IBV_SEND_SIGNALED),
			 0);
		w->busy = true;
	}
	if (ibv_poll_cq(t->cq, 1, &wc) != 1)
		return;
	w->busy = false;
	CHECK_EQ(wc.wr_id, w->posted);
	if (wc.status == IBV_WC_SUCCESS)
		w->done = w->posted;
	else
		w->ended = true;
}

/* Outstanding operations end, and so do later ones, once the owner is dead. */
static void write_to_dead(struct vt *t, struct writer *w)
{
	uint64_t end = vt_now_ns() + 30000000000ull;

	while (!w->ended) {
		write_some(t, w);
		CHECK(vt_now_ns() < end, "no error comes of a dead owner");
	}
	CHECK_EQ(vt_state(t->qp), IBV_QPS_ERR);
}

static bool is_mark(pid_t pid)
{
	struct __ptrace_syscall_info info = {0};

	CHECK(ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) > 0,
	      "system call: %s", strerror(errno));
	return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_personality;
}

/* To the next stop at a system call; other signals are passed on. False: it has ended. */
static bool next_step(pid_t pid, int *status)
{
	long sig = 0;

	for (;;) {
		CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, NULL, (void *)sig), 0);
		CHECK_EQ(waitpid(pid, status, 0), pid);
		if (!WIFSTOPPED(*status))
			return false;
		if (WSTOPSIG(*status) == (SIGTRAP | 0x80))
			return true;
		sig = WSTOPSIG(*status) == SIGTRAP ? 0 : WSTOPSIG(*status);
	}
}

/* A peer that is traced and stands at its first mark. */
static pid_t start_traced(struct vt *t, void (*fn)(struct vt *t))
{
	pid_t pid;
	int status;

	*t = (struct vt){0};
	pid = vt_fork_peer(t, fn);
	vt_setup_shared(t, &rc);
	vt_first_message(t);
	vt_wait_stopped(pid);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, NULL,
			(void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
		 0);
	do
		CHECK(next_step(pid, &status), "it ended before its first mark");
	while (!is_mark(pid));
	return pid;
}

static void end_dead(pid_t pid)
{
	int status;

	CHECK_EQ(kill(pid, SIGKILL), 0);
	do
		CHECK_EQ(waitpid(pid, &status, 0), pid);
	while (WIFSTOPPED(status));
}

/* The owner has come to its second mark: it compares. */
static void end_in_order(struct vt *t, struct writer *w, pid_t pid)
{
	uint64_t told[2], end = vt_now_ns() + 30000000000ull;

	CHECK_EQ(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
	while (w->busy) {
		write_some(t, w);
		CHECK(vt_now_ns() < end, "an operation does not end");
	}
	told[0] = w->done;
	told[1] = w->posted;
	vt_put(t, told, sizeof(told));
	vt_sync(t);
	vt_wait_ended(pid);
	vt_close_alone(t);
}

/*
 * One owner, killed at the nth stop behind its first mark. True: there was one; false: it has come
 * to its end before, in order.
 */
static bool one_owner(struct vt *t, int n)
{
	struct writer w = {0};
	pid_t pid = start_traced(t, owner);
	bool ended = false;
	int status;

	for (int i = 0; i < n && !ended; i++) {
		write_some(t, &w);
		ended = !next_step(pid, &status);
		if (!ended && is_mark(pid)) {
			end_in_order(t, &w, pid);
			return false;
		}
	}
	if (ended) /* of its own accord: it executed another program */
		CHECK_EQ(status, 0);
	else
		end_dead(pid);
	write_to_dead(t, &w);
	vt_close_alone(t);
	return !ended;
}

/* Of all steps some, others each time; then none. */
static void each_step(struct vt *t, bool (*one)(struct vt *t, int n))
{
	const int apart = vt_slow ? 1 : SOME;
	int n = vt_slow ? 1 : 1 + (int)(vt_seed() % SOME);

	while (one(t, n)) {
		n += apart;
		CHECK(n < MOST, "it never ends");
	}
	CHECK(!vt_shares(t) || n > SOME, "it took no system calls");
}

static void with_owner(struct vt *t, void (*fn)(struct vt *t))
{
	if (t->side == 1)
		return;
	act = fn;
	each_step(t, one_owner);
}

static void registered(struct vt *t)
{
	with_owner(t, registers);
}

static void deregistered(struct vt *t)
{
	with_owner(t, deregisters);
}

static void forked(struct vt *t)
{
	with_owner(t, forks);
}

static void changed(struct vt *t)
{
	with_owner(t, changes);
}

static void executed(struct vt *t)
{
	with_owner(t, executes);
}

/* --------------------------------------------------------- the peer is killed */

static void maps(struct vt *t)
{
	vt_setup_shared(t, &rc);
	vt_first_message(t);
	trace_me();
	*(volatile uint64_t *)(void *)t->buf = 5;
	mark();
	for (int i = 0; i < 3; i++) { /* the first finds the way, the second maps */
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, WORD, 8, 5, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 5, IBV_WC_SUCCESS);
	}
	mark();
	vt_sync(t);
}

/* The owner of the memory takes it back from a peer that is stopped, then dead. */
static bool one_peer(struct vt *t, int n)
{
	pid_t pid = start_traced(t, maps);
	volatile uint64_t *word = (volatile uint64_t *)(void *)(t->buf + WORD);
	bool marked = false;
	uint64_t begin;
	int status;

	*word = 0;
	for (int i = 0; i < n && !marked; i++) {
		CHECK(next_step(pid, &status), "it ended with %#x", (unsigned int)status);
		marked = is_mark(pid);
	}
	begin = vt_now_ns();
	CHECK_EQ(ibv_dereg_mr(t->mr), 0);
	t->mr = NULL;
	CHECK(vt_now_ns() - begin < 30000000000ull, "a stopped peer was waited for");
	vt_expect_not_shared(t->buf, "deregistered");
	CHECK(*word == 0 || *word == 5, "%llu was written by nobody", (unsigned long long)*word);
	CHECK(!marked || *word == 5, "what was written is lost");
	*word = 9;
	end_dead(pid);
	CHECK(*word == 9, "a dead peer writes");
	vt_close_alone(t);
	return !marked;
}

static void mapped(struct vt *t)
{
	if (t->side == 1)
		return;
	each_step(t, one_peer);
}

static const struct vt_case cases[] = {
	{"registered", registered, VT_PROCS, 300}, {"deregistered", deregistered, VT_PROCS, 300},
	{"forked", forked, VT_PROCS, 300},	   {"changed", changed, VT_PROCS, 300},
	{"executed", executed, VT_PROCS, 300},	   {"mapped", mapped, VT_PROCS, 300},
};

VT_MAIN(cases)
