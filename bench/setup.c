/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * setup - the cost of a process before it moves a byte.
 *
 *   setup time          microseconds from ibv_open_device to a connected pair of QPs in RTS
 *   setup discover      microseconds of ibv_get_device_list() in a process that has called it before
 *   setup memory QPS    bytes of resident memory that each further connected QP takes
 *   setup rate PAIRS    pairs of QPs that become RTS in a second, in one process
 *   setup idle QPS SEC  a process with QPS open QPs that does nothing for SEC seconds:
 *                       percent of a core, wake-ups per second
 */
#include "timing.h"
#include "vt.h"

#include <time.h>
#include <unistd.h>
#include "usage.h"

static void make_cq(struct vt *t)
{
	t->cq = ibv_create_cq(t->ctx, 64, NULL, NULL, 0);
	CHECK(t->cq, "create_cq: %s", strerror(errno));
}

static void make_qps(struct vt *t, int n)
{
	struct vt_opt o = {.sge = 1, .send_wr = 16, .recv_wr = 16};

	for (int i = 0; i < n; i += 2) {
		struct ibv_qp *a = vt_qp_create(t, &o, t->cq), *b = vt_qp_create(t, &o, t->cq);

		vt_connect_pair(t, a, b, &o);
	}
}

static struct ibv_device **list_devices(int *n)
{
	struct ibv_device **list = ibv_get_device_list(n);

	CHECK(list, "no device list: %s", strerror(errno));
	return list;
}

static int setup_time(void)
{
	struct ibv_device **list;
	struct vt t = {0};
	double start;
	int n;

	/* discovery is work of libibverbs itself and not counted */
	list = list_devices(&n);
	start = bench_seconds();
	vt_open_from(&t, list, n);
	make_cq(&t);
	make_qps(&t, 2);
	printf("%.1f\n", (bench_seconds() - start) * 1e6);
	ibv_free_device_list(list);
	return 0;
}

static int setup_discover(void)
{
	double start;
	int n;

	ibv_free_device_list(list_devices(&n)); /* loads the providers */
	start = bench_seconds();
	ibv_free_device_list(list_devices(&n));
	printf("%.1f\n", (bench_seconds() - start) * 1e6);
	return 0;
}

static long rss_bytes(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kib = 0, v;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Rss: %ld", &v) == 1)
			kib = v;
	if (f)
		fclose(f);
	return kib * 1024;
}

static int setup_memory(int qps)
{
	struct vt t = {0};
	long before;

	vt_open(&t);
	make_cq(&t);
	make_qps(&t, 2);
	before = rss_bytes();
	make_qps(&t, qps);
	printf("%ld\n", (rss_bytes() - before) / qps);
	return 0;
}

static int setup_idle(int qps, int seconds)
{
	struct timespec settle = {.tv_nsec = 500000000}, ts = {.tv_sec = seconds};
	struct vt t = {0};
	struct usage from = {0}, to = {0};

	vt_open(&t);
	make_cq(&t);
	make_qps(&t, qps);
	nanosleep(&settle, NULL);
	usage_add(&from, getpid());
	nanosleep(&ts, NULL);
	usage_add(&to, getpid());
	printf("%.4f %.2f\n", (to.ns - from.ns) / 1e7 / seconds,
	       (double)(to.wakes - from.wakes) / seconds);
	return 0;
}

/* QP pairs of one process that become RTS in a second. */
static int setup_rate(int pairs)
{
	struct vt t = {0};
	double start;

	vt_open(&t);
	make_cq(&t);
	make_qps(&t, 2);
	start = bench_seconds();
	make_qps(&t, 2 * pairs);
	printf("%.0f\n", pairs / (bench_seconds() - start));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "time") == 0)
		return setup_time();
	if (argc == 2 && strcmp(argv[1], "discover") == 0)
		return setup_discover();
	if (argc == 3 && strcmp(argv[1], "memory") == 0)
		return setup_memory(atoi(argv[2]));
	if (argc == 3 && strcmp(argv[1], "rate") == 0)
		return setup_rate(atoi(argv[2]));
	if (argc == 4 && strcmp(argv[1], "idle") == 0)
		return setup_idle(atoi(argv[2]), atoi(argv[3]));
	fprintf(stderr,
		"usage: setup time | discover | memory QPS | rate PAIRS | idle QPS SECONDS\n");
	return 2;
}
