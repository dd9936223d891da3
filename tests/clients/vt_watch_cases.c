/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vt_watch_cases.c - posters that do not call the device (dpadv_watch_sq()): a thread, and another
 * process that maps the queue, as a GPU does. Side 0 owns the queue, side 1 the memory that is
 * written.
 */
#include "vt_peer.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <dpadv.h>

enum { WRITES = 5000, LEN = 64, SLOTS = 512 };

static const struct vt_opt rc = {.len = SLOTS * LEN, .send_wr = 64, .timeout = 14};

/* All resources of a poster are memory. */
struct poster {
	uint8_t *sq;
	struct dpa_dbrec *dbrec;
	uint64_t *word;
	uint32_t mask, pi;
	uint64_t laddr, raddr;
	uint32_t lkey, rkey;
};

static void view(struct vt *t, struct poster *p)
{
	struct dpadv_qp q = {0};
	struct dpadv_obj obj = {.qp = {.in = t->qp, .out = &q}};

	if (!dpadv_is_supported(t->ctx->device))
		vt_skip("not a device with words in memory");
	CHECK_EQ(dpadv_init_obj(&obj, DPADV_OBJ_QP), 0);
	*p = (struct poster){.sq = q.sq,
			     .dbrec = q.dbrec,
			     .mask = (1u << q.log_sq) - 1,
			     .laddr = (uintptr_t)t->buf,
			     .lkey = t->mr->lkey,
			     .raddr = t->peer.addr,
			     .rkey = t->peer.rkey};
	p->word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(p->word != MAP_FAILED, "no memory");
	*p->word = p->pi = q.dbrec->sq_pi; /* number of earlier posts by verbs */
	CHECK_EQ(dpadv_watch_sq(t->qp, p->word), 0);
}

/* Post one WRITE, from slot n to slot n; waits for room. False: told to end. */
static bool post(struct poster *p, uint32_t n, bool signaled)
{
	uint8_t wqe[DPA_WQEBB] __attribute__((aligned(64))) = {0};
	const uint32_t off = n % SLOTS * LEN;
	struct dpa_wqe_raddr r = {.addr = p->raddr + off, .rkey = p->rkey};
	struct dpa_sge g = {.addr = p->laddr + off, .length = LEN, .lkey = p->lkey};

	while (p->pi - __atomic_load_n(&p->dbrec->sq_ci, __ATOMIC_ACQUIRE) > p->mask)
		if (getppid() == 1)
			return false;
		else
			sched_yield();
	dpa_wqe_put_ctrl((void *)wqe, DPA_OP_RDMA_WRITE, signaled ? DPA_WQE_SIGNALED : 0, 1, 1,
			 p->pi, n, 0, LEN, 0);
	memcpy(wqe + sizeof(struct dpa_wqe_ctrl), &r, sizeof(r));
	memcpy(wqe + sizeof(struct dpa_wqe_ctrl) + sizeof(r), &g, sizeof(g));
	memcpy(p->sq + (size_t)(p->pi & p->mask) * DPA_WQEBB, wqe, sizeof(wqe));
	p->pi++;
	__atomic_store_n(p->word, (uint64_t)p->pi, __ATOMIC_RELEASE);
	return true;
}

static void wait_done(struct poster *p)
{
	const uint64_t until = vt_now_ns() + 30000000000ull;

	while (__atomic_load_n(&p->dbrec->sq_ci, __ATOMIC_ACQUIRE) !=
	       (uint32_t)__atomic_load_n(p->word, __ATOMIC_ACQUIRE)) {
		CHECK(vt_now_ns() < until, "posted work is not done");
		sched_yield();
	}
}

static void fill(struct vt *t)
{
	for (size_t i = 0; i < t->len; i++)
		t->buf[i] = (uint8_t)(i * 7 + 1);
}

static void expect_all(struct vt *t)
{
	for (size_t i = 0; i < t->len; i++)
		CHECK_EQ(t->buf[i], (uint8_t)(i * 7 + 1));
}

static void *post_many(void *arg)
{
	for (uint32_t n = 0; n < WRITES; n++)
		CHECK(post(arg, n, n + 1 == WRITES), "ended");
	return NULL;
}

/* No thread of side 0 calls the device except to poll for the last one. */
static void a_thread_posts(struct vt *t)
{
	struct poster p;
	pthread_t th;

	vt_setup(t, &rc);
	if (t->side == 0) {
		fill(t);
		view(t, &p);
		CHECK_EQ(pthread_create(&th, NULL, post_many, &p), 0);
		pthread_join(th, NULL);
		wait_done(&p);
		vt_wc_is(t, WRITES - 1, IBV_WC_SUCCESS);
		CHECK_EQ(dpadv_watch_sq(t->qp, NULL), 0);
		CHECK_EQ(munmap(p.word, 4096), 0);
	}
	vt_sync(t);
	if (t->side == 1)
		expect_all(t);
	vt_close(t);
}

/* ------------------------------------------------------------ another process */

/* File and offset behind an address: a child does not inherit queue memory. */
struct backing {
	int fd;
	uint64_t offset;
	uint64_t start, bytes;
};

static void backing_of(const void *at, struct backing *b)
{
	uint64_t start, end, off, want = (uintptr_t)at;
	char line[512], path[64], link[128];
	unsigned long ino = 0, is;
	FILE *f = fopen("/proc/self/maps", "r");
	ssize_t n;

	CHECK(f, "no maps");
	while (!ino && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %lu", &start, &end, &off, &is) == 4 &&
		    want >= start && want < end)
			ino = is;
	fclose(f);
	CHECK(ino, "queue memory of no file");
	*b = (struct backing){.fd = -1, .offset = off, .start = start, .bytes = end - start};
	for (int fd = 3; b->fd < 0 && fd < 1024; fd++) {
		struct stat st;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, link, sizeof(link) - 1);
		if (n > 0 && strncmp(link, "/memfd:", 7) == 0 && fstat(fd, &st) == 0 &&
		    st.st_ino == ino)
			b->fd = dup(fd);
	}
	CHECK(b->fd >= 0, "no file of the queue memory");
}

static void *map_again(const struct backing *b, const void *at)
{
	uint8_t *m =
		mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, (off_t)b->offset);

	if (m == MAP_FAILED)
		_exit(3);
	return m + ((uintptr_t)at - b->start);
}

/* Start a process that posts until it is killed, or its parent ends. */
static pid_t start_poster(const struct poster *of)
{
	struct backing sq, db;
	struct poster p = *of;
	pid_t pid;

	backing_of(p.sq, &sq);
	backing_of(p.dbrec, &db);
	pid = fork();
	CHECK(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		p.sq = map_again(&sq, p.sq);
		p.dbrec = map_again(&db, p.dbrec);
		for (uint32_t n = 0; post(&p, n, false); n++)
			;
		_exit(0);
	}
	close(sq.fd);
	close(db.fd);
	return pid;
}

static void until_posted(const struct poster *p, uint32_t n)
{
	const uint64_t until = vt_now_ns() + 30000000000ull;

	while ((uint32_t)__atomic_load_n(p->word, __ATOMIC_ACQUIRE) < n) {
		CHECK(vt_now_ns() < until, "the poster does not get on");
		sched_yield();
	}
}

static void kill_now(pid_t pid)
{
	int status;

	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status), "it has ended by itself");
}

/*
 * Killed at any instruction: announced work is executed, and the queue works for the next poster.
 */
static void a_poster_is_killed(struct vt *t)
{
	unsigned int seed = (unsigned int)vt_seed();
	struct poster p;

	vt_setup(t, &rc);
	if (t->side == 0) {
		fill(t);
		view(t, &p);
		for (int i = 0; i < 20; i++) {
			const uint32_t at = (uint32_t)*p.word;
			pid_t pid = start_poster(&p);

			until_posted(&p, at + 1 + (uint32_t)rand_r(&seed) % 2000);
			kill_now(pid);
			wait_done(&p);
			p.pi = (uint32_t)*p.word;
		}
		until_posted(&p, SLOTS);
		CHECK(post(&p, SLOTS - 1, true), "ended");
		vt_wc_is(t, SLOTS - 1, IBV_WC_SUCCESS);
	}
	vt_sync(t);
	if (t->side == 1)
		expect_all(t);
	vt_close(t);
}

static void owner(struct vt *t)
{
	struct poster p;

	vt_setup(t, &rc);
	vt_first_message(t);
	view(t, &p);
	start_poster(&p);
	until_posted(&p, p.pi + 100);
	vt_sync(t);
	raise(SIGSTOP);
	vt_fail(__FILE__, __LINE__, "it was to be killed");
}

/*
 * The owner dies while its poster posts: for the peer it is a process that is gone, like any other.
 */
static void an_owner_is_killed(struct vt *t)
{
	pid_t pid;

	if (t->side == 1)
		return;
	for (int i = 0; i < 3; i++) {
		*t = (struct vt){0};
		pid = vt_fork_peer(t, owner);
		vt_setup(t, &rc);
		vt_first_message(t);
		vt_sync(t);
		vt_wait_stopped(pid);
		vt_kill_peer(pid);
		CHECK_EQ(vt_send(t, IBV_WR_RDMA_WRITE, 0, 0, 64, 9, IBV_SEND_SIGNALED), 0);
		vt_wc_is(t, 9, IBV_WC_RETRY_EXC_ERR);
		vt_close_alone(t);
	}
}

static const struct vt_case cases[] = {
	{"a_thread_posts", a_thread_posts, VT_BOTH, 0},
	{"a_poster_is_killed", a_poster_is_killed, VT_PROCS, 120},
	{"an_owner_is_killed", an_owner_is_killed, VT_PROCS, 120},
};

VT_MAIN(cases)
