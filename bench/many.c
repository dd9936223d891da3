/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * many - many processes on this machine.
 *
 *   many idle PROCESSES SETTLE SECONDS
 *       Each has a CQ and two QPs in RTS, connected to each other, and does nothing. After SETTLE
 *       seconds: wake-ups per second of all together, and percent of a core, for SECONDS.
 *   many rate PROCESSES COUNT
 *       Pairs of processes, on all processors: the one of a pair SENDs COUNT messages of 8 B to the
 *       other. Million/s of all together.
 */
#include "timing.h"
#include "vt.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "usage.h"

enum { MAX_PROCS = 4000, BYTES = 8, WINDOW = 64, RECVS = 512, BATCH = 16 };

struct shared {
	_Atomic int ready;
	double begin[MAX_PROCS], end[MAX_PROCS];
};

static struct shared *s;

static void pause_s(double seconds)
{
	struct timespec ts = {.tv_sec = (time_t)seconds,
			      .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&ts, NULL);
}

/* Fork n processes that run fn and end with this one. */
static void fork_all(pid_t *pid, int n, void (*fn)(int i))
{
	for (int i = 0; i < n; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0, "fork: %s", strerror(errno));
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(i);
		_exit(0);
	}
}

static void await_all(int n)
{
	while (s->ready < n) {
		CHECK(waitpid(-1, NULL, WNOHANG) == 0, "a process failed");
		pause_s(0.01);
	}
}

/* ------------------------------------------------------------------------ idle */

static void stand_idle(int i)
{
	struct vt_opt o = {.sge = 1, .send_wr = 16, .recv_wr = 16};
	struct ibv_qp *a, *b;
	struct vt t = {0};

	vt_open(&t);
	t.cq = ibv_create_cq(t.ctx, 64, NULL, NULL, 0);
	CHECK(t.cq, "create_cq: %s", strerror(errno));
	a = vt_qp_create(&t, &o, t.cq);
	b = vt_qp_create(&t, &o, t.cq);
	vt_connect_pair(&t, a, b, &o);
	s->ready++;
	for (;;)
		pause();
}

static struct usage usage_of_all(const pid_t *pid, int n)
{
	struct usage sum = {0};

	for (int i = 0; i < n; i++)
		usage_add(&sum, pid[i]);
	return sum;
}

static int run_idle(int n, double settle, double seconds)
{
	static pid_t pid[MAX_PROCS];
	struct usage from, to;
	double begin;

	fork_all(pid, n, stand_idle);
	await_all(n);
	pause_s(settle);
	begin = bench_seconds();
	from = usage_of_all(pid, n);
	pause_s(seconds);
	to = usage_of_all(pid, n);
	seconds = bench_seconds() - begin;
	printf("%.3f %.4f\n", (double)(to.wakes - from.wakes) / seconds,
	       (to.ns - from.ns) / 1e7 / seconds);
	for (int i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	return 0;
}

/* ------------------------------------------------------------------------ rate */

static int (*ends)[2];
static long count;
static int pairs;

static void post_recvs(struct vt *t, int n)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(vt_recv(t, 0, BYTES, 0), 0);
}

static int reap(struct vt *t)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(t->cq, BATCH, wc);

	CHECK(n >= 0, "poll_cq");
	for (int i = 0; i < n; i++)
		CHECK(wc[i].status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc[i].status));
	return n;
}

static void send_all(struct vt *t)
{
	int out = 0;

	for (long sent = 0; sent < count || out;) {
		if (sent < count && out < WINDOW) {
			CHECK_EQ(vt_send(t, IBV_WR_SEND, 0, 0, BYTES, 0, IBV_SEND_SIGNALED), 0);
			sent++;
			out++;
			continue;
		}
		out -= reap(t);
	}
}

static void receive_all(struct vt *t, double *begin, double *end)
{
	for (long got = 0; got < count;) {
		int n = reap(t);

		if (n && !got)
			*begin = bench_seconds();
		got += n;
		post_recvs(t, n);
	}
	*end = bench_seconds();
}

static void talk(int i)
{
	struct vt_opt o = {.sge = 1, .send_wr = WINDOW, .recv_wr = RECVS + BATCH, .cqe = 2 * RECVS};
	struct vt t = {.side = i % 2, .sock = ends[i / 2][i % 2]};

	vt_setup(&t, &o);
	if (t.side)
		post_recvs(&t, RECVS);
	s->ready++;
	while (s->ready < 2 * pairs)
		pause_s(0.001);
	vt_sync(&t);
	if (t.side)
		receive_all(&t, &s->begin[i / 2], &s->end[i / 2]);
	else
		send_all(&t);
	vt_sync(&t);
}

static void forget(pid_t *pid, int n, pid_t gone)
{
	for (int i = 0; i < n; i++)
		if (pid[i] == gone)
			pid[i] = 0;
}

/* Wait for all. If one fails, in whatever order, the others may wait for it: it ends them. */
static int reap_all(pid_t *pid, int n)
{
	int status, bad = 0;

	for (int left = n; left; left--) {
		const pid_t gone = waitpid(-1, &status, 0);

		CHECK(gone > 0, "waitpid: %s", strerror(errno));
		forget(pid, n, gone);
		for (int i = 0; i < n && status && !bad; i++)
			if (pid[i])
				kill(pid[i], SIGKILL);
		bad |= status != 0;
	}
	return bad;
}

static int run_rate(int n)
{
	static pid_t pid[MAX_PROCS];
	double begin, end;
	int bad;

	pairs = n / 2;
	ends = calloc((size_t)pairs, sizeof(*ends));
	CHECK(ends, "no memory");
	for (int i = 0; i < pairs; i++)
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), 0);
	fork_all(pid, 2 * pairs, talk);
	bad = reap_all(pid, 2 * pairs);
	if (bad)
		return bad;
	begin = s->begin[0];
	end = s->end[0];
	for (int i = 1; i < pairs; i++) {
		begin = s->begin[i] < begin ? s->begin[i] : begin;
		end = s->end[i] > end ? s->end[i] : end;
	}
	printf("%.4f\n", (double)count * pairs / (end - begin) / 1e6);
	return bad;
}

int main(int argc, char **argv)
{
	const int n = argc > 2 ? atoi(argv[2]) : 0;

	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED, "mmap: %s", strerror(errno));
	count = argc == 4 ? atol(argv[3]) : 0;
	if (argc == 5 && strcmp(argv[1], "idle") == 0 && n > 0 && n <= MAX_PROCS)
		return run_idle(n, atof(argv[3]), atof(argv[4]));
	if (argc == 4 && strcmp(argv[1], "rate") == 0 && n > 1 && n <= MAX_PROCS && count > 0)
		return run_rate(n);
	fprintf(stderr, "usage: many idle PROCESSES SETTLE SECONDS | rate PROCESSES COUNT\n");
	return 2;
}
