/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * one_host - figures of one process, each a number on standard output:
 *
 * copy BYTES N: memcpy() of one buffer to another by one core, MiB/s.
 * reg BYTES N: ibv_reg_mr() and ibv_dereg_mr() of memory that was written to, median ns of a pair.
 * post N: an 8 B inline WRITE to a QP of the same process and the poll that finds its completion,
 * the thread on core 0, the device's on core 1: median ns. DPA_PLACEMENT=eu and
 * DPA_SHARE_MR=always, because a WRITE into memory that is not shared is mostly one system call.
 * wake N: from ibv_post_send() on one thread to the return of ibv_get_cq_event() on another, which
 * sleeps; and, for comparison, from write() to read() of an eventfd: two medians, ns.
 */
#include "mapped.h"
#include "sort.h"
#include "timing.h"
#include "vt.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static uint8_t *touched_memory(size_t n)
{
	uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED, "mmap");
	memset(p, 1, n);
	return p;
}

static void bench_copy(size_t n, size_t times)
{
	uint8_t *a = touched_memory(n), *b = touched_memory(n);
	uint64_t t0;

	bench_pin(0, 1);
	for (size_t i = 0; i < times / 10 + 1; i++)
		memcpy(b, a, n);
	t0 = bench_now_ns();
	for (size_t i = 0; i < times; i++) {
		memcpy(b, a, n);
		__asm__ volatile("" ::: "memory");
	}
	printf("%.1f\n", (double)(n * times) / 1048576.0 * 1e9 / (double)(bench_now_ns() - t0));
}

static bool wants_shared(void)
{
	const char *policy = getenv("DPA_SHARE_MR");

	return !policy || strcmp(policy, "never");
}

static void bench_reg(size_t n, size_t times)
{
	uint64_t *v = calloc(times, sizeof(*v));
	uint8_t *p = touched_memory(n);
	struct vt t = {.side = 0};

	CHECK(v, "calloc");
	vt_open(&t);
	for (size_t i = 0; i < times; i++) {
		uint64_t t0 = bench_now_ns();
		struct ibv_mr *mr =
			ibv_reg_mr(t.pd, p, n, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

		CHECK(mr, "reg_mr: %s", strerror(errno));
		if (!i) /* memory that is measured as shared must be shared */
			CHECK(bench_is_shared(p) == wants_shared(), "%p is not as it should be",
			      (void *)p);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		v[i] = bench_now_ns() - t0;
		memset(p, (int)i, n);
	}
	printf("%llu\n", (unsigned long long)bench_median_ns(v, times));
	CHECK_EQ(ibv_dealloc_pd(t.pd), 0);
	CHECK_EQ(ibv_close_device(t.ctx), 0);
}

/* ------------------------------------------------------------- a pair of QPs */

struct pair {
	struct vt t;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *other_cq;
	struct ibv_qp *qp, *other;
	struct ibv_mr *mr;
	uint64_t *word; /* a page */
};

static void open_pair(struct pair *p, bool events)
{
	static const struct vt_opt o = {.send_wr = 16, .recv_wr = 16, .sge = 1, .inl = 16};

	vt_open(&p->t);
	if (events) {
		p->channel = ibv_create_comp_channel(p->t.ctx);
		CHECK(p->channel, "create_comp_channel");
	}
	p->cq = ibv_create_cq(p->t.ctx, 64, NULL, NULL, 0);
	p->other_cq = ibv_create_cq(p->t.ctx, 64, NULL, p->channel, 0);
	p->word = (uint64_t *)(void *)touched_memory(4096);
	p->mr = ibv_reg_mr(p->t.pd, p->word, 4096,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(p->cq && p->other_cq && p->mr, "%s", strerror(errno));
	p->qp = vt_qp_create(&p->t, &o, p->cq);
	p->other = vt_qp_create(&p->t, &o, p->other_cq);
	vt_connect_pair(&p->t, p->qp, p->other, &o);
}

static void close_pair(struct pair *p)
{
	CHECK_EQ(ibv_destroy_qp(p->qp), 0);
	CHECK_EQ(ibv_destroy_qp(p->other), 0);
	CHECK_EQ(ibv_destroy_cq(p->cq), 0);
	CHECK_EQ(ibv_destroy_cq(p->other_cq), 0);
	if (p->channel)
		CHECK_EQ(ibv_destroy_comp_channel(p->channel), 0);
	CHECK_EQ(ibv_dereg_mr(p->mr), 0);
	munmap(p->word, 4096);
	CHECK_EQ(ibv_dealloc_pd(p->t.pd), 0);
	CHECK_EQ(ibv_close_device(p->t.ctx), 0);
}

static void post_one(struct pair *p, enum ibv_wr_opcode op)
{
	struct ibv_sge sge = {(uintptr_t)p->word, 8, p->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op,
				 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				 .wr.rdma = {(uintptr_t)&p->word[8], p->mr->rkey}};
	struct ibv_send_wr *bad;

	CHECK_EQ(ibv_post_send(p->qp, &wr, &bad), 0);
}

static void wait_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	CHECK(n == 1 && wc.status == IBV_WC_SUCCESS, "completion: %d", n);
}

/* Pin the device's threads to core 1, this one to core 0. */
static void pin_apart(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0 && atoi(e->d_name) != getpid())
			bench_pin(atoi(e->d_name), 1);
	if (d)
		closedir(d);
	bench_pin(0, 0);
}

#define SUM 16 /* operations in one sample: some clocks count in tens of ns */

static void bench_post(size_t times)
{
	uint64_t *v = calloc(times, sizeof(*v));
	struct pair p = {.t = {.side = 0}};

	CHECK(v, "calloc");
	open_pair(&p, false);
	for (size_t i = 0; i < times + 100; i++) {
		uint64_t t0;

		if (i == 100)
			pin_apart();
		t0 = bench_now_ns();
		post_one(&p, IBV_WR_RDMA_WRITE);
		wait_one(p.cq);
		if (i >= 100)
			v[(i - 100) / SUM] += bench_now_ns() - t0;
	}
	printf("%.1f\n", (double)bench_median_ns(v, times / SUM) / SUM);
	close_pair(&p);
}

/* --------------------------------------------------------------------- waking */

struct sleeper {
	struct pair *p;
	int fd; /* used instead, if not -1 */
	size_t times;
	_Atomic uint64_t woken; /* time */
};

static void *sleeper_thread(void *arg)
{
	struct sleeper *s = arg;
	struct ibv_cq *cq;
	void *ctx;
	eventfd_t v;

	bench_pin(0, 1);
	for (size_t i = 0; i < s->times; i++) {
		if (s->fd >= 0) {
			CHECK_EQ(eventfd_read(s->fd, &v), 0);
		} else {
			CHECK_EQ(ibv_get_cq_event(s->p->channel, &cq, &ctx), 0);
		}
		s->woken = bench_now_ns();
		if (s->fd >= 0)
			continue;
		ibv_ack_cq_events(cq, 1);
		wait_one(s->p->other_cq);
		CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	}
	return NULL;
}

static uint64_t time_wakes(struct pair *p, int fd, size_t times)
{
	struct sleeper s = {.p = p, .fd = fd, .times = times};
	uint64_t *v = calloc(times, sizeof(*v));
	struct ibv_recv_wr rwr = {0}, *bad;
	pthread_t t;

	CHECK(v, "calloc");
	CHECK_EQ(ibv_req_notify_cq(p->other_cq, 0), 0);
	CHECK_EQ(pthread_create(&t, NULL, sleeper_thread, &s), 0);
	bench_pin(0, 0);
	for (size_t i = 0; i < times; i++) {
		uint64_t t0;

		if (fd < 0)
			CHECK_EQ(ibv_post_recv(p->other, &rwr, &bad), 0);
		usleep(2000); /* it sleeps by then */
		s.woken = 0;
		t0 = bench_now_ns();
		if (fd >= 0)
			CHECK_EQ(eventfd_write(fd, 1), 0);
		else
			post_one(p, IBV_WR_RDMA_WRITE_WITH_IMM);
		while (!s.woken)
			sched_yield();
		v[i] = s.woken - t0;
		if (fd < 0)
			wait_one(p->cq);
	}
	pthread_join(t, NULL);
	return bench_median_ns(v, times);
}

static void bench_wake(size_t times)
{
	struct pair p = {.t = {.side = 0}};
	uint64_t ours;

	open_pair(&p, true);
	ours = time_wakes(&p, -1, times);
	printf("%llu %llu\n", (unsigned long long)ours,
	       (unsigned long long)time_wakes(&p, eventfd(0, EFD_CLOEXEC), times));
	close_pair(&p);
}

int main(int argc, char **argv)
{
	size_t a = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	size_t b = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;

	if (argc == 4 && !strcmp(argv[1], "copy") && a && b)
		bench_copy(a, b);
	else if (argc == 4 && !strcmp(argv[1], "reg") && a && b)
		bench_reg(a, b);
	else if (argc == 3 && !strcmp(argv[1], "post") && a)
		bench_post(a);
	else if (argc == 3 && !strcmp(argv[1], "wake") && a)
		bench_wake(a);
	else
		return 2;
	return 0;
}
