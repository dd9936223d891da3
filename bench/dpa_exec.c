/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * dpa_exec - the time until code runs on an EU, compared with the bare futex hand-over between two
 * threads of this process.
 *
 *   dpa_exec          tables of all rows: EU and caller on two cores, and on one
 *   dpa_exec ROW two numbers, on two cores: for the EU and for the futex, medians in nanoseconds
 *
 * The two sides of a row are measured in turns. "asleep": after 2 ms without work, when the EU (and
 * the futex's other thread) sleeps. Threads are pinned, because the cost of a hand-over depends on
 * the core of the woken thread. x86 only: both sides read the cycle counter.
 */
#define DOCA_ALLOW_EXPERIMENTAL_API
#include "doca_open.h"
#include "dpa_exec.h"
#include "hist.h"
#include "timing.h"

#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <doca_dpa.h>
#include <dpa/dpa_native.h>
#include <dpadv.h>

enum {
	ASLEEP_NS = 2000000,
	RUNS = 400,
	FAST_RUNS = 5000,
	FIRST_RUNS = 30,
	BOUNCES = 2000,
	SPINS = 200
};

extern struct doca_dpa_app *dpa_exec_app;
extern doca_dpa_func_t bench_rpc, bench_serve, bench_kernel, bench_ping, bench_pong, bench_element;

static double cycles_per_ns;

static uint64_t cycles_now(void)
{
	return __builtin_ia32_rdtsc();
}

static void nap_of_thread(bool asleep)
{
	struct timespec ts = {.tv_nsec = ASLEEP_NS};

	if (asleep)
		nanosleep(&ts, NULL);
}

static void calibrate_clock(void)
{
	double ns = bench_now_ns();
	uint64_t c = cycles_now();

	for (int i = 0; i < 10; i++)
		nap_of_thread(true);
	cycles_per_ns = (double)(cycles_now() - c) / (bench_now_ns() - ns);
}

/* Pin EUs and the futex's other thread to one core, everything else to core 0. */
static void pin_all(int cpu)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;

	CHECK(d, "no /proc");
	while ((e = readdir(d))) {
		char path[300], name[32] = "";
		cpu_set_t set;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (!fgets(name, sizeof(name), f))
			name[0] = 0;
		fclose(f);
		CPU_ZERO(&set);
		CPU_SET(strncmp(name, "dpa-eu", 6) && strncmp(name, "futex", 5) ? 0 : cpu, &set);
		sched_setaffinity(atoi(e->d_name), sizeof(set), &set);
	}
	closedir(d);
}

static int eu_cpu = 1;

/* ------------------------------------------------------------------- futex */

/* Two words: each is written by one thread, and is the futex of the other thread's sleep. */
static struct {
	_Alignas(128) _Atomic uint32_t ping;
	_Alignas(128) _Atomic uint32_t pong;
	_Alignas(128) _Atomic uint64_t woke; /* cycles; written by the other thread */
} bare;

static void sleep_on(_Atomic uint32_t *word, uint32_t old)
{
	while (atomic_load_explicit(word, memory_order_acquire) == old)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

static void wake_word(_Atomic uint32_t *word)
{
	atomic_fetch_add_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *other_thread(void *arg)
{
	for (uint32_t i = 0;; i++) {
		sleep_on(&bare.ping, i);
		atomic_store_explicit(&bare.woke, cycles_now(), memory_order_relaxed);
		wake_word(&bare.pong);
	}
	return arg;
}

/* Measure one hand-over, and the round trip. */
static void futex_once(bool asleep, uint64_t *there, uint64_t *round)
{
	static uint32_t turn;
	uint64_t start;

	nap_of_thread(asleep);
	start = cycles_now();
	wake_word(&bare.ping);
	sleep_on(&bare.pong, turn++);
	*round = cycles_now() - start;
	*there = atomic_load_explicit(&bare.woke, memory_order_relaxed) - start;
}

/* --------------------------------------------------------------------- DPA */

struct rig {
	struct doca_dev *dev;
	struct doca_dpa *dpa;
	struct doca_dpa_thread *thread[2];
	struct doca_dpa_notification_completion *notify[2];
	struct doca_dpa_completion *comp;
	struct exec_bench *b; /* device memory is memory of this process */
	struct vt vt;
	struct ibv_cq *stamp_cq;
	struct ibv_qp *from, *to, *to_stamp, *from_stamp; /* with the DPA's CQ, and with stamp_cq */
};

static void start_context(struct rig *r)
{
	uint64_t p;

	OK(doca_dpa_create(r->dev, &r->dpa));
	OK(doca_dpa_set_app(r->dpa, dpa_exec_app));
	OK(doca_dpa_start(r->dpa));
	OK(doca_dpa_mem_alloc(r->dpa, sizeof(*r->b), &p));
	OK(doca_dpa_memset(r->dpa, p, 0, sizeof(*r->b)));
	r->b = (struct exec_bench *)(uintptr_t)p;
}

static void add_threads(struct rig *r)
{
	doca_dpa_func_t *const fn[] = {&bench_ping, &bench_pong};

	for (int i = 0; i < 2; i++) {
		OK(doca_dpa_thread_create(r->dpa, &r->thread[i]));
		OK(doca_dpa_thread_set_func_arg(r->thread[i], fn[i], (uintptr_t)r->b));
		OK(doca_dpa_notification_completion_create(r->dpa, r->thread[i], &r->notify[i]));
		OK(doca_dpa_thread_start(r->thread[i]));
		OK(doca_dpa_notification_completion_start(r->notify[i]));
		OK(doca_dpa_notification_completion_get_dpa_handle(r->notify[i], &r->b->notify[i]));
		OK(doca_dpa_thread_run(r->thread[i]));
	}
}

/* Time at which the last CQE of stamp_cq was written, by any thread. */
static _Atomic uint64_t stamp;

static void on_cqe(void *arg)
{
	atomic_store_explicit((_Atomic uint64_t *)arg, cycles_now(), memory_order_release);
}

/* Add a thread that elements of a completion context activate, and QPs that produce them. */
static void add_queue(struct rig *r)
{
	struct vt_opt o = {.sge = 1, .send_wr = 16, .recv_wr = 16};
	struct dpadv_cq_init_attr attr = {.cqe = 64, .comp = on_cqe, .comp_arg = &stamp};
	struct doca_dpa_thread *t;
	struct ibv_cq *cq;

	OK(doca_dpa_thread_create(r->dpa, &t));
	OK(doca_dpa_thread_set_func_arg(t, &bench_element, (uintptr_t)r->b));
	OK(doca_dpa_thread_start(t));
	OK(doca_dpa_completion_create(r->dpa, 64, &r->comp));
	OK(doca_dpa_completion_set_thread(r->comp, t));
	OK(doca_dpa_completion_start(r->comp));
	OK(doca_dpa_completion_get_dpa_handle(r->comp, &r->b->comp));
	OK(dpa_completion_get_ibv_cq(r->comp, &cq));
	OK(doca_dpa_thread_run(t));
	vt_open(&r->vt); /* for its GID */
	OK(dpa_dev_get_ibv_context(r->dev, &r->vt.ctx));
	r->vt.pd = ibv_alloc_pd(r->vt.ctx);
	r->vt.cq = ibv_create_cq(r->vt.ctx, 64, NULL, NULL, 0);
	r->stamp_cq = dpadv_create_cq(r->vt.ctx, &attr);
	CHECK(r->vt.pd && r->vt.cq && r->stamp_cq, "no PD or CQ");
	r->from = vt_qp_create(&r->vt, &o, r->vt.cq);
	r->to = vt_qp_create(&r->vt, &o, cq);
	r->from_stamp = vt_qp_create(&r->vt, &o, r->vt.cq);
	r->to_stamp = vt_qp_create(&r->vt, &o, r->stamp_cq);
	vt_connect_pair(&r->vt, r->from, r->to, &o);
	vt_connect_pair(&r->vt, r->from_stamp, r->to_stamp, &o);
}

/* the EU may have been woken on this core */
static void relax_round(int i)
{
	if (i < SPINS)
		__builtin_ia32_pause();
	else
		sched_yield();
}

static void await_seen(struct exec_bench *b, uint64_t n)
{
	for (int i = 0; __atomic_load_n(&b->seen, __ATOMIC_ACQUIRE) != n; i++)
		relax_round(i);
}

/* -------------------------------------------------------------------- rows */

/* One measurement: cycles. */
typedef uint64_t measure_fn(struct rig *r, bool asleep);

static uint64_t once_rpc(struct rig *r, bool asleep)
{
	uint64_t start, ret;

	nap_of_thread(asleep);
	start = cycles_now();
	OK(doca_dpa_rpc(r->dpa, &bench_rpc, &ret));
	return cycles_now() - start;
}

static uint64_t once_launch(struct rig *r, bool asleep)
{
	uint64_t start, n = r->b->seen + 1;

	nap_of_thread(asleep);
	start = cycles_now();
	OK(doca_dpa_kernel_launch_update_set(r->dpa, NULL, 0, NULL, 0, 1, &bench_kernel, r->b));
	await_seen(r->b, n);
	return r->b->began - start;
}

static uint64_t once_first_launch(struct rig *r, bool asleep)
{
	struct rig own = {.dev = r->dev};
	uint64_t cycles;

	start_context(&own);
	pin_all(eu_cpu);
	cycles = once_launch(&own, asleep);
	OK(doca_dpa_destroy(own.dpa));
	return cycles;
}

static uint64_t once_notify(struct rig *r, bool asleep)
{
	uint64_t start, ret, n = r->b->seen + 1;

	nap_of_thread(asleep);
	r->b->rounds = BOUNCES;
	start = cycles_now();
	OK(doca_dpa_rpc(r->dpa, &bench_serve, &ret, r->b->notify[0]));
	await_seen(r->b, n);
	return (r->b->began - start) / BOUNCES;
}

static void post_write(struct ibv_qp *from)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;

	CHECK(!ibv_post_send(from, &wr, &bad), "ibv_post_send");
}

static void drain_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	CHECK(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
}

static void post_recv(struct ibv_qp *to)
{
	struct ibv_recv_wr wr = {0}, *bad;

	CHECK(!ibv_post_recv(to, &wr, &bad), "ibv_post_recv");
}

/*
 * Return the time from the doorbell's call to the kernel, minus the time from the call to the CQE,
 * for two equal SENDs.
 */
static uint64_t once_element(struct rig *r, bool asleep)
{
	uint64_t start, cqe, n = r->b->seen + 1;

	post_recv(r->to_stamp);
	CHECK(!ibv_req_notify_cq(r->stamp_cq, 0), "ibv_req_notify_cq");
	atomic_store_explicit(&stamp, 0, memory_order_relaxed);
	start = cycles_now();
	post_write(r->from_stamp);
	for (int i = 0; !(cqe = atomic_load_explicit(&stamp, memory_order_acquire)); i++)
		relax_round(i);
	cqe -= start;
	drain_cq(r->stamp_cq);
	drain_cq(r->vt.cq);
	post_recv(r->to);
	nap_of_thread(asleep);
	start = cycles_now();
	post_write(r->from);
	await_seen(r->b, n);
	start = r->b->began - start;
	drain_cq(r->vt.cq);
	return start > cqe ? start - cqe : 0;
}

static const struct row {
	const char *name, *text;
	measure_fn *fn;
	bool asleep, round; /* compared with the futex's round trip */
	int runs;
} rows[] = {
	{"rpc", "RPC, round trip, again and again", once_rpc, false, true, FAST_RUNS},
	{"rpc_asleep", "RPC, round trip, EU asleep", once_rpc, true, true, RUNS},
	{"launch_first", "launch to first instruction, first", once_first_launch, true, false,
	 FIRST_RUNS},
	{"launch", "launch to first instruction, repeated", once_launch, false, false, FAST_RUNS},
	{"launch_asleep", "launch to first instruction, EU asleep", once_launch, true, false, RUNS},
	{"notify", "notification, thread to thread", once_notify, false, false, 20},
	{"element", "element to kernel, EU spinning", once_element, false, false, FAST_RUNS},
	{"element_asleep", "element to kernel, EU asleep", once_element, true, false, RUNS},
};

static double hist_median_ns(struct hist *h)
{
	return (double)hist_percentile(h, 50) / cycles_per_ns;
}

static void measure_row(struct rig *r, const struct row *row, double *ours, double *futex)
{
	static struct hist a, b;
	uint64_t there, round;

	hist_init(&a);
	hist_init(&b);
	for (int i = 0; i < row->runs; i++) {
		futex_once(row->asleep, &there, &round);
		hist_add(&b, row->round ? round : there);
		hist_add(&a, row->fn(r, row->asleep));
	}
	*ours = hist_median_ns(&a);
	*futex = hist_median_ns(&b);
}

static void print_table(struct rig *r)
{
	double ours, futex;

	printf("%-40s %9s %9s %6s\n", eu_cpu ? "two cores" : "one core", "ns", "futex", "ratio");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		measure_row(r, &rows[i], &ours, &futex);
		printf("%-40s %9.0f %9.0f %6.2f\n", rows[i].text, ours, futex, ours / futex);
	}
}

int main(int argc, char **argv)
{
	double ours, futex;
	struct rig r = {0};
	int status = 0;
	pthread_t t;

	calibrate_clock();
	CHECK(!pthread_create(&t, NULL, other_thread, NULL), "no thread");
	pthread_setname_np(t, "futex");
	r.dev = bench_open("dpa0");
	start_context(&r);
	add_threads(&r);
	add_queue(&r);
	pin_all(eu_cpu);
	if (argc == 1) {
		print_table(&r);
		eu_cpu = 0;
		pin_all(eu_cpu);
		print_table(&r);
	} else {
		size_t i = 0, n = sizeof(rows) / sizeof(rows[0]);

		while (i < n && strcmp(argv[1], rows[i].name))
			i++;
		status = i == n;
		if (!status) {
			measure_row(&r, &rows[i], &ours, &futex);
			printf("%.0f %.0f\n", ours, futex);
		}
	}
	fflush(stdout);
	_exit(status); /* the futex's other thread never ends */
}
