/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * share - costs of registered memory that peers map (share_mr).
 *
 *   share KIB COUNT PERCENT    COUNT regions of KIB each, of whose pages the first PERCENT were touched.
 *
 * Prints one line: microseconds of the first registration, of all, of fork(), of all
 * deregistrations, of the first registration again, of a pass over the touched pages of a region
 * before and after registration (a read and a store for each cache line); KiB of VmRSS and RssShmem
 * while all are registered; number of regions that are shared.
 */
#include "mapped.h"
#include "timing.h"
#include "vt.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct region {
	uint8_t *at;
	struct ibv_mr *mr;
};

static long status_kib(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kib = strtol(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static double us_since(double start)
{
	return (bench_seconds() - start) * 1e6;
}

static double pass_us(volatile uint8_t *p, size_t n)
{
	double start = bench_seconds();

	for (size_t i = 0; i < n; i += 64)
		p[i]++;
	return us_since(start);
}

static double fork_us(void)
{
	double start = bench_seconds(), us;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	us = us_since(start);
	CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid, "fork: %s", strerror(errno));
	return us;
}

static void reg(const struct vt *t, struct region *r, size_t n)
{
	r->mr = ibv_reg_mr(t->pd, r->at, n, ALL);
	CHECK(r->mr, "reg_mr: %s", strerror(errno));
}

static void dereg(struct region *r)
{
	CHECK_EQ(ibv_dereg_mr(r->mr), 0);
}

static void measure(struct vt *t, struct region *r, size_t n, int count, size_t touched)
{
	double first, all, fork_time, back, again, before = 0, after = 0, start;
	long rss, shmem;
	int shared = 0;

	for (int i = 0; i < count; i++) {
		r[i].at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(r[i].at != MAP_FAILED, "mmap: %s", strerror(errno));
		memset(r[i].at, 1, touched);
	}
	before = pass_us(r[0].at, touched);
	start = bench_seconds();
	reg(t, &r[0], n);
	first = us_since(start);
	for (int i = 1; i < count; i++)
		reg(t, &r[i], n);
	all = us_since(start);
	rss = status_kib("VmRSS:");
	shmem = status_kib("RssShmem:");
	after = pass_us(r[0].at, touched);
	for (int i = 0; i < count; i++)
		shared += bench_is_shared(r[i].at);
	start = bench_seconds();
	for (int i = 0; i < count; i++)
		dereg(&r[i]);
	back = us_since(start);
	start = bench_seconds();
	reg(t, &r[0], n);
	again = us_since(start);
	for (int i = 1; i < count; i++)
		reg(t, &r[i], n);
	fork_time = fork_us();
	for (int i = 0; i < count; i++)
		dereg(&r[i]);
	printf("%.1f %.1f %.1f %.1f %.1f %.1f %.1f %ld %ld %d\n", first, all, fork_time, back,
	       again, before, after, rss, shmem, shared);
}

int main(int argc, char **argv)
{
	struct vt t = {0};
	struct region *r;
	size_t n;
	int count;

	if (argc != 4) {
		fprintf(stderr, "usage: share KIB COUNT PERCENT\n");
		return 2;
	}
	n = strtoul(argv[1], NULL, 10) << 10;
	count = atoi(argv[2]);
	r = calloc((size_t)count, sizeof(*r));
	CHECK(r && n && count > 0, "nothing to register");
	vt_open(&t);
	measure(&t, r, n, count, n / 100 * strtoul(argv[3], NULL, 10));
	free(r);
	return 0;
}
